"""A synthetic credit world, in which the truth is known: who is who, and how likely they repay.

Everything is drawn in the order in which it happens. An arrow says what a quantity is drawn from.

1. **Credit history**: years since a person's first account.
2. history → **income**: a thousand euros a year; it grows with the years, and varies a lot.
3. **Existing debts**: the percentage of the income that they take.
4. debts, history → **arrears**: payments missed in the last two years. They become more frequent as
   debts take more of the income, and rarer with a longer history.
5. income → **amount** asked for, in thousands of euros.
6. all five → **repaid** (1) or not (0). Income and a long history help. What counts about the
   amount is the *burden*: how many years of what debts leave of the income it takes. Its effect
   levels off. Arrears hurt, and less so when they stand in a long history.
7. repaid → **officer_flag**: 1 where the file lies with a collections officer. That happens to most
   loans that failed and to a few that did not, *after* the outcome.

The flag predicts repayment better than everything else together, because it is a consequence of it.
Nobody has it on the day of the decision: a model that learned from it would look splendid on old
files and be useless on new ones. That is a leak of the target into the features, another kind of
leak than the one this course is about. ``LEGIT`` lists the columns that may be used.

There is no hidden common cause: given the first five columns, ``true_repay_prob`` is the best that
any model can know.
"""

import numpy as np

from course_lib.language import _
from course_lib.models import poly_features, sigmoid

COLUMNS = ("income", "debt_ratio", "history", "arrears", "amount", "officer_flag")
UNITS = (
    _("1,000 euros a year"),
    _("% of income"),
    _("years"),
    _("payments missed"),
    _("1,000 euros"),
    _("0 or 1"),
)

LEGIT = (0, 1, 2, 3, 4)
"""The columns that are known on the day of the decision: all but ``officer_flag``."""

_FLAGGED_IF_REPAID = 0.04
_FLAGGED_IF_NOT = 0.85


def make_credit(n, rng):
    """Draw n loan files.

    Args:
        n: how many.
        rng: numpy Generator.

    Returns:
        A dict with ``X``, n × 6 float64, columns as in ``COLUMNS``; ``y``, n ints, 1 for repaid;
        ``repay_prob``, the n probabilities from which y was drawn.

    Raises:
        ValueError: if n is not a whole number from 1 up.
    """
    if isinstance(n, bool) or n != int(n) or n < 1:
        raise ValueError(f"n is {n}: expected a whole number of loan files, at least 1")
    n = int(n)
    history = rng.gamma(2.0, 5.0, n)
    income = 32 * np.exp(0.015 * history + 0.5 * rng.normal(size=n))
    debt_ratio = 100 * rng.beta(1.6, 4.0, n)
    arrears = rng.poisson(np.exp(-1.5 + 0.03 * debt_ratio - 0.03 * history)).astype(np.float64)
    amount = income * np.exp(-1.3 + 0.7 * rng.normal(size=n))
    known = np.column_stack([income, debt_ratio, history, arrears, amount])

    repay_prob = true_repay_prob(known)
    y = (rng.random(n) < repay_prob).astype(np.int64)
    flag = rng.random(n) < np.where(y == 1, _FLAGGED_IF_REPAID, _FLAGGED_IF_NOT)
    return {"X": np.column_stack([known, flag]), "y": y, "repay_prob": repay_prob}


def true_repay_prob(X):
    """Return the world's own probability of repayment, given what is known when deciding.

    Args:
        X: n × 6 or n × 5 array, columns as in ``COLUMNS``; ``officer_flag`` is not looked at. The
            income is positive and debts take less than all of it.

    Returns:
        n float64 probabilities.

    Raises:
        ValueError: for another shape, or values that are not finite or out of their range.
    """
    income, debt_ratio, history, arrears, amount = _checked_files(X).T
    if not np.all(income > 0) or not np.all(debt_ratio < 100):
        raise ValueError("X needs a positive income and a debt_ratio below 100% in every row")
    if np.any(history < 0) or np.any(arrears < 0) or np.any(amount < 0):
        raise ValueError("X holds a negative history, arrears or amount")
    burden = amount / (income * (1 - debt_ratio / 100))
    return sigmoid(
        1.6
        + 1.5 * np.log(income / 40)
        + 1.2 * np.log1p(history / 4)
        - 2.0 * np.log1p(arrears) / (1 + history / 30)
        - 2.2 * burden / (1 + 0.4 * burden)
    )


class Featurizer:
    """Turn loan files into the features of a logistic regression, by public constants only.

    The five legitimate columns are standardised by the means and standard deviations of a public
    reference sample, made polynomial, and standardised by the same sample once more. Nothing is
    fitted to the rows that are turned: a scaler fitted on private rows would itself leak.

    Args:
        degree: largest degree of the polynomials; 3 gives 56 columns.
        n_ref: size of the reference sample.
        seed: seed of the reference sample.

    Raises:
        ValueError: if ``degree`` is not a whole number from 1 up.
    """

    def __init__(self, degree=1, n_ref=20000, seed=900):
        if isinstance(degree, bool) or degree != int(degree) or degree < 1:
            raise ValueError(f"degree is {degree}: expected a whole number from 1 up")
        reference = make_credit(n_ref, np.random.default_rng(seed))["X"][:, LEGIT]
        self.degree = degree
        self._mean, self._sd = reference.mean(axis=0), reference.std(axis=0)
        powers = self._powers(reference)
        self._power_mean, self._power_sd = powers.mean(axis=0), powers.std(axis=0)

    def __call__(self, X):
        """Return n × d features for n files (n × 6 or n × 5); the first column is all ones.

        Raises:
            ValueError: for another shape, or values that are not finite.
        """
        powers = (self._powers(_checked_files(X)) - self._power_mean) / self._power_sd
        return np.column_stack([np.ones(len(powers)), powers])

    def _powers(self, files):
        return poly_features((files - self._mean) / self._sd, self.degree)[:, 1:]


def self_check(n, rng):
    """Return what the world looks like, from n files that are drawn for it.

    Returns:
        A dict: ``repaid``, the share that repay; ``bayes_auc`` and ``bayes_acc``, what the true
        probabilities reach, and so the best that any honest model can; ``flag_auc``, what the
        leaking flag alone reaches; ``calibration``, the largest gap between the true probability
        and the share that repaid, over ten groups of equal size.
    """
    from sklearn.metrics import roc_auc_score

    world = make_credit(n, rng)
    y, probability = world["y"], world["repay_prob"]
    groups = np.array_split(np.argsort(probability), 10)
    return {
        "repaid": float(y.mean()),
        "bayes_auc": float(roc_auc_score(y, probability)),
        "bayes_acc": float(np.mean((probability > 0.5) == (y == 1))),
        "flag_auc": float(roc_auc_score(y, -world["X"][:, 5])),
        "calibration": float(max(abs(y[g].mean() - probability[g].mean()) for g in groups)),
    }


def _checked_files(X):
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] not in (5, 6):
        raise ValueError(
            f"X has shape {X.shape}: expected one row a loan file, with the columns "
            f"{', '.join(COLUMNS)} (the last may be missing)"
        )
    legitimate = X[:, LEGIT]
    if not np.isfinite(legitimate).all():
        row, column = np.argwhere(~np.isfinite(legitimate))[0]
        raise ValueError(f"X is not finite in row {row}, column {COLUMNS[column]}")
    return legitimate
