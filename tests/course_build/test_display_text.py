"""Which strings and comments are shown, and that writing them in changes nothing else."""

import ast
from pathlib import Path

import pytest

from course_build.display_text import display_faults, shown_texts, split_template, translated
from course_build.parity import code_faults
from course_build.source import read_source

ROOT = Path(__file__).parent.parent.parent
SOURCES = [
    ROOT / "tests" / "fixtures" / "sources" / "coin_flips.py",
    *(ROOT / "notebooks" / "source").glob("*.py"),
]

# What has gone wrong, or could: quotes in quotes, braces, wide characters before a string on its
# line, raw strings, strings over lines, side by side, of several kinds, in every shown place.
INTRICATE = r'''
# a comment
#   over "lines"
噪声 = "漢字"; print("after wide 漢字", f"{噪声} 漢 fields")  # behind code
#! bang
def draw(x, label="the default"):
    """Draw.

    More \\ "text" here.
    """
    return x["mean radius"]  # noqa: E501
class Plot:
    'One line'
    def show(self):
        r"""Raw \sigma docstring."""
print(f'{d["k"]} is "quoted" {{braces}} {x:.3f}\n', 'side' ' by ' "side's", sep=", ")
print(f"""triple "{d['k']}" and {d["k"]}
ends in a quote \"""")
print(
    "a long sentence, longer than a line may be, about the records and their members, "
    f"with {{braces}} and {value:>{width}.{digits}f} and {d['a']!r} "
    'and a backslash \\ and "quotes" and a tab\t.'
)
ax.set_title(r"$\sigma$ of noise" if ok else "no noise" + " at all")
ax.plot(x, label=f"{n} models, $\\varepsilon = {eps:.2f}$", color="C0 is no label")
print("""
triple "quoted" text \\ ends
""", f"no field at all")
labels = {"loss": "loss attack", "cal": [f"cal {x!r:>10}", ("a tuple", *["starred"])]}
axes.set(**{"xlabel": "rate of noise"})
print(*[f"{k} things" for k in ks if k != "one thing"])
lab.claim("an-id", "A claim's sentence.", x == "some text here")
if bad:
    raise ValueError(f"bad {x}: {', '.join(names)}")
assert x, "asserted" "twice"
smile = "😀"; print("after a smile 😀"); label = "held together by " \
    "a backslash, and longer than a line of code may be, so that it would take several of them"
print(f"{d['a']} and " f'{d["b"]} of two quotes')
if x: print("on the line", f"{a:{b}}" "c", end="")
tick = lambda value, label="of a lambda": f"{value}"
plots.show(figure, alt=f"{len([1, 2])} lines, {'a' + 'b' if x else names[0]} {x:%Y}".strip("a b"))
plots.intervals([("forest", *limits["at a rate"])], reference=("guessing", 0.5))
'''


def test_shown_places_and_no_others():
    found = {text.message for text in shown_texts(INTRICATE)}
    assert found == {
        'a comment\n  over "lines"',
        "behind code",
        "! bang",
        "after wide 漢字",
        "{噪声} 漢 fields",
        "the default",
        'Draw.\n\nMore \\ "text" here.',
        "One line",
        r"Raw \sigma docstring.",
        '{d["k"]} is "quoted" {{braces}} {x:.3f}\n',
        "side by side's",
        'triple "{d[\'k\']}" and {d["k"]}\nends in a quote "',
        "a long sentence, longer than a line may be, about the records and their members, with "
        "{{braces}} and {value:>{width}.{digits}f} and {d['a']!r} and a backslash \\ and "
        '"quotes" and a tab\t.',
        r"$\sigma$ of noise",
        "no noise",
        " at all",
        r"{n} models, $\varepsilon = {eps:.2f}$",
        '\ntriple "quoted" text \\ ends\n',
        "no field at all",
        "loss attack",
        "cal {x!r:>10}",
        "a tuple",
        "starred",
        "rate of noise",
        "{k} things",
        "A claim's sentence.",
        "bad {x}: {', '.join(names)}",
        "assertedtwice",
        "after a smile 😀",
        "held together by a backslash, and longer than a line of code may be, so that it would "
        "take several of them",
        "{d['a']} and {d[\"b\"]} of two quotes",
        "on the line",
        "{a:{b}}c",
        "of a lambda",
        "forest",
        "guessing",
    }


def codes():
    yield pytest.param(INTRICATE, id="intricate")
    for path in SOURCES:
        for cell in read_source(path).cells:
            if cell.kind == "code":
                yield pytest.param(cell.text, id=f"{path.stem}-{cell.id}")


