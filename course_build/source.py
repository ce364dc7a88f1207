"""The source of a lab, read.

A source is an ordinary Python file in jupytext's percent format. Every cell says its id, and may
say tags; nothing else is allowed there::

    # typed numbers: 1706.06083 (the arXiv number of Madry et al.)
    # untranslated: "mean radius" (a column of the data)

    # %% [markdown] id="title"
    # # Who was in the training set?

    # %% id="train-target" tags=["exercise-2"]
    target = train(pool)

Above the first cell stand comments only. Three of them mean something, and each may be repeated:

``# typed numbers: NUMBER (why), NUMBER (why)``
    decimal numbers that prose may hold because no computation gives them: citations.
``# untranslated: "TEXT" (why), "TEXT" (why)``
    strings with a space in them that no reader sees.
``# accelerator: GPU (why)``
    the notebook asks Colab for a GPU.

The first cell is prose, has the id ``title`` and starts with the ``#`` heading. Code cells are
plain Python, without magics.
"""

import json
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import jupytext

from course_build.problems import AuthoringError, Problem, refuse

_FORMAT = {"extension": ".py", "format_name": "percent", "comment_magics": False}
_CELL = re.compile(r"#\s*%%")
_ID = re.compile(r"[a-z0-9-]{1,64}")
_DECLARATION = re.compile(r"#\s*(typed numbers|untranslated|accelerator)\s*:\s*(.*)", re.IGNORECASE)
_WORD_ENTRY = re.compile(r"([^\s,(]+)\s*\(([^)]+)\)\s*(?:,|$)\s*")
_TEXT_ENTRY = re.compile(r'"([^"]+)"\s*\(([^)]+)\)\s*(?:,|$)\s*')
# What an entry of each declaration looks like, read and shown.
_ENTRIES = {
    "typed numbers": (_WORD_ENTRY, "NUMBER (why)"),
    "untranslated": (_TEXT_ENTRY, '"the text" (why)'),
    "accelerator": (_WORD_ENTRY, "GPU (why)"),
}
# What jupytext adds by itself while it reads; it says how the file is laid out.
_LAYOUT = {"lines_to_next_cell", "cell_marker"}
# An id that the generator gives to a cell of its own.
SETUP_ID = "setup"


@dataclass(frozen=True)
class Cell:
    """One cell: its id, ``markdown`` or ``code``, its text, its tags, the line of its text."""

    id: str
    kind: str
    text: str
    tags: tuple = ()
    line: int = 1


@dataclass(frozen=True)
class Source:
    """A lab's source: its cells in order, and what its head declares, with the reasons."""

    path: Path
    cells: tuple
    typed_numbers: dict = field(default_factory=dict)
    untranslated: dict = field(default_factory=dict)
    accelerator: dict = field(default_factory=dict)

    @property
    def lab(self):
        """The lab's name: the file's, without its ending."""
        return self.path.stem

    @property
    def wants_gpu(self):
        """Whether its notebook asks Colab for a GPU."""
        return "GPU" in self.accelerator

    def problem(self, cell, message, offset=0):
        """A ``Problem`` in one of the cells, ``offset`` lines below its first."""
        return Problem(self.path, cell.line + offset, message, cell.id)


def read_source(path):
    """Read a lab's source.

    Raises
    ------
    AuthoringError
        If the file is no source as described above; it lists every fault with its line.
    """
    path = Path(path)
    try:
        # A byte-order mark and Windows line endings are the editor's business.
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise AuthoringError([Problem(path, 1, f"is no text in UTF-8: {error}")]) from None
    lines = text.split("\n")
    start = next((n for n, line in enumerate(lines) if _CELL.match(line)), None)
    if start is None:
        refuse([Problem(path, 1, 'there is no cell: a cell starts with `# %% id="its-name"`')])
    declared, problems = _read_head(path, lines[:start])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about ids, which are given below
        notebook = jupytext.reads("\n".join(lines[start:]), fmt=_FORMAT)
    cells = []
    below = start
    for number, raw in enumerate(notebook.cells, start=1):
        below, first = _locate(lines, below, raw)
        cell_id = raw.metadata.get("id", "")
        cell = Cell(
            id=cell_id if isinstance(cell_id, str) else "",
            kind=raw.cell_type,
            text=raw.source.strip("\n"),
            tags=tuple(raw.metadata.get("tags", ())),
            line=first,
        )
        cells.append(cell)
        where = f"cell {number} (`{lines[below - 1].strip()}`)"
        problems += [
            Problem(path, below, f"{where} {message}") for message in _faults(cell, raw.metadata)
        ]
    source = Source(path, tuple(cells), **declared)
    refuse([*problems, *_structure(source)])
    return source


