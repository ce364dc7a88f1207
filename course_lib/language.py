"""Text that the library shows, in the notebook's language.

The environment variable ``COURSE_LANG`` names the language; a notebook's set-up cell sets it.
Wrap a text in ``_`` and fill its fields afterwards, so that the text can be looked up:
``_("{name} is ready").format(name=name)``. Where no catalog or no entry exists, the English
text is shown.
"""

import functools
import gettext
import os
import unicodedata
from pathlib import Path

LOCALE_DIR = Path(__file__).resolve().parent / "locale"
DOMAIN = "course_lib"


def language():
    """Return the code of the language in use, such as ``"fr"``; English when none is set."""
    return os.environ.get("COURSE_LANG", "").strip() or "en"


@functools.cache
def _catalog(code):
    return gettext.translation(DOMAIN, LOCALE_DIR, languages=[code], fallback=True)


def _(text):
    """Return ``text`` in the language in use, or as it is where no translation exists."""
    if not text:  # gettext keeps a catalog's header under the empty text
        return text
    return _catalog(language()).gettext(text)


def padded(text, width, right=False):
    """Fill a text with spaces to a width in columns, for tables in a monospaced font.

    A Chinese or Japanese character takes two columns, so that ``f"{text:20}"``, which counts
    characters, would set such a table askew.

    Parameters
    ----------
    text : str
    width : int
        In columns. A longer text is left as it is.
    right : bool
        Whether the text goes to the right end.
    """
    columns = sum(1 + (unicodedata.east_asian_width(character) in "WF") for character in text)
    space = " " * (width - columns)
    return space + text if right else text + space
