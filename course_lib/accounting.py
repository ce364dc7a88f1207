"""The ε of noisy gradient descent: from a noise multiplier, a sampling rate and a number of steps.

The mechanism is the one of DP-SGD: each step draws every record with probability ``sampling_rate``
(Poisson sampling; a rate of 1 is the full batch), clips its gradient to norm C and adds Gaussian
noise with standard deviation ``noise_multiplier`` · C to the sum.

Two adjacencies give two different numbers. Under ``"add/remove"`` neighbours differ by one record
that is there or not, and the clipped sum moves by at most C. Under ``"replace-one"`` a record takes
another's place, and the sum moves by at most 2C.

Four accountants turn the noise into ε. ``"rdp"`` and ``"prv"`` are Opacus', ``"pld"`` is Google's
dp_accounting; each gives an upper bound. ``"gaussian"`` is exact and knows the full batch only.
Opacus and dp_accounting take a second or more to import, so that happens at the first use.
"""

import functools
import math
import warnings

import numpy as np

ACCOUNTANTS = ("rdp", "prv", "pld", "gaussian")
ADJACENCIES = ("add/remove", "replace-one")
NOISE_RANGE = (1e-3, 1e7)
"""Where ``noise_multiplier`` and ``classical_noise_multiplier`` search."""

# Opacus' own orders end at 63, which is too few when the noise is large; 1024 is the largest power
# of two whose binomial coefficients fit a float.
_RDP_ORDERS = [1 + x / 10 for x in range(1, 100)] + list(range(12, 64)) + [64, 128, 256, 512, 1024]
_PRV_EPS_ERROR = 0.01
_PLD_POINTS = 20_000


def epsilon(
    noise_multiplier, sampling_rate, steps, delta, accountant="rdp", adjacency="add/remove"
):
    """Return the ε at which the mechanism is (ε, δ)-differentially private.

    Args:
        noise_multiplier: noise standard deviation over C; 0 gives infinity.
        sampling_rate: probability of a record to be in a batch, over 0 and at most 1.
        steps: number of batches, empty ones included.
        delta: the additive slack δ, between 0 and 1.
        accountant: ``"rdp"`` (Mironov, Talwar and Zhang 2019, with the conversion of Balle et al.
            2020), ``"prv"`` (Gopi, Lee and Wutschitz 2021, an upper bound with an error of 0.01),
            ``"pld"`` (Doroshenko et al. 2022, an upper bound within about 1e-5 of itself), or
            ``"gaussian"`` (Balle and Wang 2018, exact, for the full batch).
        adjacency: ``"add/remove"`` or ``"replace-one"``. With batches that are sampled, only
            ``"pld"`` knows the latter.

    Returns:
        float, possibly infinite.

    Warns:
        UserWarning: if the best RDP order is the first or the last tried, so that the bound is
            loose, or if PRV failed and RDP stands in.

    Raises:
        ValueError: for an argument out of its range, or an accountant that does not know the case.
    """
    _check_noise(noise_multiplier)
    _check_mechanism(sampling_rate, steps, accountant, adjacency)
    _check_delta(delta)
    return _epsilon(noise_multiplier, sampling_rate, steps, delta, accountant, adjacency)


def noise_multiplier(
    epsilon, sampling_rate, steps, delta, accountant="rdp", adjacency="add/remove"
):
    """Return the smallest noise multiplier with which the mechanism is (ε, δ)-private.

    Args:
        epsilon: the target, positive.
        sampling_rate, steps, delta, accountant, adjacency: as for the function ``epsilon``.

    Returns:
        float; its ε is the target or, within the accountant's own precision, just below.

    Raises:
        ValueError: for an argument out of its range, or a target that no noise multiplier in
            ``NOISE_RANGE`` reaches.
    """
    _check_epsilon(epsilon)
    _check_mechanism(sampling_rate, steps, accountant, adjacency)
    _check_delta(delta)

    @functools.cache
    def found(z):
        return _epsilon(z, sampling_rate, steps, delta, accountant, adjacency)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about noises tried on the way
        z = _smallest_noise(found, epsilon, f"the {accountant} accountant")
    _epsilon(z, sampling_rate, steps, delta, accountant, adjacency)  # says if this one is loose
    return z


