"""What is loaded into the kernel of a handed-in notebook before its first cell.

The course is imported here from where it belongs, so that no file and no cell of the student's
can stand in its place by name. It is the student's process all the same: code that is written to
deceive can reach everything in it.
"""

import builtins
import contextlib
import io
import os
import sys
from pathlib import Path

from course_lib.exercises import Exercises
from course_lib.lab import Lab

_ROOT = Path(__file__).resolve().parent.parent.parent


class _TrustedChecks:
    """The checks of a lab, whose outcomes go to a file; the student's own calls write nowhere."""

    def __init__(self, exercises, path):
        self._exercises = exercises
        self._path = path

    def check(self, number, value, **extra):
        """Check an exercise, as ``Exercises.check`` does, and print nothing."""
        os.environ["COURSE_CHECKS"] = self._path
        try:
            # The student may have closed or replaced the stream.
            with contextlib.redirect_stdout(io.StringIO()):
                self._exercises.check(number, value, **extra)
        finally:
            del os.environ["COURSE_CHECKS"]


def load(lab, path):
    """Make the checks of a lab known to the trusted cells, which ``%reset`` shall not take away.

    Parameters
    ----------
    lab : str
    path : str
        The file that the outcomes go to.
    """
    sys.path.insert(0, str(_ROOT))
    # The folder would be the teacher's, and what one student's code puts there another's would use.
    Lab.keep_in = lambda lab, folder: None
    builtins.__course_checks__ = _TrustedChecks(Exercises(Lab(lab)), path)
