"""Every notebook runs on its own: in an empty folder, where the course is not, as in Colab."""

import json
import re

import nbformat
import pytest

from course_build.exercise_checks import check_faults, read_checks
from course_build.render import executed_form
from course_build.tree import Tree
from tests.colab.alone import NOT_IN_COLAB, packages_of, run_alone, shown

TREE = Tree()
NOTEBOOKS = sorted((TREE.root / "notebooks").glob("*/*.ipynb"))
# In every run each lab once, and each language once if there are enough labs.
OFTEN = {
    (lab, TREE.languages[number % len(TREE.languages)]) for number, lab in enumerate(TREE.labs)
}

PROBE = """
import json, sys
import course_lib
print(json.dumps({"library": course_lib.__file__, "colab": "google.colab" in sys.modules}))
"""


def cases():
    for path in NOTEBOOKS:
        lab, language = path.stem, path.parent.name
        often = (lab, language) in OFTEN
        yield pytest.param(path, id=f"{lab}-{language}", marks=[] if often else pytest.mark.slow)


def test_there_is_a_notebook_for_each_lab_and_language():
    found = {(path.stem, path.parent.name) for path in NOTEBOOKS}
    assert found == {(lab, language) for lab in TREE.labs for language in TREE.languages}


@pytest.mark.parametrize("path", list(cases()))
def test_notebook_runs_alone_with_its_exercises_done(
    path, folder, environment, colab, origin, ref, tmp_path
):
    notebook = with_answers(nbformat.read(path, as_version=4), path.stem)
    notebook.cells.append(nbformat.v4.new_code_cell(PROBE, id="probe"))
    checks = tmp_path / "checks.jsonl"
    before = packages_of(colab)
    assert not before.keys() & set(NOT_IN_COLAB)

    run_alone(notebook, colab, folder, {**environment, "COURSE_CHECKS": str(checks)})

    clone = folder / f"course-{ref}"
    printed = shown(notebook)
    probe = json.loads(printed["probe"])
    assert probe == {"library": str(clone / "course_lib" / "__init__.py"), "colab": True}
    assert [entry.name for entry in folder.iterdir()] == [clone.name]
    assert origin in printed["setup"]
    assert all(package in printed["setup"] for package in NOT_IN_COLAB)
    after = packages_of(colab)
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == set(NOT_IN_COLAB)

    asked = exercises_checked(notebook)
    said = read_checks(checks)
    assert [line["exercise"] for line in said] == asked
    assert check_faults(said, asked, "smoke", solved=True) == []


def with_answers(notebook, lab):
    """The student's notebook with the reference answers in the exercises' cells."""
    answers = {cell.id: cell.source for cell in executed_form(TREE.source(lab)).cells}
    for cell in notebook.cells:
        if "# BEGIN SOLUTION" in answers[cell.id]:
            cell.source = answers[cell.id]
    return notebook


def exercises_checked(notebook):
    """The numbers of the exercises that the notebook's cells check, in their order."""
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    return [int(number) for number in re.findall(r"^ex\.check\((\d+)", code, re.MULTILINE)]
