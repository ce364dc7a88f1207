"""Call a student's function so that whatever it does can be told and does no harm."""

import contextlib
import copy
import inspect
import io
import linecache
import sys
import warnings
from dataclasses import dataclass

import numpy as np

from course_lib.exercises.limits import TimeIsUp, within
from course_lib.exercises.shown import is_tensor
from course_lib.language import _


@dataclass(frozen=True)
class Call:
    """What became of a call.

    Attributes
    ----------
    result : object
        What the function returned.
    trouble : str
        Why there is no result that could be judged; empty where there is one.
    is_over_time : bool
    """

    result: object = None
    trouble: str = ""
    is_over_time: bool = False


def called(function, inputs, seconds, no_warnings=False):
    """Call a function with copies of the inputs, in their order; never raises what it raises.

    What it prints is held back. Ctrl-C still ends it, and the check.

    Parameters
    ----------
    function : callable
    inputs : dict
    seconds : float
    no_warnings : bool
        Whether a RuntimeWarning, such as one of an overflow, is a fault.

    Returns
    -------
    Call
    """
    given = {name: copy.deepcopy(value) for name, value in inputs.items()}
    misfit = _misfit(function, given)
    if misfit:
        return Call(trouble=misfit)
    with warnings.catch_warnings(record=True) as warned, _held_back():
        warnings.simplefilter("always")
        try:
            result = within(seconds, function, *given.values())
        except TimeIsUp:
            said = _(
                "Your function had not ended after {seconds:.0f} seconds, and was stopped. "
                "Does it loop without end?"
            )
            return Call(trouble=said.format(seconds=seconds), is_over_time=True)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return Call(trouble=_exception(function, error))
    changed = [name for name in inputs if not _is_same(inputs[name], given[name])]
    if changed:
        said = _(
            "Your function changed its input {name}, which others may still need. Work on a copy, "
            "or write a new array instead of assigning into the old one."
        )
        return Call(trouble=said.format(name=changed[0]))
    if no_warnings:
        for warning in warned:
            if issubclass(warning.category, RuntimeWarning):
                said = _("A warning came up that should not: {warning}")
                return Call(trouble=said.format(warning=warning.message))
    if inspect.iscoroutine(result):
        result.close()
    return Call(result)


def _misfit(function, given):
    """Why the function cannot take these inputs; empty where it can."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ""  # one of compiled code does not tell
    try:
        signature.bind(*given.values())
    except TypeError:
        said = _("Your function is called with {count} values ({names}), and cannot take them.")
        return said.format(count=len(given), names=", ".join(given))
    return ""


def _exception(function, error):
    """Say what was raised, and where in the student's own code."""
    message = _safe_text(error)
    name = type(error).__name__
    what = f"{name}: {message}" if message else name
    line = _own_line(function, error)
    if line is None:
        return _("Your function ended with an error: {what}.").format(what=what.rstrip("."))
    number, text = line
    said = _("Your function ended with an error: {what}. Line {number} of its cell: {text}")
    return said.format(what=what.rstrip("."), number=number, text=text)


def _safe_text(error):
    try:
        lines = str(error).strip().splitlines()
    except Exception:  # an exception of the student's own, whose text fails
        return ""
    return lines[0][:200] if lines else ""


def _own_line(function, error):
    """The last line of the file, or cell, of the function that was running: (number, text)."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return None
    found = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == code.co_filename:
            found = trace.tb_lineno
        trace = trace.tb_next
    if found is None:
        return None
    return found, linecache.getline(code.co_filename, found).strip()


def _is_same(before, after):
    """Whether an input is as it was. What cannot be compared, such as a generator, counts as so."""
    if type(before) is not type(after):
        return False
    if isinstance(before, np.ndarray):
        return (
            before.shape == after.shape
            and before.dtype == after.dtype
            and np.array_equal(before, after, equal_nan=before.dtype.kind in "fc")
        )
    if is_tensor(before):
        return before.shape == after.shape and bool((before == after).all())
    if isinstance(before, list | tuple):
        return len(before) == len(after) and all(map(_is_same, before, after))
    if isinstance(before, dict):
        return before.keys() == after.keys() and all(_is_same(before[k], after[k]) for k in before)
    if isinstance(before, bool | int | float | str):
        return before == after or before != before  # NaN is another than itself
    return True


class _Sink(io.TextIOBase):
    """Takes whatever is printed and keeps nothing, so that an endless loop fills no memory.

    In all else it is a file: libraries that are imported meanwhile may keep it, and close it.
    """

    def write(self, text):
        return len(text)


@contextlib.contextmanager
def _held_back():
    """Nothing that is printed, or shown by IPython's display, reaches the notebook."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(_Sink()))
        stack.enter_context(contextlib.redirect_stderr(_Sink()))
        ipython = sys.modules.get("IPython")
        if ipython is not None and ipython.get_ipython() is not None:
            from IPython.utils.capture import capture_output

            stack.enter_context(capture_output(stdout=False, stderr=False, display=True))
        yield
