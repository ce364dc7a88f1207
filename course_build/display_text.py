"""What a reader sees of the code: its comments, docstrings, printed text, labels, alt text.

Whether a string is shown is decided by where it stands, not by its looks: the table below is the
one list of such places. From a string the way up leads through lists, tuples, the values of dicts,
the branches of a conditional, comprehensions and ``+``, and through nothing else: an index, a
comparison or a dict's key is a name for the program, and the argument of another call is that
call's business. A string with words in it that is neither shown nor a name is reported, so that
nothing stays untranslated unseen.

Strings are found with LibCST and comments with ``tokenize``, whose positions are the same on all
Pythons, and translations are spliced in from the end.
"""

import ast
import functools
import inspect
import io
import re
import tokenize
import unicodedata
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

# Functions and methods, and which of their arguments are shown.
_EVERY = range(1000)
_SHOWN_ARGUMENTS = {
    "print": _EVERY,
    "input": [0],
    "claim": [1],
    "Markdown": [0],
    "HTML": [0],
    "title": [0],
    "suptitle": [0],
    "set_title": [0],
    "xlabel": [0],
    "ylabel": [0],
    "set_xlabel": [0],
    "set_ylabel": [0],
    "set_zlabel": [0],
    "set_label": [0],
    "xticks": [1],
    "yticks": [1],
    "set_xticks": [1],
    "set_yticks": [1],
    "set_xticklabels": [0],
    "set_yticklabels": [0],
    "legend": [0, 1],
    "text": [2],
    "figtext": [2],
    "annotate": [0],
    # course_lib.plots: what is drawn, with its labels
    "roc": [0],
    "roc_panels": [0],
    "tradeoff": [0],
    "utility": [0],
    "score_histograms": [0],
    "intervals": [0],
}
# Keyword arguments, parameters' defaults, variables and keys of dicts whose text is shown.
_SHOWN_NAME = re.compile(
    r"(?!pos_label$)(\w+_)?(label|title|caption|message|header|note)s?"
    r"|[xyz]labels?|suptitle|alt|desc|legend|references?"
)
# Errors that a cell raises are read by the student.
_ERROR = re.compile(r"\w*(Error|Exception|Warning)")

_PRAGMA = re.compile(r"#\s*(noqa|type:|fmt:|ruff:|isort:|pragma:|%%)")
_LETTER = re.compile(r"[^\W\d_]")
_FORMULA = re.compile(r"\$[^$]+\$")
_WIDTH = 88


@dataclass(frozen=True)
class Text:
    """A text in a code cell.

    ``message`` is what a translator sees: for an f-string its text with the fields as they are
    written and with braces doubled. ``start`` and ``end`` are (line from 1, column from 0).
    """

    kind: str  # "comment", "docstring", "text" or "f-string"
    message: str
    start: tuple
    end: tuple
    quote: str = ""
    raw: bool = False
    spread: bool = False  # over several lines, as a concatenation or an open docstring


def shown_texts(code):
    """The texts of a code cell that a reader sees, in the order of the code."""
    return [text for text in _texts(code)[0] if has_words(text.message, text.kind)]


def display_faults(code, untranslated=()):
    """What cannot be translated in a code cell: a list of (line from 0, message)."""
    _, faults, hidden = _texts(code)
    faults = list(faults)
    for line, text in hidden:
        if text not in untranslated:
            faults.append(
                (
                    line,
                    f'"{text}" has words, but stands where no translation reaches: put it into a '
                    "print, a label=, a title= or another place that is shown, or declare it at "
                    f'the top of the source: # untranslated: "{text}" (why)',
                )
            )
    return sorted(faults)


def translated(code, translations):
    """The code with each shown text that ``translations`` holds in its place."""
    starts = [0]
    for line in code.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for text in reversed(shown_texts(code)):
        translation = translations.get(text.message)
        if translation and translation != text.message:
            start = starts[text.start[0] - 1] + text.start[1]
            end = starts[text.end[0] - 1] + text.end[1]
            code = code[:start] + _written(text, translation) + code[end:]
    return code


def split_template(template):
    """Split the message of an f-string: even items are its text (braces single), odd its fields.

    Raises
    ------
    ValueError
        If a brace is left open or closed too often.
    """
    pieces = [""]
    at = 0
    while at < len(template):
        if template[at : at + 2] in ("{{", "}}"):
            pieces[-1] += template[at]
            at += 2
        elif template[at] == "{":
            end = _end_of_field(template, at)
            pieces += [template[at:end], ""]
            at = end
        elif template[at] == "}":
            raise ValueError("a `}` closes nothing; as a character it is written `}}`")
        else:
            pieces[-1] += template[at]
            at += 1
    return pieces


