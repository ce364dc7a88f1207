"""Which results this copy of the course has computed itself.

The results of the reference run come with the course. Whoever clones it and asks for results wants
them computed, once, on their own machine; the second time there is nothing to do. So a checksum of
every results file that was written here is kept beside the locks.
"""

import contextlib
import hashlib
import os
from pathlib import Path


class ComputedHere:
    """The note on one results file.

    Parameters
    ----------
    path : path
        The results file.
    directory : path
        Where this tree keeps its notes; made when it is missing.
    """

    def __init__(self, path, directory):
        self._path = Path(path).resolve()
        place = hashlib.sha256(os.fsencode(self._path.parent)).hexdigest()[:12]
        self._note = Path(directory) / f"{self._path.stem}-{place}.sha256"

    def holds(self):
        """Return whether the file, as it is, was written by a build of this copy."""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            return self._note.read_text(encoding="utf-8").strip() == self._digest()
        return False

    def remember(self):
        """Note the file as it is now. A note that cannot be kept only costs another run."""
        with contextlib.suppress(OSError):
            self._note.parent.mkdir(parents=True, exist_ok=True)
            self._note.write_text(f"{self._digest()}\n", encoding="utf-8", newline="\n")

    def _digest(self):
        return hashlib.sha256(self._path.read_bytes()).hexdigest()