def privacy_profile(epsilons, noise_multiplier, sampling_rate, steps, adjacency="add/remove"):
    """Return δ(ε), the smallest δ for each ε: the mechanism's privacy profile, by PLD.

    One (ε, δ) is a single point of this curve. The values are upper bounds: losses are rounded, on
    a grid of about one 20,000th of the mechanism's typical ε, in the direction that overstates δ.

    Args:
        epsilons: array of numbers from 0 up, in any order.
        noise_multiplier: over 0.
        sampling_rate, steps, adjacency: as for ``epsilon``.

    Returns:
        float64 array of the shape of ``epsilons``.

    Raises:
        ValueError: for an argument out of its range.
    Source: Balle, Barthe and Gaboardi (2018); Doroshenko, Ghazi, Kamath, Kumar and Manurangsi
    (2022).
    """
    _check_noise(noise_multiplier)
    _check_mechanism(sampling_rate, steps, "pld", adjacency)
    epsilons = np.asarray(epsilons, dtype=np.float64)
    if not np.all(epsilons >= 0):
        raise ValueError("epsilons holds a value below 0 or NaN: expected numbers from 0 up")
    if noise_multiplier == 0:
        return np.ones(epsilons.shape)
    pld = _privacy_loss(noise_multiplier, sampling_rate, steps, adjacency)
    order = np.argsort(epsilons, axis=None)
    deltas = np.empty(epsilons.size)
    deltas[order] = pld.get_delta_for_epsilon(epsilons.ravel()[order])
    return np.clip(deltas, 0, 1).reshape(epsilons.shape)


def classical_epsilon(noise_multiplier, steps, delta):
    """Return the ε of textbook accounting for full batches under add/remove, for comparison only.

    Each step is given ε₀ = √(2 ln(1.25 T/δ))/z, and T steps add up by advanced composition to
    √(2T ln(1/δ)) ε₀ + T ε₀ (e^ε₀ − 1). Two warnings: the bound for one step is proved for ε₀ < 1
    only, and the steps' δ/T sum to δ beside the δ of the composition, 2δ in all. The result is a
    loose upper bound where it holds; ``epsilon`` with ``"gaussian"`` is the exact value.

    Raises:
        ValueError: for an argument out of its range.
    Source: Dwork and Roth (2014), theorems A.1 and 3.20.
    """
    _check_noise(noise_multiplier)
    _check_steps(steps)
    _check_delta(delta)
    if noise_multiplier == 0:
        return math.inf
    per_step = math.sqrt(2 * math.log(1.25 * steps / delta)) / noise_multiplier
    if per_step > 700:  # its exponential leaves the floats
        return math.inf
    advanced = math.sqrt(2 * steps * math.log(1 / delta)) * per_step
    return advanced + steps * per_step * math.expm1(per_step)


def classical_noise_multiplier(epsilon, steps, delta):
    """Return the noise multiplier to which ``classical_epsilon`` gives the target ε.

    Raises:
        ValueError: for an argument out of its range, or a target that is not reached in
            ``NOISE_RANGE``.
    """
    _check_epsilon(epsilon)
    _check_steps(steps)
    _check_delta(delta)
    return _smallest_noise(
        lambda z: classical_epsilon(z, steps, delta), epsilon, "classical composition"
    )


# --- one accountant each -------------------------------------------------------------------------


def _epsilon(z, rate, steps, delta, accountant, adjacency):
    if z == 0:
        return math.inf
    if rate == 1 and adjacency == "replace-one":
        # a Gaussian whose mean moves twice as far is one with half the noise
        return _epsilon(z / 2, rate, steps, delta, accountant, "add/remove")
    if accountant == "gaussian":
        from dp_accounting import get_epsilon_gaussian

        return float(get_epsilon_gaussian(z / math.sqrt(steps), delta))
    if accountant == "pld":
        return float(_privacy_loss(z, rate, steps, adjacency).get_epsilon_for_delta(delta))
    if accountant == "prv":
        return _prv_epsilon(z, rate, steps, delta)
    return _rdp_epsilon(z, rate, steps, delta)


def _rdp_epsilon(z, rate, steps, delta):
    from opacus.accountants.analysis.rdp import compute_rdp, get_privacy_spent

    rdp = compute_rdp(q=rate, noise_multiplier=z, steps=steps, orders=_RDP_ORDERS)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Optimal order is the")
        found, order = get_privacy_spent(orders=_RDP_ORDERS, rdp=rdp, delta=delta)
    if order in (_RDP_ORDERS[0], _RDP_ORDERS[-1]):
        warnings.warn(
            f"the best RDP order is {order:g}, the end of the orders tried: ε = {found:.4g} holds "
            "but is loose, the PLD accountant gives a smaller one",
            stacklevel=4,
        )
    return max(float(found), 0.0)


def _prv_epsilon(z, rate, steps, delta):
    from opacus.accountants import PRVAccountant

    accountant = PRVAccountant()
    accountant.history = [(z, rate, steps)]
    try:
        with np.errstate(divide="ignore"), warnings.catch_warnings():  # log(1 − q) at q = 1
            warnings.filterwarnings("ignore", message="Optimal order is the")  # sizes its grid
            return float(accountant.get_epsilon(delta, eps_error=_PRV_EPS_ERROR))
    except (RuntimeError, ValueError) as error:
        warnings.warn(
            f"the PRV accountant failed ({error}): the ε given is that of the RDP accountant, "
            "which is larger",
            stacklevel=4,
        )
        return _rdp_epsilon(z, rate, steps, delta)


