import json

import pytest

from build_notebooks import main
from course_build import freshness
from course_build.freshness import stale_notebooks, stale_texts

SOURCE = "notebooks/source/coin_flips.py"
ENGLISH = "notebooks/en/coin_flips.ipynb"


@pytest.fixture
def check(course, monkeypatch, capsys):
    """The notebooks built; a way to ask what is stale, which counts how often it renders."""
    monkeypatch.chdir(course.root)
    assert main([], course) == 0
    capsys.readouterr()
    compare = freshness._compare

    def counting(tree, lab):
        check.rendered += 1
        return compare(tree, lab)

    monkeypatch.setattr(freshness, "_compare", counting)

    def check():
        return stale_notebooks(course, ["coin_flips"])["coin_flips"]

    check.rendered = 0
    return check


def test_what_is_right_is_looked_at_once(check):
    assert [check(), check(), check()] == [[], [], []]
    assert check.rendered == 1


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (SOURCE, "random.Random(0)", "random.Random(1)"),
        (ENGLISH, "random.Random(0)", "random.Random(1)"),
        ("data/results/coin_flips.json", "0.4986", "0.5986"),
        ("notebooks/locale/fr/coin_flips.po", "Ce que révèle", "Ce que dit"),
        ("pyproject.toml", "v1.2", "v1.3"),
    ],
)
def test_what_changed_is_named_until_it_is_right_again(path, old, new, check, change, course):
    assert check() == []
    change(path, old, new)
    found = check()
    assert found and found[-1] == f"since they were right: {path} changed"
    assert check() == found and check.rendered == 2
    change(path, new, old)
    assert check() == [] and check.rendered == 3


def test_what_differs_is_said_without_a_memory_too(check, change):
    change(ENGLISH, "random.Random(0)", "random.Random(1)")
    [line] = check()
    assert line == f"{ENGLISH} differs from what its source gives: build the notebooks"


def test_a_change_that_changes_no_notebook_makes_nothing_stale(check, course):
    """Other than for results: rendering again is cheap."""
    assert check() == []
    with open(course.root / "pyproject.toml", "a", encoding="utf-8") as file:
        file.write("# a comment\n")
    assert check() == [] and check.rendered == 2


def test_a_notebook_that_is_gone_is_named(check, course):
    assert check() == []
    (course.root / ENGLISH).unlink()
    assert check()[-1] == f"since they were right: {ENGLISH} is gone"


def test_a_memory_that_makes_no_sense_is_forgotten(check, course):
    memory = course.root / "build" / "notebooks.json"
    assert check() == []
    assert "coin_flips" in json.loads(memory.read_text(encoding="utf-8"))
    entry = '{"coin_flips": {"inputs": {}, "lines": [1]}}'
    for times, text in enumerate(["", "[]", '{"coin_flips": 1}', entry, "[" * 99999], start=2):
        memory.write_text(text, encoding="utf-8")
        assert check() == [] and check.rendered == times


def test_a_tree_that_cannot_be_written_can_be_checked(check, course):
    (course.root / "build").write_text("")
    assert [check(), check()] == [[], []] and check.rendered == 2


def test_a_source_that_is_refused_is_said(check, change):
    change(SOURCE, "# %% [markdown]", "# %% [raw]")
    assert any(SOURCE in line for line in check())


def test_texts_outside_of_the_labs_are_compared_too(check, course, change):
    assert stale_texts(course) == []
    (course.root / "README.md").write_text("# Coins\n", encoding="utf-8")
    said = stale_texts(course)
    assert "notebooks/locale/fr/README.po differs from what its source gives" in said[0]
    assert said[-1] == "README in fr: 1 stale section in English: coins"
    assert not (course.root / "README.fr.md").exists()
    course.catalog("setup", "fr").write_text("x", encoding="utf-8")
    assert "is no line of a catalog" in stale_texts(course)[0]
