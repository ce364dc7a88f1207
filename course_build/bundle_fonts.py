"""Make the fonts in ``course_lib/fonts`` from Noto Sans CJK.

    python -m course_build.bundle_fonts FILE

FILE is ``NotoSansCJK-Regular.ttc``, version 2.004. Debian's package ``fonts-noto-cjk``
(1:20220127+repack1-1) has it: ``apt-get download fonts-noto-cjk``, then unpack with
``dpkg -x``; it lies in ``usr/share/fonts/opentype/noto``. It is checked by its SHA-256.

A font of the course holds the characters that a student may type into a label: Latin, Greek,
signs of mathematics, the punctuation and the common characters of the language (GB 2312 level 1;
JIS X 0208 level 1 and kana); and any other that the course's catalogs use. When a translation
brings a new character, a test names it: run this again.

The same file and the same catalogs give the same fonts byte for byte, with the same fontTools.
"""

import argparse
import hashlib
import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

from course_build.catalogs import read_catalog
from course_build.languages import family
from course_build.problems import AuthoringError
from course_build.tree import Tree

ORIGINAL = "NotoSansCJK-Regular.ttc"
ORIGINAL_SHA256 = "b76b0433203017ca80401b2ee0dd69350349871c4b19d504c34dbdd80541690a"
# Latin, Greek, punctuation, superscripts, currency, letters, arrows, mathematics, shapes, marks
_SIGNS = (
    *(range(0x20, 0x7F), range(0xA0, 0x250), range(0x370, 0x400), range(0x2000, 0x2070)),
    *(range(0x2070, 0x20C0), range(0x2100, 0x2300), range(0x25A0, 0x2600), range(0x2700, 0x27C0)),
)
_NAMES = {1: "{family}", 3: "{file}", 4: "{family}", 6: "{file}", 16: "{family}"}


class FontError(ValueError):
    """The original is missing, or is another file."""


@dataclass(frozen=True)
class Subset:
    """A font of the course: where it is in the original, and what of it the language uses."""

    family: str
    filename: str
    number: int  # in the original collection
    codec: str
    level_1: range  # the rows of the character set with its common characters

    def characters(self):
        """The code points of the character set's signs and of its common characters."""
        rows = [*range(1, 10), *self.level_1]
        cells = [(row, cell) for row in rows for cell in range(1, 95)]
        pairs = [bytes([0xA0 + row, 0xA0 + cell]) for row, cell in cells]
        decoded = "".join(pair.decode(self.codec, "ignore") for pair in pairs)
        return {ord(character) for character in decoded}


SUBSETS = {
    "zh": Subset("Course Sans SC", "CourseSansSC.otf", 2, "gb2312", range(16, 56)),
    "ja": Subset("Course Sans JP", "CourseSansJP.otf", 0, "euc_jp", range(16, 48)),
}


def catalog_characters(tree, language):
    """The code points in the translations of a language and of its kin (zh_TW with zh)."""
    texts = []
    for other in tree.languages:
        if family(other) == language:
            paths = [tree.library_catalog(other), *tree.catalog("", other).parent.glob("*.po")]
            texts += [entry.msgstr for path in paths for entry in read_catalog(path)]
    return {ord(character) for character in "".join(texts) if character.isprintable()}


def make_font(original, language, used):
    """The bytes of a language's font.

    Parameters
    ----------
    original : bytes
        The collection of fonts.
    language : str
        A key of ``SUBSETS``.
    used : set of int
        Code points to include beside those that every font of the language has.
    """
    part = SUBSETS[language]
    font = TTFont(io.BytesIO(original), fontNumber=part.number, recalcTimestamp=False)
    options = subset.Options(
        layout_features=[],
        hinting=False,
        name_IDs=[0, 1, 2, 3, 4, 5, 6, 13, 14, 16],
        notdef_outline=True,
    )
    options.drop_tables += ["BASE", "DSIG", "VORG", "vhea", "vmtx"]
    signs = {point for stretch in _SIGNS for point in stretch}
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=signs | part.characters() | used)
    subsetter.subset(font)
    for record in font["name"].names:
        if record.nameID in _NAMES:
            name = part.filename.removesuffix(".otf")
            record.string = _NAMES[record.nameID].format(family=part.family, file=name)
    top = font["CFF "].cff
    top.fontNames = [part.filename.removesuffix(".otf")]
    top.topDictIndex[0].FullName = top.topDictIndex[0].FamilyName = part.family
    made = io.BytesIO()
    font.save(made, reorderTables=True)
    return made.getvalue()


def read_original(path):
    """The bytes of the original collection.

    Raises
    ------
    FontError
        If it cannot be read or is another file.
    """
    try:
        contents = Path(path).read_bytes()
    except OSError as error:
        raise FontError(f"{path} cannot be read: {error.strerror}; how to get it: --help") from None
    digest = hashlib.sha256(contents).hexdigest()
    if digest != ORIGINAL_SHA256:
        raise FontError(
            f"{path} is not the original file: its SHA-256 is {digest}, expected {ORIGINAL_SHA256}"
        )
    return contents


def main(arguments=None, tree=None):
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m course_build.bundle_fonts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help=f"where {ORIGINAL} is")
    options = parser.parse_args(arguments)
    tree = tree or Tree()
    try:
        original = read_original(options.file)
        for language, part in SUBSETS.items():
            made = make_font(original, language, catalog_characters(tree, language))
            path = tree.library / "fonts" / part.filename
            _write(path, made)
            print(f"{path}: {len(made)} bytes, SHA-256 {hashlib.sha256(made).hexdigest()}")
    except (FontError, AuthoringError) as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename} cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _write(path, contents):
    """Write a file whole or not at all."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(contents)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
