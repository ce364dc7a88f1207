"""Exercises that answer: checks, hints and reference answers, one module for each lab.

In a notebook: ``ex = Exercises(lab)``, then ``ex.check(2, clip_rows)``, ``ex.hint(2)``,
``ex.solution(2)`` and at the end ``ex.progress()``.

A lab's module, ``course_lib/exercises/<lab>.py``, holds ``EXERCISES``, a dict from the number to
an :class:`Exercise`. Each has a check, which tries the student's function on cases::

    import numpy as np

    from course_lib.exercises import Exercise
    from course_lib.language import _


    def check_mean_of_rows(trial):
        trial.mistake(
            lambda values, scale: scale * np.mean(values, axis=0),
            _("The mean is taken over the wrong axis: axis=0 runs down the columns."),
        )
        hand = np.array([[1.0, 3.0], [5.0, 7.0]])
        trial.case({"values": hand, "scale": 1.0}, np.array([2.0, 6.0]))
        for _case in range(3):
            values, scale = trial.rng.normal(size=(4, 3)), trial.rng.random()
            expected = np.array([scale * sum(row) / 3 for row in values])  # not the answer's way
            trial.case({"values": values, "scale": scale}, expected)


    EXERCISES = {
        1: Exercise(
            name="mean_of_rows",
            check=check_mean_of_rows,
            hints=lambda: (
                _("A row is one record."),
                _("np.mean takes an axis."),
                _("axis=1 runs along a row."),
            ),
        ),
    }

``case`` calls with copies and a time limit, holds printing back, and tells exceptions, changed
inputs, None, NaN, wrong types and shapes by itself; it goes on after a failure. ``expected`` is a
number, array, text, True or False, None, or a tuple or dict of these; ``Near(value, atol)`` and
``Between(low, high)`` may stand at any place in it, for what is random. A known mistake is a
function of the same inputs, or, in ``case(..., mistakes=[(value, sentence)])``, its result; where
it gives what is right it says nothing. It is named only if it would fail in no case that passed,
and called probable only if it explains all cases that failed. A random generator among
the inputs is copied anew for each call, models' included. ``call(inputs)``
returns the result where a case cannot say what is wanted;
``require(condition, sentence, inputs)`` then judges it. ``no_warnings=True`` makes a
RuntimeWarning a fault.

An experiment has ``is_function=False``; its check reads ``trial.value`` and calls
``trial.in_range(_("The accuracy"), measured, low, high, reason)``, which is not judged in the
smoke profile. What else a check needs is passed in the notebook:
``ex.check(2, attack_dpsgd, trainer=train_dpsgd)`` calls ``check(trial, trainer=train_dpsgd)``.
Texts are wrapped in ``_`` inside functions (``hints`` is one), so that they are in the language
in use when they are shown.
"""

from course_lib.exercises.compare import Between, Near
from course_lib.exercises.exercise import Exercise
from course_lib.exercises.session import Exercises
from course_lib.exercises.trial import Trial

__all__ = ["Between", "Exercise", "Exercises", "Near", "Trial"]
