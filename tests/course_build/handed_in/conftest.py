"""A small lab with two exercises, notebooks handed in for it, and the teacher's command."""

import csv
from collections import defaultdict

import nbformat
import pytest
from nbformat import v4

import check_notebooks
from course_build.handed_in.trusted_cells import checks_of
from course_build.source import read_source
from course_build.tree import Tree

# The checks are those of the CIFAR-10 lab, the cells are not: they take no time.
LAB = "cifar10_lira"

SOURCE = '''\
# %% [markdown] id="title"
# # A small lab

# %% id="parameters"
import numpy as np
from scipy.stats import norm

from course_lib.exercises import Exercises
from course_lib.lab import Lab

lab = Lab("cifar10_lira")
ex = Exercises(lab)


# %% id="true-label-logit" tags=["exercise-1"]
def true_label_logit(z, label):
    """The logit."""
    # BEGIN SOLUTION
    rest = np.delete(np.asarray(z, dtype=np.float64), label)
    top = rest.max()
    return float(z[label] - top - np.log(np.exp(rest - top).sum()))
    # STUB return None
    # END SOLUTION


# %% id="check-1"
ex.check(1, true_label_logit)


# %% id="log-ratio" tags=["exercise-2"]
def log_ratio(phi_in, phi_out, observed):
    """The log likelihood ratio."""
    # BEGIN SOLUTION
    density = [norm.logpdf(observed, np.mean(s), np.std(s, ddof=1)) for s in (phi_in, phi_out)]
    return float(density[0] - density[1])
    # STUB return None
    # END SOLUTION


# %% id="check-2"
ex.check(2, log_ratio)

# %% id="results"
lab.save()
'''


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    """A tree with the small lab's source."""
    root = tmp_path_factory.mktemp("course")
    (root / "notebooks" / "source").mkdir(parents=True)
    (root / "notebooks" / "source" / f"{LAB}.py").write_text(SOURCE, encoding="utf-8")
    return Tree(root)


@pytest.fixture(scope="session")
def source(tree):
    return read_source(tree.source(LAB))


@pytest.fixture(scope="session")
def cells(source):
    """The code of the small lab's solved cells, by their ids."""
    return {cell.id: cell.text for cell in source.cells if cell.kind == "code"}


@pytest.fixture(scope="session")
def labs(source):
    return {LAB: checks_of(source)}


def write_notebook(path, *codes):
    """Write a notebook of code cells; a pair is a cell's id and its code."""
    made = []
    for number, code in enumerate(codes):
        name, code = code if isinstance(code, tuple) else (f"own-{number}", code)
        made.append(v4.new_code_cell(code, id=name))
    nbformat.write(v4.new_notebook(cells=made), path)


def read_table(folder):
    """Return {file: {exercise, or "" for the whole file: (result, message)}} of a written table.

    Of several notes on a file the messages are joined.
    """
    table = defaultdict(dict)
    text = (folder / "checks.csv").read_text(encoding="utf-8-sig")
    for row in csv.DictReader(text.splitlines(keepends=True)):
        before = table[row["file"]].get(row["exercise"], ("", ""))[1]
        message = f"{before}\n{row['message']}".strip()
        table[row["file"]][row["exercise"]] = row["result"], message
    return dict(table)


@pytest.fixture(scope="session")
def check(tree):
    """Run the teacher's command on a folder; return its status and the table."""

    def check(folder, out, *arguments):
        arguments = [folder, "--out", out, "--profile", "smoke", *arguments]
        status = check_notebooks.main([str(one) for one in arguments], tree)
        return status, read_table(out)

    return check
