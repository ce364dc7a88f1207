"""Accountants against the libraries' own, the closed form of the Gaussian, and each other."""

import json
import math
import subprocess
import sys
import warnings

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from opacus.accountants import PRVAccountant, RDPAccountant
from scipy.stats import norm

from course_lib import accounting

MNIST = {"sampling_rate": 0.05, "steps": 300, "delta": 1e-5}


def gaussian_delta(epsilon, mu):
    """δ(ε) of a Gaussian whose mean moves by μ standard deviations (Balle and Wang 2018)."""
    return norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


# --- known values --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("z", "published"),
    [(0.6, 21.01633243440065), (1.0, 6.459696760236281), (3.0, 1.2725164984602888)],
)
def test_rdp_gives_the_published_mnist_values(z, published):
    opacus = RDPAccountant()
    opacus.history = [(z, MNIST["sampling_rate"], MNIST["steps"])]
    assert accounting.epsilon(z, **MNIST) == pytest.approx(published, abs=1e-6)
    assert accounting.epsilon(z, **MNIST) == pytest.approx(opacus.get_epsilon(1e-5), abs=1e-9)


@pytest.mark.parametrize(
    ("z", "rate", "steps", "delta", "rdp", "pld"),
    [
        (1.1, 256 / 60000, 14040, 1e-5, 2.5944, 2.3796),
        (1.0, 0.04, 250, 1e-5, 4.7206, 4.1852),
        (1.5, 64 / 455, 100, 1e-3, 4.0917, 3.5396),
        (1.0, 1, 1, 1e-5, 4.7285, 4.3772),
        (1.0, 1 / 49, 1470, 1e-5, 5.36, 4.87),
    ],
)
def test_rdp_and_pld_of_known_runs(z, rate, steps, delta, rdp, pld):
    digits = 2 if rdp == 5.36 else 4
    assert round(accounting.epsilon(z, rate, steps, delta, "rdp"), digits) == rdp
    assert accounting.epsilon(z, rate, steps, delta, "pld") == pytest.approx(
        pld, abs=0.6 * 10**-digits
    )


@pytest.mark.parametrize(("z", "prv"), [(0.6, 18.741), (1.0, 5.806), (3.0, 1.169)])
def test_prv_of_the_mnist_runs(z, prv):
    opacus = PRVAccountant()
    opacus.history = [(z, MNIST["sampling_rate"], MNIST["steps"])]
    found = accounting.epsilon(z, **MNIST, accountant="prv")
    assert round(found, 3) == prv
    assert found == opacus.get_epsilon(1e-5)
    assert found - 0.02 < accounting.epsilon(z, **MNIST, accountant="pld") < found


def test_replace_one_costs_more_than_add_remove():
    both = [accounting.epsilon(1.0, 1 / 49, 1470, 1e-5, "pld", a) for a in accounting.ADJACENCIES]
    assert both[0] == pytest.approx(4.87, abs=0.01)
    assert both[1] >= 8.0


@pytest.mark.parametrize(
    ("z", "add_remove", "replace"), [(150.7, 0.113, 0.241), (23.5, 0.858, 1.84)]
)
def test_full_batch_under_both_adjacencies(z, add_remove, replace):
    for accountant in ("gaussian", "pld"):
        found = [accounting.epsilon(z, 1, 30, 1e-5, accountant, a) for a in accounting.ADJACENCIES]
        assert found == pytest.approx([add_remove, replace], abs=5e-3)
        assert round(found[0], 3) == add_remove


def test_noise_for_epsilon_one_on_the_full_batch():
    found = [
        accounting.noise_multiplier(1, 1, 30, 1e-5, "gaussian", a) for a in accounting.ADJACENCIES
    ]
    assert [round(z, 1) for z in found] == [20.4, 40.9]


