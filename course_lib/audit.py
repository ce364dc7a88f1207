"""What privacy promises about every attack, and what a measured attack proves about privacy.

(ε, δ)-differential privacy caps the TPR of any attack at any FPR; read backwards, an attack that
does well proves that ε is at least so large. Membership here is decided by a coin for each record,
in or out, so that ε under add/remove is the one that belongs here.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np

from course_lib.accounting import epsilon as accounted_epsilon
from course_lib.accounting import privacy_profile

_CURVE_POINTS = 4001
_SMALLEST_DELTA = 1e-12
_EXP_LIMIT = 700.0  # e^700 is still a float

# --- ceilings: from privacy to attacks -----------------------------------------------------------


def tpr_ceiling(fpr, epsilon, delta):
    """Return min(1, e^ε · FPR + δ), the most that (ε, δ)-privacy lets an attack's TPR be.

    It is what the definition says of the event "the attack answers member". At a large ε it is 1
    from a small FPR on, and says nothing.

    Args:
        fpr: number or array between 0 and 1.
        epsilon: from 0 up; infinity is allowed.
        delta: from 0 to 1.

    Returns:
        float64 array of the shape of ``fpr`` (a float for a number).

    Raises:
        ValueError: for an argument out of its range.
    Source: Kairouz, Oh and Viswanath (2015), theorem 2.1.
    """
    fpr = _checked_fpr(fpr)
    _check_privacy(epsilon, delta)
    return _plain(np.minimum(1.0, np.exp(min(epsilon, _EXP_LIMIT)) * fpr + delta))


def two_sided_tpr_ceiling(fpr, epsilon, delta):
    """Return the sharper ceiling min(e^ε · FPR + δ, 1 − e^−ε (1 − δ − FPR)).

    The second term is what the definition says of "the attack answers non-member" with the roles of
    the two datasets exchanged; it is the smaller one at a large FPR, and below 1 at every FPR below
    1 − δ.

    Args, returns, raises, source: as ``tpr_ceiling``.
    """
    fpr = _checked_fpr(fpr)
    _check_privacy(epsilon, delta)
    other_side = 1 - np.exp(-epsilon) * np.maximum(0, 1 - delta - fpr)
    return _plain(np.minimum(tpr_ceiling(fpr, epsilon, delta), other_side))


def tradeoff_tpr(fpr, noise_multiplier, sampling_rate, steps):
    """Return the mechanism's own ceiling: the most TPR that any attack on DP-SGD can have.

    One (ε, δ) is one point of the mechanism's privacy profile. This is the smallest
    ``two_sided_tpr_ceiling`` over the whole profile (ε, δ(ε)), ε ≥ 0: the trade-off curve between
    false positives and true positives, under add/remove. It says something at every noise.

    It stays a ceiling in spite of its numerics: δ(ε) comes from ``privacy_profile``, which rounds
    up, and the minimum runs over 4,001 ε only, from 0 to where δ(ε) is 1e-12. Both terms use the
    same δ(ε), the larger one of adding and removing a record: that costs nothing at a low FPR, and
    at a high one only where few steps are sampled.

    Args:
        fpr: number or array between 0 and 1.
        noise_multiplier, sampling_rate, steps: as for ``accounting.epsilon``.

    Returns:
        float64 array of the shape of ``fpr`` (a float for a number).

    Raises:
        ValueError: for an argument out of its range.
    Source: Dong, Roth and Su (2022), section 2.3, for the curve as an envelope.
    """
    fpr = _checked_fpr(fpr)
    epsilons, deltas = _profile(noise_multiplier, sampling_rate, steps)
    up, down = np.exp(np.minimum(epsilons, _EXP_LIMIT)), np.exp(-epsilons)
    ceiling = [
        min(np.min(up * rate + deltas), np.min(1 - down * np.maximum(0, 1 - deltas - rate)))
        for rate in fpr.ravel()
    ]
    return _plain(np.minimum(1.0, ceiling).reshape(fpr.shape))


@functools.lru_cache(maxsize=16)  # a lab asks for single points and for the curve
def _profile(noise_multiplier, sampling_rate, steps):
    largest = accounted_epsilon(noise_multiplier, sampling_rate, steps, _SMALLEST_DELTA, "pld")
    if math.isinf(largest):  # without noise
        return np.zeros(1), np.ones(1)
    epsilons = np.linspace(0, largest, _CURVE_POINTS)
    return epsilons, privacy_profile(epsilons, noise_multiplier, sampling_rate, steps)


# --- audits: from attacks to privacy -------------------------------------------------------------


def clopper_pearson_epsilon(
    true_positives, n_members, false_positives, n_nonmembers, delta=0.0, confidence=0.95
):
    """Return the ε that an attack's error rates prove, for trials that are independent.

    TPR and FPR are replaced by their exact one-sided limits, each at 1 − (1 − confidence)/2, and
    put into both terms of the two-sided ceiling. The trials must be independent given membership:
    one canary in many training runs. For many records of one run use ``one_run_epsilon``. The
    guessing rule must have been chosen on other trials.

    Args:
        true_positives, n_members: how many of the members were called members.
        false_positives, n_nonmembers: how many of the non-members were.
        delta: δ of the privacy that is tested.
        confidence: probability with which the statement holds.

    Returns:
        float from 0 up: with this confidence the mechanism is not (ε′, δ)-private for any smaller
        ε′.

    Raises:
        ValueError: for an argument out of its range.
    Source: Jagielski, Ullman and Oprea (2020), section 4; Clopper and Pearson (1934).
    """
    from scipy.stats import beta

    _check_count("true_positives", true_positives, n_members)
    _check_count("false_positives", false_positives, n_nonmembers)
    _check_privacy(0.0, delta)
    tail = _tail(confidence) / 2
    hits, misses = true_positives, n_members - true_positives
    false, correct = false_positives, n_nonmembers - false_positives
    tpr = float(beta.ppf(tail, hits, misses + 1)) if hits else 0.0
    fpr = float(beta.ppf(1 - tail, false + 1, correct)) if correct else 1.0
    proved = [0.0]
    if tpr > delta:
        proved.append(math.log((tpr - delta) / fpr))
    if 1 - fpr > delta:
        proved.append(math.log((1 - fpr - delta) / (1 - tpr)))
    return max(proved)


def one_run_p_value(correct, guesses, epsilon, delta=0.0, n_records=None):
    """Return a bound on the chance of so many right guesses under (ε, δ)-privacy, in one run.

    Each of ``n_records`` records was in or out by an independent fair coin, and for ``guesses`` of
    them the attacker, who may abstain from the others, said which. For δ = 0 the number of right
    guesses is stochastically at most a binomial B with success e^ε/(1 + e^ε), although the guesses
    all come from one model. δ adds 2 n δ max_i P[correct − i ≤ B < correct]/i, i from 1 to correct.

    Args:
        correct, guesses: how many guesses were right, of how many.
        epsilon, delta: the privacy that is tested.
        n_records: how many coins were thrown, abstentions included; needed when ``delta`` is not 0.

    Returns:
        float from 0 to 1.

    Raises:
        ValueError: for an argument out of its range.
    Source: Steinke, Nasr and Jagielski (2023), theorem 5.2.
    """
    n_records = _checked_guesses(correct, guesses, delta, n_records)
    _check_privacy(epsilon, delta)
    return float(_one_run_p_values(correct, guesses, np.array([epsilon]), delta, n_records)[0])


def one_run_epsilon(correct, guesses, delta=0.0, n_records=None, confidence=0.95):
    """Return the ε that the right guesses about one training run prove.

    Args:
        correct, guesses, delta, n_records: as for ``one_run_p_value``.
        confidence: probability with which the statement holds.

    Returns:
        float from 0 up: the largest ε that the guesses reject, so that with this confidence the run
        was not (ε′, δ)-private for any smaller ε′. Even if every guess is right it grows only like
        the logarithm of their number: 6.5 for 2,000.

    Raises:
        ValueError: for an argument out of its range.
    Source: Steinke, Nasr and Jagielski (2023), theorem 5.2.
    """
    n_records = _checked_guesses(correct, guesses, delta, n_records)
    _check_privacy(0.0, delta)
    tail = _tail(confidence)
    rate = float(_smallest_rate(correct, guesses, tail))
    if rate <= 0.5:
        return 0.0
    largest = math.log(rate / (1 - rate))  # the answer for δ = 0, and δ only takes away from it
    if delta == 0:
        return largest

    def rejected(epsilons):
        return _one_run_p_values(correct, guesses, epsilons, delta, n_records) <= tail

    low, high = 0.0, largest
    for _round in range(4):  # each of them cuts the interval into 64
        grid = np.linspace(low, high, 65)
        inside = np.flatnonzero(rejected(grid))
        if inside.size == 0:
            return low
        last = int(inside[-1])
        if last == 64:
            return high
        low, high = float(grid[last]), float(grid[last + 1])
    return low


@dataclass(frozen=True)
class OneRunAudit:
    """What ``audit_scores`` found.

    Attributes:
        epsilon: the ε that is proved, from 0 up.
        correct, guesses, records: right guesses, guesses, and records of the half that was counted.
        member_threshold: records with at least this score were called members; None for nobody.
        nonmember_threshold: records with at most this score were called non-members; None likewise.
    """

    epsilon: float
    correct: int
    guesses: int
    records: int
    member_threshold: float | None
    nonmember_threshold: float | None


def audit_scores(scores, is_member, rng, delta=0.0, confidence=0.95):
    """Return the ε that an attack's scores on one model prove.

    The records are split into two random halves. On the first, two thresholds are chosen: records
    at or above the one are called members, those at or below the other non-members, and there is no
    guess about those in between. The pair with the largest ``one_run_epsilon`` on the first half is
    taken; its guesses are counted on the second half, which had no part in the choice.

    Args:
        scores, is_member: as for ``metrics.roc_curve``; every record was a member by a fair coin of
            its own, and the score of a record used no other record's membership in this model.
        rng: numpy Generator that draws the halves.
        delta, confidence: as for ``one_run_epsilon``.

    Returns:
        ``OneRunAudit``.

    Raises:
        TypeError: if ``is_member`` is not bool.
        ValueError: if shapes differ, a score is NaN, or there are fewer than four records.
    """
    scores, is_member = np.asarray(scores, dtype=np.float64).ravel(), np.asarray(is_member).ravel()
    if is_member.dtype != bool:
        raise TypeError(f"is_member holds {is_member.dtype} values: expected bool")
    if scores.shape != is_member.shape:
        raise ValueError(f"{scores.size} scores and {is_member.size} labels: expected one for each")
    if np.isnan(scores).any():
        raise ValueError(f"{int(np.isnan(scores).sum())} of {scores.size} scores are NaN")
    if scores.size < 4:
        raise ValueError(f"{scores.size} records are too few: an audit needs at least four")
    tail = _tail(confidence)
    order = rng.permutation(scores.size)
    first, second = order[: scores.size // 2], order[scores.size // 2 :]
    high, low = _best_thresholds(scores[first], is_member[first], tail)
    says_in = np.zeros(second.size, bool) if high is None else scores[second] >= high
    says_out = np.zeros(second.size, bool) if low is None else scores[second] <= low
    guesses = int(says_in.sum() + says_out.sum())
    correct = int((says_in & is_member[second]).sum() + (says_out & ~is_member[second]).sum())
    proved = one_run_epsilon(correct, guesses, delta, second.size, confidence) if guesses else 0.0
    return OneRunAudit(proved, correct, guesses, second.size, high, low)


def _best_thresholds(scores, is_member, tail):
    """Return the pair of thresholds whose right guesses prove most on these records.

    About 70 numbers of guesses on each side are tried, growing geometrically.
    """
    n = scores.size
    counts = np.unique(np.round(np.geomspace(1, n, 80)).astype(int))
    ranked = np.sort(scores)
    members, others = np.sort(scores[is_member]), np.sort(scores[~is_member])
    # entry 0 of either side is "no guess"
    high = np.append(np.inf, ranked[n - counts])
    low = np.append(-np.inf, ranked[counts - 1])
    high_right = np.append(0, members.size - np.searchsorted(members, high[1:], side="left"))
    high_all = np.append(0, n - np.searchsorted(ranked, high[1:], side="left"))
    low_right = np.append(0, np.searchsorted(others, low[1:], side="right"))
    low_all = np.append(0, np.searchsorted(ranked, low[1:], side="right"))

    guesses = high_all[:, None] + low_all
    correct = high_right[:, None] + low_right
    apart = high[:, None] > low
    rate = np.where(apart & (guesses > 0), _smallest_rate(correct, guesses, tail), -1.0)
    i, j = np.unravel_index(np.argmax(rate), rate.shape)
    return (float(high[i]) if i else None), (float(low[j]) if j else None)


def _smallest_rate(correct, guesses, tail):
    """Return the success rate at which so many right guesses have a chance of ``tail`` or more.

    P[Bin(r, p) ≥ W] = tail has the solution p = the ``tail`` quantile of Beta(W, r − W + 1).
    """
    from scipy.special import betaincinv

    correct, guesses = np.asarray(correct, float), np.asarray(guesses, float)
    found = betaincinv(np.maximum(correct, 1), guesses - np.minimum(correct, guesses) + 1, tail)
    return np.where(correct > 0, found, 0.0)


def _one_run_p_values(correct, guesses, epsilons, delta, n_records):
    from scipy.special import expit
    from scipy.stats import binom

    right = expit(epsilons)[:, None]
    beaten = binom.sf(correct - 1, guesses, right)[:, 0]
    if delta == 0 or correct == 0:
        return beaten
    steps = np.arange(1, correct + 1)
    just_below = np.cumsum(binom.pmf(correct - steps, guesses, right), axis=1)
    slack = 2 * n_records * delta * np.max(just_below / steps, axis=1)
    return np.minimum(1.0, beaten + slack)


# --- checks --------------------------------------------------------------------------------------


def _plain(values):
    return float(values) if np.ndim(values) == 0 else values


def _checked_fpr(fpr):
    fpr = np.asarray(fpr, dtype=np.float64)
    if not np.all((fpr >= 0) & (fpr <= 1)):
        raise ValueError("fpr holds a value outside 0 to 1: expected false positive rates")
    return fpr


def _check_privacy(epsilon, delta):
    if not epsilon >= 0:
        raise ValueError(f"epsilon is {epsilon}: expected a number from 0 up")
    if not 0 <= delta <= 1:
        raise ValueError(f"delta is {delta}: expected a number from 0 to 1")


def _tail(confidence):
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}: expected a number between 0 and 1, say 0.95")
    return 1 - confidence


def _check_count(name, count, total):
    if total < 1 or not 0 <= count <= total:
        raise ValueError(
            f"{name} is {count} of {total}: expected a count from 0 to a positive total"
        )


def _checked_guesses(correct, guesses, delta, n_records):
    _check_count("correct", correct, guesses)
    if n_records is None:
        if delta != 0:
            raise ValueError(
                f"delta is {delta} and n_records is missing: how many records had a coin of their "
                "own, abstentions included?"
            )
        return guesses
    if n_records < guesses:
        raise ValueError(f"{guesses} guesses about {n_records} records: expected at most one each")
    return n_records
