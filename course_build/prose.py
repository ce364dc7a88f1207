"""What prose may not hold: typed numbers, stray braces, lone dollars, asterisks that stay."""

import re

from markdown_it import MarkdownIt

from course_build.markdown import NUMBER, line_of, masked, spans
from course_build.numbers import quoted_numbers

_DECIMAL = re.compile(
    r"(?<![\w.])(?:\d+(?:,\d{3})*)?(?:\.\d+)+(?:e[+-]?\d+)?(?![\w])|(?<![\w.])\d+e[+-]?\d+(?!\w)",
    re.IGNORECASE | re.ASCII,
)
_COMMONMARK = MarkdownIt("commonmark").enable("table").enable("strikethrough")


def typed_decimals(text):
    """The decimal numbers typed into a text, each with its position; links are not prose."""
    blank = NUMBER.sub(lambda match: " " * len(match[0]), masked(text, "link", mask=" "))
    return [(match.start(), match[0]) for match in _DECIMAL.finditer(blank)]


def prose_faults(text):
    """What is wrong with a markdown text in any language: (line below its first, message)."""
    faults = []
    outside = masked(text, "math", "code", "fence", "escape", mask="x")
    for match in re.finditer(r"\{\{|\}\}", NUMBER.sub(lambda m: "x" * len(m[0]), outside)):
        message = f"a stray `{match[0]}`: a number is written exactly {{{{ key:spec }}}}"
        faults.append((line_of(text, match.start()), message))
    for number in quoted_numbers(text):
        if number.place == "code":
            message = f'"{number.key}" stands in code, where no number is filled in: move it out'
            faults.append((line_of(text, number.start), message))
    for span in spans(text):
        if span.kind == "dollar":
            message = r"a `$` without its other: close the formula, or write \$ for an amount"
            faults.append((line_of(text, span.start), message))
    return sorted(faults + list(_literal_asterisks(text)))


def _literal_asterisks(text):
    """Emphasis that does not render: it leaves its asterisks on the page.

    A renderer of notebooks takes the mathematics out first and leaves a mark with an @ in its
    place, so emphasis next to it is judged as next to punctuation. A number that is not filled
    yet counts as a digit.
    """
    text = NUMBER.sub(lambda number: "0%" if (number["spec"] or "").endswith("%") else "0", text)
    for span in reversed([s for s in spans(text) if s.kind in ("math", "escape")]):
        mark = "@@0@@" if span.kind == "math" else "xx"
        mark += "\n" * span.text.count("\n")
        text = text[: span.start] + mark + text[span.end :]
    for block in _COMMONMARK.parse(text):
        line = block.map[0] if block.map else 0
        tokens = block.children or ([block] if block.type == "html_block" else [])
        for token in tokens:
            literal = token.type in ("text", "html_block") and "*" in token.content
            if literal and (token.type == "text" or "**" in token.content):
                near = token.content.strip().split("\n")[0][:60]
                yield (
                    line,
                    f"an asterisk stays on the page in `{near}`: keep punctuation and mathematics "
                    "outside of the emphasis, or use <strong>; a product is written ×",
                )
            line += token.type in ("softbreak", "hardbreak")
