"""The credit lab's committed results, and its four solved exercises against the bench."""

import ast
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from course_build.results import read_results
from course_build.source import read_source
from course_lib import attacks, metrics, models

ROOT = Path(__file__).resolve().parents[2]
ATTACKS = [
    "gap",
    "loss",
    "gradnorm",
    "cal",
    "lira_on",
    "lira_off",
    "lira_on_fixed",
    "lira_off_fixed",
    "lira_prob",
    "lira_off_prob",
    "rmia_on",
    "rmia_off",
    "shokri",
]
SHADOWS = (4, 8, 16, 32, 64, 128, 255)


@pytest.fixture(scope="module")
def committed():
    return read_results(ROOT / "data" / "results" / "credit_lira.json")


@pytest.fixture(scope="module")
def solved():
    """The functions of the solved exercises."""
    source = read_source(ROOT / "notebooks" / "source" / "credit_lira.py")
    names = {"np": np}
    for cell in source.cells:
        if any(tag.startswith("exercise") for tag in cell.tags):
            tree = ast.parse(cell.text)  # without the cell's own check, which needs the whole lab
            tree.body = [part for part in tree.body if isinstance(part, ast.FunctionDef)]
            exec(compile(tree, cell.id, "exec"), names)
    return names


# --- results -------------------------------------------------------------------------------------


def test_every_claim_holds(committed):
    claims = {claim["id"]: claim["holds"] for claim in committed["claims"]}
    assert len(claims) >= 20
    assert [name for name, holds in claims.items() if not holds] == []


def test_the_published_size(committed):
    results = committed["results"]
    assert (results["n_models"], results["pool"], results["n_features"]) == (256, 400, 56)
    assert results["n_pairs"] == 102_400
    assert results["acc_in"] > results["acc_out"] + 0.05


@pytest.mark.parametrize("attack", ATTACKS)
def test_every_attack_has_its_figures_their_intervals_and_its_curve(committed, attack):
    results = committed["results"]
    for name in metrics.METRICS:
        low, value, high = (results[f"{attack}_{name}{end}"] for end in ("_lo", "", "_hi"))
        assert 0 <= low <= value <= high <= 1
    fpr, tpr = (np.array(values) for values in committed["data"][f"roc_{attack}"])
    np.testing.assert_allclose(fpr, np.geomspace(1e-4, 1, 200))
    assert np.all(np.diff(tpr) >= 0) and tpr[-1] == 1
    for name, alpha in (("tpr_1", 0.01), ("tpr_01", 0.001)):
        figure = results[f"{attack}_{name}"]
        assert tpr[fpr <= alpha * (1 + 1e-9)][-1] <= figure <= tpr[fpr >= alpha * (1 - 1e-9)][0]


def test_the_floor_is_that_of_so_many_pairs(committed):
    results = committed["results"]
    assert results["floor_auc"] == pytest.approx(0.5, abs=0.001)
    assert results["floor_tpr_1"] == pytest.approx(results["chance_tpr_1"], rel=0.02)
    assert results["floor_tpr_01"] == pytest.approx(results["chance_tpr_01"], rel=0.05)
    for name in metrics.METRICS:
        assert results[f"floor_{name}"] < results[f"floor_{name}_q95"]


def test_the_shadows_curve_holds_the_figures(committed):
    results = committed["results"]
    counts, *rows = committed["data"]["shadows_curve"]
    assert counts == list(SHADOWS)
    keys = [
        f"{a}_{m}" for a in ("lira_on", "lira_on_fixed", "rmia_off") for m in ("tpr_1", "tpr_01")
    ]
    for key, row in zip(keys, rows, strict=True):
        assert row == [results[f"{key}_k{k}"] for k in SHADOWS]
    for key in ("lira_on", "lira_on_fixed"):  # all shadows: the attack of the table
        assert results[f"{key}_tpr_01_k255"] == pytest.approx(results[f"{key}_tpr_01"], abs=1e-4)


def test_the_risk_of_records(committed):
    results = committed["results"]
    # with 128 models a side: (4^n / C(2n, n) - 1) / 2n, by Stirling's formula
    expected = (np.sqrt(np.pi * 128) - 1) / 256
    assert results["ks_null_mean"] == pytest.approx(expected, rel=0.1)
    assert results["ks_null_mean"] < results["ks_null_q95"] < results["ks_mean"]
    copies = [results[f"ks_dup{count}"] for count in (1, 2, 4, 8)]
    assert copies == sorted(copies)
    assert results["ks_outlier"] > results["ks_outlier_expected"]


