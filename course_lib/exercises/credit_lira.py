"""The exercises of the lab credit_lira: what is checked, and what is said of a mistake."""

import functools
import itertools
import math
import statistics

import numpy as np
from scipy.special import log_expit
from scipy.stats import ks_2samp, norm
from sklearn.metrics import roc_curve

from course_lib import metrics
from course_lib.exercises import Exercise, Near
from course_lib.language import _


def _lists_as_arrays(function):
    """The function itself, but lists of numbers that it returns come as arrays.

    A list is as good an answer as an array where one value for each record is asked for.
    """

    @functools.wraps(function)
    def with_arrays(*inputs):
        return _as_arrays(function(*inputs))

    return with_arrays


def _as_arrays(result):
    if type(result) not in (list, tuple) or not result:
        return result
    if all(np.isscalar(value) for value in result):
        return np.array(result)
    return tuple(map(_as_arrays, result))


# --- exercise 1 -----------------------------------------------------------------------------------


def check_logit(trial):
    """Compare with SciPy's logarithm of the sigmoid, which neither overflows nor rounds to zero."""
    trial.value = _lists_as_arrays(trial.value)
    for model, sentence in _logit_mistakes():
        trial.mistake(model, sentence)

    def case(theta, A, y, **options):
        logits = np.array([sum(a * t for a, t in zip(row, theta, strict=True)) for row in A])
        phi = np.where(y == 0, -1.0, 1.0) * logits
        trial.case({"theta": theta, "A": A, "y": y}, (phi, -log_expit(phi)), **options)

    case(np.array([2.0, 1.0]), np.array([[1.0, -0.5], [0.5, 1.0]]), np.array([1, 0]))
    for _case in range(3):
        n, d = trial.rng.integers(3, 7, 2)
        y = trial.rng.permutation(np.arange(n) % 2)
        case(trial.rng.normal(size=d), trial.rng.normal(size=(n, d)), y)
    extreme = np.array([1000.0]), np.ones((2, 1)), np.array([1, 0])
    case(
        *extreme,
        about=_(
            "Here φ is 1,000 and −1,000. e to the power 1,000 is too large for a float, and "
            "e to the power −1,000 is rounded to 0."
        ),
    )
    case(*extreme, no_warnings=True)


def _logit_mistakes():
    def logit(theta, A, y):
        return (2 * y - 1) * (A @ theta)

    def loss(phi):
        return np.logaddexp(0, -phi)

    def literally(theta, A, y):
        phi = logit(theta, A, y)
        return phi, np.log(1 + np.exp(-phi))

    return (
        (
            lambda theta, A, y: (A @ theta, loss(A @ theta)),
            _("The label is left out: for y = 0 the sign of φ has to change."),
        ),
        (
            lambda theta, A, y: (-logit(theta, A, y), loss(-logit(theta, A, y))),
            _("The sign is the wrong way round: φ is positive where the model is right."),
        ),
        (
            lambda theta, A, y: (y * (A @ theta), loss(y * (A @ theta))),
            _("The labels are 0 and 1, so that y itself makes φ zero for y = 0. Use 2y − 1."),
        ),
        (
            lambda theta, A, y: (logit(theta, A, y), loss(-logit(theta, A, y))),
            _("The loss has the wrong sign of φ: it is large where φ is negative."),
        ),
        (
            lambda theta, A, y: (logit(theta, A, y), -loss(logit(theta, A, y))),
            _("The loss has the wrong sign: it is never negative."),
        ),
        (
            lambda theta, A, y: (logit(theta, A, y), loss(logit(theta, A, y)).mean()),
            _("One loss for each record is asked for, and this is their mean."),
        ),
        (
            lambda theta, A, y: (logit(theta, A, y), loss(logit(theta, A, y)).sum()),
            _("One loss for each record is asked for, and this is their sum."),
        ),
        (
            lambda theta, A, y: (logit(theta, A, y), loss(logit(theta, A, y)) / math.log(2)),
            _("The logarithm is to the base 2. Asked is the natural one, np.log."),
        ),
        (
            lambda theta, A, y: (loss(logit(theta, A, y)), logit(theta, A, y)),
            _("The two are swapped: φ comes first."),
        ),
        (
            lambda theta, A, y: (logit(theta, A, y), loss(logit(theta, A, y).clip(-35, 35))),
            _("φ is cut before the loss is taken. At φ = −1,000 the loss is 1,000."),
        ),
        (
            lambda theta, A, y: (logit(theta, A, y), 1 / (1 + np.exp(logit(theta, A, y)))),
            _("This is one minus the probability of the label. The loss is minus its logarithm."),
        ),
        (
            literally,
            _(
                "At φ = −1,000 the loss is 1,000 and not infinite. Either the probability is "
                "rounded to 0, or e to the power 1,000 overflows."
            ),
        ),
    )


