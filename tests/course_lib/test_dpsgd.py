"""DP-SGD against autograd, Opacus, and a plain loop."""

import math

import pytest
import torch
from opacus.grad_sample import GradSampleModule

from course_lib.dpsgd import (
    DPSGD,
    StackedMLPs,
    add_noise,
    clipped_gradient_sum,
    poisson_batch,
    train_dpsgd,
)
from course_lib.models import initial_mlp
from tests.course_lib.torch_layers import torch_network

SETTINGS = DPSGD(
    sampling_rate=0.1, steps=5, max_grad_norm=0.5, learning_rate=1.0, expected_batch_size=6.0
)


def batch(n, d=12, k=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    X = 3 * torch.randn(n, d, generator=generator)
    X[::4] /= 100  # some gradients stay below the clipping norm
    return X, torch.randint(k, (n,), generator=generator)


def two_networks():
    networks = [initial_mlp(seed, n_features=12, n_hidden=7, n_classes=4) for seed in (0, 1)]
    stacks = [StackedMLPs.copies(network, 1) for network in networks]
    stacked = StackedMLPs(
        torch.cat([s.W1 for s in stacks], 1),
        torch.cat([s.b1 for s in stacks]),
        torch.cat([s.W2 for s in stacks]),
        torch.cat([s.b2 for s in stacks]),
    )
    return networks, stacked


def clipped_by_hand(per_example, max_norm):
    """per_example: four arrays n × parameter shape, in torch's layout. Returns norms and sums."""
    flat = torch.cat([g.flatten(1) for g in per_example], 1).double()
    norms = flat.norm(dim=1)
    clipped = flat * (max_norm / norms).clamp_max(1)[:, None]
    return norms, clipped.sum(0)


def flattened(sums, s):
    W1, b1, W2, b2 = sums.W1[:, s], sums.b1[s], sums.W2[s], sums.b2[s]
    return torch.cat([a.flatten() for a in (W1.t(), b1, W2.t(), b2)]).double()


@pytest.mark.parametrize("max_norm", [0.05, 1.0, 1e6])
def test_clipped_sums_and_norms_equal_autograd_one_example_at_a_time(max_norm):
    networks, stacked = two_networks()
    X, y = batch(30)
    sums, norms = clipped_gradient_sum(stacked, X, y, max_norm)
    for s, mlp in enumerate(networks):
        network = torch_network(mlp)
        rows = []
        for x, label in zip(X, y, strict=True):
            loss = torch.nn.functional.cross_entropy(network(x[None]), label[None])
            rows.append(torch.autograd.grad(loss, list(network.parameters())))
        per_example = [torch.stack(arrays) for arrays in zip(*rows, strict=True)]
        expected_norms, expected = clipped_by_hand(per_example, max_norm)
        torch.testing.assert_close(norms[s].double(), expected_norms, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(flattened(sums, s), expected, atol=1e-5, rtol=1e-5)


def test_clipped_sum_equals_opacus_per_sample_gradients_clipped_by_hand():
    networks, stacked = two_networks()
    X, y = batch(50, seed=1)
    sums, _ = clipped_gradient_sum(stacked, X, y, 0.3)
    for s, mlp in enumerate(networks):
        network = GradSampleModule(torch_network(mlp))
        torch.nn.functional.cross_entropy(network(X), y, reduction="sum").backward()
        _, expected = clipped_by_hand([p.grad_sample for p in network.parameters()], 0.3)
        torch.testing.assert_close(flattened(sums, s), expected, atol=1e-5, rtol=1e-5)


def test_no_example_moves_the_sum_by_more_than_the_clipping_norm():
    _, stacked = two_networks()
    X, y = batch(30)
    with_all, _ = clipped_gradient_sum(stacked, X, y, 0.3)
    without_one, _ = clipped_gradient_sum(stacked, X[1:], y[1:], 0.3)
    for s in range(2):
        moved = (flattened(with_all, s) - flattened(without_one, s)).norm()
        assert 0 < moved <= 0.3 * (1 + 1e-5)


def test_a_zero_gradient_is_no_division_by_zero():
    mlp = initial_mlp(0, n_features=12, n_hidden=7, n_classes=4)
    certain = StackedMLPs.copies(mlp, 1)
    certain.b2[0] = torch.tensor([1e4, 0.0, 0.0, 0.0])
    X, _ = batch(5)
    sums, norms = clipped_gradient_sum(certain, X, torch.zeros(5, dtype=torch.int64), 1.0)
    assert torch.equal(norms, torch.zeros(1, 5))
    assert torch.equal(flattened(sums, 0), torch.zeros_like(flattened(sums, 0)))


def test_noise_has_the_standard_deviation_sigma_times_c_and_is_shared():
    mlp = initial_mlp(0, n_features=784)
    sums = StackedMLPs(*(torch.zeros_like(p) for p in StackedMLPs.copies(mlp, 2).parameters))
    add_noise(sums, [0.5, 2.0], max_grad_norm=3.0, generator=torch.Generator().manual_seed(0))
    first, second = flattened(sums, 0), flattened(sums, 1)
    n = len(first)
    assert abs(first.std() / 1.5 - 1) < 5 / math.sqrt(2 * n)
    assert abs(first.mean() / 1.5) < 5 / math.sqrt(n)
    torch.testing.assert_close(second, 4 * first)


def test_poisson_batches_have_the_binomial_mean_and_may_be_empty():
    generator = torch.Generator().manual_seed(0)
    sizes = torch.tensor([len(poisson_batch(100, 0.03, generator)) for _ in range(4000)]).double()
    assert abs(sizes.mean() - 3) < 5 * math.sqrt(100 * 0.03 * 0.97 / 4000)
    empty = 0.97**100  # 4.8 % of the steps
    share = (sizes == 0).double().mean()
    assert abs(share - empty) < 5 * math.sqrt(empty * (1 - empty) / 4000)


def test_training_equals_a_plain_loop_over_autograd():
    X, y = batch(60)
    sigma = 0.7
    (trained,) = train_dpsgd(X, y, 5, [sigma], SETTINGS)
    network = torch_network(initial_mlp(5, n_features=12))
    generator = torch.Generator().manual_seed(6)
    for _ in range(SETTINGS.steps):
        mask = torch.rand(60, generator=generator) < SETTINGS.sampling_rate
        sums = [torch.zeros_like(p) for p in network.parameters()]
        for x, label in zip(X[mask], y[mask], strict=True):
            loss = torch.nn.functional.cross_entropy(network(x[None]), label[None])
            gradient = torch.autograd.grad(loss, list(network.parameters()))
            norm = torch.cat([g.flatten() for g in gradient]).norm()
            for total, g in zip(sums, gradient, strict=True):
                total += g * min(1.0, SETTINGS.max_grad_norm / norm.item())
        with torch.no_grad():
            for p, total in zip(network.parameters(), sums, strict=True):
                shape = tuple(reversed(p.shape))  # the noise is laid out inputs × outputs
                noise = torch.randn(shape, generator=generator)
                noise = noise.t() if p.dim() == 2 else noise
                p -= (total + sigma * SETTINGS.max_grad_norm * noise) / 6.0
    for own, expected in zip(trained.parameters, network.parameters(), strict=True):
        expected = expected.detach()
        expected = expected.t() if expected.dim() == 2 else expected
        torch.testing.assert_close(own, expected, atol=1e-5, rtol=1e-5)


def test_noise_multipliers_side_by_side_give_the_networks_of_separate_runs():
    X, y = batch(60)
    together = train_dpsgd(X, y, 2, [0.5, 3.0], SETTINGS)
    for sigma, network in zip([0.5, 3.0], together, strict=True):
        (alone,) = train_dpsgd(X, y, 2, [sigma], SETTINGS)
        for a, b in zip(network.parameters, alone.parameters, strict=True):
            torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


def test_an_empty_batch_still_adds_noise():
    never = DPSGD(
        sampling_rate=1e-9, steps=1, max_grad_norm=1.0, learning_rate=1.0, expected_batch_size=1.0
    )
    X, y = batch(20)
    (network,) = train_dpsgd(X, y, 0, [1.0], never)
    moved = network.W1 - initial_mlp(0, n_features=12).W1
    assert abs(moved.std() - 1) < 5 / math.sqrt(2 * moved.numel())


def test_without_noise_an_empty_batch_changes_nothing():
    never = DPSGD(
        sampling_rate=1e-9, steps=3, max_grad_norm=1.0, learning_rate=1.0, expected_batch_size=1.0
    )
    X, y = batch(20)
    (network,) = train_dpsgd(X, y, 0, [0.0], never)
    assert torch.equal(network.W1, initial_mlp(0, n_features=12).W1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sampling_rate", 0.0),
        ("sampling_rate", 1.5),
        ("steps", -1),
        ("steps", 2.5),
        ("max_grad_norm", 0.0),
        ("learning_rate", float("nan")),
        ("expected_batch_size", -3.0),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(name, value):
    settings = {
        "sampling_rate": 0.1,
        "steps": 5,
        "max_grad_norm": 1.0,
        "learning_rate": 1.0,
        "expected_batch_size": 6.0,
    }
    with pytest.raises(ValueError, match=name):
        DPSGD(**(settings | {name: value}))


@pytest.mark.parametrize("noise_multipliers", [[], [-1.0]])
def test_noise_multipliers_that_make_no_sense_are_refused(noise_multipliers):
    with pytest.raises(ValueError, match="noise_multipliers"):
        train_dpsgd(*batch(5), 0, noise_multipliers, SETTINGS)
