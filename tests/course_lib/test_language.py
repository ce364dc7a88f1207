import pytest

from course_lib import language as course_language
from course_lib.language import _, language, padded


@pytest.fixture
def catalog(tmp_path, monkeypatch):
    """A French catalog with one entry."""
    polib = pytest.importorskip("polib")
    entries = polib.POFile()
    entries.metadata = {"Content-Type": "text/plain; charset=utf-8"}
    entries.append(polib.POEntry(msgid="{n} models", msgstr="{n} modèles"))
    folder = tmp_path / "fr" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    entries.save_as_mofile(str(folder / "course_lib.mo"))
    monkeypatch.setattr(course_language, "LOCALE_DIR", tmp_path)
    course_language._catalog.cache_clear()
    yield
    course_language._catalog.cache_clear()


def test_english_is_the_default(monkeypatch):
    monkeypatch.delenv("COURSE_LANG", raising=False)
    assert language() == "en"
    monkeypatch.setenv("COURSE_LANG", " ")
    assert language() == "en"


def test_a_text_is_looked_up_in_the_language_in_use(catalog, monkeypatch):
    monkeypatch.setenv("COURSE_LANG", "fr")
    assert _("{n} models").format(n=3) == "3 modèles"
    monkeypatch.setenv("COURSE_LANG", "en")
    assert _("{n} models").format(n=3) == "3 models"


def test_a_text_without_translation_stays_english(catalog, monkeypatch):
    monkeypatch.setenv("COURSE_LANG", "fr")
    assert _("not in the catalog") == "not in the catalog"
    monkeypatch.setenv("COURSE_LANG", "zh")
    assert _("{n} models") == "{n} models"


def test_the_empty_text_is_not_the_header_of_the_catalog(catalog, monkeypatch):
    monkeypatch.setenv("COURSE_LANG", "fr")
    assert _("") == ""


def test_a_table_stands_straight_where_characters_take_two_columns():
    assert padded("AUC", 6) + "|" == "AUC   |"
    assert padded("记录", 6) + "|" == "记录  |"  # two columns each
    assert padded("TPR（1%）", 14) == "TPR（1%）" + " " * (14 - 9)  # brackets of full width, too
    assert padded("ロジット", 10, right=True) == "  ロジット"
    assert padded("perte d’entraînement", 4) == "perte d’entraînement"
    assert padded("ε ≥ σ", 6) == "ε ≥ σ "  # ambiguous ones take one column in a Latin font
