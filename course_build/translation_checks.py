"""What a translation must keep of the English: numbers, links, formulas, fields, marks.

Each entry of a catalog that would be shown is compared with its English; one that lost something
is refused, with its line in the catalog.
"""

import re
from collections import Counter

from course_build.catalogs import quoted
from course_build.display_text import split_template
from course_build.markdown import NUMBER, masked, spans
from course_build.problems import Problem
from course_build.prose import prose_faults
from course_build.tree import LIBRARY_CATALOG, README_CATALOG
from course_build.typography import typography_faults

# The kinds of text that are filled in: f-strings of a lab, and what course_lib formats.
_FIELDS = {"f-string", "template"}
_TYPED = re.compile(r"\d+(?:(?:[.,\u00a0\u202f]|\\,|\{,\})\d+)*")
_WORDS_IN_TEX = re.compile(r"\\(text\w*|mathrm|mbox|operatorname)\{[^{}]*\}")
# Emphasis may be set otherwise in another language.
_TAG = re.compile(r"<(?!/?(?:strong|em|b|i)\b)/?[A-Za-z][^<>]*>")
_READ_ALOUD = re.compile(r"""\b(alt|title|aria-label)\s*=\s*("[^"]*"|'[^']*')""")
_BLOCK_MARK = re.compile(r"^[ \t]*(#{1,6}|[-*+]|\d+[.)]|>)[ \t]", re.MULTILINE)


def catalog_problems(path, catalog):
    """Yield what is wrong with the entries of a catalog whose translation would be shown."""
    language = catalog.metadata.get("Language", "")
    for entry in catalog:
        if entry.msgstr and not entry.fuzzy and not entry.obsolete:
            texts, kinds = (entry.msgid, entry.msgstr), entry.comment.split("\n")
            for message in (
                *translation_faults(*texts, kinds),
                *typography_faults(language, *texts, kinds),
            ):
                about = f"the translation of {quoted(entry.msgid)}: {message}"
                of_lab = path.stem not in (LIBRARY_CATALOG, README_CATALOG)
                cells = ", ".join(_cells(entry)) if of_lab else ""
                yield Problem(path, entry.linenum or 1, about, cells)


def translation_faults(english, translation, kinds):
    """Yield what a translation lost, gained or broke, given the kinds of text it stands for."""
    if "prose" in kinds:
        yield from (message for _, message in prose_faults(translation))
        yield from _differences(english, translation, _PROSE_PARTS)
        if _BLOCK_MARK.findall(english) != _BLOCK_MARK.findall(translation):
            yield "the headings, lists or quotations (#, -, 1., >) at line starts differ"
    else:
        yield from _code_faults(english, translation, kinds)
    if _FIELDS & set(kinds):
        try:
            english, translation = (_without_fields(text) for text in (english, translation))
        except ValueError:
            return
    typed = Counter(_typed_numbers(english)), Counter(_typed_numbers(translation))
    if typed[0] != typed[1]:
        yield f"the numbers typed into it differ: {_unlike(*typed)}"


def _code_faults(english, translation, kinds):
    if _FIELDS & set(kinds):
        try:
            fields = [Counter(split_template(text)[1::2]) for text in (english, translation)]
        except ValueError as error:
            yield str(error)
        else:
            if fields[0] != fields[1]:
                yield f"the fields differ: {_unlike(*fields)}"
    if {"text", *_FIELDS} & set(kinds):
        if _lone_dollars(translation) != _lone_dollars(english):
            yield "a `$` without its other"
        for ends in (str.startswith, str.endswith):
            if ends(english, "\n") != ends(translation, "\n"):
                yield "it begins or ends with a line end where the English does not, or the reverse"
    if "\n" not in english and len(translation.splitlines()) > 1 and "docstring" not in kinds:
        yield "it takes several lines where the English takes one"


def _differences(english, translation, parts):
    for name, find in parts.items():
        before, after = Counter(find(english)), Counter(find(translation))
        if before != after:
            yield f"the {name} differ: {_unlike(before, after)}"


def _unlike(before, after):
    """What one has and the other has not, in words."""
    lost = ", ".join(f"`{item}`" for item in (before - after).elements())
    new = ", ".join(f"`{item}`" for item in (after - before).elements())
    return " and ".join([f"{lost} is lost"] * bool(lost) + [f"{new} is new"] * bool(new))


def _links(text):
    return [span.text for span in spans(text) if span.kind == "link"]


def _numbers(text):
    return [match[0] for match in NUMBER.finditer(text)]


def _formulas(text):
    """The formulas, but for the words in them and for how a language separates digits."""
    for span in spans(text):
        if span.kind == "math":
            formula = _WORDS_IN_TEX.sub(r"\\\1{}", "".join(span.text.split()))
            yield _TYPED.sub(lambda number: _digits(number[0]), formula)


def _tags(text):
    return [_READ_ALOUD.sub(r"\1", tag) for tag in _TAG.findall(masked(text, "code", "fence"))]


def _commands(text):
    """The lines of code blocks, but for comments, which are translated."""
    for span in spans(text):
        if span.kind == "fence":
            for line in span.text.split("\n"):
                yield re.sub(r"(^|\s)#\s.*", "", line).strip()


_PROSE_PARTS = {
    "numbers quoted by name": _numbers,
    "links": _links,
    "formulas": _formulas,
    "HTML tags": _tags,
    "lines of code blocks": _commands,
}


def _typed_numbers(text):
    rest = NUMBER.sub(" ", masked(text, "math", "link", mask=" "))
    return [_digits(number) for number in _TYPED.findall(rest)]


def _digits(number):
    """A number without its separators, which languages set in their own ways."""
    return re.sub(r"\D", "", number)


def _without_fields(template):
    return " ".join(split_template(template)[::2])


def _lone_dollars(text):
    return len(re.findall(r"(?<!\\)\$", text)) % 2 == 1


def _cells(entry):
    return [cell for cell, _ in entry.occurrences]
