"""Ceilings and audits against closed forms, exact enumeration and mechanisms of known privacy."""

import json
import math
import time

import numpy as np
import pytest
from scipy.stats import binom, norm

from course_lib import accounting, audit

PUBLISHED = {  # ε, ceiling at 1 % and at 0.1 % FPR, for δ = 1e-5
    "s06": (21.01633243440065, 1.0, 1.0),
    "s10": (6.459696760236281, 1.0, 0.6388772972250103),
    "s30": (1.2725164984602888, 0.035708247268301636, 0.0035798247268301634),
}
SUBSAMPLED = {"sampling_rate": 0.05, "steps": 300}


# --- ceilings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("tag", PUBLISHED)
def test_single_point_ceiling_gives_the_published_bounds(tag):
    epsilon, at_1, at_01 = PUBLISHED[tag]
    assert audit.tpr_ceiling(0.01, epsilon, 1e-5) == pytest.approx(at_1, rel=1e-12)
    assert audit.tpr_ceiling(0.001, epsilon, 1e-5) == pytest.approx(at_01, rel=1e-12)


def test_ceilings_at_the_ends():
    fpr = np.array([0.0, 0.3, 1.0])
    assert audit.tpr_ceiling(fpr, 0, 0).tolist() == fpr.tolist()
    assert audit.two_sided_tpr_ceiling(fpr, 0, 0) == pytest.approx(fpr)
    assert audit.tpr_ceiling(fpr, math.inf, 1e-5).tolist() == [1e-5, 1, 1]
    assert audit.two_sided_tpr_ceiling(fpr, math.inf, 1e-5).tolist() == [1e-5, 1, 1]
    assert audit.tpr_ceiling(0.5, 1, 0.2) == 1
    assert isinstance(audit.tpr_ceiling(0.5, 1, 0.2), float)


def test_two_sided_ceiling_is_reached_by_randomized_response():
    """Answering truly with probability e^ε/(1 + e^ε) is ε-private; its ROC has one corner."""
    epsilon = 1.3
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert audit.two_sided_tpr_ceiling(1 - truth, epsilon, 0) == pytest.approx(truth)
    fpr = np.linspace(0, 1, 101)
    roc = np.interp(fpr, [0, 1 - truth, 1], [0, truth, 1])
    np.testing.assert_allclose(audit.two_sided_tpr_ceiling(fpr, epsilon, 0), roc, atol=1e-12)
    assert np.all(audit.tpr_ceiling(fpr, epsilon, 0) >= roc - 1e-12)


@pytest.mark.parametrize(
    ("z", "at_1", "at_01"), [(0.6, 0.536, 0.292), (1.0, 0.116, 0.027), (3.0, 0.0215, 0.0027)]
)
def test_tradeoff_of_the_mnist_runs(z, at_1, at_01):
    assert audit.tradeoff_tpr(0.01, z, **SUBSAMPLED) == pytest.approx(at_1, abs=5e-4)
    assert audit.tradeoff_tpr(0.001, z, **SUBSAMPLED) == pytest.approx(at_01, abs=5e-4)
    assert round(audit.tradeoff_tpr(0.01, z, **SUBSAMPLED), 4 if z == 3 else 3) == at_1


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_tradeoff_of_the_full_batch_is_the_neyman_pearson_curve(mu):
    fpr = np.array([0, 1e-6, 1e-4, 0.01, 0.3, 0.7, 0.99, 1])
    found = audit.tradeoff_tpr(fpr, math.sqrt(30) / mu, 1, 30)
    exact = norm.cdf(norm.ppf(fpr) + mu)
    assert np.all(found >= exact - 1e-12)
    np.testing.assert_allclose(found, exact, rtol=2e-4, atol=2e-12)


