"""The README links what there is, in every language, and follows its English."""

import re

import polib
import pytest
from markdown_it import MarkdownIt

from course_build.catalogs import read_catalog
from course_build.prose import prose_faults
from course_build.tree import Tree

ENGLISH = """\
# Coins

<!-- languages -->
<!-- end -->

Labs about coins. See [the data](data/results/coin_flips.json).

| lab | question |
|---|---|
| `coin_flips` | Whose coin is it? |

<!-- notebooks -->
something old
<!-- end -->

## Two commands

```
make test     # toss the coins
```
"""
READMES = sorted(Tree().root.glob("README*.md"))


@pytest.fixture
def build(course, make_notebooks):
    """Run the command on a tree with a README; return its status and what it printed."""
    (course.root / "README.md").write_text(ENGLISH, encoding="utf-8")
    return make_notebooks


@pytest.fixture
def translate(course):
    """A function that enters a translation into the README's French catalog."""

    def translate(text, translation):
        path = course.catalog("README", "fr")
        catalog = polib.pofile(str(path))
        catalog.find(text).msgstr = translation
        catalog.save(str(path))

    return translate


def shown(path):
    """The tokens of a page as GitHub renders it."""
    page = MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8"))
    return [token for block in page for token in [block, *(block.children or [])]]


def links(path):
    tokens = shown(path)
    return [t.attrs["href"] for t in tokens if t.type == "link_open"]


def test_table_links_every_notebook_and_opens_it_in_colab(build, course):
    assert build()[0] == 0
    for name in ("README.md", "README.fr.md"):
        for language in ("en", "fr"):
            notebook = f"notebooks/{language}/coin_flips.ipynb"
            colab = f"https://colab.research.google.com/github/house/labs/blob/v1.2/{notebook}"
            assert {notebook, colab} <= set(links(course.root / name))
    alts = {t.content for t in shown(course.root / "README.fr.md") if t.type == "image"}
    assert alts == {"Ouvrir dans Colab"}


def test_languages_link_each_other_and_the_own_one_comes_first(build, course):
    build()
    english, french = ((course.root / f"README{x}.md").read_text("utf-8") for x in ("", ".fr"))
    assert "\nEnglish · [français](README.fr.md)\n" in english
    assert "\nfrançais · [English](README.md)\n" in french
    assert "| français | English |" in french
    assert french.startswith("<!-- Made by build_notebooks.py from README.md")


def test_a_new_language_appears_in_all_of_them(build, course):
    build()
    (course.root / "notebooks" / "locale" / "zh").mkdir()
    assert "README.md differs" in build("--check")[1]
    build()
    for name in ("README.md", "README.fr.md"):
        assert {"README.zh.md", "notebooks/zh/coin_flips.ipynb"} <= set(links(course.root / name))
    assert build()[1].count("wrote") == 0


def test_translation_is_shown_and_the_rest_stays(build, course, translate):
    build()
    translate("## Two commands", "## Deux commandes")
    status, out, _ = build()
    assert status == 0
    french = (course.root / "README.fr.md").read_text(encoding="utf-8")
    assert "\n## Deux commandes\n\n```\nmake test     # toss the coins\n```\n" in french
    assert "Labs about coins." in french
    assert "README in fr: 2 stale sections in English: coins, two-commands" in out


def test_a_changed_sentence_is_stale(build, course, change, translate):
    build()
    translate("## Two commands", "## Deux commandes")
    build()
    change("README.md", "## Two commands", "## Three commands")
    assert build("--check")[0] == 1
    build()
    assert "\n## Three commands\n" in (course.root / "README.fr.md").read_text(encoding="utf-8")
    [entry] = [e for e in read_catalog(course.catalog("README", "fr")) if e.fuzzy]
    assert entry.msgstr == "## Deux commandes"


@pytest.mark.parametrize(
    ("text", "translation", "words"),
    [
        (
            "Labs about coins. See [the data](data/results/coin_flips.json).",
            "Des pièces. Voir [les données](data/coin_flips.json).",
            "the links differ",
        ),
        (
            "```\nmake test     # toss the coins\n```",
            "```\nmake tester     # lancer les pièces\n```",
            "the lines of code blocks differ: `make test` is lost and `make tester` is new",
        ),
    ],
)
def test_a_lost_link_or_command_is_refused_with_its_line(
    build, course, translate, text, translation, words
):
    build()
    before = (course.root / "README.fr.md").read_bytes()
    translate(text, translation)
    status, _, err = build()
    assert status == 1
    assert re.match(r"notebooks/locale/fr/README\.po:\d+: ", err)
    assert words in err
    assert (course.root / "README.fr.md").read_bytes() == before


def test_a_comment_in_a_code_block_may_be_translated(build, course, translate):
    build()
    translate(
        "```\nmake test     # toss the coins\n```", "```\nmake test     # lancer les pièces\n```"
    )
    assert build()[0] == 0
    assert "# lancer les pièces" in (course.root / "README.fr.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["README.md", "README.fr.md"])
def test_a_readme_changed_by_hand_where_it_is_made_is_found(build, course, change, name):
    build()
    change(name, "[.ipynb](notebooks/en/", "[.ipynb](notebooks/de/")
    assert f"{name} differs" in build("--check")[1]


def test_a_readme_of_no_language_is_named(build, course):
    (course.root / "README.eo.md").write_text("Saluton.", encoding="utf-8")
    status, _, err = build()
    assert status == 1
    assert "README.eo.md: belongs to no language" in err


@pytest.mark.parametrize("path", READMES, ids=lambda path: path.name)
def test_course_readme_links_every_notebook_and_nothing_that_is_not_there(path):
    tree = Tree()
    found = links(path)
    for lab in tree.labs:
        for language in tree.languages:
            assert f"notebooks/{language}/{lab}.ipynb" in found
    assert {other.name for other in READMES} - {path.name} <= set(found)
    for link in found:
        if not link.startswith(("https://", "http://")):
            assert (tree.root / link).exists(), link


@pytest.mark.parametrize("path", READMES, ids=lambda path: path.name)
def test_course_readme_leaves_no_asterisk_on_the_page(path):
    assert prose_faults(path.read_text(encoding="utf-8")) == []


def test_course_has_a_readme_in_every_language():
    names = {f"README.{language}.md" for language in Tree().languages if language != "en"}
    assert {path.name for path in READMES} == {"README.md", *names}
