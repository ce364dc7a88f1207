"""Populations of models: who is a member of which training set, and the training of many at once.

A population is M models trained on M random subsets of one pool of P records. IN (M × P, bool) says
which record trained which model.

Logistic regressions are solved together, as one array: train_population and
train_logistic_dpsgd.

Each network trains on one thread of a process of its own, as many at a time as there are cores:
their matrix products are too small to share. It also makes a model's bits independent of the number
of cores. joblib starts the processes, so joblib.parallel_config chooses where they run.
"""

import threading
from concurrent.futures import Future

import joblib
import numpy as np
import torch
from torch.optim.adam import adam

from course_lib.dpsgd import check_noise_multipliers, train_dpsgd
from course_lib.models import fit_logistic_newton, initial_mlp, sigmoid, true_label_logit
from course_lib.products import product


def coin_membership(n_records, rng):
    """A fair coin per record: n_records bools from rng, a numpy Generator; True for a member.

    Independent coins, not halves of a fixed size: knowing the other records' membership must say
    nothing about the one under attack.
    """
    return rng.random(n_records) < 0.5


def train_population(A, y, n_models, n_in, lam, rng, copies=None):
    """Train logistic regressions on random subsets of a fixed size, by fit_logistic_newton.

    Args:
        A: P × d features of the pool, the first column all ones.
        y: P labels, 0 or 1.
        n_models: M.
        n_in: how many records train a model: the first n_in of rng.permutation(P), model after
            model, and nothing else is drawn.
        lam: weight of the L2 penalty.
        rng: numpy Generator.
        copies: P whole numbers from 1 up: how often a record stands in a training set that it is
            in. Membership is by record: all its copies, or none.

    Returns:
        ``(IN, PHI, THETA)``: M × P bool; M × P true-label logits, members and non-members alike;
        M × d weights.

    Raises:
        ValueError: for sizes that do not fit the pool, copies that are no such numbers, and as
            models.fit_logistic_newton, which names a model whose training set has one class only.
    """
    P = len(A)
    if n_models < 1:
        raise ValueError(f"n_models is {n_models}; expected at least 1.")
    if not 1 <= n_in <= P:
        raise ValueError(f"n_in is {n_in}; a pool of {P} records can give 1 to {P} of them.")
    IN = np.zeros((n_models, P), dtype=bool)
    for is_member in IN:
        is_member[rng.permutation(P)[:n_in]] = True
    weights = IN
    if copies is not None:
        copies = np.asarray(copies)
        if copies.shape != (P,) or not np.issubdtype(copies.dtype, np.integer) or copies.min() < 1:
            raise ValueError(f"copies must be {P} whole numbers from 1 up, one for each record.")
        weights = IN * copies.astype(np.min_scalar_type(copies.max()))
    THETA = fit_logistic_newton(A, y, lam, weights=weights)
    return IN, true_label_logit(THETA, A, y), THETA


def train_logistic_dpsgd(A, y, IN, noise_multiplier, settings, rng):
    """Train a population of logistic regressions by DP-SGD, all side by side.

    Every model starts at zero. In every step each member enters a model's batch by a coin of its
    own; its gradient −σ(−φ)(2y − 1)a is clipped to norm C; noise N(0, (zC)²) is added to every
    coordinate of the sum, and the sum divided by the public expected batch size. The gradient's
    norm is σ(−φ)‖a‖, so the clipped sums of all models are one matrix product. There is no penalty.

    Args:
        A: P × d finite features.
        y: P labels, 0 or 1.
        IN: M × P bool, the members of each model.
        noise_multiplier: z, from 0 up.
        settings: dpsgd.DPSGD.
        rng: numpy Generator. It is spawned once, for the coins and for the noise; with a sampling
            rate of 1 no coins are thrown.

    Returns:
        ``(PHI, THETA)``: M × P true-label logits and M × d weights.

    Raises:
        ValueError: if IN is not bool, shapes do not match, or noise_multiplier is negative.
    Source: Abadi et al. (2016), algorithm 1.
    """
    A = np.asarray(A, dtype=np.float64)
    IN = _checked_membership(IN, range(len(IN)), A)
    if not noise_multiplier >= 0:
        raise ValueError(f"noise_multiplier is {noise_multiplier}; expected a number from 0 up.")
    coins, noise = rng.spawn(2)
    THETA = np.zeros((len(IN), A.shape[1]))
    PHI = true_label_logit(THETA, A, y)  # checks A and y
    norms = np.linalg.norm(A, axis=1)
    signed = A * (2 * np.asarray(y, dtype=np.float64) - 1)[:, None]
    for _step in range(settings.steps):
        batch = IN
        if settings.sampling_rate < 1:
            batch = IN & (coins.random(IN.shape) < settings.sampling_rate)
        residual = sigmoid(-PHI)
        scale = settings.max_grad_norm / np.maximum(residual * norms, 1e-12)
        pull = (batch * residual * np.minimum(scale, 1)) @ signed  # minus the clipped sums
        pull += noise_multiplier * settings.max_grad_norm * noise.normal(size=pull.shape)
        THETA += settings.learning_rate / settings.expected_batch_size * pull
        PHI = THETA @ signed.T
    return PHI, THETA