def test_tradeoff_of_one_sampled_step_is_the_likelihood_ratio_test():
    """With one step the best attack is known: it thresholds the released number."""
    z, rate = 0.8, 0.3
    threshold = np.linspace(-4, 6, 2001)
    fpr = norm.sf(threshold, 0, z)
    tpr = (1 - rate) * fpr + rate * norm.sf(threshold, 1, z)
    found = audit.tradeoff_tpr(fpr, z, rate, 1)
    assert np.all(found >= tpr - 1e-12)
    low = fpr < 0.2
    np.testing.assert_allclose(found[low], tpr[low], rtol=1e-4, atol=1e-11)
    np.testing.assert_allclose(found, tpr, atol=0.06)  # the larger δ of both directions


@pytest.mark.parametrize("z", [0.6, 1.0, 3.0])
def test_tradeoff_is_a_concave_curve_below_every_single_point(z):
    fpr = np.linspace(0, 1, 201)
    curve = audit.tradeoff_tpr(fpr, z, **SUBSAMPLED)
    assert np.all(np.diff(curve) >= -1e-12)
    assert np.all(np.diff(curve, 2) <= 1e-9)
    assert np.all(curve >= fpr - 1e-12) and curve[-1] == 1
    for delta in (1e-9, 1e-5, 1e-2):
        epsilon = accounting.epsilon(z, **SUBSAMPLED, delta=delta, accountant="pld")
        assert np.all(curve <= audit.two_sided_tpr_ceiling(fpr, epsilon, delta) + 1e-4)


def test_tradeoff_is_fast():
    fpr = np.logspace(-4, 0, 200)
    audit.tradeoff_tpr(0.5, 2.0, 1, 1)  # imports
    start = time.perf_counter()
    for z in (0.61, 1.01, 3.01):
        audit.tradeoff_tpr(fpr, z, **SUBSAMPLED)
    assert time.perf_counter() - start < 5  # about 0.7 on an idle core


def test_without_noise_there_is_no_ceiling():
    assert audit.tradeoff_tpr(0.01, 0, **SUBSAMPLED) == 1


# --- many runs, one canary -----------------------------------------------------------------------


def test_clopper_pearson_by_hand():
    assert round(audit.clopper_pearson_epsilon(1000, 1000, 0, 1000), 2) == 5.60
    tpr = 0.025 ** (1 / 1000)
    assert audit.clopper_pearson_epsilon(1000, 1000, 0, 1000, delta=0.1) == pytest.approx(
        math.log((tpr - 0.1) / (1 - tpr))
    )
    assert audit.clopper_pearson_epsilon(500, 1000, 500, 1000) == 0
    assert audit.clopper_pearson_epsilon(0, 10, 10, 10) == 0


def test_clopper_pearson_reads_both_sides():
    """Rare but certain answers prove as much on either side."""
    members = audit.clopper_pearson_epsilon(300, 1000, 0, 1000)
    others = audit.clopper_pearson_epsilon(1000, 1000, 700, 1000)
    assert members == pytest.approx(others)
    assert members > 4


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_clopper_pearson_is_wrong_at_most_one_time_in_twenty(epsilon):
    """Exact enumeration of ε-private randomized response, 40 trials a side."""
    n = 40
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    chance = np.outer(binom.pmf(range(n + 1), n, truth), binom.pmf(range(n + 1), n, 1 - truth))
    too_much = [
        [audit.clopper_pearson_epsilon(tp, n, fp, n) > epsilon for fp in range(n + 1)]
        for tp in range(n + 1)
    ]
    wrong = chance[np.array(too_much)].sum()
    assert 0 < wrong <= 0.05


# --- one run, many records -----------------------------------------------------------------------


def test_one_run_by_hand():
    assert round(audit.one_run_epsilon(2000, 2000), 2) == 6.50
    rate = 0.05 ** (1 / 2000)
    assert audit.one_run_epsilon(2000, 2000) == pytest.approx(math.log(rate / (1 - rate)))
    assert audit.one_run_epsilon(1000, 2000) == 0
    assert audit.one_run_epsilon(0, 10) == 0
    assert audit.one_run_epsilon(1, 1) == 0  # one right guess happens half the time


def brute_force_p_value(correct, guesses, epsilon, delta, n_records):
    q = math.exp(epsilon) / (1 + math.exp(epsilon))
    mass = [math.comb(guesses, k) * q**k * (1 - q) ** (guesses - k) for k in range(guesses + 1)]
    worst = max((sum(mass[correct - i : correct]) / i for i in range(1, correct + 1)), default=0.0)
    return min(1.0, sum(mass[correct:]) + 2 * n_records * delta * worst)