def _read_head(path, lines):
    """What the comments above the first cell declare, and what is wrong with them."""
    declared = {"typed_numbers": {}, "untranslated": {}, "accelerator": {}}
    problems = []
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("#"):
            problems.append(
                Problem(
                    path, number, f"`{line.strip()}` stands above the first cell: move it into one"
                )
            )
        match = _DECLARATION.match(line)
        if not match:
            continue
        name = match[1].lower()
        pattern, form = _ENTRIES[name]
        entries = pattern.findall(match[2])
        if not entries or pattern.sub("", match[2]).strip():
            problems.append(
                Problem(path, number, f"cannot be read: write `# {match[1]}: {form}, {form}`")
            )
        declared[name.replace(" ", "_")].update(entries)
    for unknown in declared["accelerator"].keys() - {"GPU"}:
        problems.append(Problem(path, 1, f"the accelerator {unknown} is unknown: write GPU"))
    return declared, problems


def _locate(lines, below, raw):
    """The line numbers (from 1) of a cell's head and of its text, looking on from ``below``."""
    mark = json.dumps(raw.metadata["id"]) if "id" in raw.metadata else ""
    for number in range(below, len(lines)):
        if _CELL.match(lines[number]) and mark in lines[number]:
            quoted = "cell_marker" in raw.metadata
            return number + 1, number + 2 + quoted
    return below, below + 1


def _faults(cell, metadata):
    """What is wrong with a cell's first line and kind, as ends of a sentence."""
    if "incorrectly_encoded_metadata" in metadata:
        yield 'has a head that cannot be read: write id="its-name" tags=["a-tag"]'
        return
    unknown = sorted(set(metadata) - {"id", "tags"} - _LAYOUT)
    if unknown:
        yield f"says {', '.join(unknown)}: a cell has an id and tags, nothing else"
    if not cell.id:
        yield 'has no id: write id="its-name", so that links and translations find it'
    elif not _ID.fullmatch(cell.id):
        yield f'has the id "{cell.id}": use 1 to 64 of a-z, 0-9 and -'
    elif cell.id == SETUP_ID:
        yield f'has the id "{SETUP_ID}", which belongs to the generated set-up cell: choose another'
    if cell.kind not in ("markdown", "code"):
        yield f"is a {cell.kind} cell: cells are code or [markdown]"
    if not all(isinstance(tag, str) and _ID.fullmatch(tag) for tag in cell.tags):
        yield "has a tag that is not made of a-z, 0-9 and -"
    elif any(tag.startswith("active-") for tag in cell.tags):
        yield "has a tag that begins with active-, which makes jupytext rewrite the cell"
    if not cell.text.strip():
        yield "is empty: fill it or take it out"


def _structure(source):
    """Faults of the whole: a missing title, ids given twice, code that is not Python."""
    title = source.cells[0]
    if title.kind != "markdown" or title.id != "title" or not title.text.startswith("# "):
        yield source.problem(
            title,
            'the first cell must be `# %% [markdown] id="title"` and start with `# # Heading`',
        )
    seen = {}
    for cell in source.cells:
        if cell.id and cell.id in seen:
            yield source.problem(
                cell, f"the id is taken by the cell at line {seen[cell.id]}: choose another"
            )
        seen.setdefault(cell.id, cell.line)
        if cell.kind == "code":
            yield from compile_problems(source, cell, cell.text)


def compile_problems(source, cell, text, form=""):
    """The syntax error of a code cell's text, if it has one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, str(source.path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None) or 1
            code = (text.splitlines() or [""])[min(line, len(text.splitlines()) or 1) - 1].strip()
            magic = code.startswith(("%", "!")) or code.endswith("?")
            hint = "; sources hold no magics and no shell commands" if magic else ""
            what = getattr(error, "msg", str(error))
            yield source.problem(
                cell, f"is not Python{form}: {what}: `{code}`{hint}", offset=line - 1
            )
