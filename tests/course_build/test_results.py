import datetime
import json
import math
import os
import re
from pathlib import Path

import jsonschema
import pytest

from course_build import results as course_results
from course_build.results import (
    META_KEYS,
    ROOT,
    SCHEMA_FILE,
    ResultsError,
    check_writable,
    lab_inputs,
    package_versions,
    read_results,
    read_run,
    stale_reasons,
    write_results,
)

RUN = {
    "results": {"tpr": 0.1, "n": 3, "name": "ε ≤ 1", "held": True, "minutes_total": 1.5},
    "data": {"roc": [[0.0, 1.0], [0, 1]], "grid": [[[1, 2], [3, 4]]]},
    "claims": [{"id": "b", "text": "B.", "holds": True}, {"id": "a", "text": "A.", "holds": True}],
}
META = {
    "lab": "x",
    "profile": "quick",
    "language": "en",
    "inputs": {"notebooks/source/x.py": "0" * 64},
    "versions": {"python": "3.11.7"},
    "data": {},
    "device": "cpu",
    "seconds": 90.1,
}


@pytest.fixture
def path(tmp_path):
    """A results file that is as it should be."""
    path = tmp_path / "x.json"
    write_results(path, RUN, META)
    return path


def fits_the_schema(path):
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    return validator.is_valid(json.loads(path.read_text(encoding="utf-8")))


def test_the_schema_is_one_and_fits_what_is_written(path):
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMA_FILE.read_text("utf-8")))
    assert fits_the_schema(path)


def test_what_the_authors_of_pages_are_told_names_every_part():
    page = (ROOT / "data" / "results" / "README.md").read_text(encoding="utf-8")
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    assert SCHEMA_FILE.name in page
    assert set(schema["required"]) == set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert schema["properties"]["meta"]["required"] == list(META_KEYS)


def changed(path, change):
    """Rewrite a JSON file by a function of its contents, however wrong the outcome."""
    contents = json.loads(path.read_text(encoding="utf-8"))
    contents = change(contents) or contents
    path.write_text(json.dumps(contents), encoding="utf-8")


def test_what_is_written_is_read(path):
    contents = read_results(path)
    meta = contents.pop("meta")
    assert contents == RUN
    assert tuple(meta) == META_KEYS
    assert meta == {**META, "schema": 1, "date": datetime.date.today().isoformat()}


def test_the_order_in_which_figures_came_does_not_show(path, tmp_path):
    shuffled = {**RUN, "results": dict(reversed(RUN["results"].items()))}
    write_results(tmp_path / "y.json", shuffled, META)
    assert (tmp_path / "y.json").read_bytes() == path.read_bytes()


def test_the_file_is_one_line_a_figure_in_utf8(path):
    lines = path.read_bytes().decode("utf-8").split("\n")
    assert '  "name": "ε ≤ 1",' in lines
    assert '  "roc": [[0.0, 1.0], [0, 1]]' in lines
    assert lines[-1] == ""


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_nan_is_not_written_and_the_old_file_stays(value, path):
    before = path.read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_results(path, {**RUN, "results": {"auc": value}}, META)
    assert path.read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_leaves_the_old_file(path):
    before = path.read_bytes()
    (path.parent / f"x.json.{os.getpid()}.part").symlink_to("/dev/full")
    with pytest.raises(ResultsError, match=r"x\.json cannot be written: No space left"):
        write_results(path, {**RUN, "claims": []}, META)
    assert [p.name for p in path.parent.iterdir()] == ["x.json"]
    assert path.read_bytes() == before


def test_an_interruption_in_mid_write_leaves_the_old_file(path, monkeypatch):
    def interrupt(number):
        raise KeyboardInterrupt

    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_results(path, {**RUN, "claims": []}, META)
    assert [p.name for p in path.parent.iterdir()] == ["x.json"]
    assert path.read_bytes() == before


def test_what_would_be_refused_is_not_written(path):
    before = path.read_bytes()
    with pytest.raises(ResultsError, match=r"x\.json: 'seconds' in 'meta' must be a number"):
        write_results(path, RUN, {**META, "seconds": -1})
    assert path.read_bytes() == before