@pytest.mark.parametrize("delta", [0.0, 1e-4, 0.01])
@pytest.mark.parametrize(("guesses", "n_records"), [(1, 1), (5, 8), (12, 12)])
def test_one_run_p_value_equals_brute_force(guesses, n_records, delta):
    for correct in range(guesses + 1):
        for epsilon in (0.0, 0.7, 3.0):
            found = audit.one_run_p_value(correct, guesses, epsilon, delta, n_records)
            expected = brute_force_p_value(correct, guesses, epsilon, delta, n_records)
            assert found == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-4, 1e-3])
@pytest.mark.parametrize(("correct", "guesses"), [(30, 30), (180, 200), (1900, 2000), (50, 60)])
def test_one_run_epsilon_is_where_the_p_value_is_five_percent(correct, guesses, delta):
    found = audit.one_run_epsilon(correct, guesses, delta, n_records=2 * guesses)
    assert found <= audit.one_run_epsilon(correct, guesses)
    at_it = audit.one_run_p_value(correct, guesses, found, delta, 2 * guesses)
    above = audit.one_run_p_value(correct, guesses, found + 1e-5, delta, 2 * guesses)
    if found > 0:
        assert at_it <= 0.05 * (1 + 1e-9)
    assert above > 0.05


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_one_run_is_wrong_at_most_one_time_in_twenty(epsilon):
    """Exact: randomized response of 60 bits at ε makes binomially many right guesses."""
    n = 60
    chance = binom.pmf(range(n + 1), n, 1 / (1 + math.exp(-epsilon)))
    too_much = [audit.one_run_epsilon(correct, n) > epsilon for correct in range(n + 1)]
    assert 0.01 < chance[too_much].sum() <= 0.05


@pytest.mark.parametrize("delta", [1e-3, 0.01])
def test_the_delta_term_covers_mechanisms_that_use_their_delta(delta):
    """Bits that leak one by one with probability δ, and all at once with probability δ."""
    n, epsilon = 20, 1.0
    q = 1 / (1 + math.exp(-epsilon))
    for correct in range(n + 1):
        bound = audit.one_run_p_value(correct, n, epsilon, delta, n)
        one_by_one = binom.sf(correct - 1, n, delta + (1 - delta) * q)
        all_at_once = delta + (1 - delta) * binom.sf(correct - 1, n, q)
        assert bound >= max(one_by_one, all_at_once) - 1e-12


# --- audits of scores ----------------------------------------------------------------------------


def test_scores_without_a_signal_prove_nothing():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        is_member = rng.random(300) < 0.5
        found.append(audit.audit_scores(rng.normal(size=300), is_member, rng).epsilon)
    assert np.mean(np.array(found) == 0) >= 0.95
    assert max(found) > 0  # it is a test that could fail


def test_perfect_scores_prove_what_half_of_the_records_can():
    rng = np.random.default_rng(1)
    is_member = rng.random(4000) < 0.5
    found = audit.audit_scores(is_member + 0.1 * rng.random(4000), is_member, rng)
    assert (found.records, found.correct) == (2000, found.guesses)
    assert found.guesses > 1800
    assert found.epsilon == pytest.approx(6.50, abs=0.1)


@pytest.mark.parametrize("mu", [1.0, 2.0])
def test_audits_stay_below_the_truth(mu):
    """Noise of 1/μ on a record's own bit: ε at δ = 1e-5 is known."""
    truth = accounting.epsilon(1 / mu, 1, 1, 1e-5, "gaussian")
    rng = np.random.default_rng(2)
    found = []
    for _ in range(60):
        is_member = rng.random(2000) < 0.5
        scores = rng.normal(size=2000) + mu * is_member
        found.append(audit.audit_scores(scores, is_member, rng, delta=1e-5).epsilon)
    assert np.mean(np.array(found) <= truth) >= 0.95
    assert np.median(found) > 0.3 * truth


