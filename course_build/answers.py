"""The reference answers of a lab's exercises, as a student may ask for them.

They are written in the lab's source alone. Here they are taken out of it, for
``course_lib.exercises`` to show: a function whole, without its docstring, which the student has
in their own language; a value as the statements that give it.
"""

import ast
import json
import re

from course_build.solutions import is_mark, solution_regions

_TAG = re.compile(r"exercise-([1-9][0-9]*)")


def answers_of(source):
    """Return the code of each reference answer of a source that has passed its checks.

    Returns
    -------
    dict of int to str
        By the exercise's number, which is in the tag ``exercise-N`` of its cell.
    """
    answers = {}
    for cell in source.cells:
        number = next((int(found[1]) for found in map(_TAG.fullmatch, cell.tags) if found), None)
        if number is None or cell.kind != "code":
            continue
        regions, _ = solution_regions(source, cell)
        pieces = dict.fromkeys(_piece(cell.text, region) for region in regions)
        if pieces:
            answers[number] = "\n\n".join(pieces)
    return answers


def as_json(answers):
    """Return reference answers as the text of their file."""
    ordered = {str(number): answers[number] for number in sorted(answers)}
    return json.dumps(ordered, ensure_ascii=False, indent=1) + "\n"


def _piece(code, region):
    """The function that a region stands in, or the region's own lines."""
    lines = code.split("\n")
    first, last, left_out = region.begin, region.end, set()
    if region.indent:
        *_, node = (node for node in ast.parse(code).body if node.lineno - 1 < region.begin)
        first, last = node.lineno - 1, max(node.end_lineno - 1, region.end)
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            left_out = set(range(docstring.lineno - 1, docstring.end_lineno))
    kept = [
        lines[number]
        for number in range(first, last + 1)
        if number not in left_out and not is_mark(lines[number])
    ]
    return "\n".join(kept).strip("\n")
