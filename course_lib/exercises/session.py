"""A student's exercises: checks, hints, reference answers and how many are done."""

import importlib
import inspect
import json
import os
from pathlib import Path

from course_lib.exercises.trial import EndOfCheck, Trial, is_stub
from course_lib.language import _

ANSWERS = Path(__file__).resolve().parent / "answers"

_NOTHING = object()
_SIGNS = {"passed": "✓", "failed": "✗", "waiting": "…", "not judged": "–"}


class Exercises:
    """The exercises of a lab, by their numbers.

    Nothing here raises for what a student passes or asks: it prints. Where the environment
    variable ``COURSE_CHECKS`` names a file, each check appends a line of JSON to it.

    Parameters
    ----------
    lab : Lab

    Raises
    ------
    ValueError
        If the lab has no module of checks.
    """

    def __init__(self, lab):
        name = f"course_lib.exercises.{lab.name}"
        try:
            self._exercises = importlib.import_module(name).EXERCISES
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            raise ValueError(
                f'the lab "{lab.name}" has no exercises: {name.replace(".", "/")}.py is missing'
            ) from None
        self._lab = lab
        self._status = {}
        self._hints_given = {}

    def check(self, number=None, value=_NOTHING, *more, **extra):
        """Say what of an exercise is right, and what is not.

        Parameters
        ----------
        number : int
        value : function or measured value
            The function itself, without parentheses, or what the student's run gave.
        *more
            Nothing: what stands here is told to be too much.
        **extra
            What the check needs of the lab, under the names that the lab's cell gives.
        """
        exercise = self._find(number)
        if exercise is None:
            return
        if value is _NOTHING:
            print(
                _("Say what is to be checked: write {call}.").format(call=_call(number, exercise))
            )
            return
        trial = Trial(exercise, value, self._lab.profile, seed=number)
        status = self._try(exercise, number, value, trial, more, extra)
        self._status[number] = status
        message = "\n".join(_verdict(number, exercise, status, trial))
        print(message)
        _append_line(number, status, message)

    def hint(self, number=None):
        """Show one more hint for an exercise."""
        exercise = self._find(number)
        if exercise is None:
            return
        hints = list(exercise.hints())
        given = self._hints_given.get(number, 0)
        if given == len(hints):
            print(
                _(
                    "There is no further hint for exercise {number}. "
                    "ex.solution({number}) shows a reference answer."
                ).format(number=number)
            )
            return
        self._hints_given[number] = given + 1
        text = _("Hint {given} of {hints}: {hint}")
        print(text.format(given=given + 1, hints=len(hints), hint=hints[given]))

    def solution(self, number=None):
        """Show the reference answer of an exercise."""
        if self._find(number) is None:
            return
        path = ANSWERS / f"{self._lab.name}.json"
        try:
            code = json.loads(path.read_text(encoding="utf-8"))[str(number)]
        except (OSError, ValueError, KeyError):
            print(
                _(
                    "The reference answer of exercise {number} should stand in {path} and does "
                    "not: fetch the course anew."
                ).format(number=number, path=path.name)
            )
            return
        print(_("A reference answer to exercise {number}:").format(number=number))
        print()
        print(code)

    def progress(self):
        """Show which exercises are done."""
        marks = [f"{n} {_SIGNS.get(self._status.get(n), '·')}" for n in sorted(self._exercises)]
        done = sum(status == "passed" for status in self._status.values())
        print(
            _("Exercises done: {done} of {total}.   {marks}").format(
                done=done, total=len(self._exercises), marks="   ".join(marks)
            )
        )

    def _find(self, number):
        """The exercise of that number, or None after saying which numbers there are."""
        exercise = self._exercises.get(number) if type(number) is int else None
        if exercise is None:
            print(
                _("There is no such exercise here. The numbers are: {numbers}.").format(
                    numbers=", ".join(map(str, sorted(self._exercises)))
                )
            )
        return exercise

    def _try(self, exercise, number, value, trial, more, extra):
        """Run a check and return how it ended; the trial holds what is to be said."""
        if value is None:
            return "waiting"
        try:
            misfit = self._misfit(exercise, number, value) if exercise.is_function else ""
            if misfit:
                trial.note(misfit)
            elif exercise.is_function and is_stub(value):
                return "waiting"
            elif more or not _fits(exercise.check, extra):
                trial.note(
                    _(
                        "The check needs other values than it got here. Run the cell that came "
                        "with the exercise, as it was."
                    )
                )
            else:
                exercise.check(trial, **extra)
        except EndOfCheck:
            pass
        except Exception as error:  # the net under all: a check never raises
            said = _("The check could not judge what came: {error}.")
            trial.note(said.format(error=f"{type(error).__name__}: {error}"))
        if trial.failed or not trial.tried:  # a check that tries nothing proves nothing
            return "failed"
        return "not judged" if trial.has_unjudged else "passed"

    def _misfit(self, exercise, number, value):
        """Why this is not the function that is asked for; empty where it may be."""
        if isinstance(value, type):
            said = _("A class came instead of the function: write {call}.")
        elif not callable(value):
            said = _("The check takes the function itself, without parentheses: write {call}.")
        elif getattr(value, "__name__", "") in {
            other.name for other in self._exercises.values() if other.name != exercise.name
        }:
            said = _("This is the function of another exercise: write {call}.")
        else:
            return ""
        return said.format(call=_call(number, exercise))


def _fits(check, extra):
    """Whether a check can be called with what the notebook's cell gives."""
    try:
        inspect.signature(check).bind(None, **extra)
    except TypeError:
        return False
    return True


def _call(number, exercise):
    return f"ex.check({number}, {exercise.name})"


def _verdict(number, exercise, status, trial):
    """The lines that a student reads."""
    values = {"number": number, "name": exercise.name, "tried": trial.tried}
    values |= {"passed": trial.tried - trial.failed}
    if status == "waiting":
        yield _("… Exercise {number} ({name}) is waiting for your code.").format(**values)
        return
    if status == "not judged":
        text = _("– Exercise {number} ({name}): not judged at this size of the experiment.")
        yield text.format(**values)
        return
    if status == "passed":
        text = _("✓ Exercise {number} ({name}): right.")
        if exercise.is_function and trial.tried > 1:
            text = _("✓ Exercise {number} ({name}): right in all {tried} cases.")
        yield text.format(**values)
        return
    yield _("✗ Exercise {number} ({name}): not yet.").format(**values)
    for line in trial.report():
        yield f"  {line}"
    if trial.tried > 1:
        yield "  " + _("Cases that are right: {passed} of {tried}.").format(**values)
    yield "  " + _("ex.hint({number}) gives a hint.").format(**values)


def _append_line(number, status, message):
    """Write a line for whoever collects the outcomes."""
    path = os.environ.get("COURSE_CHECKS")
    if not path:
        return
    passed = {"passed": True, "failed": False}.get(status)
    line = {"exercise": number, "passed": passed, "status": status, "message": message}
    try:
        with open(path, "a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    except OSError as error:
        print(_("The outcome could not be written to {path}.").format(path=error.filename))
