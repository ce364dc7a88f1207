"""The models that the labs train: a small network, logistic regression, residual networks."""

import itertools
import math
import threading
from dataclasses import dataclass

import numpy as np
import torch

from course_lib.products import product


@dataclass(frozen=True)
class MLP:
    """A network with one hidden layer: Linear, ReLU, Linear.

    W1: d × h; b1: h; W2: h × k; b2: k, all float32. A weight matrix is inputs × outputs, so that a
    layer reads x @ W + b; torch.nn.Linear keeps the transpose.
    """

    W1: torch.Tensor
    b1: torch.Tensor
    W2: torch.Tensor
    b2: torch.Tensor

    @property
    def parameters(self):
        """The four arrays, in the order in which torch.nn.Sequential lists them."""
        return self.W1, self.b1, self.W2, self.b2

    def hidden(self, X):
        """The hidden layer's output. X: n × d. Returns n × h."""
        return product(X, self.W1).add_(self.b1).relu_()

    def logits(self, X):
        """The class scores before the softmax. X: n × d. Returns n × k."""
        return product(self.hidden(X), self.W2).add_(self.b2)

    def accuracy(self, X, y):
        """The share of rows whose largest logit is at the true class. X: n × d, y: n."""
        return (self.logits(X).argmax(1) == y).double().mean().item()


def initial_mlp(seed, n_features, n_hidden=256, n_classes=10):
    """The MLP that two torch.nn.Linear layers hold when made right after torch.manual_seed(seed).

    The draws come from a generator of their own, so that threads can initialise networks side by
    side: PyTorch's global random state is neither read nor changed.
    """
    generator = torch.Generator().manual_seed(seed)

    def linear(n_in, n_out):
        weight, bias = torch.empty(n_out, n_in), torch.empty(n_out)
        torch.nn.init.kaiming_uniform_(weight, a=math.sqrt(5), generator=generator)
        bias.uniform_(-1 / math.sqrt(n_in), 1 / math.sqrt(n_in), generator=generator)
        return weight.t().contiguous(), bias

    return MLP(*linear(n_features, n_hidden), *linear(n_hidden, n_classes))


# --- logistic regression -------------------------------------------------------------------------

_GRADIENT_TOLERANCE = 1e-10
_MOST_STEPS = 100
_SHORTEST_STEP = 2.0**-50
_CELLS_AT_ONCE = 1 << 18  # models × rows that are worked on together


def sigmoid(t):
    """Return 1/(1 + e^−t) in float64; it does not overflow at either end."""
    t = np.asarray(t, dtype=np.float64)
    small = np.exp(-np.abs(t))
    return np.where(t >= 0, 1.0, small) / (1 + small)


def poly_features(Z, degree):
    """Return all products of up to ``degree`` columns, repetitions included.

    Args:
        Z: n × k array.
        degree: whole number from 0 up.

    Returns:
        n × C(k + degree, degree) float64 array: a column of ones, the k columns, the products of
        two, and so on, in the order of scikit-learn's PolynomialFeatures.

    Raises:
        ValueError: if Z is not two-dimensional, or the degree no whole number from 0 up.
    """
    Z = np.asarray(Z, dtype=np.float64)
    if Z.ndim != 2:
        raise ValueError(f"Z has shape {Z.shape}: expected one row a record, one column a feature")
    if isinstance(degree, bool) or degree != int(degree) or degree < 0:
        raise ValueError(f"degree is {degree}: expected a whole number from 0 up")
    columns = [np.ones(len(Z))]
    for size in range(1, int(degree) + 1):
        for factors in itertools.combinations_with_replacement(range(Z.shape[1]), size):
            columns.append(np.prod(Z[:, factors], axis=1))
    return np.column_stack(columns)


def true_label_logit(theta, A, y):
    """Return φ = (2y − 1)(Aθ), the logit of a record's own label.

    Args:
        theta: d weights, or M × d for M models.
        A: n × d features.
        y: n labels, 0 or 1.

    Returns:
        n float64 values, or M × n.

    Raises:
        ValueError: if the shapes do not match, or a label is neither 0 nor 1.
    """
    theta, A = np.asarray(theta, dtype=np.float64), np.asarray(A, dtype=np.float64)
    if A.ndim != 2 or theta.ndim not in (1, 2) or theta.shape[-1] != A.shape[1]:
        raise ValueError(
            f"theta has shape {theta.shape}, A has shape {A.shape}: expected as many weights as A "
            "has columns"
        )
    return _signs(y, len(A)) * (theta @ A.T)


