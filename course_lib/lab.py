"""One run of a lab: how large it is, what it found, and whether its claims hold.

A notebook makes one :class:`Lab` in its parameter cell and tells it the figures it finds. For a
student nothing else happens. When the course is built, the environment variable
``COURSE_RESULTS`` names a file, and the last cell writes the figures there. This is the only
file of the library that knows about the build.
"""

import contextlib
import json
import math
import os
import re
import sys
import time
from pathlib import Path

import numpy as np

from course_lib.data import files_read
from course_lib.language import _, language

PROFILES = ("smoke", "quick", "full")

_KEY = re.compile(r"[a-z][a-z0-9_]*")
_CLAIM_ID = re.compile(r"[a-z][a-z0-9-]*")


class Lab:
    """The figures, curves and claims of one run of a lab.

    Parameters
    ----------
    name : str
        The lab's name: that of its source file, without ``.py``.
    profile : str
        How large the experiment is: ``"smoke"`` (seconds, for tests), ``"quick"`` or ``"full"``
        (a GPU). The environment variable ``COURSE_PROFILE``, where set, wins over it.

    Attributes
    ----------
    name, profile, language : str

    Raises
    ------
    ValueError
        If the profile is none of the three.
    """

    def __init__(self, name, profile="quick"):
        wanted = os.environ.get("COURSE_PROFILE") or profile
        if wanted not in PROFILES:
            origin = "COURSE_PROFILE is" if os.environ.get("COURSE_PROFILE") else "profile is"
            raise ValueError(f"{origin} {wanted!r}; choose one of {', '.join(PROFILES)}")
        self.name = name
        self.profile = wanted
        self.language = language()
        self._results = {}
        self._data = {}
        self._claims = {}
        self._started = time.monotonic()

    def pick(self, *, smoke, quick, full=None):
        """Return the value for the profile in use; ``full`` is ``quick``'s unless given."""
        if self.profile == "smoke":
            return smoke
        if self.profile == "full" and full is not None:
            return full
        return quick

    def record(self, values=None, /, **named):
        """Keep figures under their names.

        ``lab.record(auc=0.61)`` and ``lab.record({"auc": 0.61})`` are the same. Values are numbers,
        texts or True/False; NumPy's scalars become Python's.

        Raises
        ------
        ValueError
            If a name is malformed or taken, or a number is NaN or infinite.
        TypeError
            If a value is none of these, such as an array.
        """
        checked = {}
        for key, value in [*(values or {}).items(), *named.items()]:
            if not isinstance(key, str) or not _KEY.fullmatch(key):
                raise ValueError(
                    f"the result name {key!r} will not do: use small letters, digits and _, "
                    "with a letter first"
                )
            if key == "minutes_total":
                raise ValueError("minutes_total is written by lab.save(); use another name")
            if key in checked or (key in self._results and not _cells_may_run_again()):
                raise ValueError(
                    f"the result {key!r} is recorded twice: give the second one its own name"
                )
            checked[key] = _plain_value(key, value)
        self._results.update(checked)

    def curve(self, name, *arrays):
        """Keep the arrays of one curve, for instance its x and its y values, under one name.

        Raises
        ------
        ValueError
            If the name is malformed or taken, no array is given, or one holds NaN or infinity.
        TypeError
            If an array is not one of numbers.
        """
        if not isinstance(name, str) or not _KEY.fullmatch(name):
            raise ValueError(
                f"the curve name {name!r} will not do: use small letters, digits and _, "
                "with a letter first"
            )
        if name in self._data and not _cells_may_run_again():
            raise ValueError(f"the curve {name!r} is kept twice: give the second one its own name")
        if not arrays:
            raise ValueError(f"the curve {name!r} has no array: pass its x and its y values")
        self._data[name] = [_plain_list(name, array) for array in arrays]

    def claim(self, id, sentence, condition):
        """Say whether a statement of the text holds in this run.

        Prints one line. A claim that does not hold is no error here: with other parameters that
        is a finding. The course build refuses to publish it.

        Parameters
        ----------
        id : str
            A name that stays the same when the sentence is reworded, such as ``"cal-beats-loss"``.
        sentence : str
            What the reader is told.
        condition : bool
            Whether it holds.

        Raises
        ------
        ValueError
            If the id is malformed or taken, or the sentence is empty.
        TypeError
            If the condition is not True or False.
        """
        if not isinstance(id, str) or not _CLAIM_ID.fullmatch(id):
            raise ValueError(
                f"the claim id {id!r} will not do: use small letters, digits and -, "
                "with a letter first"
            )
        if id in self._claims and not _cells_may_run_again():
            raise ValueError(f"the claim {id!r} is made twice: give the second one its own id")
        if not isinstance(sentence, str) or not sentence.strip():
            raise ValueError(f"the claim {id!r} has no sentence: say what the reader is told")
        if not isinstance(condition, bool | np.bool_):
            raise TypeError(
                f"the condition of the claim {id!r} is of type {type(condition).__name__}: "
                "compare numbers, so that it is True or False (for arrays, add .all() or .any())"
            )
        holds = bool(condition)
        self._claims[id] = {"id": id, "text": sentence, "holds": holds}
        if holds:
            line = _("✓ {sentence}")
        elif self.profile == "smoke":
            line = _("– Not judged at this size: {sentence}")
        else:
            line = _(
                "✗ With your settings this no longer holds: {sentence} "
                "That is a finding, not an error."
            )
        print(line.format(sentence=sentence))

    def progress(self, label):
        """Return a function to call as ``show(done, total, now)``; it keeps one line up to date.

        The line stands in the notebook's output. In the course build, and outside a notebook,
        nothing is shown. ``now``, which may be left out, says in words what is being done.

        Parameters
        ----------
        label : str
            What is counted, for instance ``"Models trained"``.
        """
        if os.environ.get("COURSE_RESULTS") or not _in_a_notebook():
            return lambda done, total, now="": None
        from IPython.display import display

        def line(text):
            return {"text/plain": text}

        handle = display(line(f"{label} ..."), raw=True, display_id=True)
        started = time.monotonic()

        def show(done, total, now=""):
            passed = time.monotonic() - started
            text = _("{label}: {done} of {total}, {passed:.0f} s")
            if done < total:
                text = _("{label}: {done} of {total}, about {left:.0f} s left")
            if now:
                text += _(" ({now})")
            left = passed / done * (total - done)
            values = {"label": label, "done": done, "total": total, "passed": passed, "left": left}
            values |= {"now": now}
            handle.update(line(text.format(**values)), raw=True)

        return show

    def keep_in(self, folder):
        """Return the folder where a lab keeps what takes long to compute, or None.

        None in the smoke profile, and in the course build, which computes everything anew.

        Parameters
        ----------
        folder : str or path
        """
        if self.profile == "smoke" or os.environ.get("COURSE_RESULTS"):
            return None
        return Path(folder).expanduser()

    def save(self):
        """End the lab: write its results where the course build wants them, or say how many.

        Raises
        ------
        OSError
            If the file that ``COURSE_RESULTS`` names cannot be written.
        """
        minutes = (time.monotonic() - self._started) / 60
        path = os.environ.get("COURSE_RESULTS")
        if path:
            _write_whole(
                Path(path),
                {
                    "results": {**self._results, "minutes_total": round(minutes, 3)},
                    "data": self._data,
                    "claims": list(self._claims.values()),
                    "run": {"data": files_read(), "device": _device()},
                },
            )
            return
        held = sum(claim["holds"] for claim in self._claims.values())
        print(
            _(
                "The lab is finished after {minutes:.1f} minutes: {results} figures recorded, "
                "{held} of {claims} statements hold."
            ).format(
                minutes=minutes, results=len(self._results), held=held, claims=len(self._claims)
            )
        )


