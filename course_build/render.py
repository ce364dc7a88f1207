"""From a source to its notebooks.

``executed_form`` is what the results are computed with: English, solved, numbers unfilled, so
that results never depend on results. ``student_form`` is what a student opens: in a language,
with stubs for the solutions and the numbers filled in.

Both give the same bytes for the same input: cells carry their source's ids, the notebook's
metadata are fixed, and there are no outputs.
"""

import warnings
from pathlib import Path

import nbformat
from nbformat import v4

from course_build.address import read_address
from course_build.setup_cell import setup_cell
from course_build.source import Source, read_source

_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def executed_form(source, address=None):
    """The notebook that computes a lab's results, from a ``Source`` or the path of one.

    Raises
    ------
    AuthoringError
        If the source is refused.
    """
    source = source if isinstance(source, Source) else read_source(Path(source))
    title, *rest = source.cells
    return _notebook([title, setup_cell(address or read_address()), *rest])


def _notebook(cells):
    """Cells as a valid notebook of format 4.5 without outputs."""
    make = {"markdown": v4.new_markdown_cell, "code": v4.new_code_cell}
    notebook = v4.new_notebook(
        cells=[
            make[cell.kind](
                cell.text, id=cell.id, metadata={"tags": list(cell.tags)} if cell.tags else {}
            )
            for cell in cells
        ],
        metadata=_METADATA,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nbformat.validate(notebook)
    return notebook
