import json
import subprocess

import pytest

from course_build import moved as course_moved
from course_build.moved import Moved, committed_results, moved_figures


def contents(results, **data):
    return {"results": results, "data": data}


def moved(before, now):
    return list(map(str, moved_figures(contents(before), contents(now))))


def test_what_is_the_same_has_not_moved():
    same = {"a": 0.1, "b": "x", "c": True, "minutes_total": 1.0}
    assert moved(same, {**same, "minutes_total": 2.0}) == []


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (0.5, 0.505, "a: 0.5 -> 0.505 (+0.005, 1 %)"),
        (-2, -3, "a: -2 -> -3 (-1, 50 %)"),
        (0.5, 0.5 + 1e-15, "a: 0.5 -> 0.5 (+1e-15, 2e-13 %)"),
        (0, 3, "a: 0 -> 3 (+3)"),
        (1, 1.0, "a: 1 -> 1 (+0, 0 %)"),
        (1, True, "a: 1 -> True"),
        ("cpu", "GPU\x1b[2J", "a: 'cpu' -> 'GPU\\x1b[2J'"),
    ],
)
def test_by_how_much_a_figure_moved(before, now, said):
    assert moved({"a": before}, {"a": now}) == [said]


def test_figures_that_come_and_go():
    assert moved({"a": 1}, {"b": 0.25}) == ["a: gone, was 1", "b: new, 0.25"]


def test_the_largest_change_comes_first():
    before = {"small": 100, "large": 1, "middle": 10, "text": "a"}
    now = {"small": 101, "large": 2, "middle": 11, "text": "b"}
    found = moved_figures(contents(before), contents(now))
    assert [one.key for one in found] == ["text", "large", "middle", "small"]


def test_curves_are_compared():
    before = contents({}, roc=[[0, 1], [0, 1]], old=[[1]])
    now = contents({}, roc=[[0, 1], [0, 1.0]], new=[[1], [2]])
    assert moved_figures(before, now) == [
        Moved("curve new", None, "2 arrays"),
        Moved("curve old", "1 arrays", None),
        Moved("curve roc", "2 arrays", "2 arrays"),
    ]


@pytest.fixture
def repository(tmp_path, monkeypatch, results):
    """A repository with results in its last commit, and a way to write others."""
    home = tmp_path / "data" / "results"
    home.mkdir(parents=True)
    monkeypatch.setattr(course_moved, "ROOT", tmp_path)
    monkeypatch.setattr("course_build.results.ROOT", tmp_path)
    monkeypatch.setattr(course_moved, "RESULTS_DIR", home)

    def write(n, path=home / "coin_flips.json", profile="quick"):
        results["results"]["n_records"] = n
        results["meta"]["profile"] = profile
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(results), encoding="utf-8")
        return path

    def git(*arguments):
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, timeout=30)

    return write, git


def n_committed(path, profile="quick"):
    found = committed_results("coin_flips", path, profile)
    return found and found["results"]["n_records"]


def test_the_last_commit_comes_first_then_what_lies_there(repository, tmp_path):
    write, git = repository
    elsewhere = tmp_path / "elsewhere" / "coin_flips.json"
    assert n_committed(elsewhere) is None
    write(1, elsewhere)
    assert n_committed(elsewhere) == 1
    write(2)
    assert n_committed(elsewhere) == 2
    git("init", "-q")
    git("add", "data")
    assert n_committed(elsewhere) == 2
    git("commit", "-q", "-m", "results")
    home = write(3)
    assert n_committed(elsewhere) == n_committed(home) == 2


def test_results_of_another_profile_are_not_compared(repository):
    write, _ = repository
    assert n_committed(write(1, profile="full")) is None


def test_a_committed_file_that_is_no_results_file_is_passed_over(repository, tmp_path):
    write, git = repository
    (tmp_path / "data" / "results" / "coin_flips.json").write_text("{}")
    git("init", "-q")
    git("add", "data")
    git("commit", "-q", "-m", "results")
    assert n_committed(write(5)) == 5
