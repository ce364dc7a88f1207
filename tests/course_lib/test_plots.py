"""What the figures show, that they can be read without colour, and how they reach the page."""

import base64
import re
import struct
import subprocess
import sys
import warnings

import IPython.display
import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from course_lib import audit, metrics, plots

GRID = np.logspace(-4, 0, 50)


def attack(seed=0, shift=1.0, n=800):
    rng = np.random.default_rng(seed)
    is_member = rng.random(n) < 0.5
    return rng.normal(size=n) + shift * is_member, is_member


def curve(label, seed=0, band=False):
    scores, is_member = attack(seed)
    fpr, tpr = metrics.roc_curve(scores, is_member)
    found = metrics.bootstrap_band(scores, is_member, np.random.default_rng(0), GRID, 20)
    return plots.Curve(label, fpr, tpr, (GRID, *found) if band else None)


def every_figure():
    ceilings = [("ceiling", GRID, audit.tpr_ceiling(GRID, 1.3, 1e-5), "b")]
    curves = [curve("a", band=True), curve("b", 1)]
    return {
        "roc": plots.roc(curves, ceilings, n_nonmembers=400, title="title"),
        "roc_many": plots.roc([curve(f"attack {i}", i) for i in range(12)]),
        "roc_panels": plots.roc_panels([(f"σ = {i}", curves, ceilings) for i in range(3)], 400),
        "tradeoff": plots.tradeoff([("σ = 1", GRID, GRID**0.5)], title="title"),
        "utility": plots.utility(
            [("a", [0.5, 1, 8], [0.7, 0.8, 0.9], [0.1, 0.1, 0.01]), ("b", [1], [0.5], None)],
            [("without noise", 0.95)],
            title="title",
        ),
        "score_histograms": plots.score_histograms([("a", *attack()), ("b", *attack(1))]),
        "intervals": plots.intervals(
            [("a", 0.1, 0.05, 0.2), ("b", 0.3, 0.2, 0.4)],
            ("chance", 0.1),
            title="title",
            xlabel="TPR",
        ),
    }


FIGURES = list(every_figure())


