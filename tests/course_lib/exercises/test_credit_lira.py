"""The credit lab's checks take every right answer, and say what a wrong one probably is."""

import math
import statistics
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, log_expit
from scipy.stats import norm
from sklearn.metrics import roc_curve
from threadpoolctl import threadpool_limits

from course_build.answers import answers_of
from course_build.source import read_source
from course_lib import attacks, credit, metrics, population
from course_lib.exercises import Exercises, credit_lira

SOURCE = read_source(Path(__file__).parents[3] / "notebooks/source/credit_lira.py")
NUMBERS = sorted(credit_lira.EXERCISES)
FEATURES = credit.Featurizer(degree=3)
NB = {"np": np, "attacks": attacks, "credit": credit, "metrics": metrics, "population": population}
NB |= {"features": FEATURES, "N_MODELS": 256, "LAM": 1e-3, "WORLD_SEED": 4, "MODELS_SEED": 1}


@pytest.fixture(autouse=True)
def _one_thread():
    """As in the lab: a second thread would only wait."""
    with threadpool_limits(1):
        yield


def told(capsys, number, answer, profile="quick"):
    """What a student reads."""
    exercises = Exercises(SimpleNamespace(name="credit_lira", profile=profile))
    capsys.readouterr()
    exercises.check(number, answer)
    return capsys.readouterr().out


def defined(code, number):
    """The function of an exercise, from code that defines it among the notebook's names."""
    names = dict(NB)
    exec(code, names)
    return names[credit_lira.EXERCISES[number].name]


# --- right answers --------------------------------------------------------------------------------


@pytest.mark.parametrize("number", NUMBERS)
def test_the_reference_answer_is_right(capsys, number):
    answer = defined(answers_of(SOURCE)[number], number)
    assert told(capsys, number, answer).startswith("✓")


def by_logaddexp(theta, A, y):
    phi = (2 * y - 1) * (A @ theta)
    return phi, np.logaddexp(0, -phi)


def by_two_branches(theta, A, y):
    phi, loss = [], []
    for row, label in zip(A, y, strict=True):
        value = float(row @ theta) * (1 if label else -1)
        phi.append(value)
        loss.append(
            math.log1p(math.exp(-value)) if value > 0 else -value + math.log1p(math.exp(value))
        )
    return phi, loss


def by_scipy(theta, A, y):
    signs = np.array([-1.0, 1.0])[y]
    return [signs * A.dot(theta), -log_expit(signs * np.einsum("nd,d->n", A, theta))]


def with_its_own_errstate(theta, A, y):
    phi = np.where(y > 0, 1, -1) * (A * theta).sum(axis=1)
    with np.errstate(over="ignore"):
        return phi, np.where(phi < -30, -phi, np.log1p(np.exp(-phi)))


def by_sklearn(scores, is_member, alpha):
    fpr, tpr, _thresholds = roc_curve(is_member, scores, drop_intermediate=False)
    return tpr[fpr <= alpha].max()


def by_counting_down(scores, is_member, alpha):
    members, others = scores[is_member], scores[~is_member]
    reached = 0
    for threshold in sorted(set(scores.tolist()), reverse=True):
        if np.count_nonzero(others >= threshold) > alpha * len(others):
            break
        reached = np.count_nonzero(members >= threshold) / len(members)
    return reached


def by_last_of_ties(scores, is_member, alpha):
    order = np.argsort(-scores)
    ranked, inside = scores[order], is_member[order]
    ends = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)
    tpr, fpr = np.cumsum(inside)[ends] / inside.sum(), np.cumsum(~inside)[ends] / (~inside).sum()
    return np.float32(np.append(0, tpr)[np.searchsorted(fpr, alpha, side="right")])


def one_by_one(is_member, order, alpha):
    tpr = np.cumsum(is_member[order]) / is_member.sum()
    fpr = np.cumsum(~is_member[order]) / (~is_member).sum()
    return max(tpr[fpr <= alpha], default=0.0)


def non_members_first(scores, is_member, alpha):
    """Right: a tied member comes only after all the non-members that it is tied with."""
    return one_by_one(is_member, np.lexsort((is_member, -scores)), alpha)


def record_by_record(observed, PHI_shadow, IN_shadow):
    scores = []
    for i in range(len(observed)):
        unseen = PHI_shadow[~IN_shadow[:, i], i].tolist()
        scores.append((observed[i] - statistics.fmean(unseen)) / statistics.stdev(unseen))
    return scores


def by_masked_arrays(observed, PHI_shadow, IN_shadow):
    unseen = np.ma.array(PHI_shadow, mask=IN_shadow)
    return (observed - unseen.mean(axis=0)) / unseen.std(axis=0, ddof=1)


