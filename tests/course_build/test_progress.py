import io
from types import SimpleNamespace

import pytest

from course_build.execution import Position
from course_build.lab_build import Outcome
from course_build.moved import Moved
from course_build.progress import Progress, clock, status
from course_build.summary import summary


class Terminal(io.StringIO):
    def isatty(self):
        return True


def lab(name="lab", elapsed=12.0, section="The attack", number=3, expected=None, waits_for=None):
    position = Position(number, "cell", "scores = 1", section) if number else None
    execution = SimpleNamespace(position=position, total=40)
    return SimpleNamespace(
        lab=name, elapsed=elapsed, expected=expected, waits_for=waits_for, execution=execution
    )


@pytest.mark.parametrize(
    ("build", "line"),
    [
        (lab(), "lab  0:12  cell 3 of 40  The attack"),
        (lab(section=""), "lab  0:12  cell 3 of 40  scores = 1"),
        (lab(section="\x1b[2J\a"), "lab  0:12  cell 3 of 40   [2J "),
        (lab(expected=75.2), "lab  0:12 of about 1:15  cell 3 of 40  The attack"),
        (lab(elapsed=80, expected=75), "lab  1:20 (last time 1:15)  cell 3 of 40  The attack"),
        (lab(number=0), "lab  0:12  starting the kernel"),
        (
            lab(waits_for="77"),
            "lab  0:12  another build of it runs (process 77): waiting for its end",
        ),
    ],
)
def test_one_line_says_where_a_lab_is(build, line):
    assert status(build) == line


def test_a_log_gets_a_line_a_section_and_one_a_minute():
    log = io.StringIO()
    progress = Progress(log)
    for elapsed in range(0, 200):
        section = "One" if elapsed < 5 else "Two"
        progress.show([lab("a", float(elapsed), section)])
    progress.close()
    times = [line.split()[1] for line in log.getvalue().splitlines()]
    assert times == ["0:00", "0:05", "1:05", "2:05", "3:05"]
    assert "\x1b" not in log.getvalue()


def screen(text):
    """What a terminal shows after a text with the few controls that are used."""
    lines, row, column = [""], 0, 0
    rest = text
    while rest:
        if rest.startswith("\r"):
            column, rest = 0, rest[1:]
        elif rest.startswith("\n"):
            row, column, rest = row + 1, 0, rest[1:]
            lines += [""] * (row + 1 - len(lines))
        elif rest.startswith("\x1b["):
            end = next(i for i, c in enumerate(rest) if i > 1 and c.isalpha())
            if rest[end] == "A":
                row -= int(rest[2:end])
            else:
                assert rest[2 : end + 1] == "J"
                lines = [*lines[:row], lines[row][:column]]
            rest = rest[end + 1 :]
        else:
            lines[row] = lines[row][:column].ljust(column) + rest[0]
            column, rest = column + 1, rest[1:]
    return lines


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    return Terminal()


def test_a_terminal_shows_one_line_a_lab_drawn_again(terminal):
    progress = Progress(terminal)
    progress.show([lab("a"), lab("b"), lab("c")])
    progress.show([lab("a", 13), lab("b", 13), lab("c", 13)])
    assert screen(terminal.getvalue()) == [
        f"{name}  0:13  cell 3 of 40  The attack" for name in "abc"
    ]
    progress.note("a: written")
    progress.show([lab("b", 14), lab("c", 14)])
    assert screen(terminal.getvalue())[0] == "a: written"
    progress.show([lab("b", 15)])
    assert screen(terminal.getvalue()) == ["a: written", "b  0:15  cell 3 of 40  The attack"]
    progress.close()
    assert screen(terminal.getvalue()) == ["a: written", ""]


def test_a_line_is_cut_where_the_terminal_ends(terminal):
    Progress(terminal).show([lab(section="A heading that is too long for it")])
    assert screen(terminal.getvalue()) == ["lab  0:12  cell 3 of 40  A heading that"]


def test_a_terminal_that_cannot_redraw_gets_plain_lines(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    progress = Progress(terminal)
    progress.show([lab()])
    progress.show([lab(elapsed=13)])
    assert terminal.getvalue() == "lab  0:12  cell 3 of 40  The attack\n"


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (59.9, "0:59"), (3601, "60:01")])
def test_a_clock(seconds, shown):
    assert clock(seconds) == shown


def test_the_summary_of_a_build():
    claims = [{"id": "a", "text": "A.", "holds": True}]
    contents = {"results": {"a": 1, "b": 2}, "data": {}, "claims": claims}
    many = [Moved(f"k{number}", 100, 101) for number in range(12)]
    outcomes = [
        Outcome("good", "written", 61.0, contents, moved=many),
        Outcome("old", "up to date", contents=contents, moved=[]),
        Outcome("tiny", "ran", 2.0, contents),
        Outcome("bad", "failed", 5.0, headline="cell 3 (x): E: e; its first line: y", kept="in z"),
        Outcome("late", "not run"),
    ]
    assert list(summary(outcomes)) == [
        "lab               time  figures  claims  moved",
        "good  written     1:01        2  1 of 1     12",
        "old   up to date              2  1 of 1      0",
        "tiny  ran         0:02        2  1 of 1",
        "bad   failed      0:05",
        "late  not run",
        "moved since the committed results:",
        *(f"  good  k{number}: 100 -> 101 (+1, 1 %)" for number in range(10)),
        "  good  and 2 more",
        "failed: bad: cell 3 (x): E: e; its first line: y; in z",
        "not run: late",
    ]
