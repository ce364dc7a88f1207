"""ROC curves, low-FPR rates and their intervals, against scikit-learn and literal loops."""

import time

import numpy as np
import pytest
from scipy.stats import norm
from sklearn import metrics as sk

from course_lib import metrics


def scores_with_ties(rng, n=300):
    is_member = rng.random(n) < 0.4
    return np.round(rng.normal(size=n) + 0.7 * is_member, 1), is_member


@pytest.mark.parametrize("seed", range(5))
def test_curve_and_auc_equal_scikit_learn(seed):
    scores, is_member = scores_with_ties(np.random.default_rng(seed))
    fpr, tpr = metrics.roc_curve(scores, is_member)
    expected_fpr, expected_tpr, _ = sk.roc_curve(is_member, scores, drop_intermediate=False)
    np.testing.assert_allclose(fpr, expected_fpr, atol=1e-15)
    np.testing.assert_allclose(tpr, expected_tpr, atol=1e-15)
    assert fpr.dtype == tpr.dtype == np.float64
    assert metrics.auc(fpr, tpr) == pytest.approx(sk.roc_auc_score(is_member, scores), abs=1e-13)


def test_ties_enter_together():
    fpr, tpr = metrics.roc_curve([2, 1, 1, 1], np.array([True, True, False, False]))
    assert fpr.tolist() == [0, 0, 1]
    assert tpr.tolist() == [0, 0.5, 1]


def test_equal_scores_are_worth_a_coin():
    found = metrics.attack_metrics(np.ones(10), np.arange(10) < 5)
    assert (found["auc"], found["bal_acc"], found["tpr_1"], found["tpr_01"]) == (0.5, 0.5, 0, 0)


def test_tpr_at_fpr_takes_the_limit_in_and_interpolates_nothing():
    fpr, tpr = [0, 0, 0.01, 0.02, 1], [0, 0.1, 0.3, 0.4, 1]
    assert metrics.tpr_at_fpr(fpr, tpr, 0.01) == 0.3
    assert metrics.tpr_at_fpr(fpr, tpr, 0.0099) == 0.1
    assert metrics.tpr_at_fpr(fpr, tpr, 0.015) == 0.3
    assert metrics.tpr_at_fpr(fpr, tpr, 0.1 * 0.1) == 0.3  # one last bit above or below 0.01
    assert metrics.tpr_at_fpr(fpr, tpr, 0) == 0.1
    assert metrics.tpr_at_fpr(fpr, tpr, 1) == 1
    assert metrics.tpr_at_fpr(fpr, tpr, [0.015, 0, 1]).tolist() == [0.3, 0.1, 1]


@pytest.mark.parametrize("seed", range(3))
def test_strictly_increasing_maps_change_nothing(seed):
    rng = np.random.default_rng(seed)
    scores, is_member = scores_with_ties(rng)
    before = metrics.attack_metrics(scores, is_member)
    for mapped in (np.exp(scores), 1e6 * scores - 3, np.arctan(scores)):
        after = metrics.attack_metrics(mapped, is_member)
        for name in metrics.METRICS:
            assert after[name] == before[name]


def test_one_huge_outlier_moves_nothing_but_its_own_rank():
    scores, is_member = scores_with_ties(np.random.default_rng(3))
    top = np.argmax(scores)
    scores[top] = scores.max() + 0.1
    before = metrics.attack_metrics(scores, is_member)
    for huge in (1e300, np.inf):
        scores[top] = huge
        after = metrics.attack_metrics(scores, is_member)
        for name in metrics.METRICS:
            assert after[name] == before[name]


def test_gini_and_advantage_are_two_things():
    """Normal scores: a shift by 1 gives .520 and .383; a spread of 3 gives 0 and .242 or .484."""
    grid = (np.arange(20_000) + 0.5) / 20_000
    standard = norm.ppf(grid)
    is_member = np.repeat([True, False], grid.size)

    def both(scores):
        curve = metrics.roc_curve(scores, is_member)
        return metrics.gini(*curve), metrics.advantage(*curve)

    assert both(np.append(standard + 1, standard)) == pytest.approx((0.520, 0.383), abs=1e-3)
    assert both(np.append(3 * standard, standard)) == pytest.approx((0.0, 0.242), abs=1e-3)
    wide = np.abs(np.append(3 * standard, standard))
    assert both(wide)[1] == pytest.approx(0.484, abs=1e-3)


