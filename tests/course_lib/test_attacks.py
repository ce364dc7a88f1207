"""Membership scores, against hand-made fixtures, literal loops and what must not change them."""

import math

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import ks_2samp, norm
from sklearn.metrics import roc_auc_score

from course_lib import attacks
from course_lib.metrics import METRICS, attack_metrics, pair_intervals

# Two records; models 0 to 2 saw both, 3 to 5 neither; model 6 is the target.
HAND_PHI = np.array(
    [[2, -1], [3, 0], [4, -1], [0, 1], [1, -2], [2, -3], [2.5, -0.5]], dtype=np.float64
)
HAND_IN = np.array([[True, True]] * 3 + [[False, False]] * 3 + [[True, False]])


def population(seed, n_models=12, n_records=40, signal=1.0):
    rng = np.random.default_rng(seed)
    IN = rng.random((n_models, n_records)) < 0.5
    spread = rng.uniform(0.3, 2, n_records)
    PHI = rng.normal(size=n_records) * 3 + spread * (
        rng.normal(size=IN.shape) + signal * rng.random(n_records) * IN
    )
    return PHI, IN


# --- the logit and the scores of one model -------------------------------------------------------


def test_logit_survives_where_probabilities_fail():
    logits = np.array([[17.0, 0, 0], [40.0, 0, 0]], dtype=np.float32)
    phi = attacks.label_logit_from_logits(logits, np.array([0, 0]))
    np.testing.assert_allclose(phi, [17 - math.log(2), 40 - math.log(2)], rtol=1e-15)
    assert phi.round(5).tolist() == [16.30685, 39.30685]
    with np.errstate(divide="ignore"):
        p = softmax(logits, axis=1)[0, 0]
        assert np.log(p / (1 - p)) == np.inf  # what the logit is there to avoid


def test_logit_is_the_log_odds_of_the_label_for_every_model():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(3, 5, 4))
    labels = rng.integers(4, size=5)
    p = softmax(logits, axis=-1)[:, np.arange(5), labels]
    phi = attacks.label_logit_from_logits(logits, labels)
    np.testing.assert_allclose(phi, np.log(p / (1 - p)), rtol=1e-12)
    np.testing.assert_allclose(attacks.loss_from_phi(phi), -np.log(p), rtol=1e-12)
    huge = attacks.label_logit_from_logits(logits * 1e4, labels)
    assert np.isfinite(huge).all()


def test_loss_is_stable_at_both_ends():
    assert attacks.loss_from_phi([-1000.0, 0.0, 1000.0]).tolist() == [1000, math.log(2), 0]
    assert attacks.loss_from_phi(40.0) == pytest.approx(math.exp(-40), rel=1e-12)


def test_simple_scores():
    phi = np.array([-2.0, 0.0, 0.5])
    assert attacks.gap_scores(phi).tolist() == [0, 0, 1]
    assert attacks.loss_scores(phi).tolist() == (-attacks.loss_from_phi(phi)).tolist()
    assert np.all(np.diff(attacks.loss_scores(phi)) > 0)


def test_gradient_norm_equals_finite_differences():
    rng = np.random.default_rng(1)
    A = np.column_stack([np.ones(6), rng.normal(size=(6, 3))])
    y = rng.integers(2, size=6)
    theta = rng.normal(size=4)

    def losses(weights):
        return attacks.loss_from_phi((2 * y - 1) * (A @ weights))

    step = 1e-6
    gradient = np.stack(
        [(losses(theta + step * e) - losses(theta - step * e)) / (2 * step) for e in np.eye(4)]
    )
    scores = attacks.gradnorm_scores((2 * y - 1) * (A @ theta), A)
    np.testing.assert_allclose(scores, -np.log(np.linalg.norm(gradient, axis=0)), atol=1e-7)
    assert np.isfinite(attacks.gradnorm_scores(np.full(6, 1000.0), A)).all()


# --- calibrated loss and LiRA --------------------------------------------------------------------