@pytest.fixture(scope="module")
def figures():
    return every_figure()


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_renders_without_warnings_and_inside_its_edges(figures, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = plots._png(figures[name])
    assert picture.startswith(b"\x89PNG")
    outer = figures[name].get_tightbbox()
    width, height = figures[name].get_size_inches()
    assert outer.x0 >= -0.02 and outer.y0 >= -0.02
    assert outer.x1 <= width + 0.02 and outer.y1 <= height + 0.02


def test_the_same_data_give_the_same_bytes():
    assert plots._png(plots.roc([curve("a")])) == plots._png(plots.roc([curve("a")]))


@pytest.mark.parametrize("name", FIGURES)
def test_every_text_is_large_enough_and_every_outer_axis_has_a_name(figures, name):
    figure = figures[name]
    assert min(text.get_fontsize() for text in figure.findobj(Text) if text.get_text()) >= 9
    assert all(axis.get_ylabel() for axis in figure.axes[:1]) or name == "intervals"
    assert figure.axes[-1].get_xlabel()


def lines(axis):
    return {line.get_label(): line for line in axis.get_lines()}


def test_roc_shows_the_curves_as_measured():
    measured = curve("a")
    (axis,) = plots.roc([measured, curve("b", 1)]).axes
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    assert axis.get_xlim() == (1e-4, 1)
    drawn = lines(axis)["a"]
    np.testing.assert_array_equal(drawn.get_xdata(), measured.fpr)
    np.testing.assert_array_equal(drawn.get_ydata(), measured.tpr)
    assert drawn.get_drawstyle() == "steps-post"  # no threshold reaches what lies between points
    chance = lines(axis)["chance"]
    np.testing.assert_array_equal(chance.get_xdata(), chance.get_ydata())


def test_roc_shades_where_resolution_ends():
    (axis,) = plots.roc([curve("a")], n_nonmembers=400).axes
    (shade,) = axis.patches
    assert shade.get_x() == pytest.approx(1e-4)
    assert shade.get_x() + shade.get_width() == pytest.approx(2 / 400)
    assert not plots.roc([curve("a")]).axes[0].patches
    assert not plots.roc([curve("a")], n_nonmembers=10**6).axes[0].patches


def test_roc_draws_bands_and_ceilings():
    ceiling = plots.Ceiling("ceiling", GRID, audit.tpr_ceiling(GRID, 1.3, 1e-5), like="b")
    measured = curve("a")._replace(band=(GRID, 0 * GRID, GRID**0.5))
    (axis,) = plots.roc([measured, curve("b", 1)], [ceiling, ceiling._replace(like=None)]).axes
    (band,) = axis.collections
    assert band.get_paths()[0].vertices[:, 1].min() >= 1e-5  # a TPR of 0 has a place on a log axis
    measured, like, grey = axis.get_lines()[-3:]
    assert like.get_color() == measured.get_color()
    assert len(set(to_rgb(grey.get_color()))) == 1
    np.testing.assert_array_equal(like.get_ydata(), ceiling.tpr)


def test_lines_differ_without_colour():
    (axis,) = plots.roc([curve(str(i), i) for i in range(12)]).axes
    drawn = axis.get_lines()[1:]
    assert len({(line.get_color(), str(line._unscaled_dash_pattern)) for line in drawn}) == 12
    assert len({str(line._unscaled_dash_pattern) for line in drawn[:4]}) == 4
    markers = {
        line.get_marker()
        for line in plots.utility([(str(i), [1, 2], [0.1, 0.2], None) for i in range(4)])
        .axes[0]
        .get_lines()
    }
    assert len(markers) == 4


def test_panels_name_each_line_once():
    curves = [curve("a"), curve("b", 1)]
    figure = plots.roc_panels([("one", curves, ()), ("two", curves, ())], n_nonmembers=400)
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert len(labels) == len(set(labels)) == 4
    assert [axis.get_title() for axis in figure.axes] == ["one", "two"]


def test_tradeoff_shows_what_is_missed():
    (axis,) = plots.tradeoff([("σ", [0, 0.5, 1], [0, 0.8, 1])]).axes
    np.testing.assert_allclose(lines(axis)["σ"].get_ydata(), [1, 0.2, 0])


def test_utility_shows_spread_references_and_the_epsilons_tried():
    (axis,) = plots.utility(
        [("a", [0.25, 1, 8], [0.5, 0.7, 0.9], [0.1, 0.05, 0.01])], [("without noise", 0.95)]
    ).axes
    assert axis.get_xscale() == "log"
    assert [text.get_text() for text in axis.get_xticklabels()] == ["0.25", "1", "8"]
    (bars,) = axis.containers
    low, high = np.array(bars[2][0].get_segments())[0][:, 1]
    assert (low, high) == pytest.approx((0.4, 0.6))
    assert lines(axis)["without noise"].get_ydata() == [0.95, 0.95]


def test_histograms_share_bins_and_survive_an_outlier():
    scores, is_member = attack(n=4000)
    scores[:2] = 1e9, -1e9
    (axis,) = plots.score_histograms([("a", scores, is_member)], bins=30).axes
    assert axis.get_xlim()[1] < 10
    first, last = np.quantile(scores, [0.001, 0.999], method="nearest")
    edges = np.linspace(first, last, 31)
    for patch, kind in zip(axis.patches, (~is_member, is_member), strict=True):
        counts = np.histogram(scores[kind], np.append(-np.inf, np.append(edges[1:-1], np.inf)))[0]
        heights = counts / kind.sum() / (edges[1] - edges[0])  # what lies outside is counted too
        x, y = patch.get_path().vertices.T
        assert set(x.round(9)) == set(edges.round(9))
        for edge, height in zip(edges[:-1], heights, strict=True):
            assert np.isclose(y[np.isclose(x, edge)], height).any()


def test_intervals_stand_from_top_to_bottom():
    (axis,) = plots.intervals([("a", 2, 1, 3), ("b", 5, 4, 6)], ("chance", 1.5)).axes
    assert axis.yaxis_inverted()
    assert [text.get_text() for text in axis.get_yticklabels()] == ["a", "b"]
    spans = [line.get_xdata() for line in axis.get_lines()]
    assert [list(span) for span in spans] == [[1, 3], [2], [4, 6], [5], [1.5, 1.5]]


def test_default_texts_pass_through_the_catalog(monkeypatch):
    monkeypatch.setattr(plots, "_", lambda text: f"<{text}>")
    (axis,) = plots.roc([curve("a")], n_nonmembers=400).axes
    assert axis.get_xlabel() == "<false positive rate (FPR)>"
    legend = [text.get_text() for text in axis.get_legend().get_texts()]
    assert legend == ["<fewer than 2 false positives>", "<chance>", "a"]
    (axis,) = plots.roc([curve("a")], xlabel="x", ylabel="y", title="t").axes
    assert (axis.get_xlabel(), axis.get_ylabel(), axis.get_title()) == ("x", "y", "t")


# --- show ----------------------------------------------------------------------------------------


def test_show_displays_a_picture_with_its_text(monkeypatch):
    shown = []
    monkeypatch.setattr(plots, "_in_notebook", lambda: True)
    monkeypatch.setattr(IPython.display, "display", lambda data, raw: shown.append((data, raw)))
    plots.show(plots.roc([curve("a")]), alt='ROC of "a" & b:\n  above <chance>')
    ((data, raw),) = shown
    assert raw is True
    assert data["text/plain"] == 'ROC of "a" & b: above <chance>'
    assert 'alt="ROC of &quot;a&quot; &amp; b: above &lt;chance&gt;"' in data["text/html"]
    picture = base64.b64decode(re.search(r"base64,([^\"]+)", data["text/html"])[1])
    assert struct.unpack(">II", picture[16:24]) == (1050, 705)
    assert 'width="700"' in data["text/html"]


def test_show_prints_the_text_outside_a_notebook(capsys):
    plots.show(plots.roc([curve("a")]), alt="what it shows")
    assert capsys.readouterr().out == "what it shows\n"


def test_show_closes_figures_of_pyplot():
    import matplotlib.pyplot as plt

    figure = plt.figure()
    plots.show(figure, alt="an empty figure")
    assert not plt.fignum_exists(figure.number)


@pytest.mark.parametrize("alt", ["", "  ", None])
def test_show_asks_for_a_text(alt):
    with pytest.raises(ValueError, match="alt is empty"):
        plots.show(plots.roc([curve("a")]), alt=alt)


def test_the_style_stays_inside():
    with matplotlib.rc_context({"font.size": 7.5, "axes.grid": False}):
        before = dict(matplotlib.rcParams)
        plots.tradeoff([("a", GRID, GRID)])
        assert dict(matplotlib.rcParams) == before


def test_pyplot_is_not_imported():
    code = "import sys, course_lib.plots; print('matplotlib.pyplot' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_a_share_is_a_percentage_without_the_rounding_of_floats():
    assert [plots.percent(share) for share in (0.01, 1e-5, 1.0, 0.15000000000000002)] == [
        "1%",
        "0.001%",
        "100%",
        "15%",
    ]