def test_balanced_accuracy_is_the_best_over_thresholds():
    scores, is_member = scores_with_ties(np.random.default_rng(4))
    best = max(
        sk.balanced_accuracy_score(is_member, scores >= threshold)
        for threshold in np.append(scores, np.inf)
    )
    found = metrics.best_balanced_accuracy(*metrics.roc_curve(scores, is_member))
    assert found == pytest.approx(best, abs=1e-13)


def literal_intervals(scores, is_member, rng, reps, level):
    """The bootstrap as one would write it down: one resample after another, one ROC curve each."""
    order = np.argsort(-scores, kind="stable")
    members, others = order[is_member[order]], order[~is_member[order]]
    member_rng, other_rng = rng.spawn(2)
    found = []
    for _ in range(reps):
        chosen_members = members[member_rng.integers(len(members), size=len(members))]
        chosen_others = others[other_rng.integers(len(others), size=len(others))]
        chosen = np.append(chosen_members, chosen_others)
        found.append(metrics.attack_metrics(scores[chosen], is_member[chosen]))
    tails = [50 * (1 - level), 50 * (1 + level)]
    return {name: np.percentile([one[name] for one in found], tails) for name in metrics.METRICS}


@pytest.mark.parametrize("decimals", [0, 1, 9])
@pytest.mark.parametrize(("n", "reps"), [(7, 40), (400, 60), (3000, 15)])
def test_bootstrap_equals_the_literal_loop(n, reps, decimals):
    rng = np.random.default_rng(n)
    is_member = rng.random(n) < 0.4
    scores = np.round(rng.normal(size=n) + is_member, decimals)
    fast = metrics.bootstrap_intervals(scores, is_member, np.random.default_rng(5), reps, 0.9)
    slow = literal_intervals(scores, is_member, np.random.default_rng(5), reps, 0.9)
    for name in metrics.METRICS:
        np.testing.assert_allclose(fast[name], slow[name], rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("decimals", [0, 9])
def test_band_equals_the_literal_loop(decimals):
    rng = np.random.default_rng(30)
    is_member = rng.random(500) < 0.4
    scores = np.round(rng.normal(size=500) + is_member, decimals)
    grid = [0, 1e-3, 0.01, 0.1, 0.5, 1]
    member_rng, other_rng = np.random.default_rng(31).spawn(2)
    order = np.argsort(-scores, kind="stable")
    members, others = order[is_member[order]], order[~is_member[order]]
    found = []
    for _ in range(40):
        chosen = np.append(
            members[member_rng.integers(len(members), size=len(members))],
            others[other_rng.integers(len(others), size=len(others))],
        )
        curve = metrics.roc_curve(scores[chosen], is_member[chosen])
        found.append([metrics.tpr_at_fpr(*curve, alpha) for alpha in grid])
    band = metrics.bootstrap_band(scores, is_member, np.random.default_rng(31), grid, 40, 0.9)
    np.testing.assert_allclose(band, np.percentile(found, [5, 95], axis=0), atol=1e-12)
    assert band[1][-1] == 1
    with pytest.raises(ValueError, match="alpha is"):
        metrics.bootstrap_band(scores, is_member, rng, [0.1, 2])


def test_bootstrap_does_not_depend_on_the_size_of_its_chunks(monkeypatch):
    scores, is_member = scores_with_ties(np.random.default_rng(6))
    whole = metrics.bootstrap_intervals(scores, is_member, np.random.default_rng(7), 50)
    monkeypatch.setattr(metrics, "_CHUNK_CELLS", 1000)
    assert metrics.bootstrap_intervals(scores, is_member, np.random.default_rng(7), 50) == whole


def test_intervals_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(8)
    is_member = np.arange(400) < 200
    truth = norm.cdf(0.5 / np.sqrt(2))
    inside = 0
    for _ in range(200):
        scores = rng.normal(size=400) + 0.5 * is_member
        low, high = metrics.bootstrap_intervals(scores, is_member, rng, 200)["auc"]
        inside += low <= truth <= high
    assert 180 <= inside <= 200


def test_bootstrap_is_fast():
    rng = np.random.default_rng(9)
    is_member = rng.random(4000) < 0.5
    scores = rng.normal(size=4000)
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        metrics.bootstrap_intervals(scores, is_member, rng, reps=1000)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.4  # about 0.05 on an idle core; one sort a resample takes 0.6


@pytest.mark.parametrize("decimals", [0, 9])
def test_pair_intervals_equal_the_literal_loop(decimals):
    rng = np.random.default_rng(10)
    n_models, n_records, reps = 6, 30, 40
    IN = rng.random((n_models, n_records)) < 0.5
    scores = np.round(rng.normal(size=IN.shape) + IN + rng.normal(size=n_records), decimals)
    model_rng, record_rng = np.random.default_rng(11).spawn(2)
    found = []
    for _ in range(reps):
        models = model_rng.integers(n_models, size=n_models)
        records = record_rng.integers(n_records, size=n_records)
        pairs = np.ix_(models, records)
        found.append(metrics.attack_metrics(scores[pairs], IN[pairs]))
    fast = metrics.pair_intervals(scores, IN, np.random.default_rng(11), reps)
    for name in metrics.METRICS:
        slow = np.percentile([one[name] for one in found], [2.5, 97.5])
        np.testing.assert_allclose(fast[name], slow, rtol=0, atol=1e-12, err_msg=name)


def test_shared_records_widen_the_interval():
    """Scores that depend on the record alone tell the records' luck M times, not M × P facts."""
    rng = np.random.default_rng(12)
    IN = np.repeat(rng.random((1, 60)) < 0.5, 40, axis=0)
    scores = np.repeat(rng.normal(size=(1, 60)), 40, axis=0)
    low, high = metrics.pair_intervals(scores, IN, np.random.default_rng(0), 200)["auc"]
    naive = metrics.bootstrap_intervals(scores, IN, np.random.default_rng(0), 200)["auc"]
    assert high - low > 4 * (naive[1] - naive[0])


@pytest.mark.parametrize("decimals", [1, 9])
def test_difference_intervals_equal_the_literal_loop(decimals):
    rng = np.random.default_rng(13)
    n_models, n_records, reps = 6, 30, 40
    IN = rng.random((n_models, n_records)) < 0.5
    first = np.round(rng.normal(size=IN.shape) + IN, decimals)
    second = np.round(first + rng.normal(size=IN.shape), decimals)
    model_rng, record_rng = np.random.default_rng(14).spawn(2)
    found = []
    for _ in range(reps):
        models = model_rng.integers(n_models, size=n_models)
        records = record_rng.integers(n_records, size=n_records)
        pairs = np.ix_(models, records)
        both = [metrics.attack_metrics(scores[pairs], IN[pairs]) for scores in (first, second)]
        found.append({name: both[0][name] - both[1][name] for name in metrics.METRICS})
    fast = metrics.pair_difference_intervals(first, second, IN, np.random.default_rng(14), reps)
    for name in metrics.METRICS:
        slow = np.percentile([one[name] for one in found], [2.5, 97.5])
        np.testing.assert_allclose(fast[name], slow, rtol=0, atol=1e-12, err_msg=name)


def test_what_two_attacks_share_cancels_in_their_difference():
    """Their own intervals overlap, and yet one is better on every resample."""
    rng = np.random.default_rng(15)
    IN = rng.random((40, 60)) < 0.5
    strength = 3 * rng.exponential(size=60)  # most of the luck: which records are drawn
    first = rng.normal(size=IN.shape) + strength * IN
    second = first + 0.5 * rng.normal(size=IN.shape)
    own = [
        metrics.pair_intervals(scores, IN, np.random.default_rng(0), 200)["auc"]
        for scores in (first, second)
    ]
    difference = metrics.pair_difference_intervals(first, second, IN, np.random.default_rng(0), 200)
    assert own[0][0] < own[1][1] and difference["auc"][0] > 0
    same = metrics.pair_difference_intervals(first, first, IN, np.random.default_rng(0), 20)
    assert all(interval == (0, 0) for interval in same.values())


def test_chance_is_a_little_above_alpha():
    assert round(metrics.chance_tpr(0.01, 2001), 4) == 0.0105
    assert round(metrics.chance_tpr(0.001, 2001), 4) == 0.0015
    assert metrics.chance_tpr(0.29, 100) == 30 / 101  # 0.29 * 100 is 28.999999999999996


def test_chance_is_the_mean_tpr_of_random_scores():
    rng = np.random.default_rng(13)
    is_member = np.arange(60) < 20
    found = [
        metrics.tpr_at_fpr(*metrics.roc_curve(rng.random(60), is_member), 0.06) for _ in range(4000)
    ]
    standard_error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found) - metrics.chance_tpr(0.06, 40)) < 4 * standard_error