def _logit_hints():
    return (
        _("2y − 1 is 1 for a label of 1, and −1 for a label of 0."),
        _("For φ < 0, log(1 + e^−φ) = −φ + log(1 + e^φ). Then the exponent is never positive."),
        _(
            "In one line for both signs: max(−φ, 0) + log(1 + e^−|φ|). np.maximum and np.log1p do "
            "it for arrays. (np.where computes both of its sides, with the overflow.)"
        ),
        _("np.logaddexp(a, b) is log(e^a + e^b) without overflow. Which a and b are needed?"),
    )


# --- exercise 2 -----------------------------------------------------------------------------------


def check_tpr(trial):
    """Compare with the course's ROC curve, whose points take tied scores together."""
    for model, sentence in _tpr_mistakes():
        trial.mistake(model, sentence)

    def case(scores, is_member, alpha, **about):
        is_member = np.asarray(is_member, dtype=bool)
        inputs = {"scores": np.asarray(scores), "is_member": is_member, "alpha": alpha}
        expected = metrics.tpr_at_fpr(*metrics.roc_curve(scores, is_member), alpha)
        trial.case(inputs, expected, **about)

    case([4.0, 3.0, 2.0, 1.0], [1, 0, 1, 0], 0.25)
    tied, tied_members = [1, 1, 1, 0], [1, 0, 1, 0]
    together = _("Three records share the score 1 here. No threshold can separate them.")
    case(tied, tied_members, 0.4, about=together)
    case(tied, tied_members, 0.5, about=together)
    case(
        [5.0, 4.0, 4.0, 4.0, 3.0, 2.0, 1.0, 0.0],
        [1, 0, 1, 0, 1, 1, 0, 0],
        0.5,
        about=_("The FPR of the threshold 3 is α itself, which is allowed."),
    )
    case(
        [9.0, 2.0, 1.0, 0.0],
        [0, 1, 1, 0],
        0.25,
        about=_("The highest score is a non-member's, so that every threshold lets in too many."),
    )
    case([-1.0, -2.0, -3.0, -4.0], [1, 1, 0, 0], 0.0)
    case(
        [2.0, 2.0, 2.0],
        [1, 0, 1],
        1.0,
        about=_("With α = 1 every threshold is allowed, also one that calls everybody a member."),
    )
    case(
        [1000.0, 3.0, 2.5, 2.0, 1.0, 0.0],
        [1, 1, 0, 0, 1, 0],
        0.0,
        about=_("The scores lie at very unequal distances here."),
    )
    for _case in range(4):
        is_member = trial.rng.permutation(np.arange(14) < 6)
        # eight non-members: a multiple of an eighth is the same float however it is computed
        scores = trial.rng.integers(0, 6, 14) + is_member
        alpha = float(trial.rng.integers(1, 7)) / 8
        case(scores.astype(float), is_member, alpha)


