"""The figures that the labs share.

Each function takes data and returns a matplotlib ``Figure``; ``show`` displays it with a text for
readers who cannot see it. Lines differ by dashes or markers as well as by colour. Texts are keyword
arguments whose English defaults pass through the course's catalogs.
"""

import base64
import html
import io
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.ticker import FuncFormatter, NullFormatter

from course_lib.language import _, language

# Okabe and Ito's colours, which readers with any colour vision can tell apart, dark ones first
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#5A5A5A", "#56B4E9", "#B58900")
_DASHES = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1.5, 1.2)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_GREY = "#5A5A5A"
_WIDTH, _HEIGHT = 7.0, 4.7  # inches; a notebook's column at 100 dots an inch
# Families and files of the fonts for languages that matplotlib's own font has no characters for
FONTS = {"zh": ("Course Sans SC", "CourseSansSC.otf"), "ja": ("Course Sans JP", "CourseSansJP.otf")}
_FONTS_DIR = Path(__file__).resolve().parent / "fonts"


def _font_families():
    """The families to write the notebook's language with; the files need not be installed.

    The language's own comes first: a text with mathematics in it is set in the first one alone.
    """
    found = FONTS.get(language()[:2])
    if found is None:
        return ["sans-serif"]
    family, filename = found
    fontManager.addfont(_FONTS_DIR / filename)
    return [family, "sans-serif"]


STYLE = {
    "font.family": _font_families(),
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.labelsize": 11,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "hatch.linewidth": 0.6,
    "axes.prop_cycle": matplotlib.cycler(color=_COLOURS),
}
"""The course's look, as matplotlib's settings: a lab that draws by itself uses it as well."""


class Curve(NamedTuple):
    """A measured ROC curve: points as ``metrics.roc_curve`` gives them, and maybe an interval.

    Attributes:
        label: what the legend says.
        fpr, tpr: the curve's points.
        band: ``(fpr_grid, low, high)``, the interval of the TPR at each FPR of a grid, as
            ``metrics.bootstrap_band`` gives it; None for no interval.
    """

    label: str
    fpr: np.ndarray
    tpr: np.ndarray
    band: tuple | None = None


class Ceiling(NamedTuple):
    """A limit on the TPR, as ``audit.tpr_ceiling`` or ``audit.tradeoff_tpr`` give it.

    Attributes:
        label: what the legend says.
        fpr, tpr: the limit's points.
        like: label of the curve whose colour it takes; None for grey.
    """

    label: str
    fpr: np.ndarray
    tpr: np.ndarray
    like: str | None = None


def roc(
    curves,
    ceilings=(),
    n_nonmembers=None,
    smallest_fpr=1e-4,
    title=None,
    xlabel=None,
    ylabel=None,
):
    """Draw ROC curves on logarithmic axes, where the low FPRs are that matter.

    Args:
        curves: sequence of ``Curve`` or of tuples in its order.
        ceilings: sequence of ``Ceiling`` or of tuples in its order.
        n_nonmembers: number of non-members measured; the part of the plot with fewer than two
            false positives is shaded, since a curve there hangs on a single record.
        smallest_fpr: left and lower end of the axes.
        title, xlabel, ylabel: texts; None for none, or the default for the axes.
    """
    with _figure() as (figure, (axis,)):
        _draw_roc(axis, curves, ceilings, n_nonmembers, smallest_fpr)
        axis.set_xlabel(xlabel or _fpr_label())
        axis.set_ylabel(ylabel or _tpr_label())
        if title:
            axis.set_title(title)
        if len(curves) + len(ceilings) <= 4:
            axis.legend(loc="lower right")
        else:  # too many for the empty corner
            figure.set_figwidth(_WIDTH + 2)
            axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def roc_panels(panels, n_nonmembers=None, smallest_fpr=1e-4, columns=2, xlabel=None, ylabel=None):
    """Draw several plots as ``roc`` does, on the same axes, with one legend below.

    A label that appears in several panels must mean the same line: it is in the legend once.

    Args:
        panels: sequence of ``(title, curves, ceilings)``.
        columns: how many plots stand side by side.
        n_nonmembers, smallest_fpr, xlabel, ylabel: as for ``roc``.
    """
    with _figure(len(panels), columns) as (figure, axes):
        entries = {}
        for axis, (title, curves, ceilings) in zip(axes, panels, strict=True):
            _draw_roc(axis, curves, ceilings, n_nonmembers, smallest_fpr)
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
                entries.setdefault(label, handle)
            if title:
                axis.set_title(title)
        _label_outer(axes, columns, xlabel or _fpr_label(), ylabel or _tpr_label())
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=3)
    return figure