def test_the_best_threshold_flatters_scores_that_know_nothing():
    for half, expected in ((50, 0.557), (500, 0.519)):
        floor = metrics.noise_floor(np.arange(2 * half) < half, np.random.default_rng(14), 2000)
        assert floor["bal_acc"][0] == pytest.approx(expected, abs=0.002)
        assert floor["auc"][0] == pytest.approx(0.5, abs=0.003)
        assert floor["tpr_1"][0] == pytest.approx(metrics.chance_tpr(0.01, half), rel=0.1)
        assert all(mean < high for mean, high in floor.values())


def test_noise_floor_equals_random_scores():
    is_member = np.random.default_rng(15).random(150) < 0.3
    rng = np.random.default_rng(16)
    found = [metrics.attack_metrics(rng.random(150), is_member) for _ in range(1500)]
    floor = metrics.noise_floor(is_member, np.random.default_rng(17), 1500)
    for name in metrics.METRICS:
        values = [one[name] for one in found]
        assert floor[name][0] == pytest.approx(np.mean(values), abs=0.004), name
        assert floor[name][1] == pytest.approx(np.quantile(values, 0.95), abs=0.012), name


def test_table_lines_up():
    row = metrics.metrics_row(
        "loss threshold", {"auc": 0.6126, "bal_acc": 0.58, "tpr_1": 0.0721, "tpr_01": 0.01304}
    )
    assert len(row) == len(metrics.metrics_header())
    assert row.split()[2:] == ["0.613", "0.580", "0.0721", "0.0130"]


