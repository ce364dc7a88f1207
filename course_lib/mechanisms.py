"""Releases with noise: the Laplace and the Gaussian mechanism, bounded means and counts.

The noise is measured against a **sensitivity**: how far the exact answer can move between two
neighbouring data sets. It has to follow from numbers that are fixed before anybody looks at the
data. What neighbours are is the ``adjacency``: under ``"replace-one"`` one record takes another's
place, and the number of records n is public; under ``"add/remove"`` one record is there or not, and
n is private.

The draws are ordinary floating point numbers from an ordinary generator, which is fine for
teaching. A real release needs noise whose last bits give nothing away (Mironov 2012).
"""

import math

import numpy as np

from course_lib.accounting import ADJACENCIES, noise_multiplier


def laplace_scale(sensitivity, epsilon):
    """Return the scale b = Δ/ε of the Laplace mechanism.

    Laplace noise of scale b has the mean absolute value b, the standard deviation √2 b, and exceeds
    b ln(1/p) in absolute value with probability p.

    Args:
        sensitivity: Δ, the largest change of the answer between neighbours, in the L1 norm.
        epsilon: ε of the release, positive.

    Raises:
        ValueError: for an argument out of its range.
    Source: Dwork, McSherry, Nissim and Smith (2006), theorem 1; Dwork and Roth (2014), section 3.3.
    """
    _check_sensitivity(sensitivity)
    _check_epsilon(epsilon)
    return sensitivity / epsilon


def laplace(value, sensitivity, epsilon, rng):
    """Return a value with Laplace noise: an (ε, 0)-private release of it.

    Args:
        value: number or array; every entry gets noise of its own.
        sensitivity, epsilon: as for ``laplace_scale``; for an array Δ is the L1 norm of the change.
        rng: numpy Generator.

    Returns:
        float, or a float64 array of the shape of ``value``.

    Raises, source: as ``laplace_scale``; ValueError also for a value that is not finite.
    """
    scale = laplace_scale(sensitivity, epsilon)
    value = _checked_value(value)
    return _plain(value + rng.laplace(0, scale, value.shape))


def gaussian_sigma(sensitivity, epsilon, delta):
    """Return the smallest standard deviation with which Gaussian noise is (ε, δ)-private.

    It is exact, and holds for every ε > 0. The textbook's √(2 ln(1.25/δ)) Δ/ε is larger, and proved
    for ε < 1 only.

    Args:
        sensitivity: Δ, the largest change of the answer between neighbours, in the L2 norm.
        epsilon, delta: of the release; ε positive, the additive slack δ between 0 and 1.

    Raises:
        ValueError: for an argument out of its range, or an (ε, δ) that no noise in reach gives.
    Source: Balle and Wang (2018), theorem 8.
    """
    _check_sensitivity(sensitivity)
    # one step of the full batch; the sensitivity already says what the neighbours are
    return sensitivity * noise_multiplier(epsilon, 1, 1, delta, accountant="gaussian")


def gaussian(value, sensitivity, epsilon, delta, rng):
    """Return a value with Gaussian noise: an (ε, δ)-private release of it.

    Args:
        value: number or array; every entry gets noise of its own.
        sensitivity, epsilon, delta: as for ``gaussian_sigma``; for an array Δ is the L2 norm of the
            change.
        rng: numpy Generator.

    Returns:
        float, or a float64 array of the shape of ``value``.

    Raises, source: as ``gaussian_sigma``; ValueError also for a value that is not finite.
    """
    sigma = gaussian_sigma(sensitivity, epsilon, delta)
    value = _checked_value(value)
    return _plain(value + rng.normal(0, sigma, value.shape))


def mean_sensitivity(lower, upper, n):
    """Return (U − L)/n, how far the mean of n values between L and U can move under replace-one.

    Args:
        lower, upper: bounds fixed before the data was seen; values are clipped to them.
        n: number of records, public.

    Raises:
        ValueError: for bounds in the wrong order or not finite, or ``n`` below 1.
    """
    _check_bounds(lower, upper)
    if isinstance(n, bool) or n != int(n) or n < 1:
        raise ValueError(f"n is {n}: expected a number of records, a whole number from 1 up")
    return (upper - lower) / n


