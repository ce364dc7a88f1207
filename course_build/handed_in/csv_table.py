"""The table as CSV, for a spreadsheet or a program."""

import csv
import io
import re

COLUMNS = ("file", "lab", "exercise", "name", "result", "message")

# A spreadsheet runs a cell that begins with one of these signs, in whatever width, as a formula;
# and where it takes semicolons or line breaks for the ends of cells, what follows them.
_FORMULA = re.compile(r"""(^|[;\n])((?:[^\S\n]|["'])*)(?=[=+\-@＝＋－﹣﹢﹦﹫＠])""")


def csv_table(rows):
    """Return the rows as CSV with a heading, its texts made harmless to spreadsheets."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    for row in rows:
        values = (getattr(row, column) for column in COLUMNS)
        writer.writerow("" if value is None else harmless(str(value)) for value in values)
    return text.getvalue()


def harmless(text):
    """Return a text that no spreadsheet takes for a formula: an apostrophe stands before it."""
    text = "".join(c for c in text.replace("\t", " ") if c.isprintable() or c == "\n")
    return _FORMULA.sub(r"\1'\2", text)
