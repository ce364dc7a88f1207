import pytest
from markdown_it import MarkdownIt

from course_lib.documents import Document, datasheet, model_card

DATASHEET_FIELDS = (  # the seven stages of Gebru et al. (2021)
    "motivation",
    "composition",
    "collection",
    "preprocessing",
    "uses",
    "distribution",
    "maintenance",
)
CARD_FIELDS = (  # the nine sections of Mitchell et al. (2019)
    "details",
    "intended_use",
    "factors",
    "metrics",
    "evaluation_data",
    "training_data",
    "quantitative_analyses",
    "ethics",
    "caveats",
)


def answers(fields):
    return {field: [(f"{field}?", f"about {field}")] for field in reversed(fields)}


def cells(markdown):
    """The texts of a Markdown table's cells, as a renderer finds them: a list of rows."""
    rows = []
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            rows[-1].append("".join(child.content for child in token.children))
    return rows


@pytest.mark.parametrize(
    ("make", "fields"), [(datasheet, DATASHEET_FIELDS), (model_card, CARD_FIELDS)]
)
def test_every_field_has_its_row_in_the_papers_order(make, fields):
    document = make("A title", answers(fields))
    rows = cells(document.markdown())
    assert rows[0] == ["field", "question", "answer"]
    assert [row[2] for row in rows[1:]] == [f"about {field}" for field in fields]
    assert len({row[0] for row in rows[1:]}) == len(fields)
    assert document.markdown().startswith("# A title\n")


@pytest.mark.parametrize(
    ("make", "fields"), [(datasheet, DATASHEET_FIELDS), (model_card, CARD_FIELDS)]
)
def test_fields_left_out_are_named(make, fields):
    for field in fields:
        incomplete = answers(fields) | {field: []}
        with pytest.raises(ValueError, match=f"{field} has no answer: write one"):
            make("A title", incomplete)
        del incomplete[field]
        with pytest.raises(ValueError, match=f"{field} has no answer: write one"):
            make("A title", incomplete)
    with pytest.raises(ValueError, match="motif is no field of this document: its fields are"):
        make("A title", answers(fields) | {"motif": [("?", "!")]})
    with pytest.raises(ValueError, match=r"the answer to “why\?”.*is empty"):
        make("A title", answers(fields) | {fields[0]: [("why?", "  ")]})


def test_a_heading_stands_once_and_awkward_texts_stay_in_their_cell():
    document = Document("T", (("Uses", "a\nb?", "x | y"), ("Uses", "c?", "1\n\n2")))
    assert cells(document.markdown())[1:] == [["Uses", "a b?", "x | y"], ["", "c?", "1 2"]]


def test_a_file_holds_the_document(tmp_path):
    document = datasheet("Étude ε", answers(DATASHEET_FIELDS))
    path = document.write(tmp_path / "datasheet.md")
    assert path.read_bytes() == document.markdown().encode("utf-8")
    with pytest.raises(OSError, match=r"none.sheet.md cannot be written: No such file"):
        document.write(tmp_path / "none" / "sheet.md")


def test_in_a_notebook_the_title_is_a_small_heading():
    document = model_card("A card", answers(CARD_FIELDS))
    shown = document._repr_markdown_()
    assert shown.startswith("#### A card\n")
    assert shown.split("\n")[1:] == document.markdown().split("\n")[1:]
