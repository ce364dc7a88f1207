"""Does a result agree with what was expected, and if not, in what?"""

import math
from dataclasses import dataclass

import numpy as np

from course_lib.exercises.shown import is_tensor, shown, type_name
from course_lib.language import _


@dataclass(frozen=True)
class Near:
    """A number, or an array of them, with a tolerance of its own: expected within ``atol``."""

    value: object
    atol: float


@dataclass(frozen=True)
class Between:
    """A number that may lie anywhere from ``low`` to ``high``."""

    low: float
    high: float


def difference(expected, result, rtol=1e-6, atol=1e-9):
    """Say in what a result differs from what was expected; an empty text where it does not.

    Parameters
    ----------
    expected : None, bool, number, str, array, tuple or dict of these, Near or Between
        Numbers and arrays of numbers are compared with the tolerances, the rest exactly.
    result : object
        Anything at all.
    rtol, atol : float
        As in ``numpy.isclose``: allowed is ``atol + rtol * abs(expected)``.

    Returns
    -------
    str
        One or two sentences.
    """
    if isinstance(expected, Near):
        return difference(expected.value, result, rtol=0, atol=expected.atol)
    if isinstance(expected, Between):
        return why_no_number(result) or _outside(expected, float(result))
    if expected is None or isinstance(expected, str):
        return _different_word(expected, result)
    if isinstance(expected, bool | np.bool_):
        return _different_truth(bool(expected), result)
    if isinstance(expected, np.ndarray) and expected.ndim:
        return _different_array(expected, result, rtol, atol)
    if isinstance(expected, tuple | list):
        return _different_sequence(expected, result, rtol, atol)
    if isinstance(expected, dict):
        return _different_dict(expected, result, rtol, atol)
    return why_no_number(result) or _different_number(float(expected), float(result), rtol, atol)


def why_no_number(result):
    """Return why a result is no single real number, NaN included; an empty text where it is one."""
    kind = type(result)
    if kind is int and result.bit_length() > 1000:
        return _("The number is too large to be compared.")
    if kind is float or kind is int or issubclass(kind, np.integer | np.floating):
        if math.isnan(result):
            return _("The result is NaN, not a number.")
        return ""
    if issubclass(kind, np.ndarray) and result.ndim == 0 and result.dtype.kind in "iuf":
        return why_no_number(result.item())
    if issubclass(kind, np.ndarray):
        return _("One number is expected, and an array of shape {shape} came.").format(
            shape=result.shape
        )
    if is_tensor(result):
        return _("One number is expected, and a torch tensor came: .item() makes a number of it.")
    if issubclass(kind, complex | np.complexfloating):
        return _("A real number is expected, and a complex one came.")
    return _("One number is expected, and {kind} came.").format(kind=type_name(result))


def expected_text(expected, digits=6):
    """Return what was expected as a message shows it."""
    if isinstance(expected, Near):
        return f"{expected_text(expected.value, digits)} ± {shown(expected.atol, digits)}"
    if isinstance(expected, Between):
        return _("between {low} and {high}").format(
            low=shown(expected.low, digits), high=shown(expected.high, digits)
        )
    if isinstance(expected, tuple):
        return f"({', '.join(expected_text(part, digits) for part in expected)})"
    return shown(expected, digits)


def _outside(expected, result):
    if expected.low <= result <= expected.high:
        return ""
    return _("The result lies outside of the range.")


def _different_word(expected, result):
    if expected is None:
        return "" if result is None else _("None is expected.")
    if type(result) is not str:
        return _("A text is expected, and {kind} came.").format(kind=type_name(result))
    return "" if result == expected else _("The text is another.")


def _different_truth(expected, result):
    if not issubclass(type(result), bool | np.bool_):
        return _("True or False is expected, and {kind} came.").format(kind=type_name(result))
    return "" if bool(result) == expected else _("The opposite is right.")


def _different_number(expected, result, rtol, atol):
    if math.isinf(expected) or math.isinf(result):
        return "" if expected == result else _("The number is another.")
    if abs(result - expected) <= atol + rtol * abs(expected):
        return ""
    return _("The number is another.")


def _different_array(expected, result, rtol, atol):
    kind = type(result)
    if is_tensor(result):
        return _("A NumPy array is expected, and a torch tensor came: .numpy() converts it.")
    if kind is list or kind is tuple:
        return _("A NumPy array is expected, and {kind} came: np.array(...) converts it.").format(
            kind=type_name(result)
        )
    if not issubclass(kind, np.ndarray):
        return _("A NumPy array is expected, and {kind} came.").format(kind=type_name(result))
    result = np.asarray(result)
    if result.shape != expected.shape:
        return _("An array of shape {expected} is expected, and one of shape {shape} came.").format(
            expected=expected.shape, shape=result.shape
        )
    allowed = "b" if expected.dtype.kind == "b" else "iuf"
    if result.dtype.kind not in allowed:
        return _("An array of type {expected} is expected, and one of type {dtype} came.").format(
            expected=expected.dtype, dtype=result.dtype
        )
    return _different_values(expected, result, rtol, atol)


def _different_values(expected, result, rtol, atol):
    if expected.dtype.kind == "b":
        agree = result == expected
    else:
        with np.errstate(all="ignore"):
            agree = np.isclose(result, expected, rtol=rtol, atol=atol, equal_nan=True)
    if agree.all():
        return ""
    wrong = int((~agree).sum())
    place = tuple(int(i) for i in np.argwhere(~agree)[0])
    values = {"wrong": wrong, "size": agree.size, "place": list(place)}
    values |= {"expected": shown(expected[place]), "result": shown(result[place])}
    if result.dtype.kind == "f" and np.isnan(result).any() and not np.isnan(expected).any():
        nan = int(np.isnan(result).sum())
        return _("{nan} of {size} entries are NaN, not numbers.").format(nan=nan, size=agree.size)
    said = _(
        "{wrong} of {size} entries differ, the first at {place}: {expected} is expected, "
        "and {result} came."
    ).format(**values)
    if result.dtype.kind in "iu" and (expected != np.round(expected)).any():
        said += " " + _("Your array holds whole numbers only, so that fractions are cut off.")
    return said


def _different_sequence(expected, result, rtol, atol):
    kind = type(result)
    # An array is unpacked as well as a tuple: its entries, or its rows where arrays are expected.
    depth = 1 + max((np.ndim(part) for part in expected if isinstance(part, np.ndarray)), default=0)
    if issubclass(kind, np.ndarray) and result.ndim == depth:
        result, kind = list(result), list
    if not issubclass(kind, tuple | list):
        return _("{count} values are expected, and {kind} came: return them as a, b.").format(
            count=len(expected), kind=type_name(result)
        )
    if len(result) != len(expected):
        return _("{count} values are expected, and {came} came.").format(
            count=len(expected), came=len(result)
        )
    for number, (right, own) in enumerate(zip(expected, result, strict=True), 1):
        said = difference(right, own, rtol, atol)
        if said:
            return _("Value {number} of {count}: {said}").format(
                number=number, count=len(expected), said=said
            )
    return ""


def _different_dict(expected, result, rtol, atol):
    if type(result) is not dict:
        return _("A dict is expected, and {kind} came.").format(kind=type_name(result))
    for key, right in expected.items():
        if key not in result:
            return _("The entry {key} is missing.").format(key=repr(key))
        said = difference(right, result[key], rtol, atol)
        if said:
            return _("The entry {key}: {said}").format(key=repr(key), said=said)
    return ""
