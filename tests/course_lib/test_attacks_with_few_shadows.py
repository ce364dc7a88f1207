"""The attacks where a side has no shadow, one, or equal ones, against literal readings."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from course_lib import attacks, metrics

SHADOWS = [1, 2, 3, 4]
# record:        0 one IN   1 no OUT  2 no IN   3 equal   4 equal OUT  5 plain
IN = np.array(
    [
        [True, True, False, True, False, True],  # the target
        [True, True, False, True, True, True],
        [False, True, False, True, True, True],
        [False, True, False, False, False, False],
        [False, True, False, False, False, False],
    ]
)
PHI = np.array(
    [
        [0.7, 1.1, -0.4, 2.0, 0.3, 1.9],
        [1.5, 0.9, -1.0, 2.0, 1.0, 2.5],
        [0.2, 1.6, 0.5, 2.0, 2.0, 1.5],
        [-0.6, 0.4, 0.1, 2.0, -1.0, 0.5],
        [0.1, 1.0, -0.2, 2.0, -1.0, -0.4],
    ]
)
PHI_POP = np.random.default_rng(0).normal(size=(5, 37))


def sides(values):
    """Each record's shadow values, IN and OUT."""
    return [
        tuple([values[m, p] for m in SHADOWS if IN[m, p] == side] for side in (True, False))
        for p in range(6)
    ]


def mean_difference(values):
    return np.mean([np.mean(i) - np.mean(o) for i, o in sides(values) if i and o])


def means(values):
    """Both means of each record; a missing side is the other one, moved."""
    d = mean_difference(values)
    return [
        (np.mean(i) if i else np.mean(o) + d, np.mean(o) if o else np.mean(i) - d)
        for i, o in sides(values)
    ]


@pytest.mark.parametrize("fixed_var", [False, True])
@pytest.mark.parametrize("online", [False, True])
def test_lira(online, fixed_var):
    mean_variance = [
        np.mean([np.var(r[k], ddof=1) for r in sides(PHI) if len(r[k]) > 1]) for k in (0, 1)
    ]
    expected = []
    for p, (values, centre) in enumerate(zip(sides(PHI), means(PHI), strict=True)):
        sd = [
            np.sqrt(
                mean_variance[k] if fixed_var or len(values[k]) < 2 else np.var(values[k], ddof=1)
            )
            + 1e-6
            for k in (0, 1)
        ]
        if online:
            densities = [norm.logpdf(PHI[0, p], centre[k], sd[k]) for k in (0, 1)]
            expected.append(densities[0] - densities[1])
        else:
            expected.append((PHI[0, p] - centre[1]) / sd[1])
    found = attacks.lira_scores(PHI, IN, 0, online, fixed_var, SHADOWS)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    together = attacks.lira_scores_all(PHI, IN, online, fixed_var)[0]
    np.testing.assert_allclose(together, expected, rtol=1e-6)
    assert np.isfinite(found).all()
    if not fixed_var:
        assert found[3] == pytest.approx(0, abs=1e-9)  # all outputs equal: nothing is known
        assert abs(found[4]) > 1e5  # equal OUT outputs: 1e-6 is all the spread there is


def test_calibrated_loss():
    loss = np.log1p(np.exp(-PHI))
    expected = [out - loss[0, p] for p, (_, out) in enumerate(means(loss))]
    np.testing.assert_allclose(attacks.calibrated_loss_scores(PHI, IN, 0, SHADOWS), expected)
    np.testing.assert_allclose(attacks.calibrated_loss_scores_all(PHI, IN)[0], expected)


@pytest.mark.parametrize("online", [False, True])
def test_rmia(online):
    """A record without IN shadows is treated as offline."""
    a, gamma = 0.4, 1.1
    p, p_pop = expit(PHI), expit(PHI_POP)
    expected = []
    for x, ((inside, _), centre) in enumerate(zip(sides(p), means(p), strict=True)):
        offline = ((1 + a) * centre[1] + 1 - a) / 2
        average = np.mean(centre) if online and inside else offline
        hits = 0
        for z in range(37):
            mean_pop = p_pop[SHADOWS, z].mean()
            average_pop = mean_pop if online else ((1 + a) * mean_pop + 1 - a) / 2
            hits += (p[0, x] / average) / (p_pop[0, z] / average_pop) >= gamma
        expected.append(hits / 37)
    found = attacks.rmia_scores(PHI, IN, PHI_POP, 0, online, gamma, a, SHADOWS)
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(
        attacks.rmia_scores_all(PHI, IN, PHI_POP, online, gamma, a)[0], expected
    )
    assert 0 < np.mean(expected) < 1


def test_calibrated_loss_for_all_targets_is_target_by_target():
    rng = np.random.default_rng(1)
    membership = rng.random((9, 30)) < 0.5
    outputs = rng.normal(size=(9, 30)) * 5
    together = attacks.calibrated_loss_scores_all(outputs, membership)
    apart = [attacks.calibrated_loss_scores(outputs, membership, t) for t in range(9)]
    np.testing.assert_allclose(together, apart, rtol=1e-9, atol=1e-12)


def test_one_model_will_not_do():
    one, inside = PHI[:1], IN[:1]
    for attack in (
        lambda: attacks.default_shadows(1, 0),
        lambda: attacks.lira_scores(one, inside, 0),
        lambda: attacks.lira_scores_all(one, inside),
        lambda: attacks.calibrated_loss_scores(one, inside, 0),
        lambda: attacks.calibrated_loss_scores_all(one, inside),
        lambda: attacks.rmia_scores(one, inside, PHI_POP[:1], 0, True),
        lambda: attacks.rmia_scores_all(one, inside, PHI_POP[:1], True),
    ):
        with pytest.raises(ValueError, match="1 model will not do: an attack needs at least one"):
            attack()


def test_pair_intervals_cover_the_truth():
    """Scores with a part for the model, a part for the record and a known signal: 95% means it."""
    rng = np.random.default_rng(2)
    n_models, n_records, repeats, inside, by_pairs = 40, 50, 120, 0, 0
    # the variance of a member's score minus a non-member's, of other models and records
    variance = 2 * (1 + 0.3**2 + 0.4**2) + 0.8**2
    truth = norm.cdf(0.6 / np.sqrt(variance))
    for _ in range(repeats):
        membership = rng.random((n_models, n_records)) < 0.5
        signal = 0.6 + 0.8 * rng.normal(size=n_records)  # some records leak more than others
        scores = (
            rng.normal(size=membership.shape)
            + 0.3 * rng.normal(size=(n_models, 1))
            + 0.4 * rng.normal(size=n_records)
            + signal * membership
        )
        low, high = metrics.pair_intervals(scores, membership, rng, 150)["auc"]
        inside += low <= truth <= high
        low, high = metrics.bootstrap_intervals(scores, membership, rng, 100)["auc"]
        by_pairs += low <= truth <= high
    assert inside >= 0.90 * repeats
    assert by_pairs < 0.80 * repeats  # pairs as if they were independent: far too sure