def tradeoff(curves, title=None, xlabel=None, ylabel=None):
    """Draw trade-off functions on linear axes: what an attack must miss at each FPR.

    The diagonal is perfect privacy; the closer a curve comes to the lower left corner, the more the
    mechanism gives away.

    Args:
        curves: sequence of ``(label, fpr, tpr)``; 1 − TPR is drawn.
        title, xlabel, ylabel: texts; None for none, or the default for the axes.
    """
    with _figure() as (figure, (axis,)):
        axis.plot([0, 1], [1, 0], color=_GREY, linewidth=1, linestyle=":", label=_("no leakage"))
        for i, (label, fpr, tpr) in enumerate(curves):
            axis.plot(fpr, 1 - np.asarray(tpr), label=label, **_line(i))
        axis.set(xlim=(0, 1), ylim=(0, 1))
        axis.xaxis.set_major_formatter(_percent())
        axis.yaxis.set_major_formatter(_percent())
        axis.set_xlabel(xlabel or _fpr_label())
        axis.set_ylabel(ylabel or _("false negative rate (1 − TPR)"))
        axis.legend(loc="upper right")
        if title:
            axis.set_title(title)
    return figure


def utility(series, references=(), title=None, xlabel=None, ylabel=None):
    """Draw accuracy against ε, with its spread and reference lines.

    Args:
        series: sequence of ``(label, epsilons, accuracy, spread)``; ``spread`` is half the length
            of the bars, such as a standard deviation over seeds, or None.
        references: sequence of ``(label, accuracy)``, drawn as horizontal lines, such as the same
            training without noise.
        title, xlabel, ylabel: texts; None for none, or the default for the axes.
    """
    with _figure() as (figure, (axis,)):
        seen = []
        for i, (label, epsilons, accuracy, spread) in enumerate(series):
            axis.errorbar(
                epsilons,
                accuracy,
                yerr=spread,
                label=label,
                marker=_MARKERS[i % len(_MARKERS)],
                capsize=3,
                elinewidth=1.1,
                **_line(i),
            )
            seen += list(epsilons)
        for i, (label, accuracy) in enumerate(references):
            dashes = _DASHES[(i + 1) % len(_DASHES)]
            axis.axhline(accuracy, color=_GREY, linewidth=1.2, linestyle=dashes, label=label)
        axis.set_xscale("log")
        ticks = sorted({float(f"{value:.3g}") for value in seen})
        if len(ticks) <= 8:  # name the values that were tried
            axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_xlabel(xlabel or _("ε (logarithmic; more private to the left)"))
        axis.set_ylabel(ylabel or _("test accuracy"))
        axis.legend(loc="best")
        if title:
            axis.set_title(title)
    return figure


def score_histograms(panels, bins=50, columns=2, xlabel=None, ylabel=None, log=False):
    """Draw the scores of members and of non-members, as densities.

    The bins cover all but the lowest and the highest thousandth of the scores; what lies further
    out is counted in the first or last bin, so that one huge score does not flatten the rest.

    Args:
        panels: sequence of ``(title, scores, is_member)``, one plot each.
        bins: number of bins, shared by both kinds of records.
        columns: how many plots stand side by side.
        xlabel, ylabel: texts of the axes, or None for the defaults.
        log: whether densities are drawn on a logarithmic axis, which shows the tails.
    """
    with _figure(len(panels), columns) as (figure, axes):
        for axis, (title, scores, is_member) in zip(axes, panels, strict=True):
            scores, is_member = np.ravel(scores), np.ravel(is_member)
            ends = np.quantile(scores, [0.001, 0.999], method="nearest")
            scores = np.clip(scores, *ends)
            edges = np.histogram_bin_edges(scores, bins, tuple(ends))
            axis.hist(
                scores[~is_member],
                edges,
                density=True,
                histtype="stepfilled",
                facecolor="#CFCFCF",
                edgecolor=_GREY,
                linewidth=1,
                label=_("non-members"),
            )
            axis.hist(
                scores[is_member],
                edges,
                density=True,
                histtype="step",
                color=_COLOURS[0],
                linewidth=1.8,
                label=_("members"),
            )
            if log:
                axis.set_yscale("log")
            if title:
                axis.set_title(title)
        axes[0].legend(loc="best")
        _label_outer(
            axes, columns, xlabel or _("score (larger: more like a member)"), ylabel or _("density")
        )
    return figure


def intervals(rows, reference=None, title=None, xlabel=None, log=False):
    """Draw estimates with their intervals, one a line, from top to bottom.

    Args:
        rows: sequence of ``(label, value, low, high)``.
        reference: ``(label, value)`` of a vertical line, such as chance; None for none.
        title, xlabel: texts; None for none.
        log: whether the axis is logarithmic.
    """
    height = max(1.8, 0.9 + 0.36 * len(rows))
    with _figure(height=height) as (figure, (axis,)):
        for i, (_label, value, low, high) in enumerate(rows):
            axis.plot([low, high], [i, i], color=_COLOURS[0], linewidth=2, solid_capstyle="butt")
            axis.plot(value, i, marker="o", color=_COLOURS[0], markeredgecolor="white")
        if reference is not None:
            label, value = reference
            axis.axvline(value, color=_GREY, linewidth=1.2, linestyle=_DASHES[1], label=label)
            axis.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
        if log:
            axis.set_xscale("log")
        axis.set_yticks(range(len(rows)), [row[0] for row in rows])
        axis.set_ylim(len(rows) - 0.5, -0.5)
        axis.grid(axis="y", visible=False)
        axis.set_xlabel(xlabel or "")
        if title:
            axis.set_title(title, pad=22 if reference is not None else None)
    return figure


