"""A lab of one function and one experiment, for what all exercises share."""

import math
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from course_lib.exercises import Exercise, Exercises


def check_row_means(trial):
    """Means of rows, times a scale; one known mistake."""
    trial.mistake(
        lambda values, scale: scale * values.mean(axis=0),
        "The mean is taken over the wrong axis.",
    )
    hand = np.array([[1.0, 3.0], [5.0, 7.0]])
    trial.case({"values": hand, "scale": 1.0}, np.array([2.0, 6.0]))
    for _number in range(3):
        values, scale = trial.rng.normal(size=(3, 3)), trial.rng.uniform(2, 3)
        expected = np.array([scale * math.fsum(row) / 3 for row in values])
        trial.case({"values": values, "scale": scale}, expected)


def check_accuracy(trial):
    """One measured value."""
    trial.in_range("The accuracy", trial.value, 0.7, 0.8, "Twenty seeds lie in this range.")


@pytest.fixture
def exercises(monkeypatch):
    """The exercises of the demonstration lab, to which a test may add its own."""
    module = ModuleType("course_lib.exercises.demonstration")
    module.EXERCISES = {
        1: Exercise("row_means", check_row_means, lambda: ("Think.", "Use axis=1."), seconds=0.5),
        2: Exercise("accuracy", check_accuracy, lambda: ("Run it.",), is_function=False),
    }
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module.EXERCISES


@pytest.fixture
def session(exercises):
    """A student's session with the demonstration lab."""
    return Exercises(SimpleNamespace(name="demonstration", profile="quick"))


@pytest.fixture
def told(session, capsys):
    """What a student reads after a check."""

    def told(number, value, **extra):
        capsys.readouterr()
        session.check(number, value, **extra)
        return capsys.readouterr().out

    return told
