"""How well a membership score tells members from non-members, and how sure we can be of it.

A score is larger for records that look more like members. ``is_member`` is a bool array of the same
shape; arrays of any shape are accepted and read as one long list. Counts and rates are float64.
Records with the same score are never separated: a threshold takes all of them or none.
"""

import copy
import math

import numpy as np

from course_lib.language import _, padded

METRICS = ("auc", "bal_acc", "tpr_1", "tpr_01")
"""The names of the summary figures, in the order in which tables show them."""

_LOW_FPR = {"tpr_1": 0.01, "tpr_01": 0.001}
_SLACK = 1 + 1e-12  # a rate that equals alpha but for its last bit is not above alpha
_CHUNK_CELLS = 8_000  # of a work array: from 128 KiB on, fresh memory costs more than the sums do


def roc_curve(scores, is_member):
    """Return the points of the ROC curve, one for each distinct score.

    Args:
        scores: array of numbers, larger for members; infinities are allowed, NaN is not.
        is_member: bool array of the same shape.

    Returns:
        ``(fpr, tpr)``: float64 arrays that start at 0 and end at 1. Point ``k`` accepts every
        record whose score is at least the ``k``-th largest distinct score.

    Raises:
        TypeError: if ``is_member`` is not bool.
        ValueError: if the shapes differ, a score is NaN, or members or non-members are missing.
    """
    scores, is_member = _checked(scores, is_member)
    order = np.argsort(-scores, kind="stable")
    ranked, member = scores[order], is_member[order]
    last_of_tie = np.append(ranked[1:] != ranked[:-1], True)
    return _curve(np.cumsum(member)[last_of_tie], np.cumsum(~member)[last_of_tie])


def tpr_at_fpr(fpr, tpr, alpha):
    """Return the largest TPR among the curve's points with FPR at most ``alpha``.

    Nothing is interpolated between points: the value is one that a threshold really reaches.

    Args:
        fpr, tpr: a curve as ``roc_curve`` gives it, both rising from 0 to 1.
        alpha: number or array between 0 and 1.

    Returns:
        float, or a float64 array of the shape of ``alpha``.

    Raises:
        ValueError: if ``alpha`` is not between 0 and 1.
    """
    _check_rate(alpha)
    last = np.searchsorted(fpr, np.asarray(alpha) * _SLACK, side="right") - 1
    found = np.asarray(tpr, dtype=np.float64)[last]
    return float(found) if np.ndim(alpha) == 0 else found


def auc(fpr, tpr):
    """Return the area under the ROC curve, the chance that a member outscores a non-member.

    A tie between the two counts one half.
    """
    return float(np.trapezoid(tpr, fpr))


def gini(fpr, tpr):
    """Return the Gini coefficient 2 AUC − 1, which some texts call the advantage."""
    return 2 * auc(fpr, tpr) - 1


def advantage(fpr, tpr):
    """Return the membership advantage, the largest TPR − FPR of any threshold.

    Source: Yeom, Giacomelli, Fredrikson and Jha (2018), Definition 4.
    """
    return float(np.max(np.asarray(tpr) - np.asarray(fpr)))


def best_balanced_accuracy(fpr, tpr):
    """Return the mean of TPR and TNR at the best threshold, (1 + advantage) / 2.

    The threshold is the best one for these very records, so the value is above one half even for
    scores that know nothing: read it beside ``noise_floor``.
    """
    return (1 + advantage(fpr, tpr)) / 2


def attack_metrics(scores, is_member):
    """Return the figures that the labs report for an attack.

    Returns:
        A dict with ``auc``, ``bal_acc`` (best balanced accuracy), ``tpr_1`` and ``tpr_01`` (TPR at
        an FPR of at most 1% and 0.1%), and the curve itself as ``fpr`` and ``tpr``.

    Raises:
        TypeError, ValueError: as ``roc_curve``.
    """
    fpr, tpr = roc_curve(scores, is_member)
    return _summary(fpr, tpr) | {"fpr": fpr, "tpr": tpr}


