"""The MNIST lab's experiment as one would first write it.

One model after another, PyTorch's own layers and autograd, one bootstrap resample at a time. It
shares no code with course_lib's bench beyond the data and the ceilings, so that it is a yardstick
for the bench's speed and an independent statement of what the bench must compute.
"""

import time

import numpy as np
import torch
from scipy.special import betaincinv
from sklearn.metrics import roc_curve

from course_lib.audit import tradeoff_tpr
from course_lib.data import load_mnist

N_REFERENCES = 16
EPOCHS = 60
STEPS = 300
NOISE_MULTIPLIERS = (0.0, 0.6, 1.0, 3.0)


def pixels(images):
    return ((torch.from_numpy(images).float() / 255 - 0.1307) / 0.3081).flatten(1)


def new_network(seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))


def train(X, y, seed, epochs):
    network = new_network(seed)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        for batch in torch.randperm(len(X), generator=generator).split(128):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(X[batch]), y[batch]).backward()
            optimizer.step()
    return network


def train_privately(X, y, seed, noise_multiplier, steps, sampling_rate=0.05, clip=1.0):
    """Clipped sums by the norm trick; autograd gives the derivatives at the two layers' outputs."""
    network = new_network(seed)
    first, relu, second = network
    generator = torch.Generator().manual_seed(seed + 1)
    for _ in range(steps):
        batch = torch.rand(len(X), generator=generator) < sampling_rate
        rows = X[batch]
        out1 = first(rows)
        hidden = relu(out1)
        out2 = second(hidden)
        loss = torch.nn.functional.cross_entropy(out2, y[batch], reduction="sum")
        u1, u2 = torch.autograd.grad(loss, (out1, out2))
        with torch.no_grad():
            squared = u1.square().sum(1) * (rows.square().sum(1) + 1)
            squared += u2.square().sum(1) * (hidden.square().sum(1) + 1)
            factor = (clip / squared.sqrt().clamp_min(1e-12)).clamp_max(1)[:, None]
            u1, u2 = u1 * factor, u2 * factor
            sums = (rows.t() @ u1, u1.sum(0), hidden.t() @ u2, u2.sum(0))
            for parameter, total in zip(network.parameters(), sums, strict=True):
                if noise_multiplier:
                    total = total + noise_multiplier * clip * torch.randn(
                        total.shape, generator=generator
                    )
                parameter -= (total.t() if total.dim() == 2 else total) / 100
    return network


@torch.no_grad()
def label_logits(network, X, y):
    z = network(X).double()
    own = z.gather(1, y[:, None]).squeeze(1)
    others = z.scatter(1, y[:, None], -torch.inf).logsumexp(1)
    return (own - others).numpy()


def calibrate(target, references, member_of_reference):
    """Offline LiRA: the score, standardised by the references that did not see the record."""
    out = ~member_of_reference
    n_out = np.maximum(out.sum(0), 1)  # with fresh coins, now and then every reference saw a record
    mean = np.where(out, references, 0).sum(0) / n_out
    variance = np.where(out, (references - mean) ** 2, 0).sum(0) / np.maximum(n_out - 1, 1)
    return (target - mean) / np.sqrt(np.maximum(variance, 0.01))


def measures(scores, member):
    fpr, tpr, _ = roc_curve(member, scores, drop_intermediate=False)
    area = np.trapezoid(tpr, fpr)
    return [area, tpr[fpr <= 0.01].max(), tpr[fpr <= 0.001].max(), (0.5 + (tpr - fpr) / 2).max()]


def bootstrap(scores, member, resamples=1000):
    rng = np.random.default_rng(0)
    ins, outs = np.flatnonzero(member), np.flatnonzero(~member)
    draws = []
    for _ in range(resamples):
        rows = np.concatenate([rng.choice(ins, len(ins)), rng.choice(outs, len(outs))])
        draws.append(measures(scores[rows], member[rows]))
    return np.percentile(draws, [2.5, 97.5], axis=0)


def all_targets(scores, designs):
    """Attack each network with all the others as references: the mean calibrated TPR at 1% FPR."""
    tprs = []
    for t in range(len(scores)):
        others = [m for m in range(len(scores)) if m != t]
        calibrated = calibrate(scores[t], scores[others], designs[others])
        tprs.append(measures(calibrated, designs[t])[1])
    return np.mean(tprs)


def online(target, references, member_of_reference):
    """Online LiRA with two shared variances."""
    inside, outside = member_of_reference, ~member_of_reference
    means, variances = [], []
    for side in (inside, outside):
        n = np.maximum(side.sum(0), 1)
        mean = np.where(side, references, 0).sum(0) / n
        each = np.where(side, (references - mean) ** 2, 0).sum(0) / np.maximum(n - 1, 1)
        means.append(mean)
        variances.append(each.mean())
    z_in, z_out = ((target - m) / np.sqrt(v) for m, v in zip(means, variances, strict=True))
    return z_out**2 / 2 - z_in**2 / 2 + 0.5 * np.log(variances[1] / variances[0])


def evaluate_all_targets(scores, designs):
    """Three attacks on each network, with all the others as references."""
    found = []
    for t in range(len(scores)):
        others = [m for m in range(len(scores)) if m != t]
        references = scores[others], designs[others]
        for attack in (
            scores[t],
            calibrate(scores[t], *references),
            online(scores[t], *references),
        ):
            found.append(measures(attack, designs[t]))
    return found


