"""Every lab runs, in its solved form and as a student has it in each language, in small.

A student's notebook is run once, and then asked for everything: whether it ran, whether its
figures have all their characters, whether its words are the language's, whether its results are
those of the English one.
"""

import json
import shutil

import nbformat
import pytest

import build_notebooks
import build_results
from course_build import lab_build
from course_build.prose import prose_faults
from course_build.render import student_form
from course_build.results import TIMING_KEY, read_run
from course_build.tree import ENGLISH, Tree
from tests.notebooks.shown import LISTENER, translated_words, untranslated

TREE = Tree()
OTHERS = [language for language in TREE.languages if language != ENGLISH]
EVERY = pytest.mark.parametrize(
    ("lab", "language"), [(lab, language) for lab in TREE.labs for language in TREE.languages]
)
EVERY_OTHER = pytest.mark.parametrize(
    ("lab", "language"), [(lab, language) for lab in TREE.labs for language in OTHERS]
)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Run a student's notebook in small, once for all tests; return its exit status and files."""
    runs = {}

    def run(lab, language):
        if (lab, language) not in runs:
            folder = tmp_path_factory.mktemp(f"{lab}-{language}")
            figures = folder / "figures.jsonl"

            def listening(*arguments):
                notebook = student_form(*arguments)
                code = LISTENER.replace("@FILE@", repr(str(figures)))
                notebook.cells.insert(2, nbformat.v4.new_code_cell(code, id="listener"))
                return notebook

            def keeping(path):
                shutil.copy(path, folder / "run.json")
                return read_run(path)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(lab_build, "student_form", listening)
                patch.setattr(lab_build, "read_run", keeping)
                arguments = ["--profile", "smoke", "--lang", language, "--keep", str(folder)]
                status = build_results.main([lab, *arguments])
            runs[lab, language] = (status, folder / "run.json", folder / f"{lab}.ipynb", figures)
        return runs[lab, language]

    return run


def test_there_are_labs():
    assert TREE.labs


@pytest.mark.parametrize("lab", TREE.labs)
def test_solved_form_runs(lab):
    assert build_results.main([lab, "--profile", "smoke"]) == 0


@EVERY
def test_student_form_runs_and_no_figure_lacks_a_character(lab, language, ran):
    status, _, _, figures = ran(lab, language)
    assert status == 0
    assert len(figures.read_text(encoding="utf-8").splitlines()) > 20  # it did listen


@EVERY_OTHER
def test_results_are_those_of_the_english_notebook(lab, language, ran):
    """Bit for bit: a language changes no figure."""
    english, other = (figures_of(ran(lab, one)[1]) for one in (ENGLISH, language))
    assert other == english


@EVERY_OTHER
def test_no_english_word_is_left_in_what_is_printed_and_drawn(lab, language, ran):
    _, _, path, figures = ran(lab, language)
    notebook = nbformat.read(path, as_version=4)
    assert untranslated(notebook, figures, translated_words(TREE, lab, language)) == {}


@EVERY
def test_emphasis_renders_and_every_formula_is_closed(lab, language):
    notebook = nbformat.read(TREE.notebook(lab, language), as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    assert len(cells) > 10
    assert [
        (cell.id, prose_faults(cell.source)) for cell in cells if prose_faults(cell.source)
    ] == []


def test_committed_notebooks_are_what_the_sources_give():
    assert build_notebooks.main(["--check"]) == 0


def figures_of(path):
    """What must be the same in every language; the sentences of the claims are not."""
    contents = read_run(path)
    results = {key: value for key, value in contents["results"].items() if key != TIMING_KEY}
    claims = [(claim["id"], claim["holds"]) for claim in contents["claims"]]
    return json.dumps([results, contents["data"], claims], sort_keys=True)
