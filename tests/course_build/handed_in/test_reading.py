import json

import nbformat
import pytest
from nbformat import v4

from course_build.handed_in.trusted_cells import exercise_of
from course_build.handed_in.worker import read_notebook


def notebook(*cells, **more):
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells, **more})


def code(source="x = 1", **more):
    outputs = {"outputs": [], "execution_count": None}
    return {"cell_type": "code", "id": "a", "metadata": {}, "source": source, **outputs, **more}


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "one.ipynb"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_notebook(path)

    return read


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hello", "is no notebook: it is not in JSON, or only a part of it is there"),
        (notebook()[:-1], "only a part of it is there"),
        ("[1]", "is no notebook: it holds something else"),
        ("{}", "is no notebook: it holds something else"),
        ("null", "is no notebook: it holds something else"),
        ("[" * 100_000, "is nested too deeply"),
        (b"\xff\xfe\x00", "is no text in UTF-8"),
        (notebook(3), "is no notebook that can be read"),
        (notebook({"cell_type": "code"}), "is no notebook that can be read"),
        (notebook(nbformat=99), "is no notebook that can be read: Unsupported nbformat version 99"),
        (notebook(nbformat="four"), "is no notebook: it holds something else"),
        ('{"nbformat": 3, "worksheets": 7}', "is no notebook that can be read"),
    ],
)
def test_what_is_no_notebook_says_so_in_one_line(text, says, read):
    found, reason = read(text)
    assert found is None and says in reason and "\n" not in reason
    assert not any(word in reason for word in ("object", "argument", "key", "Error"))


@pytest.mark.parametrize(
    "cell",
    [
        code(),
        code(["x ", "= 1"]),
        code(outputs=[{"output_type": "nonsense"}]),
        code(metadata={"tags": "exercise-1", "id": 3}),
        code(id="not an id!"),
        code(surplus=1),
    ],
)
def test_a_fault_beside_the_code_does_no_harm(cell, read):
    found, reason = read(notebook(cell))
    assert reason is None and [one.source for one in found.cells] == ["x = 1"]


def test_half_a_character_in_a_cell_is_replaced_as_no_kernel_takes_it(read):
    found, _ = read(notebook(code("x = '\ud800é'")))
    assert found.cells[0].source == "x = '?é'"


def test_a_file_of_windows_is_read(read):
    assert read(b"\xef\xbb\xbf" + notebook(code()).encode())[1] is None


def test_ids_and_tags_are_kept_and_a_cell_cannot_give_itself_out_for_a_trusted_one(read, tmp_path):
    cell = v4.new_code_cell("x", id="own", metadata={"tags": ["t"], "trusted-check": 1})
    nbformat.write(v4.new_notebook(cells=[cell]), tmp_path / "made.ipynb")
    found, _ = read((tmp_path / "made.ipynb").read_bytes())
    assert found.cells[0].metadata == {"id": "own", "tags": ["t"]}
    assert exercise_of(found.cells[0]) is None
