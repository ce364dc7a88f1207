"""What a lab says of one of its exercises."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Exercise:
    """One exercise of a lab.

    Attributes
    ----------
    name : str
        What the student writes: the name of the function or of the variable.
    check : function
        Called as ``check(trial, **extra)`` with a :class:`~course_lib.exercises.Trial`.
    hints : function
        Returns the hints, from the first push to nearly the answer. A function, so that they
        are in the language in use when they are shown.
    is_function : bool
        Whether a function is checked, or a value that the student's run has measured.
    seconds : float
        How long one call of the student's function may take.
    """

    name: str
    check: Callable
    hints: Callable
    is_function: bool = True
    seconds: float = 5.0
