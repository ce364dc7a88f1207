"""Watch a process and all that it started, from outside, and end them.

The system's own limits do not fit here. That on the address space (``RLIMIT_AS``) stops PyTorch,
which reserves far more than it uses; that on the resident set does nothing on Linux; and each
holds for one process, where a notebook may start many. Control groups need rights that a teacher
does not have everywhere. So the memory of the whole tree is summed up several times a second: on
Linux as proportional set size, in which a page that several processes share counts once, and
elsewhere as resident set size.
"""

import contextlib
import errno
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import psutil

_PSS = re.compile(rb"^Pss:\s+(\d+) kB", re.MULTILINE)
_MOST_FILES = 20_000
_DELETE_SECONDS = 60
_KILL_SECONDS = 5


class ProcessTree:
    """A process and everything that it started.

    Parameters
    ----------
    pid : int
        The leader of a session of its own.
    """

    def __init__(self, pid):
        self._leader = psutil.Process(pid)
        # One that gave itself another parent is still known if it was seen before.
        self._seen = {self._leader}

    def processes(self):
        """Return how many processes there are now: quickly, for they may become many."""
        self._look()
        return len(self._seen)

    def memory(self):
        """Return the bytes that they hold together; for many or large ones it takes a while."""
        self._look()
        return sum(map(_memory, self._seen))

    def _look(self):
        """Find what the tree consists of now."""
        self._seen = set(filter(_is_alive, self._seen))
        children = {}
        for process in psutil.process_iter(["ppid"]):
            children.setdefault(process.info["ppid"], []).append(process)
        waiting = list(self._seen)
        while waiting:
            new = set(children.get(waiting.pop().pid, ())) - self._seen
            self._seen |= new
            waiting += new

    def kill(self):
        """End every process of the tree at once, also those that start more meanwhile."""
        end = time.monotonic() + _KILL_SECONDS
        stopped = set()
        self._look()
        # One that is stopped starts nothing, and those that it has started are still known by it.
        while self._seen - stopped and time.monotonic() < end:
            for process in self._seen - stopped:
                with contextlib.suppress(psutil.Error):
                    process.suspend()
            stopped |= self._seen
            self._look()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._leader.pid, signal.SIGKILL)
        for process in self._seen:
            with contextlib.suppress(psutil.Error):
                process.kill()


def _is_alive(process):
    with contextlib.suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _memory(process):
    """The bytes that a process holds; 0 once it is gone."""
    with contextlib.suppress(OSError):
        match = _PSS.search(Path(f"/proc/{process.pid}/smaps_rollup").read_bytes())
        if match:
            return int(match[1]) * 1024
    with contextlib.suppress(psutil.Error):
        return process.memory_info().rss
    return 0


def disk_usage(folder):
    """Return the bytes that a folder takes up.

    Infinite when there are so many entries, or so deep ones, that counting takes long.
    """
    total, entries, waiting = 0, 0, [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listing:
                for entry in listing:
                    entries += 1
                    if entries > _MOST_FILES:
                        return float("inf")
                    with contextlib.suppress(OSError):
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError as error:  # gone meanwhile, or locked
            if error.errno == errno.ENAMETOOLONG:
                return float("inf")
    return total


def delete(folder):
    """Delete a folder, whatever a hostile program made of it: locked, or too deep for Python."""
    for command in ("chmod", "-R", "u+rwX"), ("rm", "-rf"):
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                [*command, "--", str(folder)],
                capture_output=True,
                check=False,
                timeout=_DELETE_SECONDS,
            )