def test_lira_by_hand():
    online = attacks.lira_scores(HAND_PHI, HAND_IN, 6)
    offline = attacks.lira_scores(HAND_PHI, HAND_IN, 6, online=False)
    np.testing.assert_allclose(online, [1.0, 1.32094], atol=2e-5)
    np.testing.assert_allclose(offline, [1.5, 0.40032], atol=2e-5)


def literal_lira(PHI, IN, t, online, fixed_var, min_variance, shadows):
    """One record after the other, with the fallbacks as they are described."""
    n_records = PHI.shape[1]
    sides = {True: [], False: []}
    for p in range(n_records):
        for side in sides:
            sides[side].append([PHI[m, p] for m in shadows if IN[m, p] == side])
    both = [
        np.mean(a) - np.mean(b) for a, b in zip(sides[True], sides[False], strict=True) if a and b
    ]
    difference = np.mean(both)
    pooled = {
        side: np.mean([np.var(values, ddof=1) for values in sides[side] if len(values) > 1])
        for side in sides
    }
    scores = []
    for p in range(n_records):
        fitted = {}
        for side, sign in ((True, 1), (False, -1)):
            own, other = sides[side][p], sides[not side][p]
            mean = np.mean(own) if own else np.mean(other) + sign * difference
            enough = len(own) > 1 and not fixed_var
            variance = np.var(own, ddof=1) if enough else pooled[side]
            if min_variance is None:
                sd = np.sqrt(variance) + 1e-6
            else:
                sd = np.sqrt(max(variance, min_variance))
            fitted[side] = (mean, sd)
        observed = PHI[t, p]
        if online:
            scores.append(
                norm.logpdf(observed, *fitted[True]) - norm.logpdf(observed, *fitted[False])
            )
        else:
            scores.append((observed - fitted[False][0]) / fitted[False][1])
    return np.array(scores)


@pytest.mark.parametrize("min_variance", [None, 0.5])
@pytest.mark.parametrize("fixed_var", [False, True])
@pytest.mark.parametrize("online", [False, True])
@pytest.mark.parametrize("n_shadows", [3, 4, 11])
def test_lira_equals_the_literal_loop(n_shadows, online, fixed_var, min_variance):
    """With 3 or 4 shadows many records lack a side, or have one model on it."""
    PHI, IN = population(n_shadows)
    for t in (0, 5, 11):
        shadows = attacks.default_shadows(12, t, n_shadows)
        if n_shadows == 3:
            assert np.any(IN[shadows].sum(axis=0) == 0) and np.any(IN[shadows].sum(axis=0) == 1)
        found = attacks.lira_scores(
            PHI, IN, t, online, fixed_var, shadows, min_variance=min_variance
        )
        expected = literal_lira(PHI, IN, t, online, fixed_var, min_variance, shadows)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("min_variance", [None, 0.5])
@pytest.mark.parametrize("fixed_var", [False, True])
@pytest.mark.parametrize("online", [False, True])
@pytest.mark.parametrize("n_models", [2, 3, 4, 20])
def test_all_targets_at_once_equal_one_after_the_other(n_models, online, fixed_var, min_variance):
    PHI, IN = population(n_models, n_models, 50)
    options = {"online": online, "fixed_var": fixed_var, "min_variance": min_variance}
    together = attacks.lira_scores_all(PHI, IN, **options)
    apart = [attacks.lira_scores(PHI, IN, t, **options) for t in range(n_models)]
    assert np.isfinite(together).all()
    np.testing.assert_allclose(together, apart, rtol=1e-8, atol=1e-8)


def test_all_targets_at_once_survive_cancellation():
    """Equal outputs, and equal outputs but for one, whose removal leaves nothing but rounding."""
    PHI, IN = population(3, 16, 30)
    PHI[:, 0] = 0.1
    PHI[:, 1] = 1 / 3
    PHI[4, 1] = 7.7
    PHI[:, 2] = 1e6 + 1e-3 * PHI[:, 2]
    PHI[2, 3] = 1e9
    together = attacks.lira_scores_all(PHI, IN)
    apart = np.stack([attacks.lira_scores(PHI, IN, t) for t in range(16)])
    assert np.isfinite(together).all()
    np.testing.assert_allclose(together, apart, rtol=1e-6, atol=1e-7)


