"""Numbers in prose, in several languages; and prose that holds what it must not."""

import pytest

from course_build.markdown import paragraphs
from course_build.numbers import fill
from course_build.prose import prose_faults, typed_decimals

NARROW = "\u202f"


@pytest.mark.parametrize(
    ("language", "text", "filled"),
    [
        ("en", "{{ cal_auc:.3f }} of {{ n_records:, }}", "0.571 of 60,000"),
        ("fr", "{{ cal_auc:.3f }} of {{ n_records:, }}", f"0,571 of 60{NARROW}000"),
        ("zh", "{{ cal_auc:.3f }} of {{ n_records:, }}", "0.571 of 60,000"),
        ("ja", "{{ share_members:.1% }}", "49.9%"),
        ("fr", "{{ share_members:.1% }}", f"49,9{NARROW}%"),
        ("pt-BR", "{{ n_records:,.1f }}", "60.000,0"),
        ("xx", "{{ n_records:,.1f }}", "60,000.0"),
        ("en", "$n = {{ n_records:, }}$ $p={{ cal_auc:.1% }}$", r"$n = 60{,}000$ $p=57.1\%$"),
        ("fr", "$n = {{ n_records:, }}$ $p={{ cal_auc:.2f }}$", r"$n = 60\,000$ $p=0{,}57$"),
        ("en", r"$\frac{{a}}{b}$ and {{ n_records }}", r"$\frac{{a}}{b}$ and 60000"),
        ("fr", "{{ meta.date }}, {{ meta.versions.torch }}", "2026-11-30, 2.14.1"),
        ("fr", "{{ meta.seconds:.1f }}", "1,5"),
        ("en", "on {{ device }}", r"on cpu\_1 \<b\>"),
    ],
)
def test_numbers_are_written_as_the_language_does(language, text, filled, results):
    assert fill(text, results, language) == (filled, [])


def test_numbers_round_as_python_does(results):
    results["results"]["x"] = 0.125
    assert fill("{{ x:.2f }}", results, "fr")[0] == format(0.125, ".2f").replace(".", ",")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{{ cal_auc:.3q }}", '":.3q" does not format'),
        ("{{ n_records:s }}", '":s" does not format'),
        ("{{ holds }}", "is true or false"),
        ("{{ meta.host }}", 'no "meta.host"'),
        ("{{ meta.versions }}", "is a collection"),
        ("{{ results.cal_auc:.3f }}", "only meta has dotted names"),
        ("$x = {{ device }}$", "is a text and stands in mathematics"),
    ],
)
def test_number_that_cannot_be_filled_says_why(text, words, results):
    filled, [(line, message)] = fill(f"one\n{text}", results, "en")
    assert (filled, line) == (f"one\n{text}", 1)
    assert words in message


def test_decimals_are_found_in_prose_and_mathematics_but_not_in_links():
    text = "[0.9](http://a.org/1.5) 0.571 .80 1e-5 1,234.5 1.2.3 $x = 0.6$ `lr=0.1` {{ a:.3f }} 16"
    found = [number for _, number in typed_decimals(text)]
    assert found == ["0.9", "0.571", ".80", "1e-5", "1,234.5", "1.2.3", "0.6", "0.1"]


@pytest.mark.parametrize(
    "text",
    [
        "**100 %**で",
        "**`c`**は",
        "l’**« x »**est",
        "**$x$**は",
        "3 * 4",
        "这是**“成员”**的数据",
        "<div>\n**bold**\n</div>",
        "**{{ share_members:.1% }}**で",
    ],
)
def test_emphasis_that_does_not_render_is_found(text):
    assert "an asterisk stays" in prose_faults(text)[0][1]


@pytest.mark.parametrize(
    "text",
    [
        "这是“**成员**”的数据",
        "<strong>100 %</strong>で",
        "**$x$** is *bold*, 3 × 4",
        "- one\n* two",
        "`a * b` and $a * b$ and \\*",
        "***",
        "<details>\n<summary>Hint</summary>\n\n**bold**\n\n</details>",
        "| a | b |\n|---|---|\n| **c** | $d$ |",
        "It costs \\$5, `$HOME`, $x$ and\n\n```sh\necho $HOME * {{ \n```",
    ],
)
def test_prose_that_renders_is_left_alone(text):
    assert prose_faults(text) == []


@pytest.mark.parametrize("text", ["$a$ and $b", "$$\na", "cost $5.\n\nMore $5."])
def test_dollar_without_its_other_is_found(text):
    assert "a `$` without its other" in prose_faults(text)[0][1]


def test_paragraphs_give_the_cell_back_and_keep_fences_and_formulas_whole():
    pieces = [
        "# One",
        "\n\n",
        "```\na\n\nb\n```",
        "\n \n\n",
        "$$\na\n\nb\n$$",
        "\n\n",
        "- two\n- x",
    ]
    assert paragraphs("".join(pieces)) == pieces