def fit_logistic_newton(A, y, lam, weights=None):
    """Fit an L2-regularised logistic regression, or many on different weights of the same rows.

    It minimises Σ wᵢ log(1 + e^−φᵢ) / Σ wᵢ + lam/2 · ‖θ without the intercept‖² by Newton's method.
    A step that would not lower the objective enough is halved until it does (Armijo's rule with
    1e-4), which keeps the method from diverging on separable rows. It stops with one full step
    more when no entry of the gradient is larger than 1e-10; what is left then is rounding.

    All models are solved together. Their Hessians are one matrix product of weights with the rows'
    d(d + 1)/2 products of features. Memory beyond the result does not grow with the number of
    models.

    Args:
        A: n × d finite features, the first column all ones: the intercept, which is not
            regularised.
        y: n labels, 0 or 1.
        lam: weight of the penalty, positive.
        weights: n numbers from 0 up, how often each row counts; or M × n, one row for each of M
            models; ones when left out.

    Returns:
        d float64 weights θ, or M × d.

    Raises:
        ValueError: for shapes that do not match, values that are not finite, a first column other
            than ones, a ``lam`` that is not positive, or a training set with one class only.
        RuntimeError: if a model has not converged after 100 steps, or rounding leaves no step that
            lowers its objective: the penalty is too small for the size of the features.
    Source: Boyd and Vandenberghe (2004), sections 9.2 and 9.5.
    """
    A, signs, W = _checked_problem(A, y, lam, weights)
    n, d = A.shape
    rows, columns = np.triu_indices(d)
    products = A[:, rows] * A[:, columns]
    unpack = np.empty((d, d), dtype=np.intp)
    unpack[rows, columns] = unpack[columns, rows] = np.arange(len(rows))
    penalty = np.append(0.0, np.full(d - 1, float(lam)))

    theta = np.empty((len(W), d))
    step = max(1, _CELLS_AT_ONCE // n)
    for start in range(0, len(W), step):
        some = W[start : start + step].astype(np.float64)
        some /= some.sum(axis=1, keepdims=True)
        theta[start : start + step] = _newton(
            A * signs[:, None], products, unpack.ravel(), some, penalty, start
        )
    return theta[0] if np.ndim(weights) < 2 else theta


def _newton(B, products, unpack, W, penalty, first):
    """Minimise for every row of W, M × n; B holds the features times the label's sign, so φ = Bθ.

    ``first`` is the number of the first model, for the message.
    """
    d = B.shape[1]
    diagonal = np.arange(d)
    found = np.empty((len(W), d))
    active = np.arange(len(W))
    theta, phi = np.zeros((len(W), d)), np.zeros(W.shape)
    value = _objective(theta, phi, W, penalty)
    for _step in range(_MOST_STEPS):
        residual = sigmoid(-phi)
        pull = W * residual
        gradient = penalty * theta - pull @ B
        arrived = np.max(np.abs(gradient), axis=1) <= _GRADIENT_TOLERANCE
        hessian = ((pull * (1 - residual)) @ products)[:, unpack].reshape(-1, d, d)
        hessian[:, diagonal, diagonal] += penalty
        direction = -np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        along = direction @ B.T

        promised = -np.sum(gradient * direction, axis=1)
        length = np.ones(len(active))
        # Where the promise is tiny, the objective's rounding hides it, and full steps are safe.
        unsure = np.flatnonzero(promised > 1e-8)
        while unsure.size:
            tried = _objective(
                theta[unsure] + length[unsure, None] * direction[unsure],
                phi[unsure] + length[unsure, None] * along[unsure],
                W[unsure],
                penalty,
            )
            enough = tried <= value[unsure] - 1e-4 * length[unsure] * promised[unsure]
            value[unsure[enough]] = tried[enough]
            unsure = unsure[~enough]
            length[unsure] /= 2
            if np.any(length < _SHORTEST_STEP):
                _not_solved(first + int(active[np.argmin(length)]), "no step lowers its objective")
        theta = theta + length[:, None] * direction
        phi = phi + length[:, None] * along
        found[active] = theta
        if arrived.any():
            going = ~arrived
            active, W = active[going], W[going]
            theta, phi, value = theta[going], phi[going], value[going]
            if not active.size:
                return found
    _not_solved(first + int(active[0]), f"not converged after {_MOST_STEPS} steps")


def _not_solved(model, reason):
    raise RuntimeError(
        f"the logistic regression of model {model} is not solved ({reason}): take a larger lam, or "
        "features of a smaller size"
    )


def _objective(theta, phi, W, penalty):
    loss = np.log1p(np.exp(-np.abs(phi))) + np.maximum(-phi, 0)
    return np.einsum("mn,mn->m", W, loss) + np.sum(penalty * theta**2, axis=1) / 2


def _signs(y, n):
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"y has shape {y.shape}: expected one label for each of {n} rows")
    if not np.all((y == 0) | (y == 1)):
        raise ValueError("y holds a label other than 0 and 1")
    return 2.0 * y - 1


