"""What a student waits for is small."""

import subprocess

import pytest

from course_build.tree import Tree

NOTEBOOKS = sorted((Tree().root / "notebooks").glob("*/*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.stem}-{path.parent.name}")
def test_notebook_has_less_than_200_kilobytes(path):
    assert path.stat().st_size < 200_000


def test_what_the_set_up_cell_downloads_is_less_than_40_megabytes(tmp_path, origin, ref):
    clone = tmp_path / "clone"
    command = ["git", "clone", "--quiet", "--depth", "1", "--branch", ref, origin, clone]
    subprocess.run(command, check=True, capture_output=True)
    packs = clone / ".git" / "objects"
    size = sum(path.stat().st_size for path in packs.rglob("*.pack"))
    assert 0 < size < 40e6
