"""Reading a source: what jupytext or an editor could turn into something else."""

import pytest

from course_build.problems import AuthoringError
from course_build.source import read_source

TITLE = '# %% [markdown] id="title"\n# # A lab\n\n'
# Each of these lines has come out of a reader as a command.
COMMENTS = "# copy the weights\n# ls\n# sigma?\n# ! important\n# %time\n#! hash\n# cd notes\nx = 1"


@pytest.fixture
def read(tmp_path):
    def read(text, newline="\n"):
        path = tmp_path / "a_lab.py"
        path.write_text(text, encoding="utf-8", newline=newline)
        return read_source(path)

    return read


def test_code_comes_out_as_it_was_written(read):
    code = f'{COMMENTS}\ntext = """\n# %% not a cell\n"""\n\n\ndef f():\n    return "%s {{x}}"'
    assert read(f'{TITLE}# %% id="code"\n{code}\n').cells[1].text == code


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_endings_and_byte_order_mark_do_not_matter(read, newline, mark):
    source = read(f'{mark}{TITLE}# %% id="code"\n{COMMENTS}\n', newline)
    assert [(c.id, c.kind, c.line) for c in source.cells] == [
        ("title", "markdown", 2),
        ("code", "code", 5),
    ]
    assert source.cells[1].text == COMMENTS


def test_source_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "a_lab.py"
    path.write_bytes(TITLE.encode() + b"# \xe9t\xe9\n")
    with pytest.raises(AuthoringError, match=r"a_lab\.py:1: is no text in UTF-8"):
        read_source(path)


def test_prose_may_be_quoted(read):
    source = read(f'{TITLE}# %% [markdown] id="quoted"\n"""\nA *paragraph*.\n"""\n')
    assert (source.cells[1].text, source.cells[1].line) == ("A *paragraph*.", 6)


def test_declarations_are_read_with_their_reasons(read):
    source = read(
        "# A lab of a course.\n# typed numbers: 1706.06083 (an arXiv number), 3.11 (of Python)\n"
        f'# untranslated: "mean radius" (a column), "a, b" (another)\n\n{TITLE}'
    )
    assert source.typed_numbers == {"1706.06083": "an arXiv number", "3.11": "of Python"}
    assert source.untranslated == {"mean radius": "a column", "a, b": "another"}


@pytest.mark.parametrize("head", ['id="A cell"', "id=plain", 'id=""', "id=3", 'id="setup"'])
def test_id_that_no_notebook_can_have_is_refused(read, head):
    with pytest.raises(AuthoringError, match=r"a_lab\.py:4: cell 2"):
        read(f"{TITLE}# %% {head}\nx = 1\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n", "there is no cell"),
        (f'{TITLE}# %% id="empty"\n', "is empty"),
        (f'{TITLE}# %% [raw] id="raw"\n# x\n', "is a raw cell"),
        (f'{TITLE}# %% id="tags" tags=["Two Words"]\nx = 1\n', "has a tag"),
        (f'{TITLE}# %% id="tags" tags=["active-ipynb"]\n# x\n', "makes jupytext rewrite"),
        (f'{TITLE}# %% id="open"\nx = (\n', "a_lab.py:5: .*is not Python"),
    ],
)
def test_broken_source_is_refused(read, text, words):
    with pytest.raises(AuthoringError, match=words):
        read(text)
