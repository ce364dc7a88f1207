"""The two files that a teacher gets, each written whole or not at all."""

import contextlib
import os

from course_build.handed_in.csv_table import csv_table
from course_build.handed_in.page import page

CSV_NAME = "checks.csv"
PAGE_NAME = "checks.html"


def write_reports(folder, rows, labs, about):
    """Write the table and the page.

    Raises
    ------
    OSError
        If one cannot be written; what was there before stays.
    """
    # With its mark at the beginning a spreadsheet reads the file as UTF-8.
    _write_whole(folder / CSV_NAME, csv_table(rows).encode("utf-8-sig"))
    _write_whole(folder / PAGE_NAME, page(rows, labs, about).encode("utf-8"))


def _write_whole(path, contents):
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(contents)
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):  # it is gone, unless something went wrong
            temporary.unlink()
