"""One handed-in notebook on its way to its rows.

A ``HandedInRun`` never blocks and never raises for a fault of its notebook: it is started, polled
until it has ``rows``, and can be stopped. So several go on side by side in one thread.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from course_build.execution import Position
from course_build.handed_in.files import NotANotebookError, read_notebook, read_plain_file
from course_build.handed_in.rows import read_event, rows_of_run, whole_file
from course_build.handed_in.sandbox import Sandbox, environment
from course_build.handed_in.watch import ProcessTree, delete, disk_usage

# A lab starts a handful; 200 students' processes at once would bring a machine down.
MOST_PROCESSES = 200
LARGEST_FOLDER = 2 * 2**30

# A kernel without a network is talked to through sockets, whose paths are short.
_LONGEST_FOLDER = 60

_MOST_TOLD = 8 * 2**20
_LARGEST_OUTCOMES = 4 * 2**20
_LOOK_SECONDS = 0.2
_LOOK_SHARE = 20
_MEASURE_FOLDER_SECONDS = 1.0


@dataclass(frozen=True)
class Settings:
    """What holds for all notebooks.

    Attributes
    ----------
    sandbox : Sandbox
    labs : dict
        The checks of each lab, by its name.
    profile : str
    timeout : float
        Seconds for one notebook.
    memory : int
        Bytes for one notebook, with all the processes that it starts.
    """

    sandbox: Sandbox
    labs: dict
    profile: str
    timeout: float
    memory: int


class HandedInRun:
    """The run of one handed-in notebook.

    Parameters
    ----------
    file : HandedIn
    settings : Settings

    Attributes
    ----------
    rows : list of Row, or None
        None until it is over.
    lab : str
        What a progress line calls it: the file's name.
    execution : HandedInRun or None
        Itself once it runs, for the progress line; so are the next two.
    position : Position or None
        The cell that runs.
    total : int
        The number of code cells.
    """

    waits_for = None  # these two say to a progress line that there is nothing to tell
    expected = None

    def __init__(self, file, settings):
        self.file = file
        self.lab = file.name
        self.settings = settings
        self.rows = None
        self.execution = None
        self.position = None
        self.total = 0
        self._began = time.monotonic()
        self._next_look = self._next_memory = self._measured = 0.0
        self._folder = None
        self._process = None
        self._tree = None
        self._told = b""
        self._told_bytes = 0
        self._events = []
        self._check = None

    @property
    def elapsed(self):
        """The seconds since it was started."""
        return time.monotonic() - self._began

    def start(self):
        """Begin; a file that is no notebook has its row at once."""
        self._began = time.monotonic()
        try:
            contents = read_notebook(self.file.path)
            self._folder = _own_folder()
            self._start_worker(contents)
        except NotANotebookError as error:
            self._end_as(f"The file {error}.")
        except OSError as error:  # a full disk where temporary files go, for instance
            self._end_as(f"The run could not be started: {error.strerror or error}.")

    def poll(self):
        """Do what can be done without waiting; return whether there are rows."""
        if self.rows is None:
            ended = self._process.poll() is not None
            self._listen()
            reason = self._over_a_limit()
            if reason:
                self._finish(reason)
            elif ended:
                self._finish(self._early_end())
        return self.rows is not None

    def stop(self):
        """End it in order: what was found so far stays."""
        if self.rows is None and self._process is None:
            self._end_as("The run was stopped before this notebook began.")
        elif self.rows is None:
            self._listen()
            self._finish(f"The run was stopped{self._where()}.")

    def kill(self):
        """End it at once; nothing is kept."""
        self._clean_up()

    def _start_worker(self, contents):
        folder, settings = self._folder, self.settings
        for name in ("work", "home", "tmp"):
            (folder / name).mkdir()
        (folder / "notebook.json").write_bytes(contents)
        job = {
            "notebook": str(folder / "notebook.json"),
            "folder": str(folder),
            "checks": str(self._outcomes),
            "labs": {
                lab: [check.as_data() for check in checks] for lab, checks in settings.labs.items()
            },
            "memory": settings.memory,
        }
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8", newline="\n")
        worker = (sys.executable, "-m", "course_build.handed_in.worker", str(folder / "job.json"))
        self._process = subprocess.Popen(
            settings.sandbox.command(folder, *worker),
            cwd=folder / "work",
            env=environment(folder, settings.profile),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the teacher's process alone
        )
        os.set_blocking(self._process.stdout.fileno(), False)
        self._tree = ProcessTree(self._process.pid)
        self.execution = self

    @property
    def _outcomes(self):
        return self._folder / "outcomes.jsonl"

    def _listen(self):
        """Take what the worker has told since the last time."""
        while self._told_bytes <= _MOST_TOLD:
            piece = self._process.stdout.read(2**16)
            if not piece:
                return
            self._told_bytes += len(piece)
            *lines, self._told = (self._told + piece).split(b"\n")
            self._events += filter(None, map(read_event, lines))
            self._note_position()

    def _note_position(self):
        for event in reversed(self._events):
            if event["event"] == "cell":
                self.total = event["total"]
                self._check = event["check"]
                self.position = Position(event["number"], "", event["first_line"], event["section"])
                return

    def _over_a_limit(self):
        """Return a sentence if the notebook took too much of anything, else nothing."""
        settings, now = self.settings, time.monotonic()
        if self.elapsed > settings.timeout:
            return (
                f"The notebook ran longer than {settings.timeout:g} s (--timeout) and was "
                f"ended{self._where()}."
            )
        if self._told_bytes > _MOST_TOLD:
            return f"The notebook told more than can be read and was ended{self._where()}."
        if now < self._next_look:
            return ""
        self._next_look = now + _LOOK_SECONDS
        if self._tree.processes() > MOST_PROCESSES:
            return (
                f"The notebook started more than {MOST_PROCESSES} processes and was "
                f"ended{self._where()}."
            )
        if now >= self._next_memory:
            began = time.monotonic()
            memory = self._tree.memory()
            # Where there is much memory to sum up, it is looked at less often.
            self._next_memory = now + _LOOK_SHARE * (time.monotonic() - began)
            if memory > settings.memory:
                return (
                    f"The notebook used more than {settings.memory / 2**30:g} GiB of memory "
                    f"(--memory) and was ended{self._where()}."
                )
        if now - self._measured < _MEASURE_FOLDER_SECONDS:
            return ""
        self._measured = now
        if disk_usage(self._folder) > LARGEST_FOLDER:
            return (
                f"The notebook wrote more than {LARGEST_FOLDER / 2**30:g} GiB of files, or very "
                f"many files, and was ended{self._where()}."
            )
        return ""

    def _where(self):
        if self.position is None:
            return " before its first cell"
        if self._check:
            return f" in the check of exercise {self._check}"
        return f" in code cell {self.position.number} of {self.total}"

    def _early_end(self):
        """Return why a worker that has ended did not come to the last cell, or nothing."""
        last = self._events[-1] if self._events else {"event": "nothing"}
        if last["event"] in ("end", "refused"):
            return ""
        if last["event"] == "died":
            return (
                f"The notebook's kernel died{self._where()}: it crashed, ended itself, or was "
                "killed, as when memory runs out."
            )
        if last["event"] == "broken":
            return f"The notebook's kernel did not start: {last['reason']}."
        return (
            f"The notebook's process ended without a word{self._where()}: it was killed, or had "
            "too little memory to go on."
        )

    def _finish(self, reason):
        """Turn what is known into rows."""
        self._tree.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        refused = next((e for e in self._events if e["event"] == "refused"), None)
        lab = next((e["lab"] for e in self._events if e["event"] == "lab"), None)
        if refused:
            self._end_as(f"The file {refused['reason']}.")
        elif lab not in self.settings.labs:
            self._end_as(reason)
        else:
            checks = self.settings.labs[lab]
            outcomes = self._read_outcomes()
            self._end(rows_of_run(self.file.name, lab, checks, self._events, outcomes, reason))

    def _read_outcomes(self):
        with contextlib.suppress(OSError, NotANotebookError):
            return read_plain_file(self._outcomes, _LARGEST_OUTCOMES)
        return b""

    def _end_as(self, message):
        self._end([whole_file(self.file.name, message)])

    def _end(self, rows):
        self._clean_up()
        self.rows = rows

    def _clean_up(self):
        if self._tree is not None:
            self._tree.kill()
            self._tree = None
        if self._process is not None:
            self._process.stdout.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(10)
        if self._folder is not None:
            delete(self._folder)
            self._folder = None


def _own_folder():
    """Make a folder whose path leaves room for the names of the kernel's sockets."""
    short = "/tmp" if len(tempfile.gettempdir()) > _LONGEST_FOLDER else None
    return Path(tempfile.mkdtemp(prefix="handed-in-", dir=short)).resolve()
