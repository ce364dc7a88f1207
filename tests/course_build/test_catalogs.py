"""Catalogs follow their source; a translation that lost something is refused."""

import shutil
import subprocess

import polib
import pytest

from course_build.catalogs import (
    merged,
    messages_of,
    read_catalog,
    same_entries,
    stale_cells,
    translations_of,
    write_catalog,
)
from course_build.problems import AuthoringError
from course_build.source import Cell
from course_build.translation_checks import catalog_problems, translation_faults

COIN = "A fair coin says who is a member."
FRENCH = "Une pièce équilibrée dit qui est membre."


def catalog_of(*cells, before=None, language="fr"):
    return merged(before or polib.POFile(), messages_of(cells), language)


def prose(cell_id, *paragraphs):
    return Cell(cell_id, "markdown", "\n\n".join(paragraphs))


@pytest.fixture
def translated_catalog():
    catalog = catalog_of(prose("coin", COIN, "Another paragraph."))
    catalog[0].msgstr, catalog[1].msgstr = FRENCH, "Un autre paragraphe."
    return catalog


def test_a_text_that_stays_keeps_its_translation_wherever_it_goes(translated_catalog):
    catalog = catalog_of(prose("other", "New.", COIN), before=translated_catalog)
    assert translations_of(catalog) == {COIN: FRENCH}
    assert stale_cells(catalog) == ["other"]


def test_a_changed_text_becomes_fuzzy_and_shows_english(translated_catalog):
    changed = COIN.replace("fair", "biased")
    catalog = catalog_of(prose("coin", changed, "Another paragraph."), before=translated_catalog)
    assert catalog[0].msgstr == FRENCH
    assert catalog[0].fuzzy
    assert catalog[0].previous_msgid == COIN
    assert changed not in translations_of(catalog)
    assert stale_cells(catalog) == ["coin"]


def test_a_text_changed_twice_remembers_what_was_translated(translated_catalog):
    once = catalog_of(prose("coin", COIN.replace("fair", "biased")), before=translated_catalog)
    twice = catalog_of(prose("coin", COIN.replace("fair", "bad")), before=once)
    assert twice[0].fuzzy
    assert twice[0].previous_msgid == COIN
    back = catalog_of(prose("coin", COIN), before=twice)
    assert back[0].msgstr == FRENCH  # fuzzy still: a translator says when it is right
    assert stale_cells(back) == ["coin"]


@pytest.mark.parametrize(
    "cell",
    [
        prose("elsewhere", COIN.replace("fair", "biased")),
        Cell("coin", "code", f"# {COIN.replace('fair', 'biased')}"),
        prose("coin", "Something else entirely, about noise and epochs."),
    ],
    ids=["another cell", "another kind", "another text"],
)
def test_only_the_text_that_was_replaced_gives_its_translation(translated_catalog, cell):
    catalog = catalog_of(cell, before=translated_catalog)
    assert (catalog[0].msgstr, catalog[0].fuzzy) == ("", False)


def test_a_translation_goes_to_the_closest_of_two_new_texts_only(translated_catalog):
    close, far = COIN.replace("fair", "fairer"), COIN.replace("A fair coin", "Nobody else")
    catalog = catalog_of(prose("coin", far, close), before=translated_catalog)
    assert [entry.msgstr for entry in catalog if not entry.obsolete] == ["", FRENCH]


def test_what_is_no_longer_used_comes_back_with_its_text(translated_catalog):
    without = catalog_of(prose("coin", "Another paragraph."), before=translated_catalog)
    assert [entry.msgid for entry in without if entry.obsolete] == [COIN]
    again = catalog_of(prose("coin", COIN, "Another paragraph."), before=without)
    assert translations_of(again)[COIN] == FRENCH


def test_one_entry_for_a_text_with_every_cell_it_stands_in():
    catalog = catalog_of(prose("one", "Members"), Cell("two", "code", 'print("Members")'))
    [entry] = catalog
    assert entry.occurrences == [("one", ""), ("two", "")]
    assert entry.comment.split("\n") == ["prose", "text"]


