"""The progress line of a lab, in a real kernel: one line in the end, and none in the build."""

import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
CODE = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from course_lib.lab import Lab
show = Lab("x").progress(label="Networks trained")
for done in (1, 2, 3):
    show(done, 3)
"""


class OwnInterpreter(AsyncKernelManager):
    @property
    def kernel_spec(self):
        spec = super().kernel_spec
        spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return spec


def outputs_of(code):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    NotebookClient(notebook, timeout=60, kernel_manager_class=OwnInterpreter).execute()
    return notebook.cells[0].outputs


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("COURSE_RESULTS", "COURSE_LANG"):
        monkeypatch.delenv(name, raising=False)


def test_three_steps_leave_one_line_that_says_so():
    (output,) = outputs_of(CODE)
    assert output.data["text/plain"].startswith("Networks trained: 3 of 3, ")


def test_the_line_tells_what_is_left_on_the_way():
    (output,) = outputs_of(CODE.replace("(1, 2, 3)", "(1, 2)"))
    assert output.data["text/plain"].startswith("Networks trained: 2 of 3, about ")


def test_the_build_shows_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_RESULTS", str(tmp_path / "results.json"))
    assert outputs_of(CODE) == []