def test_chunks_do_not_show(monkeypatch):
    PHI, IN = population(4, 16, 30)
    whole = attacks.lira_scores_all(PHI, IN)
    monkeypatch.setattr(attacks, "_CELLS_AT_ONCE", 100)
    np.testing.assert_array_equal(attacks.lira_scores_all(PHI, IN), whole)


@pytest.mark.parametrize("online", [False, True])
@pytest.mark.parametrize("in_side", [True, False])
def test_one_sided_designs_give_finite_scores(in_side, online):
    """No record has the other side at all; a single shadow; a single record."""
    PHI, IN = population(5, 6, 30)
    assert np.isfinite(attacks.lira_scores(PHI, np.full_like(IN, in_side), 0, online)).all()
    assert np.isfinite(attacks.lira_scores(PHI, IN, 0, online, shadow_ids=[1])).all()
    alone = attacks.lira_scores(PHI[:, :1], IN[:, :1], 0, online, shadow_ids=[1])
    assert np.isfinite(alone).all()


def test_one_shadow_uses_the_spread_over_records():
    """One shadow, nobody's variance known: the score must still be of the data's own size."""
    PHI, IN = population(6, 2, 200)
    scores = attacks.lira_scores(PHI, IN, 0, shadow_ids=[1])
    assert np.abs(scores).max() < 100


def test_equal_scores_and_zero_variance_stay_finite():
    PHI, IN = np.full((8, 5), 2.0), population(7, 8, 5)[1]
    for online in (False, True):
        assert attacks.lira_scores(PHI, IN, 0, online).tolist() == [0] * 5
        assert np.isfinite(attacks.lira_scores_all(PHI, IN, online)).all()


def test_variance_floor_gives_the_calibrated_attack():
    PHI, IN = population(8, 17, 60)
    PHI[1:, 0] = 3.0
    found = attacks.lira_scores(PHI, IN, 0, online=False, min_variance=0.01)
    for p in range(60):
        out = PHI[1:, p][~IN[1:, p]]
        if out.size > 1:
            sd = np.sqrt(max(out.var(ddof=1), 0.01))
            assert found[p] == pytest.approx((PHI[0, p] - out.mean()) / sd, rel=1e-12)
    assert found[0] == pytest.approx((PHI[0, 0] - 3) / 0.1)


def test_stat_is_applied_first():
    PHI, IN = population(9)
    found = attacks.lira_scores(PHI, IN, 2, stat=expit)
    np.testing.assert_array_equal(found, attacks.lira_scores(expit(PHI), IN, 2))
    np.testing.assert_allclose(attacks.lira_scores_all(PHI, IN, stat=expit)[2], found, rtol=1e-7)