def test_catalog_is_the_same_after_it_was_written_and_read(tmp_path, translated_catalog):
    catalog = catalog_of(
        prose("coin", COIN.replace("fair", "biased"), 'Of "all"\n\\alpha {{ a:.1f }} ' + "x " * 99),
        Cell("code", "code", "# two\n# lines\nprint(f'{a}\\n\\t')"),
        before=translated_catalog,
    )
    path = tmp_path / "fr" / "lab.po"
    write_catalog(path, catalog)
    assert same_entries(read_catalog(path), catalog)
    first = path.read_bytes()
    write_catalog(path, merged(read_catalog(path), messages_of([]), "fr"))
    write_catalog(path, catalog)
    assert path.read_bytes() == first
    assert b"\r" not in first


@pytest.mark.skipif(not shutil.which("msgfmt"), reason="gettext is not installed")
def test_gettext_accepts_a_catalog(tmp_path, translated_catalog):
    path = tmp_path / "lab.po"
    write_catalog(path, catalog_of(prose("coin", COIN + " So."), before=translated_catalog))
    subprocess.run(["msgfmt", "-c", "-o", tmp_path / "x.mo", path], check=True, capture_output=True)


def test_two_entries_for_one_text_are_refused(tmp_path):
    path = tmp_path / "lab.po"
    path.write_text('msgid "a"\nmsgstr "b"\n\nmsgid "a"\nmsgstr "c"\n', encoding="utf-8")
    with pytest.raises(AuthoringError, match=r'lab\.po:4: "a" has an entry at line 1 already'):
        read_catalog(path)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b'msgid "a"\nmsgstr "b\n', "lab.po:2: is no line of a catalog"),
        (b'msgid "a"\nmsgstr b\n', "lab.po:2: is no line of a catalog"),
        (b'msgid "a" b"\nmsgstr ""\n', "lab.po:1: is no line of a catalog"),
        (b'msgstr "b"\nmsgid "a"\n', "lab.po:1: is no gettext catalog"),
        (b'msgid "\xff"\nmsgstr ""\n', "lab.po:1: is no text in UTF-8"),
    ],
)
def test_what_is_no_catalog_is_refused(tmp_path, content, place):
    path = tmp_path / "lab.po"
    path.write_bytes(content)
    with pytest.raises(AuthoringError, match=place):
        read_catalog(path)


@pytest.mark.parametrize(
    ("kind", "english", "translation", "words"),
    [
        ("f-string", "{n} of {m:.1f}", "{n} sur", "`{m:.1f}` is lost"),
        ("f-string", "{n} of {m:.1f}", "{n} sur {m:.2f}", "`{m:.1f}` is lost and `{m:.2f}` is new"),
        ("f-string", "{n} members", "{n} membres {n}", "`{n}` is new"),
        ("f-string", "{n} members", "{n membres", "a `{` is never closed"),
        ("f-string", "{n} members", "{n} membres {os.system('x')}", "is new"),
        ("text", r"noise $\sigma$", r"bruit $\sigma", "`$` without its other"),
        ("text", "Members\n", "Membres", "line end"),
        ("text", "16 models", "6 modèles", "`16` is lost and `6` is new"),
        ("comment", "one line", "deux\nlignes", "several lines"),
        ("prose", "See [x](#a).", "Voir x.", "`(#a` is lost"),
        ("prose", "See <https://a.org>.", "Voir <https://b.org>.", "`<https://a.org>` is lost"),
        ("prose", "It is {{ a:.1f }}.", "C’est.", "`{{ a:.1f }}` is lost"),
        ("prose", "It is {{ a:.1f }}.", "C’est {{ a:.2f }}.", "`{{ a:.2f }}` is new"),
        ("prose", "It is {{ a:.1f }}.", "C’est {{ a:.1f }.", "stray"),
        ("prose", "For $x$ it is.", "Pour $x c’est.", "`$` without its other"),
        ("prose", r"For $\sigma = 2$ it is.", r"Pour $\sigma = 3$ oui.", "formulas differ"),
        ("prose", "In 16 models.", "Dans seize modèles.", "`16` is lost"),
        ("prose", "It is 3.11.", "C’est 3,12.", "`311` is lost and `312` is new"),
        ("prose", "## Coin", "# Pièce", "headings, lists or quotations"),
        ("prose", "- a\n- b", "- a, b", "headings, lists or quotations"),
        ("prose", "<details>\nHint", "Indice", "`<details>` is lost"),
        ("prose", "A hint.", 'Un <img src=x onerror="y">.', "is new"),
        ("prose", "This is **100 %** of it.", "**100 %**で。", "an asterisk stays"),
    ],
)
def test_translation_that_lost_something_is_refused(kind, english, translation, words):
    assert any(words in message for message in translation_faults(english, translation, [kind]))