def _checked_problem(A, y, lam, weights):
    """Return the features, the labels' signs and the weights (M × n), or say what is wrong."""
    A = np.asarray(A, dtype=np.float64)
    if A.ndim != 2 or 0 in A.shape:
        raise ValueError(f"A has shape {A.shape}: expected one row a record, one column a feature")
    if not np.isfinite(A).all():
        row, column = np.argwhere(~np.isfinite(A))[0]
        raise ValueError(f"A is {A[row, column]} in row {row}, column {column}: expected numbers")
    if not np.all(A[:, 0] == 1):
        raise ValueError(
            "A's first column is the intercept's and must be all ones (poly_features puts it there)"
        )
    signs = _signs(y, len(A))
    if not (lam > 0 and np.isfinite(lam)):
        raise ValueError(
            f"lam is {lam}: expected a positive number (without a penalty there is no optimum on "
            "separable rows)"
        )
    W = np.ones((1, len(A))) if weights is None else np.atleast_2d(np.asarray(weights))
    if W.shape[1:] != (len(A),):
        raise ValueError(
            f"weights has shape {np.shape(weights)}: expected one for each of {len(A)} rows"
        )
    if not np.all(np.isfinite(W) & (W >= 0)):
        raise ValueError("weights holds a value below 0 or none at all: expected counts of rows")
    for label, sign in ((0, -1.0), (1, 1.0)):
        without = np.flatnonzero(~np.any(W[:, signs == sign] > 0, axis=1))
        if without.size:
            which = f"model {without[0]}'s training set" if len(W) > 1 else "the training set"
            raise ValueError(
                f"{which} has no record with label {label}: a classifier needs both classes"
            )
    return A, signs, W


# --- convolutional networks for CIFAR-10 --------------------------------------------------------


class SmallResNet(torch.nn.Module):
    """A residual network (He et al. 2016) small enough to train in seconds on a CPU core.

    A stem and three blocks, the second and third of which halve the picture; then the mean over
    the picture and a linear layer. Its GroupNorm looks at one image at a time, so that a record's
    gradient and its score never depend on the rest of the batch; no layer works in place, which
    Opacus' hooks need.

    Args:
        widths: channels of the three blocks, multiples of four.
        n_classes: outputs.
    """

    def __init__(self, widths=(16, 32, 64), n_classes=10):
        super().__init__()
        first, second, third = widths
        self.stem = torch.nn.Conv2d(3, first, 3, stride=2, padding=1, bias=False)
        self.norm = torch.nn.GroupNorm(first // 4, first)
        self.blocks = torch.nn.Sequential(
            _ResidualBlock(first, first, stride=1),
            _ResidualBlock(first, second, stride=2),
            _ResidualBlock(second, third, stride=2),
        )
        self.head = torch.nn.Linear(third, n_classes)

    def forward(self, images):
        """Class scores, n × k, of images, n × 3 × 32 × 32."""
        return self.head(self.blocks(self.norm(self.stem(images)).relu()).mean((2, 3)))


class _ResidualBlock(torch.nn.Module):
    def __init__(self, n_in, n_out, stride):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(n_in, n_out, 3, stride=stride, padding=1, bias=False)
        self.norm1 = torch.nn.GroupNorm(n_out // 4, n_out)
        self.conv2 = torch.nn.Conv2d(n_out, n_out, 3, padding=1, bias=False)
        self.norm2 = torch.nn.GroupNorm(n_out // 4, n_out)
        self.shortcut = torch.nn.Identity()
        if stride != 1 or n_in != n_out:
            self.shortcut = torch.nn.Conv2d(n_in, n_out, 1, stride=stride, bias=False)

    def forward(self, x):
        inner = self.norm2(self.conv2(self.norm1(self.conv1(x)).relu()))
        return (inner + self.shortcut(x)).relu()


ARCHITECTURES = ("small", "resnet18", "resnet18-dp")
_one_at_a_time = threading.Lock()  # PyTorch's global random state is borrowed


def initial_convnet(architecture, seed):
    """A convolutional network for images of 3 × 32 × 32 and ten classes, with weights from seed.

    Args:
        architecture: ``"small"``, SmallResNet; ``"resnet18"``, torchvision's, with BatchNorm; or
            ``"resnet18-dp"``, the same made fit for DP-SGD by Opacus' ModuleValidator: GroupNorm
            for BatchNorm, which mixes the records of a batch, and nothing in place.
        seed: int. PyTorch's global random state is left as it was.

    Raises:
        ValueError: for an unknown architecture.
    """
    if architecture not in ARCHITECTURES:
        raise ValueError(
            f"architecture is {architecture!r}; expected one of {', '.join(ARCHITECTURES)}"
        )
    with _one_at_a_time, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if architecture == "small":
            return SmallResNet()
        from course_lib.resnet18 import plain_resnet18, private_resnet18

        if architecture == "resnet18":
            return plain_resnet18()
        network = private_resnet18()
    for module in network.modules():
        if isinstance(module, torch.nn.ReLU):
            module.inplace = False
    return network
