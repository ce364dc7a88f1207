"""Values as a message shows them: short, and safe whatever they are."""

import numpy as np

from course_lib.language import _

_LONGEST = 300
_MOST_ENTRIES = 16


def shown(value, digits=6):
    """Return a value as text: arrays abbreviated, with their shape; others by their type.

    Nothing of the value's own code is run unless its type is one of Python's, NumPy's or
    PyTorch's: its ``__repr__`` may do anything.

    Parameters
    ----------
    value : object
    digits : int
        How many significant digits a number has.
    """
    text = _text(value, digits)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


def type_name(value):
    """Return what a value is, in words that a student knows."""
    kind = type(value)
    if value is None:
        return "None"
    if issubclass(kind, type):
        return _("a class")
    if kind.__module__.partition(".")[0] == "torch":
        return _("a torch tensor") if is_tensor(value) else f"torch {kind.__name__}"
    if issubclass(kind, np.ndarray):
        return _("a NumPy array")
    if kind.__name__ in ("generator", "coroutine"):
        return _("a generator") if kind.__name__ == "generator" else _("a coroutine")
    if kind.__name__ in ("function", "method", "builtin_function_or_method"):
        return _("a function")
    for of_numpy, plain in ((np.bool_, bool), (np.integer, int), (np.floating, float)):
        if issubclass(kind, of_numpy):
            kind = plain
    words = {bool: _("True or False"), int: _("a whole number"), float: _("a number")}
    words |= {str: _("a text"), list: _("a list"), tuple: _("a tuple"), dict: _("a dict")}
    return words.get(kind) or _("an object of type {kind}").format(kind=kind.__name__)


def is_tensor(value):
    """Whether a value is a PyTorch tensor; torch is not imported for that."""
    return any(
        base.__module__.partition(".")[0] == "torch" and base.__name__ == "Tensor"
        for base in type(value).__mro__
    )


def _text(value, digits):
    kind = type(value)
    if value is None or kind is bool or issubclass(kind, np.bool_):
        return str(value)
    if kind is int:  # Python refuses to write out thousands of digits
        return str(value) if value.bit_length() < 200 else _("a very large whole number")
    if kind is str:
        return repr(value[:_LONGEST])
    if kind is float or issubclass(kind, np.number):
        return _number(value, digits)
    if issubclass(kind, np.random.Generator):
        return "np.random.default_rng(...)"
    if is_tensor(value):
        array = value.detach().cpu().numpy()
        return _("tensor {values}").format(values=_array(array, digits))
    if issubclass(kind, np.ndarray):
        return _array(np.asarray(value), digits)
    if kind is list or kind is tuple:
        parts = [_text(part, digits) for part in value[:6]] + ["..."] * (len(value) > 6)
        return f"[{', '.join(parts)}]" if kind is list else f"({', '.join(parts)})"
    if kind is dict:
        some = list(value.items())[:6]
        parts = [f"{_text(key, digits)}: {_text(part, digits)}" for key, part in some]
        parts += ["..."] * (len(value) > len(some))
        return f"{{{', '.join(parts)}}}"
    return type_name(value)


def _number(value, digits):
    if isinstance(value, complex | np.complexfloating):
        return f"{complex(value):.{digits}g}"
    if isinstance(value, np.integer):
        return str(int(value))
    text = f"{float(value):.{digits}g}"
    return text if any(c in text for c in ".einf") else f"{text}.0"


def _array(array, digits):
    if array.dtype.kind not in "biuf":
        return _("array of type {dtype}, shape {shape}").format(
            dtype=array.dtype, shape=array.shape
        )
    values = np.array2string(
        array,
        threshold=_MOST_ENTRIES,
        edgeitems=2,
        separator=", ",
        max_line_width=10_000,
        formatter={  # each entry by itself, not padded to the width of the others
            "float_kind": lambda number: _number(number, digits),
            "int_kind": str,
            "bool": str,
        },
    )
    values = " ".join(values.split())
    if array.size <= _MOST_ENTRIES:
        return values
    return f"{values} ({' × '.join(map(str, array.shape))})"
