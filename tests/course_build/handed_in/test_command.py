"""The teacher's command from outside: wrong use, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import time

import pytest

import check_notebooks
from course_build.handed_in.sandbox import ROOT

from .conftest import read_table, write_notebook


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing"], "missing is no folder"),
        (["file.ipynb"], "file.ipynb is no folder"),
        (["empty"], "there is nothing in empty"),
        ([], "FOLDER"),
        (["full", "--jobs", "0"], "'0' is not a whole number"),
        (["full", "--jobs", "two"], "'two' is not a whole number"),
        (["full", "--timeout", "-3"], "'-3' is no number of seconds above 0"),
        (["full", "--timeout", "inf"], "'inf' is no number"),
        (["full", "--memory", "nan"], "'nan' is no number of GiB"),
        (["full", "--profile", "fast"], "invalid choice: 'fast'"),
        (["full", "--out", "full"], "is the folder of the handed-in notebooks"),
        (["full", "--out", "file.ipynb"], "cannot be made"),
        (["full", "--out", "file.ipynb/x"], "cannot be made"),
    ],
)
def test_wrong_use_ends_with_2_and_says_what_is_wrong(
    arguments, says, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a.ipynb").write_text("{}")
    (tmp_path / "file.ipynb").write_text("{}")
    with pytest.raises(SystemExit) as ended:
        check_notebooks.main(arguments)
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


def test_help_says_that_it_runs_other_peoples_code(capsys):
    with pytest.raises(SystemExit) as ended:
        check_notebooks.main(["--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0 and "THIS RUNS OTHER PEOPLE'S CODE" in said
    assert "exit status: 0" in said and "docs/teachers.md" in said
    assert (ROOT / "docs" / "teachers.md").is_file()


def test_the_page_for_teachers_names_the_defaults():
    page = " ".join((ROOT / "docs" / "teachers.md").read_text(encoding="utf-8").split())
    options = check_notebooks._parser().parse_args(["handed-in"])
    assert f"in seconds, for one notebook (default: {options.timeout})" in page
    assert f"all that it starts (default: {options.memory})" in page
    assert f"in `{options.out}/`" in page and options.profile == "quick"


def test_it_says_what_it_runs_before_it_begins(tmp_path, check, capsys):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("")
    (tmp_path / "in" / "out").mkdir()
    (tmp_path / "in" / "out" / "checks.csv").write_text("of the last time")
    status, table = check(tmp_path / "in", tmp_path / "in" / "out")
    assert status == 0 and list(table) == ["a.txt"]
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first == "This runs the code of 1 file that was handed in."
    assert second.startswith("The network of the notebooks was ")


def test_nothing_of_a_notebook_moves_the_terminals_cursor(tmp_path, check, capsys):
    (tmp_path / "in").mkdir()
    write_notebook(tmp_path / "in" / "a.ipynb", 'lab = Lab("\x1b[2Jcoins")')
    check(tmp_path / "in", tmp_path / "out")
    said = capsys.readouterr()
    assert "coins" in said.err and "\x1b" not in said.err + said.out


def start(tmp_path, tree, cells):
    """Start the command in a process of its own, on a notebook that ends and one that hangs."""
    folder = tmp_path / "in"
    folder.mkdir()
    write_notebook(folder / "a.ipynb", cells["parameters"], cells["true-label-logit"])
    hangs = "import subprocess, time\nsubprocess.Popen(['sleep', '87.5'])\ntime.sleep(90)"
    write_notebook(folder / "b.ipynb", cells["parameters"], hangs)
    write_notebook(folder / "c.ipynb", cells["parameters"])
    code = (
        "import sys, check_notebooks\nfrom pathlib import Path\n"
        "from course_build.tree import Tree\n"
        f"arguments = [{str(folder)!r}, '--out', {str(tmp_path / 'out')!r}, '--jobs', '1']\n"
        f"sys.exit(check_notebooks.main(arguments, Tree(Path({str(tree.root)!r}))))"
    )
    (tmp_path / "tmp").mkdir()
    return subprocess.Popen(
        [sys.executable, "-c", code],
        **{"cwd": ROOT, "text": True, "stderr": subprocess.PIPE, "stdout": subprocess.PIPE},
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
    )


def sleepers():
    done = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line == "sleep 87.5"]


def test_ctrl_c_ends_in_order_and_keeps_the_table_of_what_is_done(tmp_path, tree, cells):
    with start(tmp_path, tree, cells) as process:
        end = time.monotonic() + 60
        while not sleepers():
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        assert set(read_table(tmp_path / "out")) == {"a.ipynb"}  # written as it went on
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 1
        assert "interrupted: ending in order" in process.stderr.read()
    table = read_table(tmp_path / "out")
    assert table["a.ipynb"]["1"][0] == "passed"
    assert table["b.ipynb"]["1"] == ("not reached", "The run was stopped in code cell 2 of 2.")
    assert table["c.ipynb"][""][1] == "The run was stopped before this notebook began."
    assert "c.ipynb" in (tmp_path / "out" / "checks.html").read_text(encoding="utf-8")
    assert not sleepers() and list((tmp_path / "tmp").iterdir()) == []
