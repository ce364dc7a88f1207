"""The set-up cell of the notebooks, in a kernel, as a student runs it."""

import re

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from course_build.source import SETUP_ID
from course_build.tree import Tree
from tests.colab.alone import environment_without, run_alone, shown

TREE = Tree()
NEXT = nbformat.v4.new_code_cell("import course_lib\nprint(course_lib.__file__)", id="next")


def set_up_cells(language):
    """The set-up cells of a language's notebooks."""
    folder = TREE.root / "notebooks" / language
    notebooks = [nbformat.read(path, as_version=4) for path in sorted(folder.glob("*.ipynb"))]
    return [cell for notebook in notebooks for cell in notebook.cells if cell.id == SETUP_ID]


def alone(language, *more):
    """A notebook of the set-up cell and a few others."""
    return nbformat.v4.new_notebook(cells=[set_up_cells(language)[0], NEXT, *more])


@pytest.mark.parametrize("language", TREE.languages)
def test_every_notebook_of_a_language_has_the_same_which_colab_folds_under_its_title(language):
    cells = set_up_cells(language)
    assert len(cells) == len(TREE.labs)
    assert all(cell == cells[0] for cell in cells)
    assert cells[0].source.startswith("# @title ")
    assert cells[0].metadata == {"cellView": "form"}


@pytest.mark.parametrize("language", TREE.languages)
def test_the_second_run_fetches_nothing_and_is_silent(
    language, complete, folder, environment, ref, tmp_path
):
    first = shown(run_alone(alone(language), complete, folder, environment))
    library = folder / f"course-{ref}" / "course_lib" / "__init__.py"
    assert environment["COURSE_REPO"] in first[SETUP_ID]
    assert first["next"] == f"{library}\n"
    gone = {**environment, "COURSE_REPO": (tmp_path / "gone").as_uri()}
    again = set_up_cells(language)[0].copy()
    again.id = "again"
    second = shown(run_alone(alone(language, again), complete, folder, gone))
    assert second == {SETUP_ID: "", "next": f"{library}\n", "again": ""}


def test_in_a_copy_of_the_course_it_is_silent(complete, folder, environment, ref, tmp_path):
    run_alone(alone("en"), complete, folder, environment)
    copy = folder / f"course-{ref}"
    gone = {**environment, "COURSE_REPO": (tmp_path / "gone").as_uri()}
    printed = shown(run_alone(alone("en"), complete, copy / "notebooks" / "en", gone))
    assert printed == {SETUP_ID: "", "next": f"{copy / 'course_lib' / '__init__.py'}\n"}


def test_what_fails_is_said_in_one_sentence_without_a_line_of_code(
    complete, folder, environment, tmp_path
):
    gone = {**environment, "COURSE_REPO": (tmp_path / "gone").as_uri()}
    assert_said(
        alone("en"), complete, folder, gone, r"The course could not be fetched .* into .* wrong: .*"
    )
    assert list(folder.iterdir()) == []


def test_packages_that_cannot_be_installed_are_named_in_the_same_way(tmp_path, folder, environment):
    python = environment_without(tmp_path / "environment", ["diffprivlib"])
    nothing = {**environment, "PIP_FIND_LINKS": ""}
    sentence = r"These packages could not be installed: diffprivlib.* What went wrong: ERROR: .*"
    assert_said(alone("en"), python, folder, nothing, sentence)


def assert_said(notebook, python, folder, environment, sentence):
    """The notebook fails, and shows this and nothing else."""
    with pytest.raises(CellExecutionError):
        run_alone(notebook, python, folder, environment)
    [error] = [one for one in notebook.cells[0].outputs if one.output_type == "error"]
    [line] = error.traceback
    assert re.fullmatch(sentence, line)
