"""The committed results of the MNIST lab against the published figures of its experiment."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from course_build.results import read_results

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = json.loads(
    (ROOT / "tests" / "published" / "mnist_dpsgd.json").read_text(encoding="utf-8")
)
CURVES = ("loss", "cal", "cal_s00", "cal_s06", "cal_s10", "cal_s30")


@pytest.fixture(scope="module")
def committed():
    return read_results(ROOT / "data" / "results" / "mnist_dpsgd.json")


def tolerance(key):
    """How far another machine may end up, by the kind of figure."""
    if "_acc_" in key or key.endswith("_balanced_acc"):
        return 0.005
    if "_auc" in key:
        return 0.003
    if "_tpr_" in key:
        return 0.006
    if key.endswith("_eps") or "_bound_" in key:
        return 1e-6
    return 0  # counts and settings


@pytest.mark.parametrize("key", sorted(set(PUBLISHED) - {"minutes_total"}))
def test_published_figure_is_reproduced(committed, key):
    assert committed["results"][key] == pytest.approx(PUBLISHED[key], abs=tolerance(key), rel=0)


def test_every_claim_holds_and_there_are_those_of_the_lesson(committed):
    claims = {claim["id"]: claim["holds"] for claim in committed["claims"]}
    assert len(claims) >= 15
    assert [name for name, holds in claims.items() if not holds] == []


def test_tighter_accountant_and_ceiling_lie_below_the_looser(committed):
    results = committed["results"]
    expected_prv = {"s06": 18.741, "s10": 5.806, "s30": 1.169}
    expected_tradeoff = {"s06": (0.536, 0.292), "s10": (0.116, 0.027), "s30": (0.0215, 0.0027)}
    for tag, prv in expected_prv.items():
        assert results[f"{tag}_eps_prv"] == pytest.approx(prv, abs=0.02)
        assert results[f"{tag}_eps_prv"] < results[f"{tag}_eps"]
        for key, value in zip(("1", "01"), expected_tradeoff[tag], strict=True):
            tradeoff = results[f"{tag}_tradeoff_{key}"]
            assert tradeoff == pytest.approx(value, rel=0.02)
            assert tradeoff <= results[f"{tag}_bound_{key}"]
        assert results[f"{tag}_audit_eps_lo"] <= results[f"{tag}_eps_prv"]


def test_means_over_targets_are_those_of_the_planning_run(committed):
    results = committed["results"]
    assert results["s06_cal_tpr_1_mean"] == pytest.approx(0.0155, abs=0.002)
    assert results["n_targets"] == 17
    for prefix in ("", "s00_", "s06_", "s10_", "s30_"):
        for attack in ("loss", "cal", "lira_on_fixed"):
            for metric in ("auc", "tpr_1", "tpr_01"):
                assert 0 <= results[f"{prefix}{attack}_{metric}_mean"] <= 1
                assert results[f"{prefix}{attack}_{metric}_sd"] >= 0


@pytest.mark.parametrize("name", CURVES)
def test_curve_is_on_the_grid_and_agrees_with_its_figures(committed, name):
    fpr, tpr = (np.array(values) for values in committed["data"][f"roc_{name}"])
    np.testing.assert_allclose(fpr, np.geomspace(1e-4, 1, 200))
    assert np.all(np.diff(tpr) >= 0) and tpr[-1] == 1
    attack, _, tag = name.partition("_")
    key = f"{tag}_{attack}_tpr_1" if tag else f"{attack}_tpr_1"
    below, above = tpr[fpr <= 0.01][-1], tpr[fpr >= 0.01][0]
    assert below <= committed["results"][key] <= above


def test_chance_is_that_of_the_number_of_non_members(committed):
    n = committed["results"]["n_nonmembers"]
    assert committed["results"]["chance_tpr_1"] == (math.floor(0.01 * n) + 1) / (n + 1)
