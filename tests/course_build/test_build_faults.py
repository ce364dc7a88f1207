"""What goes wrong in a build: what is said, and that the results folder is whole afterwards."""

import os
import pty
import re
import resource
import signal
import time
from pathlib import Path

import pytest

from course_build.results import read_results
from tests.course_lib.test_data import CONTENTS, server  # noqa: F401 (a fixture)

LAB = "runs_to_its_end"


@pytest.fixture
def earlier(build):
    """Give a lab results from before; return a function that says whether all is as it was."""

    def put(lab, text='{"meta": {"schema": 0}}'):
        build.folder.mkdir(exist_ok=True)
        path = build.folder / f"{lab}.json"
        path.write_text(text, encoding="utf-8")

        def is_whole():
            return [p.name for p in build.folder.iterdir()] == [path.name] and (
                path.read_text(encoding="utf-8") == text
            )

        return is_whole

    return put


def alive(pid):
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


# --- faults of a lab ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lab", "says", "headline"),
    [
        (
            "failing_cell",
            [
                r"cell 3 \(share\): ZeroDivisionError: division by zero",
                r"its first line: # A comment comes first\.",
            ],
            "cell 3 (share): ZeroDivisionError: division by zero; "
            "its first line: # A comment comes first.; executed notebook in ",
        ),
        (
            "claim_that_does_not_hold",
            [r"claims that do not hold", r"half-above-one: A half is above one\."],
            "claims that do not hold, so nothing is published: half-above-one: A half is above one",
        ),
        ("writes_nan", ["holds NaN"], "what the lab wrote as its results holds NaN"),
        ("ends_without_results", [r"must call lab\.save\(\)"], "the lab ended without writing"),
        (
            "kernel_that_dies",
            [r"cell 3 \(die\): the kernel died", "last words of the kernel"],
            "cell 3 (die): the kernel died: it crashed, or was killed (as when memory runs out); "
            "its first line: import os; executed notebook in ",
        ),
    ],
)
def test_a_lab_that_fails_is_reported_and_its_earlier_results_stay(
    lab, says, headline, build, earlier
):
    is_whole = earlier(lab)
    status, out, err = build(lab)
    assert status == 1 and is_whole()
    for sentence in [*says, f"failed/{lab}.ipynb", f"{lab}.json was left as it was, and is out"]:
        assert re.search(sentence, err), err
    assert f"\nfailed: {lab}: {headline}" in out
    assert out.endswith(f"executed notebook in {build.failed}/{lab}.ipynb\n")
    assert [path.name for path in build.failed.iterdir()] == [f"{lab}.ipynb"]


def test_a_cell_beyond_the_time_limit_is_reported(build, earlier):
    is_whole = earlier("cell_that_never_ends")
    status, out, err = build("cell_that_never_ends", "--timeout", "1")
    assert status == 1 and is_whole()
    said = "cell 3 (wait): the cell ran longer than 1 s (see --timeout)"
    assert said in err
    assert f"failed: cell_that_never_ends: {said}; its first line: import subprocess" in out


def test_the_other_labs_go_on(build):
    status, out, _ = build("failing_cell", LAB)
    assert status == 1
    assert re.search(rf"^{LAB} +written", out, re.M) and "\nfailed: failing_cell: " in out
    assert [path.name for path in build.folder.iterdir()] == [f"{LAB}.json"]


def test_a_source_that_is_refused_is_reported(build, labs):
    labs.folder.mkdir()
    (labs.folder / "no_cells.py").write_text("x = 1\n", encoding="utf-8")
    status, out, err = build("no_cells", sources=labs.folder)
    assert status == 1 and "its source is refused" in err and "no_cells.py:1" in err
    assert "failed: no_cells: its source is refused: " in out


def test_a_damaged_bundle_is_named(build, earlier, tmp_path, monkeypatch):
    (tmp_path / "mnist.npz").write_bytes(b"PK half of it")
    monkeypatch.setenv("TEST_DATA", str(tmp_path))
    is_whole = earlier("reads_damaged_bundle")
    status, out, err = build("reads_damaged_bundle")
    assert status == 1 and is_whole()
    assert "cell 3 (data): DataError: data/mnist.npz is damaged: its SHA-256 begins with" in err
    assert "git checkout -- data/mnist.npz" in out


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("forbidden", "answered 403 Forbidden; nothing was kept"),
        ("stalls", "sent nothing for 0.3 seconds; nothing was kept"),
        ("truncated", f"ended after 500 of {len(CONTENTS)} bytes; nothing was kept"),
    ],
)
def test_a_download_that_fails_is_named(path, says, build, earlier, server, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv("TEST_ADDRESS", f"{server.url}/{path}")
    monkeypatch.setenv("TEST_FILE", str(tmp_path / "downloads" / "file"))
    is_whole = earlier("downloads_a_file")
    status, out, err = build("downloads_a_file")
    assert status == 1 and is_whole()
    assert f"cell 3 (download): DataError: {server.url}/{path} {says}" in err
    assert says in out
    assert not list((tmp_path / "downloads").iterdir())


def test_a_file_that_changes_during_the_run_lets_nothing_be_published(build, labs, earlier):
    """Else the figures of one source would be filed under the checksum of another."""
    source = labs.folder / "edited.py"
    labs.write("edited", f"with open({str(source)!r}, 'a') as file:\n    file.write('# more')")
    is_whole = earlier("edited")
    status, _, err = build("edited", sources=labs.folder)
    assert status == 1 and is_whole()
    assert re.search(r"while the lab ran, .*edited\.py changed: build it again", err)


def test_what_a_lab_says_does_not_reach_the_terminal_s_controls(build, labs):
    labs.write("loud", "raise ValueError('\\x1b[2Jall is well\\nmore')")
    _, out, err = build("loud", sources=labs.folder)
    assert "cell 3 (work): ValueError:  [2Jall is well\n  more\n" in err
    assert "cell 3 (work): ValueError:  [2Jall is well; its first line: raise" in out
    assert "\x1b" not in out + err


# --- faults of the results folder -----------------------------------------------------------------


def test_a_disk_that_is_full_when_the_results_are_written(build_process, build, earlier):
    """The limit is on the size of a file: more than a run writes, less than its results."""
    is_whole = earlier(LAB)
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))}
    process = build_process(LAB, **limit)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and is_whole()
    assert f"{LAB}.json cannot be written: File too large" in err
    assert f"{LAB}.json was left as it was, and is out of date" in err
    assert f"failed: {LAB}: " in out and "the notebook could not be kept in" in out