def audit(scores, member, seed):
    """The one-run bound at δ = 0: the best pair of thresholds on one half, counted on the other."""
    order = np.random.default_rng(seed).permutation(len(scores))
    first, second = np.array_split(order, 2)
    counts = np.unique(np.round(np.geomspace(1, len(first), 80)).astype(int))
    ranked = first[np.argsort(-scores[first])]
    right_in = np.cumsum(member[ranked])
    right_out = np.cumsum(~member[ranked[::-1]])
    best = (0.0, None)
    for n_in in (0, *counts):
        for n_out in (0, *counts):
            guesses = n_in + n_out
            if not 0 < guesses <= len(first):
                continue
            right = (right_in[n_in - 1] if n_in else 0) + (right_out[n_out - 1] if n_out else 0)
            rate = betaincinv(right, guesses - right + 1, 0.05) if right else 0.0
            if rate > best[0]:
                best = (rate, (n_in, n_out))
    n_in, n_out = best[1]
    says_in = scores[second] >= (scores[ranked[n_in - 1]] if n_in else np.inf)
    says_out = scores[second] <= (scores[ranked[-n_out]] if n_out else -np.inf)
    right = (says_in & member[second]).sum() + (says_out & ~member[second]).sum()
    rate = betaincinv(right, says_in.sum() + says_out.sum() - right + 1, 0.05) if right else 0.0
    return max(0.0, np.log(rate / (1 - rate))) if rate else 0.0


def privacy(noise_multiplier):
    """ε by Opacus' two accountants, and the trade-off curve."""
    from opacus.accountants import PRVAccountant, RDPAccountant

    epsilons = []
    for accountant in (RDPAccountant(), PRVAccountant()):
        accountant.history = [(noise_multiplier, 0.05, STEPS)]
        epsilons.append(accountant.get_epsilon(1e-5))
    return epsilons, tradeoff_tpr(np.geomspace(1e-4, 1, 200), noise_multiplier, 0.05, STEPS)


def run(mnist, report=print):
    """Do the MNIST lab's work: its models, attacks, intervals and controls. Returns the figures."""
    clock = time.perf_counter()

    def lap(what):
        nonlocal clock
        now = time.perf_counter()
        report(f"  {what}: {now - clock:.1f} s")
        clock = now

    rng = np.random.default_rng(0)
    pool = rng.choice(60_000, 4_000, replace=False)
    member = rng.random(4_000) < 0.5
    X, y = pixels(mnist.x_train[pool]), torch.from_numpy(mnist.y_train[pool].astype(np.int64))
    X_test, y_test = pixels(mnist.x_test), torch.from_numpy(mnist.y_test.astype(np.int64))

    def adam(rows, digits, seed):
        return train(rows, digits, seed, EPOCHS)

    def private(noise_multiplier, clip=1.0):
        return lambda rows, digits, seed: train_privately(
            rows, digits, seed, noise_multiplier, STEPS, clip=clip
        )

    @torch.no_grad()
    def accuracy(network):
        return (network(X_test).argmax(1) == y_test).double().mean().item()

    def population(target_seed, base, trainer, n=4_000):
        designs = [member] + [
            np.random.default_rng(base + k).random(4_000) < 0.5 for k in range(N_REFERENCES)
        ]
        designs = np.array(designs)[:, :n]
        seeds = [target_seed] + [base + k for k in range(N_REFERENCES)]
        networks = []
        for design, seed in zip(designs, seeds, strict=True):
            chosen = torch.from_numpy(design)
            networks.append(trainer(X[:n][chosen], y[:n][chosen], seed))
        scores = np.array([label_logits(network, X[:n], y[:n]) for network in networks])
        return networks, designs, scores

    def judge(designs, scores):
        calibrated = calibrate(scores[0], scores[1:], designs[1:])
        return {
            name: (measures(values, designs[0]), bootstrap(values, designs[0]))
            for name, values in (("loss", scores[0]), ("cal", calibrated))
        }

    _, designs, scores = population(1, 100, adam)
    lap("Adam: 17 models")
    results = {"": judge(designs, scores)}
    lap("Adam: intervals")
    evaluate_all_targets(scores, designs)
    lap("Adam: all targets")
    for values in (scores[0], calibrate(scores[0], scores[1:], designs[1:])):
        results.setdefault("audits", []).append([audit(values, member, k) for k in range(61)])
    lap("Adam: audits")
    for sigma in NOISE_MULTIPLIERS:
        networks, designs, scores = population(0, 200, private(sigma))
        lap(f"σ = {sigma}: 17 models")
        results[sigma] = judge(designs, scores)
        lap(f"σ = {sigma}: intervals")
        results[sigma]["accuracy"] = [accuracy(network) for network in networks]
        lap(f"σ = {sigma}: test accuracies")
        evaluate_all_targets(scores, designs)
        lap(f"σ = {sigma}: all targets")
        if sigma == 0.6:
            fresh = np.random.default_rng(9)
            for _ in range(60):
                coins = fresh.random(designs.shape) < 0.5
                all_targets(scores, coins)
                for t in range(len(scores)):
                    measures(scores[t], coins[t])
            lap("fresh coins")
        if sigma:
            privacy(sigma)
            lap(f"σ = {sigma}: accounting")
    adam(X[torch.from_numpy(member)], y[torch.from_numpy(member)], 2)
    lap("a network with canaries")
    population(1, 100, adam, n=2_000)
    lap("exercise 4: 17 models on half the pool")
    private(1.0, clip=0.1)(X[torch.from_numpy(member)], y[torch.from_numpy(member)], 0)
    lap("exercise 5: one more private model")
    return results


if __name__ == "__main__":
    run(load_mnist())
