"""Exercises are written solved; a student gets a stub.

In a code cell::

    def ceiling(epsilon, delta, fpr):
        '''The largest TPR that (ε, δ)-DP allows at an FPR.'''
        # BEGIN SOLUTION
        return min(1.0, math.exp(epsilon) * fpr + delta)
        # STUB return None
        # END SOLUTION

The student's form has, where the region was, the comment ``# Your code here`` and what stands
behind ``# STUB``, at the indentation of the region (several ``# STUB`` lines may be indented
among themselves). Without a stub, a region inside a block becomes ``pass``. A stub runs without
error and is used by nothing but its exercise's check.
"""

import re
from dataclasses import dataclass, replace

from course_build.source import compile_problems

PLACE_FOR_CODE = "Your code here"
_BEGIN, _END, _STUB = "# BEGIN SOLUTION", "# END SOLUTION", "# STUB"
_LOOKALIKE = re.compile(r"#.*\b(BEGIN|END)\W*SOLUTION", re.IGNORECASE)
# A line with fewer characters than this, an import or the head of a block gives nothing away.
_TRIVIAL = 12


@dataclass(frozen=True)
class Region:
    """A solution in a cell: the numbers of its marks' lines (from 0), and its indentation."""

    begin: int
    end: int
    indent: str


def solution_regions(source, cell):
    """Find the solutions of a cell: a list of ``Region`` and a list of ``Problem``."""
    regions, problems = [], []
    begin = None

    def problem(number, message):
        problems.append(source.problem(cell, message, offset=number))

    lines = cell.text.split("\n")
    for number, line in enumerate(lines):
        mark = line.strip()
        if cell.kind == "markdown":
            if mark in (_BEGIN[2:], _END[2:]):
                problem(number, f"`{mark}` in prose: a solution stands in a code cell")
        elif mark == _BEGIN:
            if begin is not None:
                problem(
                    number,
                    f"a solution inside the one that begins at line {cell.line + begin}: "
                    "end that one first",
                )
            else:
                begin = number
        elif mark == _END:
            if begin is None:
                problem(number, f"`{_END}` without a `{_BEGIN}` above it")
            elif _indent(line) != _indent(lines[begin]):
                problem(number, f"is not indented as its `{_BEGIN}` at line {cell.line + begin}")
                begin = None
            else:
                regions.append(Region(begin, number, _indent(line)))
                begin = None
        elif mark.startswith(_STUB):
            if begin is None:
                problem(number, f"`{_STUB}` outside of a solution: it belongs before `{_END}`")
        elif _LOOKALIKE.match(mark):
            problem(number, f"`{mark}` is not a mark: write exactly `{_BEGIN}` and `{_END}`")
    if begin is not None:
        problem(begin, f"the solution that begins here never ends: add `{_END}`")
    return regions, problems


def stripped(source):
    """The source as a student gets it, with stubs for solutions, and what is wrong with that.

    Returns
    -------
    source : Source
    problems : list of Problem
        Marks that do not fit, a stub that is not Python, a line of a solution that still stands
        somewhere.
    """
    problems = []
    cells = []
    secrets = {}
    for cell in source.cells:
        regions, faults = solution_regions(source, cell)
        problems += faults
        lines = cell.text.split("\n")
        for region in reversed(regions):
            for number in range(region.begin + 1, region.end):
                if not lines[number].strip().startswith(_STUB):
                    secrets[_squeezed(lines[number])] = cell.line + number
            lines[region.begin : region.end + 1] = _stub(lines, region)
        cells.append(replace(cell, text="\n".join(lines)) if regions and not faults else cell)
        if regions and not faults:
            problems += compile_problems(source, cells[-1], cells[-1].text, " once it is a stub")
    student = replace(source, cells=tuple(cells))
    if not problems:
        problems = leftovers(student, secrets)
    return student, problems


def is_mark(line):
    """Whether a line of a cell is one of the marks of solutions."""
    mark = line.strip()
    return mark in (_BEGIN, _END) or mark.startswith(_STUB)


def leftovers(source, secrets):
    """The lines of the solutions that a student could read in one of the cells."""
    telling = {
        re.compile(rf"(?<!\w){re.escape(line)}(?!\w)"): at
        for line, at in secrets.items()
        if _gives_away(line)
    }
    problems = []
    for cell in source.cells:
        for number, line in enumerate(cell.text.split("\n")):
            squeezed = _squeezed(line)
            found = next((at for secret, at in telling.items() if secret.search(squeezed)), None)
            if found:
                message = (
                    f"holds a line of the solution at line {found}, `{line.strip()}`, "
                    "where a student reads it: say it otherwise"
                )
                # Below a stub, lines are no longer where the source has them.
                moved = PLACE_FOR_CODE in cell.text
                problems.append(source.problem(cell, message, offset=0 if moved else number))
    return problems


def _stub(lines, region):
    """What the student gets in a region's place."""
    inside = [line.strip() for line in lines[region.begin + 1 : region.end]]
    stub = [line[len(_STUB) :].removeprefix(" ") for line in inside if line.startswith(_STUB)]
    if not stub and region.indent:
        stub = ["pass"]
    return [region.indent + line for line in [f"# {PLACE_FOR_CODE}", *stub]]


def _gives_away(line):
    return len(line) >= _TRIVIAL and not line.startswith(("import", "from")) and line[-1] != ":"


def _squeezed(line):
    """A line without its spaces, so that its layout does not hide it."""
    return "".join(line.split())


def _indent(line):
    return line[: len(line) - len(line.lstrip())]