def test_lira_scores_shift_and_scale_with_the_outputs():
    """Adding a constant per record changes no score; a common scale changes none but the 1e-6's."""
    PHI, IN = population(10)
    before = attacks.lira_scores(PHI, IN, 0)
    shifted = PHI + np.linspace(-5, 5, PHI.shape[1])
    np.testing.assert_allclose(attacks.lira_scores(shifted, IN, 0), before, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(attacks.lira_scores(7 * PHI, IN, 0), before, rtol=1e-3, atol=1e-4)


def test_calibrated_loss_equals_the_literal_loop():
    PHI, IN = population(11, 5)
    t, shadows = 4, [0, 1, 2]
    loss = attacks.loss_from_phi(PHI)
    outs = [[loss[m, p] for m in shadows if not IN[m, p]] for p in range(40)]
    ins = [[loss[m, p] for m in shadows if IN[m, p]] for p in range(40)]
    difference = np.mean(
        [np.mean(a) - np.mean(b) for a, b in zip(ins, outs, strict=True) if a and b]
    )
    means = [np.mean(b) if b else np.mean(a) - difference for a, b in zip(ins, outs, strict=True)]
    assert [] in outs
    found = attacks.calibrated_loss_scores(PHI, IN, t, shadows)
    np.testing.assert_allclose(found, np.array(means) - loss[t], rtol=1e-12)


@pytest.mark.parametrize("n_models", [2, 3, 20])
def test_calibrated_loss_for_all_targets_equals_one_after_the_other(n_models):
    PHI, IN = population(33, n_models, 50)
    together = attacks.calibrated_loss_scores_all(PHI, IN)
    apart = [attacks.calibrated_loss_scores(PHI, IN, t) for t in range(n_models)]
    np.testing.assert_allclose(together, apart, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="shadow model"):
        attacks.calibrated_loss_scores_all(PHI[:1], IN[:1])


# --- RMIA ----------------------------------------------------------------------------------------


def literal_rmia(PHI, IN, PHI_pop, t, online, gamma, a, shadows):
    """One pair (x, z) after the other, in probabilities."""
    p, p_pop = expit(PHI), expit(PHI_pop)
    scores = []
    for x in range(PHI.shape[1]):
        mean_in = np.mean([p[m, x] for m in shadows if IN[m, x]])
        mean_out = np.mean([p[m, x] for m in shadows if not IN[m, x]])
        average = (mean_in + mean_out) / 2 if online else ((1 + a) * mean_out + 1 - a) / 2
        ratio = p[t, x] / average
        dominated = 0
        for z in range(PHI_pop.shape[1]):
            mean_pop = np.mean([p_pop[m, z] for m in shadows])
            average_pop = mean_pop if online else ((1 + a) * mean_pop + 1 - a) / 2
            dominated += ratio / (p_pop[t, z] / average_pop) >= gamma
        scores.append(dominated / PHI_pop.shape[1])
    return np.array(scores)


@pytest.mark.parametrize(("gamma", "a"), [(2.0, 0.3), (1.0, 1.0), (1.3, 0.0)])
@pytest.mark.parametrize("online", [False, True])
def test_rmia_equals_the_literal_reading(online, gamma, a):
    PHI, IN = population(12, 16, 10)
    PHI_pop = np.random.default_rng(13).normal(size=(16, 51)) * 2
    for t in (0, 9):
        shadows = attacks.default_shadows(16, t)
        found = attacks.rmia_scores(PHI, IN, PHI_pop, t, online, gamma, a)
        expected = literal_rmia(PHI, IN, PHI_pop, t, online, gamma, a, shadows)
        np.testing.assert_array_equal(found, expected)
        assert 0 < found.mean() < 1
        few = attacks.rmia_scores(PHI, IN, PHI_pop, t, online, gamma, a, shadows[:12])
        expected = literal_rmia(PHI, IN, PHI_pop, t, online, gamma, a, shadows[:12])
        np.testing.assert_array_equal(few, expected)


def test_rmia_counts_a_population_record_that_does_as_well():
    """One OUT shadow, and the record itself among the population: its ratio to itself is 1."""
    PHI = np.array([[0.3], [-1.2]])
    IN = np.array([[True], [False]])
    PHI_pop = np.array([[0.3, 5.0], [-1.2, -9.0]])
    assert attacks.rmia_scores(PHI, IN, PHI_pop, 0, False, gamma=1.0).tolist() == [0.5]
    assert attacks.rmia_scores(PHI, IN, PHI_pop, 0, False, gamma=1.01).tolist() == [0]


@pytest.mark.parametrize("online", [False, True])
@pytest.mark.parametrize("n_models", [2, 3, 20])
def test_rmia_for_all_targets_equals_one_after_the_other(n_models, online):
    PHI, IN = population(14, n_models, 30)
    PHI_pop = np.random.default_rng(15).normal(size=(n_models, 400))
    together = attacks.rmia_scores_all(PHI, IN, PHI_pop, online)
    apart = [attacks.rmia_scores(PHI, IN, PHI_pop, t, online) for t in range(n_models)]
    assert np.abs(together - apart).max() <= 1 / 400


def test_rmia_stays_finite_where_probabilities_vanish():
    PHI, IN = population(16, 8, 20)
    PHI_pop = np.random.default_rng(17).normal(size=(8, 50))
    for scale in (1e3, -1e3):
        for online in (False, True):
            scores = attacks.rmia_scores(PHI * scale, IN, PHI_pop * scale, 0, online)
            assert np.all((scores >= 0) & (scores <= 1))


# --- all attacks on data without and with a signal -----------------------------------------------

ATTACKS = {
    "loss": lambda PHI, IN, t: attacks.loss_scores(PHI[t]),
    "calibrated": attacks.calibrated_loss_scores,
    "lira_on": lambda PHI, IN, t: attacks.lira_scores(PHI, IN, t),
    "lira_off": lambda PHI, IN, t: attacks.lira_scores(PHI, IN, t, online=False),
    "lira_fixed": lambda PHI, IN, t: attacks.lira_scores(PHI, IN, t, fixed_var=True),
    "rmia_on": lambda PHI, IN, t: attacks.rmia_scores(PHI, IN, population_outputs(PHI), t, True),
    "rmia_off": lambda PHI, IN, t: attacks.rmia_scores(PHI, IN, population_outputs(PHI), t, False),
}


def population_outputs(PHI):
    return np.random.default_rng(18).normal(size=(len(PHI), 500)) * 2


@pytest.mark.parametrize("name", ATTACKS)
def test_without_a_signal_the_auc_is_one_half(name):
    PHI, IN = population(19, 24, 150, signal=0)
    scores, is_member = attacks.pooled_attack(lambda t: ATTACKS[name](PHI, IN, t), IN, range(24))
    low, high = pair_intervals(scores, is_member, np.random.default_rng(0), 200, 0.99)["auc"]
    assert low < 0.5 < high


@pytest.mark.parametrize("name", ATTACKS)
def test_with_a_signal_members_score_higher(name):
    PHI, IN = population(20, 24, 150, signal=6)
    scores, is_member = attacks.pooled_attack(lambda t: ATTACKS[name](PHI, IN, t), IN, range(24))
    assert scores.shape == is_member.shape == (24, 150)
    floor = 0.55 if name == "loss" else 0.6
    assert roc_auc_score(is_member.ravel(), scores.ravel()) > floor


@pytest.mark.parametrize("name", ATTACKS)
def test_the_targets_own_membership_is_never_read(name):
    PHI, IN = population(21, 12, 60)
    before = ATTACKS[name](PHI, IN, 3)
    IN[3] = ~IN[3]
    np.testing.assert_array_equal(ATTACKS[name](PHI, IN, 3), before)


def test_the_closed_form_does_not_read_the_targets_own_membership():
    PHI, IN = population(21, 12, 60)
    before = attacks.lira_scores_all(PHI, IN)[3]
    IN[3] = ~IN[3]
    np.testing.assert_allclose(attacks.lira_scores_all(PHI, IN)[3], before, rtol=1e-9, atol=1e-9)


def test_one_huge_output_moves_no_figure():
    PHI, IN = population(22, 12, 60)
    top = int(np.argmax(attacks.lira_scores(PHI, IN, 0, online=False)))
    PHI[0, top] += 1
    before = attack_metrics(attacks.lira_scores(PHI, IN, 0, online=False), IN[0])
    PHI[0, top] = 1e12
    after = attack_metrics(attacks.lira_scores(PHI, IN, 0, online=False), IN[0])
    assert [after[name] for name in METRICS] == [before[name] for name in METRICS]


def test_default_shadows():
    assert attacks.default_shadows(4, 1).tolist() == [2, 3, 0]
    assert attacks.default_shadows(6, 4, 3).tolist() == [5, 0, 1]


# --- Shokri's attack -----------------------------------------------------------------------------


def test_shokri_learns_a_direction_for_each_label():
    """Members have higher φ under label 0, lower under label 1: no single threshold does that."""
    rng = np.random.default_rng(23)
    y = rng.integers(2, size=300)

    def draw(n_models):
        IN = rng.random((n_models, 300)) < 0.5
        return rng.normal(size=IN.shape) + np.where(IN, 1.5 - 3 * y, 0), IN

    attack = attacks.ShokriAttack(lam=1e-3).fit(*draw(8), y)
    PHI, IN = draw(4)
    scores = np.stack([attack.score(phi, y) for phi in PHI])
    assert roc_auc_score(IN.ravel(), scores.ravel()) > 0.8
    assert abs(roc_auc_score(IN.ravel(), PHI.ravel()) - 0.5) < 0.1


def test_shokri_finds_members_in_the_middle():
    rng = np.random.default_rng(24)
    IN = rng.random((6, 200)) < 0.5
    PHI = rng.normal(size=IN.shape) * np.where(IN, 0.3, 2) + 5
    y = np.zeros(200, dtype=int)
    attack = attacks.ShokriAttack(lam=1e-4).fit(PHI, IN, y)
    assert roc_auc_score(IN[0], attack.score(PHI[0], y)) > 0.75


def test_shokri_minimises_what_it_says():
    """The stated objective has a zero gradient at the fitted weights."""
    rng = np.random.default_rng(25)
    IN = rng.random((4, 80)) < 0.5
    PHI, y = rng.normal(size=IN.shape) + IN, np.zeros(80, dtype=int)
    standard = (PHI.ravel() - PHI.mean()) / PHI.std()
    X = np.stack([standard**k for k in (1, 2, 3)], axis=1)
    attack = attacks.ShokriAttack(lam=0.05).fit(PHI, IN, y)
    score = np.stack([attack.score(phi, y) for phi in PHI]).ravel()
    weights = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), score)[0]
    gradient = X.T @ (expit(score) - IN.ravel()) / len(X) + 0.05 * weights[:3]
    np.testing.assert_allclose(gradient, 0, atol=1e-4)


