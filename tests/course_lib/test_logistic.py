"""Logistic regression by Newton against scikit-learn, autograd and the conditions of an optimum."""

import numpy as np
import pytest
import torch
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import PolynomialFeatures

from course_lib import credit, models


def problem(seed, n=120, d=6):
    rng = np.random.default_rng(seed)
    A = np.column_stack([np.ones(n), rng.normal(size=(n, d - 1))])
    y = (rng.random(n) < expit(A @ rng.normal(size=d))).astype(int)
    return A, y


def scikit_learn(A, y, lam, weights=None):
    total = len(A) if weights is None else weights.sum()
    fitted = LogisticRegression(C=1 / (lam * total), solver="newton-cholesky", tol=1e-12)
    fitted.fit(A[:, 1:], y, sample_weight=weights)
    return np.append(fitted.intercept_, fitted.coef_[0])


def gradient(A, y, theta, lam, weights):
    """By autograd, of the objective as it is stated."""
    theta = torch.tensor(theta, requires_grad=True)
    phi = torch.tensor(2.0 * y - 1) * (torch.from_numpy(A) @ theta)
    weights = torch.as_tensor(weights, dtype=torch.float64)
    loss = (weights * torch.nn.functional.softplus(-phi)).sum() / weights.sum()
    (loss + lam / 2 * (theta[1:] ** 2).sum()).backward()
    return theta.grad.numpy()