def by_sums(observed, PHI_shadow, IN_shadow):
    out = ~IN_shadow
    n = out.sum(axis=0)
    mean = (PHI_shadow * out).sum(axis=0) / n
    return (observed - mean) / np.sqrt((((PHI_shadow - mean) * out) ** 2).sum(axis=0) / (n - 1))


def by_the_bench(observed, PHI_shadow, IN_shadow):
    PHI = np.vstack([observed, PHI_shadow])
    IN = np.vstack([np.zeros(len(observed), dtype=bool), IN_shadow])
    return attacks.lira_scores(PHI, IN, 0, online=False)


def best_of_loop(phi_in, phi_out):
    best = 0.0
    for threshold in [*phi_in, *phi_out]:
        tpr = sum(value >= threshold for value in phi_in) / len(phi_in)
        best = max(best, tpr - sum(value >= threshold for value in phi_out) / len(phi_out))
    return best


def shuffled_in_place(phi_in, phi_out, rng, n_shuffles=200):
    measured, values, reached = best_of_loop(phi_in, phi_out), np.append(phi_in, phi_out), 0
    for _shuffle in range(n_shuffles):
        rng.shuffle(values)
        reached += best_of_loop(values[: len(phi_in)], values[len(phi_in) :]) >= measured
    return measured, reached / n_shuffles


def dealt_by_choice(phi_in, phi_out, rng, n_shuffles=200):
    values, k = np.append(phi_in, phi_out), len(phi_in)
    measured = attacks.ks_advantage(phi_in, phi_out)
    reached = []
    for _shuffle in range(n_shuffles):
        inside = np.zeros(len(values), dtype=bool)
        inside[rng.choice(len(values), k, replace=False)] = True
        reached.append(attacks.ks_advantage(values[inside], values[~inside]) >= measured)
    return [measured, np.mean(reached)]


def by_sorted_steps(phi_in, phi_out, rng, n_shuffles=200):
    values = np.append(phi_in, phi_out)
    steps = np.append(
        np.full(len(phi_in), 1 / len(phi_in)), np.full(len(phi_out), -1 / len(phi_out))
    )
    order = np.argsort(-values)
    ends = np.append(np.diff(values[order]) != 0, True)

    def best(weights):
        return max(0.0, np.cumsum(weights[order])[ends].max())

    found = np.array([best(rng.permutation(steps)) for _shuffle in range(n_shuffles)])
    return np.array([best(steps), np.count_nonzero(found > best(steps) - 1e-9) / n_shuffles])


def small_world(pool, world=4, models=1, degree=3, n_models=256, lam=1e-3):
    """φ and memberships of models of a pool."""
    made = credit.make_credit(pool, np.random.default_rng(world))
    IN, PHI, _theta = population.train_population(
        credit.Featurizer(degree=degree)(made["X"]),
        made["y"],
        n_models,
        pool // 2,
        lam,
        np.random.default_rng(models),
    )
    return PHI, IN


def found_by_lira(pool, name="tpr_1", **settings):
    PHI, IN = small_world(pool, **settings)
    return metrics.attack_metrics(attacks.lira_scores_all(PHI, IN), IN)[name]


def target_by_target(pool):
    PHI, IN = small_world(pool, world=11, models=12)
    scores, inside = attacks.pooled_attack(
        lambda t: attacks.lira_scores(PHI, IN, t), IN, range(len(IN))
    )
    return metrics.tpr_at_fpr(*metrics.roc_curve(scores, inside), 0.01)


RIGHT = [
    *((1, a) for a in (by_logaddexp, by_two_branches, by_scipy, with_its_own_errstate)),
    *((2, a) for a in (by_sklearn, by_counting_down, by_last_of_ties, non_members_first)),
    *((3, a) for a in (record_by_record, by_masked_arrays, by_sums, by_the_bench)),
    *((4, a) for a in (shuffled_in_place, dealt_by_choice, by_sorted_steps)),
    (5, target_by_target),
    (5, lambda pool: found_by_lira(pool, world=99, models=99)),
    (5, lambda pool: np.float32(found_by_lira(pool, world=7, n_models=200))),
]


@pytest.mark.parametrize(("number", "answer"), RIGHT)
def test_a_right_answer_of_another_kind_is_right(capsys, number, answer):
    assert told(capsys, number, answer).startswith("✓")


# --- wrong answers --------------------------------------------------------------------------------


def phi_of(theta, A, y):
    return (2 * y - 1) * (A @ theta)


def loss_of(phi):
    return np.logaddexp(0, -phi)


