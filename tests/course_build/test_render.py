"""The two forms of a lab: what is executed, and what a student opens."""

import warnings

import nbformat
import pytest

from course_build.address import Address, read_address
from course_build.problems import AuthoringError
from course_build.render import as_text, executed_form, read_translations, student_form

ADDRESS = Address("https://github.com/house/labs", "v1.2")
TITLE = '# %% [markdown] id="title"'
GPU = "# accelerator: GPU (for the profile full)\n"


def cells_of(notebook):
    return {cell.id: cell.source for cell in notebook.cells}


@pytest.fixture
def french(course, results):
    translations = read_translations(course, "coin_flips", "fr")
    return student_form(course.source("coin_flips"), "fr", results, translations, ADDRESS)


def test_executed_form_is_the_source_with_the_setup_cell(course):
    notebook = executed_form(course.source("coin_flips"), ADDRESS)
    cells = cells_of(notebook)
    assert list(cells)[:3] == ["title", "setup", "parameters"]
    assert "{{ n_records:, }}" in cells["coin"]
    assert "return max(gaps)" in cells["advantage"]
    source = course.source("coin_flips").read_text(encoding="utf-8")
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert all(text in source for text in code[1:])
    assert notebook.cells[2].metadata == {"tags": ["parameters"]}


def test_executed_form_does_not_depend_on_catalogs_or_results(course):
    before = as_text(executed_form(course.source("coin_flips")))
    for path in (course.results("coin_flips"), course.catalog("coin_flips", "fr")):
        path.unlink()
    assert as_text(executed_form(course.source("coin_flips"))) == before


def test_every_kind_of_text_is_in_the_language(french):
    cells = cells_of(french)
    assert cells["title"].startswith("# Ce que révèle une pièce\n\n[![Ouvrir dans Colab]")
    assert "60\u202f000 enregistrements, 49,9\u202f% sont" in cells["coin"]
    assert r"$\sigma = 0{,}6$ pour $n = 60\,000$" in cells["coin"]
    assert r"\frac{{a}}{b}" in cells["coin"]
    assert 'alt="Une pièce en l’air"' in cells["coin"]
    assert "# Un membre est un enregistrement dont la pièce\n# est tombée" in cells["flip"]
    assert "# une colonne" in cells["flip"]
    assert '"""La proportion de membres.\n\n    Sans' in cells["flip"]
    assert '"aucun enregistrement à compter"' in cells["flip"]
    assert 'f"Sur {len(is_member):,} enregistrements, {sum(is_member)} sont' in cells["flip"]
    assert r'r"multiplicateur de bruit $\sigma$"' in cells["draw"]
    assert '"fair", "Environ la moitié' in cells["draw"]
    assert 'alt="Deux barres" if is_member else "Aucune barre"' in cells["draw"]
    assert cells["advantage"].endswith("    # Votre code ici\n    return None")
    assert 'setdefault("COURSE_LANG", "fr")' in cells["setup"]
    assert "Mise en place" in cells["setup"]


def test_both_languages_and_the_executed_form_have_the_same_cells(course, results, french):
    english = student_form(course.source("coin_flips"), "en", results, {}, ADDRESS)
    executed = executed_form(course.source("coin_flips"), ADDRESS)
    ids = [[cell.id for cell in notebook.cells] for notebook in (english, french, executed)]
    assert ids[0] == ids[1] == ids[2]


def test_student_file_is_valid_and_holds_no_output(french):
    text = as_text(french)
    assert text.endswith("}\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        notebook = nbformat.reads(text, as_version=nbformat.NO_CONVERT)
        nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)


def test_same_input_gives_the_same_bytes(course, results):
    def text():
        translations = read_translations(course, "coin_flips", "fr")
        path = course.source("coin_flips")
        return as_text(student_form(path, "fr", results, translations, ADDRESS))

    assert text() == text()


def test_without_results_the_numbers_stay_and_the_notebook_still_runs(course):
    notebook = student_form(course.source("coin_flips"), "en")
    assert "{{ n_records:, }}" in cells_of(notebook)["coin"]


