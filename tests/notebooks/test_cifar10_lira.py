"""The committed results of the CIFAR-10 lab: its floors, its arithmetic, its curves."""

import math
from pathlib import Path

import numpy as np
import pytest
from opacus.accountants import PRVAccountant, RDPAccountant

from course_build.results import read_results

ROOT = Path(__file__).resolve().parents[2]
PLAIN_ATTACKS = ("loss", "lira", "offline", "fixed", "multi")
KINDS = ("few", "stopped", "clipped", "dp")
DP_ATTACKS = ("dp_loss", "dp_lira", "dp_offline", "dp_fixed")


@pytest.fixture(scope="module")
def committed():
    return read_results(ROOT / "data" / "results" / "cifar10_lira.json")


@pytest.fixture(scope="module")
def results(committed):
    return committed["results"]


def test_every_claim_holds_and_there_are_those_of_the_lesson(committed):
    claims = {claim["id"]: claim["holds"] for claim in committed["claims"]}
    assert len(claims) >= 15
    assert [name for name, holds in claims.items() if not holds] == []
    assert {"fifty-times-chance", "little-learnt-little-leaked", "audit-below-accountant"} <= set(
        claims
    )


def test_the_plain_attack_finds_fifty_times_chance(results):
    assert results["n_shadows"] == results["n_models"] - 1 == 16
    n_nonmembers = results["n_models"] * results["pool"] / 2
    assert results["chance_tpr_01"] == pytest.approx(0.001 + 1 / n_nonmembers, rel=0.03)
    assert results["fixed_tpr_01"] >= 50 * results["chance_tpr_01"]
    assert results["fixed_over_chance"] == results["fixed_tpr_01"] / results["chance_tpr_01"]


def test_the_lab_takes_minutes(results):
    assert results["minutes_total"] < 15


def test_scores_do_not_depend_on_the_batch_and_shuffled_members_are_chance(results):
    assert results["alone_difference"] < 1e-5
    assert results["shuffled_auc"] == pytest.approx(0.5, abs=0.02)


def test_epsilon_is_that_of_opacus_accountants_for_the_rate_and_the_steps(results):
    q, steps = results["dp_q"], results["dp_steps"]
    assert q == 1 / results["dp_steps_per_epoch"]
    assert steps == results["dp_steps_per_epoch"] * results["dp_epochs"]
    assert results["dp_expected_batch"] == pytest.approx(q * results["pool"] / 2)
    for accountant, key in ((RDPAccountant(), "rdp"), (PRVAccountant(), "prv")):
        accountant.history = [(results["dp_sigma"], q, steps)]
        expected = accountant.get_epsilon(results["dp_delta"])
        assert results[f"dp_eps_{key}"] == pytest.approx(expected, abs=0.02)
    assert results["dp_eps_prv"] < results["dp_eps_rdp"] < results["dp_eps_replace_pld"]
    assert 0 <= results["dp_audit_eps_lo"] <= results["dp_eps_prv"]


@pytest.mark.parametrize("attack", [*PLAIN_ATTACKS, *DP_ATTACKS, *(f"{k}_fixed" for k in KINDS)])
@pytest.mark.parametrize("key", ["auc", "tpr_1", "tpr_01"])
def test_a_figure_lies_in_its_interval(results, attack, key):
    low, value, high = (results[f"{attack}_{key}{end}"] for end in ("_lo", "", "_hi"))
    assert 0 <= low <= value <= high <= 1


@pytest.mark.parametrize("attack", [*PLAIN_ATTACKS, *DP_ATTACKS, *(f"{k}_fixed" for k in KINDS)])
def test_a_curve_agrees_with_its_figures(committed, attack):
    fpr, tpr = (np.array(values) for values in committed["data"][f"roc_{attack}"])
    np.testing.assert_allclose(fpr, np.geomspace(1e-5, 1, 250))
    assert np.all(np.diff(tpr) >= 0) and tpr[-1] == 1
    for alpha, key in ((0.01, "tpr_1"), (0.001, "tpr_01")):
        below, above = tpr[fpr <= alpha][-1], tpr[fpr >= alpha][0]
        assert below <= committed["results"][f"{attack}_{key}"] <= above


def test_the_ceiling_is_above_every_attack_on_the_private_networks(results):
    for attack in DP_ATTACKS:
        assert results[f"{attack}_tpr_1"] <= results["dp_bound_1"]
        assert results[f"{attack}_tpr_01"] <= results["dp_bound_01"]


def test_the_shown_images_have_scores_on_both_sides(committed):
    for place in range(4):
        sides = [np.array(committed["data"][f"shown_{place}_{side}"][0]) for side in (0, 1)]
        assert sum(side.size for side in sides) == committed["results"]["n_shadows"]
        assert all(side.size >= 2 for side in sides)
    hardest = [np.array(committed["data"][f"shown_3_{side}"][0]).mean() for side in (0, 1)]
    assert hardest[1] - hardest[0] == pytest.approx(committed["results"]["gap_hard"])


def test_the_cost_is_derived_from_the_operations_of_resnet18(results):
    # He et al. (2016): 1.8 billion multiply-adds at 224 × 224 pixels; 32 × 32 has a 49th of those.
    assert results["resnet_megaflops"] == pytest.approx(2 * 1.81e3 / 49, rel=0.03)
    assert results["resnet_weights"] == 11_181_642
    seconds = 3 * results["resnet_megaflops"] * 1e6 * 750_000 / (0.2 * 8.1e12)
    assert results["cost_t4_plain_minutes"] == pytest.approx(seconds / 60)
    assert math.isclose(
        results["cost_t4_256_hours"], 8 * results["cost_t4_256_eight_hours"], rel_tol=1e-9
    )
