"""The command that builds the notebooks, as its user meets it."""

import json

import pytest

from course_build import render
from course_build.catalogs import read_catalog

FLIPS = "notebooks/source/coin_flips.py"


@pytest.fixture
def build(make_notebooks):
    """Run the command; return its status, what it printed, and what it said of errors."""
    return make_notebooks


def files(course):
    return {
        path.relative_to(course.root).as_posix(): path.read_bytes()
        for path in course.root.rglob("*")
        if path.is_file()
    }


def test_built_once_there_is_nothing_left_to_do(build, course):
    status, out, err = build()
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "wrote notebooks/en/coin_flips.ipynb",
        "wrote notebooks/fr/coin_flips.ipynb",
    ]
    before = files(course)
    assert build() == (0, "all notebooks are up to date\n", "")
    assert build("--check") == (0, "all notebooks are up to date\n", "")
    assert files(course) == before


def test_check_writes_nothing_and_names_what_differs(build, course):
    before = files(course)
    status, out, _ = build("--check")
    assert status == 1
    assert "notebooks/fr/coin_flips.ipynb differs from what its source gives" in out
    assert files(course) == before


def test_a_changed_sentence_is_stale_in_every_language_and_keeps_its_translation(
    build, course, change
):
    build()
    change(FLIPS, "says who is a member", "says who is in the training set")
    before = files(course)
    status, out, _ = build("--check")
    assert status == 1
    assert "coin_flips in fr: 1 stale cell in English: coin" in out
    assert "notebooks/locale/fr/coin_flips.po differs" in out
    assert files(course) == before
    assert build()[0] == 0
    shown = course.notebook("coin_flips", "fr").read_text(encoding="utf-8")
    assert "says who is in the training set" in shown
    [entry] = [e for e in read_catalog(course.catalog("coin_flips", "fr")) if e.fuzzy]
    assert entry.msgstr.startswith("Une **pièce équilibrée**")
    assert build("--check")[0] == 1  # until a translator has looked at it


@pytest.mark.parametrize("language", ["en", "fr"])
def test_a_notebook_changed_by_hand_is_found(build, course, change, language):
    build()
    change(f"notebooks/{language}/coin_flips.ipynb", "< 0.5", "< 0.6")
    status, out, _ = build("--check")
    assert status == 1
    assert f"notebooks/{language}/coin_flips.ipynb differs" in out


def test_new_results_change_the_prose(build, course, results):
    build()
    results["results"]["n_records"] = 50000
    course.results("coin_flips").write_text(json.dumps(results), encoding="utf-8")
    assert build("--check")[0] == 1
    build()
    assert "50\u202f000" in course.notebook("coin_flips", "fr").read_text(encoding="utf-8")


def test_a_broken_translation_is_refused_with_its_place_and_the_rest_is_built(
    build, course, change
):
    change("notebooks/locale/fr/coin_flips.po", "## Exercice", "# Exercice")
    status, out, err = build()
    assert status == 1
    assert out.splitlines() == ["wrote notebooks/en/coin_flips.ipynb"]
    assert err.startswith("notebooks/locale/fr/coin_flips.po:")
    assert 'cell "exercise": the translation of "## Exercise": the headings' in err


def test_a_fault_in_writing_translations_is_caught_before_a_student_meets_it(
    build, course, monkeypatch
):
    def wrong(code, translations):
        return code.replace("< 0.5", "< 0.6") if translations else code

    monkeypatch.setattr(render, "translated", wrong)
    status, _, err = build()
    assert status == 1
    assert 'cell "flip": line 6: `0.6` stands where English has `0.5`' in err
    assert not course.notebook("coin_flips", "fr").exists()


@pytest.mark.parametrize("arguments", [[], ["--check"]])
def test_a_refused_source_leaves_everything_as_it_was(build, course, change, arguments):
    build()
    change(FLIPS, "{{ share_members:.1% }} are members", "49.9 % are members")
    before = files(course)
    status, _, err = build(*arguments)
    assert status == 1
    assert "coin_flips.py:20: " in err
    assert "the number 49.9 is typed into prose" in err
    assert files(course) == before


def test_a_new_language_begins_with_its_folder(build, course):
    (course.root / "notebooks" / "locale" / "eo").mkdir()
    status, out, _ = build("--lang", "eo")
    assert status == 0
    assert out.splitlines()[:3] == [
        "wrote notebooks/locale/eo/setup.po",
        "wrote notebooks/locale/eo/coin_flips.po",
        "wrote notebooks/eo/coin_flips.ipynb",
    ]
    assert "coin_flips in eo: 7 stale cells in English: title, parameters" in out
    assert build("--check", "--lang", "fr")[1].count("eo") == 0


def test_solutions_are_in_no_file_that_is_made(build, course):
    build()
    for name, content in files(course).items():
        if not name.startswith("notebooks/source"):
            assert b"gaps" not in content, name


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["coin_flip"], 'there is no lab "coin_flip"; did you mean coin_flips?'),
        (["--lang", "xx"], 'there is no language "xx". The languages are: en, fr.'),
        (["../coin_flips"], "The labs are: coin_flips."),
    ],
)
def test_unknown_names_are_answered_with_the_known_ones(build, arguments, sentence):
    status, out, err = build(*arguments)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert sentence in err


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "coin_flips has no results yet: run `python build_results.py coin_flips` first"),
        ("{", "is not JSON"),
        ('{"results": {}, "data": {}, "claims": [], "meta": {"schema": 0}}', "schema 0"),
    ],
)
def test_without_good_results_nothing_is_built(build, course, content, sentence):
    path = course.results("coin_flips")
    path.unlink() if content is None else path.write_text(content, encoding="utf-8")
    status, _, err = build()
    assert (status, err.count("\n")) == (1, 1)
    assert sentence in err
    assert not course.notebook("coin_flips", "en").exists()


def test_what_belongs_to_no_lab_is_named(build, course):
    build()
    old = course.notebook("old_lab", "fr")
    old.write_text("{}", encoding="utf-8")
    status, _, err = build("--check")
    assert status == 1
    assert "notebooks/fr/old_lab.ipynb: belongs to no lab" in err


def test_placeholder_address_is_warned_of_but_builds(build, change):
    change("pyproject.toml", "house/labs", "OWNER/REPOSITORY")
    assert build()[0] == 0
    status, _, err = build("--check")
    assert status == 0
    assert err.startswith("warning: the course's address is still")


def test_help_can_be_read_by_a_stranger(build, capsys):
    with pytest.raises(SystemExit) as left:
        build("--help")
    assert left.value.code == 0
    text = capsys.readouterr().out
    for word in ("LAB", "--check", "--lang", "notebooks/source", "examples:", "exit status:"):
        assert word in text