# --- one record ----------------------------------------------------------------------------------


def test_ks_equals_scipy():
    rng = np.random.default_rng(26)
    for decimals in (0, 1, 9):
        a_in = np.round(rng.normal(size=21) + 0.4, decimals)
        a_out = np.round(rng.normal(size=13), decimals)
        expected = ks_2samp(a_in, a_out, alternative="less").statistic
        assert attacks.ks_advantage(a_in, a_out) == pytest.approx(expected, abs=1e-15)


def test_per_record_ks_equals_one_record_after_the_other():
    PHI, IN = population(27, 15)
    PHI = np.round(PHI, 1)
    PHI[:, 5] = 1.0
    values = attacks.per_record_ks(PHI, IN)
    for p in range(40):
        expected = attacks.ks_advantage(PHI[IN[:, p], p], PHI[~IN[:, p], p])
        assert values[p] == pytest.approx(expected, abs=1e-15)
    assert values[5] == 0
    IN[:, 6] = True
    assert attacks.per_record_ks(PHI, IN)[6] == 0


@pytest.mark.parametrize("arm", [8, 32, 128])
def test_ks_without_a_signal_is_not_zero(arm):
    """The mean largest height of a random bridge of 2n steps is (4^n / C(2n, n) - 1) / 2."""
    mean = (4**arm / math.comb(2 * arm, arm) - 1) / (2 * arm)
    rng = np.random.default_rng(28)
    PHI = rng.normal(size=(2 * arm, 10_000))
    IN = np.repeat(np.arange(2 * arm)[:, None] < arm, 10_000, axis=1)
    values, null = attacks.per_record_ks(PHI, IN, rng)
    assert values.mean() == pytest.approx(mean, rel=0.02)
    assert null.mean() == pytest.approx(mean, rel=0.02)


