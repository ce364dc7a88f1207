"""The proof that two languages of a lab are one code.

The syntax trees of two notebooks are walked in lockstep. They must be the same, but for strings: a
string may differ where the catalog holds exactly that pair, and an f-string keeps its fields.
Comments are in no tree. How texts are found and written in plays no part here: this is the
independent check of that.
"""

import ast
import inspect
from collections import Counter

from course_build.source import SETUP_ID


def parity_faults(english, other, translations, language):
    """What in two notebooks is not the same code.

    Parameters
    ----------
    english, other : nbformat notebooks
    translations : dict
        The catalog: English to the other language.
    language : str
        The other's name, which its set-up cell says where the English one says "en".

    Returns
    -------
    list of (str, str)
        The id of the cell, and what differs.
    """
    shapes = [[(c.id, c.cell_type, dict(c.metadata)) for c in n.cells] for n in (english, other)]
    if shapes[0] != shapes[1]:
        odd = next((a or b for a, b in _pairs(*shapes) if a != b), None)
        return [(odd[0], "the cells differ in their order, ids, kinds or tags")]
    catalog = set(translations.items())
    faults = []
    for one, two in zip(english.cells, other.cells, strict=True):
        if one.cell_type == "code":
            allowed = catalog | {("en", language)} if one.id == SETUP_ID else catalog
            faults += [(one.id, fault) for fault in code_faults(one.source, two.source, allowed)]
    return faults


def code_faults(english, other, catalog):
    """What in two pieces of code is not the same, given the (English, translation) pairs."""
    try:
        trees = [ast.parse(code) for code in (english, other)]
    except SyntaxError as error:
        return [f"line {error.lineno} is not Python: {error.msg}"]
    return list(_differences(*trees, _Pairs(catalog)))


class _Pairs:
    """The pairs of a catalog, as strings and as f-strings with their fields masked."""

    def __init__(self, catalog):
        self.plain = set(catalog)
        self.masked = {(_masked(one), _masked(two)) for one, two in catalog}


def _differences(one, two, pairs, docstring=False):
    """Yield where two nodes differ."""
    if type(one) is not type(two):
        yield f"line {_line(two)}: `{_shown(two)}` stands where English has `{_shown(one)}`"
    elif isinstance(one, ast.JoinedStr):
        texts = _template(one), _template(two)
        if texts[0] != texts[1] and texts not in pairs.masked:
            yield f"line {_line(two)}: `{_shown(two)}` is no translation of `{_shown(one)}`"
        if _fields(one) != _fields(two):
            yield f"line {_line(two)}: the fields of `{_shown(two)}` and `{_shown(one)}` differ"
    elif isinstance(one, ast.Constant):
        same = type(one.value) is type(two.value) and one.value == two.value
        if not same and not _is_pair(one.value, two.value, pairs, docstring):
            yield f"line {_line(two)}: `{_shown(two)}` stands where English has `{_shown(one)}`"
    else:
        documented = isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for name in one._fields:
            values = [_as_list(getattr(node, name, None)) for node in (one, two)]
            if len(values[0]) != len(values[1]):
                yield f"line {_line(two)}: `{_shown(two)}` and `{_shown(one)}` differ in length"
                continue
            for number, (a, b) in enumerate(zip(*values, strict=True)):
                if isinstance(a, ast.AST) and isinstance(b, ast.AST):
                    is_docstring = documented and name == "body" and number == 0
                    carry = is_docstring or (docstring and isinstance(one, ast.Expr))
                    yield from _differences(a, b, pairs, carry)
                elif a != b:
                    yield f"line {_line(two)}: `{b}` stands where English has `{a}`"


def _is_pair(one, two, pairs, docstring):
    if not isinstance(one, str) or not isinstance(two, str):
        return False
    if docstring:
        one, two = inspect.cleandoc(one), inspect.cleandoc(two)
    return one == two or (one, two) in pairs.plain


def _template(joined):
    """The text of an f-string with a mark for each field."""
    return "".join(part.value if isinstance(part, ast.Constant) else "\0" for part in joined.values)


def _fields(joined):
    return Counter(ast.dump(part) for part in joined.values if not isinstance(part, ast.Constant))


def _masked(template):
    """The same for a text of the catalog, read as an f-string."""
    text = ""
    depth = 0
    at = 0
    while at < len(template):
        character = template[at]
        if depth == 0 and template[at : at + 2] in ("{{", "}}"):
            text += character
            at += 1
        elif character == "{":
            text += "\0" * (depth == 0)
            depth += 1
        elif character == "}":
            depth -= 1
        elif depth == 0:
            text += character
        at += 1
    return text


def _pairs(one, two):
    longest = max(len(one), len(two))
    return zip(*(items + [None] * (longest - len(items)) for items in (one, two)), strict=True)


def _as_list(value):
    return value if isinstance(value, list) else [value]


def _line(node):
    return getattr(node, "lineno", 1)


def _shown(node):
    text = ast.unparse(node) if isinstance(node, ast.AST) else str(node)
    return text if len(text) <= 60 else text[:57] + "..."
