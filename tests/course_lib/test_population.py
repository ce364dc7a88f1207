"""Populations against torch.optim's loop, model by model."""

import gc
import warnings

import joblib
import numpy as np
import pytest
import torch

from course_lib.dpsgd import DPSGD, train_dpsgd
from course_lib.models import initial_mlp
from course_lib.population import (
    accuracies,
    coin_membership,
    logits,
    start_workers,
    train_mlp,
    train_mlps,
    train_mlps_dpsgd,
)
from tests.course_lib.torch_layers import torch_network

SETTINGS = DPSGD(
    sampling_rate=0.2, steps=4, max_grad_norm=1.0, learning_rate=1.0, expected_batch_size=8.0
)


@pytest.fixture
def records():
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(80, 15, generator=generator)
    return X, torch.randint(3, (80,), generator=generator)


def design(n_models, n_records=80):
    return np.random.default_rng(0).random((n_models, n_records)) < 0.5


def assert_same_network(a, b, **tolerance):
    for own, other in zip(a.parameters, b.parameters, strict=True):
        torch.testing.assert_close(own, other, **tolerance)


def assert_trains_like_torch_optim(X, y):
    network = torch_network(initial_mlp(4, n_features=15))
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    generator = torch.Generator().manual_seed(4)
    for _ in range(3):
        for batch in torch.randperm(80, generator=generator).split(32):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(X[batch]), y[batch]).backward()
            optimizer.step()
    trained = train_mlp(X, y, 4, epochs=3, batch_size=32, learning_rate=2e-3)
    for own, expected in zip(trained.parameters, network.parameters(), strict=True):
        expected = expected.detach()
        expected = expected.t() if expected.dim() == 2 else expected
        torch.testing.assert_close(own, expected, atol=2e-5, rtol=1e-4)


def test_adam_equals_torch_optim_and_autograd(records):
    X, y = records
    assert_trains_like_torch_optim(X, y)


def test_blank_features_train_like_all_others(records):
    X, y = records
    X = X.clone()
    X[:, [2, 7, 8]] = X.min() - 1  # blank in every row; feature 4 only in some
    X[:40, 4] = X.min()
    assert_trains_like_torch_optim(X, y)


def test_workers_started_ahead_train_the_same_networks(records):
    X, y = records
    start_workers(2)
    ahead = train_mlps(X, y, design(3), [1, 2, 3], workers=2, epochs=1)
    here = train_mlps(X, y, design(3), [1, 2, 3], workers=1, epochs=1)
    for a, b in zip(ahead, here, strict=True):
        assert_same_network(a, b, atol=0, rtol=0)


def test_an_iterator_that_is_dropped_breaks_off_no_training(records):
    X, y = records
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        next(train_mlps(X, y, design(6), range(6), workers=2, epochs=3))
        gc.collect()
        later = list(train_mlps(X, y, design(3), [1, 2, 3], workers=2, epochs=1))
    assert [w for w in said if "cancelled" in str(w.message)] == []  # as joblib would say
    here = train_mlps(X, y, design(3), [1, 2, 3], workers=1, epochs=1)
    for a, b in zip(later, here, strict=True):
        assert_same_network(a, b, atol=0, rtol=0)


def test_an_error_in_a_worker_reaches_the_reader(records):
    X, y = records
    with pytest.raises(IndexError):
        list(train_mlps(X, y + 100, design(2), [1, 2], workers=2, epochs=1))


def test_a_population_is_its_models_trained_one_by_one(records):
    X, y = records
    IN = design(3)
    population = list(train_mlps(X, y, IN, [7, 8, 9], workers=1, epochs=2))
    for network, member, seed in zip(population, IN, [7, 8, 9], strict=True):
        member = torch.from_numpy(member)
        with torch.no_grad():
            assert_same_network(network, train_mlp(X[member], y[member], seed, epochs=2))


def test_the_number_of_workers_changes_no_bit(records):
    X, y = records
    alone = train_mlps(X, y, design(3), [1, 2, 3], workers=1, epochs=2)
    with joblib.parallel_config(backend="threading"):
        together = train_mlps(X, y, design(3), [1, 2, 3], workers=2, epochs=2)
        together = list(together)
    for a, b in zip(alone, together, strict=True):
        assert_same_network(a, b, atol=0, rtol=0)


def test_private_populations_are_sorted_by_noise_multiplier(records):
    X, y = records
    IN = design(2)
    population = train_mlps_dpsgd(X, y, IN, [5, 6], [0.0, 2.0, 0.5], SETTINGS, workers=1)
    for by_sigma, member, seed in zip(population, IN, [5, 6], strict=True):
        assert list(by_sigma) == [0.0, 2.0, 0.5]
        member = torch.from_numpy(member)
        for sigma, network in by_sigma.items():
            (alone,) = train_dpsgd(X[member], y[member], seed, [sigma], SETTINGS)
            assert_same_network(network, alone, atol=1e-5, rtol=1e-5)


def test_progress_counts_every_model(records):
    seen = []
    X, y = records
    networks = train_mlps(
        X, y, design(3), [1, 2, 3], workers=1, on_done=lambda k, n: seen.append((k, n)), epochs=1
    )
    assert seen == []
    list(networks)
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_training_leaves_the_number_of_threads_as_it_was(records):
    X, y = records
    before = torch.get_num_threads()
    list(train_mlps(X, y, design(1), [1], workers=1, epochs=1))
    assert torch.get_num_threads() == before


def test_logits_stack_the_networks(records):
    X, _ = records
    networks = [initial_mlp(seed, n_features=15, n_classes=3) for seed in (0, 1)]
    stacked = logits(networks, X)
    assert stacked.shape == (2, 80, 3)
    assert torch.equal(stacked[1], networks[1].logits(X))


def test_accuracies_are_those_of_the_networks_in_order(records):
    X, y = records
    networks = [initial_mlp(seed, n_features=15, n_classes=3) for seed in range(5)]
    expected = [(network.logits(X).argmax(1) == y).double().mean().item() for network in networks]
    assert accuracies(networks, X, y, workers=2).tolist() == expected


def test_coins_are_fair_and_independent_of_each_other():
    coins = np.array([coin_membership(400, np.random.default_rng(k)) for k in range(500)])
    assert abs(coins.mean() - 0.5) < 5 * 0.5 / np.sqrt(coins.size)
    # Binomial, not a fixed half: the number of members varies with standard deviation √(400)/2.
    assert abs(coins.sum(1).std() / 10 - 1) < 5 / np.sqrt(2 * 500)


@pytest.mark.parametrize("IN", [np.ones((2, 80)), np.ones((3, 80), bool), np.ones((2, 79), bool)])
def test_membership_of_the_wrong_kind_or_shape_is_refused(records, IN):
    X, y = records
    with pytest.raises(ValueError, match="expected bool of shape"):
        train_mlps(X, y, IN, [1, 2], workers=1, epochs=1)