def has_words(message, kind):
    """Whether there is something to translate outside of fields and formulas."""
    if kind == "f-string":
        message = " ".join(split_template(message)[::2])
    return bool(_LETTER.search(_FORMULA.sub(" ", message)))


def _end_of_field(template, start):
    depth = 0
    quote = ""
    for at in range(start, len(template)):
        character = template[at]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth == 0:
                return at + 1
    raise ValueError("a `{` is never closed; as a character it is written `{{`")


@functools.lru_cache(maxsize=1024)  # each language asks the same of the same cells
def _texts(code):
    """All shown texts in order, the faults in them, and the strings with words that nobody sees."""
    finder = _Strings()
    MetadataWrapper(cst.parse_module(code), unsafe_skip_copy=True).visit(finder)
    texts = finder.texts
    for comment in _comments(code):
        if any(text.start < comment.start < text.end for text in finder.texts):
            message = f"the comment `{comment.message}` stands within a text: move it above"
            finder.faults.append((comment.start[0] - 1, message))
        else:
            texts = [*texts, comment]
    texts = sorted(texts, key=lambda text: text.start)
    return tuple(texts), tuple(finder.faults), tuple(finder.hidden)


def _comments(code):
    """The comments: one text for consecutive lines of their own, one for each behind code."""
    lines = code.split("\n")
    block = []

    def ended():
        if block:
            (first, column), (last, _) = block[0], block[-1]
            words = [lines[number][column:] for number, _ in block]
            message = "\n".join(re.sub(r"^#+ ?", "", line) for line in words).rstrip()
            yield Text("comment", message, (first + 1, column), (last + 1, len(lines[last])))
            block.clear()

    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type != tokenize.COMMENT or _PRAGMA.match(token.string):
            continue
        number, column = token.start[0] - 1, token.start[1]
        own_line = not lines[number][:column].strip()
        if not own_line or (block and block[-1] != (number - 1, column)):
            yield from ended()
        block.append((number, column))
        if not own_line:
            yield from ended()
    yield from ended()