def _tpr_mistakes():
    def best(points, alpha):
        return max((tpr for fpr, tpr in points if fpr <= alpha), default=0.0)

    def points(scores, is_member):
        for threshold in np.unique(scores):
            called = scores >= threshold
            yield called[~is_member].mean(), called[is_member].mean()

    def members_first(scores, is_member, alpha):
        # with the non-members first among equals it would come out right
        return one_after_another(is_member[np.lexsort((~is_member, -scores))], alpha)

    def as_given(scores, is_member, alpha):
        return one_after_another(is_member[np.argsort(-scores, kind="stable")], alpha)

    def one_after_another(ranked, alpha):
        tpr = np.cumsum(ranked) / ranked.sum()
        fpr = np.cumsum(~ranked) / (~ranked).sum()
        return best(zip(fpr, tpr, strict=True), alpha)

    def above(scores, is_member, alpha):
        called = [scores > threshold for threshold in np.unique(scores)]
        return best(((c[~is_member].mean(), c[is_member].mean()) for c in called), alpha)

    def below(scores, is_member, alpha):
        return best(points(-scores, is_member), alpha)

    def strictly(scores, is_member, alpha):
        return max((t for f, t in points(scores, is_member) if f < alpha), default=0.0)

    def interpolated(scores, is_member, alpha):
        return np.interp(alpha, *metrics.roc_curve(scores, is_member))

    def nearest(scores, is_member, alpha):
        return min(points(scores, is_member), key=lambda point: abs(point[0] - alpha))[1]

    def rate_of_others(scores, is_member, alpha):
        return max((f for f, _t in points(scores, is_member) if f <= alpha), default=0.0)

    def share_of_all(scores, is_member, alpha):
        return best(points(scores, is_member), alpha) * is_member.mean()

    def rate_among_all(scores, is_member, alpha):
        return best(
            (
                (f * (~is_member).mean(), t)  # divided by all records, as it should not be
                for f, t in points(scores, is_member)
            ),
            alpha,
        )

    def of_fewer_points(scores, is_member, alpha):
        fpr, tpr, _thresholds = roc_curve(is_member, scores)
        return best(zip(fpr, tpr, strict=True), alpha)

    def by_quantile(scores, is_member, alpha):
        threshold = np.quantile(scores[~is_member], 1 - alpha)
        return (scores[is_member] >= threshold).mean()

    tied = _(
        "Records with the same score are taken one after another. A threshold takes all of them or "
        "none."
    )
    return (
        (members_first, tied),
        (as_given, tied),
        (
            strictly,
            _("An FPR equal to α is not let through: “at most” means <=, not <."),
        ),
        (
            above,
            _("A score equal to the threshold counts as a member's: compare with >=, not with >."),
        ),
        (
            below,
            _("The comparison points the wrong way: a large score speaks for a member."),
        ),
        (
            interpolated,
            _("The curve is interpolated between two thresholds. Take what a threshold reaches."),
        ),
        (
            nearest,
            _("The threshold with the FPR nearest to α is taken, even if its FPR exceeds α."),
        ),
        (
            by_quantile,
            _(
                "The threshold is a quantile of the non-members' scores. Where they are tied, or "
                "the quantile itself is let through, its FPR may exceed α."
            ),
        ),
        (
            of_fewer_points,
            _(
                "scikit-learn's roc_curve leaves out the thresholds on straight stretches of the "
                "curve, unless it is called with drop_intermediate=False."
            ),
        ),
        (
            lambda scores, is_member, alpha: (
                best(points(scores, is_member), alpha) * is_member.sum()
            ),
            _("This is the number of members found. The TPR is their share of all members."),
        ),
        (rate_of_others, _("This is the FPR of the best threshold. Asked is its TPR.")),
        (
            share_of_all,
            _("The members called members are divided by all records. Divide by the members."),
        ),
        (
            rate_among_all,
            _("The FPR is divided by all records. Divide by the non-members only."),
        ),
        (
            lambda scores, is_member, alpha: alpha,
            _("This is α itself, the rate of a score that knows nothing."),
        ),
    )


def _tpr_hints():
    return (
        _("Only the scores themselves matter as thresholds. np.unique lists each of them once."),
        _("Comparing all scores with one threshold gives the guesses, for tied scores all alike."),
        _(
            "The mean of the guesses over the members is the TPR, that over the non-members "
            "(~is_member) the FPR. Keep the largest TPR whose FPR is at most alpha."
        ),
        _("Begin with 0: that is the answer when no threshold is allowed."),
    )


# --- exercise 3 -----------------------------------------------------------------------------------


