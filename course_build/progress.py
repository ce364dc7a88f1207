"""What is seen while labs run: lines that are drawn again on a terminal, plain ones elsewhere."""

import os
import shutil

from course_build.lab_build import printable

# So that a log shows signs of life, and no more than that.
_PLAIN_SECONDS = 60


class Progress:
    """Shows how far the running labs are.

    Parameters
    ----------
    stream : text file
        A terminal gets one line a lab, which is drawn again; anything else a line for each
        section that is reached, and one a minute.
    """

    def __init__(self, stream):
        self._stream = stream
        self._redraws = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._drawn = 0
        self._said = {}

    def show(self, builds):
        """Show the labs that run now."""
        if self._redraws:
            width = shutil.get_terminal_size().columns - 1
            self._draw([status(build)[:width] for build in builds])
            return
        for build in builds:
            self._say(build)

    def note(self, text):
        """Print a text of its own, above the labs that run."""
        self._draw([])
        print(text, file=self._stream, flush=True)

    def close(self):
        """Leave the stream as a line that can be written on."""
        self._draw([])

    def _draw(self, lines):
        """Put the lines where those of the last time were."""
        up = f"\x1b[{self._drawn - 1}A" if self._drawn > 1 else ""
        erase = f"\r{up}\x1b[J" if self._drawn else ""
        if erase or lines:
            print(erase + "\n".join(lines), end="", file=self._stream, flush=True)
        self._drawn = len(lines)

    def _say(self, build):
        position = build.execution.position if build.execution else None
        place = build.waits_for, position and position.section
        last_place, last_time = self._said.get(build.lab, (None, 0.0))
        if place != last_place or build.elapsed - last_time >= _PLAIN_SECONDS:
            self._said[build.lab] = place, build.elapsed
            print(status(build), file=self._stream, flush=True)


def status(build):
    """Return one line on a build that runs: lab, time, cell, section."""
    if build.waits_for is not None:
        return (
            f"{build.lab}  {clock(build.elapsed)}  another build of it runs "
            f"(process {build.waits_for}): waiting for its end"
        )
    time = clock(build.elapsed)
    if build.expected is not None and build.elapsed <= build.expected:
        time += f" of about {clock(build.expected)}"
    elif build.expected is not None:
        time += f" (last time {clock(build.expected)})"
    position = build.execution.position if build.execution else None
    if position is None:
        return f"{build.lab}  {time}  starting the kernel"
    section = position.section or position.first_line
    return printable(
        f"{build.lab}  {time}  cell {position.number} of {build.execution.total}  {section}"
    )


def clock(seconds):
    """Return seconds as minutes:seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
