"""Figures in Chinese and Japanese have every character, with no font installed."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest
from fontTools.ttLib import TTFont

from course_build.bundle_fonts import SUBSETS, catalog_characters
from course_build.results import ROOT
from course_build.tree import Tree
from course_lib.plots import FONTS

FOLDER = ROOT / "course_lib" / "fonts"
DEJAVU = Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
# What the labs' figures write beside letters: minus, Greek, mathematics, marks.
SIGNS = "−–—×±≤≥≈≠→∞√·…%‰²³ΣΔΦαβδεημσφ✓"
LABEL = {"zh": "噪声乘数", "ja": "ノイズ乗数", "fr": "Taux\u202f: «\u00a0été\u00a0»\u202f!"}

DRAW = """
import logging, warnings
warnings.filterwarnings("error", ".*missing from")  # other warnings are no matter of fonts
import matplotlib
matplotlib.use("agg")
import matplotlib.font_manager as fonts
import matplotlib.pyplot as plt
from course_lib import plots

said = []
class Listener(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage())
logging.getLogger("matplotlib.mathtext").addHandler(Listener())
# only matplotlib's own fonts and the course's: as on a computer where none is installed
own = (matplotlib.get_data_path(), {folder!r})
fonts.fontManager.ttflist = [f for f in fonts.fontManager.ttflist if str(f.fname).startswith(own)]

plt.rcParams.update(plots.STYLE)
figure, axes = plt.subplots()
axes.plot([-1, 1], [1e-5, 1])
axes.set_yscale("log")
axes.set(title={label!r}, xlabel={label!r} + r" $\\sigma = 10^{{-5}}$", ylabel={signs!r})
plots._png(figure)
plots._png(plots.tradeoff([({label!r}, [0, 1], [0, 1])], title={label!r} + {signs!r}))
assert not said, said
"""


def draw(language, label, signs=SIGNS):
    """Draw a figure in a process of its own, with a notebook's settings; return what it said."""
    code = DRAW.format(folder=str(FOLDER), label=label, signs=signs)
    environment = {"COURSE_LANG": language, "PYTHONPATH": str(ROOT), "PATH": "/usr/bin"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    return done.stderr


@pytest.mark.parametrize("language", LABEL)
def test_a_figure_in_every_language_has_all_its_characters(language):
    assert draw(language, LABEL[language]) == ""


def test_a_character_that_no_font_has_is_noticed_in_text_and_beside_mathematics():
    assert "missing from font" in draw("en", LABEL["zh"])
    assert "missing from font" in draw("zh", LABEL["zh"], signs="한")
    assert "does not have a glyph" in draw("zh", "噪声 ⁻⁵ $x$")


@pytest.mark.parametrize("language", SUBSETS)
def test_a_font_has_what_the_translations_and_a_student_write(language):
    part = SUBSETS[language]
    held = set(TTFont(FOLDER / part.filename, lazy=True).getBestCmap())
    # What lies outside is drawn by matplotlib's own font, which has it.
    common = {c for c in part.characters() if c > 0x2E7F}
    wanted = common | {c for c in catalog_characters(Tree(), language) if c > 0x2E7F}
    assert len(common) > 3000
    assert "".join(map(chr, sorted(wanted - held))) == ""
    assert set(map(ord, SIGNS)) <= held
    assert catalog_characters(Tree(), language) <= held | set(TTFont(DEJAVU).getBestCmap())


@pytest.mark.parametrize("language", SUBSETS)
def test_a_font_is_what_its_page_and_its_licence_say(language):
    part = SUBSETS[language]
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    digest = hashlib.sha256((FOLDER / part.filename).read_bytes()).hexdigest()
    assert re.search(rf"`{part.filename}` .* `{digest}`", page)
    names = TTFont(FOLDER / part.filename)["name"]
    assert names.getDebugName(1) == FONTS[language][0] == part.family
    assert FONTS[language][1] == part.filename
    assert not any("Noto" in str(record) or "Source" in str(record) for record in names.names)
    copyright_line = names.getDebugName(0)
    assert (FOLDER / "OFL.txt").read_text(encoding="utf-8").startswith(copyright_line)