class _Strings(cst.CSTVisitor):
    """Collects the strings of a cell by what becomes of them."""

    METADATA_DEPENDENCIES = (PositionProvider, ParentNodeProvider)

    def __init__(self):
        self.texts = []
        self.faults = []
        self.hidden = []
        self.depth = 0  # in how many fields of f-strings we are

    def visit_Module(self, node):
        self.module = node

    def visit_ConcatenatedString(self, node):
        self._string(node)
        # Its parts are done; only the fields in them can hold further strings.
        for part in _parts(node):
            if isinstance(part, cst.FormattedString):
                for piece in part.parts:
                    piece.visit(self)
        return False

    def visit_FormattedStringExpression(self, node):
        self.depth += 1

    def leave_FormattedStringExpression(self, original_node):
        self.depth -= 1

    def visit_FormattedString(self, node):
        self._string(node)

    def visit_SimpleString(self, node):
        if "b" not in node.prefix:
            self._string(node)

    def _string(self, node):
        text = self._text(node)
        line = text.start[0] - 1
        try:
            words = has_words(text.message, text.kind)
        except ValueError as error:
            words = True
            self.faults.append((line, f"`{text.message}`: {error}"))
            return
        place = self._place(node)
        if place == "shown" and self.depth:
            place = "field"
        if place == "shown":
            self.faults += [(line, message) for message in self._untranslatable(node, text)]
            self.texts.append(text)
        elif place == "docstring":
            self.texts.append(self._docstring(node, text))
        elif place == "formatted" and words:
            self.faults.append(
                (line, f"`{text.message}` is formatted by % or .format: write it as an f-string")
            )
        elif place == "field" and words:
            self.faults.append(
                (
                    line,
                    f"the words `{text.message}` stand inside a field of an f-string, where no "
                    "translation reaches: choose between whole f-strings instead",
                )
            )
        elif place == "hidden" and words and re.search(r"\S\s+\S", text.message):
            self.hidden.append((line, text.message))

    def _untranslatable(self, node, text):
        source = self.module.code_for_node(node)
        if r"\N{" in source and not text.raw:
            yield f"`{source}`: write the character itself instead of \\N{{...}}"
        fields = [field for part in _parts(node) for field in _fields(part)]
        if any(field.equal for field in fields):
            yield f"`{source}`: write the name out instead of `=` in a field"
        elif text.kind == "f-string":
            written = [self.module.code_for_node(field) for field in fields]
            if split_template(text.message)[1::2] != written:
                yield f"`{source}`: a field is too intricate to be found again: compute it before"

    def _text(self, node):
        """A string as a ``Text``, wherever it stands."""
        parts = _parts(node)
        template = any(isinstance(part, cst.FormattedString) for part in parts)
        message = ""
        for part in parts:
            if isinstance(part, cst.FormattedString):
                message += "".join(self._piece(part, piece) for piece in part.parts)
            elif template:
                message += part.evaluated_value.replace("{", "{{").replace("}", "}}")
            else:
                message += part.evaluated_value
        position = self.get_metadata(PositionProvider, node)
        return Text(
            "f-string" if template else "text",
            message,
            (position.start.line, position.start.column),
            (position.end.line, position.end.column),
            quote=parts[0].quote,
            raw=all("r" in part.prefix.lower() for part in parts),
            # Without brackets around it, a text over lines is held together by backslashes.
            spread=len(parts) > 1
            and position.start.line < position.end.line
            and isinstance(node.whitespace_between, cst.ParenthesizedWhitespace),
        )

    def _piece(self, string, piece):
        if isinstance(piece, cst.FormattedStringExpression):
            return self.module.code_for_node(piece)
        prefix = "r" if "r" in string.prefix.lower() else ""
        # The spaces keep what the piece begins and ends with apart from the quotes.
        return ast.literal_eval(f"{prefix}{string.quote} {piece.value} {string.quote}")[1:-1]

    def _docstring(self, node, text):
        return Text(
            "docstring",
            inspect.cleandoc(text.message),
            text.start,
            text.end,
            quote=text.quote,
            raw=text.raw,
            spread=bool(re.search(r"\n\s*$", text.message)),
        )

    def _place(self, node):
        """What becomes of a string: where the way up from it ends.

        "shown", "docstring", "name" (an index, a key, something compared), "field" and
        "formatted" (shown, but not translatable), or "hidden".
        """
        formatted = False
        while True:
            parent = self.get_metadata(ParentNodeProvider, node)
            end = self._end_of_way(parent, node)
            if end == "shown" and formatted:
                return "formatted"
            if end == "field":
                # What is inside a field is seen if the f-string is.
                string = self.get_metadata(ParentNodeProvider, parent)
                outer = self.get_metadata(ParentNodeProvider, string)
                while isinstance(outer, cst.ConcatenatedString):
                    string, outer = outer, self.get_metadata(ParentNodeProvider, outer)
                return "field" if self._place(string) in ("shown", "field") else "hidden"
            if end:
                return end
            if isinstance(parent, cst.BinaryOperation) and isinstance(parent.operator, cst.Modulo):
                formatted = True
            if isinstance(parent, cst.Attribute):  # "...".format
                formatted = True
                parent = self.get_metadata(ParentNodeProvider, parent)
            node = parent

    def _end_of_way(self, parent, node):
        """Where the way from a node ends at its parent, or None if it goes on."""
        match parent:
            case cst.Arg():
                return "shown" if self._argument_is_shown(parent) else "hidden"
            case cst.Assign():
                names = [target.target for target in parent.targets]
                return "shown" if any(map(_is_shown_name, names)) else "hidden"
            case cst.AnnAssign() | cst.NamedExpr():
                return "shown" if _is_shown_name(parent.target) else "hidden"
            case cst.Param():
                return "shown" if _is_shown_name(parent.name) else "hidden"
            case cst.Assert():
                return "shown"
            case cst.FormattedStringExpression():
                return "field"
            case cst.Index() | cst.Comparison() | cst.ComparisonTarget():
                return "name"
            case cst.DictElement():
                if node is parent.key:
                    return "name"
                return "shown" if _is_shown_key(parent.key) else None
            case cst.IfExp():
                return "name" if node is parent.test else None
            case cst.ListComp() | cst.GeneratorExp() | cst.SetComp():
                return None if node is parent.elt else "hidden"
            case cst.DictComp():
                return None if node is parent.value else "name"
            case cst.BinaryOperation():
                formats = isinstance(parent.operator, cst.Modulo) and node is parent.left
                return None if formats or isinstance(parent.operator, cst.Add) else "hidden"
            case cst.Attribute():
                above = self.get_metadata(ParentNodeProvider, parent)
                formats = parent.attr.value == "format" and isinstance(above, cst.Call)
                return None if formats and above.func is parent else "hidden"
            case cst.Expr():
                return "docstring" if self._is_docstring(parent) else "hidden"
            case (
                cst.Element()
                | cst.StarredElement()
                | cst.List()
                | cst.Tuple()
                | cst.Set()
                | cst.Dict()
                | cst.StarredDictElement()
            ):
                return None
        return "hidden"

    def _argument_is_shown(self, argument):
        call = self.get_metadata(ParentNodeProvider, argument)
        if not isinstance(call, cst.Call):
            return False
        function = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
        name = function.value if isinstance(function, cst.Name) else ""
        if name == "record":  # results are the same in every language
            return False
        if argument.keyword is not None:
            return _is_shown_name(argument.keyword)
        position = next(n for n, other in enumerate(call.args) if other is argument)
        if _ERROR.fullmatch(name):
            return position == 0
        return position in _SHOWN_ARGUMENTS.get(name, ())

    def _is_docstring(self, expression):
        line = self.get_metadata(ParentNodeProvider, expression)
        block = self.get_metadata(ParentNodeProvider, line)
        if not isinstance(block, cst.IndentedBlock) or block.body[0] is not line:
            return False
        owner = self.get_metadata(ParentNodeProvider, block)
        return isinstance(owner, cst.FunctionDef | cst.ClassDef)