def test_thresholds_do_not_split_ties_and_do_not_cross():
    rng = np.random.default_rng(3)
    is_member = rng.random(400) < 0.5
    scores = np.where(is_member, rng.integers(1, 4, 400), rng.integers(0, 3, 400))
    found = audit.audit_scores(scores, is_member, rng)
    assert found.member_threshold == 3
    assert found.nonmember_threshold == 0
    assert found.correct == found.guesses
    flat = audit.audit_scores(np.ones(400), is_member, rng)
    assert None in (flat.member_threshold, flat.nonmember_threshold)
    assert (flat.guesses, flat.epsilon) == (200, 0)


def test_the_count_is_made_on_records_that_had_no_part_in_the_choice():
    """Swapping the second half's labels turns every right guess wrong, the thresholds stay."""
    rng = np.random.default_rng(4)
    is_member = rng.random(1000) < 0.5
    scores = rng.normal(size=1000) + 2 * is_member
    second = np.random.default_rng(5).permutation(1000)[500:]
    swapped = is_member.copy()
    swapped[second] = ~swapped[second]
    before = audit.audit_scores(scores, is_member, np.random.default_rng(5))
    after = audit.audit_scores(scores, swapped, np.random.default_rng(5))
    assert after.member_threshold == before.member_threshold
    assert after.nonmember_threshold == before.nonmember_threshold
    assert after.correct == before.guesses - before.correct
    assert before.epsilon > 0 and after.epsilon == 0


# --- what is refused -----------------------------------------------------------------------------


def test_bad_arguments_are_named():
    rng = np.random.default_rng(0)
    labels = np.array([True, False, True, False])
    with pytest.raises(ValueError, match="fpr holds a value outside 0 to 1"):
        audit.tpr_ceiling([0.1, 1.1], 1, 0)
    with pytest.raises(ValueError, match="fpr holds a value"):
        audit.tradeoff_tpr(math.nan, 1, **SUBSAMPLED)
    with pytest.raises(ValueError, match="epsilon is -1"):
        audit.two_sided_tpr_ceiling(0.1, -1, 0)
    with pytest.raises(ValueError, match="delta is 2"):
        audit.tpr_ceiling(0.1, 1, 2)
    with pytest.raises(ValueError, match="true_positives is 11 of 10"):
        audit.clopper_pearson_epsilon(11, 10, 0, 10)
    with pytest.raises(ValueError, match="false_positives is 0 of 0"):
        audit.clopper_pearson_epsilon(1, 10, 0, 0)
    with pytest.raises(ValueError, match="confidence is 95"):
        audit.one_run_epsilon(1, 10, confidence=95)
    with pytest.raises(ValueError, match="correct is 11 of 10"):
        audit.one_run_epsilon(11, 10)
    with pytest.raises(ValueError, match="n_records is missing"):
        audit.one_run_epsilon(1, 10, delta=1e-5)
    with pytest.raises(ValueError, match="10 guesses about 9 records"):
        audit.one_run_epsilon(1, 10, n_records=9)
    with pytest.raises(ValueError, match="delta is -1"):
        audit.one_run_p_value(1, 10, 1, -1, 10)
    with pytest.raises(TypeError, match="expected bool"):
        audit.audit_scores([1, 2, 3, 4], [1, 0, 1, 0], rng)
    with pytest.raises(ValueError, match="3 scores and 4 labels"):
        audit.audit_scores([1, 2, 3], labels, rng)
    with pytest.raises(ValueError, match="1 of 4 scores are NaN"):
        audit.audit_scores([1, 2, math.nan, 4], labels, rng)
    with pytest.raises(ValueError, match="2 records are too few"):
        audit.audit_scores([1, 2], labels[:2], rng)


def test_results_are_plain_numbers():
    found = audit.audit_scores(np.arange(8.0), np.arange(8) > 3, np.random.default_rng(0))
    json.dumps([found.epsilon, found.correct, found.guesses, found.records])
    json.dumps([found.member_threshold, found.nonmember_threshold])
    json.dumps(audit.one_run_epsilon(19, 20, 1e-5, 40))
