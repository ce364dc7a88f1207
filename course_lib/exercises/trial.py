"""One run of an exercise's check: the cases that were tried, and what is to be said of them."""

import copy
import dis
import time
import warnings
from dataclasses import dataclass, field
from types import FunctionType

import numpy as np

from course_lib.exercises.calls import called
from course_lib.exercises.compare import Near, difference, expected_text, why_no_number
from course_lib.exercises.shown import shown
from course_lib.language import _

# A check may take this many times as long as one of its calls.
_CALLS_IN_ALL = 4


class EndOfCheck(Exception):  # noqa: N818 (said of the check, which ends here in order)
    """There is no point in going on: what failed has been noted."""


@dataclass
class _Case:
    """One thing that was tried. ``faults`` are the lines that say what is wrong with it."""

    inputs: dict | None = None
    faults: list = field(default_factory=list)
    returned_none: bool = False
    has_trouble: bool = False
    expected: object = None
    result: object = None
    tolerances: dict = field(default_factory=dict)
    mistakes: dict = field(default_factory=dict)

    def tells(self, mistake):
        """Whether a mistake gives the student's result here; None where it gives the right one."""
        telling = [
            modelled
            for model in self.mistakes.get(mistake, ())
            for modelled in _modelled(model, self.inputs)
            if difference(self.expected, _middle(modelled), **self.tolerances)
        ]
        if not telling:
            return None
        return any(not difference(wrong, self.result, **self.tolerances) for wrong in telling)