@pytest.mark.parametrize("lam", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_optimum_is_scikit_learns(seed, lam):
    A, y = problem(seed)
    np.testing.assert_allclose(
        models.fit_logistic_newton(A, y, lam), scikit_learn(A, y, lam), rtol=1e-6, atol=1e-7
    )


def test_weights_are_scikit_learns_sample_weights():
    A, y = problem(3)
    weights = np.random.default_rng(4).integers(0, 4, len(A))
    found = models.fit_logistic_newton(A, y, 1e-2, weights=weights)
    np.testing.assert_allclose(found, scikit_learn(A, y, 1e-2, weights), rtol=1e-6, atol=1e-7)
    repeated = np.repeat(np.arange(len(A)), weights)
    np.testing.assert_allclose(
        found, models.fit_logistic_newton(A[repeated], y[repeated], 1e-2), rtol=1e-9, atol=1e-11
    )


def test_the_gradient_vanishes_but_for_rounding():
    A, y = problem(5, n=200, d=30)
    weights = (np.random.default_rng(6).random((20, 200)) < 0.5).astype(float)
    for lam in (1e-6, 1e-3):
        for theta, w in zip(models.fit_logistic_newton(A, y, lam, weights), weights, strict=True):
            assert np.abs(gradient(A, y, theta, lam, w)).max() < 1e-13


def test_many_models_are_each_model_alone(monkeypatch):
    A, y = problem(7, n=90)
    weights = np.random.default_rng(8).random((11, 90)) < 0.5
    alone = [models.fit_logistic_newton(A, y, 1e-3, w) for w in weights]
    together = models.fit_logistic_newton(A, y, 1e-3, weights)
    assert together.shape == (11, 6)
    np.testing.assert_allclose(together, alone, rtol=1e-9, atol=1e-11)
    monkeypatch.setattr(models, "_CELLS_AT_ONCE", 300)  # three models at a time
    in_pieces = models.fit_logistic_newton(A, y, 1e-3, weights)
    np.testing.assert_allclose(in_pieces, together, rtol=1e-9, atol=1e-11)


def test_weights_do_not_change():
    A, y = problem(9)
    weights = np.full((2, len(A)), 2.0)
    models.fit_logistic_newton(A, y, 1e-3, weights)
    assert np.all(weights == 2)


@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("lam", [1e-8, 1e-5])
def test_separable_rows_converge(lam, scale):
    """Full Newton steps diverge here; the optimum exists because of the penalty."""
    rng = np.random.default_rng(10)
    x = scale * np.append(rng.uniform(0.1, 1, 30), rng.uniform(-1, -0.1, 30))
    x[0] *= 30
    A, y = np.column_stack([np.ones(60), x]), (x > 0).astype(int)
    theta = models.fit_logistic_newton(A, y, lam)
    assert np.all((A @ theta > 0) == (y == 1))
    assert np.abs(gradient(A, y, theta, lam, np.ones(60))).max() < 1e-10


def full_steps_diverge(A, y, lam):
    """Whether Newton's method with full steps only is far from the optimum after 100 of them."""
    penalty = np.append(0.0, np.full(A.shape[1] - 1, lam))
    theta = np.zeros(A.shape[1])
    for _ in range(100):
        p = expit(A @ theta)
        slope = A.T @ (p - y) / len(A) + penalty * theta
        hessian = (A * (p * (1 - p) / len(A))[:, None]).T @ A + np.diag(penalty)
        try:
            theta = theta - np.linalg.solve(hessian, slope)
        except np.linalg.LinAlgError:  # it went so far out that nothing curves any more
            return True
    return np.abs(slope).max() > 1e-3


def test_converges_where_full_steps_diverge():
    world = credit.make_credit(200, np.random.default_rng(0))
    A, y = credit.Featurizer(3)(world["X"]), world["y"]
    A[:, 1:] *= 30
    assert full_steps_diverge(A, y, 1e-5)
    theta = models.fit_logistic_newton(A, y, 1e-5)
    assert np.abs(gradient(A, y, theta, 1e-5, np.ones(200))).max() < 1e-9


def test_a_problem_beyond_rounding_is_named_and_does_not_run_for_ever():
    world = credit.make_credit(400, np.random.default_rng(4))
    A = credit.Featurizer(3)(world["X"])
    A[:, 1:] *= 1000
    weights = np.random.default_rng(0).random((64, 400)) < 0.15
    with pytest.raises(RuntimeError, match=r"model \d+ is not solved .*: take a larger lam"):
        models.fit_logistic_newton(A, world["y"], 1e-8, weights)


def test_intercept_is_free_of_the_penalty():
    """With a huge penalty only the intercept is left: the log-odds of the base rate."""
    A, y = problem(11)
    theta = models.fit_logistic_newton(A, y, 1e9)
    assert theta[0] == pytest.approx(np.log(y.mean() / (1 - y.mean())), rel=1e-6)
    np.testing.assert_allclose(theta[1:], 0, atol=1e-8)


def test_sigmoid_at_both_ends():
    t = np.array([-1000.0, -40, -1, 0, 1, 40, 1000])
    with np.errstate(all="raise", under="ignore"):
        found = models.sigmoid(t)
    np.testing.assert_allclose(found, expit(t), rtol=1e-14)
    assert models.sigmoid(0.0) == 0.5


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_polynomials_equal_scikit_learn(degree):
    Z = np.random.default_rng(12).normal(size=(7, 4))
    expected = PolynomialFeatures(degree).fit_transform(Z)
    np.testing.assert_allclose(models.poly_features(Z, degree), expected, rtol=1e-13)


def test_true_label_logit_is_the_log_odds_of_the_label():
    A, y = problem(13)
    THETA = np.random.default_rng(14).normal(size=(3, 6))
    PHI = models.true_label_logit(THETA, A, y)
    p = expit(THETA @ A.T)
    p_label = np.where(y == 1, p, 1 - p)
    np.testing.assert_allclose(PHI, np.log(p_label / (1 - p_label)), rtol=1e-9)
    np.testing.assert_allclose(models.true_label_logit(THETA[1], A, y), PHI[1], rtol=1e-13)


def test_bad_problems_are_named():
    A, y = problem(15)
    fit = models.fit_logistic_newton
    broken = A.copy()
    broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="A is nan in row 3, column 2"):
        fit(broken, y, 1.0)
    with pytest.raises(ValueError, match="must be all ones"):
        fit(A[:, 1:], y, 1.0)
    with pytest.raises(
        ValueError, match=r"y has shape \(119,\): expected one label for each of 120"
    ):
        fit(A, y[1:], 1.0)
    with pytest.raises(ValueError, match="other than 0 and 1"):
        fit(A, 2 * y, 1.0)
    for lam in (0, -1, np.inf, np.nan):
        with pytest.raises(ValueError, match="lam is"):
            fit(A, y, lam)
    with pytest.raises(ValueError, match="the training set has no record with label 0"):
        fit(A, np.ones(len(A), int), 1.0)
    weights = np.ones((4, len(A)))
    weights[2, y == 1] = 0
    with pytest.raises(ValueError, match="model 2's training set has no record with label 1"):
        fit(A, y, 1.0, weights)
    with pytest.raises(ValueError, match=r"weights has shape \(4, 119\)"):
        fit(A, y, 1.0, weights[:, 1:])
    with pytest.raises(ValueError, match="below 0"):
        fit(A, y, 1.0, -weights)
    with pytest.raises(ValueError, match="A has shape"):
        fit(A[0], y, 1.0)
    with pytest.raises(ValueError, match="as many weights as A has columns"):
        models.true_label_logit(np.ones(5), A, y)
    with pytest.raises(ValueError, match="degree is -1"):
        models.poly_features(A, -1)
    with pytest.raises(ValueError, match="Z has shape"):
        models.poly_features(A[0], 2)


def test_no_convergence_is_an_error_that_says_what_to_do(monkeypatch):
    A, y = problem(16)
    monkeypatch.setattr(models, "_MOST_STEPS", 2)
    with pytest.raises(
        RuntimeError, match=r"model 0 is not solved \(not converged after 2 steps\)"
    ):
        models.fit_logistic_newton(A, y, 1e-6)
