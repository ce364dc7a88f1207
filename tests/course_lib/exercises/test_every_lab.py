"""In every lab the exercises, their checks, their hints and their answers belong together."""

import ast
import importlib
import json
import re
from types import SimpleNamespace

import pytest

from course_build.answers import answers_of
from course_build.solutions import stripped
from course_build.source import read_source
from course_build.tree import Tree
from course_lib.exercises import Exercises
from course_lib.exercises.session import ANSWERS

TREE = Tree()


@pytest.fixture(scope="module", params=TREE.labs)
def source(request):
    return read_source(TREE.source(request.param))


def exercises_of(source):
    return importlib.import_module(f"course_lib.exercises.{source.lab}").EXERCISES


def test_there_are_at_least_four_numbered_from_one(source):
    numbers = list(answers_of(source))
    assert len(numbers) >= 4 and numbers == list(range(1, len(numbers) + 1))
    assert list(exercises_of(source)) == numbers


def test_each_is_checked_in_the_cell_below_and_progress_is_shown_last(source):
    ids = [cell.id for cell in source.cells]
    tagged = {tag: cell for cell in source.cells for tag in cell.tags}
    for number, exercise in exercises_of(source).items():
        [check] = [cell for cell in source.cells if cell.id == f"check-{number}"]
        assert re.match(rf"ex\.check\({number}, {exercise.name}\b", check.text)
        assert ids.index(check.id) == ids.index(tagged[f"exercise-{number}"].id) + 1
    assert ids.index("progress") == ids.index(check.id) + 1
    [progress] = [cell for cell in source.cells if cell.id == "progress"]
    assert progress.text == "ex.progress()"


def test_each_is_introduced_by_its_number(source):
    prose = "\n".join(cell.text for cell in source.cells if cell.kind == "markdown")
    for number in exercises_of(source):
        assert prose.count(f"**Exercise {number}: ") == 1


def test_the_name_that_is_checked_is_defined_in_its_cell(source):
    tagged = {tag: cell for cell in source.cells for tag in cell.tags}
    for number, exercise in exercises_of(source).items():
        tree = ast.parse(tagged[f"exercise-{number}"].text)
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        values = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert exercise.name in (functions if exercise.is_function else values)


def test_each_has_three_hints_or_more_and_no_hint_twice(source):
    for exercise in exercises_of(source).values():
        hints = list(exercise.hints())
        assert len(set(hints)) == len(hints) >= 3
        assert all(hint.strip() == hint and hint[-1] in ".?:)" for hint in hints)


def test_no_hint_is_a_line_of_the_answer(source):
    for number, exercise in exercises_of(source).items():
        lines = [line.strip() for line in answers_of(source)[number].split("\n")]
        for hint in exercise.hints():
            assert not any(line in hint for line in lines if len(line) > 20)


def test_what_a_student_begins_with_waits(source, capsys):
    student, problems = stripped(source)
    assert problems == []
    session = Exercises(SimpleNamespace(name=source.lab, profile="quick"))
    tagged = {tag: cell for cell in student.cells for tag in cell.tags}
    for number, exercise in exercises_of(source).items():
        if exercise.is_function:
            nodes = ast.parse(tagged[f"exercise-{number}"].text).body
            [stub] = [node for node in nodes if getattr(node, "name", "") == exercise.name]
            names = {}
            exec(ast.unparse(stub), names)
            session.check(number, names[exercise.name])
            assert capsys.readouterr().out.startswith("…")


def test_the_answers_that_a_student_may_ask_for_are_those_of_the_source(source):
    stored = json.loads((ANSWERS / f"{source.lab}.json").read_text(encoding="utf-8"))
    assert {int(number): code for number, code in stored.items()} == answers_of(source)


def test_all_labs_explain_the_checks_in_the_same_words():
    paragraphs = {
        paragraph
        for lab in TREE.labs
        for cell in read_source(TREE.source(lab)).cells
        for paragraph in cell.text.split("\n\n")
        if "`ex.hint(" in paragraph
    }
    assert len(paragraphs) == 1
