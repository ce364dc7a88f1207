import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import build_results
from course_build.results import RESULTS_DIR, ROOT, read_results
from course_lib.data import MNIST_SHA256

LABS = ROOT / "tests" / "fixtures" / "labs"


@pytest.fixture
def build(tmp_path, monkeypatch, capsys):
    """Run the command on the fixture labs; return its status and what it printed."""
    monkeypatch.setattr(build_results, "FAILED_DIR", tmp_path / "failed")
    for name in ("COURSE_PROFILE", "COURSE_RESULTS", "COURSE_LANG"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments, results=tmp_path / "results"):
        if results is not None:
            arguments = (*arguments, "--results", str(results))
        status = build_results.main(list(arguments), sources=LABS)
        return status, *capsys.readouterr()

    run.folder = tmp_path / "results"
    return run


def test_a_lab_runs_and_its_results_are_written(build):
    status, out, err = build("runs_to_its_end")
    assert (status, err) == (0, "")
    assert out.count("\n") == 1 and "1 of 1 claims hold" in out
    contents = read_results(build.folder / "runs_to_its_end.json")
    results = contents["results"]
    assert results.pop("minutes_total") >= 0
    assert results == {"half": 0.5, "label": "ε = 1", "seven": 7}
    assert contents["data"] == {"roc": [[0.0, 0.5, 1.0], [0.0, 0.8, 1.0]]}
    meta = contents["meta"]
    assert (meta["lab"], meta["profile"], meta["language"]) == ("runs_to_its_end", "quick", "en")
    assert {"tests/fixtures/labs/runs_to_its_end.py", "course_lib/lab.py"} <= set(meta["inputs"])
    assert meta["data"] == {} and meta["device"] == "cpu" and meta["seconds"] > 0


def test_the_data_that_a_lab_reads_are_among_its_inputs(build):
    assert build("reads_mnist")[0] == 0
    meta = read_results(build.folder / "reads_mnist.json")["meta"]
    assert meta["data"] == {"data/mnist.npz": MNIST_SHA256}
    assert meta["inputs"]["data/mnist.npz"] == MNIST_SHA256


def test_twice_gives_the_same_file_but_for_the_time(build):
    def written():
        assert build("runs_to_its_end")[0] == 0
        text = (build.folder / "runs_to_its_end.json").read_text(encoding="utf-8")
        return re.sub(r'"(seconds|minutes_total)": [\d.]+', "", text)

    assert written() == written()


@pytest.mark.parametrize(
    ("lab", "says"),
    [
        (
            "failing_cell",
            [
                r"cell 3 \(share\): ZeroDivisionError: division by zero",
                r"# A comment comes first\.",
            ],
        ),
        ("claim_that_does_not_hold", [r"half-above-one: A half is above one\."]),
        ("writes_nan", ["holds NaN"]),
        ("ends_without_results", [r"must call lab\.save\(\)"]),
        ("kernel_that_dies", [r"cell 3 \(die\): the kernel died", "last words of the kernel"]),
    ],
)
def test_a_lab_that_fails_is_reported_and_its_earlier_results_stay(lab, says, build, tmp_path):
    earlier = build.folder / f"{lab}.json"
    build("runs_to_its_end")
    (build.folder / "runs_to_its_end.json").rename(earlier)
    before = earlier.read_bytes()
    status, out, err = build(lab)
    assert status == 1 and out == ""
    for sentence in [*says, f"failed/{lab}.ipynb", f"{lab}.json was left as it was, and is out"]:
        assert re.search(sentence, err), err
    assert earlier.read_bytes() == before
    assert [path.name for path in build.folder.iterdir()] == [earlier.name]
    assert (tmp_path / "failed" / f"{lab}.ipynb").is_file()


def test_a_cell_beyond_the_time_limit_is_reported(build):
    status, _, err = build("cell_that_never_ends", "--timeout", "1")
    assert status == 1
    assert "cell 3 (wait): the cell ran longer than 1 s" in err


def test_the_other_labs_go_on(build):
    status, out, err = build("failing_cell", "runs_to_its_end")
    assert status == 1
    assert "runs_to_its_end: " in out and err.endswith("failed: failing_cell\n")
    assert [path.name for path in build.folder.iterdir()] == ["runs_to_its_end.json"]


def test_a_source_that_is_refused_is_reported(build, monkeypatch, tmp_path):
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs" / "no_cells.py").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.setattr(sys.modules[__name__], "LABS", tmp_path / "labs")
    status, _, err = build("no_cells")
    assert status == 1 and "its source is refused" in err and "no_cells.py:1" in err


def test_smoke_runs_but_publishes_and_judges_nothing(build):
    status, out, _ = build("claim_that_does_not_hold", "--profile", "smoke", results=None)
    assert status == 0 and "0 of 1 claims hold" in out and "results in" not in out
    assert not build.folder.exists()
    status, _, err = build("runs_to_its_end", "--profile", "smoke", results=RESULTS_DIR)
    assert status == 1 and "'smoke' are not published" in err
    assert not (RESULTS_DIR / "runs_to_its_end.json").exists()
    assert build("runs_to_its_end", "--profile", "smoke")[0] == 0
    assert read_results(build.folder / "runs_to_its_end.json")["meta"]["profile"] == "smoke"


