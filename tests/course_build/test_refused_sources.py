"""Each fixture source that is refused, named by why, and what the author reads."""

from pathlib import Path

import pytest

from course_build.lint import source_problems
from course_build.problems import AuthoringError, refuse
from course_build.render import student_form
from course_build.source import read_source

SOURCES = Path(__file__).parent.parent / "fixtures" / "sources"

# The line in the file, the cell's name in the message, and words of the message.
REFUSED = {
    "cell_id_taken_twice": (8, 'cell "epsilon"', "taken by the cell at line 5"),
    "cell_with_unknown_metadata": (4, "cell 2", "says collapsed"),
    "cell_without_id": (4, "cell 2", "has no id"),
    "claim_id_taken_twice": (6, 'cell "claims"', '"beats" is made already at line 5'),
    "claim_with_computed_sentence": (5, 'cell "claims"', "sentence is a literal text"),
    "claim_with_constant_condition": (5, 'cell "claims"', "0.2 > 5 * 0.01` is the same whatever"),
    "claim_without_condition": (5, 'cell "claims"', "a claim has three arguments"),
    "code_above_the_first_cell": (1, "import math", "stands above the first cell"),
    "declaration_without_reason": (1, "typed numbers", "NUMBER (why)"),
    "declared_number_typed_nowhere": (4, 'cell "title"', "declared at the top but typed nowhere"),
    "dollar_without_its_other": (4, 'cell "title"', "a `$` without its other"),
    "emphasis_that_stays": (4, 'cell "title"', "an asterisk stays on the page"),
    "first_cell_without_heading": (2, 'cell "title"', "start with `# # Heading`"),
    "float_without_format": (4, 'cell "title"', '"cal_auc" is 0.5714: say how to write it'),
    "magic_in_a_cell": (5, 'cell "install"', "sources hold no magics"),
    "nested_solution": (7, 'cell "ceiling"', "inside the one that begins at line 5"),
    "number_in_code_cell": (5, 'cell "shown"', "stands in code"),
    "number_in_inline_code": (4, 'cell "title"', '"cal_auc" stands in code'),
    "number_typed_into_prose": (4, 'cell "title"', "the number 0.571 is typed into prose"),
    "percent_formatting": (5, 'cell "shown"', "write it as an f-string"),
    "solution_left_in_prose": (5, 'cell "hint"', "holds a line of the solution at line 9"),
    "solution_left_in_student_form": (5, 'cell "shown"', "the solution at line 11"),
    "solution_mark_misspelt": (5, 'cell "ceiling"', "write exactly `# BEGIN SOLUTION`"),
    "stray_braces": (4, 'cell "title"', "written exactly {{ key:spec }}"),
    "stub_outside_of_solution": (5, 'cell "ceiling"', "outside of a solution"),
    "stub_that_is_not_python": (7, 'cell "ceiling"', "is not Python once it is a stub"),
    "text_where_no_translation_reaches": (5, 'cell "shown"', "no translation reaches"),
    "text_with_numeric_format": (4, 'cell "title"', '":.3f" cannot format'),
    "unclosed_solution": (6, 'cell "ceiling"', "never ends: add `# END SOLUTION`"),
    "unknown_results_key": (6, 'cell "title"', 'no "cal_acu"; near it: cal_auc'),
    "words_inside_a_field": (5, 'cell "shown"', "stand inside a field of an f-string"),
}


def build(path, results):
    source = read_source(path)
    refuse(source_problems(source))
    return student_form(source, "en", results, {})


@pytest.mark.parametrize("name", REFUSED)
def test_source_is_refused_with_its_place(name, results):
    line, where, words = REFUSED[name]
    with pytest.raises(AuthoringError) as refused:
        build(SOURCES / f"{name}.py", results)
    first = str(refused.value).splitlines()[0]
    assert f"{name}.py:{line}: " in first
    assert where in first
    assert words in first


@pytest.mark.parametrize("name", ["solution_left_in_student_form", "unclosed_solution"])
def test_no_student_form_is_made_with_a_solution_in_it(name):
    with pytest.raises(AuthoringError):
        student_form(SOURCES / f"{name}.py", "en", None, {})


def test_every_fixture_is_tried():
    names = {path.stem for path in SOURCES.glob("*.py")}
    assert names == {*REFUSED, "coin_flips"}


def test_the_fixture_lab_is_not_refused(results):
    assert build(SOURCES / "coin_flips.py", results).cells


def test_all_faults_are_listed_at_once(tmp_path):
    path = tmp_path / "two_faults.py"
    path.write_text(
        '# %% [markdown] id="title"\n# # Two\n#\n# It is 0.5.\n\n'
        '# %% id="sum"\nlab.claim("a", "A sentence.")\n',
        encoding="utf-8",
    )
    lines = [problem.line for problem in source_problems(read_source(path))]
    assert lines == [4, 7]


@pytest.mark.parametrize(
    "condition",
    ["True", "not False", "1 < 2", "max([1, 2]) > 1", "auc > 0.5 or True", "auc == auc", "'yes'"],
)
def test_condition_that_cannot_fail_is_no_claim(tmp_path, condition):
    path = tmp_path / "claims.py"
    path.write_text(
        '# %% [markdown] id="title"\n# # C\n\n# %% id="c"\n'
        f'lab.claim("a", "It is.", {condition})\n',
        encoding="utf-8",
    )
    assert [problem.line for problem in source_problems(read_source(path))] == [5]