@pytest.mark.parametrize(
    ("z", "rdp", "pld"),
    [
        (584.7, 0.0307, 0.0253),
        (295.4, 0.0635, 0.0539),
        (150.7, 0.1291, 0.1129),
        (78.3, 0.2551, 0.2308),
        (41.9, 0.5012, 0.4561),
        (23.5, 0.938, 0.8578),
    ],
)
def test_true_epsilon_of_the_classical_noise(z, rdp, pld):
    assert accounting.epsilon(z, 1, 30, 1e-5, "rdp") == pytest.approx(rdp, abs=6e-5)
    assert accounting.epsilon(z, 1, 30, 1e-5, "pld") == pytest.approx(pld, abs=6e-5)


@pytest.mark.parametrize(
    ("target", "z"), [(0.25, 584.7), (0.5, 295.4), (1, 150.7), (2, 78.3), (4, 41.9), (8, 23.5)]
)
def test_classical_noise_of_the_published_lab(target, z):
    found = accounting.classical_noise_multiplier(target, 30, 1e-5)
    assert round(found, 1) == z
    assert accounting.classical_epsilon(found, 30, 1e-5) == pytest.approx(target, rel=1e-9)


def test_classical_accounting_is_ten_times_too_large():
    assert accounting.classical_epsilon(50, 100, 1e-5) == pytest.approx(6.87, abs=0.01)
    assert accounting.epsilon(50, 1, 100, 1e-5, "gaussian") == pytest.approx(0.726, abs=1e-3)
    enough = accounting.noise_multiplier(7.2, 1, 100, 1e-5, "gaussian")
    assert enough == pytest.approx(6.5, abs=0.06)
    assert accounting.classical_epsilon(1e-3, 100, 1e-5) == math.inf


# --- against independent sources -----------------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-8, 1e-5, 1e-2])
@pytest.mark.parametrize(("z", "steps"), [(0.5, 1), (1.0, 1), (8.0, 30), (150.0, 30)])
def test_full_batch_equals_the_closed_form(z, steps, delta):
    found = accounting.epsilon(z, 1, steps, delta, "gaussian")
    assert gaussian_delta(found, math.sqrt(steps) / z) == pytest.approx(delta, rel=1e-6)
    by_pld = accounting.epsilon(z, 1, steps, delta, "pld")
    assert 0 <= by_pld - found < 1e-4 * found
    assert accounting.epsilon(z, 1, steps, delta, "rdp") > found
    assert accounting.epsilon(z, 1, steps, delta, "prv") >= found


@pytest.mark.parametrize(("z", "rate", "steps"), [(0.8, 0.1, 40), (2.0, 0.02, 200)])
@pytest.mark.parametrize("adjacency", accounting.ADJACENCIES)
def test_pld_equals_dp_accountings_accountant(z, rate, steps, adjacency):
    relation = dp_accounting.NeighboringRelation
    accountant = PLDAccountant(
        relation.REPLACE_ONE if adjacency == "replace-one" else relation.ADD_OR_REMOVE_ONE
    )
    event = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(z))
    accountant.compose(event, steps)
    found = accounting.epsilon(z, rate, steps, 1e-5, "pld", adjacency)
    assert found == pytest.approx(accountant.get_epsilon(1e-5), rel=3e-5)
    profile = accounting.privacy_profile([found, 0.1], z, rate, steps, adjacency)
    assert profile == pytest.approx([1e-5, accountant.get_delta(0.1)], rel=2e-4)


def test_profile_of_the_full_batch_equals_the_closed_form():
    epsilons = np.array([[2.0, 0.0], [0.5, 6.0]])
    for adjacency, mu in (("add/remove", math.sqrt(10) / 4), ("replace-one", math.sqrt(10) / 2)):
        found = accounting.privacy_profile(epsilons, 4.0, 1, 10, adjacency)
        np.testing.assert_allclose(found, gaussian_delta(epsilons, mu), rtol=1e-5)


