"""The proof that two languages are one code does not depend on what it checks."""

import ast
from pathlib import Path

import nbformat
import pytest

from course_build import parity
from course_build.parity import code_faults, parity_faults
from course_build.render import read_translations, student_form

PAIRS = {
    ("members", "membres"),
    ("{n} members", "membres : {n}"),
    ("{a} of {b:.1f} {{x}}", "{b:.1f} pour {a} {{x}}"),
    ("The share.\n\nOf all.", "La part.\n\nDe tous."),
}


@pytest.mark.parametrize(
    ("english", "other"),
    [
        ("print('members')  # x", "print('membres')  # y"),
        ("print(f'{n} members')", 'print(f"membres : {n}")'),
        ("print(f'{a} of {b:.1f} {{x}}')", "print(f'{b:.1f} pour {a} {{x}}')"),
        ("print('mem' 'bers')", "print('membres')"),
        (
            "def f():\n    '''The share.\n\n    Of all.\n    '''",
            "def f():\n    '''La part.\n\n    De tous.'''",
        ),
    ],
)
def test_translated_code_is_the_same_code(english, other):
    assert code_faults(english, other, PAIRS) == []


@pytest.mark.parametrize(
    ("english", "other"),
    [
        ("print('members')", "print('Membres')"),
        ("print('membres')", "print('members')"),
        ("x = 1", "x = 2"),
        ("x = 1", "x = 1.0"),
        ("x = 1", "x = True"),
        ("x = 1", "x = '1'"),
        ("x = 1", "y = 1"),
        ("x = a + b", "x = a - b"),
        ("f(a)", "f(a, b)"),
        ("f(a=1)", "f(b=1)"),
        ("x = 1", "x = 1\ny = 2"),
        ("print(f'{n} members')", "print(f'membre : {n}')"),
        ("print(f'{n} members')", "print(f'{n} membres')"),
        ("print(f'{n} members')", "print(f'membres : {m}')"),
        ("print(f'{n} members')", "print(f'membres : {n!r}')"),
        ("print(f'{n} members')", "print(f'membres : {n:.1f}')"),
        ("print(f'{n} members')", "print('membres : {n}')"),
        ("print(f'{a} of {b:.1f} {{x}}')", "print(f'{b:.1f} pour {b:.1f} {{x}}')"),
        ("def f():\n    'The share.\\n\\nOf all.'", "def f():\n    'La part.'"),
        ("x = b'members'", "x = b'membres'"),
        ("import a.b", "import a.c"),
        ("x = 1", "x = ("),
    ],
)
def test_other_code_is_found(english, other):
    assert code_faults(english, other, PAIRS)


def test_notebooks_of_the_fixture_are_one_code_until_one_is_changed(course, results):
    translations = read_translations(course, "coin_flips", "fr")
    source = course.source("coin_flips")
    english, french = (
        student_form(source, language, results, pairs)
        for language, pairs in (("en", {}), ("fr", translations))
    )
    assert parity_faults(english, french, translations, "fr") == []
    assert parity_faults(english, french, translations, "de") != []
    french.cells[4].source = french.cells[4].source.replace("0.5", "0.6")
    [(cell, fault)] = parity_faults(english, french, translations, "fr")
    assert cell == "flip"
    assert "`0.6` stands where English has `0.5`" in fault
    del french.cells[3]
    assert "order, ids, kinds or tags" in parity_faults(english, french, translations, "fr")[0][1]


def test_only_the_setup_cell_may_say_which_language_it_is():
    def notebook(cell_id, language):
        code = f'language = "{language}"'
        return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code, id=cell_id)])

    for cell_id, faults in (("setup", 0), ("flip", 1)):
        pair = notebook(cell_id, "en"), notebook(cell_id, "fr")
        assert len(parity_faults(*pair, {}, "fr")) == faults


def test_parity_uses_nothing_of_the_extraction():
    tree = ast.parse(Path(parity.__file__).read_text(encoding="utf-8"))
    imported = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {name for name in imported if name.startswith("course_build")} == {"course_build.source"}