def show(fig, *, alt):
    """Display a figure in the notebook with a text alternative, and close it.

    Outside a notebook the text is printed.

    Args:
        fig: the figure.
        alt: what it shows, in a sentence or two, for readers who do not see it.

    Raises:
        ValueError: if ``alt`` is empty.
    """
    if not alt or not alt.strip():
        raise ValueError("alt is empty: say in a sentence what the figure shows")
    alt = " ".join(alt.split())
    if _in_notebook():
        from IPython.display import display

        picture = base64.b64encode(_png(fig)).decode("ascii")
        tag = (
            f'<img alt="{html.escape(alt)}" style="max-width: 100%; height: auto" '
            f'width="{round(fig.get_figwidth() * 100)}" src="data:image/png;base64,{picture}">'
        )
        display({"text/html": tag, "text/plain": alt}, raw=True)
    else:
        print(alt)
    if "matplotlib.pyplot" in sys.modules:  # only pyplot keeps figures
        sys.modules["matplotlib.pyplot"].close(fig)


def _in_notebook():
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return get_ipython() is not None


def _png(fig):
    buffer = io.BytesIO()
    # without the name of the program, so that a new version of it alone changes no file
    fig.savefig(buffer, format="png", dpi=150, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


@contextmanager
def _figure(panels=1, columns=1, height=None):
    """Yield an empty figure and its axes in the course's style."""
    columns = min(columns, panels)
    rows = -(-panels // columns)
    with matplotlib.rc_context(STYLE):
        # side by side they are smaller, so that a notebook shrinks the text but little
        width, each = {1: (_WIDTH, _HEIGHT), 2: (9.2, 3.8)}.get(columns, (3.6 * columns, 3.5))
        figure = Figure(figsize=(width, height or each * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, sharex=False, sharey=False).ravel()
        for unused in axes[panels:]:
            unused.remove()
        yield figure, axes[:panels]


def _draw_roc(axis, curves, ceilings, n_nonmembers, smallest):
    colours = {}
    if n_nonmembers is not None and 2 / n_nonmembers > smallest:
        label = _("fewer than 2 false positives")
        axis.axvspan(smallest, 2 / n_nonmembers, facecolor="#EBEBEB", label=label)
    axis.plot(
        [smallest, 1], [smallest, 1], color=_GREY, linewidth=1, linestyle=":", label=_("chance")
    )
    for i, curve in enumerate(curves):
        curve = Curve(*curve)
        style = _line(i)
        colours[curve.label] = style["color"]
        if curve.band is not None:
            grid, low, high = curve.band
            axis.fill_between(
                grid,
                np.maximum(low, smallest / 10),
                np.maximum(high, smallest / 10),
                color=style["color"],
                alpha=0.18,
                linewidth=0,
            )
        # a curve jumps from threshold to threshold: nothing in between is reached
        axis.plot(curve.fpr, curve.tpr, drawstyle="steps-post", label=curve.label, **style)
    for i, ceiling in enumerate(ceilings):
        ceiling = Ceiling(*ceiling)
        axis.plot(
            ceiling.fpr,
            ceiling.tpr,
            color=colours.get(ceiling.like, "#222222"),
            linewidth=1.2,
            linestyle=_DASHES[1 + i % 3],
            label=ceiling.label,
        )
    axis.set_xscale("log", nonpositive="clip")
    axis.set_yscale("log", nonpositive="clip")
    axis.set(xlim=(smallest, 1), ylim=(smallest, 1.15))
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_formatter(_percent())
        side.set_minor_formatter(NullFormatter())


def _label_outer(axes, columns, xlabel, ylabel):
    columns = min(columns, len(axes))
    for i, axis in enumerate(axes):
        if i + columns >= len(axes):
            axis.set_xlabel(xlabel)
        if i % columns == 0:
            axis.set_ylabel(ylabel)


def _line(i):
    return {"color": _COLOURS[i % len(_COLOURS)], "linestyle": _DASHES[i % len(_DASHES)]}


def percent(share):
    """Return a share, such as 0.01, as a label's text: "1%", or "1 %" where the language has it."""
    return _("{number}%").format(number=f"{100 * share:.6g}")


def _percent():
    return FuncFormatter(lambda value, _position: percent(value))


def _fpr_label():
    return _("false positive rate (FPR)")


def _tpr_label():
    return _("true positive rate (TPR)")
