import csv
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from course_build.handed_in import reports
from course_build.handed_in.csv_table import csv_table, harmless
from course_build.handed_in.page import About, page
from course_build.handed_in.rows import Row, whole_file
from course_build.handed_in.trusted_cells import Check

LABS = {"coins": [Check(1, "mean_of_rows", "", ()), Check(2, "clip", "", ())], "empty": []}
ABOUT = About("today", ["The profile <quick>."], ["The network was cut."])
HOSTILE = "</pre><script>alert(1)</script>\"'&\u202e\x00\x1b[31m\u2066"


def rows():
    return [
        Row("b.ipynb", "coins", 1, "mean_of_rows", "passed", "right"),
        Row("b.ipynb", "coins", 2, "clip", "passed", "right"),
        Row(HOSTILE, "coins", 1, "mean_of_rows", "waiting", HOSTILE),
        Row(HOSTILE, "coins", 2, HOSTILE, "not reached", HOSTILE),
        Row(HOSTILE, "coins", None, "", "note", HOSTILE),
        whole_file("x" + HOSTILE, HOSTILE),
    ]


class _Reader(HTMLParser):
    """Keeps the tags, their attributes and the text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open, self.text, self.cells = set(), set(), [], "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "br", "wbr"):
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if "td" in self.open:
            self.cells[-1] += data


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("＝1", "'＝1"),
        ("  =1", "'  =1"),
        ("\t=1", "' =1"),
        ("\r=1", "'=1"),
        ("\n \n=1", "\n \n'=1"),
        ("\x00=1", "'=1"),
        ('"=1"', '\'"=1"'),
        ("right;=1;", "right;'=1;"),
        ("right\n=1", "right\n'=1"),
        ("0.5 - 0.3 = 0.2", "0.5 - 0.3 = 0.2"),
        ("expected: -0.5", "expected: -0.5"),
        ("✓ right", "✓ right"),
        ("", ""),
    ],
)
def test_no_cell_is_a_formula_to_a_spreadsheet(text, shown):
    assert harmless(text) == shown


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_cell_begins_with_a_formula_wherever_a_spreadsheet_parts_them(separator):
    attacks = [
        "=1",
        ";=1",
        "\t=1",
        "x\n=1",
        'x";=1',
        "x\r\n=1",
        'x"\n"=1',
        ";;=1",
        ";\t =1",
        "; '=1",
    ]
    text = csv_table([Row(one, one, 1, one, "failed", one) for one in attacks])
    for line in csv.reader(text.split("\n"), delimiter=separator):
        for cell in line:
            assert not re.match(r"[\s\"]*[=+\-@]", cell), line


def test_the_table_is_read_back_as_it_was():
    plain = [Row('é,"x".ipynb', "coins", 2, "clip", "failed", "two\nlines")]
    [head, row] = csv.reader(csv_table(plain).splitlines(keepends=True))
    assert head == ["file", "lab", "exercise", "name", "result", "message"]
    assert row == ['é,"x".ipynb', "coins", "2", "clip", "failed", "two\nlines"]


def test_the_page_shows_who_has_done_what():
    read = _Reader(page(rows(), LABS, ABOUT))
    assert read.open == []
    assert read.cells[:6] == ["✓", "✓", "2 of 2", "…", "∅", "0 of 2"]
    assert "All exercises passed." in read.text and "The profile <quick>." in read.text
    assert "empty" not in read.text  # a lab that nobody handed in


def test_the_page_says_what_it_does_not_prove():
    text = " ".join(_Reader(page([], LABS, ABOUT)).text.split())
    assert "Feedback, and not an exam." in text
    assert "runs in the same process as the checks" in text and "can forge a verdict" in text
    assert "Other people's code ran on this machine." in text


def test_the_page_runs_loads_and_hides_nothing():
    text = page(rows(), LABS, ABOUT)
    read = _Reader(text)
    assert read.tags == {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "strong"),
        *("div", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "a", "code", "wbr"),
        *("br", "span", "pre"),
    }
    assert not read.attributes & {"src", "onload", "onclick", "style"}
    assert re.findall(r'href="(.*?)"', text) and all(
        link.startswith("#") for link in re.findall(r'href="(.*?)"', text)
    )
    assert "</pre><script>alert(1)</script>\"'&" in read.text  # shown as it was written
    assert not set(text) & set("\u202e\x00\x1b\u2066")
    assert "default-src 'none'" in text and "url(" not in text and "@import" not in text


def test_the_text_of_the_page_is_dark_on_light():
    style = page([], LABS, ABOUT).split("<style>")[1].split("</style>")[0]

    def luminance(colour):
        colour = "".join(2 * c for c in colour) if len(colour) == 3 else colour
        parts = [int(colour[n : n + 2], 16) / 255 for n in (0, 2, 4)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    inks = re.findall(r"[^-]\bcolor: #([0-9a-f]+)", style)
    grounds = re.findall(r"background: #([0-9a-f]+)", style)
    assert len(inks) == 2 and len(grounds) >= 6
    for ink in inks:
        for ground in grounds:
            assert (luminance(ground) + 0.05) / (luminance(ink) + 0.05) >= 6


def test_reports_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    reports.write_reports(tmp_path, rows()[:1], LABS, ABOUT)
    before = (tmp_path / "checks.csv").read_bytes()
    assert before.startswith(b'\xef\xbb\xbf"file"') and (tmp_path / "checks.html").is_file()

    def full(path, contents):
        with open(path, "wb") as file:
            file.write(contents[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        reports.write_reports(tmp_path, rows(), LABS, ABOUT)
    assert (tmp_path / "checks.csv").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checks.csv", "checks.html"]
