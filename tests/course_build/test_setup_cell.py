"""The set-up cell, run as it stands: alone in a folder, and inside a copy of the course."""

import os
import subprocess
import sys

import pytest

from course_build.address import Address
from course_build.setup_cell import setup_cell
from course_build.source import Cell

PROJECT = '[project]\nname = "course-lib"\ndependencies = [{}]\n'
PROBE = """
import course_lib
from pathlib import Path
root = Path(course_lib.__file__).parent.parent
print("lib", root.name, (root / "data" / "set.txt").read_text(), os.environ["COURSE_LANG"])
"""


@pytest.fixture
def origin(tmp_path):
    """A repository with a library and data, tagged v1, at a path that needs quoting."""
    root = tmp_path / "dépôt of the course"
    for path, text in {
        "course_lib/__init__.py": "",
        "data/set.txt": "data",
        "pyproject.toml": PROJECT.format(""),
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    git(root, "init", "--quiet")
    commit(root)
    return root


def git(root, *words):
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


def commit(root):
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--allow-empty", "-m", "x")
    git(root, "tag", "--force", "v1")


@pytest.fixture
def run(tmp_path):
    """Run the cell, and then the probe, in a folder: without any package but Python's own."""
    script = tmp_path / "elsewhere" / "cell.py"
    script.parent.mkdir()
    cell = setup_cell(Address("https://github.com/OWNER/REPOSITORY", "v1"), "fr")
    script.write_text(cell.text + PROBE, encoding="utf-8")

    def run(folder, repository=None, path=""):
        folder.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "PYTHONPATH": str(path), "PYTHONUTF8": "1"}
        environment.pop("COURSE_LANG", None)
        if repository is not None:
            environment["COURSE_REPO"] = repository
        return subprocess.run(
            [sys.executable, "-S", script],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )

    return run


def test_alone_it_fetches_library_and_data_once(tmp_path, origin, run):
    alone = tmp_path / "mes étés" / "alone"
    first = run(alone, origin.as_uri())
    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines() == [
        f"Fetching the course from {origin.as_uri()} (once; a few seconds) ...",
        "lib course-v1 data fr",
    ]
    assert [path.name for path in alone.iterdir()] == ["course-v1"]
    again = run(alone, (tmp_path / "gone").as_uri())
    assert (again.returncode, again.stdout) == (0, "lib course-v1 data fr\n")


def test_clone_is_shallow(tmp_path, origin, run):
    commit(origin)
    run(tmp_path / "alone", origin.as_uri())
    assert (tmp_path / "alone" / "course-v1" / ".git" / "shallow").exists()


@pytest.mark.parametrize("place", [".", "notebooks/fr", "notebooks/fr/deeper"])
def test_inside_a_copy_of_the_course_it_is_silent(tmp_path, origin, run, place):
    done = run(origin / place, (tmp_path / "gone").as_uri())
    assert (done.returncode, done.stdout) == (0, f"lib {origin.name} data fr\n"), done.stderr


def test_where_the_library_is_installed_it_is_silent(tmp_path, origin, run):
    done = run(tmp_path / "alone", (tmp_path / "gone").as_uri(), path=origin)
    assert (done.returncode, done.stdout) == (0, f"lib {origin.name} data fr\n"), done.stderr


def test_without_the_repository_it_says_so_in_one_sentence(tmp_path, run):
    gone = (tmp_path / "gone").as_uri()
    done = run(tmp_path / "alone", gone)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith(f"RuntimeError: This notebook needs the course from {gone} (v1)")
    assert "network connection" in last
    assert "During handling" not in done.stderr
    assert list((tmp_path / "alone").iterdir()) == []


@pytest.fixture
def stub_pip(tmp_path):
    """Stands for pip: notes what it is asked for. Beside it, a package that is installed."""
    path = tmp_path / "packages"
    (path / "pip").mkdir(parents=True)
    (path / "pip" / "__init__.py").touch()
    (path / "pip" / "__main__.py").write_text(
        "import os, sys\nfrom pathlib import Path\n"
        "words = sys.argv[1:]\nkeep = Path(words[words.index('--constraint') + 1]).read_text()\n"
        "with open('asked.txt', 'a') as file:\n"
        "    print(*words[:1], *words[3:], 'keeping', *keep.split(), file=file)\n"
        "sys.exit('ERROR: no such package' if os.environ.get('FAIL') else 0)\n",
        encoding="utf-8",
    )
    (path / "There_It-1.0.dist-info").mkdir()
    (path / "There_It-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: There_It\nVersion: 1.0\n", encoding="utf-8"
    )
    return path


def test_only_what_is_missing_is_installed_and_the_rest_is_held(
    tmp_path, origin, run, stub_pip, monkeypatch
):
    dependencies = '"there-it>=2", "missing[extra]>=1,<2", "other"'
    (origin / "pyproject.toml").write_text(PROJECT.format(dependencies), encoding="utf-8")
    commit(origin)
    alone = tmp_path / "alone"
    monkeypatch.setenv("FAIL", "1")
    failed = run(alone, origin.as_uri(), path=stub_pip)
    assert failed.stderr.strip().endswith("What went wrong: ERROR: no such package")
    monkeypatch.delenv("FAIL")
    done = run(alone, origin.as_uri(), path=stub_pip)
    assert done.stdout.splitlines() == [
        "Installing missing[extra]>=1,<2, other (once; about a minute) ...",
        "lib course-v1 data fr",
    ]
    asked = (alone / "asked.txt").read_text(encoding="utf-8").splitlines()
    assert asked == ["install missing[extra]>=1,<2 other keeping There_It==1.0"] * 2


def test_cell_is_short_enough_to_read():
    cell = setup_cell(Address("https://github.com/OWNER/REPOSITORY", "v1"))
    assert isinstance(cell, Cell)
    lines = cell.text.split("\n")
    assert len(lines) <= 70
    assert max(map(len, lines)) <= 100
