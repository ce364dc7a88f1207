"""The set-up cell, run as it stands: alone in a folder, and inside a copy of the course."""

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from course_build.address import Address
from course_build.setup_cell import as_form, setup_cell

ROOT = Path(__file__).parent.parent.parent
ADDRESS = Address("https://github.com/OWNER/REPOSITORY", "v1")
PROBE = """
import course_lib
root = Path(course_lib.__file__).parent.parent
print("lib", root.name, (root / "data" / "set.txt").read_text(), os.environ["COURSE_LANG"])
"""


@pytest.fixture
def origin(tmp_path):
    """A repository with some of the library and data, tagged v1, at a path that needs quoting."""
    root = tmp_path / "dépôt of the course"
    (root / "course_lib").mkdir(parents=True)
    for name in ("__init__.py", "installation.py", "language.py"):
        shutil.copy(ROOT / "course_lib" / name, root / "course_lib")
    (root / "data").mkdir()
    (root / "data" / "set.txt").write_text("data", encoding="utf-8")
    (root / "pyproject.toml").write_text("[project]\ndependencies = []\n", encoding="utf-8")
    git(root, "init", "--quiet")
    commit(root)
    return root


def git(root, *words):
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


def commit(root, tag="v1"):
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--allow-empty", "-m", "x")
    git(root, "tag", "--force", tag)


@pytest.fixture
def packages(tmp_path):
    """What every kernel has, as far as the cell needs it."""
    folder = tmp_path / "packages"
    folder.mkdir()
    (folder / "packaging").symlink_to(Path(sysconfig.get_path("purelib"), "packaging"))
    return folder


@pytest.fixture
def run(tmp_path, packages):
    """Run the cell, and then the probe, in a folder: with hardly a package but Python's own."""
    script = tmp_path / "elsewhere" / "cell.py"
    script.parent.mkdir()

    def run(folder, repository=None, path="", address=ADDRESS, before=(), **variables):
        script.write_text(setup_cell(address, "fr").text + PROBE, encoding="utf-8")
        folder.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "PYTHONUTF8": "1", "LC_ALL": "C", **variables}
        environment["PYTHONPATH"] = os.pathsep.join([str(path), str(packages)])
        environment.pop("COURSE_LANG", None)
        if repository is not None:
            environment["COURSE_REPO"] = repository
        return subprocess.run(
            [*before, sys.executable, "-S", script],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )

    return run


def reason(done):
    """Of a run that could not fetch the course, what its last line gives as the reason."""
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("NoCourseError: The course could not be fetched from ")
    assert "takes git, a network connection and permission to write there" in last
    assert "During handling" not in done.stderr
    return last.split("What went wrong: ")[1]


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


def test_a_copy_that_was_fetched_is_found_from_a_folder_below_it(tmp_path, origin, run):
    run(tmp_path / "alone", origin.as_uri())
    done = run(tmp_path / "alone" / "course-v1" / "data", (tmp_path / "gone").as_uri())
    assert (done.returncode, done.stdout) == (0, "lib course-v1 data fr\n"), done.stderr


def test_clone_is_shallow(tmp_path, origin, run):
    commit(origin)
    run(tmp_path / "alone", origin.as_uri())
    assert (tmp_path / "alone" / "course-v1" / ".git" / "shallow").exists()


def test_a_branch_with_a_slash_in_its_name_gives_one_folder(tmp_path, origin, run):
    commit(origin, tag="autumn/v2")
    address = Address(ADDRESS.repository, "autumn/v2")
    done = run(tmp_path / "alone", origin.as_uri(), address=address)
    assert done.stdout.endswith("lib course-autumn-v2 data fr\n"), done.stderr


def test_a_folder_of_that_name_that_is_empty_is_no_copy(tmp_path, origin, run):
    (tmp_path / "alone" / "course-v1").mkdir(parents=True)
    done = run(tmp_path / "alone", origin.as_uri())
    assert done.stdout.endswith("lib course-v1 data fr\n"), done.stderr


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
    assert reason(done) == f"fatal: '{tmp_path / 'gone'}' does not appear to be a git repository"
    assert f"from {gone} (v1) into {tmp_path / 'alone'}" in done.stderr
    assert list((tmp_path / "alone").iterdir()) == []


def test_without_the_tag_it_says_which_is_missing(tmp_path, origin, run):
    address = Address(ADDRESS.repository, "v9")
    done = run(tmp_path / "alone", origin.as_uri(), address=address)
    assert reason(done) == "warning: Could not find remote branch v9 to clone."


def test_without_a_network_it_says_so(tmp_path, run):
    done = run(tmp_path / "alone", "https://no-such-host.invalid/course")
    assert "no-such-host.invalid" in reason(done)


def test_without_git_it_says_so(tmp_path, origin, run):
    done = run(tmp_path / "alone", origin.as_uri(), PATH=str(tmp_path / "nothing"))
    assert reason(done) == "[Errno 2] No such file or directory: 'git'"


@pytest.mark.skipif(os.name == "nt", reason="permissions are a matter of their own there")
def test_where_it_may_not_write_it_says_so(tmp_path, origin, run):
    alone = tmp_path / "alone"
    alone.mkdir()
    alone.chmod(0o555)
    # Root may write anywhere, unless it gives up the right to.
    given_up = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-all"]
    done = run(alone, origin.as_uri(), before=given_up if os.geteuid() == 0 else ())
    alone.chmod(0o755)
    assert reason(done).startswith("[Errno 13] Permission denied")
    assert list(alone.iterdir()) == []


def test_missing_packages_are_a_matter_of_the_library(tmp_path, origin, run):
    project = '[project]\ndependencies = ["no-such-package>=2"]\n'
    (origin / "pyproject.toml").write_text(project, encoding="utf-8")
    commit(origin)
    done = run(tmp_path / "alone", origin.as_uri())
    last = done.stderr.strip().splitlines()[-1]
    assert "InstallationError: These packages could not be installed: no-such-package>=2" in last


def test_title_comes_first_and_every_line_is_plain_python():
    text = as_form(setup_cell(ADDRESS).text, "先运行本单元格")
    assert text.startswith("# @title 先运行本单元格\n")
    ast.parse(text)


def test_cell_is_short_enough_to_read():
    lines = as_form(setup_cell(ADDRESS).text).split("\n")
    assert len(lines) <= 52
    assert max(map(len, lines)) <= 100