@pytest.mark.parametrize("eps", [8, 1])
def test_ceilings_are_those_of_the_noise(committed, eps):
    results = committed["results"]
    mu = np.sqrt(results["dp_steps"]) / results[f"dp{eps}_z"]
    assert results[f"dp{eps}_mu"] == pytest.approx(mu)
    # (ε, δ) of a Gaussian with shift μ: Balle and Wang (2018), theorem 8
    delta = norm.cdf(mu / 2 - eps / mu) - np.exp(eps) * norm.cdf(-mu / 2 - eps / mu)
    assert delta == pytest.approx(results["dp_delta"], rel=1e-6)
    for name, alpha in (("1", 0.01), ("01", 0.001)):
        ceiling = norm.cdf(norm.ppf(alpha) + mu)
        assert results[f"dp{eps}_ceiling_{name}"] == pytest.approx(ceiling)
        assert results[f"dp{eps}_tpr_{name}"] < ceiling <= np.exp(eps) * alpha + delta


def test_the_noise_makes_the_difference_to_the_controls(committed):
    """Beside the points: the differences on the same resamples, which their intervals surround."""
    results = committed["results"]
    for eps in (8, 1):
        difference = results[f"control{eps}_tpr_1"] - results[f"dp{eps}_tpr_1"]
        low, high = (results[f"diff{eps}_tpr_1_{end}"] for end in ("lo", "hi"))
        assert 0 < low < difference < high
    assert results["diff1_tpr_1_lo"] > results["diff8_tpr_1_hi"]


# --- exercises -----------------------------------------------------------------------------------


def test_exercise_logit_and_loss(solved):
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(30, 4)), rng.integers(2, size=30)
    theta = rng.normal(size=4)
    phi, loss = solved["logit_and_loss"](theta, A, y)
    np.testing.assert_allclose(phi, models.true_label_logit(theta, A, y))
    np.testing.assert_allclose(loss, attacks.loss_from_phi(phi), rtol=1e-12)
    with np.errstate(all="raise", under="ignore"):
        phi, loss = solved["logit_and_loss"](np.array([1000.0]), np.ones((2, 1)), np.array([1, 0]))
    assert phi.tolist() == [1000, -1000] and loss.tolist() == [0, 1000]


def test_exercise_tpr_with_ties(solved):
    rng = np.random.default_rng(1)
    for decimals in (0, 1, 9):
        scores, is_member = np.round(rng.normal(size=80), decimals), rng.random(80) < 0.5
        fpr, tpr = metrics.roc_curve(scores, is_member)
        for alpha in (0, 0.01, 0.1, 0.5, 1):
            found = solved["tpr_with_ties"](scores, is_member, alpha)
            assert found == pytest.approx(metrics.tpr_at_fpr(fpr, tpr, alpha), abs=1e-12)
    assert solved["tpr_with_ties"]([1, 1, 1, 0], [True, False, True, False], 0.4) == 0


def test_exercise_offline_lira(solved):
    rng = np.random.default_rng(2)
    PHI, IN = rng.normal(size=(21, 40)), rng.random((21, 40)) < 0.5
    found = solved["offline_lira"](PHI[0], PHI[1:], IN[1:])
    expected = attacks.lira_scores(PHI, IN, 0, online=False)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    PHI[1:][IN[1:]] = 1e9
    np.testing.assert_array_equal(solved["offline_lira"](PHI[0], PHI[1:], IN[1:]), found)


def test_exercise_advantage_and_null(solved):
    rng = np.random.default_rng(3)
    for shift in (0.0, 0.7, -2.0):
        a_in, a_out = np.round(rng.normal(size=25) + shift, 1), np.round(rng.normal(size=20), 1)
        measured, _ = solved["advantage_and_null"](a_in, a_out, rng)
        assert measured == pytest.approx(attacks.ks_advantage(a_in, a_out), abs=1e-12)
    p = [
        solved["advantage_and_null"](rng.normal(size=15), rng.normal(size=15), rng, 100)[1]
        for _ in range(100)
    ]
    assert 0.4 < np.mean(p) < 0.65  # without a signal the share is nearly uniform
    assert solved["advantage_and_null"](np.arange(20) + 20.0, np.arange(20.0), rng) == (1, 0)


def test_equal_advantages_count_where_their_last_bits_differ(solved):
    """Of the 20 ways to deal these values out, 6 reach two thirds, some of them as 1 - 1/3."""
    share = solved["advantage_and_null"](
        np.array([2.0, 3.0, 5.0]), np.array([0.0, 1.0, 4.0]), np.random.default_rng(4), 4_000
    )[1]
    assert share == pytest.approx(0.3, abs=0.03)