def over_both_branches(theta, A, y):
    phi = phi_of(theta, A, y)
    return phi, np.where(phi > 0, np.log1p(np.exp(-phi)), -phi + np.log1p(np.exp(phi)))


def infinite_in_silence(theta, A, y):
    with np.errstate(all="ignore"):
        return phi_of(theta, A, y), np.log(1 + np.exp(-phi_of(theta, A, y)))


def relabels_in_place(theta, A, y):
    y *= 2
    y -= 1
    return y * (A @ theta), loss_of(y * (A @ theta))


def best_tpr(scores, is_member, allowed, called=np.greater_equal):
    found = [
        called(scores, threshold)[is_member].mean()
        for threshold in np.unique(scores)
        if allowed(called(scores, threshold)[~is_member].mean())
    ]
    return max(found, default=0.0)


def members_first(scores, is_member, alpha):
    return one_by_one(is_member, np.lexsort((~is_member, -scores)), alpha)


def with_fewer_points(scores, is_member, alpha):
    fpr, tpr, _thresholds = roc_curve(is_member, scores)
    return tpr[fpr <= alpha].max()


def on_a_grid(scores, is_member, alpha):
    grid = np.linspace(scores.min(), scores.max(), 100)
    called = [scores >= threshold for threshold in grid]
    return max((c[is_member].mean() for c in called if c[~is_member].mean() <= alpha), default=0.0)


def in_the_given_order(scores, is_member, alpha):
    return one_by_one(is_member, np.argsort(-scores, kind="stable"), alpha)


def z_score(observed, PHI, chosen, ddof=1):
    kept = np.where(chosen, PHI, np.nan)
    return (observed - np.nanmean(kept, axis=0)) / np.nanstd(kept, axis=0, ddof=ddof)


def wipes_out(observed, PHI_shadow, IN_shadow):
    PHI_shadow[IN_shadow] = np.nan
    return z_score(observed, PHI_shadow, ~IN_shadow)


def zeros_for_seen(observed, PHI_shadow, IN_shadow):
    return z_score(observed, np.where(IN_shadow, 0, PHI_shadow), np.ones_like(IN_shadow))


def judged_by(measure, count=np.greater_equal, share=np.mean, shuffle=None):
    """An answer with another measure, another comparison or another way to shuffle."""
    shuffle = shuffle or (lambda rng, values: rng.permutation(values))

    def answer(phi_in, phi_out, rng, n_shuffles=200):
        values, k = np.append(phi_in, phi_out), len(phi_in)
        own = measure(phi_in, phi_out)
        dealt = [shuffle(rng, values) for _shuffle in range(n_shuffles)]
        return own, share([count(measure(some[:k], some[k:]), own) for some in dealt])

    return answer


def either_sign(phi_in, phi_out):
    thresholds = np.append(phi_in, phi_out)[:, None]
    gaps = (phi_in >= thresholds).mean(axis=1) - (phi_out >= thresholds).mean(axis=1)
    return np.abs(gaps).max()


def area(phi_in, phi_out):
    return (phi_in[:, None] > phi_out).mean() + (phi_in[:, None] == phi_out).mean() / 2


def always_two_hundred(phi_in, phi_out, rng, n_shuffles):
    return judged_by(attacks.ks_advantage)(phi_in, phi_out, rng, 200)


def never_shuffles(phi_in, phi_out, rng, n_shuffles):
    rng = np.random.default_rng(0)
    return judged_by(attacks.ks_advantage)(phi_in, phi_out, rng, n_shuffles)


def shuffles_elsewhere(phi_in, phi_out, rng, n_shuffles):
    rng = np.random.default_rng()
    return judged_by(attacks.ks_advantage)(phi_in, phi_out, rng, n_shuffles)


def with_replacement(rng, values):
    return rng.choice(values, len(values))


KS = attacks.ks_advantage


def cut_in_the_middle(phi_in, phi_out, rng, n_shuffles):
    values, measured = np.append(phi_in, phi_out), KS(phi_in, phi_out)
    halves = (np.array_split(rng.permutation(values), 2) for _shuffle in range(n_shuffles))
    return measured, np.mean([KS(a, b) > measured - 1e-12 for a, b in halves])


