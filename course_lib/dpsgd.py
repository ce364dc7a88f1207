"""DP-SGD for an MLP: Poisson batches, clipped gradient sums, Gaussian noise.

Abadi et al. 2016, "Deep Learning with Differential Privacy", algorithm 1. The norms come without
per-example gradients: Goodfellow 2015, "Efficient Per-Example Gradient Computations".

Several noise multipliers train side by side. They share the initial network, the batches and the
standard normal draws, and differ only in the factor before the noise: one draw of the noise and one
read of the batch serve them all, and what differs between two runs is the noise multiplier alone.
"""

import math
from dataclasses import dataclass

import torch

from course_lib.models import MLP, initial_mlp
from course_lib.products import product

# Noise from PyTorch's Mersenne Twister is for teaching: whoever can guess the generator's state can
# subtract the noise. A deployment needs a cryptographically secure generator.


@dataclass(frozen=True)
class DPSGD:
    """The public settings of a DP-SGD run; none of them may depend on the training rows.

    Args:
        sampling_rate: the chance of each record to be in a batch, in (0, 1].
        steps: the number of batches.
        max_grad_norm: the bound C on the norm of one record's gradient.
        learning_rate: the step's length, times the noisy mean gradient.
        expected_batch_size: what the noisy sum is divided by, a public constant. The size of the
            batch that was drawn would leak, and so would q times a private number of records.

    Raises:
        ValueError: for a setting outside its range, by its name.
    """

    sampling_rate: float
    steps: int
    max_grad_norm: float
    learning_rate: float
    expected_batch_size: float

    def __post_init__(self):
        if not 0 < self.sampling_rate <= 1:
            raise ValueError(f"sampling_rate is {self.sampling_rate}; it must lie in (0, 1].")
        if self.steps < 0 or self.steps != int(self.steps):
            raise ValueError(f"steps is {self.steps}; it must be a whole number, 0 or more.")
        for name in ("max_grad_norm", "learning_rate", "expected_batch_size"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} is {value}; it must be a positive number.")


def poisson_batch(n_records, sampling_rate, generator):
    """The indices of a Poisson batch: every record enters by a coin of its own.

    Args:
        n_records: how many records there are.
        sampling_rate: the chance of each.
        generator: torch.Generator that draws one uniform number for every record.

    Returns:
        int64 tensor of indices, ascending. It may be empty.
    """
    coins = torch.rand(n_records, generator=generator)
    return (coins < sampling_rate).nonzero().squeeze(1)


@dataclass(frozen=True)
class StackedMLPs:
    """S networks side by side, laid out so that one product serves all their first layers.

    W1: d × S × h; b1: S × h; W2: S × h × k; b2: S × k, all float32.
    """

    W1: torch.Tensor
    b1: torch.Tensor
    W2: torch.Tensor
    b2: torch.Tensor

    @property
    def parameters(self):
        return self.W1, self.b1, self.W2, self.b2

    @classmethod
    def copies(cls, mlp, n):
        """The same network n times."""
        return cls(
            mlp.W1.unsqueeze(1).repeat(1, n, 1),
            mlp.b1.repeat(n, 1),
            mlp.W2.repeat(n, 1, 1),
            mlp.b2.repeat(n, 1),
        )

    def unstack(self):
        """The S networks, as a list of MLP."""
        return [
            MLP(self.W1[:, s].contiguous(), self.b1[s], self.W2[s], self.b2[s])
            for s in range(len(self.b1))
        ]