@functools.lru_cache(maxsize=8)  # ε, δ(ε) and the trade-off curve of one run ask for the same
def _privacy_loss(z, rate, steps, adjacency):
    """Return dp_accounting's privacy loss distribution of the whole run, rounded upwards."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import privacy_loss_distribution

    if rate == 1:  # T full batches are one Gaussian
        z, steps = z / math.sqrt(steps), 1
    # the rounding of T steps adds up: T times the square of the grid's width over that of one step
    points = _PLD_POINTS * max(1.0, math.sqrt(steps / 1000))
    single = privacy_loss_distribution.from_gaussian_mechanism(
        z,
        value_discretization_interval=_typical_epsilon(z, rate, steps, adjacency) / points,
        sampling_prob=rate,
        neighboring_relation=(
            NeighboringRelation.ADD_OR_REMOVE_ONE
            if adjacency == "add/remove"
            else NeighboringRelation.REPLACE_ONE
        ),
    )
    return single if steps == 1 else single.self_compose(steps)


def _typical_epsilon(z, rate, steps, adjacency):
    """Return roughly the ε at δ = 1e-5, to choose a grid by: smooth, cheap and never infinite.

    The run is close to one Gaussian whose mean moves by μ: by the central limit theorem of Bu,
    Dong, Long and Su (2020) when little is sampled, and by no more than the full batch's μ.
    """
    full = math.sqrt(steps) / z
    sampled = rate * math.sqrt(steps * math.expm1(min(z**-2, 700.0)))
    mu = min(full, sampled) * (2 if adjacency == "replace-one" else 1)
    return mu**2 / 2 + 4.3 * mu


# --- the inverse ---------------------------------------------------------------------------------


def _smallest_noise(found, target, who):
    """Return the smallest z with ``found(z)`` ≤ target, for a ``found`` that falls as z grows."""
    from scipy.optimize import brentq

    smallest, largest = NOISE_RANGE
    low = high = 1.0
    while found(high) > target:
        if high == largest:
            raise ValueError(
                f"no noise multiplier up to {largest:g} reaches ε = {target:g} by {who} (with "
                f"{largest:g} it is {found(largest):.4g}): ask for a larger ε"
            )
        low, high = high, min(4 * high, largest)
    while low == high or found(low) <= target:
        if low == smallest:
            raise ValueError(
                f"every noise multiplier from {smallest:g} up stays below ε = {target:g} by {who} "
                f"(with {smallest:g} it is {found(smallest):.4g}): ask for a smaller ε"
            )
        low, high = max(low / 2, smallest), low

    def too_much(log_z):  # nearly a straight line, which brentq finishes in a few steps
        return math.log(min(max(found(math.exp(log_z)), 1e-300), 1e300) / target)

    z = math.exp(brentq(too_much, math.log(low), math.log(high), xtol=1e-10, rtol=1e-12))
    return z if found(z) <= target else z * (1 + 2e-10)


# --- checks --------------------------------------------------------------------------------------


def _check_mechanism(sampling_rate, steps, accountant, adjacency):
    if not 0 < sampling_rate <= 1:
        raise ValueError(
            f"sampling_rate is {sampling_rate}: expected a probability over 0 and at most 1"
        )
    _check_steps(steps)
    if accountant not in ACCOUNTANTS:
        raise ValueError(f"accountant is {accountant!r}: expected one of {', '.join(ACCOUNTANTS)}")
    if adjacency not in ADJACENCIES:
        raise ValueError(f"adjacency is {adjacency!r}: expected one of {', '.join(ADJACENCIES)}")
    if accountant == "gaussian" and sampling_rate != 1:
        raise ValueError(
            f'accountant "gaussian" knows full batches only, and sampling_rate is {sampling_rate}: '
            'use "pld"'
        )
    if adjacency == "replace-one" and sampling_rate != 1 and accountant != "pld":
        raise ValueError(
            f'accountant "{accountant}" knows replace-one for full batches only, and sampling_rate '
            f'is {sampling_rate}: use "pld"'
        )


def _check_steps(steps):
    if isinstance(steps, bool) or steps != int(steps) or steps < 1:
        raise ValueError(f"steps is {steps}: expected a whole number from 1 up")


def _check_noise(value):
    if not (value >= 0 and math.isfinite(value)):
        raise ValueError(f"noise_multiplier is {value}: expected a number from 0 up")


def _check_delta(delta):
    if not 0 < delta < 1:
        raise ValueError(f"delta is {delta}: expected a number between 0 and 1, such as 1e-5")


def _check_epsilon(value):
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"epsilon is {value}: expected a positive number")