def test_the_null_keeps_the_counts_and_forgets_the_membership():
    PHI, IN = population(29, 40, 200, signal=8)
    values, null = attacks.per_record_ks(PHI, IN, np.random.default_rng(0))
    assert values.mean() > null.mean() + 0.3
    shuffled = attacks.per_record_ks(PHI, IN[:, ::-1])
    assert null.mean() == pytest.approx(shuffled.mean(), abs=0.03)


# --- what is refused -----------------------------------------------------------------------------


def test_bad_populations_are_named():
    PHI, IN = population(30, 6, 5)
    with pytest.raises(TypeError, match="IN holds int64"):
        attacks.lira_scores(PHI, IN.astype(np.int64), 0)
    with pytest.raises(ValueError, match=r"PHI has shape \(6, 4\), IN has shape \(6, 5\)"):
        attacks.lira_scores(PHI[:, :4], IN, 0)
    with pytest.raises(ValueError, match="target 6 does not exist"):
        attacks.lira_scores(PHI, IN, 6)
    with pytest.raises(ValueError, match="target -1 does not exist"):
        attacks.lira_scores(PHI, IN, -1, shadow_ids=[0])
    with pytest.raises(ValueError, match="among its own shadows"):
        attacks.calibrated_loss_scores(PHI, IN, 2, shadow_ids=[1, 2])
    with pytest.raises(ValueError, match="at least one model index"):
        attacks.lira_scores(PHI, IN, 2, shadow_ids=[])
    with pytest.raises(ValueError, match="runs from 0 to 6"):
        attacks.lira_scores(PHI, IN, 2, shadow_ids=[0, 6])
    with pytest.raises(ValueError, match="k is 6: 6 models leave a target with 1 to 5"):
        attacks.default_shadows(6, 0, 6)
    with pytest.raises(ValueError, match="one value per output"):
        attacks.lira_scores(PHI, IN, 0, stat=np.mean)
    for function in (attacks.lira_scores_all, attacks.per_record_ks):
        PHI[4, 3] = np.nan
        with pytest.raises(ValueError, match=r"not finite in 1 places .*\(4, 3\)"):
            function(PHI, IN)
    with pytest.raises(ValueError, match="1 model will not do"):
        attacks.lira_scores_all(PHI[:1], IN[:1])