def test_one_sampled_step_equals_numerical_integration():
    """δ(ε) of a mixture against a Gaussian, the larger of both directions."""
    z, rate = 0.9, 0.2
    x = np.linspace(-15, 16, 400_001)
    without = norm.pdf(x, 0, z)
    record = (1 - rate) * without + rate * norm.pdf(x, 1, z)
    for epsilon, found in zip(
        (0.1, 0.5, 1.0), accounting.privacy_profile([0.1, 0.5, 1.0], z, rate, 1), strict=True
    ):
        exact = [
            np.trapezoid(np.maximum(p - np.exp(epsilon) * q, 0), x)
            for p, q in ((record, without), (without, record))
        ]
        assert found == pytest.approx(max(exact), rel=1e-5)


# --- the inverse ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accountant", "rate", "steps", "adjacency"),
    [
        ("rdp", 0.05, 100, "add/remove"),
        ("rdp", 1, 30, "replace-one"),
        ("pld", 0.2, 10, "add/remove"),
        ("pld", 0.2, 10, "replace-one"),
        ("prv", 0.2, 10, "add/remove"),
        ("gaussian", 1, 30, "add/remove"),
        ("gaussian", 1, 30, "replace-one"),
    ],
)
@pytest.mark.parametrize("z", [0.9, 3.3])
def test_noise_and_epsilon_are_inverses(accountant, rate, steps, adjacency, z):
    arguments = (rate, steps, 1e-5, accountant, adjacency)
    target = accounting.epsilon(z, *arguments)
    found = accounting.noise_multiplier(target, *arguments)
    assert found == pytest.approx(z, rel=1e-6)
    assert accounting.epsilon(found, *arguments) <= target * (1 + 1e-9)


@pytest.mark.parametrize("accountant", accounting.ACCOUNTANTS)
def test_more_noise_means_less_epsilon(accountant):
    rate = 1 if accountant == "gaussian" else 0.2
    noises = [0.7, 1, 1.5, 3, 8]
    found = [accounting.epsilon(z, rate, 10, 1e-5, accountant) for z in noises]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == len(noises)


@pytest.mark.parametrize("accountant", ["rdp", "gaussian"])
def test_less_epsilon_needs_more_noise(accountant):
    rate = 1 if accountant == "gaussian" else 0.2
    needed = [accounting.noise_multiplier(e, rate, 10, 1e-5, accountant) for e in (0.5, 1, 4)]
    assert needed == sorted(needed, reverse=True)
    assert len(set(needed)) == 3


def test_more_steps_and_less_delta_mean_more_epsilon():
    for accountant in ("rdp", "pld"):
        assert accounting.epsilon(1, 0.05, 600, 1e-5, accountant) > accounting.epsilon(
            1, 0.05, 300, 1e-5, accountant
        )
        assert accounting.epsilon(1, 0.05, 300, 1e-7, accountant) > accounting.epsilon(
            1, 0.05, 300, 1e-5, accountant
        )


def test_no_noise_is_no_privacy():
    for accountant in ("rdp", "prv", "pld"):
        assert accounting.epsilon(0, 0.05, 300, 1e-5, accountant) == math.inf
    assert accounting.classical_epsilon(0, 30, 1e-5) == math.inf
    assert accounting.privacy_profile([0.0, 5.0], 0, 0.05, 300).tolist() == [1, 1]


# --- what goes wrong -----------------------------------------------------------------------------


def test_rdp_orders_that_are_too_small_are_noticed():
    """Opacus' default orders say 0.1029 where the truth is 2.5e-5."""
    with pytest.warns(UserWarning, match="best RDP order is 1024.*PLD accountant") as said:
        loose = accounting.epsilon(20, 0.001, 1, 1e-5)
    assert len(said) == 1  # Opacus' own words about it are not repeated
    assert loose < 0.004
    assert accounting.epsilon(20, 0.001, 1, 1e-5, "pld") == pytest.approx(2.5e-5, rel=0.02)
    with pytest.warns(UserWarning, match=r"best RDP order is 1.1"):
        accounting.epsilon(0.2, 0.5, 300, 1e-5)