WRONG = [
    (1, lambda t, A, y: (A @ t, loss_of(A @ t)), "label is left out"),
    (1, lambda t, A, y: (-phi_of(t, A, y), loss_of(-phi_of(t, A, y))), "wrong way round"),
    (1, lambda t, A, y: (y * (A @ t), loss_of(y * (A @ t))), "Use 2y − 1"),
    (1, lambda t, A, y: (phi_of(t, A, y), loss_of(-phi_of(t, A, y))), "wrong sign of φ"),
    (1, lambda t, A, y: (phi_of(t, A, y), loss_of(phi_of(t, A, y)).mean()), "their mean"),
    (1, lambda t, A, y: by_logaddexp(t, A, y)[::-1], "swapped"),
    (1, lambda t, A, y: (phi_of(t, A, y), loss_of(phi_of(t, A, y)) / np.log(2)), "base 2"),
    (1, lambda t, A, y: (phi_of(t, A, y), -np.log(expit(phi_of(t, A, y)))), "rounded to 0"),
    (1, lambda t, A, y: (phi_of(t, A, y), loss_of(phi_of(t, A, y).clip(-35, 35))), "φ is cut"),
    (1, over_both_branches, "overflow"),
    (1, infinite_in_silence, "not infinite"),
    (1, relabels_in_place, "changed its input y"),
    (1, lambda t, A, y: phi_of(t, A, y), "2 values are expected, and a NumPy array came"),
    (1, lambda t, A, y: tuple(v[:, None] for v in by_logaddexp(t, A, y)), "shape"),
    (1, lambda t, A, y: (np.array([1000.0, -1000.0]), np.array([0.0, 1000.0])), "expected"),
    (1, lambda t, A, y: (phi_of(t, A, y) * np.nan, loss_of(phi_of(t, A, y))), "NaN"),
    (2, lambda s, m, a: best_tpr(s, m, lambda fpr: fpr < a), "<=, not <"),
    (2, lambda s, m, a: best_tpr(s, m, lambda fpr: fpr <= a, np.greater), ">=, not with >"),
    (2, lambda s, m, a: best_tpr(-s, m, lambda fpr: fpr <= a), "speaks for a member"),
    (2, members_first, "is: Records with the same score are taken one after another"),
    (2, in_the_given_order, "is: Records with the same score are taken one after another"),
    (2, lambda s, m, a: np.interp(a, *metrics.roc_curve(s, m)), "interpolated"),
    (2, lambda s, m, a: (s[m] >= np.quantile(s[~m], 1 - a)).mean(), "quantile"),
    (2, lambda s, m, a: by_sklearn(s, m, a) * m.mean(), "divided by all records"),
    (2, lambda s, m, a: by_sklearn(s, m, a) or None, "None came"),
    (2, lambda s, m, a: a, "This is α itself"),
    (2, with_fewer_points, "is: scikit-learn's roc_curve leaves out"),
    (2, lambda s, m, a: by_sklearn(s, m, a) * m.sum(), "is: This is the number of members"),
    (2, on_a_grid, "at very unequal distances"),
    (2, lambda s, m, a: 0.0553, "expected: 0.5"),  # the published rate
    (2, lambda s, m, a: math.nan, "NaN"),
    (2, lambda s, m, a: s[m] >= s.max(), "One number is expected"),
    (3, lambda o, P, IN: z_score(o, P, ~IN, ddof=0), "n − 1"),
    (3, lambda o, P, IN: z_score(o, P, IN, ddof=0), "entries differ"),
    (3, lambda o, P, IN: z_score(o, P, np.ones_like(IN)), "All shadows are used"),
    (3, lambda o, P, IN: -z_score(o, P, ~IN), "sign is the wrong way round"),
    (3, lambda o, P, IN: abs(z_score(o, P, ~IN)), "sign is lost"),
    (3, lambda o, P, IN: z_score(o, P, ~IN) ** 2, "entries differ"),
    (3, lambda o, P, IN: o - np.nanmean(np.where(IN, np.nan, P), axis=0), "not divided"),
    (3, zeros_for_seen, "count as φ = 0"),
    (3, wipes_out, "changed its input PHI_shadow"),
    (3, lambda o, P, IN: (o - P[~IN].mean()) / P[~IN].std(ddof=1), "is one long vector"),
    (3, lambda o, P, IN: norm.cdf(z_score(o, P, ~IN)), "is: This is the probability"),
    (3, lambda o, P, IN: (o - P.mean(axis=1)) / P.std(axis=1, ddof=1), "ValueError"),
    (3, lambda o, P, IN: z_score(o, P, ~IN).mean(), "NumPy array is expected"),
    (3, lambda o, P, IN: np.zeros(len(o)), "entries differ"),
    (3, lambda o, P, IN: o * np.nan, "NaN"),
    (4, judged_by(KS, np.greater), "means >="),
    (4, judged_by(KS, share=lambda counts: 1 - np.mean(counts)), "smaller advantage"),
    (4, judged_by(KS, share=lambda counts: (sum(counts) + 1) / (len(counts) + 1)), "one more"),
    (4, judged_by(either_sign), "either sign"),
    (4, judged_by(lambda a, b: KS(b, a)), "swapped"),
    (4, judged_by(lambda a, b: (1 + KS(a, b)) / 2), "balanced accuracy"),
    (4, judged_by(lambda a, b: a.mean() - b.mean()), "difference of the two means"),
    (4, judged_by(area), "This is the AUC"),
    (4, judged_by(KS, shuffle=with_replacement), "drawn with replacement"),
    (4, cut_in_the_middle, "is: Each shuffle is cut in the middle"),
    (4, judged_by(KS, share=sum), "number of the shuffles"),
    (4, always_two_hundred, "fortieths"),
    (4, never_shuffles, "shuffle with rng"),
    (4, shuffles_elsewhere, "come from elsewhere"),
    (4, lambda i, o, rng, n: KS(i, o), "2 values are expected"),
    (4, lambda i, o, rng, n: (0.765625, 0.0), "expected: (1.0, 0.5"),  # what the notebook gives
    (4, lambda i, o, rng, n: (KS(i, o), math.nan), "NaN"),
    (4, lambda i, o: KS(i, o), "cannot take them"),
    (5, lambda pool: found_by_lira(400), "about what a pool of 400 gives"),
    (5, lambda pool: found_by_lira(100), "Is pool used throughout"),
    (5, lambda pool: found_by_lira(pool, "auc"), "looks like the AUC"),
    (5, lambda pool: found_by_lira(pool, "tpr_01"), "200 is 0.028"),
    (5, lambda pool: found_by_lira(pool, degree=1), "with all features"),
    (5, lambda pool: 0.0553, "about what a pool of 400 gives"),  # the published rate
    (5, lambda pool: 0.12, "same rate"),  # what the message itself calls usual
    (5, lambda pool: 100 * found_by_lira(pool), "may lie outside"),
    (5, lambda pool: math.nan, "NaN"),
    (5, lambda pool: found_by_lira(pool, n_models=1), "ended with an error"),
]


