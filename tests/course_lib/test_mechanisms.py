"""Mechanisms against closed forms, exact probability ratios, and diffprivlib's own."""

import math

import numpy as np
import pytest
from scipy import stats

from course_lib import accounting, mechanisms

DRAWS = 200_000


def rng(seed=0):
    return np.random.default_rng(seed)


# --- Laplace -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(0.05, 0.1), (1, 1), (3, 10)])
def test_laplace_error_has_its_closed_form(sensitivity, epsilon):
    """The mean absolute error is Δ/ε, and one error in p exceeds Δ/ε · ln(1/p)."""
    scale = mechanisms.laplace_scale(sensitivity, epsilon)
    errors = mechanisms.laplace(np.zeros(DRAWS), sensitivity, epsilon, rng())
    assert scale == sensitivity / epsilon
    assert np.mean(abs(errors)) == pytest.approx(scale, rel=0.01)
    assert np.quantile(abs(errors), 0.95) == pytest.approx(scale * math.log(20), rel=0.01)
    assert stats.kstest(errors, stats.laplace(scale=scale).cdf).pvalue > 0.01


def test_laplace_ratio_of_neighbours_never_exceeds_epsilon():
    """Two Laplace densities of that scale, Δ apart, differ by a factor of e^ε at most."""
    scale = mechanisms.laplace_scale(2.0, 0.7)
    x = np.linspace(-30, 30, 1001)
    ratio = stats.laplace.logpdf(x, 0, scale) - stats.laplace.logpdf(x, 2.0, scale)
    assert np.max(abs(ratio)) == pytest.approx(0.7, rel=1e-9)


def test_laplace_adds_to_the_value_and_keeps_its_shape():
    value = np.array([[1e6, -1e6]])
    released = mechanisms.laplace(value, 1, 1, rng())
    assert released.shape == (1, 2)
    assert np.all(abs(released - value) < 50)
    assert released[0, 0] - 1e6 != pytest.approx(released[0, 1] + 1e6)
    assert isinstance(mechanisms.laplace(3, 1, 1, rng()), float)


def test_laplace_is_the_published_draw():
    """One ``default_rng(0)`` draws ε = 0.1 first: the course's published figures rest on it."""
    sensitivity = 21.129 / 455
    errors = abs(mechanisms.laplace(np.zeros(2000), sensitivity, 0.1, rng()))
    assert round(errors.mean(), 3) == 0.474
    assert round(np.quantile(errors, 0.95), 4) == 1.4558


# --- Gaussian ------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1, 8])
@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_gaussian_sigma_meets_delta_exactly(epsilon, delta):
    """δ = Φ(Δ/2σ − εσ/Δ) − e^ε Φ(−Δ/2σ − εσ/Δ), Balle and Wang (2018), theorem 8."""
    ratio = 2.5 / mechanisms.gaussian_sigma(2.5, epsilon, delta)
    found = stats.norm.cdf(ratio / 2 - epsilon / ratio) - math.exp(epsilon) * stats.norm.cdf(
        -ratio / 2 - epsilon / ratio
    )
    assert found == pytest.approx(delta, rel=1e-5)


def test_gaussian_sigma_equals_diffprivlibs_analytic_gaussian():
    from diffprivlib.mechanisms import GaussianAnalytic

    for epsilon in (0.3, 1.0, 4.0):
        theirs = GaussianAnalytic(epsilon=epsilon, delta=1e-5, sensitivity=2.0)
        assert mechanisms.gaussian_sigma(2.0, epsilon, 1e-5) == pytest.approx(
            theirs._scale, rel=1e-6
        )


def test_gaussian_sigma_is_below_the_textbook_bound():
    for epsilon in (0.1, 0.5, 0.99):
        textbook = math.sqrt(2 * math.log(1.25 / 1e-5)) / epsilon
        assert mechanisms.gaussian_sigma(1, epsilon, 1e-5) < textbook


def test_gaussian_noise_has_its_sigma():
    errors = mechanisms.gaussian(np.full(DRAWS, 7.0), 1, 1, 1e-5, rng()) - 7
    sigma = mechanisms.gaussian_sigma(1, 1, 1e-5)
    assert stats.kstest(errors, stats.norm(scale=sigma).cdf).pvalue > 0.01
    assert isinstance(mechanisms.gaussian(3, 1, 1, 1e-5, rng()), float)


# --- means and counts ----------------------------------------------------------------------------


def test_mean_sensitivity_is_reached_and_never_exceeded():
    """Every replacement of one of a few values by another, on a grid that includes both bounds."""
    lower, upper, n = 5.0, 30.0, 4
    values = np.array([5.0, 30.0, 12.0, 44.0])
    moves = [
        abs(np.clip(np.append(np.delete(values, k), new), lower, upper).mean()
            - np.clip(values, lower, upper).mean())
        for k in range(n)
        for new in np.linspace(-10, 50, 61)
    ]  # fmt: skip
    assert max(moves) == pytest.approx(mechanisms.mean_sensitivity(lower, upper, n))


def test_bounded_mean_under_replace_one_is_the_clipped_mean_with_laplace_noise():
    values = np.array([0.0, 10.0, 10.0, 99.0])
    released = np.array(
        [mechanisms.bounded_mean(values, 5, 15, 2.0, rng(seed)) for seed in range(4000)]
    )
    scale = (15 - 5) / 4 / 2.0
    assert stats.kstest(released - 10.0, stats.laplace(scale=scale).cdf).pvalue > 0.01


