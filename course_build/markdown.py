"""The anatomy of a markdown cell: its paragraphs, and the code, mathematics and links in it.

Every check of prose, and every number filled into it, goes by these spans.
"""

import re
from dataclasses import dataclass

_SPAN = re.compile(
    r"""
    (?P<fence>^[ ]{0,3}(?P<marks>`{3,}|~{3,}).*?(?:^[ ]{0,3}(?P=marks)[`~]*[ ]*$|\Z))
    |(?P<code>(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=ticks)(?!`))
    |(?P<escape>\\[\\$`*_\[\]()<>#!{}~|.+-])
    |(?P<math>\$\$.+?\$\$
        |\$(?!\$)(?:\\.|(?!\n[ \t]*\n)[^$\\])+?\$
        |\\begin\{(?P<environment>\w+\*?)\}.*?\\end\{(?P=environment)\})
    |(?P<link>(?<=\])\(\s*[^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?=[\s)])
        |<(?:https?://|mailto:)[^>\s]*>
        |\b(?:href|src)\s*=\s*(?:"[^"]*"|'[^']*')
        |\bhttps?://[^\s<>"')\]]*[^\s<>"')\].,;:!?])
    |(?P<dollar>\$)
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_KINDS = ("fence", "code", "escape", "math", "link", "dollar")
_LETTER = re.compile(r"[^\W\d_]")
_TAG = re.compile(r"</?[A-Za-z][^>]*>|<!--.*?-->", re.DOTALL)
_ALT = re.compile(r"""\b(?:alt|title)\s*=\s*("[^"]*"|'[^']*')""")
# Words that a formula spells out; TPR and the like are the same in every language.
_WORDS_IN_MATH = re.compile(r"\\text\w*\{[^{}]*[a-z]{2}[^{}]*\}")
# A number for the prose, exactly as it must be written.
NUMBER = re.compile(r"\{\{ (?P<key>[A-Za-z_][\w.]*)(?::(?P<spec>[^{}]*?))? \}\}")


@dataclass(frozen=True)
class Span:
    """A stretch of a text: what it is, where, and its characters."""

    kind: str  # "fence", "code", "escape", "math", "link", or "dollar": a `$` without its other
    start: int
    end: int
    text: str


def spans(text):
    """Yield what in a text is not prose, from its start to its end."""
    for match in _SPAN.finditer(text):
        kind = next(kind for kind in _KINDS if match[kind] is not None)
        yield Span(kind, *match.span(), match[0])


def masked(text, *kinds, mask="\0"):
    """The text with its spans of these kinds written over with a character, length unchanged.

    Line ends stay, so that a position in the masked text has the line it has in the text.
    """
    for span in spans(text):
        if span.kind in kinds:
            over = "".join(c if c == "\n" else mask for c in span.text)
            text = text[: span.start] + over + text[span.end :]
    return text


def paragraphs(text):
    """Split a cell at the blank lines outside of fences and of `$$`; joined, they give it back.

    Even items are paragraphs (the first may be empty), odd items the line ends between them.
    """
    closed = text
    for span in spans(text):
        if span.kind in ("fence", "math"):
            closed = closed[: span.start] + "x" * (span.end - span.start) + closed[span.end :]
    pieces = []
    start = 0
    for blank in re.finditer(r"\n(?:[ \t]*\n)+", closed):
        pieces += [text[start : blank.start()], text[blank.start() : blank.end()]]
        start = blank.end()
    return [*pieces, text[start:]]


def has_words(text):
    """Whether a paragraph says something outside its mathematics, numbers, links and tags.

    A formula that spells words out says something, too.
    """
    if any(span.kind == "math" and _WORDS_IN_MATH.search(span.text) for span in spans(text)):
        return True
    rest = NUMBER.sub(" ", masked(text, "math", "link", "code", mask=" "))
    rest = _TAG.sub(lambda tag: " ".join(_ALT.findall(tag[0])), rest)
    return bool(_LETTER.search(rest))


def line_of(text, position):
    """How many lines below a text's first a position is."""
    return text.count("\n", 0, position)
