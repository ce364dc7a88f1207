"""The fonts are made from one known file, and hold what is asked of them."""

import hashlib
import io

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.t2CharStringPen import T2CharStringPen
from fontTools.ttLib import TTCollection, TTFont

from course_build import bundle_fonts
from course_build.bundle_fonts import SUBSETS, FontError, main, make_font, read_original

CHARACTERS = "aσ−中噪龘あ"


def small_font(family):
    """A font of a few characters under the names that a font must give up."""
    builder = FontBuilder(1000, isTTF=False)
    glyphs = [".notdef", *(f"u{ord(c):04X}" for c in CHARACTERS)]
    builder.setupGlyphOrder(glyphs)
    builder.setupCharacterMap({ord(c): f"u{ord(c):04X}" for c in CHARACTERS})
    pen = T2CharStringPen(1000, None)
    pen.moveTo((0, 0))
    pen.lineTo((500, 900))
    pen.lineTo((900, 0))
    pen.closePath()
    shape = pen.getCharString()
    builder.setupCFF(family.replace(" ", ""), {}, dict.fromkeys(glyphs, shape), {})
    builder.setupHorizontalMetrics(dict.fromkeys(glyphs, (1000, 0)))
    builder.setupHorizontalHeader(ascent=900, descent=-100)
    builder.setupNameTable({"familyName": family, "fullName": family, "psName": "Noto"})
    builder.setupOS2()
    builder.setupPost()
    builder.updateHead(modified=3_600_000_000)
    builder.font.recalcTimestamp = False
    return builder.font


@pytest.fixture
def original(tmp_path, monkeypatch):
    """A collection of small fonts that passes for the original."""
    collection = TTCollection()
    collection.fonts = [small_font(f"Noto Sans {name}") for name in ("JP", "KR", "SC")]
    path = tmp_path / "NotoSansCJK-Regular.ttc"
    collection.save(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(bundle_fonts, "ORIGINAL_SHA256", digest)
    return path


def read(path_or_bytes):
    return TTFont(io.BytesIO(path_or_bytes) if isinstance(path_or_bytes, bytes) else path_or_bytes)


def test_fonts_hold_what_the_language_uses_under_a_name_of_their_own(original, course, capsys):
    (course.root / "notebooks" / "locale" / "zh").mkdir()
    catalog = course.catalog("coin_flips", "zh")
    catalog.write_text('msgid "a"\nmsgstr "龘"\n', encoding="utf-8")
    assert main([str(original)], course) == 0
    path = course.library / "fonts" / "CourseSansSC.otf"
    assert hashlib.sha256(path.read_bytes()).hexdigest() in capsys.readouterr().out
    chinese, japanese = (read(path.with_name(part.filename)) for part in SUBSETS.values())
    # The rare character is in because a Chinese translation has it, and in no other font.
    assert {chr(c) for c in chinese.getBestCmap()} == set("aσ−中噪龘あ")
    assert {chr(c) for c in japanese.getBestCmap()} == set("aσ−中あ")
    assert chinese["name"].getDebugName(1) == "Course Sans SC"
    assert not any("Noto" in str(record) for record in chinese["name"].names)
    assert chinese["CFF "].cff.fontNames == ["CourseSansSC"]


def test_the_same_file_gives_the_same_font(original):
    contents = original.read_bytes()
    one, two = (make_font(contents, "ja", used) for used in ({0x9F98, 0x61}, {0x61, 0x9F98}))
    assert one == two != make_font(contents, "ja", set())
    # On any day: it says when the original was made.
    assert read(one)["head"].modified == TTFont(original, fontNumber=0)["head"].modified


def test_another_file_is_refused_and_the_old_font_stays(original, course, capsys):
    path = course.library / "fonts" / "CourseSansSC.otf"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"old")
    original.write_bytes(original.read_bytes() + b"x")
    assert main([str(original)], course) == 1
    assert "is not the original file" in capsys.readouterr().err
    assert path.read_bytes() == b"old"


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FontError, match=r"other\.ttc cannot be read: .*--help"):
        read_original(tmp_path / "other.ttc")