def test_bounded_mean_under_add_remove_spends_half_on_each_part():
    """With the generator's own draws put in by hand, the quotient comes out the same."""
    values = rng(1).uniform(0, 40, 500)
    clipped = np.clip(values, 5, 30)
    for seed in range(20):
        noise = rng(seed)
        total = np.sum(clipped - 17.5) + noise.laplace(0, 12.5 / 0.4)
        expected = 17.5 + total / (500 + noise.laplace(0, 1 / 0.4))
        found = mechanisms.bounded_mean(values, 5, 30, 0.8, rng(seed), adjacency="add/remove")
        assert found == pytest.approx(expected, rel=1e-12)


def test_bounded_mean_under_add_remove_stays_within_the_bounds():
    for seed in range(200):
        found = mechanisms.bounded_mean([], 5, 30, 0.1, rng(seed), adjacency="add/remove")
        assert 5 <= found <= 30


def test_a_count_is_off_by_laplace_noise_of_scale_one_over_epsilon():
    flags = np.arange(100) < 30
    released = np.array([mechanisms.noisy_count(flags, 0.5, rng(seed)) for seed in range(4000)])
    assert stats.kstest(released - 30, stats.laplace(scale=2.0).cdf).pvalue > 0.01


def test_the_same_generator_gives_the_same_release():
    for release in (
        lambda g: mechanisms.laplace(1.0, 1, 1, g),
        lambda g: mechanisms.gaussian(1.0, 1, 1, 1e-5, g),
        lambda g: mechanisms.bounded_mean([1.0, 2.0], 0, 3, 1, g),
        lambda g: mechanisms.bounded_mean([1.0, 2.0], 0, 3, 1, g, adjacency="add/remove"),
        lambda g: mechanisms.noisy_count([True, False], 1, g),
    ):
        assert release(rng(3)) == release(rng(3)) != release(rng(4))


# --- diffprivlib's regression, on which the breast cancer lab leans ------------------------------


def test_diffprivlib_without_privacy_is_scikit_learns_regression():
    """At ε = ∞ the noise is zero, and the two fit the same coefficients."""
    from diffprivlib.models import LogisticRegression as PrivateRegression
    from sklearn.linear_model import LogisticRegression

    from course_lib.data import load_breast_cancer

    data = load_breast_cancer()
    X = (data.x - data.x.mean(axis=0)) / data.x.std(axis=0)
    settings = {"C": 0.1, "tol": 1e-8, "max_iter": 5000}
    private = PrivateRegression(epsilon=math.inf, data_norm=1e6, **settings).fit(X, data.y)
    plain = LogisticRegression(**settings).fit(X, data.y)
    np.testing.assert_allclose(private.coef_, plain.coef_, atol=1e-4)
    np.testing.assert_allclose(private.intercept_, plain.intercept_, atol=1e-4)


# --- what goes wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf])
def test_bad_epsilons_are_named(bad):
    sentence = f"epsilon is {bad}: expected a positive number"
    for call in (
        lambda: mechanisms.laplace(1.0, 1, bad, rng()),
        lambda: mechanisms.gaussian(1.0, 1, bad, 1e-5, rng()),
        lambda: mechanisms.bounded_mean([1.0], 0, 2, bad, rng()),
        lambda: mechanisms.bounded_mean([1.0], 0, 2, bad, rng(), adjacency="add/remove"),
        lambda: mechanisms.noisy_count([True], bad, rng()),
    ):
        with pytest.raises(ValueError, match=sentence):
            call()


@pytest.mark.parametrize("bad", [0, 1, -0.1, math.nan])
def test_bad_deltas_are_named(bad):
    with pytest.raises(ValueError, match=f"delta is {bad}: expected a number between 0 and 1"):
        mechanisms.gaussian(1.0, 1, 1, bad, rng())


@pytest.mark.parametrize("bounds", [(30, 5), (5, 5), (math.nan, 5), (0, math.inf)])
def test_bounds_in_the_wrong_order_are_named(bounds):
    sentence = "the bounds are .* expected two finite numbers, the smaller first"
    with pytest.raises(ValueError, match=sentence):
        mechanisms.mean_sensitivity(*bounds, 10)
    for adjacency in accounting.ADJACENCIES:
        with pytest.raises(ValueError, match=sentence):
            mechanisms.bounded_mean([1.0], *bounds, 1, rng(), adjacency=adjacency)


def test_other_bad_input_is_named():
    with pytest.raises(ValueError, match="sensitivity is 0: expected a positive number"):
        mechanisms.laplace(1.0, 0, 1, rng())
    with pytest.raises(ValueError, match="sensitivity is nan"):
        mechanisms.gaussian_sigma(math.nan, 1, 1e-5)
    with pytest.raises(ValueError, match="n is 0: expected a number of records"):
        mechanisms.mean_sensitivity(0, 1, 0)
    with pytest.raises(ValueError, match="values is empty"):
        mechanisms.bounded_mean([], 0, 1, 1, rng())
    with pytest.raises(ValueError, match="1 of 3 values are NaN or infinite"):
        mechanisms.bounded_mean([1.0, math.nan, 2.0], 0, 3, 1, rng())
    with pytest.raises(ValueError, match="adjacency is 'substitute': expected one of add/remove"):
        mechanisms.bounded_mean([1.0], 0, 2, 1, rng(), adjacency="substitute")
    with pytest.raises(TypeError, match="flags holds int64 values: expected bool"):
        mechanisms.noisy_count(np.array([1, 0]), 1, rng())
    with pytest.raises(ValueError, match=r"no noise multiplier up to 1e\+07 reaches"):
        mechanisms.gaussian_sigma(1, 1e-9, 1e-12)
