"""The reference answers that a student may ask for are those of the source, and nothing else."""

import json

import pytest

from course_build.answers import answers_of, as_json
from course_build.source import read_source

SOURCE = "notebooks/source/coin_flips.py"
ANSWERS = "course_lib/exercises/answers/coin_flips.json"
ADVANTAGE = (
    "def advantage(tpr, fpr):\n"
    "    gaps = [t - f for t, f in zip(tpr, fpr, strict=True)]\n"
    "    return max(gaps)"
)


@pytest.fixture
def build(course, make_notebooks):
    """Run the command on a course whose lab has checks; return its status and output."""
    checks = course.checks("coin_flips")
    checks.parent.mkdir(parents=True)
    checks.write_text("EXERCISES = {}\n", encoding="utf-8")
    return make_notebooks


def test_a_function_is_whole_but_for_its_docstring(course):
    assert answers_of(read_source(course.root / SOURCE)) == {1: ADVANTAGE}


@pytest.mark.parametrize(
    ("cell", "answer"),
    [
        ("# BEGIN SOLUTION\nx = 1\n# STUB x = None\n# END SOLUTION\nprint(x)", "x = 1"),
        (
            "def f(x):\n    y = 2 * x\n    # BEGIN SOLUTION\n    return y\n    # END SOLUTION\n\n\n"
            "f(1)",
            "def f(x):\n    y = 2 * x\n    return y",
        ),
        (
            "def f():\n    # BEGIN SOLUTION\n    return 1\n    # END SOLUTION\n\n\n"
            "# BEGIN SOLUTION\nz = f()\n# STUB z = None\n# END SOLUTION",
            "def f():\n    return 1\n\nz = f()",
        ),
        (
            "def f():\n    # BEGIN SOLUTION\n    a = 1\n    # END SOLUTION\n    b = 2\n"
            "    # BEGIN SOLUTION\n    return a + b\n    # STUB return None\n    # END SOLUTION",
            "def f():\n    a = 1\n    b = 2\n    return a + b",
        ),
    ],
)
def test_solutions_of_every_form_are_taken(cell, answer, course, change):
    path = course.root / SOURCE
    path.write_text(
        '# %% [markdown] id="title"\n# # A lab\n\n'
        f'# %% id="work" tags=["parameters", "exercise-12"]\n{cell}\n',
        encoding="utf-8",
    )
    assert answers_of(read_source(path)) == {12: answer}


def test_answers_are_in_the_order_of_their_numbers():
    assert list(json.loads(as_json({10: "b", 9: "a"}))) == ["9", "10"]


def test_a_lab_with_checks_has_its_answers_written_once(build, course):
    status, out, _ = build()
    assert status == 0 and f"wrote {ANSWERS}" in out.splitlines()
    assert json.loads((course.root / ANSWERS).read_text(encoding="utf-8")) == {"1": ADVANTAGE}
    assert "answers" not in build()[1]


def test_check_finds_answers_that_are_not_the_source_s(build, course, change):
    build()
    change(SOURCE, "return max(gaps)", "return max(0, *gaps)")
    status, out, _ = build("--check")
    assert status == 1
    assert f"{ANSWERS} differs from what its source gives: build the notebooks" in out
    assert "max(gaps)" in (course.root / ANSWERS).read_text(encoding="utf-8")


def test_answers_without_a_lab_are_refused(build, course):
    build()
    stray = course.answers("gone")
    stray.write_text("{}", encoding="utf-8")
    status, _, err = build()
    assert status == 1 and "gone.json: belongs to no lab with checks; delete it" in err


def test_no_line_of_an_answer_is_in_the_student_s_notebook(build, course):
    build()
    for language in course.languages:
        notebook = course.notebook("coin_flips", language).read_text(encoding="utf-8")
        assert "def advantage(tpr, fpr):" in notebook
        assert "gaps" not in notebook