@pytest.mark.parametrize(
    ("kind", "english", "translation"),
    [
        ("f-string", "{n} of {m:.1f} {{x}}", "{m:.1f} pour {n} {{x}}"),
        ("prose", "Of 60,000, $n = 60{,}000$.", "Sur 60\u202f000, $n = 60\\,000$."),
        ("prose", r"$\text{if } x = 0.5$", r"$\text{si } x = 0{,}5$"),
        ("prose", "This is **100 %** of it.", "これは<strong>100 %</strong>です。"),
        ("prose", '<img src="a.png" alt="A coin">', '<img src="a.png" alt="Une pièce">'),
        ("prose", "It costs \\$5.", "Cela coûte 5\u00a0\\$."),
        ("docstring", "The share.\n\nMore.", "La part."),
    ],
)
def test_translation_that_kept_everything_is_accepted(kind, english, translation):
    assert list(translation_faults(english, translation, [kind])) == []


@pytest.mark.parametrize(
    ("old", "new", "english", "cell", "words"),
    [
        (
            "Sur {len(is_member):,}",
            "Sur {len(is_member)}",
            "{sum(is_mem",
            "flip",
            "the fields differ",
        ),
        ("bruit $\\\\sigma$", "bruit $\\\\sigma", "noise mult", "draw", "a `$` without its other"),
        ("](https://arxiv.org/abs/1706.06083)", "]", "A **fair coin", "coin", "the links differ"),
        ("{{ sigma:.1f }}$ pour", "0{,}6$ pour", "- Of {{ n_rec", "coin", "numbers quoted by name"),
    ],
    ids=["field", "formula", "link", "number"],
)
def test_the_place_of_a_broken_entry_is_named(course, old, new, english, cell, words):
    path = course.catalog("coin_flips", "fr")
    before, _, after = path.read_text(encoding="utf-8").rpartition(old)
    assert before
    path.write_text(before + new + after, encoding="utf-8")
    problems = list(catalog_problems(path, read_catalog(path)))
    assert any(words in problem.message for problem in problems)
    lines = path.read_text(encoding="utf-8").split("\n")
    for problem in problems:
        assert problem.cell == cell
        assert lines[problem.line - 2] == ""  # the entry begins here, with its comments
        assert english in "".join(lines[problem.line - 1 : problem.line + 4])


def test_fuzzy_translations_may_be_broken_because_nobody_sees_them(translated_catalog, tmp_path):
    translated_catalog[0].flags = ["fuzzy"]
    translated_catalog[0].msgstr = "Une $ pièce."
    assert list(catalog_problems(tmp_path, translated_catalog)) == []


def test_a_formula_is_translated_where_it_spells_words_out():
    spelt, known = r"$$\Pr[x \text{ was in}] \le 1$$", r"$$\text{FPR} \le e^{\varepsilon}$$"
    assert [message.text for message in messages_of([prose("odds", spelt, known)])] == [spelt]
    assert not list(translation_faults(spelt, r"$$\Pr[x \text{ était}] \le 1$$", ["prose"]))
    assert list(translation_faults(spelt, r"$$\Pr[x \text{ était}] \ge 1$$", ["prose"]))
