"""The course's own check calls, put between the cells of a handed-in notebook.

What the calls say is taken from the lab's source, never from the handed-in notebook: a student
may have changed, doubled or deleted its check cells. Each call stands behind the last of the
cells that belong to its exercise, which are known by their ids and tags, and by defining what is
checked; where none of them is left, at the end.
"""

import ast
import re
from dataclasses import asdict, dataclass

from nbformat import v4

# What a trusted call is made on; the student's cells know nothing of it.
TRUSTED = "__course_checks__"

_TAG = "trusted-check"
_LAB = re.compile(r"""^[^#\n]*\bLab\(\s*(?:name\s*=\s*)?(['"])([^'"\n]*)\1""", re.MULTILINE)


@dataclass(frozen=True)
class Check:
    """A check call of a lab.

    Attributes
    ----------
    number : int
        Of the exercise.
    name : str
        What is checked, such as ``clip_rows``.
    call : str
        Its code, on ``TRUSTED``.
    places : tuple of str
        The ids of the cells after which it can stand: the exercise's and the check's own.
    """

    number: int
    name: str
    call: str
    places: tuple

    def as_data(self):
        """Return it as JSON holds it."""
        return asdict(self)

    @classmethod
    def from_data(cls, data):
        """Return the check that ``as_data`` gave."""
        return cls(**{**data, "places": tuple(data["places"])})


def checks_of(source):
    """Return the check calls of a lab, by the numbers of the exercises.

    Parameters
    ----------
    source : Source
    """
    found = {}
    for cell in source.cells:
        for number, call in _check_calls(cell):
            tagged = [own.id for own in source.cells if f"exercise-{number}" in own.tags]
            name = ast.unparse(call.args[1]) if len(call.args) > 1 else ""
            call.func.value = ast.Name(TRUSTED)
            check = Check(number, name, ast.unparse(call), (*tagged, cell.id))
            found.setdefault(number, check)
    return [found[number] for number in sorted(found)]


def _check_calls(cell):
    """Yield (number, call) for each ``ex.check(number, ...)`` in a cell of the source."""
    if cell.kind != "code":
        return
    for node in ast.walk(ast.parse(cell.text)):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="ex"), attr="check"),
                args=[ast.Constant(value=int(number)), *_],
            ):
                yield number, node


def lab_of(notebook):
    """Return the name of the lab that a notebook says it is, or None.

    It says so in its ``Lab("...")``.
    """
    for cell in notebook.cells:
        match = _LAB.search(cell.source) if cell.cell_type == "code" else None
        if match:
            return match[2]
    return None


def with_trusted_checks(cells, lab, checks, path):
    """Return a notebook's cells with the checks between them, and what they need above.

    Parameters
    ----------
    cells : list of cells
        Each with its id and its tags in its metadata.
    lab : str
    checks : list of Check
    path : str
        The file that the outcomes go to.
    """
    load = (
        "__import__('course_build.handed_in.kernel_side', fromlist=['load'])"
        f".load({lab!r}, {path!r})"
    )
    behind = {}
    for check in checks:
        places = [n for n, cell in enumerate(cells) if _belongs(cell, check)]
        behind.setdefault(max(places, default=len(cells) - 1), []).append(check)
    result = [_trusted(load)]
    for n, cell in enumerate(cells):
        result += [cell, *(_trusted(check.call, check.number) for check in behind.get(n, []))]
    return result


def exercise_of(cell):
    """Return the exercise's number of a trusted check; 0 of the cell above all, else None."""
    return cell.metadata.get(_TAG)


def _trusted(code, number=0):
    return v4.new_code_cell(code, metadata={_TAG: number})


def _belongs(cell, check):
    """Whether a cell is the exercise's or the check's own, or defines what is checked."""
    names = {cell.metadata.get("id"), *cell.metadata.get("tags", ())}
    if names & {*check.places, f"exercise-{check.number}"}:
        return True
    defines = rf"^(?:def[ \t]+{re.escape(check.name)}\b|{re.escape(check.name)}[ \t]*=(?!=))"
    return cell.cell_type == "code" and bool(re.search(defines, cell.source, re.MULTILINE))