def test_the_students_notebook_runs_with_its_stubs(build):
    assert build("solution_that_fails")[0] == 1
    status, out, err = build("solution_that_fails", "--lang", "en", results=None)
    assert (status, err) == (0, "") and "0 of 1 claims hold" in out and "results in" not in out
    status, _, err = build("solution_that_fails", "--lang", "en")
    assert status == 1 and "leave out --lang or --results" in err


def test_the_executed_notebook_is_kept_where_asked(build, tmp_path):
    for lab in ("runs_to_its_end", "failing_cell"):
        build(lab, "--keep", str(tmp_path / "kept"))
        assert (tmp_path / "kept" / f"{lab}.ipynb").is_file()
    assert not (tmp_path / "failed").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["runs_to_its_ent"], "unknown lab 'runs_to_its_ent': did you mean 'runs_to_its_end'"),
        (["x"], "unknown lab 'x': .*There is .*failing_cell"),
        (["failing_cell", "--profile", "quik"], "unknown profile 'quik': did you mean 'quick'"),
        (["failing_cell", "--lang", "xx"], "unknown language 'xx': .*There is en"),
        (
            ["failing_cell", "--keep", "/dev/null/x"],
            "--keep: the folder /dev/null/x cannot be made",
        ),
    ],
)
def test_what_does_not_exist_is_named_before_anything_runs(arguments, says, build, tmp_path):
    results = None if "--lang" in arguments else tmp_path / "results"
    status, out, err = build(*arguments, results=results)
    assert status == 1 and out == ""
    assert re.search(says, err) and err.count("\n") == 1
    assert not (tmp_path / "failed").exists()


def test_no_labs_at_all_is_said(tmp_path, capsys):
    assert build_results.main([], sources=tmp_path) == 1
    assert "there is no lab in" in capsys.readouterr().err


def test_a_results_path_that_cannot_be_written_is_found_before_the_run(build, tmp_path):
    (tmp_path / "file").write_text("")
    status, _, err = build("failing_cell", results=tmp_path / "file" / "results")
    assert status == 1 and "cannot be written" in err and "ZeroDivisionError" not in err


def test_a_results_file_that_is_not_json_is_named_and_left(build):
    build.folder.mkdir()
    path = build.folder / "runs_to_its_end.json"
    path.write_text('{"results": {<<<<<<< HEAD', encoding="utf-8")
    for arguments in (["runs_to_its_end"], ["runs_to_its_end", "--check"]):
        status, out, err = build(*arguments)
        assert status == 1 and "runs_to_its_end.json is not JSON" in out + err
        assert path.read_text(encoding="utf-8") == '{"results": {<<<<<<< HEAD'


@pytest.mark.parametrize("seconds", ["0", "-1", "1.5", "inf", "soon"])
def test_a_time_limit_is_a_number_of_seconds(seconds, build):
    with pytest.raises(SystemExit) as caught:
        build("failing_cell", "--timeout", seconds)
    assert caught.value.code == 2


def test_check_runs_nothing_and_says_what_changed(build, tmp_path, monkeypatch):
    status, out, _ = build("runs_to_its_end", "--check")
    assert status == 1 and "runs_to_its_end.json does not exist" in out
    build("runs_to_its_end")
    assert build("runs_to_its_end", "--check")[:2] == (0, "runs_to_its_end: up to date\n")
    path = build.folder / "runs_to_its_end.json"
    text = path.read_text(encoding="utf-8")
    text = re.sub(r'("course_lib/lab.py": ")\w{8}', r"\g<1>00000000", text)
    path.write_text(re.sub(r'("numpy": ")[^"]+', r"\g<1>1.0", text), encoding="utf-8")
    status, out, _ = build("runs_to_its_end", "--check")
    assert status == 1
    assert "runs_to_its_end: out of date: course_lib/lab.py changed\n" in out
    assert re.search(r"with other versions: numpy 1\.0 \(here [\d.]+\)", out)


def test_help_shows_examples(capsys):
    with pytest.raises(SystemExit) as caught:
        build_results.main(["--help"])
    assert caught.value.code == 0
    assert "python build_results.py mnist_dpsgd" in capsys.readouterr().out


def test_ctrl_c_on_a_terminal_ends_the_run_and_the_kernel(tmp_path):
    """What a person sees: one line that is drawn again, then why it ended and where."""
    command = (
        "import sys, build_results\nfrom pathlib import Path\n"
        f"build_results.FAILED_DIR = Path({str(tmp_path)!r})\n"
        "sys.exit(build_results.main(['cell_that_never_ends', 'runs_to_its_end', '--results', "
        f"{str(tmp_path / 'results')!r}], sources={str(LABS)!r}))"
    )
    terminal, other_end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", command], cwd=ROOT, stderr=other_end, stdout=subprocess.PIPE
    )
    os.close(other_end)
    shown = ""
    end = time.monotonic() + 30
    while "cell 3 of 4" not in shown and time.monotonic() < end:
        shown += os.read(terminal, 4096).decode()
    assert "cell 3 of 4  import subprocess" in shown and "\n" not in shown
    time.sleep(0.5)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert time.monotonic() - began < 5
    report = ""
    while "failed:" not in report:
        report += os.read(terminal, 4096).decode()
    os.close(terminal)
    assert process.returncode == 1 and out == b""
    assert "cell_that_never_ends: cell 3 (wait): interrupted" in report
    assert "Traceback" not in report
    assert not list((tmp_path / "results").iterdir())
    notebook = (tmp_path / "cell_that_never_ends.ipynb").read_text(encoding="utf-8")
    child = int(re.search(r'"(\d+)\\n"', notebook)[1])
    assert not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text()