def test_scores_of_any_shape_are_one_list():
    scores, is_member = scores_with_ties(np.random.default_rng(18))
    flat = metrics.attack_metrics(scores, is_member)
    folded = metrics.attack_metrics(scores.reshape(30, 10), is_member.reshape(30, 10))
    assert folded["auc"] == flat["auc"]


LABELS = np.array([True, False, True])


@pytest.mark.parametrize(
    ("scores", "is_member", "error", "sentence"),
    [
        ([0, np.nan, 1], LABELS, ValueError, "1 of 3 scores are NaN .*position 1"),
        ([0, 1], LABELS, ValueError, r"shape \(2,\).*shape \(3,\)"),
        ([0, 1, 2], np.array([1, 0, 1]), TypeError, "expected bool"),
        ([0, 1, 2], np.ones(3, bool), ValueError, "3 of 3 .* without non-members"),
        ([0, 1, 2], np.zeros(3, bool), ValueError, "0 of 3 .* without members"),
    ],
)
@pytest.mark.parametrize("function", [metrics.roc_curve, metrics.attack_metrics])
def test_bad_scores_are_named(function, scores, is_member, error, sentence):
    with pytest.raises(error, match=sentence):
        function(scores, is_member)
    with pytest.raises(error, match=sentence):
        metrics.bootstrap_intervals(scores, is_member, np.random.default_rng(0))


def test_bad_arguments_are_named():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"alpha is 1.5"):
        metrics.tpr_at_fpr([0, 1], [0, 1], 1.5)
    with pytest.raises(ValueError, match=r"alpha is -1"):
        metrics.chance_tpr(-1, 10)
    with pytest.raises(ValueError, match="n_nonmembers is 0"):
        metrics.chance_tpr(0.1, 0)
    with pytest.raises(ValueError, match="level is 95"):
        metrics.bootstrap_intervals([0, 1, 2], LABELS, rng, level=95)
    with pytest.raises(ValueError, match="reps is 0"):
        metrics.bootstrap_intervals([0, 1, 2], LABELS, rng, reps=0)
    with pytest.raises(ValueError, match=r"shape \(3,\): expected one row a model"):
        metrics.pair_intervals([0, 1, 2], LABELS, rng)
    with pytest.raises(ValueError, match="without members"):
        metrics.noise_floor(np.zeros(3, bool), rng)
