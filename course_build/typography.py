"""The typography of a language, where it is certain: what a translation in it may not hold.

Code, formulas, addresses, tags, numbers quoted by name and the fields of f-strings are not looked
at. ``notebooks/TRANSLATING.md`` tells translators the rules.
"""

import re

from course_build.display_text import split_template
from course_build.languages import family
from course_build.markdown import NUMBER, masked

# What stands for code, a formula, a field: no letter of any script, and no space.
_MASK = "\ue000"
_APART = re.compile(
    r"</?[A-Za-z][^<>]*>|<!--.*?-->|&#?\w+;|^\s*\[[^\]\n]+\]:(?=\s)", re.DOTALL | re.MULTILINE
)
_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")


def typography_faults(language, english, translation, kinds):
    """Yield what in a translation is set otherwise than its language sets it.

    Parameters
    ----------
    language : str
    english, translation : str
    kinds : list of str
        The kinds of text that the entry stands for.
    """
    rules = _RULES.get(family(language))
    if rules is None or translation == english:
        return
    bare = _bare(translation, english, kinds)
    seen = set()
    for message, found in rules(bare, english, kinds):
        near = translation[max(0, found.start() - 12) : found.end() + 12]
        # One example of a kind is enough; a title or a name may stay as the English has it.
        if message not in seen and near not in english:
            seen.add(message)
            yield f"{message}: `{near}`"


def _bare(text, english, kinds):
    """The text with all that is not language masked, as long as before."""
    if {"f-string", "template"} & set(kinds):
        try:
            pieces = split_template(text)
        except ValueError:
            return ""  # which another check refuses
        for field in pieces[1::2]:
            text = text.replace(field, _MASK * len(field), 1)
    text = masked(text, "math", "code", "fence", "link", mask=_MASK)
    for pattern in (NUMBER, _APART):
        text = pattern.sub(lambda found: _MASK * len(found[0]), text)
    if "prose" in kinds:
        # a link's title, which Markdown wants between straight quotes
        return re.sub(rf'({_MASK}\s+)"([^"\n]*)"(?=\))', rf"\1{_MASK}\2{_MASK}", text)
    # What the code quotes in English, it may quote here.
    for quoted in _QUOTED.findall(english):
        text = text.replace(quoted, _MASK * len(quoted))
    return text


def _french(text, english, kinds):
    prose = "prose" in kinds
    for found in re.finditer(r"[;!?]", text):
        before = text[: found.start()]
        if not re.search(r"[\u202f!?(]$|«\u00a0$|^$", before) and text[found.end() :][:1] != "=":
            yield "a narrow no-break space (U+202F) belongs before ; ! ?", found
    for found in re.finditer(r":(?=[\s*)»]|$)", text):
        before = text[: found.start()]
        code = not prose and re.search(r"[\])}=_.\d]$|\b(lambda|if|else|for|while) \S*$", before)
        if not re.search(r"[\u00a0:|-]$|^$", before) and not code:
            yield "a no-break space (U+00A0) belongs before a colon", found
    for found in re.finditer(r"«(?!\u00a0)|(?<!\u00a0)»", text):
        yield "a no-break space (U+00A0) belongs inside of « and »", found
    words = set(english.split())
    for found in re.finditer(r"\S*['\"]\S*", text):
        if prose or found[0] not in words:
            yield "an apostrophe is ’ and quotation marks are « »", found
    for found in re.finditer(r"\d ?%(?! ?\d)", text):
        yield "a narrow no-break space (U+202F) belongs between a number and %", found
    if prose:
        for number in re.findall(r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,])", english):
            for found in re.finditer(rf"(?<!\d){number}(?!\d)", text):
                yield "thousands are set apart by U+202F, as a comma begins the decimals", found


# Han and kana
_CJK = "\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CLOSING = "）」』】》"


def _chinese(text, english, kinds):
    yield from _east_asian(text, kinds, "“ ”")
    for found in re.finditer(r"[\u3041-\u30ff]+", text):
        yield "kana in a Chinese text", found


def _japanese(text, english, kinds):
    yield from _east_asian(text, kinds, "「 」")
    for found in re.finditer("[，．]", text):
        yield "the comma is 、 and the full stop 。", found


def _east_asian(text, kinds, quotes):
    # Comments and docstrings have forms of their own, `x: what it is` and `(rows, columns)`.
    of_code = {"comment", "docstring"} & set(kinds)
    patterns = [
        rf"[{_CJK}{_CLOSING}][*_ ]*[{',;!?' if of_code else ',;:!?'}](?!=)",
        rf"[{_CJK}{_CLOSING}][*_]*\.(?=[\s*_{_CJK}]|$)",
        *([] if of_code else [rf"[,;:!?][*_ ]*[{_CJK}]"]),
    ]
    for found in re.finditer("|".join(patterns), text):
        yield "punctuation beside a character is full-width", found
    for found in re.finditer(r"\(([^()\n]*)\)(?!-)", text):
        before = re.search(rf"[{_CJK}]$", text[: found.start()])
        inside = re.search(f"[{_CJK}]", found[1])
        if (inside and not of_code) or (before and re.search(f"[A-Za-z{_CJK}]", found[1])):
            yield "brackets beside characters are full-width, （ ）", found
    for found in re.finditer(rf"[\"'][{_CJK}]|[{_CJK}][\"']", text):
        yield f"quotation marks are {quotes}", found
    for found in re.finditer("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a％\u3000]+", text):
        yield "Latin letters, digits, % and spaces are half-width", found
    for found in re.finditer(r" [、，。；：！？）」』”]", text):
        yield "no space stands before punctuation", found
    if "prose" in kinds:
        ends = f"{_CJK}{_CLOSING}、，。；：！？”"
        for found in re.finditer(rf"^(?!#).*[{ends}]\n[{_CJK}（「『“]", text, re.MULTILINE):
            last = re.compile(r".\n.").search(text, found.end() - 3)
            yield "a line end between characters becomes a space: keep a paragraph on a line", last


_RULES = {"fr": _french, "ja": _japanese, "zh": _chinese}
