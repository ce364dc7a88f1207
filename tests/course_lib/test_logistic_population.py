"""Populations of logistic regressions, by Newton and by DP-SGD, and every attack on them."""

import time
import tracemalloc

import numpy as np
import pytest
import torch
from scipy.special import expit
from scipy.stats import ks_1samp, norm
from sklearn.linear_model import LogisticRegression

from course_lib import accounting, attacks, credit, metrics, models, population
from course_lib.dpsgd import DPSGD

P, N_IN, M, LAM = 80, 40, 24, 1e-3


@pytest.fixture(scope="module")
def pool():
    world = credit.make_credit(P, np.random.default_rng(0))
    return credit.Featurizer(2)(world["X"]), world["y"]


@pytest.fixture(scope="module")
def trained(pool):
    return population.train_population(*pool, M, N_IN, LAM, np.random.default_rng(1))


# --- training ------------------------------------------------------------------------------------


def test_members_are_the_first_of_a_permutation_model_after_model(trained):
    IN, PHI, THETA = trained
    rng = np.random.default_rng(1)
    for is_member in IN:
        assert set(np.flatnonzero(is_member)) == set(rng.permutation(P)[:N_IN])
    assert IN.dtype == bool and IN.shape == PHI.shape == (M, P) and THETA.shape == (M, 21)


def test_models_are_scikit_learns(pool, trained):
    A, y = pool
    IN, PHI, THETA = trained
    for m in (0, M - 1):
        fitted = LogisticRegression(C=1 / (LAM * N_IN), solver="newton-cholesky", tol=1e-12)
        fitted.fit(A[IN[m], 1:], y[IN[m]])
        expected = np.append(fitted.intercept_, fitted.coef_[0])
        np.testing.assert_allclose(THETA[m], expected, rtol=1e-5, atol=1e-6)
        phi = (2 * y - 1) * fitted.decision_function(A[:, 1:])
        np.testing.assert_allclose(PHI[m], phi, rtol=1e-5, atol=1e-5)


def test_copies_are_rows_that_are_there_several_times(pool):
    A, y = pool
    copies = np.ones(P, int)
    copies[:5] = [2, 3, 4, 1, 9]
    IN, _, THETA = population.train_population(A, y, 6, N_IN, LAM, np.random.default_rng(2), copies)
    plain, _, other = population.train_population(A, y, 6, N_IN, LAM, np.random.default_rng(2))
    np.testing.assert_array_equal(IN, plain)  # membership is by record
    for m in range(6):
        rows = np.repeat(np.arange(P), copies * IN[m])
        expected = models.fit_logistic_newton(A[rows], y[rows], LAM)
        np.testing.assert_allclose(THETA[m], expected, rtol=1e-8, atol=1e-9)
    assert np.abs(THETA - other).max() > 0.01


def test_population_sizes_are_checked(pool):
    A, y = pool

    def train(n_models=2, n_in=N_IN, copies=None, labels=y):
        rng = np.random.default_rng(0)
        return population.train_population(A, labels, n_models, n_in, LAM, rng, copies)

    with pytest.raises(ValueError, match="n_models is 0"):
        train(n_models=0)
    for n_in in (0, P + 1):
        with pytest.raises(ValueError, match=f"n_in is {n_in}; a pool of {P} records"):
            train(n_in=n_in)
    for copies in (np.zeros(P, int), np.ones(P), np.ones(P - 1, int)):
        with pytest.raises(ValueError, match=f"copies must be {P} whole numbers from 1 up"):
            train(copies=copies)
    with pytest.raises(ValueError, match="model 0's training set has no record with label 0"):
        train(labels=np.ones(P, int))


def test_a_population_of_256_takes_a_moment():
    world = credit.make_credit(1_000, np.random.default_rng(3))
    A = credit.Featurizer(3)(world["X"])
    seconds = []
    for _ in range(3):
        start = time.process_time()
        population.train_population(A, world["y"], 256, 500, LAM, np.random.default_rng(0))
        seconds.append(time.process_time() - start)
    assert min(seconds) < 2  # 0.3 on one core when nothing else runs; one after another takes 5


# --- DP-SGD --------------------------------------------------------------------------------------

SETTINGS = DPSGD(
    sampling_rate=0.3, steps=5, max_grad_norm=0.5, learning_rate=0.7, expected_batch_size=12.0
)


def literal_dpsgd(A, y, is_member, coins, noise, z, settings):
    """One model, one record after the other, with gradients by autograd."""
    theta = torch.zeros(A.shape[1], dtype=torch.float64, requires_grad=True)
    for step in range(settings.steps):
        total = torch.zeros_like(theta)
        for i in range(len(A)):
            if is_member[i] and coins[step, i] < settings.sampling_rate:
                phi = (2.0 * y[i] - 1) * (torch.from_numpy(A[i]) @ theta)
                (g,) = torch.autograd.grad(torch.nn.functional.softplus(-phi), theta)
                total += g * min(1.0, settings.max_grad_norm / g.norm().item())
        noisy = total - z * settings.max_grad_norm * torch.from_numpy(noise[step])
        with torch.no_grad():
            theta -= settings.learning_rate * noisy / settings.expected_batch_size
    return theta.detach().numpy()


