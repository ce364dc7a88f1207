"""Every lab runs, in its solved form and as the student has it, and is what its source gives."""

import pytest

import build_notebooks
import build_results
from course_build.tree import Tree

TREE = Tree()
LANGUAGES = [(lab, language) for lab in TREE.labs for language in TREE.languages]


def test_there_are_labs():
    assert TREE.labs


@pytest.mark.parametrize("lab", TREE.labs)
def test_solved_form_runs(lab):
    assert build_results.main([lab, "--profile", "smoke"]) == 0


@pytest.mark.parametrize(("lab", "language"), LANGUAGES)
def test_student_form_runs(lab, language):
    assert build_results.main([lab, "--profile", "smoke", "--lang", language]) == 0


def test_committed_notebooks_are_what_the_sources_give():
    assert build_notebooks.main(["--check"]) == 0