def _device():
    """Return the name of the GPU, where this run used one, or "cpu"."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return torch.cuda.get_device_name()
    return "cpu"


def _cells_may_run_again():
    """Tell whether a person runs the cells: then the last run of a cell counts.

    In the build and in a plain run of the source every cell runs once, and a name that comes up
    twice is a mistake of the author.
    """
    return not os.environ.get("COURSE_RESULTS") and _in_a_notebook()


def _in_a_notebook():
    """Tell whether IPython runs this code."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def _plain_value(key, value):
    """Return a value as Python's int, float, bool or str."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(
            f"the result {key!r} is {value}, which a results file cannot hold: "
            "leave the key out, or record why there is no number"
        )
    if not isinstance(value, bool | int | float | str):
        raise TypeError(
            f"the result {key!r} is of type {type(value).__name__}: record a number, a text or "
            "True/False (take .item() of a tensor; an array goes to lab.curve)"
        )
    return value


def _plain_list(name, array):
    """Return an array of finite numbers as nested lists."""
    try:
        values = np.asarray(array)
    except (ValueError, RuntimeError) as error:  # rows of several lengths, a tensor with a gradient
        raise TypeError(f"the curve {name!r} got no array of numbers: {error}") from error
    if values.ndim == 0 or values.dtype.kind not in "biuf":
        raise TypeError(
            f"the curve {name!r} got {type(array).__name__} with values of type {values.dtype}: "
            "pass lists or arrays of numbers"
        )
    if not np.isfinite(values).all():
        raise ValueError(
            f"the curve {name!r} holds NaN or infinity, which a results file cannot: "
            "leave those points out"
        )
    return values.tolist()


def _write_whole(path, contents):
    """Write JSON under a temporary name, then give it its own: a reader never sees half of it."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            json.dump(contents, file, ensure_ascii=False, allow_nan=False)
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise OSError(f"the results cannot be written to {path}: {error.strerror}") from error