def test_ordinary_runs_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for accountant in ("rdp", "prv", "pld"):
            accounting.epsilon(1, 0.05, 300, 1e-5, accountant)
            accounting.epsilon(2, 1, 3, 1e-5, accountant)


def test_prv_falls_back_to_rdp_and_says_so(monkeypatch):
    rdp = accounting.epsilon(1, **MNIST)
    with pytest.warns(UserWarning, match="PRV accountant failed .Floating point.*RDP"):
        assert accounting.epsilon(1, 0.05, 300, 1e-16, "prv") > rdp

    def fail(self, delta, **options):
        raise RuntimeError("Discrete mean differs significantly from continuous mean.")

    monkeypatch.setattr(PRVAccountant, "get_epsilon", fail)
    with pytest.warns(UserWarning, match="Discrete mean differs.*that of the RDP accountant"):
        assert accounting.epsilon(1, **MNIST, accountant="prv") == rdp


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"delta": 0}, "delta is 0: expected a number between 0 and 1"),
        ({"delta": 1}, "delta is 1"),
        ({"sampling_rate": 0}, "sampling_rate is 0: expected a probability over 0"),
        ({"sampling_rate": 1.1}, "sampling_rate is 1.1"),
        ({"steps": 0}, "steps is 0: expected a whole number"),
        ({"steps": 2.5}, "steps is 2.5"),
        ({"accountant": "moments"}, "accountant is 'moments': expected one of rdp, prv"),
        ({"adjacency": "substitute"}, "adjacency is 'substitute': expected one of add/remove"),
        ({"accountant": "gaussian"}, 'full batches only, and sampling_rate is 0.05: use "pld"'),
        ({"adjacency": "replace-one"}, '"rdp" knows replace-one for full batches only'),
    ],
)
def test_bad_mechanisms_are_named(changed, sentence):
    with pytest.raises(ValueError, match=sentence):
        accounting.epsilon(1, **(MNIST | changed))
    with pytest.raises(ValueError, match=sentence):
        accounting.noise_multiplier(1, **(MNIST | changed))


def test_bad_targets_are_named():
    for bad in (0, -1, math.nan, math.inf):
        with pytest.raises(ValueError, match=f"epsilon is {bad}: expected a positive number"):
            accounting.noise_multiplier(bad, **MNIST)
        with pytest.raises(ValueError, match=f"epsilon is {bad}: expected a positive number"):
            accounting.classical_noise_multiplier(bad, 30, 1e-5)
    for bad in (-1, math.nan, math.inf):
        with pytest.raises(ValueError, match=f"noise_multiplier is {bad}"):
            accounting.epsilon(bad, **MNIST)
    with pytest.raises(ValueError, match="below 0 or NaN"):
        accounting.privacy_profile([1.0, -0.5], 1, 0.05, 300)


def test_targets_out_of_reach_are_named():
    with pytest.raises(ValueError, match=r"no noise multiplier up to 1e\+07 reaches ε = 0.001"):
        accounting.noise_multiplier(0.001, 1, 1, 1e-5, "rdp")
    with pytest.raises(ValueError, match=r"every noise multiplier from 0.001 up stays below ε"):
        accounting.noise_multiplier(1e9, 1, 1, 1e-5, "gaussian")
    with pytest.raises(ValueError, match=r"reaches ε = 1e-08 by classical composition"):
        accounting.classical_noise_multiplier(1e-8, 30, 1e-5)


def test_importing_the_module_loads_no_heavy_library():
    code = (
        "import sys, json, course_lib.accounting; "
        "print(json.dumps([m for m in ('torch', 'opacus', 'scipy', 'dp_accounting')"
        " if m in sys.modules]))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == []
