"""How far a figure of another machine may be from the committed one; as the README says.

Another processor sums in another order, and the training of a network carries the last bits on.
What is computed without a network comes out to six digits and more. The bounds are three
times what was found when the labs ran with the instructions of a processor of 2008 (SSE 4.2) for
those of a new one; what comes from few records, or from an extreme, has the widest.
"""

import re

# By the name of the figure; the first that matches counts. Absolute.
_BY_KIND = (
    (r"^bench_difference$", 0.1),  # of two ways to the same loss, in single precision
    (r"_audit_(all_)?eps_lo", 0.5),
    (r"^canary_tpr_", 0.03),
    (r"precision_", 0.01),
    (r"^phi_sd$", 0.05),
    (r"_null_", 0.003),
    (r"(^|_)eps(_|$)|_bound_|_tradeoff_|_ceiling_", 1e-6),
    (r"acc(_|$)", 0.005),
    (r"auc(_|$)", 0.003),
    (r"tpr_\d", 0.006),
)
_RELATIVE = 1e-6
_ZERO = 1e-12


def bound(key, value):
    """Return how far a figure may move, given its committed value."""
    if isinstance(value, bool | int | str):
        return 0
    for pattern, absolute in _BY_KIND:
        if re.search(pattern, key):
            return absolute
    return max(_RELATIVE * abs(value), _ZERO)
