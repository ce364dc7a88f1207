"""The tests of what a notebook shows hear what they listen for."""

import subprocess
import sys

import nbformat
import pytest

from course_build.results import ROOT
from tests.notebooks.shown import LISTENER, untranslated, words_of

DRAW = """
import matplotlib.pyplot as plt
from course_lib import plots

plt.rcParams.update(plots.STYLE)
figure, axes = plt.subplots()
axes.set(title="two members", xlabel={label!r})
plots._png(figure)
"""


def listen(label, file):
    code = LISTENER.replace("@FILE@", repr(str(file))) + DRAW.format(label=label)
    environment = {"COURSE_LANG": "en", "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    return done.stderr


@pytest.mark.parametrize("label", ["噪声", "噪声 $\\sigma$"], ids=["text", "beside mathematics"])
def test_a_missing_character_ends_the_run(label, tmp_path):
    assert listen("noise $\\sigma$", tmp_path / "figures.jsonl") == ""
    assert "Traceback" in listen(label, tmp_path / "figures.jsonl")


def test_words_of_figures_prints_and_pages_are_seen(tmp_path):
    figures = tmp_path / "figures.jsonl"
    listen("share", figures)
    outputs = [
        nbformat.v4.new_output("stream", name="stdout", text="成员printed 0.5, clip, rows\n"),
        nbformat.v4.new_output("stream", name="stderr", text="RuntimeWarning: overflow\n"),
        nbformat.v4.new_output("display_data", {"text/markdown": "| page |", "text/plain": "x"}),
        nbformat.v4.new_output("display_data", {"text/html": "<img>", "text/plain": "a bar"}),
    ]
    cell = nbformat.v4.new_code_cell("def clip(rows):\n    pass", id="work", outputs=outputs)
    notebook = nbformat.v4.new_notebook(cells=[cell])
    found = untranslated(notebook, figures, known={"two"})
    assert {word: place.split(":")[0] for word, place in found.items()} == {
        "printed": "work",
        "page": "work",
        "bar": "work",
        "members": "a figure",
        "share": "a figure",
    }


def test_code_and_formulas_are_no_words():
    text = r"`clip_rows` noise_multiplier $\text{if}$ data/mnist.npz https://a.org/page é été"
    assert words_of(text) == {"data", "été"}