def check_offline(trial):
    """Compare with the standard library's mean and standard deviation, record by record."""
    trial.value = _lists_as_arrays(trial.value)
    for model, sentence in _offline_mistakes():
        trial.mistake(model, sentence)

    def case(observed, PHI_shadow, IN_shadow, **about):
        expected = []
        for i, phi in enumerate(observed):
            pairs = zip(PHI_shadow[:, i], IN_shadow[:, i], strict=True)
            unseen = [float(value) for value, seen in pairs if not seen]
            expected.append((phi - statistics.mean(unseen)) / statistics.stdev(unseen))
        inputs = {"observed": observed, "PHI_shadow": PHI_shadow, "IN_shadow": IN_shadow}
        # the course's own attack adds a millionth to the standard deviation, as others may
        trial.case(inputs, np.array(expected), rtol=1e-4, atol=1e-6, **about)

    case(
        np.array([4.0, 1.0]),
        np.array([[1.0, 2.0], [3.0, 5.0], [7.0, 4.0], [2.0, 0.0]]),
        np.array([[False, True], [False, False], [True, False], [False, True]]),
    )
    for size, seen_by in (((6, 4), 3), ((9, 5), 4)):
        k, p = size
        IN_shadow = np.array([trial.rng.permutation(k) < seen_by for _record in range(p)]).T
        IN_shadow[0, 0], IN_shadow[1:, 0] = True, False  # one record that a single shadow has seen
        spread = trial.rng.uniform(0.5, 2, p)
        PHI_shadow = trial.rng.normal(trial.rng.normal(size=p), spread, (k, p))
        case(trial.rng.normal(size=p), PHI_shadow, IN_shadow)
    disturbed = np.where(IN_shadow, 1000.0, PHI_shadow)
    case(
        trial.rng.normal(size=p),
        disturbed,
        IN_shadow,
        about=_("The shadows that have seen a record have φ = 1,000 for it here."),
    )


def _offline_mistakes():
    def scores(observed, PHI, chosen, ddof=1):
        kept = np.where(chosen, PHI, np.nan)
        return (observed - np.nanmean(kept, axis=0)) / np.nanstd(kept, axis=0, ddof=ddof)

    def not_divided(observed, PHI, IN):
        return observed - np.nanmean(np.where(IN, np.nan, PHI), axis=0)

    def by_variance(observed, PHI, IN):
        spread = np.nanvar(np.where(IN, np.nan, PHI), axis=0, ddof=1)
        return not_divided(observed, PHI, IN) / spread

    def all_spread(observed, PHI, IN):
        return not_divided(observed, PHI, IN) / PHI.std(axis=0, ddof=1)

    def shared_spread(observed, PHI, IN):
        variances = np.nanvar(np.where(IN, np.nan, PHI), axis=0, ddof=1)
        return not_divided(observed, PHI, IN) / np.sqrt(variances.mean())

    def of_the_mean(observed, PHI, IN):
        return scores(observed, PHI, ~IN) * np.sqrt((~IN).sum(axis=0))

    def of_all_records(observed, PHI, IN):
        return (observed - PHI[~IN].mean()) / PHI[~IN].std(ddof=1)

    def zeros_left(observed, PHI, IN):
        kept = np.where(IN, 0.0, PHI)
        return (observed - kept.mean(axis=0)) / kept.std(axis=0, ddof=1)

    return (
        (
            lambda observed, PHI, IN: scores(observed, PHI, ~IN, ddof=0),
            _(
                "The standard deviation is over n. Asked is n − 1: np.std and np.nanstd take "
                "ddof=1."
            ),
        ),
        (
            lambda observed, PHI, IN: scores(observed, PHI, IN),
            _("The shadows that have seen the record are used. Asked are the others, ~IN_shadow."),
        ),
        (
            lambda observed, PHI, IN: scores(observed, PHI, np.ones_like(IN)),
            _("All shadows are used. Asked are those that have not seen the record."),
        ),
        (
            lambda observed, PHI, IN: -scores(observed, PHI, ~IN),
            _("The sign is the wrong way round: a φ above the mean speaks for a member."),
        ),
        (
            lambda observed, PHI, IN: np.abs(scores(observed, PHI, ~IN)),
            _("The sign is lost. A φ below the mean has a negative score."),
        ),
        (by_variance, _("The difference is divided by the variance. Take its square root.")),
        (not_divided, _("The difference to the mean is not divided by the standard deviation.")),
        (
            all_spread,
            _("The standard deviation is that of all shadows. Asked is that of the same ones."),
        ),
        (
            shared_spread,
            _("All records share one variance here. Asked is each record's own."),
        ),
        (
            of_the_mean,
            _("The difference is divided by the mean's standard error, not by the spread of φ."),
        ),
        (
            of_all_records,
            _(
                "All records share one mean and one standard deviation here: PHI_shadow indexed "
                "by a matrix of True and False is one long vector. Asked is each record's own."
            ),
        ),
        (
            lambda observed, PHI, IN: norm.cdf(scores(observed, PHI, ~IN)),
            _(
                "This is the probability of a smaller φ, as in Carlini et al. (2022). Asked is the "
                "number of standard deviations, from which it is computed."
            ),
        ),
        (
            zeros_left,
            _("The shadows that have seen the record count as φ = 0. They must not count at all."),
        ),
    )


