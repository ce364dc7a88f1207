"""What the tests of the authoring and of the build share.

A small copy of the course, with one lab in English and French; and the command that builds
results, on small labs.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import build_notebooks
import build_results
from course_build.results import ROOT
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


@pytest.fixture
def labs(tmp_path):
    """A folder for the sources of labs that a test writes itself, and how it writes them."""

    class Labs:
        folder = tmp_path / "labs"

        def write(self, name, code="", last="lab.save()"):
            """Write a lab whose one cell holds the code."""
            self.folder.mkdir(exist_ok=True)
            path = self.folder / f"{name}.py"
            path.write_text(
                f'# %% [markdown] id="title"\n# # The lab {name}\n\n'
                '# %% id="parameters" tags=["parameters"]\nfrom course_lib.lab import Lab\n\n'
                f'lab = Lab("{name}")\n\n# %% id="work"\n{code or "lab.record(one=1)"}\n\n'
                f'# %% id="results"\n{last}\n',
                encoding="utf-8",
            )
            return path

    return Labs()


@pytest.fixture
def make_notebooks(course, monkeypatch, capsys):
    """Run build_notebooks.py on the tree; return its status, what it printed, and its errors."""
    monkeypatch.chdir(course.root)

    def run(*arguments):
        status = build_notebooks.main(list(arguments), course)
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def build(tmp_path, monkeypatch, capsys):
    """Run build_results.py on the fixture labs; return its status and what it printed."""
    monkeypatch.setattr(build_results, "BUILD_DIR", tmp_path / "build")
    for name in ("COURSE_PROFILE", "COURSE_RESULTS", "COURSE_LANG"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments, results=tmp_path / "results", sources=FIXTURES / "labs"):
        if results is not None:
            arguments = (*arguments, "--results", str(results))
        status = build_results.main(list(map(str, arguments)), sources=sources)
        return status, *capsys.readouterr()

    run.folder = tmp_path / "results"
    run.failed = tmp_path / "build" / "failed"
    return run


@pytest.fixture
def build_process(tmp_path):
    """Start build_results.py in a process of its own; all are ended with the test."""
    processes = []

    def start(*arguments, sources=FIXTURES / "labs", results=tmp_path / "results", **options):
        command = (
            "import sys, build_results\nfrom pathlib import Path\n"
            f"build_results.BUILD_DIR = Path({str(tmp_path / 'build')!r})\n"
            f"arguments = {[*map(str, arguments), '--results', str(results)]!r}\n"
            f"sys.exit(build_results.main(arguments, sources={str(sources)!r}))"
        )
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        process = subprocess.Popen([sys.executable, "-c", command], cwd=ROOT, text=True, **options)
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()
