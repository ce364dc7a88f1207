"""What course_lib says reaches the translators, and their translations reach gettext."""

import gettext
import re

import polib
import pytest

from course_build.catalogs import read_catalog
from course_build.library_texts import compiled, library_messages
from course_build.problems import AuthoringError
from course_build.results import ROOT

CODE = '''\
from course_lib.language import _


def header(models):
    """Not shown: _("neither this")."""
    print(_("{n} models trained").format(n=models))
    return f"{_('attack'):<28}" + _(
        "A sentence over "
        "two lines."
    )
'''


@pytest.fixture
def library(course):
    """A course_lib of two files in the fixture tree."""
    (course.library / "exercises").mkdir(parents=True)
    (course.library / "plots.py").write_text(CODE, encoding="utf-8")
    (course.library / "exercises" / "coins.py").write_text(
        'HINT = _("attack")\nMORE = _("Toss it again.")\n', encoding="utf-8"
    )
    return course.library


@pytest.fixture
def build(library, make_notebooks):
    """Run the command on a tree with a library; return its status and what it printed."""
    return make_notebooks


@pytest.fixture
def translate(course):
    """A function that enters a translation into the French catalog of the library."""

    def translate(text, translation):
        path = course.library_catalog("fr")
        catalog = polib.pofile(str(path))
        catalog.find(text).msgstr = translation
        catalog.save(str(path))
        return path

    return translate


def french(course, text):
    path = course.library_catalog("fr").with_suffix(".mo")
    return gettext.GNUTranslations(path.open("rb")).gettext(text)


def test_every_text_is_found_once_with_its_files(library):
    found = {m.text: (m.cells, m.kinds) for m in library_messages(library)}
    assert found == {
        "attack": (["exercises/coins.py", "plots.py"], ["text"]),
        "Toss it again.": (["exercises/coins.py"], ["text"]),
        "{n} models trained": (["plots.py"], ["template"]),
        "A sentence over two lines.": (["plots.py"], ["text"]),
    }


def test_no_call_in_the_course_is_overlooked():
    folder = ROOT / "course_lib"
    found = {(m.text, file) for m in library_messages(folder) for file in m.cells}
    for path in folder.rglob("*.py"):
        code = re.sub(r'"""(?s:.*?)"""', "", path.read_text(encoding="utf-8"))
        starts = re.findall(r"""(?<![\w.])_\(\s*(["'])(.+?)\1""", code)
        name = path.relative_to(folder).as_posix()
        for _quote, start in starts:
            start = start.encode().decode("unicode_escape") if "\\" in start else start
            assert any(file == name and text.startswith(start) for text, file in found), start


@pytest.mark.parametrize(
    "call",
    ['_(f"{n} models")', "_(name)", '_("one" + "two")', '_("one", "two")', '_("")', '_(text="x")'],
)
def test_what_cannot_be_looked_up_is_refused_with_its_line(library, call):
    (library / "lab.py").write_text(f"x = 1\nprint({call})\n", encoding="utf-8")
    with pytest.raises(AuthoringError, match=r"lab\.py:2: `_\("):
        library_messages(library)


def test_a_translation_reaches_gettext_and_a_missing_one_shows_english(build, course, translate):
    assert build()[0] == 0
    translate("{n} models trained", "{n} modèles entraînés")
    status, out, _ = build()
    assert status == 0
    assert "wrote course_lib/locale/fr/LC_MESSAGES/course_lib.mo" in out
    assert french(course, "{n} models trained") == "{n} modèles entraînés"
    assert french(course, "attack") == "attack"
    assert "course_lib in fr: 2 stale files in English: exercises/coins.py, plots.py" in out
    assert build("--check")[0] == 1


def test_a_changed_sentence_is_stale_and_shown_in_english(build, course, change, translate):
    build()
    translate("{n} models trained", "{n} modèles entraînés")
    build()
    change("course_lib/plots.py", "{n} models trained", "{n} networks trained")
    status, out, _ = build("--check")
    assert status == 1
    for file in ("course_lib.po", "course_lib.mo"):
        assert f"course_lib/locale/fr/LC_MESSAGES/{file} differs" in out
    build()
    [entry] = [e for e in read_catalog(course.library_catalog("fr")) if e.fuzzy]
    assert (entry.msgid, entry.msgstr) == ("{n} networks trained", "{n} modèles entraînés")
    assert french(course, "{n} networks trained") == "{n} networks trained"


def test_a_lost_field_is_refused_with_its_place_and_nothing_is_compiled(build, course, translate):
    build()
    before = course.library_catalog("fr").with_suffix(".mo").read_bytes()
    path = translate("{n} models trained", "des modèles entraînés")
    status, _, err = build()
    assert status == 1
    line = path.read_text(encoding="utf-8").split('msgid "{n} models')[0].count("\n")
    # the line where the entry begins, with its comments
    assert re.match(rf"course_lib/locale/fr/LC_MESSAGES/course_lib\.po:({line}|{line - 1}): ", err)
    assert "the fields differ: `{n}` is lost" in err
    assert course.library_catalog("fr").with_suffix(".mo").read_bytes() == before


def test_what_is_compiled_is_the_same_in_any_order(library):
    pairs = {"attack": "attaque", "Toss it again.": "Relancez-la."}
    assert compiled(pairs, "fr") == compiled(dict(reversed(pairs.items())), "fr")


def test_a_compiled_catalog_changed_by_hand_is_found(build, course):
    build()
    path = course.library_catalog("fr").with_suffix(".mo")
    path.write_bytes(path.read_bytes() + b"x")
    assert "course_lib.mo differs" in build("--check")[1]


def test_a_language_without_a_folder_of_notebooks_is_named(build, course):
    (course.library / "locale" / "eo").mkdir(parents=True)
    status, _, err = build()
    assert status == 1
    assert "course_lib/locale/eo: belongs to no language" in err