def bounded_mean(values, lower, upper, epsilon, rng, adjacency="replace-one"):
    """Return an (ε, 0)-private mean of values that are clipped to public bounds.

    Under replace-one n is public, and the clipped mean gets Laplace noise of scale (U − L)/(n ε).
    Under add/remove n is private: half of ε goes to the sum of the values' distances from the
    bounds' midpoint, which one record moves by at most (U − L)/2, and half to n, which it moves by
    1. Their quotient, put back between the bounds, costs nothing more.

    Args:
        values: array of numbers; its entries are read as one list of records.
        lower, upper: bounds fixed before the data was seen.
        epsilon: of the release, positive.
        rng: numpy Generator.
        adjacency: ``"replace-one"`` or ``"add/remove"``.

    Returns:
        float; under replace-one the noise may carry it out of the bounds.

    Raises:
        ValueError: for an argument out of its range, values that are not finite, or, under
            replace-one, no value at all.
    Source: Dwork and Roth (2014), section 3.3; for noisy sum over noisy count, Li, Lyu, Su and Yang
    (2016).
    """
    _check_bounds(lower, upper)
    _check_epsilon(epsilon)
    _check_adjacency(adjacency)
    clipped = np.clip(_checked_value(values).ravel(), lower, upper)
    if adjacency == "replace-one":
        if clipped.size == 0:
            raise ValueError("values is empty: under replace-one the mean of no record is unknown")
        sensitivity = mean_sensitivity(lower, upper, clipped.size)
        return laplace(clipped.mean(), sensitivity, epsilon, rng)
    middle, reach = (lower + upper) / 2, (upper - lower) / 2
    total = laplace(np.sum(clipped - middle), reach, epsilon / 2, rng)
    count = laplace(clipped.size, 1, epsilon / 2, rng)
    return float(np.clip(middle + total / max(count, 1.0), lower, upper))


def noisy_count(flags, epsilon, rng):
    """Return an (ε, 0)-private count of the records with a property.

    One record moves it by at most 1, whether it takes another's place or is added, so the adjacency
    makes no difference here.

    Args:
        flags: bool array, one entry a record.
        epsilon: of the release, positive.
        rng: numpy Generator.

    Returns:
        float, possibly negative: rounding and cutting it off afterwards costs no privacy.

    Raises:
        TypeError: if ``flags`` is not bool.
        ValueError: if ε is not positive.
    Source: Dwork and Roth (2014), section 3.3.
    """
    flags = np.asarray(flags)
    if flags.dtype != bool:
        raise TypeError(f"flags holds {flags.dtype} values: expected bool, one for each record")
    return laplace(np.count_nonzero(flags), 1, epsilon, rng)


# --- checks --------------------------------------------------------------------------------------


def _plain(values):
    return float(values) if np.ndim(values) == 0 else values


def _checked_value(value):
    value = np.asarray(value, dtype=np.float64)
    n_bad = int(np.count_nonzero(~np.isfinite(value)))
    if n_bad:
        raise ValueError(
            f"{n_bad} of {value.size} values are NaN or infinite: replace or drop them first, by a "
            "rule that looks at one record at a time"
        )
    return value


def _check_sensitivity(value):
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(
            f"sensitivity is {value}: expected a positive number, from bounds fixed before the "
            "data was seen"
        )


def _check_epsilon(value):
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"epsilon is {value}: expected a positive number")


def _check_bounds(lower, upper):
    if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
        raise ValueError(
            f"the bounds are {lower} and {upper}: expected two finite numbers, the smaller first"
        )


def _check_adjacency(adjacency):
    if adjacency not in ADJACENCIES:
        raise ValueError(f"adjacency is {adjacency!r}: expected one of {', '.join(ADJACENCIES)}")
