"""From a source to its notebooks.

``executed_form`` is what the results are computed with: English, solved, numbers unfilled, so
that results never depend on results. ``student_form`` is what a student opens: in a language,
with stubs for the solutions, the numbers filled in, and a badge that opens it in Colab.

Both give the same bytes for the same input: cells carry their source's ids, the notebook's
metadata are fixed, and there are no outputs.
"""

import warnings
from dataclasses import replace
from pathlib import Path

import nbformat
from nbformat import v4

from course_build.address import read_address
from course_build.catalogs import read_catalog, translations_of
from course_build.display_text import translated
from course_build.markdown import paragraphs
from course_build.numbers import fill
from course_build.problems import refuse
from course_build.prose import prose_faults
from course_build.readme import BADGE_ALT
from course_build.setup_cell import FORM_METADATA, FORM_TITLE, as_form, setup_cell
from course_build.solutions import stripped
from course_build.source import SETUP_ID, Cell, Source, read_source
from course_build.tree import ENGLISH, SETUP_CATALOG, Tree

_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# What Colab gives a notebook that asks for a GPU, as far as one is free.
_GPU_METADATA = {"accelerator": "GPU", "colab": {"gpuType": "T4"}}
_NO_ADDRESS = (
    "This copy of the course has no address yet, so neither the badge nor the set-up cell can find "
    "it. To give it one, put the repository's address into `pyproject.toml`, under "
    "`[project.urls]`, and run `make notebooks`."
)


def executed_form(source, address=None):
    """The notebook that computes a lab's results.

    Parameters
    ----------
    source : Source, or the path of one
    address : Address, optional
        Where the set-up cell fetches the course; by default the course's own.

    Raises
    ------
    AuthoringError
        If the source is refused.
    """
    source = _read(source)
    title, *rest = source.cells
    return _notebook(source, [title, _as_form(setup_cell(address or read_address())), *rest])


def student_form(source, language=ENGLISH, results=None, translations=None, address=None):
    """The notebook that a student opens.

    Parameters
    ----------
    source : Source, or the path of one
    language : str
    results : dict, optional
        The contents of the lab's results file. Without it the numbers stay unfilled, which is
        enough to run the notebook.
    translations : dict, optional
        English texts and what stands for them; what is missing is shown in English. By default
        those of the course's catalogs.
    address : Address, optional
        Where the course is fetched from; by default the course's own.

    Raises
    ------
    AuthoringError
        If the source or one of its solutions is refused, or a number cannot be filled.
    """
    source = _read(source)
    address = address or read_address()
    if translations is None:
        translations = read_translations(Tree(), source.lab, language)
    student, problems = stripped(source)
    refuse(problems)
    title, *rest = student.cells
    cells = [_translated(c, translations) for c in (title, setup_cell(address, language), *rest)]
    cells[1] = _as_form(cells[1], translations.get(FORM_TITLE, FORM_TITLE))
    if results is not None:
        cells = [_filled(source, cell, results, language, problems) for cell in cells]
        refuse(problems)
    cells[0] = _with_badge(cells[0], source.lab, language, translations, address)
    return _notebook(source, cells)


def read_translations(tree, lab, language):
    """What the catalogs of a lab and of the set-up cell may show in a language."""
    if language == ENGLISH:
        return {}
    catalogs = [read_catalog(tree.catalog(name, language)) for name in (SETUP_CATALOG, lab)]
    return {text: shown for one in catalogs for text, shown in translations_of(one).items()}


def setup_texts(address):
    """The cells that hold what the generator itself says: the set-up cell, and around the badge."""
    return [
        Cell(SETUP_ID, "markdown", FORM_TITLE),
        setup_cell(address),
        Cell("title", "markdown", f"{BADGE_ALT}\n\n{_NO_ADDRESS}"),
    ]


def as_text(notebook):
    """A notebook as the text of its file."""
    return nbformat.writes(notebook) + "\n"


def _read(source):
    return source if isinstance(source, Source) else read_source(Path(source))


def _translated(cell, translations):
    if cell.kind == "code":
        return replace(cell, text=translated(cell.text, translations))
    pieces = paragraphs(cell.text)
    pieces[::2] = [translations.get(text, text) for text in pieces[::2]]
    return replace(cell, text="".join(pieces))


def _as_form(cell, title=FORM_TITLE):
    return replace(cell, text=as_form(cell.text, title))


def _with_badge(title, lab, language, translations, address):
    """The title cell with the Colab badge under its heading, where Colab can open the notebook."""
    badge = address.badge(Tree.notebook_path(lab, language), translations.get(BADGE_ALT, BADGE_ALT))
    heading, _, rest = title.text.partition("\n")
    above = [heading, badge] if badge else [heading]
    if address.is_placeholder:
        above.append(translations.get(_NO_ADDRESS, _NO_ADDRESS))
    return replace(title, text="\n\n".join([*above, rest.lstrip()]).rstrip())


def _filled(source, cell, results, language, problems):
    """The cell with its numbers; what is wrong with them is added to ``problems``."""
    if cell.kind == "code":
        return cell
    text, faults = fill(cell.text, results, language)
    line = next(own.line for own in source.cells if own.id == cell.id)
    # The lines of a translation are not the source's: the cell's first will do.
    as_written = any(own.text == cell.text for own in source.cells)
    for offset, message in faults or prose_faults(text):
        place = replace(cell, line=line + offset if as_written else line)
        problems.append(source.problem(place, message))
    return replace(cell, text=text)


def _notebook(source, cells):
    """Cells as a valid notebook of format 4.5 without outputs."""
    make = {"markdown": v4.new_markdown_cell, "code": v4.new_code_cell}
    notebook = v4.new_notebook(
        cells=[make[cell.kind](cell.text, id=cell.id, metadata=_metadata(cell)) for cell in cells],
        metadata={**_METADATA, **(_GPU_METADATA if source.wants_gpu else {})},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nbformat.validate(notebook)
    return notebook


def _metadata(cell):
    tags = {"tags": list(cell.tags)} if cell.tags else {}
    return {**tags, **(FORM_METADATA if cell.id == SETUP_ID else {})}
