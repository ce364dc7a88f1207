"""One build at a time for each results file.

The lock is the operating system's, held by the open file: when a build ends in whatever way, its
lock is gone, and a file that was left behind is no obstacle.
"""

import contextlib
import hashlib
import os
from pathlib import Path

from filelock import FileLock, Timeout


class LabLock:
    """The right to compute the results that go to one file.

    Parameters
    ----------
    path : path
        The results file.
    directory : path
        Where this tree keeps its locks; made when it is missing.
    """

    def __init__(self, path, directory):
        path = Path(path).resolve()
        place = hashlib.sha256(os.fsencode(path.parent)).hexdigest()[:12]
        self._file = Path(directory) / f"{path.stem}-{place}.lock"
        self._lock = FileLock(self._file)

    def acquire(self):
        """Take the lock if nobody holds it; return whether it was taken.

        Raises
        ------
        OSError
            If the lock's file cannot be made.
        """
        self._file.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            return False
        with contextlib.suppress(OSError):  # it only helps a person to find the other build
            self._file.write_text(f"{os.getpid()}\n", encoding="utf-8", newline="\n")
        return True

    def holder(self):
        """Return the number of the process that holds the lock, as text, or "?"."""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            text = self._file.read_text(encoding="utf-8").strip()
            if text.isdecimal():
                return text
        return "?"

    def release(self):
        """Let others have it; does nothing when it is not held."""
        self._lock.release()