@pytest.mark.parametrize(("number", "answer", "says"), WRONG)
def test_a_wrong_answer_is_refused_with_what_is_wrong(capsys, number, answer, says):
    text = told(capsys, number, answer)
    assert text.startswith("✗")
    assert says in text
    assert answers_of(SOURCE)[number] not in text


@pytest.mark.parametrize("number", NUMBERS)
def test_every_exercise_is_tried_with_at_least_six_wrong_answers(number):
    assert sum(n == number for n, _answer, _says in WRONG) >= 6


@pytest.mark.parametrize("number", NUMBERS)
def test_a_value_instead_of_the_function_is_explained(capsys, number):
    name = credit_lira.EXERCISES[number].name
    assert f"write ex.check({number}, {name}" in told(capsys, number, 0.9)


@pytest.mark.parametrize(
    ("number", "model", "sentence"),
    [
        (number, *mistake)
        for number, mistakes in (
            (1, credit_lira._logit_mistakes()),
            (2, credit_lira._tpr_mistakes()),
            (3, credit_lira._offline_mistakes()),
        )
        for mistake in mistakes
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_each_known_mistake_is_called_by_its_name(capsys, number, model, sentence):
    def answer(*inputs):
        with np.errstate(all="ignore"):
            return model(*inputs)

    assert f"What it probably is: {sentence}" in told(capsys, number, answer)


@pytest.mark.parametrize(
    "answer",
    [
        judged_by(KS, np.greater),
        judged_by(KS, share=lambda counts: 1 - np.mean(counts)),
        judged_by(KS, share=lambda counts: (sum(counts) + 1) / (len(counts) + 1)),
        judged_by(either_sign),
        judged_by(lambda a, b: KS(b, a)),
        judged_by(lambda a, b: (1 + KS(a, b)) / 2),
        judged_by(lambda a, b: a.mean() - b.mean()),
        judged_by(area),
    ],
)
def test_each_known_mistake_of_exercise_4_explains_all_that_fails(capsys, answer):
    assert "What it probably is" in told(capsys, 4, answer)


def test_the_experiment_is_not_judged_in_a_small_run(capsys):
    assert told(capsys, 5, lambda pool: 0.02 + pool / 1e6, profile="smoke").startswith("–")


def test_the_share_of_deals_is_the_permutation_probability():
    """Three values above three others: one deal of twenty has an advantage of one."""
    high, low = np.array([4.0, 5.0, 6.0]), np.array([1.0, 2.0, 3.0])
    share = credit_lira._share_of_deals(credit_lira._smirnov, high, low)
    assert share == pytest.approx(1 / math.comb(6, 3))