def train_mlp(X, y, seed, *, epochs, batch_size=128, learning_rate=1e-3):
    """Train one MLP by Adam on the cross-entropy.

    The initial network comes from seed; a generator seeded with seed draws a permutation an epoch;
    the last, shorter batch is kept. The gradients are written out: for two dense layers they are
    three products. Features that are blank in every row (at the smallest value of all) have the
    same gradient and move alike: one row of weights stands for them. In MNIST they are a fifth.

    Args:
        X: n × d float32.
        y: n class numbers, int64.
        seed: int.
        epochs: passes over the rows.
        batch_size: rows a step.
        learning_rate: Adam's.

    Returns:
        MLP.
    """
    network = initial_mlp(seed, n_features=X.shape[1])
    _, b1, W2, b2 = network.parameters
    blank_value = X.min()
    blank = X.eq(blank_value).all(0)
    X_lit, W1 = X[:, ~blank].contiguous(), network.W1[~blank]
    blank_bias = blank_value * network.W1[blank].sum(0)
    shift = torch.zeros_like(b1)  # how far the weights of every blank feature have moved
    parameters = [W1, shift, b1, W2, b2]
    means, squares = ([torch.zeros_like(p) for p in parameters] for _ in range(2))
    steps = [torch.zeros(()) for _ in parameters]
    generator = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        for batch in torch.randperm(len(X), generator=generator).split(batch_size):
            rows, labels = X_lit.index_select(0, batch), y.index_select(0, batch)
            bias = b1 + blank_bias + blank_value * blank.sum() * shift
            hidden = product(rows, W1).add_(bias).relu_()
            u2 = product(hidden, W2).add_(b2).softmax(1)
            u2[torch.arange(len(batch)), labels] -= 1
            u2 /= len(batch)
            u1 = product(u2, W2.t()).mul_(hidden.sign())  # the ReLU's slope: 0 or 1
            of_b1 = u1.sum(0)
            gradients = [
                product(rows.t(), u1),
                blank_value * of_b1,
                of_b1,
                product(hidden.t(), u2),
                u2.sum(0),
            ]
            adam(
                parameters,
                gradients,
                means,
                squares,
                [],
                steps,
                fused=True,
                amsgrad=False,
                beta1=0.9,
                beta2=0.999,
                lr=learning_rate,
                weight_decay=0.0,
                eps=1e-8,
                maximize=False,
            )
    network.W1[~blank] = W1
    network.W1[blank] += shift
    return network


def start_workers(workers=-1):
    """Start the training processes in the background, so that the first population need not wait.

    A process takes a second to import PyTorch. workers: as for train_mlps; with 1 the training
    stays in this process, and there is nothing to start.
    """
    if workers == 1:
        return
    tasks = [joblib.delayed(torch.set_num_threads)(1)] * joblib.effective_n_jobs(workers)
    threading.Thread(target=joblib.Parallel(n_jobs=workers), args=(tasks,), daemon=True).start()


def train_mlps(X, y, IN, seeds, *, workers=-1, on_done=None, **training):
    """Start to train a population of MLPs by Adam; train_mlp says how one is trained.

    The training starts at once and goes on in the background: take the networks when you need them.

    Args:
        X: P × d float32 tensor, the pool.
        y: P class numbers, int64.
        IN: M × P bool array, the members of each model.
        seeds: M ints.
        workers: how many models train at a time; -1 for one per core. With 1 they train in this
            process, each when it is asked for.
        on_done: called as on_done(k, M) when the k-th network is handed over.
        **training: epochs and the other settings of train_mlp.

    Returns:
        iterator over the M networks (MLP), in order.

    Raises:
        ValueError: if IN is not bool, or its shape does not fit X and seeds.
    """
    return _start(train_mlp, X, y, IN, seeds, workers, on_done, training)