def _parts(node):
    """The literals of a string: one, or those that stand side by side."""
    if isinstance(node, cst.ConcatenatedString):
        return [*_parts(node.left), *_parts(node.right)]
    return [node]


def _fields(part):
    pieces = part.parts if isinstance(part, cst.FormattedString) else []
    return [piece for piece in pieces if isinstance(piece, cst.FormattedStringExpression)]


def _is_shown_name(node):
    return isinstance(node, cst.Name) and bool(_SHOWN_NAME.fullmatch(node.value))


def _is_shown_key(node):
    return isinstance(node, cst.SimpleString) and bool(_SHOWN_NAME.fullmatch(node.raw_value))


def _written(text, translation):
    """A translation as it stands in the code."""
    indent = " " * text.start[1]
    if text.kind == "comment":
        lines = [f"# {line}".rstrip() for line in translation.splitlines()]
        return f"\n{indent}".join(lines)
    if text.kind == "docstring":
        return _written_docstring(text, translation, indent)
    template = text.kind == "f-string"
    pieces = split_template(translation) if template else [translation]
    quote = _fitting_quote(text.quote, pieces[1::2])
    lines = _wrapped(pieces, _WIDTH - len(indent)) if text.spread else [pieces]
    # Of lines side by side, those with a field are f-strings; one without any field stays one.
    return f"\n{indent}".join(
        _literal(line, quote, text.raw, template and (len(line) > 1 or len(pieces) == 1))
        for line in lines
    )


def _written_docstring(text, translation, indent):
    lines = translation.splitlines()
    body = "\n".join([lines[0], *((indent + line).rstrip() for line in lines[1:])])
    if text.spread and len(lines) > 1:
        body += "\n" + indent
    quote = text.quote if len(text.quote) == 3 or len(lines) == 1 else '"""'
    return _literal([body], quote, text.raw, template=False)


def _fitting_quote(quote, fields):
    """A quote that no field uses: before Python 3.12 a field may not hold its string's own."""
    for candidate in (quote, '"', "'", '"""', "'''"):
        if not any(candidate in field for field in fields):
            return candidate
    raise ValueError("the fields use every kind of quote")


def _literal(pieces, quote, raw, template):
    """Texts and fields in turn as one literal."""
    texts = pieces[::2]
    raw = raw and not any(
        quote[0] in text or text.endswith("\\") or _needs_escape(text, quote) for text in texts
    )
    if not raw:
        texts = [_escaped(text, quote) for text in texts]
    if template:
        texts = [text.replace("{", "{{").replace("}", "}}") for text in texts]
    body = [*pieces]
    body[::2] = texts
    prefix = ("r" if raw else "") + ("f" if template else "")
    return prefix + quote + "".join(body) + quote


def _needs_escape(text, quote):
    return any(not _may_stand(character, quote) for character in text)


def _may_stand(character, quote):
    """Whether a character may stand in a literal as it is: printable, or a space of some width."""
    if character == "\n":
        return len(quote) == 3
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _escaped(text, quote):
    text = text.replace("\\", "\\\\")
    # In a triple-quoted literal only a quote before another, or at the end, needs an escape.
    special = quote[0] if len(quote) == 1 else rf"{quote[0]}(?={quote[0]}|\Z)"
    text = re.sub(special, lambda found: "\\" + found[0], text)
    return "".join(
        c if _may_stand(c, quote) else c.encode("unicode_escape").decode("ascii") for c in text
    )


def _wrapped(pieces, width):
    """Texts and fields in turn, as lines of such pieces that fit into a width."""
    lines = [[""]]
    room = width
    for number, piece in enumerate(pieces):
        is_field = number % 2 == 1
        # A line may end behind a space and behind a wide character, and around a field.
        units = (
            [piece] if is_field else re.findall(r"[\u2e80-\uffff]\s*|[^\s\u2e80-\uffff]*\s*", piece)
        )
        for unit in units:
            size = sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in unit)
            if size > room and lines[-1] != [""]:
                lines.append([""])
                room = width
            room -= size
            if is_field:
                lines[-1] += [unit, ""]
            else:
                lines[-1][-1] += unit
    return lines
