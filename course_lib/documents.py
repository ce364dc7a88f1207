"""Papers that go with data and models: a datasheet and a model card.

Their fields are those of the two papers that proposed them. A lab fills in the texts, with its own
figures in them; what is here sees that no field is left out, and writes the table.
"""

from dataclasses import dataclass
from pathlib import Path

from course_lib.language import _


@dataclass(frozen=True)
class Document:
    """A title and a table: (field, what to know about it, the answer) a row, in order.

    In a notebook it displays itself as a table.
    """

    title: str
    rows: tuple

    def markdown(self):
        """Return the document as Markdown: a heading and one table."""
        lines = [
            f"# {self.title}",
            "",
            f"| {_('field')} | {_('question')} | {_('answer')} |",
            "|---|---|---|",
        ]
        previous = None
        for heading, question, answer in self.rows:
            shown = "" if heading == previous else f"**{heading}**"
            lines.append(f"| {shown} | {_cell(question)} | {_cell(answer)} |")
            previous = heading
        return "\n".join(lines) + "\n"

    def write(self, path):
        """Write the document to a Markdown file, and return its path.

        Raises:
            OSError: if the file cannot be written; the message names it.
        """
        path = Path(path)
        try:
            path.write_text(self.markdown(), encoding="utf-8", newline="\n")
        except OSError as error:
            raise OSError(f"{path} cannot be written: {error.strerror or error}") from error
        return path

    def _repr_markdown_(self):
        return self.markdown().replace("# ", "#### ", 1)  # below the notebook's own headings


def datasheet(title, answers):
    """Return the datasheet of a data set.

    Args:
        title: its heading.
        answers: dict from each of ``motivation``, ``composition``, ``collection``,
            ``preprocessing``, ``uses``, ``distribution`` and ``maintenance`` to a list of pairs
            (question, answer), at least one each.

    Returns:
        ``Document``.

    Raises:
        ValueError: if a field is missing, unknown or empty, or an answer is.
    Source: Gebru, Morgenstern, Vecchione, Vaughan, Wallach, Daumé and Crawford (2021), section 3.
    """
    return _document(title, answers, _datasheet_fields())


def model_card(title, answers):
    """Return the model card of a trained model.

    Args:
        title: its heading.
        answers: dict from each of ``details``, ``intended_use``, ``factors``, ``metrics``,
            ``evaluation_data``, ``training_data``, ``quantitative_analyses``, ``ethics`` and
            ``caveats`` to a list of pairs (question, answer), at least one each.

    Returns, raises: as ``datasheet``.
    Source: Mitchell, Wu, Zaldivar, Barnes, Vasserman, Hutchinson, Spitzer, Raji and Gebru (2019),
    section 4.
    """
    return _document(title, answers, _model_card_fields())


def _datasheet_fields():
    return {
        "motivation": _("Motivation"),
        "composition": _("Composition"),
        "collection": _("Collection process"),
        "preprocessing": _("Preprocessing, cleaning, labelling"),
        "uses": _("Uses"),
        "distribution": _("Distribution"),
        "maintenance": _("Maintenance"),
    }


def _model_card_fields():
    return {
        "details": _("Model details"),
        "intended_use": _("Intended use"),
        "factors": _("Factors"),
        "metrics": _("Metrics"),
        "evaluation_data": _("Evaluation data"),
        "training_data": _("Training data"),
        "quantitative_analyses": _("Quantitative analyses"),
        "ethics": _("Ethical considerations"),
        "caveats": _("Caveats and recommendations"),
    }


def _document(title, answers, fields):
    unknown = [name for name in answers if name not in fields]
    missing = [name for name in fields if not answers.get(name)]
    if unknown:
        raise ValueError(
            f"{', '.join(unknown)} is no field of this document: its fields are {', '.join(fields)}"
        )
    if missing:
        raise ValueError(
            f"{', '.join(missing)} has no answer: write one, even if it is that nobody knows"
        )
    rows = []
    for name, heading in fields.items():
        for question, answer in answers[name]:
            if not str(answer).strip():
                raise ValueError(
                    f"the answer to “{question}” ({name}) is empty: write one, even if it is that "
                    "nobody knows"
                )
            rows.append((heading, question, answer))
    return Document(title, tuple(rows))


def _cell(text):
    """Return a text as one cell of a Markdown table."""
    return " ".join(str(text).split()).replace("|", "\\|")