def test_the_same_figures_keep_their_date(path, monkeypatch):
    class Later(datetime.date):
        @classmethod
        def today(cls):
            return cls(2031, 5, 17)

    monkeypatch.setattr(datetime, "date", Later)
    first = read_results(path)["meta"]["date"]
    slower = {**RUN["results"], "minutes_total": 9.0}
    write_results(path, {**RUN, "results": slower}, {**META, "seconds": 540.0})
    assert read_results(path)["meta"]["date"] == first
    assert read_results(path)["results"]["minutes_total"] == 9.0
    for change in (
        {"results": {**RUN["results"], "tpr": 0.1 + 1e-15}},
        {"data": {"roc": [[0.0], [0]]}},
        {"claims": RUN["claims"][:1]},
    ):
        changed(path, lambda contents: contents["meta"].update(date=first))
        write_results(path, {**RUN, **change}, META)
        assert read_results(path)["meta"]["date"] == "2031-05-17"
        write_results(path, RUN, META)


def test_a_missing_file_says_how_to_get_it(tmp_path):
    with pytest.raises(ResultsError, match=r"y\.json does not exist.*build_results\.py y"):
        read_results(tmp_path / "y.json")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "is not JSON"),
        (b'{"results": {', "is not JSON"),
        (b"<!DOCTYPE html>", "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON .it is no text in UTF-8"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"results": {"auc": NaN}}', "holds NaN"),
        (b'{"results": {"auc": -Infinity}}', "holds -Infinity"),
        (b"[]", "is JSON but no results file"),
        (b'{"results": {}}', "is JSON but no results file"),
        (b'{"meta": 1}', "is JSON but no results file"),
    ],
)
def test_what_is_no_results_file_is_named(text, says, path):
    path.write_bytes(text)
    with pytest.raises(ResultsError, match=rf"x\.json {says}"):
        read_results(path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: c["meta"].update(schema=0), "is of schema 0, this course reads 1"),
        (lambda c: c["meta"].pop("schema"), "is of schema None"),
        (lambda c: c["meta"].pop("inputs"), "lacks inputs in its 'meta'"),
        (lambda c: c["meta"].update(inputs=["x"]), "'inputs' .* must map names to texts"),
        (lambda c: c["meta"].update(versions={"torch": 2}), "'versions' .* must map names"),
        (lambda c: c["meta"].update(date="yesterday"), "'date' .* must be a day"),
        (lambda c: c["meta"].update(date="20260131"), "'date' .* must be a day"),
        (lambda c: c["meta"].update(device=None), "'device' .* must be a text"),
        (lambda c: c["meta"].update(seconds="long"), "'seconds' .* must be a number"),
        (lambda c: c["meta"].update(seconds=-1), "'seconds' .* must be a number"),
        (lambda c: c["results"].update({"a\x1b[2J": 1}), r"the name 'a\\x1b\[2J' must be"),
        (lambda c: c["data"].update({"ROC": [[1]]}), "the name 'ROC' must be"),
        (lambda c: c["claims"][0].update(id="A b"), "the claim's id 'A b' must be"),
        (lambda c: c.pop("claims"), "must hold results, data, claims, meta"),
        (lambda c: c.update(more=1), "must hold results, data, claims, meta"),
        (lambda c: c.update(results=[]), "'results' must be an object"),
        (lambda c: c.update(claims={}), "'claims' must be a list"),
        (lambda c: c["results"].update(auc=None), "the result 'auc'"),
        (lambda c: c["results"].update(auc=[1]), "the result 'auc'"),
        (lambda c: c["data"].update(roc=[1, 2]), "the curve 'roc'"),
        (lambda c: c["data"].update(roc=[["a"]]), "the curve 'roc'"),
        (lambda c: c["data"].update(roc={"x": []}), "the curve 'roc'"),
        (lambda c: c["claims"].append(1), "each claim"),
        (lambda c: c["claims"][0].update(holds="yes"), "the claim 'b' must say true or false"),
        (lambda c: c["claims"][0].update(id="a"), "the claim 'a' comes twice"),
        (lambda c: c["claims"][0].update(text=1), "must be texts"),
    ],
)
def test_a_results_file_with_a_fault_is_refused(change, says, path):
    changed(path, lambda contents: change(contents) and None)
    with pytest.raises(ResultsError, match=rf"x\.json.*{says}.*build_results\.py x"):
        read_results(path)
    comes_twice = "twice" in says  # the one rule that JSON Schema cannot say
    assert fits_the_schema(path) == comes_twice


def test_a_number_beyond_floats_is_refused(path):
    path.write_text(path.read_text(encoding="utf-8").replace("0.1\n", "1e999\n"), encoding="utf-8")
    with pytest.raises(ResultsError, match="the result 'tpr' must be a finite number"):
        read_results(path)