def bootstrap_intervals(scores, is_member, rng, reps=1000, level=0.95):
    """Return percentile bootstrap intervals for the figures of ``attack_metrics``.

    Members and non-members are resampled separately, so that their numbers stay as they are. The
    intervals say how much the figures depend on which records were drawn; they do not cover the
    training of another target model.

    Args:
        scores, is_member: as for ``roc_curve``.
        rng: numpy Generator. Two generators are spawned from it, one for each kind of record.
        reps: number of resamples.
        level: probability between the two percentiles.

    Returns:
        A dict from each name in ``METRICS`` to ``(low, high)``.

    Raises:
        TypeError, ValueError: as ``roc_curve``; also for a ``level`` outside (0, 1).
    """
    ranking = _Ranking(*_checked(scores, is_member))
    return _intervals(ranking, _resamples(ranking, rng, reps, level), level)


def bootstrap_band(scores, is_member, rng, fpr_grid, reps=1000, level=0.95):
    """Return the interval of the TPR at each of several FPRs, to be drawn around a ROC curve.

    The resamples are those of ``bootstrap_intervals`` for the same generator state. The intervals
    hold point by point, not for the whole curve at once.

    Args:
        scores, is_member, rng, reps, level: as for ``bootstrap_intervals``.
        fpr_grid: G numbers between 0 and 1.

    Returns:
        ``(low, high)``, each of length G.

    Raises:
        TypeError, ValueError: as ``bootstrap_intervals``, and for an FPR outside 0 to 1.
    """
    _check_rate(fpr_grid)
    ranking = _Ranking(*_checked(scores, is_member))
    grid = np.asarray(fpr_grid, dtype=np.float64)
    tpr = np.concatenate(
        [
            ranking.weighted_tpr(_cumulative(members), _cumulative(others), grid)
            for members, others in _resamples(ranking, rng, reps, level)
        ]
    )
    low, high = np.quantile(tpr, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def pair_intervals(scores, IN, rng, reps=1000, level=0.95):
    """Return bootstrap intervals for scores of M models on P records, resampling both.

    The M × P pairs share models and records, so they are not M × P independent observations. Each
    resample draws M models and P records with replacement and weights a pair by how often its model
    and its record were drawn. The scores themselves stay fixed: scoring again on resampled models
    would put a target among its own shadows. Resamples in which members or non-members are missing
    (possible for very few models and records) are left out.

    Args:
        scores: M × P array.
        IN: M × P bool array, the membership of record p in the training set of model m.
        rng, reps, level: as for ``bootstrap_intervals``.

    Returns:
        A dict from each name in ``METRICS`` to ``(low, high)``, for all pairs pooled.

    Raises:
        TypeError, ValueError: as ``roc_curve``; also if ``scores`` is not two-dimensional.
    """
    values = _pair_values(scores, IN, *rng.spawn(2), reps, level)
    return _percentiles(values, level)


def pair_difference_intervals(first, second, IN, rng, reps=1000, level=0.95):
    """Return bootstrap intervals for how far one attack's figures lie above another's.

    Both are measured on the same resamples of models and records, as pair_intervals draws them.
    What the two attacks share cancels: their own intervals may overlap where that of the
    difference does not contain zero.

    Args:
        first, second: M × P arrays, the scores of the two attacks.
        IN, rng, reps, level: as for ``pair_intervals``.

    Returns:
        A dict from each name in ``METRICS`` to ``(low, high)`` of the difference, first − second.

    Raises:
        TypeError, ValueError: as ``pair_intervals``.
    """
    seeds = rng.spawn(2)
    found, other = (
        _pair_values(scores, IN, *copy.deepcopy(seeds), reps, level) for scores in (first, second)
    )
    return _percentiles({name: found[name] - other[name] for name in METRICS}, level)


def chance_tpr(alpha, n_nonmembers):
    """Return the expected TPR at FPR ≤ ``alpha`` of a score that knows nothing.

    It is (⌊α n₀⌋ + 1) / (n₀ + 1), a little above α: among n₀ non-members and one member in random
    order, the member passes when at most ⌊α n₀⌋ non-members stand before it.

    Raises:
        ValueError: if ``alpha`` is not between 0 and 1, or there is no non-member.
    """
    _check_rate(alpha)
    if n_nonmembers < 1:
        raise ValueError(f"n_nonmembers is {n_nonmembers}: at least one non-member is needed")
    return (math.floor(alpha * n_nonmembers * _SLACK) + 1) / (n_nonmembers + 1)


def noise_floor(is_member, rng, reps=200):
    """Return what the figures of ``attack_metrics`` look like for scores that know nothing.

    Args:
        is_member: bool array.
        rng: numpy Generator that draws the random scores.
        reps: number of random scores.

    Returns:
        A dict from each name in ``METRICS`` to ``(mean, 95% quantile)`` over the random scores.

    Raises:
        TypeError: if ``is_member`` is not bool.
        ValueError: if members or non-members are missing.
    """
    member = _checked(np.zeros(np.shape(is_member)), is_member)[1]
    values = {name: [] for name in METRICS}
    for _rep in range(reps):
        ranked = rng.permutation(member)  # random scores put the records in a random order
        found = _summary(*_curve(np.cumsum(ranked), np.cumsum(~ranked)))
        for name, collected in values.items():
            collected.append(found[name])
    return {
        name: (float(np.mean(collected)), float(np.quantile(collected, 0.95)))
        for name, collected in values.items()
    }


def metrics_header():
    """Return the heading of a plain-text table of attacks; ``metrics_row`` gives its lines."""
    columns = (_("AUC"), _("bal. acc."), _("TPR at 1%"), _("TPR at 0.1%"))
    return padded(_("attack"), 28) + "".join(padded(column, 14, right=True) for column in columns)


def metrics_row(name, metrics):
    """Return one line of the table: a name and the four figures of ``attack_metrics``.

    AUC and balanced accuracy have three digits, the TPRs four: at 0.1% FPR the third digit is
    often the first that counts.
    """
    return (
        f"{padded(name, 28)}{metrics['auc']:>14.3f}{metrics['bal_acc']:>14.3f}"
        f"{metrics['tpr_1']:>14.4f}{metrics['tpr_01']:>14.4f}"
    )


class _Ranking:
    """Members and non-members, each from the largest score down, and how they interleave.

    ``members`` and ``others`` are positions in the flat score array. ``above[j]`` members score
    more than the j-th non-member and ``at_least[j]`` score at least as much.
    """

    def __init__(self, scores, is_member):
        order = np.argsort(-scores, kind="stable")
        self.members = order[is_member[order]]
        self.others = order[~is_member[order]]
        # from here on smaller is better, as searchsorted wants rising values
        members, others = -scores[self.members], -scores[self.others]
        self.above = np.searchsorted(members, others, side="left")
        self.at_least = np.searchsorted(members, others, side="right")
        self.tied = bool(np.any(self.above != self.at_least))
        self.n_members, self.n_others = len(members), len(others)

    def weighted_tpr(self, member_total, other_total, alphas):
        """Return the TPR at FPR ≤ each alpha, resample × alpha, from cumulated weights.

        The threshold lies just above the first non-member that would be one too many.
        """
        n_members, n_others = member_total[:, -1:], other_total[:, -1:]
        limits = alphas * _SLACK * n_others
        one_too_many = [
            np.searchsorted(row[1:], limit, side="right")
            for row, limit in zip(other_total, limits, strict=True)
        ]
        above_or_all = np.append(self.above, self.n_members)[np.array(one_too_many)]
        return np.take_along_axis(member_total, above_or_all, axis=1) / n_members

    def weighted_metrics(self, member_weights, other_weights):
        """Return the figures for weighted records; weights are resample × rank, whole numbers.

        Between two neighbouring non-members a threshold loses nothing by taking every member there
        is; so it is enough to look at the thresholds just above a non-member.
        """
        member_total = _cumulative(member_weights)
        other_total = _cumulative(other_weights)
        n_members, n_others = member_total[:, -1], other_total[:, -1]

        higher = member_total[:, self.above]  # member weight above each non-member
        concordant = np.einsum("rj,rj->r", other_weights, higher)
        if self.tied:
            level = member_total[:, self.at_least]
            concordant = (concordant + np.einsum("rj,rj->r", other_weights, level)) / 2
        found = {}
        with np.errstate(invalid="ignore"):  # a resample of one class: NaN, left out later
            found["auc"] = concordant / (n_members * n_others)
            low = self.weighted_tpr(member_total, other_total, np.array(list(_LOW_FPR.values())))
            found.update(zip(_LOW_FPR, low.T, strict=True))
            # among tied non-members the first counts most, so that ties need no care here
            difference = higher * n_others[:, None] - other_total[:, :-1] * n_members[:, None]
            best = np.maximum(difference.max(axis=1), 0) / (n_members * n_others)
            found["bal_acc"] = (1 + best) / 2
        return found


def _curve(tp, fp):
    return np.append(0.0, fp / fp[-1]), np.append(0.0, tp / tp[-1])


def _summary(fpr, tpr):
    return {
        "auc": auc(fpr, tpr),
        "bal_acc": best_balanced_accuracy(fpr, tpr),
        **{name: tpr_at_fpr(fpr, tpr, alpha) for name, alpha in _LOW_FPR.items()},
    }


def _chunks(ranking, reps, level):
    """Yield how many resamples to work on together, until there are ``reps`` of them."""
    if not 0 < level < 1:
        raise ValueError(f"level is {level}: expected a number between 0 and 1, such as 0.95")
    if reps < 1:
        raise ValueError(f"reps is {reps}: at least one resample is needed")
    together = max(1, _CHUNK_CELLS // max(ranking.n_members, ranking.n_others))
    for start in range(0, reps, together):
        yield min(together, reps - start)


def _resamples(ranking, rng, reps, level):
    """Yield chunks of resamples as (member weights, non-member weights), resample × rank."""
    member_rng, other_rng = rng.spawn(2)
    for count in _chunks(ranking, reps, level):
        yield (
            _resample_counts(ranking.n_members, count, member_rng),
            _resample_counts(ranking.n_others, count, other_rng),
        )


def _pair_values(scores, IN, model_rng, record_rng, reps, level):
    """Return each figure on every resample of models and records: a dict of arrays."""
    scores = np.asarray(scores)
    if scores.ndim != 2:
        raise ValueError(
            f"scores has shape {scores.shape}: expected one row a model, one column a record"
        )
    n_models, n_records = scores.shape
    ranking = _Ranking(*_checked(scores, IN))
    pair_parts = [np.divmod(pairs, n_records) for pairs in (ranking.members, ranking.others)]

    def weights():
        for count in _chunks(ranking, reps, level):
            of_model = _resample_counts(n_models, count, model_rng)
            of_record = _resample_counts(n_records, count, record_rng)
            yield [of_model[:, model] * of_record[:, record] for model, record in pair_parts]

    return _resampled(ranking, weights())


def _intervals(ranking, resamples, level):
    return _percentiles(_resampled(ranking, resamples), level)


def _resampled(ranking, resamples):
    values = {name: [] for name in METRICS}
    for weights in resamples:
        found = ranking.weighted_metrics(*weights)
        for name, collected in values.items():
            collected.append(found[name])
    return {name: np.concatenate(collected) for name, collected in values.items()}


def _percentiles(values, level):
    tail = (1 - level) / 2
    intervals = {}
    for name, collected in values.items():
        low, high = np.nanquantile(collected, [tail, 1 - tail])
        intervals[name] = (float(low), float(high))
    return intervals


def _resample_counts(n, reps, rng):
    """Return how often each of n things is drawn in n draws, as a reps × n array."""
    cells = rng.integers(n, size=(reps, n))
    cells += np.arange(reps)[:, None] * n
    return np.bincount(cells.ravel(), minlength=n * reps).reshape(reps, n)


def _cumulative(weights):
    total = np.zeros((len(weights), weights.shape[1] + 1), dtype=np.int64)
    np.cumsum(weights, axis=1, out=total[:, 1:])
    return total


def _checked(scores, is_member):
    scores, is_member = np.asarray(scores), np.asarray(is_member)
    if is_member.dtype != bool:
        raise TypeError(
            f"is_member holds {is_member.dtype} values: expected bool (for 0/1 labels, labels == 1)"
        )
    if scores.shape != is_member.shape:
        raise ValueError(
            f"scores has shape {scores.shape}, is_member has shape {is_member.shape}: "
            "expected one label for each score"
        )
    scores, is_member = scores.astype(np.float64).ravel(), is_member.ravel()
    n_nan = int(np.isnan(scores).sum())
    if n_nan:
        raise ValueError(
            f"{n_nan} of {scores.size} scores are NaN (the first at position "
            f"{int(np.argmax(np.isnan(scores)))}): look for a model that diverged"
        )
    n_members = int(is_member.sum())
    if n_members == 0 or n_members == is_member.size:
        missing = "members" if n_members == 0 else "non-members"
        raise ValueError(
            f"is_member marks {n_members} of {is_member.size} records as members: "
            f"an attack cannot be judged without {missing}"
        )
    return scores, is_member


def _check_rate(alpha):
    if not np.all((np.asarray(alpha) >= 0) & (np.asarray(alpha) <= 1)):
        raise ValueError(f"alpha is {alpha}: expected a false positive rate between 0 and 1")
