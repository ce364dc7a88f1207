"""The credit world: its story holds in what it draws, and its truth is the truth."""

import numpy as np
import pytest
from scipy.stats import norm, spearmanr
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from course_lib import credit

INCOME, DEBT, HISTORY, ARREARS, AMOUNT, FLAG = range(6)
TYPICAL = np.array([[40.0, 25.0, 10.0, 0.0, 10.0]])


@pytest.fixture(scope="module")
def world():
    return credit.make_credit(100_000, np.random.default_rng(1))


def test_shapes_and_ranges(world):
    X, y = world["X"], world["y"]
    assert X.shape == (100_000, 6) == (100_000, len(credit.COLUMNS)) and y.shape == (100_000,)
    assert credit.LEGIT == (0, 1, 2, 3, 4) and credit.COLUMNS[FLAG] == "officer_flag"
    assert set(np.unique(y)) == {0, 1} and set(np.unique(X[:, FLAG])) == {0, 1}
    assert np.all(X[:, [INCOME, HISTORY, AMOUNT]] > 0) and np.all(X[:, ARREARS] >= 0)
    assert np.all(X[:, ARREARS] == np.round(X[:, ARREARS]))
    assert X[:, DEBT].min() >= 0 and X[:, DEBT].max() < 100
    again = credit.make_credit(100_000, np.random.default_rng(1))
    np.testing.assert_array_equal(X, again["X"])


def test_labels_are_drawn_from_the_stated_probability(world):
    """In groups by any column, the share that repaid is the mean of the probability."""
    X, y, probability = world["X"], world["y"], world["repay_prob"]
    np.testing.assert_array_equal(probability, credit.true_repay_prob(X))
    for values in (*X[:, :5].T, probability):
        for group in np.array_split(np.argsort(values, kind="stable"), 20):
            error = (
                np.sqrt(probability[group] * (1 - probability[group])).mean() / len(group) ** 0.5
            )
            assert abs(y[group].mean() - probability[group].mean()) < 4.5 * error


def test_size_of_the_story(world):
    y, probability = world["y"], world["repay_prob"]
    assert 0.70 < y.mean() < 0.80
    assert 0.75 < roc_auc_score(y, probability) < 0.85


@pytest.mark.parametrize(
    ("cause", "effect", "sign"),
    [
        (HISTORY, INCOME, 1),
        (HISTORY, ARREARS, -1),
        (DEBT, ARREARS, 1),
        (INCOME, AMOUNT, 1),
        (HISTORY, DEBT, 0),
        (INCOME, DEBT, 0),
    ],
)
def test_arrows_of_the_story(world, cause, effect, sign):
    correlation = spearmanr(world["X"][:, cause], world["X"][:, effect]).statistic
    if sign:
        assert sign * correlation > 0.05
    else:
        assert abs(correlation) < 0.015


@pytest.mark.parametrize(
    ("column", "factor", "sign"),
    [(INCOME, 1.2, 1), (HISTORY, 1.2, 1), (DEBT, 1.2, -1), (AMOUNT, 1.2, -1)],
)
def test_what_helps_and_what_hurts(column, factor, sign):
    changed = TYPICAL.copy()
    changed[0, column] *= factor
    difference = credit.true_repay_prob(changed) - credit.true_repay_prob(TYPICAL)
    assert sign * difference[0] > 0.001


def test_arrears_hurt_less_in_a_long_history():
    def odds(history, arrears):
        p = credit.true_repay_prob([[40.0, 25.0, history, arrears, 10.0]])[0]
        return np.log(p / (1 - p))

    short, long = odds(2, 0) - odds(2, 2), odds(30, 0) - odds(30, 2)
    assert short > 1.5 * long > 0


def test_the_flag_is_a_consequence_of_the_outcome_and_of_nothing_else(world):
    """Given the outcome, the flag knows nothing more about the applicant."""
    X, y = world["X"], world["y"]
    for outcome, rate in ((1, 0.04), (0, 0.85)):
        flag = X[y == outcome, FLAG]
        assert flag.mean() == pytest.approx(rate, abs=0.01)
        for column in range(5):
            assert abs(spearmanr(X[y == outcome, column], flag).statistic) < 0.02
    assert roc_auc_score(y, -X[:, FLAG]) > roc_auc_score(y, world["repay_prob"]) + 0.05


def test_the_flag_is_not_looked_at(world):
    files = world["X"][:50].copy()
    features = credit.Featurizer(2)
    before = credit.true_repay_prob(files), features(files)
    files[:, FLAG] = 1 - files[:, FLAG]
    np.testing.assert_array_equal(credit.true_repay_prob(files), before[0])
    np.testing.assert_array_equal(features(files), before[1])
    np.testing.assert_array_equal(features(files[:, :5]), before[1])


@pytest.mark.parametrize(("degree", "columns"), [(1, 6), (2, 21), (3, 56)])
def test_features_equal_scikit_learn(world, degree, columns):
    reference = credit.make_credit(20_000, np.random.default_rng(900))["X"][:, :5]
    first = StandardScaler().fit(reference)
    powers = PolynomialFeatures(degree, include_bias=False)
    second = StandardScaler().fit(powers.fit_transform(first.transform(reference)))
    expected = second.transform(powers.transform(first.transform(world["X"][:100, :5])))
    found = credit.Featurizer(degree)(world["X"][:100])
    assert found.shape == (100, columns)
    np.testing.assert_array_equal(found[:, 0], 1)
    np.testing.assert_allclose(found[:, 1:], expected, rtol=1e-9, atol=1e-9)


def test_features_of_a_row_depend_on_no_other_row(world):
    features = credit.Featurizer(3)
    together = features(world["X"][:20])
    np.testing.assert_allclose(features(world["X"][7:8])[0], together[7], rtol=1e-12)


def test_self_check_says_what_the_world_is(world):
    check = credit.self_check(50_000, np.random.default_rng(2))
    assert check["repaid"] == pytest.approx(world["y"].mean(), abs=0.01)
    expected = roc_auc_score(world["y"], world["repay_prob"])
    assert check["bayes_auc"] == pytest.approx(expected, abs=0.01)
    best = np.maximum(world["repay_prob"], 1 - world["repay_prob"]).mean()
    assert check["bayes_acc"] == pytest.approx(best, abs=0.01)
    largest = 0.5 * norm.ppf(1 - 0.0005) / np.sqrt(5_000)
    assert 0 < check["calibration"] < largest * 1.5
    assert check["flag_auc"] == pytest.approx((1 + 0.85 - 0.04) / 2, abs=0.01)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ((INCOME, 0.0), "positive income"),
        ((DEBT, 100.0), "debt_ratio below 100%"),
        ((ARREARS, -1.0), "negative history, arrears or amount"),
        ((HISTORY, np.nan), "not finite in row 0, column history"),
    ],
)
def test_impossible_files_are_named(change, sentence):
    column, value = change
    files = TYPICAL.copy()
    files[0, column] = value
    with pytest.raises(ValueError, match=sentence):
        credit.true_repay_prob(files)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="n is 0"):
        credit.make_credit(0, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"n is 2\.5"):
        credit.make_credit(2.5, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"X has shape \(3, 4\)"):
        credit.true_repay_prob(np.ones((3, 4)))
    with pytest.raises(ValueError, match=r"X has shape \(5,\)"):
        credit.Featurizer(1)(np.ones(5))
    with pytest.raises(ValueError, match="degree is 0"):
        credit.Featurizer(0)
