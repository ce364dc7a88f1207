"""What ``course_lib`` itself says: every text that its files hand to ``_``, as messages.

The texts are found in the syntax trees: the well-known extractors read tokens, and before Python
3.12 there are none inside an f-string, where ``f"{_('attack'):<28}"`` has one.
"""

import ast

import polib

from course_build.catalogs import Message
from course_build.display_text import split_template
from course_build.problems import Problem, refuse


def library_messages(folder):
    """The texts of all Python files in and below a folder, each once, in the files' order.

    A message's "cells" are the files that it stands in; its kind is ``template`` if it has
    ``{fields}``, else ``text``.

    Raises
    ------
    AuthoringError
        If ``_`` is given anything but one literal text: it would be shown untranslated.
    """
    found, problems = {}, []
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        calls = [node for node in ast.walk(tree) if _is_lookup(node)]
        for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
            try:
                text, kind = _text_of(call)
            except ValueError as error:
                problems.append(Problem(path, call.lineno, f"`{ast.unparse(call)}`: {error}"))
                continue
            message = found.setdefault(text, Message(text, [], []))
            for seen, item in ((message.cells, name), (message.kinds, kind)):
                if item not in seen:
                    seen.append(item)
    refuse(problems)
    return list(found.values())


def compiled(translations, language):
    """The translations as the bytes of a file that ``gettext`` reads, the same on every day."""
    binary = polib.POFile()
    binary.metadata = {"Content-Type": "text/plain; charset=UTF-8", "Language": language}
    for text, translation in translations.items():
        binary.append(polib.POEntry(msgid=text, msgstr=translation))
    return binary.to_binary()


def _is_lookup(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_"


def _text_of(call):
    """The text of a call of ``_`` and its kind; ``ValueError`` says what is wrong with it."""
    match call:
        case ast.Call(args=[ast.Constant(value=str(text))], keywords=[]):
            if not text:
                raise ValueError("the empty text has no translation")
            return text, "template" if len(split_template(text)) > 1 else "text"
    raise ValueError(
        "only a text as it stands can be translated: hand `_` one literal, and fill in its "
        'fields afterwards, as in _("{n} models").format(n=n)'
    )