def test_emphasis_that_a_filled_number_breaks_is_refused(course, results, change):
    change("notebooks/source/coin_flips.py", "A **fair coin** says", "A **{{ device }}**says")
    results["results"]["device"] = "CPU (2)"
    with pytest.raises(AuthoringError, match=r"coin_flips\.py:18: cell \"coin\": an asterisk"):
        student_form(course.source("coin_flips"), "en", results, {}, ADDRESS)


@pytest.mark.parametrize(
    ("repository", "link"),
    [
        (
            "https://github.com/house/labs",
            "https://colab.research.google.com/github/house/labs/blob/v1/a.ipynb",
        ),
        (
            "https://github.com/house/labs.git",
            "https://colab.research.google.com/github/house/labs/blob/v1/a.ipynb",
        ),
        ("https://git.example.org/house/labs", None),
    ],
)
def test_colab_opens_what_is_on_github(repository, link):
    assert Address(repository, "v1").colab_link("a.ipynb") == link


@pytest.mark.parametrize("language", ["en", "fr"])
def test_without_an_address_the_notebook_says_how_to_set_it(course, results, change, language):
    change("pyproject.toml", "house/labs", "OWNER/REPOSITORY")
    address = read_address(course.root / "pyproject.toml")
    translations = read_translations(course, "coin_flips", language)
    path = course.source("coin_flips")
    title = student_form(path, language, results, translations, address).cells[0].source
    assert "OWNER/REPOSITORY/blob/v1.2/notebooks" in title  # the badge
    assert "`pyproject.toml`" in title and "`make notebooks`" in title
    assert ("no address yet" in title) == (language == "en")
    real = student_form(path, language, results, translations, ADDRESS).cells[0].source
    assert "pyproject" not in real


def test_set_up_cell_is_a_form_of_colab_under_its_title(course, french):
    english = executed_form(course.source("coin_flips"), ADDRESS)
    titles = ["# @title Set-up: run", "# @title Mise en place"]
    for notebook, title in zip((english, french), titles, strict=True):
        cell = notebook.cells[1]
        assert cell.source.startswith(title)
        assert cell.metadata == {"cellView": "form"}


def test_a_source_that_asks_for_a_gpu_gets_one_in_every_language(course, results, change):
    change("notebooks/source/coin_flips.py", TITLE, GPU + TITLE)
    translations = read_translations(course, "coin_flips", "fr")
    for language, texts in (("en", {}), ("fr", translations)):
        path = course.source("coin_flips")
        notebook = student_form(path, language, results, texts, ADDRESS)
        assert notebook.metadata.accelerator == "GPU"
        assert notebook.metadata.colab == {"gpuType": "T4"}


@pytest.mark.parametrize(
    ("declared", "answer"),
    [("TPU (faster)", "the accelerator TPU is unknown: write GPU"), ("GPU", "cannot be read")],
)
def test_an_accelerator_that_colab_would_not_know_is_refused(course, change, declared, answer):
    change("notebooks/source/coin_flips.py", TITLE, f"# accelerator: {declared}\n{TITLE}")
    with pytest.raises(AuthoringError, match=answer):
        executed_form(course.source("coin_flips"))


def test_without_a_link_there_is_no_badge(course, results):
    address = Address("https://git.example.org/house/labs", "v1")
    notebook = student_form(course.source("coin_flips"), "en", results, {}, address)
    assert "colab" not in notebook.cells[0].source


@pytest.mark.parametrize(
    "settings",
    [
        '[project.urls]\nRepository = "git@github.com:house/labs"\n',
        '[project.urls]\nRepository = "https://a.org/x\\"; import os"\n',
        '[tool.course]\nref = "--upload-pack=x"\n',
        '[tool.course]\nref = ""\n',
    ],
)
def test_address_that_cannot_stand_in_a_command_is_refused(tmp_path, settings):
    path = tmp_path / "pyproject.toml"
    path.write_text(settings, encoding="utf-8")
    with pytest.raises(AuthoringError, match=r"pyproject\.toml"):
        read_address(path)
