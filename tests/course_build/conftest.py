"""A small copy of the course for the tests of the authoring: one lab, in English and French."""

import json
import shutil
from pathlib import Path

import pytest

from course_build.tree import Tree

FIXTURES = Path(__file__).parent.parent / "fixtures"


@pytest.fixture
def results():
    """The results file of the fixture lab."""
    meta = dict.fromkeys(["profile", "language", "device"], "x")
    return {
        "results": {
            "n_records": 60000,
            "share_members": 0.4986,
            "sigma": 0.6,
            "cal_auc": 0.5714,
            "device": "cpu_1 <b>",
            "holds": True,
        },
        "data": {},
        "claims": [],
        "meta": {
            **meta,
            **{"lab": "coin_flips", "schema": 1, "seconds": 1.5, "date": "2026-11-30"},
            **{"inputs": {}, "data": {}, "versions": {"torch": "2.14.1"}},
        },
    }


@pytest.fixture
def course(tmp_path, results):
    """A tree with the fixture lab, its French catalogs and its results."""
    for folder in ("notebooks/source", "data/results"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(FIXTURES / "sources" / "coin_flips.py", tmp_path / "notebooks" / "source")
    shutil.copytree(FIXTURES / "locale", tmp_path / "notebooks" / "locale")
    (tmp_path / "data" / "results" / "coin_flips.json").write_text(
        json.dumps(results), encoding="utf-8"
    )
    (tmp_path / "pyproject.toml").write_text(
        '[project.urls]\nRepository = "https://github.com/house/labs"\n'
        '[tool.course]\nref = "v1.2"\n',
        encoding="utf-8",
    )
    return Tree(tmp_path)


@pytest.fixture
def change(course):
    """A function that replaces a text, which must be there, in one of the tree's files."""

    def change(path, old, new):
        path = course.root / path
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8", newline="\n")

    return change
