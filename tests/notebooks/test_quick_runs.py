"""The fast labs, run in full: the figures of the committed results, and the same file again."""

import re

import pytest

import build_results
from course_build.results import TIMING_KEY, read_results
from course_build.tree import Tree
from tests.notebooks.bounds import bound

pytestmark = pytest.mark.slow

TREE = Tree()
LABS = ("breast_cancer_dp", "credit_lira", "mnist_dpsgd")


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """Run a lab, once for all tests; return its results file."""
    folder = tmp_path_factory.mktemp("results")

    def run(lab):
        path = folder / f"{lab}.json"
        if not path.exists():
            assert build_results.main([lab, "--results", str(folder)]) == 0
        return path

    return run


@pytest.mark.parametrize("lab", LABS)
def test_figures_are_the_committed_ones(lab, first_run):
    """Within what another machine may add; on the one that computed them, to the last bit."""
    committed, found = read_results(TREE.results(lab)), read_results(first_run(lab))
    before, now = (dict(contents["results"]) for contents in (committed, found))
    del before[TIMING_KEY], now[TIMING_KEY]
    assert now.keys() == before.keys()
    moved = {key: (before[key], now[key]) for key in before if differs(key, before[key], now[key])}
    assert moved == {}
    assert found["claims"] == committed["claims"]
    assert found["data"].keys() == committed["data"].keys()


@pytest.mark.parametrize("lab", LABS)
def test_a_second_run_gives_the_same_file(lab, first_run):
    path = first_run(lab)
    before = without_times(path)
    assert build_results.main([lab, "--force", "--results", str(path.parent)]) == 0
    assert without_times(path) == before


def differs(key, before, now):
    allowed = bound(key, before)
    if type(before) is not type(now) or allowed == 0:
        return before != now or type(before) is not type(now)
    return abs(now - before) > allowed


def without_times(path):
    text, n = re.subn(rf'"({TIMING_KEY}|seconds)": [\d.]+', "", path.read_text(encoding="utf-8"))
    assert n == 2
    return text