def train_mlps_dpsgd(X, y, IN, seeds, noise_multipliers, settings, *, workers=-1, on_done=None):
    """Start to train a population of MLPs by DP-SGD, each at several noise multipliers.

    The positive noise multipliers of one model train side by side, on the same batches and the same
    normal draws (dpsgd.train_dpsgd). Without noise nothing is drawn for it, so that the batches of
    that run are its own.

    Args:
        X, y, IN, seeds, workers, on_done: as for train_mlps.
        noise_multipliers: the values of σ.
        settings: dpsgd.DPSGD.

    Returns:
        iterator over the M models, in order: each a dict from noise multiplier to MLP.

    Raises:
        ValueError: as train_mlps, and for a negative noise multiplier, or none at all.
    """
    check_noise_multipliers(noise_multipliers)
    training = {"noise_multipliers": tuple(noise_multipliers), "settings": settings}
    return _start(_train_at_each_noise, X, y, IN, seeds, workers, on_done, training)


def _train_at_each_noise(X, y, seed, noise_multipliers, settings):
    noisy = [sigma for sigma in noise_multipliers if sigma > 0]
    silent = [sigma for sigma in noise_multipliers if sigma == 0]
    networks = {}
    for group in (noisy, silent):
        if group:
            networks |= zip(group, train_dpsgd(X, y, seed, group, settings), strict=True)
    return {sigma: networks[sigma] for sigma in noise_multipliers}


def logits(networks, X, *, workers=-1):
    """The class scores of M networks for n rows of X (n × d): M × n × k, float32."""
    return torch.stack(_in_threads(workers, [network.logits for network in networks], X))


def accuracies(networks, X, y, *, workers=-1):
    """The accuracy of M networks on n rows of X (n × d) with classes y: M float64 values."""
    return np.array(_in_threads(workers, [network.accuracy for network in networks], X, y))


def _in_threads(workers, functions, *arguments):
    """Call the functions side by side: their products are large, so that threads pay here."""
    parallel = joblib.Parallel(n_jobs=workers, prefer="threads")
    return parallel(joblib.delayed(function)(*arguments) for function in functions)


def _checked_membership(IN, seeds, X):
    IN = np.asarray(IN)
    if IN.dtype != bool or IN.shape != (len(seeds), len(X)):
        raise ValueError(
            f"IN is {IN.dtype} of shape {IN.shape}; expected bool of shape "
            f"(number of seeds, number of records) = ({len(seeds)}, {len(X)})."
        )
    return IN


def _start(trainer, X, y, IN, seeds, workers, on_done, training):
    IN = _checked_membership(IN, seeds, X)
    X, y = np.asarray(X), np.asarray(y)  # joblib shares large numpy arrays through memory
    trained = joblib.Parallel(n_jobs=workers, return_as="generator")(
        joblib.delayed(_train_one)(trainer, X, y, member, seed, training)
        for member, seed in zip(IN, seeds, strict=True)
    )
    if joblib.effective_n_jobs(workers) > 1:
        trained = _kept_going(trained, len(seeds))
    return _handed_over(trained, len(seeds), on_done)


def _kept_going(results, total):
    """Take results as they come, so that they need not wait for a reader, who may never come.

    A reader who runs a cell again drops the first iterator; joblib would then break off its tasks.
    """
    futures = [Future() for _ in range(total)]

    def take():
        try:
            for future, result in zip(futures, results, strict=True):
                future.set_result(result)
        except BaseException as error:
            for future in futures:
                if not future.done():
                    future.set_exception(error)

    threading.Thread(target=take, daemon=True).start()
    return (future.result() for future in futures)


def _handed_over(trained, total, on_done):
    for done, network in enumerate(trained, start=1):
        if on_done:
            on_done(done, total)
        yield network


def _train_one(trainer, X, y, is_member, seed, training):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            return trainer(
                torch.from_numpy(X[is_member]), torch.from_numpy(y[is_member]), seed, **training
            )
    finally:
        torch.set_num_threads(threads)
