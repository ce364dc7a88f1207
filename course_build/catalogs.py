"""Catalogs: what a translator opens, one ``.po`` file a lab and language.

An entry is a paragraph of prose, a comment, or a text that the code shows, keyed by the English
(``msgid``). Its reference is the id of the cell it stands in, its comment says what kind of text
it is. A source that changes is merged into a catalog: a text that is the same keeps its
translation; a changed one takes over that of the text it replaced, marked fuzzy, with the English
that this translation was made from beside it; what is no longer in use stays at the end, so that
it can come back. Fuzzy and missing translations show the English.
"""

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

import polib

from course_build.display_text import shown_texts
from course_build.markdown import has_words, paragraphs
from course_build.problems import AuthoringError, Problem

_LINE = re.compile(
    r'\s*|#.*|\s*((msgctxt|msgid|msgid_plural|msgstr(\[\d\])?)\s+)?"([^"\\]|\\.)*"\s*'
)
# How alike two texts must be for the translation of one to be a start for the other.
_ALIKE = 0.5


@dataclass
class Message:
    """An English text, the cells it stands in, and as what: prose, comment, docstring, ..."""

    text: str
    cells: list
    kinds: list


def messages_of(cells):
    """The texts of cells to translate, each once, in the order of their first appearance.

    The cells are a student's: nothing of a solution goes into a catalog.
    """
    found = {}
    for cell in cells:
        for kind, text in _texts_of(cell):
            message = found.setdefault(text, Message(text, [], []))
            for seen, item in ((message.cells, cell.id), (message.kinds, kind)):
                if item not in seen:
                    seen.append(item)
    return list(found.values())


def _texts_of(cell):
    if cell.kind == "markdown":
        return [("prose", text) for text in paragraphs(cell.text)[::2] if has_words(text)]
    return [(text.kind, text.message) for text in shown_texts(cell.text)]


def read_catalog(path):
    """Read a catalog; one that does not exist is empty.

    Raises
    ------
    AuthoringError
        If it is no gettext catalog in UTF-8, or has two entries for one text.
    """
    path = Path(path)
    if not path.exists():
        return polib.POFile()
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise AuthoringError([Problem(path, 1, f"is no text in UTF-8: {error}")]) from None
    # polib reads a line without its quotes, too, and takes off its first and last character.
    for number, line in enumerate(text.split("\n"), start=1):
        if not _LINE.fullmatch(line):
            raise AuthoringError([Problem(path, number, f"is no line of a catalog: `{line}`")])
    try:
        catalog = polib.pofile(text)
    except OSError as error:
        raise AuthoringError([Problem(path, 1, f"is no gettext catalog: {error}")]) from None
    first = {}
    problems = []
    for entry in catalog:
        if entry.msgid in first:
            message = f"{quoted(entry.msgid)} has an entry at line {first[entry.msgid]} already"
            problems.append(Problem(path, entry.linenum, message))
        first.setdefault(entry.msgid, entry.linenum or 1)
    if problems:
        raise AuthoringError(problems)
    return catalog


def merged(catalog, messages, language):
    """A catalog brought up to the messages of a source; the given one is left as it is."""
    old = {entry.msgid: entry for entry in catalog}
    wanted = {message.text for message in messages}
    heirs = _heirs(
        [message for message in messages if message.text not in old],
        [entry for entry in catalog if entry.msgid not in wanted and entry.msgstr],
    )
    result = polib.POFile(wrapwidth=88)
    result.header = "How to translate: notebooks/TRANSLATING.md"
    result.metadata = {
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
        "Language": language,
    }
    used = set()
    for message in messages:
        entry = polib.POEntry(
            msgid=message.text,
            occurrences=[(cell, "") for cell in message.cells],
            comment="\n".join(message.kinds),
        )
        before = old.get(message.text) or heirs.get(message.text)
        if before:
            used.add(before.msgid)
            entry.msgstr, entry.tcomment = before.msgstr, before.tcomment
            entry.linenum = before.linenum
            entry.flags = [flag for flag in before.flags if flag == "fuzzy"]
            entry.previous_msgid = before.previous_msgid if entry.flags else None
            if before.msgid != message.text:
                # The English that the translation was made from, not the one in between.
                entry.previous_msgid = entry.previous_msgid or before.msgid
                entry.flags = ["fuzzy"]
        result.append(entry)
    for entry in catalog:
        if entry.msgid not in used and entry.msgid not in wanted and entry.msgstr:
            result.append(
                polib.POEntry(
                    msgid=entry.msgid,
                    msgstr=entry.msgstr,
                    tcomment=entry.tcomment,
                    flags=[flag for flag in entry.flags if flag == "fuzzy"],
                    obsolete=True,
                )
            )
    return result


def _heirs(messages, entries):
    """For new messages, the closest entry that vanished from the same cell and kind."""
    pairs = []
    for message in messages:
        for entry in entries:
            cells = {cell for cell, _ in entry.occurrences}
            kinds = set(entry.comment.split("\n"))
            if cells & set(message.cells) and kinds & set(message.kinds):
                matcher = difflib.SequenceMatcher(None, entry.msgid, message.text, autojunk=False)
                pairs.append((matcher.ratio(), message.text, entry))
    heirs, taken = {}, set()
    for alike, text, entry in sorted(pairs, key=lambda pair: -pair[0]):
        if alike > _ALIKE and text not in heirs and entry.msgid not in taken:
            heirs[text] = entry
            taken.add(entry.msgid)
    return heirs


def same_entries(one, other):
    """Whether two catalogs say the same, however their files are wrapped."""

    def entries(catalog):
        return [
            (
                *(entry.msgid, entry.msgstr, entry.previous_msgid or None, entry.obsolete),
                *(entry.fuzzy, entry.comment, entry.tcomment, entry.occurrences),
            )
            for entry in catalog
        ]

    return entries(one) == entries(other)


def write_catalog(path, catalog):
    """Write a catalog; the folder is made if there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(str(catalog).rstrip("\n") + "\n", encoding="utf-8", newline="\n")


def translations_of(catalog):
    """The translations that may be shown: {English: translation}."""
    return {entry.msgid: entry.msgstr for entry in catalog if _is_current(entry)}


def stale_cells(catalog):
    """The ids of the cells that show English, because a translation is missing or fuzzy."""
    cells = [
        cell
        for entry in catalog
        if not entry.obsolete and not _is_current(entry)
        for cell, _ in entry.occurrences
    ]
    return list(dict.fromkeys(cells))


def _is_current(entry):
    return bool(entry.msgstr) and not entry.fuzzy and not entry.obsolete


def quoted(text):
    """The start of a text, to name it in a message."""
    line = " ".join(text.split())
    return f'"{line}"' if len(line) <= 60 else f'"{line[:57]}..."'