def _offline_hints():
    return (
        _("A column of PHI_shadow is one record. ~IN_shadow says which shadows have not seen it."),
        _(
            "A loop over the records will do: PHI_shadow[~IN_shadow[:, i], i] are the values you "
            "need for record i."
        ),
        _(
            "Without a loop: put NaN where IN_shadow is True, and use np.nanmean and np.nanstd "
            "with axis=0."
        ),
        _("The standard deviation over n − 1 is asked for: ddof=1."),
    )


# --- exercise 4 -----------------------------------------------------------------------------------

_SHUFFLES = 500
# Up to 0.022 is the standard error of a share of that many shuffles.
_MARGIN = 0.09


def check_advantage(trial):
    """Compare with SciPy's one-sided statistic, and with all ways of dealing out the values."""
    for model, sentence in _advantage_mistakes():
        trial.mistake(model, sentence)

    def case(phi_in, phi_out, share=None, n_shuffles=_SHUFFLES, **options):
        phi_in, phi_out = np.array(phi_in, dtype=float), np.array(phi_out, dtype=float)
        rng = np.random.default_rng(int(trial.rng.integers(1_000)))
        inputs = {"phi_in": phi_in, "phi_out": phi_out, "rng": rng, "n_shuffles": n_shuffles}
        if share is None:
            share = Near(_share_of_deals(_smirnov, phi_in, phi_out), _MARGIN)
        trial.case(inputs, (_smirnov(phi_in, phi_out), share), **options)
        return inputs

    # The numbers of values are powers of two: then every rate is a float without rounding, and
    # equal advantages are equal in whatever way they are computed.
    replaced = _("The values are drawn with replacement. A shuffle uses each of them once.")
    case([1.0], [0.0], mistakes=[((1.0, Near(0.25, _MARGIN)), replaced)])
    case([2.0, 3.0, 5.0, 7.0], [0.0, 1.0, 4.0, 6.0])
    case(
        [0.0, 1.0],
        [2.0, 3.0, 4.0, 5.0],
        share=1.0,
        about=_(
            "Here φ is smaller with the record: no threshold does better than calling all or "
            "nobody. So the advantage is 0, which every shuffle reaches."
        ),
    )
    case(
        [1.0, 1.0, 1.0, 1.0],
        [1.0, 1.0],
        share=1.0,
        about=_("All values are equal, so every shuffle has the advantage 0, as the record has."),
    )
    case(
        np.arange(16.0) + 50,
        np.arange(32.0),
        share=0.0,
        n_shuffles=50,
        about=_("Of all ways to deal these 48 values out, a single one separates them like this."),
    )
    case([0.0, 5.0], [1.0, 2.0, 3.0, 4.0])
    for _case in range(2):
        inputs = case(trial.rng.integers(2, 7, 4), trial.rng.integers(0, 6, 4))
    if not trial.failed:
        _check_shuffles(trial, inputs)


def _smirnov(phi_in, phi_out):
    """The largest TPR − FPR: Smirnov's one-sided statistic, by SciPy."""
    return float(ks_2samp(phi_in, phi_out, alternative="less", method="asymp").statistic)


def _share_of_deals(measure, phi_in, phi_out, larger=False):
    """The share of all ways to deal the values out whose measure is at least as large.

    Where ``larger`` is true, only those count whose measure is truly larger.
    """
    values = np.append(phi_in, phi_out)
    bound = measure(phi_in, phi_out) + (1e-12 if larger else -1e-12)
    dealt = _ways_to_deal(values.size, len(phi_in))
    return float(np.mean([measure(values[own], values[~own]) > bound for own in dealt]))