def clipped_gradient_sum(networks, X, y, max_grad_norm):
    """The sum over a batch of every example's gradient, clipped to Euclidean norm max_grad_norm.

    A dense layer's gradient for one example is the outer product of its input a and of the loss's
    derivative u at its output. Its squared norm is ‖a‖²‖u‖², and ‖u‖² more for the bias. So the
    norms cost two row sums, and the clipped sum is one matrix product with rescaled rows.

    Args:
        networks: StackedMLPs, S of them.
        X: n × d float32, the batch.
        y: n class numbers, int64. The loss is the cross-entropy.
        max_grad_norm: the bound C.

    Returns:
        ``(sums, norms)``: the S sums as StackedMLPs, and the S × n norms before clipping.

    Source: Abadi et al. (2016), algorithm 1; the norms, Goodfellow (2015), section 5.
    """
    W1, b1, W2, b2 = networks.parameters
    d, S, h = W1.shape
    n = len(X)
    hidden = product(X, W1.view(d, S * h)).view(n, S, h).add_(b1).relu_().transpose(0, 1)
    u2 = torch.baddbmm(b2.unsqueeze(1), hidden, W2).softmax(2)
    u2[:, torch.arange(n), y] -= 1
    u1 = torch.bmm(u2, W2.transpose(1, 2)).mul_(hidden.sign())  # the ReLU's slope: 0 or 1

    def squared(rows):
        return rows.square().sum(-1)

    norms = (squared(u1) * (squared(X) + 1) + squared(u2) * (squared(hidden) + 1)).sqrt()
    scale = (max_grad_norm / norms.clamp_min(1e-12)).clamp_max(1).unsqueeze(2)
    u1, u2 = u1 * scale, u2 * scale
    sums = StackedMLPs(
        product(X.t(), u1.transpose(0, 1).reshape(n, S * h)).view(d, S, h),
        u1.sum(1),
        torch.bmm(hidden.transpose(1, 2), u2),
        u2.sum(1),
    )
    return sums, norms


def add_noise(sums, noise_multipliers, max_grad_norm, generator):
    """Add N(0, (σC)²) to every coordinate of the sums, in place.

    One standard normal draw an array, in the order W1, b1, W2, b2, serves all S networks.

    Args:
        sums: StackedMLPs, S of them.
        noise_multipliers: the S factors σ.
        max_grad_norm: the bound C.
        generator: torch.Generator.
    """
    W1, b1, W2, b2 = sums.parameters
    for of_network in (
        [W1[:, s] for s in range(len(b1))],
        list(b1),
        list(W2),
        list(b2),
    ):
        noise = torch.empty_like(of_network[0], memory_format=torch.contiguous_format)
        noise.normal_(generator=generator)
        for array, noise_multiplier in zip(of_network, noise_multipliers, strict=True):
            array.add_(noise, alpha=noise_multiplier * max_grad_norm)


def check_noise_multipliers(noise_multipliers):
    """Refuse a negative noise multiplier, or an empty list of them, with a ValueError."""
    if len(noise_multipliers) == 0 or min(noise_multipliers) < 0:
        raise ValueError(
            f"noise_multipliers is {list(noise_multipliers)}; "
            "give at least one, each 0 (no noise) or larger."
        )


def train_dpsgd(X, y, seed, noise_multipliers, settings):
    """Train one MLP for each noise multiplier by DP-SGD, side by side.

    The initial network comes from seed; a generator seeded with seed + 1 draws each step's batch
    and then its noise. When every noise multiplier is 0 no noise is drawn. An empty batch adds its
    noise like any other.

    Args:
        X: n × d float32.
        y: n class numbers, int64.
        seed: int.
        noise_multipliers: the σ of each run.
        settings: DPSGD.

    Returns:
        list of MLP, one for each noise multiplier.

    Raises:
        ValueError: for a negative noise multiplier, or none at all.
    """
    check_noise_multipliers(noise_multipliers)
    generator = torch.Generator().manual_seed(seed + 1)
    networks = StackedMLPs.copies(initial_mlp(seed, n_features=X.shape[1]), len(noise_multipliers))
    step_size = settings.learning_rate / settings.expected_batch_size
    for _ in range(settings.steps):
        batch = poisson_batch(len(X), settings.sampling_rate, generator)
        rows, labels = X.index_select(0, batch), y.index_select(0, batch)
        sums, _ = clipped_gradient_sum(networks, rows, labels, settings.max_grad_norm)
        if any(noise_multipliers):
            add_noise(sums, noise_multipliers, settings.max_grad_norm, generator)
        for weights, noisy_sum in zip(networks.parameters, sums.parameters, strict=True):
            weights.sub_(noisy_sum, alpha=step_size)
    return networks.unstack()