def test_a_lab_that_wrote_nothing_is_told_of_save(tmp_path):
    with pytest.raises(ResultsError, match=r"must call lab\.save\(\)"):
        read_run(tmp_path / "run.json")


def test_an_unwritable_path_is_found_before_the_run(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match=r"file/x\.json cannot be written"):
        check_writable(tmp_path / "file" / "x.json")
    (tmp_path / "x.json").mkdir()
    with pytest.raises(ResultsError, match=r"x\.json cannot be written: it is a folder"):
        check_writable(tmp_path / "x.json")


def test_a_folder_that_is_read_only_is_found_before_the_run(tmp_path_factory):
    """For root, who may write anywhere, as another user."""
    folder = tmp_path_factory.mktemp("read-only", numbered=True)
    user = os.geteuid()
    for parent in [folder, *folder.parents][:3]:  # pytest's folders are closed to others
        if user == 0:
            parent.chmod(0o755)
    folder.chmod(0o555)
    try:
        if user == 0:
            os.seteuid(65534)
        with pytest.raises(ResultsError, match=r"x\.json cannot be written: Permission denied"):
            check_writable(folder / "x.json")
        with pytest.raises(ResultsError, match=r"x\.json cannot be written: Permission denied"):
            write_results(folder / "x.json", RUN, META)
    finally:
        if user == 0:
            os.seteuid(0)
        folder.chmod(0o755)
    assert not list(folder.iterdir())


def test_somebody_elses_file_is_not_replaced(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("notes", encoding="utf-8")
    with pytest.raises(ResultsError, match=r"x\.json is not JSON.*left as it is"):
        check_writable(path)
    assert path.read_text(encoding="utf-8") == "notes"


def test_an_older_schema_may_be_replaced(path):
    changed(path, lambda contents: contents["meta"].update(schema=0))
    check_writable(path)
    write_results(path, RUN, META)
    assert read_results(path)["meta"]["schema"] == 1


def test_checking_leaves_nothing_behind(path):
    before = path.read_bytes()
    check_writable(path)
    check_writable(path.parent / "folder" / "y.json")
    assert path.read_bytes() == before
    assert not list((path.parent / "folder").iterdir())


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small repository, and the results that were computed with it."""
    for name in ("course_lib/a.py", "course_lib/exercises/b.py", "source/x.py", "data/d.npz"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    monkeypatch.setattr(course_results, "ROOT", tmp_path)
    source = tmp_path / "source" / "x.py"
    inputs = {**lab_inputs(source), "data/d.npz": course_results._sha256(tmp_path / "data/d.npz")}
    return tmp_path, source, {"meta": {"inputs": inputs}}


def test_inputs_are_the_source_and_the_library(tree):
    root, source, contents = tree
    for name in ("locale/fr.mo", "locale/fr/notes.txt", "fonts/cjk.otf", "fonts/OFL.txt"):
        (root / "course_lib" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "course_lib" / name).write_text("cannot change a figure")
    for name in ("__pycache__/a.pyc", ".a.py.swp", "c.pyc"):
        (root / "course_lib" / name).parent.mkdir(exist_ok=True)
        (root / "course_lib" / name).write_text("left by a tool")
    (root / "course_lib" / "table.csv").write_text("read by the library")
    assert list(lab_inputs(source)) == [
        "course_lib/a.py",
        "course_lib/exercises/b.py",
        "course_lib/table.csv",
        "source/x.py",
    ]
    (root / "course_lib" / "table.csv").unlink()
    assert stale_reasons(source, contents) == []


@pytest.mark.parametrize(
    "name", ["course_lib/a.py", "course_lib/exercises/b.py", "source/x.py", "data/d.npz"]
)
def test_each_input_that_changes_is_named(name, tree):
    root, source, contents = tree
    (root / name).write_text("a comment more", encoding="utf-8")
    assert stale_reasons(source, contents) == [f"{name} changed"]


def test_a_module_that_comes_or_goes_is_named(tree):
    root, source, contents = tree
    (root / "course_lib" / "c.py").write_text("")
    (root / "course_lib" / "a.py").unlink()
    (root / "data" / "d.npz").unlink()
    assert stale_reasons(source, contents) == [
        "course_lib/a.py is gone",
        "data/d.npz is gone",
        "course_lib/c.py is new",
    ]


def test_versions_are_those_in_use():
    import numpy

    assert package_versions()["numpy"] == numpy.__version__