@functools.cache
def _ways_to_deal(n_values, n_in):
    """All the ways to choose, as a ways × values bool array; a few of them where there are many."""
    if n_values > 12:
        rng = np.random.default_rng(0)
        return np.array([rng.permutation(n_values) < n_in for _way in range(100)])
    ways = itertools.combinations(range(n_values), n_in)
    return np.array([np.isin(np.arange(n_values), chosen) for chosen in ways])


def _check_shuffles(trial, inputs):
    """See that the share is one of n_shuffles, and that it is drawn from rng."""

    def few(seed):
        return inputs | {"rng": np.random.default_rng(seed), "n_shuffles": 40}

    shares, again = ([float(trial.call(few(seed))[1]) for seed in range(5)] for _time in range(2))
    trial.require(
        all(abs(40 * share - round(40 * share)) < 1e-6 for share in shares),
        _(
            "With 40 shuffles the share is a whole number of fortieths, and yours is not. Is "
            "n_shuffles passed on, and are the shuffles counted and nothing else?"
        ),
        few(0),
    )
    trial.require(
        len(set(shares)) > 1,
        _("Five generators in different states give the same share: shuffle with rng."),
        few(0),
    )
    trial.require(
        again == shares,  # one of them alone may well agree by chance
        _(
            "Two generators in the same state give different shares: the shuffles come from "
            "elsewhere. Use rng for all of them."
        ),
        few(0),
    )


