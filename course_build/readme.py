"""The README in every language, and the parts of it that are made: the links to what there is.

``README.md`` is written by hand, in English. Two stretches of it are filled in by the build, each
between comments that no reader sees: ``<!-- languages -->`` holds the links to the other
languages, ``<!-- notebooks -->`` the table of all notebooks; ``<!-- end -->`` ends either. The
other languages' READMEs are made from it and from their catalogs.
"""

import re

from course_build.catalogs import Message
from course_build.languages import language_name
from course_build.markdown import has_words, paragraphs
from course_build.tree import ENGLISH, Tree

BADGE_ALT = "Open in Colab"
_STRETCH = re.compile(r"(<!-- (languages|notebooks) -->\n).*?(<!-- end -->)", re.DOTALL)
_HEADING = re.compile(r"#{1,6} +(.+)")


def readme_messages(text):
    """The paragraphs of the English README to translate, with the sections that they stand in."""
    found = {}
    section = ""
    for paragraph in _written(text)[::2]:
        sections = [section]
        if heading := _HEADING.match(paragraph):
            section = re.sub(r"[^a-z0-9]+", "-", heading[1].lower()).strip("-")
            # A heading that is rewritten names another section, but the one above stays.
            sections = [section, *filter(None, sections)]
        if has_words(paragraph) and not _STRETCH.search(paragraph):
            message = found.setdefault(paragraph, Message(paragraph, [], ["prose"]))
            message.cells += [name for name in sections if name not in message.cells]
    return list(found.values())


def readme(text, language, tree, address, translations):
    """The README in a language.

    Parameters
    ----------
    text : str
        The English one; what was filled in before is filled in anew.
    language : str
    tree : Tree
        Says which labs and languages there are.
    address : Address
        Where Colab finds the notebooks.
    translations : dict
        English texts and what stands for them; what is missing is shown in English.
    """
    pieces = _written(text)
    pieces[::2] = [translations.get(paragraph, paragraph) for paragraph in pieces[::2]]
    # The reader's own language comes first; the labs as the text has them.
    languages = sorted(tree.languages, key=lambda other: other != language)
    labs = sorted(tree.labs, key=lambda lab: (f"`{lab}`" not in text, text.find(f"`{lab}`")))
    fill = {
        "languages": lambda: _languages(language, languages),
        "notebooks": lambda: _notebooks(labs, languages, address, translations),
    }
    filled = (
        _STRETCH.sub(lambda found: found[1] + fill[found[2]]() + found[3], "".join(pieces)) + "\n"
    )
    if language == ENGLISH:
        return filled
    catalog = Tree.catalog_path("README", language)
    return (
        f"<!-- Made by build_notebooks.py from README.md and {catalog}: change those. -->\n{filled}"
    )


def readme_name(language):
    """The file of the README in a language, at the root, so that its links are the same."""
    return "README.md" if language == ENGLISH else f"README.{language}.md"


def _written(text):
    """The paragraphs and the line ends between them; a stretch that is filled in is one."""
    empty = _STRETCH.sub(lambda found: found[1] + found[3], text.rstrip("\n"))
    return paragraphs(empty)


def _languages(own, languages):
    if len(languages) == 1:
        return ""
    links = [
        language_name(one) if one == own else f"[{language_name(one)}]({readme_name(one)})"
        for one in languages
    ]
    return " · ".join(links) + "\n"


def _notebooks(labs, languages, address, translations):
    """The table of notebooks: a row for each lab, a column for each language."""
    rows = [
        ["", *map(language_name, languages)],
        ["---"] * (1 + len(languages)),
    ]
    for lab in labs:
        row = [f"`{lab}`"]
        for language in languages:
            path = Tree.notebook_path(lab, language)
            badge = address.badge(path, translations.get(BADGE_ALT, BADGE_ALT))
            row.append(f"[.ipynb]({path}) {badge or ''}".rstrip())
        rows.append(row)
    return "\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n"
