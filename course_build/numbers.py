"""Numbers in prose: quoted by name, filled in from the results, written as the language does.

In a markdown cell ``{{ cal_auc:.3f }}`` becomes 0.571, and 0,571 in French. The name is a key of
the lab's results, or leads into what is known of the run: ``{{ meta.date }}``,
``{{ meta.versions.torch }}``. What follows the colon is Python's format specification: a float
needs one, whole numbers and texts may go without. In mathematics the separators are written as
TeX wants them. Exactly this form, with its spaces, is a number; TeX's own ``{{`` stays as it is.

Numbers are formatted by Python and only their separators are exchanged, so that they round as in
the output above them.
"""

import difflib
import re
from dataclasses import dataclass

from course_build.languages import family
from course_build.markdown import NUMBER, line_of, spans

# What Markdown, HTML or TeX would take for its own in a text from the results.
_MARKS = re.compile(r"([\\`*_\[\]<>&$|#~])")


@dataclass(frozen=True)
class NumberFormat:
    """The separators of a language: between units and tenths, between thousands, before %."""

    decimal: str = "."
    group: str = ","
    percent: str = ""

    def write(self, formatted, in_math=False):
        """A number as Python formats it, with this language's separators."""
        marks = {".": self.decimal, ",": self.group, "%": f"{self.percent}%"}
        if in_math:
            group = r"{,}" if self.group == "," else r"\,"
            decimal = r"{,}" if self.decimal == "," else "."
            marks = {".": decimal, ",": group, "%": rf"{_tex_space(self.percent)}\%"}
        return "".join(marks.get(character, character) for character in formatted)


_NARROW = "\u202f"
_FORMATS = {
    "de": NumberFormat(",", ".", "\u00a0"),
    "es": NumberFormat(",", _NARROW, "\u00a0"),
    "fr": NumberFormat(",", _NARROW, _NARROW),
    "it": NumberFormat(",", "."),
    "nl": NumberFormat(",", "."),
    "pt": NumberFormat(",", "."),
}


def number_format(language):
    """How a language writes numbers: as English does, unless the table here says otherwise."""
    return _FORMATS.get(family(language), NumberFormat())


@dataclass(frozen=True)
class Number:
    """A number that a text quotes: its key, its format specification, and where it stands."""

    key: str
    spec: str
    start: int
    end: int
    place: str  # "prose", "math" or "code"


def quoted_numbers(text):
    """The numbers that a text of a markdown cell quotes, in order."""
    inside = [span for span in spans(text) if span.kind in ("math", "code", "fence")]
    found = []
    for match in NUMBER.finditer(text):
        around = [s.kind for s in inside if s.start <= match.start() and match.end() <= s.end]
        place = "prose" if not around else "math" if around[0] == "math" else "code"
        found.append(Number(match["key"], match["spec"] or "", *match.span(), place))
    return found


def fill(text, results, language):
    """Fill the numbers of a markdown cell.

    Parameters
    ----------
    text : str
        The cell, in the language.
    results : dict
        The contents of the lab's results file.
    language : str

    Returns
    -------
    text : str
        With every number that could be filled.
    faults : list of (int, str)
        For each of the others, the line below the text's first and what is wrong.
    """
    faults = []
    write = number_format(language).write
    for number in reversed(quoted_numbers(text)):
        try:
            value = _look_up(number.key, results)
            filled = _formatted(number, value, write)
        except ValueError as error:
            faults.insert(0, (line_of(text, number.start), str(error)))
        else:
            text = text[: number.start] + filled + text[number.end :]
    return text, faults


def _look_up(key, results):
    first, *path = key.split(".")
    if not path:
        if first in results["results"]:
            return results["results"][first]
        raise ValueError(f'the results have no "{key}"{_similar(key, results["results"])}')
    if first != "meta":
        raise ValueError(f'"{key}": only meta has dotted names, such as meta.date')
    value = results["meta"]
    for name in path:
        if not isinstance(value, dict) or name not in value:
            raise ValueError(f'the results have no "{key}" (there is no "{name}")')
        value = value[name]
    if isinstance(value, (dict, list)):
        raise ValueError(f'"{key}" is a collection, not a number or a text: name one entry of it')
    return value


def _similar(key, keys):
    near = difflib.get_close_matches(key, keys, n=3)
    return f"; near it: {', '.join(near)}" if near else ": record it in the lab, or mend the name"


def _formatted(number, value, write):
    """A value as text for its place; ``ValueError`` says what does not fit."""
    named = f'"{number.key}"'
    if isinstance(value, bool):
        raise ValueError(f"{named} is true or false: say it in words, and let a claim check it")
    if isinstance(value, str):
        if number.spec:
            raise ValueError(
                f'{named} is the text "{value}", which ":{number.spec}" cannot format: '
                "leave out the format"
            )
        if number.place == "math":
            raise ValueError(f"{named} is a text and stands in mathematics: move it outside")
        return _MARKS.sub(r"\\\1", " ".join(value.split()))
    if isinstance(value, float) and not number.spec:
        raise ValueError(f"{named} is {value}: say how to write it, as in {number.key}:.3f")
    try:
        formatted = format(value, number.spec)
    except ValueError as error:
        raise ValueError(f'{named}: ":{number.spec}" does not format {value}: {error}') from None
    return write(formatted, in_math=number.place == "math")


def _tex_space(space):
    return {"": "", _NARROW: r"\,"}.get(space, "~")
