"""The checks of the CIFAR-10 lab take right answers of several kinds, and name what is wrong."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from opacus.accountants import RDPAccountant
from scipy.special import logsumexp
from scipy.stats import norm

from course_build.answers import answers_of
from course_build.source import read_source
from course_lib import accounting, attacks, metrics
from course_lib.exercises import Exercises
from course_lib.exercises.cifar10_lira import EXERCISES

SOURCE = Path(__file__).parents[3] / "notebooks" / "source" / "cifar10_lira.py"
DELTA = 1e-5


def told(capsys, number, answer):
    """What a student reads."""
    lab = SimpleNamespace(name="cifar10_lira", profile="quick")
    Exercises(lab).check(number, answer)
    return capsys.readouterr().out


@pytest.mark.parametrize("number", EXERCISES)
def test_reference_answer_is_right(capsys, number):
    names = {"np": np, "math": math, "norm": norm, "DELTA": DELTA}
    names |= {"accounting": accounting, "attacks": attacks, "metrics": metrics}
    exec(answers_of(read_source(SOURCE))[number], names)
    assert told(capsys, number, names[EXERCISES[number].name]).startswith("✓")


@pytest.mark.parametrize("number", EXERCISES)
def test_stub_waits(capsys, number):
    def stub(*arguments):
        """Something."""
        return None

    assert told(capsys, number, stub).startswith("…")


def _pairwise(z, label):
    others = [value for j, value in enumerate(z) if j != label]
    return z[label] - np.logaddexp.reduce(others)


def _by_loop(phi_in, phi_out, observed):
    total = 0.0
    for sign, sample in ((1, phi_in), (-1, phi_out)):
        variance = np.var(sample, ddof=1)
        total -= sign * (
            0.5 * math.log(2 * math.pi * variance)
            + (observed - sample.mean()) ** 2 / (2 * variance)
        )
    return total


def _by_counting(shadow_scores, shadow_members, alpha):
    outsiders = shadow_scores[~shadow_members]
    fitting = [s for s in outsiders if (outsiders > s).sum() <= alpha * outsiders.size]
    return min(fitting)


def _by_higher_quantile(shadow_scores, shadow_members, alpha):
    outsiders = shadow_scores[~shadow_members]
    kept = len(outsiders) - int(alpha * len(outsiders))
    return np.partition(outsiders, kept - 1)[kept - 1]


def _by_opacus(batch_size, n=25_000, epochs=30):
    batches = -(-n // batch_size)
    accountant = RDPAccountant()
    accountant.history = [(1.0, 1 / batches, batches * epochs)]
    return 1 / batches, batches * epochs, accountant.get_epsilon(DELTA)


def _one_by_one(PHI, IN, k):
    scores = [
        attacks.lira_scores(
            PHI, IN, t, fixed_var=True, shadow_ids=[s for s in range(k + 1) if s != t]
        )
        for t in range(k + 1)
    ]
    fpr, tpr = metrics.roc_curve(np.array(scores), IN[: k + 1])
    return metrics.tpr_at_fpr(fpr, tpr, 0.01)


@pytest.mark.parametrize(
    ("number", "answer"),
    [
        (1, _pairwise),
        (1, lambda z, label: z[label] - logsumexp(np.delete(z, label))),
        (1, lambda z, label: np.float64(_pairwise(z.tolist(), label))),
        (2, _by_loop),
        (
            2,
            lambda i, o, x: (
                norm(i.mean(), i.std(ddof=1)).logpdf(x) - norm(o.mean(), o.std(ddof=1)).logpdf(x)
            ),
        ),
        (2, lambda i, o, x: np.array(_by_loop(i, o, x))),
        (3, _by_counting),
        (3, _by_higher_quantile),
        (3, lambda s, m, alpha: np.quantile(s[~m], 1 - alpha, method="inverted_cdf")),
        (4, _by_opacus),
        (4, lambda b, n=25_000, epochs=30: list(_by_opacus(b, n, epochs))),
        (5, _one_by_one),
        (5, lambda PHI, IN, k: np.float64(_one_by_one(PHI[: k + 1], IN[: k + 1], k))),
    ],
)
def test_other_right_answers_are_right(capsys, number, answer):
    assert told(capsys, number, answer).startswith("✓")


def softmax_form(z, label):
    p = np.exp(z[label]) / np.exp(z).sum()
    return np.log(p / (1 - p))


def ratio_of_densities(phi_in, phi_out, observed):
    return np.log(
        norm.pdf(observed, phi_in.mean(), phi_in.std(ddof=1))
        / norm.pdf(observed, phi_out.mean(), phi_out.std(ddof=1))
    )


def bench(PHI, IN, online=True, fixed_var=True, key="tpr_1"):
    scores = attacks.lira_scores_all(PHI, IN, online=online, fixed_var=fixed_var)
    return metrics.attack_metrics(scores, IN)[key]


def in_opacus(rate, steps):
    return rate, steps, accounting.epsilon(1.0, rate, steps, DELTA)


def batches_of(batch_size, n):
    return math.ceil(n / batch_size)


def largest_of_all_taken_out(z, label):
    with np.errstate(divide="ignore"):
        return z[label] - z.max() - np.log(np.exp(np.delete(z, label) - z.max()).sum())


def by_prv(batch_size, n=25_000, epochs=30):
    rate, steps = 1 / batches_of(batch_size, n), batches_of(batch_size, n) * epochs
    return rate, steps, accounting.epsilon(1.0, rate, steps, DELTA, accountant="prv")


def places_changed(batch_size, n=25_000, epochs=30):
    rate, steps = 1 / batches_of(batch_size, n), batches_of(batch_size, n) * epochs
    return rate, steps, accounting.epsilon(rate, 1.0, steps, DELTA)


def mean_of_targets(PHI, IN, k):
    scores = attacks.lira_scores_all(PHI[: k + 1], IN[: k + 1], online=True, fixed_var=True)
    found = [metrics.attack_metrics(scores[t], IN[t])["tpr_1"] for t in range(k + 1)]
    return np.mean(found)


WRONG = [
    (1, lambda z, label: z[label] - logsumexp(z), "left out of the sum"),
    (1, lambda z, label: logsumexp(np.delete(z, label)) - z[label], "sign is turned"),
    (1, lambda z, label: z[label] - np.delete(z, label).max(), "Only the largest"),
    (
        1,
        lambda z, label: z[label] - np.log(np.exp(np.delete(z, label)).sum()),
        "overflow or vanish",
    ),
    (1, softmax_form, "rounds to one"),
    (1, lambda z, label: z[label] - np.delete(z, label).mean(), "mean of the other logits"),
    (1, lambda z, label: z[0] - logsumexp(z[1:]), "taken to be 0"),
    (1, lambda z, label: z[label] - np.delete(z, label).sum(), "is: The sum of the other"),
    (1, lambda z, label: z[label] - logsumexp(z[z != z[label]]), "is: Other logits that equal"),
    (1, largest_of_all_taken_out, "is: The largest of all logits"),
    (1, lambda z, label: 1.0, "The number is another"),
    (1, lambda z, label: float("nan"), "NaN"),
    (1, lambda z, label: z, "array of shape (3,)"),
    (1, lambda z, label: z[label] and None, "Is there a return"),
    (
        2,
        lambda i, o, x: norm.logpdf(x, i.mean(), i.std()) - norm.logpdf(x, o.mean(), o.std()),
        "n − 1",
    ),
    (2, lambda i, o, x: -_by_loop(i, o, x), "swapped"),
    (2, lambda i, o, x: math.exp(min(_by_loop(i, o, x), 700)), "its logarithm is asked for"),
    (
        2,
        lambda i, o, x: (
            (x - o.mean()) ** 2 / (2 * o.var(ddof=1)) - (x - i.mean()) ** 2 / (2 * i.var(ddof=1))
        ),
        "deviations differ",
    ),
    (
        2,
        lambda i, o, x: (
            norm.logpdf(x, i.mean(), i.var(ddof=1)) - norm.logpdf(x, o.mean(), o.var(ddof=1))
        ),
        "square root",
    ),
    (2, ratio_of_densities, "round to zero"),
    (
        2,
        lambda i, o, x: (
            norm.logpdf(x, i.mean(), i.std(ddof=1)) / norm.logpdf(x, o.mean(), o.std(ddof=1))
        ),
        "is: One logarithm is divided by the other",
    ),
    (2, lambda i, o, x: 1.0, "The number is another"),
    (2, lambda i, o, x: norm.logpdf(x, i, i.std()), "array of shape"),
    (2, lambda i, o, x: norm.logpdf(x), "The number is another"),
    (3, lambda s, m, alpha: _by_counting(s, ~m, alpha), "members' scores"),
    (3, lambda s, m, alpha: _by_counting(s, m & False, alpha), "on all scores"),
    (3, lambda s, m, alpha: np.quantile(s[~m], 1 - alpha), "interpolated"),
    (3, lambda s, m, alpha: np.quantile(s[~m], alpha), "lower end"),
    (3, lambda s, m, alpha: np.sort(s[~m])[::-1][int(alpha * (~m).sum()) + 1], "too far down"),
    (3, lambda s, m, alpha: np.sort(s[~m])[::-1][int(alpha * (~m).sum()) - 1], "too far up"),
    (
        3,
        lambda s, m, alpha: min(v for v in [*s[~m], np.inf] if (s[~m] >= v).mean() <= alpha),
        "expected:",
    ),
    (
        3,
        lambda s, m, alpha: np.quantile(s[~m], 1 - alpha, method="higher"),
        "is: One score too far",
    ),
    (3, lambda s, m, alpha: 0.93, "The number is another"),
    (3, lambda s, m, alpha: None, "waiting"),
    (3, lambda s, m, alpha: [np.quantile(row, 1 - alpha) for row in s], "a list"),
    (4, lambda b, n=25_000, e=30: in_opacus(b / n, batches_of(b, n) * e), "not batch size over n"),
    (4, lambda b, n=25_000, e=30: in_opacus(1 / (n // b), n // b * e), "rounded down"),
    (4, lambda b, n=25_000, e=30: in_opacus(b / n, round(n / b * e, 6)), "ended with an error"),
    (4, lambda b, n=25_000, e=30: in_opacus(1 / batches_of(b, n), batches_of(b, n)), "one epoch"),
    (4, lambda b, n=25_000, e=30: in_opacus(1 / batches_of(b, n), e), "one for each batch"),
    (4, lambda b, n=25_000, e=30: in_opacus(1.0, batches_of(b, n) * e), "in every batch"),
    (4, lambda b, n=25_000, e=30: (1 / 98, 98 * 30, 3.5528568), "Value 1 of 3"),
    (4, lambda b, n=25_000, e=30: accounting.epsilon(1.0, b / n, 2_940, DELTA), "3 values"),
    (4, lambda b, n=25_000, e=30: (1 / batches_of(b, n), float("nan"), 1.0), "NaN"),
    (4, lambda b: 3.55, "cannot take them"),
    (4, by_prv, "This is the PRV accountant's value"),
    (4, places_changed, "have changed places"),
    (5, lambda PHI, IN, k: bench(PHI[:k], IN[:k]), "k + 1 networks"),
    (5, lambda PHI, IN, k: bench(PHI, IN), "whatever k is"),
    (5, lambda PHI, IN, k: bench(PHI[: k + 1], IN[: k + 1], fixed_var=False), "of its own"),
    (5, lambda PHI, IN, k: bench(PHI[: k + 1], IN[: k + 1], online=False), "offline"),
    (5, lambda PHI, IN, k: bench(PHI[: k + 1], IN[: k + 1], key="auc"), "AUC"),
    (5, lambda PHI, IN, k: bench(PHI[: k + 1], IN[: k + 1], key="tpr_01"), "0.1%"),
    (
        5,
        lambda PHI, IN, k: metrics.attack_metrics(PHI[: k + 1], IN[: k + 1])["tpr_1"],
        "loss attack",
    ),
    (
        5,
        lambda PHI, IN, k: metrics.attack_metrics(
            attacks.lira_scores(PHI[: k + 1], IN[: k + 1], 0, fixed_var=True), IN[0]
        )["tpr_1"],
        "Only network 0",
    ),
    (5, mean_of_targets, "is: This is the mean of one TPR for each target"),
    (5, lambda PHI, IN, k: 0.25, "The number is another"),
    (5, lambda PHI, IN, k: bench(PHI[: k + 1].T, IN[: k + 1].T), "yours:"),
]


@pytest.mark.parametrize(("number", "answer", "words"), WRONG)
def test_wrong_answer_is_told_what_is_wrong(capsys, number, answer, words):
    message = told(capsys, number, answer)
    assert not message.startswith("✓")
    assert words in message


def test_each_exercise_is_tried_with_wrong_answers():
    tried = [number for number, _answer, _words in WRONG]
    assert all(tried.count(number) >= 6 for number in EXERCISES)