def _advantage_mistakes():
    def told_apart(phi_in, phi_out, own, share):
        """What a mistake gives, with the margin of a share of shuffles.

        Raises
        ------
        ValueError
            If the right answer is within that margin, so that there is nothing to be told.
        """
        right = _smirnov(phi_in, phi_out), _share_of_deals(_smirnov, phi_in, phi_out)
        if max(abs(own - right[0]), abs(share - right[1]) - _MARGIN) < 1e-9:
            raise ValueError("this mistake cannot be told from the right answer here")
        return own, Near(share, _MARGIN)

    def judged(measure, larger=False):
        """A mistake in the measure or in the count, over all ways to deal the values out."""

        def model(phi_in, phi_out, _rng, _n_shuffles):
            share = _share_of_deals(measure, phi_in, phi_out, larger)
            return told_apart(phi_in, phi_out, measure(phi_in, phi_out), share)

        return model

    def gaps(phi_in, phi_out):
        thresholds = np.append(phi_in, phi_out)[:, None]
        return (phi_in >= thresholds).mean(axis=1) - (phi_out >= thresholds).mean(axis=1)

    def advantage(phi_in, phi_out):
        return max(0.0, gaps(phi_in, phi_out).max())

    def smaller(phi_in, phi_out, _rng, _n_shuffles):
        share = 1 - _share_of_deals(advantage, phi_in, phi_out)
        return told_apart(phi_in, phi_out, advantage(phi_in, phi_out), share)

    def in_halves(phi_in, phi_out, _rng, _n_shuffles):
        values, own = np.append(phi_in, phi_out), advantage(phi_in, phi_out)
        dealt = _ways_to_deal(values.size, values.size // 2)
        reached = [advantage(values[first], values[~first]) > own - 1e-12 for first in dealt]
        return told_apart(phi_in, phi_out, own, float(np.mean(reached)))

    def number(phi_in, phi_out, _rng, n_shuffles):
        share = _share_of_deals(advantage, phi_in, phi_out)
        return advantage(phi_in, phi_out), Near(n_shuffles * share, n_shuffles * _MARGIN)

    def one_more(phi_in, phi_out, _rng, n_shuffles):
        share = _share_of_deals(advantage, phi_in, phi_out)
        return advantage(phi_in, phi_out), (share * n_shuffles + 1) / (n_shuffles + 1)

    return (
        (
            judged(advantage, larger=True),
            _("Shuffles with the same advantage are not counted: “at least as large” means >=."),
        ),
        (
            smaller,
            _("This is the share of the shuffles with a smaller advantage. Asked is the rest."),
        ),
        (
            one_more,
            _(
                "The record's own advantage is counted as one more shuffle. That is good practice "
                "in a test. Asked here is the plain share of the shuffles."
            ),
        ),
        (number, _("This is the number of the shuffles. Asked is their share of n_shuffles.")),
        (
            in_halves,
            _(
                "Each shuffle is cut in the middle. As many values as phi_in has belong to the "
                "first group."
            ),
        ),
        (
            judged(lambda a, b: np.abs(gaps(a, b)).max()),
            _(
                "The largest difference of either sign is taken. Asked is the largest TPR − FPR, "
                "and at least 0: a threshold calls a large φ a member."
            ),
        ),
        (
            judged(lambda a, b: advantage(b, a)),
            _("The two sides are swapped: the models with the record give the TPR."),
        ),
        (
            judged(lambda a, b: (1 + advantage(a, b)) / 2),
            _("This is the balanced accuracy, (1 + advantage) / 2."),
        ),
        (
            judged(lambda a, b: a.mean() - b.mean()),
            _("This is the difference of the two means. Asked is the largest TPR − FPR."),
        ),
        (
            judged(lambda a, b: (a[:, None] > b).mean() + (a[:, None] == b).mean() / 2),
            _("This is the AUC. Asked is the largest TPR − FPR of a threshold."),
        ),
    )


def _advantage_hints():
    return (
        _("Put all values together. Only they matter as thresholds."),
        _(
            "For one threshold t: (phi_in >= t).mean() is the TPR, (phi_out >= t).mean() the FPR. "
            "The advantage is the largest difference, and at least 0."
        ),
        _(
            "A shuffle deals the same values out anew: rng.permutation(values), of which the first "
            "len(phi_in) play the models with the record."
        ),
        _("Count the shuffles whose advantage is >= the measured one, and divide by n_shuffles."),
    )


# --- exercise 5 -----------------------------------------------------------------------------------

# What came out for 200 worlds of 100 records: 0.080 to 0.161; for 60 worlds of 200: 0.069 to 0.111.
_SMALL, _LARGER = 100, 200
_EXPECTED_TPR = {_SMALL: (0.07, 0.175), _LARGER: (0.06, 0.125)}


def check_small_pool(trial):
    """Measure what online LiRA finds in a small pool, and in one twice as large."""
    small = trial.call({"pool": _SMALL})
    larger = trial.call({"pool": _LARGER})
    trial.in_range(
        _("The TPR at 1% FPR for a pool of 100"),
        small,
        *_EXPECTED_TPR[_SMALL],
        _reason_for_small_pool(small),
    )
    trial.in_range(
        _("The TPR at 1% FPR for a pool of 200"),
        larger,
        *_EXPECTED_TPR[_LARGER],
        _("A pool of 400 gives about 0.056 and one of 100 about 0.12. Is pool used throughout?"),
    )
    if trial.failed:
        return
    trial.require(
        small != larger,
        _("Pools of 100 and of 200 records give the same rate: is it measured on each?"),
        {"pool": _LARGER},
    )


def _reason_for_small_pool(measured):
    """What a rate outside of the range probably is."""
    if not isinstance(measured, float | np.floating):
        return ""
    if 0.04 <= measured < 0.07:
        return _(
            "This is about what a pool of 400 gives. Are there pool records, with pool // 2 "
            "members in each model?"
        )
    if measured < 0.04:
        return _("Is it online LiRA, with all features and the lab's λ? Chance is 0.01.")
    if 0.6 < measured < 0.85:
        return _("This looks like the AUC. Asked is the TPR at 1% FPR.")
    return _(
        "From world to world it varies by about 0.015. With fewer models, other features or "
        "another λ than the lab's it may lie outside."
    )


def _small_pool_hints():
    return (
        _("credit.make_credit(pool, np.random.default_rng(WORLD_SEED)) draws a small world."),
        _(
            "population.train_population takes features(...), the labels, N_MODELS, pool // 2, LAM "
            "and a generator, and returns three arrays, as in section 3."
        ),
        _(
            'attacks.lira_scores_all gives the scores, and metrics.attack_metrics(...)["tpr_1"] '
            "the TPR at 1% FPR."
        ),
    )


EXERCISES = {
    1: Exercise(name="logit_and_loss", check=check_logit, hints=_logit_hints),
    2: Exercise(name="tpr_with_ties", check=check_tpr, hints=_tpr_hints),
    3: Exercise(name="offline_lira", check=check_offline, hints=_offline_hints),
    4: Exercise(name="advantage_and_null", check=check_advantage, hints=_advantage_hints),
    5: Exercise(name="tpr_of_pool", check=check_small_pool, hints=_small_pool_hints),
}
