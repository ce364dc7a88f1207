import pytest
from nbformat import v4

from course_build.handed_in.trusted_cells import (
    checks_of,
    exercise_of,
    lab_of,
    with_trusted_checks,
)
from course_build.source import read_source
from course_build.tree import Tree

from .conftest import LAB


def code(text, name="", tags=()):
    return v4.new_code_cell(text, metadata={"id": name, "tags": list(tags)})


def order(labs, *cells):
    """Where the checks are put: the sources of a notebook's cells, checks by their numbers."""
    found = with_trusted_checks(list(cells), LAB, labs[LAB], "/x")
    return [cell.source if exercise_of(cell) is None else exercise_of(cell) for cell in found]


def test_the_checks_are_those_of_the_source_on_a_name_that_students_do_not_have(labs):
    first, second = labs[LAB]
    assert (first.number, first.name) == (1, "true_label_logit")
    assert second.call == "__course_checks__.check(2, log_ratio)"
    assert second.places == ("log-ratio", "check-2")


@pytest.mark.parametrize("lab", Tree().labs)
def test_every_check_of_every_lab_can_be_put_into_a_notebook(lab):
    source = read_source(Tree().source(lab))
    checks = checks_of(source)
    tagged = {tag for cell in source.cells for tag in cell.tags if tag.startswith("exercise-")}
    if any("Exercises(lab)" in cell.text for cell in source.cells):
        assert {f"exercise-{check.number}" for check in checks} == tagged != set()
    ids = {cell.id for cell in source.cells}
    for check in checks:
        compile(check.call, "check", "eval")
        assert check.name.isidentifier() and set(check.places) <= ids and len(check.places) >= 2


def test_a_check_stands_behind_the_last_cell_of_its_exercise(labs):
    cells = [
        code("a", "log-ratio", ["exercise-2"]),
        code("ex.check(2, log_ratio)", "check-2"),
        code("b"),
        code("c", tags=["exercise-1"]),
        code("d"),
    ]
    assert order(labs, *cells) == [0, "a", "ex.check(2, log_ratio)", 2, "b", "c", 1, "d"]


def test_where_ids_and_tags_are_lost_the_definition_says_where(labs):
    cells = [
        code("x = 1\ndef log_ratio(a):\n    pass"),
        code("# def true_label_logit"),
        code("true_label_logit = log_ratio"),
        code("true_label_logit == log_ratio"),
        v4.new_markdown_cell("log_ratio = 3", metadata={"id": "", "tags": []}),
    ]
    texts = [cell.source for cell in cells]
    assert order(labs, *cells) == [0, texts[0], 2, texts[1], texts[2], 1, *texts[3:]]


def test_where_nothing_is_left_the_checks_stand_at_the_end(labs):
    assert order(labs, code("a"), code("b")) == [0, "a", "b", 1, 2]
    assert order(labs) == [0]


@pytest.mark.parametrize(
    ("text", "lab"),
    [
        ('lab = Lab("coins")', "coins"),
        ("%matplotlib inline\nlab = Lab('coins', profile='full')", "coins"),
        ('lab = Lab(\n    name="coins"\n)', "coins"),
        ('# lab = Lab("coins")', None),
        ('lab = Labs("coins")', None),
        ("lab = Lab(name)", None),
        ("x", None),
    ],
)
def test_the_lab_is_the_one_that_the_notebook_names(text, lab):
    cells = [v4.new_markdown_cell('Lab("prose")'), code(text), code('Lab("second")')]
    assert lab_of(v4.new_notebook(cells=cells)) == (lab or "second")