def test_a_folder_that_cannot_be_written_is_found_before_the_run(build, tmp_path):
    (tmp_path / "file").write_text("")
    status, out, err = build("failing_cell", LAB, results=tmp_path / "file")
    assert status == 1 and "ZeroDivisionError" not in err
    for lab in ("failing_cell", LAB):
        assert re.search(rf"^{lab}: .*{lab}\.json cannot be written: ", err, re.M)
        assert re.search(rf"^failed: {lab}: .*{lab}\.json cannot be written: ", out, re.M)


def test_a_temporary_folder_that_is_gone_is_reported(build, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    status, _, err = build(LAB)
    assert status == 1 and f"{tmp_path}/gone" in err and "No such file or directory" in err


def test_a_results_file_that_is_not_json_is_named_and_left(build, earlier):
    text = '{"results": {<<<<<<< HEAD'
    is_whole = earlier(LAB, text)
    for arguments in ([LAB], [LAB, "--check"]):
        status, out, err = build(*arguments)
        assert status == 1 and f"{LAB}.json is not JSON" in out + err and is_whole()


def test_a_results_file_of_an_older_schema_is_named_and_replaced(build, earlier):
    earlier(LAB)
    status, out, _ = build(LAB, "--check")
    assert status == 1 and "is of schema 0, this course reads 1: compute it again with" in out
    assert build(LAB)[0] == 0
    assert read_results(build.folder / f"{LAB}.json")["meta"]["schema"] == 1


def test_what_a_killed_build_left_is_cleared_away(build):
    build.folder.mkdir()
    (build.folder / f"{LAB}.json.4194304.part").write_text("half of")
    (build.folder / "another_lab.json.4194304.part").write_text("may be being written")
    assert build(LAB)[0] == 0
    names = {path.name for path in build.folder.iterdir()}
    assert names == {f"{LAB}.json", "another_lab.json.4194304.part"}


# --- Ctrl-C ---------------------------------------------------------------------------------------


def test_ctrl_c_on_a_terminal_ends_in_order(build_process, build, tmp_path, monkeypatch):
    """What a person sees: one line that is drawn again, then why it ended and where."""
    terminal, other_end = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    process = build_process("cell_that_never_ends", LAB, stderr=other_end)
    os.close(other_end)
    shown = ""
    end = time.monotonic() + 60
    while "cell 3 of 4" not in shown and time.monotonic() < end:
        shown += os.read(terminal, 4096).decode()
    assert "cell 3 of 4  A lab with a cell that never ends" in shown and "\n" not in shown
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    report = ""
    while "was not written" not in report:
        report += os.read(terminal, 4096).decode()
    os.close(terminal)
    assert process.returncode == 1
    assert "interrupted: ending in order; Ctrl-C again ends at once" in report
    assert "cell_that_never_ends: cell 3 (wait): interrupted" in report
    assert "stopped: cell_that_never_ends: cell 3 (wait): interrupted; its first line: " in out
    assert out.endswith(f"not run: {LAB}\n")
    assert "Traceback" not in report
    assert not list(build.folder.iterdir())
    notebook = (build.failed / "cell_that_never_ends.ipynb").read_text(encoding="utf-8")
    assert "cleaned up" in notebook
    child = int(re.search(r'"(\d+)\\n"', notebook)[1])
    until(lambda: not alive(child))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_ctrl_c_ends_at_once(number, build_process, build, earlier, tmp_path, monkeypatch):
    """Of a lab that does not let itself be interrupted."""
    pids = tmp_path / "pids"
    monkeypatch.setenv("TEST_PIDS", str(pids))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    lab = "cell_that_ignores_interrupts"
    is_whole = earlier(lab)
    process = build_process(lab)
    until(lambda: pids.exists() and pids.read_text().endswith("\n"))
    process.send_signal(number)
    while "ending in order" not in process.stderr.readline():
        pass
    began = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - began < 2.5  # less than a cell is given to clean up
    assert (process.returncode, out) == (1, "")
    assert err == "build_results: ended at once; no notebook was kept\n"
    assert is_whole() and not build.failed.exists()
    until(lambda: not any(map(alive, map(int, pids.read_text().split()))))
    assert not list((tmp_path / "tmp").iterdir())