@pytest.mark.parametrize("z", [0.0, 1.3])
def test_dpsgd_equals_the_literal_loop(pool, z):
    A, y = pool
    IN = np.random.default_rng(4).random((3, P)) < 0.5
    PHI, THETA = population.train_logistic_dpsgd(A, y, IN, z, SETTINGS, np.random.default_rng(5))
    coin_rng, noise_rng = np.random.default_rng(5).spawn(2)
    coins = coin_rng.random((SETTINGS.steps, 3, P))
    noise = noise_rng.normal(size=(SETTINGS.steps, 3, A.shape[1]))
    for m in range(3):
        expected = literal_dpsgd(A, y, IN[m], coins[:, m], noise[:, m], z, SETTINGS)
        np.testing.assert_allclose(THETA[m], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(PHI, models.true_label_logit(THETA, A, y), rtol=1e-12)


def test_non_members_do_not_matter(pool):
    A, y = pool
    IN = np.random.default_rng(6).random((2, P)) < 0.5
    IN[:, 0] = False
    changed = A.copy()
    changed[0] *= 100
    found = [
        population.train_logistic_dpsgd(rows, y, IN, 1.0, SETTINGS, np.random.default_rng(7))[1]
        for rows in (A, changed)
    ]
    np.testing.assert_array_equal(*found)


def test_long_gentle_descent_arrives_at_newtons_optimum(pool):
    """Without noise and clipping it is gradient descent, and without a penalty it finds the MLE."""
    _, y = pool
    A = credit.Featurizer(1)(credit.make_credit(P, np.random.default_rng(0))["X"])
    IN = np.ones((1, P), bool)
    settings = DPSGD(
        sampling_rate=1.0, steps=4000, max_grad_norm=1e6, learning_rate=1.0, expected_batch_size=P
    )
    _, THETA = population.train_logistic_dpsgd(A, y, IN, 0.0, settings, np.random.default_rng(0))
    expected = models.fit_logistic_newton(A, y, 1e-12)
    np.testing.assert_allclose(THETA[0], expected, atol=1e-5)


def test_one_step_has_the_sensitivity_and_the_noise_that_are_accounted_for(pool):
    """A record moves the sum by at most C; the noise on every coordinate is N(0, (zC)²)."""
    A, y = pool
    one = DPSGD(
        sampling_rate=1.0, steps=1, max_grad_norm=0.5, learning_rate=1.0, expected_batch_size=1.0
    )
    IN = np.ones((P + 1, P), bool)
    IN[np.arange(P), np.arange(P)] = False  # model i lacks record i, the last lacks none
    _, THETA = population.train_logistic_dpsgd(A, y, IN, 0.0, one, np.random.default_rng(0))
    moved = np.linalg.norm(THETA[:-1] - THETA[-1], axis=1)
    assert 0.49 < moved.max() <= 0.5 + 1e-12
    IN = np.ones((2_000, P), bool)
    _, noisy = population.train_logistic_dpsgd(A, y, IN, 3.0, one, np.random.default_rng(8))
    assert ks_1samp(((noisy - THETA[-1]) / 1.5).ravel(), norm.cdf).pvalue > 0.001


def test_an_optimal_attack_on_one_step_meets_the_ceiling():
    """The best test knows the direction: its TPR is Φ(Φ⁻¹(FPR) + 1/z), and no larger."""
    A = np.array([[1.0, 0.0, 3.0]])
    y = np.array([1])
    one = DPSGD(
        sampling_rate=1.0, steps=1, max_grad_norm=1.0, learning_rate=1.0, expected_batch_size=1.0
    )
    z = accounting.noise_multiplier(1.0, 1.0, 1, 1e-5, accountant="gaussian")
    IN = np.arange(200_000)[:, None] < 100_000
    _, THETA = population.train_logistic_dpsgd(A, y, IN, z, one, np.random.default_rng(9))
    score = THETA @ A[0] / np.linalg.norm(A[0])
    found = metrics.attack_metrics(score, IN[:, 0])
    for alpha, name in ((0.01, "tpr_1"), (0.001, "tpr_01")):
        ceiling = norm.cdf(norm.ppf(alpha) + 1 / z)
        assert found[name] == pytest.approx(ceiling, abs=4 * np.sqrt(ceiling / 100_000))


def test_dpsgd_arguments_are_checked(pool):
    A, y = pool
    IN = np.ones((2, P), bool)
    with pytest.raises(ValueError, match="IN is int64"):
        population.train_logistic_dpsgd(
            A, y, IN.astype(int), 1.0, SETTINGS, np.random.default_rng()
        )
    with pytest.raises(ValueError, match="IN is bool of shape"):
        population.train_logistic_dpsgd(A, y, IN[:, 1:], 1.0, SETTINGS, np.random.default_rng())
    with pytest.raises(ValueError, match="noise_multiplier is -1"):
        population.train_logistic_dpsgd(A, y, IN, -1, SETTINGS, np.random.default_rng())
    with pytest.raises(ValueError, match="y has shape"):
        population.train_logistic_dpsgd(A, y[1:], IN, 1.0, SETTINGS, np.random.default_rng())


# --- every attack, on models that were really trained -------------------------------------------


def all_scores(A, y, IN, PHI, THETA):
    """All attacks of the lab on every model of a population."""
    fresh = credit.make_credit(400, np.random.default_rng(10))
    PHI_fresh = models.true_label_logit(THETA, credit.Featurizer(2)(fresh["X"]), fresh["y"])
    own = credit.make_credit(P, np.random.default_rng(11))
    own_A = credit.Featurizer(2)(own["X"])
    own_IN, own_PHI, _ = population.train_population(
        own_A, own["y"], 8, N_IN, LAM, np.random.default_rng(12)
    )
    shokri = attacks.ShokriAttack(1e-3).fit(own_PHI, own_IN, own["y"])
    return {
        "gap": attacks.gap_scores(PHI),
        "loss": attacks.loss_scores(PHI),
        "gradnorm": attacks.gradnorm_scores(PHI, A),
        "cal": attacks.calibrated_loss_scores_all(PHI, IN),
        "lira_on": attacks.lira_scores_all(PHI, IN),
        "lira_off": attacks.lira_scores_all(PHI, IN, online=False),
        "lira_on_fixed": attacks.lira_scores_all(PHI, IN, fixed_var=True),
        "lira_off_fixed": attacks.lira_scores_all(PHI, IN, online=False, fixed_var=True),
        "lira_prob": attacks.lira_scores_all(PHI, IN, stat=models.sigmoid),
        "lira_off_prob": attacks.lira_scores_all(PHI, IN, online=False, stat=models.sigmoid),
        "rmia_on": attacks.rmia_scores_all(PHI, IN, PHI_fresh, True),
        "rmia_off": attacks.rmia_scores_all(PHI, IN, PHI_fresh, False, a=1.0),
        "shokri": np.stack([shokri.score(phi, y) for phi in PHI]),
    }


def coin_design(A, y, rng):
    IN = np.stack([population.coin_membership(P, rng) for _ in range(M)])
    THETA = models.fit_logistic_newton(A, y, LAM, weights=IN)
    return IN, models.true_label_logit(THETA, A, y), THETA


@pytest.mark.parametrize("design", ["halves", "coins"])
def test_without_a_signal_no_attack_finds_one(pool, trained, design):
    """Real outputs, and memberships that were drawn by the same design but trained nothing."""
    A, y = pool
    IN, PHI, THETA = trained if design == "halves" else coin_design(A, y, np.random.default_rng(13))
    if design == "halves":
        rng = np.random.default_rng(14)
        shuffled = np.zeros_like(IN)
        for is_member in shuffled:
            is_member[rng.permutation(P)[:N_IN]] = True
    else:
        shuffled = np.random.default_rng(14).random(IN.shape) < 0.5
    for name, scores in all_scores(A, y, shuffled, PHI, THETA).items():
        low, high = metrics.pair_intervals(scores, shuffled, np.random.default_rng(0), 300, 0.99)[
            "auc"
        ]
        assert low <= 0.5 <= high, name


@pytest.mark.parametrize("design", ["halves", "coins"])
def test_with_a_signal_every_attack_finds_it(pool, trained, design):
    A, y = pool
    IN, PHI, THETA = trained if design == "halves" else coin_design(A, y, np.random.default_rng(13))
    for name, scores in all_scores(A, y, IN, PHI, THETA).items():
        assert metrics.attack_metrics(scores, IN)["auc"] > 0.52, name


def test_informed_adversary_knows(pool, trained):
    """At the optimum the gradients balance, and only the true record closes the gap."""
    A, y = pool
    IN, PHI, THETA = trained
    pull = -(expit(-PHI[0]) * (2 * y - 1))[:, None] * A
    missing, *known = np.flatnonzero(IN[0])
    penalty = LAM * np.append(0, THETA[0, 1:])
    candidates = np.append(missing, np.flatnonzero(~IN[0]))
    left = np.abs((pull[known].sum(axis=0) + pull[candidates]) / N_IN + penalty).max(axis=1)
    assert left[0] < 1e-12 < 1e-6 < left[1:].min()


def test_memory_is_a_few_times_the_pairs():
    world = credit.make_credit(500, np.random.default_rng(15))
    A, y = credit.Featurizer(1)(world["X"]), world["y"]
    pairs = 3_000 * 500 * 8
    tracemalloc.start()
    try:
        IN, PHI, _ = population.train_population(A, y, 3_000, 250, LAM, np.random.default_rng(16))
        assert tracemalloc.get_traced_memory()[1] < 5 * pairs
        tracemalloc.reset_peak()
        attacks.lira_scores_all(PHI, IN)
        assert tracemalloc.get_traced_memory()[1] < 8 * pairs
    finally:
        tracemalloc.stop()
