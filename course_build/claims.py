"""Claims: what the prose says of the numbers, as something that runs.

``lab.claim("id", "The sentence.", condition)``. The id is a literal of its own in the lab, so that
a build can name the claim that failed; the sentence is a literal, so that it can be translated;
the condition is computed, so that it can fail.
"""

import ast
import builtins
import re

_ID = re.compile(r"[a-z0-9-]{1,64}")
_FORM = 'write lab.claim("its-id", "The sentence.", condition)'


def claim_problems(source):
    """Yield what is wrong with the claims of a source."""
    taken = {}
    for cell in source.cells:
        if cell.kind != "code":
            continue
        for call in ast.walk(ast.parse(cell.text)):
            if _is_claim(call):
                for message in _faults(call, taken):
                    yield source.problem(cell, message, offset=call.lineno - 1)
                if call.args and _text(call.args[0]):
                    taken.setdefault(_text(call.args[0]), cell.line + call.lineno - 1)


def _is_claim(node):
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "claim"
    )


def _faults(call, taken):
    if len(call.args) != 3 or call.keywords or any(isinstance(a, ast.Starred) for a in call.args):
        yield f"a claim has three arguments, without names: {_FORM}"
        return
    claim_id, sentence, condition = call.args
    name = _text(claim_id)
    if name is None or not _ID.fullmatch(name):
        yield f"a claim's id is a literal text of a-z, 0-9 and -: {_FORM}"
    elif name in taken:
        yield f'the claim "{name}" is made already at line {taken[name]}: choose another id'
    if not (_text(sentence) or "").strip():
        yield f"a claim's sentence is a literal text, neither empty nor computed: {_FORM}"
    if not _can_fail(condition):
        yield f"`{ast.unparse(condition)}` is the same whatever the numbers are: {_FORM}"


def _text(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _can_fail(condition):
    """Whether a condition depends on anything: a name, and no constant that decides by itself."""
    nodes = list(ast.walk(condition))
    constant = any(
        isinstance(node, ast.BoolOp) and any(isinstance(v, ast.Constant) for v in node.values)
        for node in nodes
    )
    same = any(
        isinstance(node, ast.Compare)
        and len(node.comparators) == 1
        and ast.dump(node.left) == ast.dump(node.comparators[0])
        for node in nodes
    )
    names = {node.id for node in nodes if isinstance(node, ast.Name)} - set(dir(builtins))
    return bool(names) and not constant and not same