@pytest.mark.parametrize("code", list(codes()))
def test_translating_there_and_back_leaves_the_tree_unchanged(code):
    there = {text.message: f"{text.message} ¶" for text in shown_texts(code)}
    foreign = translated(code, there)
    back = translated(foreign, {shown: english for english, shown in there.items()})
    assert {text.message for text in shown_texts(foreign)} == set(there.values())
    assert _tree(back) == _tree(code)
    assert (_tree(foreign) == _tree(code)) == all(t.kind == "comment" for t in shown_texts(code))
    assert code_faults(code, foreign, set(there.items())) == []


@pytest.mark.parametrize("code", list(codes()))
def test_translating_everything_to_itself_changes_nothing(code):
    assert translated(code, {text.message: text.message for text in shown_texts(code)}) == code


def _tree(code):
    """The tree; docstrings are compared without their indentation, as `help` shows them."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            node.body[0].value.value = ast.get_docstring(node)
    return ast.dump(tree)


@pytest.mark.parametrize(
    "translation",
    ['"', "'", "\\", "\\n", '"""', "'''", "a\"b'c\\", "\n", "\u202f!", "\x00\r\x1b\u202e", "{{}}"],
)
def test_any_text_can_be_written_into_any_kind_of_string(translation):
    for quote in ['"', "'", '"""', "'''"]:
        for prefix in ["", "r", "f", "rf"]:
            code = f"print({prefix}{quote}words{quote})"
            written = translated(code, {"words": translation})
            shown = translation.replace("{{}}", "{}") if "f" in prefix else translation
            assert eval(written.removeprefix("print")) == shown


def test_translation_of_a_comment_cannot_leave_the_comment():
    code = "# words\nx = 1  # more words"
    written = translated(code, {"words": "a\nb\rimport os\x0cc\u2028d", "more words": "e"})
    assert ast.dump(ast.parse(written)) == ast.dump(ast.parse(code))
    assert written.splitlines() == ["# a", "# b", "# import os", "# c", "# d", "x = 1  # e"]


def test_comment_behind_code_does_not_go_on_from_the_one_above():
    code = "       # of its own\nx = 1  # behind code\ny = 2  # and another"
    assert [t.message for t in shown_texts(code)] == ["of its own", "behind code", "and another"]


def test_translations_of_long_texts_stay_over_lines():
    code = 'print(\n    f"a long {text} over lines, so that no line is wide "\n    "at all"\n)'
    message = shown_texts(code)[0].message
    written = translated(code, {message: "很长的一段文字，" * 12 + "{text}" + " et la fin" * 12})
    lines = written.split("\n")
    assert len(lines) > 5
    assert all(line.startswith(('    "', '    f"')) for line in lines[1:-1])
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("print(f\"{'a member' if x else 'none'}\")", "inside a field"),
        ("print(f\"{f'inner words {x}'}\")", "inside a field"),
        ("print(f\"{describe(label='inner words')}\")", "inside a field"),
        ('print(\n    "part one "  # why\n    "part two"\n)', "stands within a text"),
        ('print("%d models" % n)', "formatted by %"),
        ('print("{} models".format(n))', "formatted by % or .format"),
        ('print(f"{share=}")', "instead of `=`"),
        ('print("\\N{GREEK SMALL LETTER SIGMA} of noise")', "character itself"),
        ('sentence = "two words"', "no translation reaches"),
        ('describe("two words", other={"a": f"{x} words"})', "no translation reaches"),
        ('lab.record(note="two words")', "no translation reaches"),
        ('"a bare string"', "no translation reaches"),
    ],
)
def test_text_that_cannot_be_translated_is_reported(code, words):
    assert any(words in message for _, message in display_faults(code))


@pytest.mark.parametrize(
    "code",
    [
        'x = frame["mean radius"]',
        'x = frame[["mean radius", "mean area"]]',
        'x = kind == "two words" or kind in ("a b", "c d")',
        'x = {"mean radius": 1}',
        'print("-" * 20, f"{x:.3f} | {y:>8}", sep=" | ")',
        "print(f\"{names['mean radius']}\")",
        "print(b'two words')",
    ],
)
def test_names_and_marks_are_no_display_text(code):
    assert display_faults(code) == []
    assert shown_texts(code) == []


def test_declared_strings_are_left_alone():
    assert display_faults('load("mean radius")', {"mean radius": "a column"}) == []


@pytest.mark.parametrize("template", ["{", "}", "a {b", "a } b", "{x[}", "{'}"])
def test_template_with_open_braces_is_refused(template):
    with pytest.raises(ValueError, match=r"[{}]"):
        split_template(template)
