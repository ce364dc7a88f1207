"""The command that runs labs and writes results, when all goes well, and what it says."""

import json
import re
import shutil
import subprocess
import sys

import pytest

import build_results
from course_build.results import RESULTS_DIR, ROOT, read_results, reasons_to_run
from course_lib.data import MNIST_SHA256

FIXTURES = ROOT / "tests" / "fixtures"
LAB = "runs_to_its_end"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The results file of a lab, as its build wrote it."""
    folder = tmp_path_factory.mktemp("results")
    assert build_results.main([LAB, "--results", str(folder)], sources=FIXTURES / "labs") == 0
    return (folder / f"{LAB}.json").read_bytes()


def rows(out):
    """The table of a summary: what became of each lab."""
    return {line.split()[0]: line for line in out.splitlines()[1:] if not line.startswith(" ")}


def edit(path, pattern, replacement):
    """Change the text of a results file in one place."""
    text, n = re.subn(pattern, replacement, path.read_text(encoding="utf-8"))
    assert n == 1
    path.write_text(text, encoding="utf-8")


# --- the results ----------------------------------------------------------------------------------


def test_a_lab_runs_and_its_results_are_written(build):
    status, out, err = build(LAB)
    assert status == 0
    assert re.fullmatch(rf"{LAB}  written +0:\d\d +4  1 of 1", rows(out)[LAB])
    assert f"{LAB}: written after 0:0" in err
    contents = read_results(build.folder / f"{LAB}.json")
    results = contents["results"]
    assert results.pop("minutes_total") >= 0
    assert results == {"half": 0.5, "label": "ε = 1", "seven": 7}
    assert contents["data"] == {"roc": [[0.0, 0.5, 1.0], [0.0, 0.8, 1.0]]}
    meta = contents["meta"]
    assert (meta["lab"], meta["profile"], meta["language"]) == (LAB, "quick", "en")
    assert {f"tests/fixtures/labs/{LAB}.py", "course_lib/lab.py"} <= set(meta["inputs"])
    assert meta["data"] == {} and meta["device"] == "cpu" and meta["seconds"] > 0
    assert [path.name for path in build.folder.iterdir()] == [f"{LAB}.json"]


def test_the_data_that_a_lab_reads_are_among_its_inputs(build):
    assert build("reads_mnist")[0] == 0
    meta = read_results(build.folder / "reads_mnist.json")["meta"]
    assert meta["data"] == {"data/mnist.npz": MNIST_SHA256}
    assert meta["inputs"]["data/mnist.npz"] == MNIST_SHA256


def test_twice_gives_the_same_file_but_for_the_time(build):
    def written():
        assert build(LAB, "--force")[0] == 0
        text = (build.folder / f"{LAB}.json").read_text(encoding="utf-8")
        return re.sub(r'"(seconds|minutes_total)": [\d.]+', "", text)

    assert written() == written()


def test_any_reader_of_json_reads_it(written, tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(written)
    done = subprocess.run(
        [sys.executable, "-m", "json.tool", path], capture_output=True, check=True, timeout=30
    )
    assert json.loads(done.stdout)["results"]["label"] == "ε = 1"


def test_smoke_runs_but_publishes_and_judges_nothing(build):
    lab = "claim_that_does_not_hold"
    status, out, _ = build(lab, "--profile", "smoke", results=None)
    assert status == 0 and re.search(r"ran +0:\d\d +2  0 of 1", rows(out)[lab])
    assert not build.folder.exists()
    status, _, err = build(LAB, "--profile", "smoke", results=RESULTS_DIR)
    assert status == 1 and "'smoke' are not published" in err
    assert not (RESULTS_DIR / f"{LAB}.json").exists()
    assert build(LAB, "--profile", "smoke")[0] == 0
    assert read_results(build.folder / f"{LAB}.json")["meta"]["profile"] == "smoke"


def test_the_students_notebook_runs_with_its_stubs(build):
    assert build("solution_that_fails")[0] == 1
    status, out, _ = build("solution_that_fails", "--lang", "en", results=None)
    assert status == 0 and "0 of 1" in rows(out)["solution_that_fails"]
    status, _, err = build("solution_that_fails", "--lang", "en")
    assert status == 1 and "leave out --lang or --results" in err


def test_the_executed_notebook_is_kept_where_asked(build, tmp_path):
    for lab in (LAB, "failing_cell"):
        _, out, err = build(lab, "--keep", tmp_path / "kept")
        assert f"executed notebook in {tmp_path}/kept/{lab}.ipynb" in err
        assert [path.name for path in (tmp_path / "kept").iterdir()].count(f"{lab}.ipynb") == 1
    assert f"{tmp_path}/kept/failing_cell.ipynb" in out
    assert not build.failed.exists()


# --- nothing stale, nothing twice -----------------------------------------------------------------


@pytest.fixture
def never_runs(monkeypatch):
    """From when it is called, a lab that is run fails its test."""

    def refuse(*arguments, **options):
        raise AssertionError("the lab was run")

    return lambda: monkeypatch.setattr("course_build.lab_build.Execution", refuse)


def test_results_that_came_with_the_course_are_computed_here_once(build, never_runs):
    build(LAB)
    shutil.rmtree(build_results.BUILD_DIR / "computed")  # as in a fresh clone
    assert build(LAB, "--check")[0] == 0
    assert "written" in build(LAB)[1]
    never_runs()
    assert "up to date" in build(LAB)[1]


def test_what_has_not_changed_is_not_run_again_unless_forced(build, never_runs):
    build(LAB)
    path = build.folder / f"{LAB}.json"
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert "written" in build(LAB, "--force")[1]
    assert path.stat().st_mtime_ns > before[1]
    before = path.read_bytes(), path.stat().st_mtime_ns
    never_runs()
    status, out, err = build(LAB)
    assert status == 0
    assert re.fullmatch(rf"{LAB}  up to date +4  1 of 1 +0", rows(out)[LAB])
    assert f"{LAB}: up to date, not run" in err
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    with pytest.raises(AssertionError, match="the lab was run"):
        build(LAB, "--force")


@pytest.mark.parametrize(
    ("pattern", "replacement", "reason"),
    [
        (r'("course_lib/lab.py": ")\w{8}', r"\g<1>00000000", "course_lib/lab.py changed"),
        (r'("tests/fixtures/labs/\w+.py": ")\w{8}', r"\g<1>00000000", f"{LAB}.py changed"),
        (r'("inputs": \{)', r'\g<1>"course_lib/gone.py": "0",', "course_lib/gone.py is gone"),
        (r'  "course_lib/lab.py": "\w+",\n', "", "course_lib/lab.py is new"),
        (r'("numpy": ")[^"]+', r"\g<1>1.0", "computed with numpy 1.0 (here "),
        (r'("python": ")[^"]+', r"\g<1>3.10.0", "computed with python 3.10.0 (here "),
        (r'   "numpy": "[^"]+",\n', "", " is new"),
        (r'"profile": "quick"', '"profile": "full"', "it is of the profile 'full'"),
        (r'"language": "en"', '"language": "fr"', "it is of the language 'fr'"),
        (r'"schema": 1', '"schema": 0', "is of schema 0"),
        (r'"half": 0.5', '"half": null', "the result 'half' must be"),
    ],
)
def test_any_change_runs_a_lab_again(pattern, replacement, reason, written, tmp_path):
    path = tmp_path / f"{LAB}.json"
    path.write_bytes(written)
    source = FIXTURES / "labs" / f"{LAB}.py"
    assert reasons_to_run(source, path, "quick", "en") == []
    edit(path, pattern, replacement)
    [found] = reasons_to_run(source, path, "quick", "en")
    assert reason in found


def test_a_comment_in_the_source_runs_a_lab_again(build, labs, never_runs):
    source = labs.write("small")
    build("small", sources=labs.folder)
    with open(source, "a", encoding="utf-8") as file:
        file.write("# a comment\n")
    assert "written" in build("small", sources=labs.folder)[1]
    never_runs()
    assert "up to date" in build("small", sources=labs.folder)[1]


def test_check_runs_nothing_and_says_what_changed(build, never_runs):
    status, out, _ = build(LAB, "--check")
    assert status == 1 and f"{LAB}.json does not exist" in out
    build(LAB)
    never_runs()
    assert build(LAB, "--check")[:2] == (0, f"{LAB}: up to date\n")
    path = build.folder / f"{LAB}.json"
    edit(path, r'("numpy": ")[^"]+', r"\g<1>1.0")
    status, out, _ = build(LAB, "--check")
    assert status == 0
    assert re.search(r"other versions, so a build runs it: numpy 1\.0 \(here [\d.]+\)", out)
    edit(path, r'("course_lib/lab.py": ")\w{8}', r"\g<1>00000000")
    status, out, _ = build(LAB, "--check")
    assert status == 1
    assert f"{LAB}: out of date: course_lib/lab.py changed\n" in out


@pytest.fixture
def all_fresh(monkeypatch):
    monkeypatch.setattr(build_results, "stale_reasons", lambda source, contents: [])
    monkeypatch.setattr(build_results, "stale_notebooks", lambda tree, labs: {})


def test_check_tells_of_results_without_a_lab(build, written, labs, all_fresh):
    labs.write("small")
    build.folder.mkdir()
    (build.folder / "small.json").write_bytes(written)
    assert build("--check", sources=labs.folder)[:2] == (0, "small: up to date\n")
    (build.folder / "of_a_lab_that_was.json").write_bytes(written)
    status, out, _ = build("--check", sources=labs.folder)
    assert status == 1 and "of_a_lab_that_was.json: belongs to no lab; delete it" in out


def test_check_tells_of_the_course_s_notebooks(build, all_fresh, monkeypatch):
    arguments = {"results": None, "sources": build_results.SOURCES_DIR}
    assert build("mnist_dpsgd", "--check", **arguments)[0] == 0
    lines = {"mnist_dpsgd": ["notebooks/en/mnist_dpsgd.ipynb differs"]}
    monkeypatch.setattr(build_results, "stale_notebooks", lambda tree, labs: lines)
    status, out, _ = build("mnist_dpsgd", "--check", **arguments)
    assert status == 1
    assert "  notebooks: notebooks/en/mnist_dpsgd.ipynb differs\n" in out


def test_check_tells_of_the_readmes_and_of_what_the_library_says(build, all_fresh, monkeypatch):
    arguments = {"results": None, "sources": build_results.SOURCES_DIR}
    monkeypatch.setattr(build_results, "stale_texts", lambda tree: [])
    assert build("--check", **arguments)[0] == 0
    monkeypatch.setattr(build_results, "stale_texts", lambda tree: ["README.fr.md differs"])
    status, out, _ = build("--check", **arguments)
    assert status == 1
    assert "texts: README.fr.md differs\n" in out


# --- what is seen ---------------------------------------------------------------------------------


def test_the_summary_says_which_figures_moved(build, written):
    build.folder.mkdir()
    path = build.folder / f"{LAB}.json"
    path.write_bytes(written)
    edit(path, r'"seven": 7', '"seven": 6')
    edit(path, r'"roc": \[\[0.0', '"roc": [[0.1')
    _, out, _ = build(LAB, "--force")
    assert rows(out)[LAB].endswith("1 of 1      2")
    assert "moved since the committed results:\n" in out
    assert f"  {LAB}  seven: 6 -> 7 (+1, 17 %)\n" in out
    assert f"  {LAB}  curve roc: " in out
    assert "half" not in out


def test_progress_names_the_section_and_the_time_of_the_last_run(build, written):
    build.folder.mkdir()
    path = build.folder / f"{LAB}.json"
    path.write_bytes(written)
    edit(path, r'"seconds": [\d.]+', '"seconds": 75')
    _, _, err = build(LAB, "--force")
    line = rf"^{LAB}  0:\d\d of about 1:15  cell \d of 4  A lab that runs to its end$"
    assert re.search(line, err, re.M)


def test_help_shows_examples(capsys):
    with pytest.raises(SystemExit) as caught:
        build_results.main(["--help"])
    assert caught.value.code == 0
    assert "python build_results.py mnist_dpsgd" in capsys.readouterr().out


# --- requests that cannot be met ------------------------------------------------------------------


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
    assert not build.failed.exists()


def test_no_labs_at_all_is_said(tmp_path, capsys):
    assert build_results.main([], sources=tmp_path) == 1
    assert "there is no lab in" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--timeout", "--jobs"])
@pytest.mark.parametrize("number", ["0", "-1", "1.5", "inf", "soon"])
def test_a_time_limit_and_a_number_of_labs_are_whole(option, number, build):
    with pytest.raises(SystemExit) as caught:
        build("failing_cell", option, number)
    assert caught.value.code == 2