def test_bad_rmia_arguments_are_named():
    PHI, IN = population(31, 6, 5)
    with pytest.raises(ValueError, match=r"gamma is 0.5"):
        attacks.rmia_scores(PHI, IN, PHI, 0, True, gamma=0.5)
    with pytest.raises(ValueError, match=r"a is 2"):
        attacks.rmia_scores(PHI, IN, PHI, 0, False, a=2)
    with pytest.raises(ValueError, match=r"PHI_pop has shape \(3, 5\): expected 6 models"):
        attacks.rmia_scores(PHI, IN, PHI[:3], 0, True)
    with pytest.raises(ValueError, match="1 model will not do"):
        attacks.rmia_scores_all(PHI[:1], IN[:1], PHI[:1], True)


def test_bad_logits_are_named():
    with pytest.raises(ValueError, match="at least two classes"):
        attacks.label_logit_from_logits(np.zeros((3, 1)), np.zeros(3, int))
    with pytest.raises(ValueError, match="one label for each of 3 records"):
        attacks.label_logit_from_logits(np.zeros((3, 2)), np.zeros(2, int))
    with pytest.raises(ValueError, match="whole numbers from 0 to 1"):
        attacks.label_logit_from_logits(np.zeros((3, 2)), np.array([0, 1, 2]))
    with pytest.raises(ValueError, match="whole numbers from 0 to 1"):
        attacks.label_logit_from_logits(np.zeros((3, 2)), np.array([0.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match=r"logits is not finite in 1 places .*\(1, 0\)"):
        attacks.label_logit_from_logits(np.array([[0, 1], [np.inf, 0]]), np.array([0, 1]))


def test_bad_shokri_arguments_are_named():
    PHI, IN = population(32, 6, 5)
    with pytest.raises(ValueError, match="lam is 0"):
        attacks.ShokriAttack(0)
    with pytest.raises(ValueError, match="expected 5 labels"):
        attacks.ShokriAttack(1.0).fit(PHI, IN, np.zeros(4, int))
    with pytest.raises(ValueError, match="label 0 are all on one side"):
        attacks.ShokriAttack(1.0).fit(PHI, np.ones_like(IN), np.zeros(5, int))
    fitted = attacks.ShokriAttack(1.0).fit(PHI, IN, np.zeros(5, int))
    with pytest.raises(ValueError, match=r"label 3 was not among the shadows' labels \(0\)"):
        fitted.score(PHI[0], np.full(5, 3))