class Trial:
    """What a lab's check works with: it calls the student's function and compares.

    Parameters
    ----------
    exercise : Exercise
    value : object
        What the student passed: a function, or a measured value.
    profile : str
        That of the lab.
    seed : int
        Of the random inputs.

    Attributes
    ----------
    value, profile : as above
    rng : numpy.random.Generator
        For random inputs; the same numbers in every run of the check.
    """

    def __init__(self, exercise, value, profile="quick", seed=0):
        self.value = value
        self.profile = profile
        self.rng = np.random.default_rng(seed)
        self._seconds = exercise.seconds
        self._deadline = time.monotonic() + _CALLS_IN_ALL * exercise.seconds
        self._cases = []
        self._mistakes = []
        self.has_unjudged = False

    def mistake(self, model, sentence):
        """Name a known mistake, for all cases after this.

        Parameters
        ----------
        model : function
            Called as the student's function is; returns what the mistake gives.
        sentence : str
            What it probably is: a whole sentence.
        """
        self._mistakes.append((model, sentence))

    def case(
        self, inputs, expected, *, mistakes=(), rtol=1e-6, atol=1e-9, no_warnings=False, about=""
    ):
        """Call the student's function and compare what it returns; go on, whatever comes.

        Parameters
        ----------
        inputs : dict
            The arguments in their order, by name. The function gets copies.
        expected : object
            A number, array, text, True or False, None, tuple or dict of these, or a ``Near`` or
            ``Between``.
        mistakes : list of (value or function, str)
            Known mistakes besides those of :meth:`mistake`, for this case alone: what comes out,
            and the sentence that says what it probably is.
        rtol, atol : float
            As in ``numpy.isclose``.
        no_warnings : bool
            Whether a RuntimeWarning is a fault.
        about : str
            A sentence on what is special about this case, shown when it fails.

        Returns
        -------
        bool
            Whether the case passed.
        """
        call, case = self._call(inputs, no_warnings)
        if call.trouble:
            case.faults = [call.trouble, about] if about else [call.trouble]
            if call.is_over_time:
                raise EndOfCheck
            return False
        case.expected, case.result = expected, call.result
        case.tolerances = {"rtol": rtol, "atol": atol}
        # The models of all cases are each a mistake of its own. Those of one case have only their
        # sentence in common with those of another.
        case.mistakes = {pair: [pair[0]] for pair in self._mistakes}
        for model, sentence in mistakes:
            case.mistakes.setdefault((None, sentence), []).append(model)
        said = difference(expected, call.result, rtol, atol)
        if said:
            case.faults = _described(expected, call.result, said)
            if about:
                case.faults.append(about)
        return not said

    def call(self, inputs):
        """Call the student's function with copies of the inputs and return what it returns.

        For what :meth:`case` cannot say. A call that fails ends the check.

        Parameters
        ----------
        inputs : dict
        """
        call, case = self._call(inputs)
        if call.trouble:
            case.faults = [call.trouble]
            raise EndOfCheck
        return call.result

    def require(self, condition, sentence, inputs=None):
        """Note that something must hold, and say so where it does not.

        Parameters
        ----------
        condition : bool
        sentence : str
            What is wrong when it does not hold.
        inputs : dict, optional
            The inputs to show with it.

        Returns
        -------
        bool
            The condition.
        """
        holds = bool(condition)
        self._cases.append(_Case(inputs, faults=[] if holds else [sentence]))
        return holds

    def in_range(self, what, measured, low, high, reason):
        """Judge a measured value by a range; not at the size of the smoke profile.

        Parameters
        ----------
        what : str
            What was measured, such as ``_("the accuracy")``.
        measured : object
            The student's value; what is no number is a fault in every profile.
        low, high : float
        reason : str
            Why it may lie outside, in a sentence or two.
        """
        case = _Case()
        self._cases.append(case)
        said = why_no_number(measured)
        if said:
            case.faults = [f"{what}: {said}"]
        elif self.profile == "smoke":
            self.has_unjudged = True
        elif not low <= float(measured) <= high:
            text = _("{what} is {measured}. Between {low} and {high} is expected. {reason}")
            case.faults = [
                text.format(
                    what=what,
                    measured=shown(float(measured), 4),
                    low=shown(low, 4),
                    high=shown(high, 4),
                    reason=reason,
                )
            ]

    @property
    def failed(self):
        """The number of cases that failed."""
        return sum(bool(case.faults) for case in self._cases)

    @property
    def tried(self):
        """The number of cases."""
        return len(self._cases)

    def note(self, sentence):
        """Note a fault that belongs to no case."""
        self._cases.append(_Case(faults=[sentence]))

    def report(self):
        """Return the lines on the first case that failed, and what it probably is."""
        failing = [case for case in self._cases if case.faults]
        if not failing:
            return []
        first = failing[0]
        nothing_came = all(case.returned_none or case.has_trouble for case in self._cases)
        if len(self._cases) > 1 and first.returned_none and nothing_came:
            return [
                _(
                    "Your function returns None every time. Is there a return with your result at "
                    "its end?"
                )
            ]
        lines = []
        if first.inputs:
            shown_inputs = ", ".join(f"{name} = {shown(v)}" for name, v in first.inputs.items())
            lines.append(_("With {inputs}").format(inputs=shown_inputs))
        lines += first.faults
        lines += self._diagnosis(failing)
        return lines

    def _call(self, inputs, no_warnings=False):
        case = _Case(inputs)
        self._cases.append(case)
        if self._deadline - time.monotonic() < self._seconds:
            case.faults = [
                _(
                    "The check was ended because your function took too long over all its cases. "
                    "Can it do the same with fewer steps?"
                )
            ]
            raise EndOfCheck
        call = called(self.value, inputs, self._seconds, no_warnings)
        case.has_trouble = bool(call.trouble)
        case.returned_none = call.result is None and not call.trouble
        return call, case

    def _diagnosis(self, failing):
        """What the mistake probably is: surer where it explains all that failed.

        A mistake that would have failed a case that passed is none of this function's.
        """
        first, *others = failing
        passing = [case for case in self._cases if not case.faults]
        possible = []
        for mistake in first.mistakes:
            if first.tells(mistake) and all(case.tells(mistake) is None for case in passing):
                possible.append(mistake)
                if all(case.tells(mistake) for case in others):
                    return [_("What it probably is: {sentence}").format(sentence=mistake[1])]
        if possible:
            said = _("What it may be, from this case alone: {sentence}")
            return [said.format(sentence=possible[0][1])]
        return []


def is_stub(function):
    """Whether a function does nothing but return None, as a stub does."""
    if type(function) is not FunctionType:
        return False
    harmless = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "POP_TOP", "CACHE"}
    steps = list(dis.get_instructions(function))
    loaded = [s for s in steps if s.opname in ("LOAD_CONST", "RETURN_CONST")]
    return all(s.opname in harmless for s in steps) and all(s.argval is None for s in loaded)


def _modelled(model, inputs):
    """What a mistake gives on these inputs, as a list of one; empty where it gives nothing."""
    if not callable(model):
        return [model]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return [model(*copy.deepcopy(list(inputs.values())))]
        except Exception:  # a mistake may well fail on a hard input: then it says nothing there
            return []


def _middle(modelled):
    """What a mistake gives, without the margins around what is random."""
    if isinstance(modelled, Near):
        return modelled.value
    return tuple(map(_middle, modelled)) if isinstance(modelled, tuple) else modelled


def _described(expected, result, said):
    """Lines on a result that is another than what was expected."""
    # With more digits only where they show a difference: a list of the right numbers has none.
    telling = [d for d in (6, 9, 12, 15, 18) if expected_text(expected, d) != shown(result, d)]
    digits = telling[0] if telling else 6
    return [
        _("expected: {expected}").format(expected=expected_text(expected, digits)),
        _("yours:    {result}").format(result=shown(result, digits)),
        said,
    ]
