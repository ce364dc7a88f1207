"""No results without right reference answers, and no student's notebook without waiting stubs."""

import pytest

from course_build.exercise_checks import check_faults, read_checks
from course_build.results import ROOT, lab_inputs

CHECK = "from course_lib.exercises import Exercises\n\nex = Exercises(lab)\n"
SOLVED = '# %% id="ceiling" tags=["exercise-1"]\n'


def check(exercise, status):
    return {"exercise": exercise, "passed": None, "status": status, "message": "what\n  was said"}


@pytest.mark.parametrize(
    ("status", "profile", "solved", "is_fault"),
    [
        ("passed", "quick", True, False),
        ("failed", "quick", True, True),
        ("waiting", "quick", True, True),
        ("not judged", "quick", True, True),
        ("not judged", "smoke", True, False),
        ("failed", "smoke", True, True),
        ("waiting", "smoke", True, True),
        ("waiting", "smoke", False, False),
        ("passed", "smoke", False, True),
        ("not judged", "smoke", False, True),
        ("failed", "quick", False, True),
    ],
)
def test_answers_pass_and_stubs_wait(status, profile, solved, is_fault):
    assert bool(check_faults([check(1, status)], [1], profile, solved)) == is_fault


def test_last_outcome_of_an_exercise_counts_and_what_is_missing_is_named():
    checks = [check(1, "failed"), check(2, "passed"), check(1, "passed"), check(2, "failed")]
    assert check_faults(checks, [1, 2, 3], "quick", solved=True) == [
        "exercise 2, the reference answer: what was said",
        "exercise 3 has no check: add `ex.check(3, ...)`",
    ]


def test_a_lab_without_exercises_has_no_outcomes(tmp_path):
    assert read_checks(tmp_path / "checks.jsonl") == []


def test_results_are_refused_where_a_reference_answer_fails_its_check(build, labs):
    code = CHECK + "\n\ndef ceiling(epsilon, delta, fpr):\n    return 0.5\n\n\nex.check(1, ceiling)"
    labs.write("mnist_dpsgd", code)
    status, out, err = build("mnist_dpsgd", sources=labs.folder)
    assert status == 1
    assert "exercises that are not as they should be, so nothing is published" in out + err
    assert "exercise 1, the reference answer: ✗ Exercise 1 (ceiling): not yet." in out + err
    assert not (build.folder / "mnist_dpsgd.json").exists()


def test_results_are_refused_where_an_exercise_is_not_checked(build, labs):
    path = labs.write("mnist_dpsgd", CHECK)
    text = path.read_text(encoding="utf-8").replace(
        '# %% id="results"',
        f"{SOLVED}def ceiling(epsilon, delta, fpr):\n    # BEGIN SOLUTION\n    return 0.5\n"
        '    # END SOLUTION\n\n\n# %% id="results"',
    )
    path.write_text(text, encoding="utf-8")
    status, out, err = build("mnist_dpsgd", sources=labs.folder)
    assert status == 1 and "exercise 1 has no check: add `ex.check(1, ...)`" in out + err


def test_results_come_where_the_reference_answer_passes(build, labs):
    code = f"{CHECK}from course_lib import audit\n\n\ndef ceiling(epsilon, delta, fpr):\n"
    labs.write(
        "mnist_dpsgd",
        code + "    return audit.tpr_ceiling(fpr, epsilon, delta)\n\n\n"
        "ex.check(1, ceiling)\nlab.record(one=1)",
    )
    assert build("mnist_dpsgd", sources=labs.folder)[0] == 0
    assert (build.folder / "mnist_dpsgd.json").exists()


def test_answers_are_no_input_of_the_results_but_checks_are():
    inputs = lab_inputs(ROOT / "notebooks" / "source" / "mnist_dpsgd.py")
    assert "course_lib/exercises/mnist_dpsgd.py" in inputs
    assert not [path for path in inputs if "answers" in path]
