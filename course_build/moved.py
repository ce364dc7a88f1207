"""Which figures of a lab are not what they were, and by how much."""

import json
import subprocess
from dataclasses import dataclass

from course_build.results import (
    RESULTS_DIR,
    ROOT,
    TIMING_KEY,
    ResultsError,
    parse_results,
    read_results,
    relative,
)

_GIT_SECONDS = 10


@dataclass(frozen=True)
class Moved:
    """A figure before and now; None where there is, or was, none."""

    key: str
    before: object
    now: object

    @property
    def share(self):
        """The change as a share of the earlier value; infinite where there is no such number."""
        if _is_number(self.before) and _is_number(self.now) and self.before != 0:
            return abs(self.now - self.before) / abs(self.before)
        return float("inf")

    def __str__(self):
        if self.before is None:
            return f"{self.key}: new, {_shown(self.now)}"
        if self.now is None:
            return f"{self.key}: gone, was {_shown(self.before)}"
        text = f"{self.key}: {_shown(self.before)} -> {_shown(self.now)}"
        if _is_number(self.before) and _is_number(self.now):
            text += f" ({self.now - self.before:+.2g}"
            text += f", {100 * self.share:.2g} %)" if self.before else ")"
        return text


def moved_figures(before, now):
    """Return what differs between two results files of a lab, the largest change first.

    Parameters
    ----------
    before, now : dict
        Contents of results files. The running time is not compared. A curve counts as one
        figure, whose values are not shown.

    Returns
    -------
    list of Moved
    """
    moved = [
        Moved(key, before["results"].get(key), now["results"].get(key))
        for key in sorted(before["results"].keys() | now["results"].keys())
        if key != TIMING_KEY and not _same(before["results"].get(key), now["results"].get(key))
    ]
    moved.sort(key=lambda one: -one.share)
    for name in sorted(before["data"].keys() | now["data"].keys()):
        pair = before["data"].get(name), now["data"].get(name)
        if json.dumps(pair[0]) != json.dumps(pair[1]):
            moved.append(Moved(f"curve {name}", *map(_size, pair)))
    return moved


def committed_results(lab, path, profile):
    """Return the results that a new run is compared with, or None.

    Those of the last commit; where there are none, those that lie in ``data/results`` or at
    ``path``. They must be of the same profile.

    Parameters
    ----------
    lab : str
    path : path
        Where the new results go.
    profile : str
    """
    home = RESULTS_DIR / f"{lab}.json"
    for read, place in ((_in_last_commit, home), (read_results, home), (read_results, path)):
        try:
            contents = read(place)
        except (ResultsError, OSError, subprocess.SubprocessError, UnicodeDecodeError):
            continue
        if (contents["meta"]["lab"], contents["meta"]["profile"]) == (lab, profile):
            return contents
    return None


def _in_last_commit(path):
    done = subprocess.run(
        ["git", "show", f"HEAD:./{relative(path)}"],
        cwd=ROOT,
        capture_output=True,
        timeout=_GIT_SECONDS,
        check=True,
    )
    return parse_results(done.stdout.decode("utf-8"), path)


def _same(before, now):
    # 1 and 1.0 and True are equal in Python, and not the same in the file.
    return type(before) is type(now) and before == now


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def _size(curve):
    return None if curve is None else f"{len(curve)} arrays"


def _shown(value):
    if isinstance(value, float):
        return f"{value:.6g}"
    return repr(value)  # a text may hold anything, and goes to somebody's terminal
