"""Solutions and what a student gets in their place."""

import pytest

from course_build.solutions import stripped
from course_build.source import Cell, Source


def student_text(tmp_path, text):
    source = Source(tmp_path / "lab.py", (Cell("exercise", "code", text),))
    student, problems = stripped(source)
    assert not problems
    return student.cells[0].text


def test_stub_stands_at_the_indentation_of_the_region(tmp_path):
    solved = (
        "def clip(rows, norm):\n"
        '    """Clip rows."""\n'
        "    if norm:\n"
        "        # BEGIN SOLUTION\n"
        "        norms = rows.norm(dim=1)\n"
        "        return rows / norms\n"
        "        # STUB if rows is None:\n"
        "        # STUB     return rows\n"
        "        # STUB return None\n"
        "        # END SOLUTION\n"
        "    return rows"
    )
    assert student_text(tmp_path, solved) == (
        "def clip(rows, norm):\n"
        '    """Clip rows."""\n'
        "    if norm:\n"
        "        # Your code here\n"
        "        if rows is None:\n"
        "            return rows\n"
        "        return None\n"
        "    return rows"
    )


def test_region_in_a_block_without_stub_becomes_pass(tmp_path):
    solved = "for x in xs:\n    # BEGIN SOLUTION\n    total = total + x\n    # END SOLUTION"
    assert student_text(tmp_path, solved) == "for x in xs:\n    # Your code here\n    pass"


def test_region_outside_of_blocks_without_stub_leaves_its_place(tmp_path):
    solved = "# BEGIN SOLUTION\nepsilon = 1\n# END SOLUTION\n# BEGIN SOLUTION\n# END SOLUTION"
    assert student_text(tmp_path, solved) == "# Your code here\n# Your code here"


@pytest.mark.parametrize(
    "shown",
    ["answer = rows/ norms.clamp(min=1)", "x = 1; answer=rows / norms.clamp( min = 1 )  # so"],
)
def test_layout_does_not_hide_a_line_of_a_solution(tmp_path, shown):
    solved = "# BEGIN SOLUTION\nanswer = rows / norms.clamp(min=1)\n# END SOLUTION"
    cells = (Cell("shown", "code", shown, line=3), Cell("exercise", "code", solved, line=10))
    _, problems = stripped(Source(tmp_path / "lab.py", cells))
    assert [(problem.line, problem.cell) for problem in problems] == [(3, "shown")]


def test_imports_and_heads_of_blocks_give_nothing_away(tmp_path):
    lines = "import math\nfrom math import exp\nwith torch.no_grad():\n    y = 1"
    solved = f"# BEGIN SOLUTION\n{lines}\n# END SOLUTION"
    cells = (Cell("shown", "code", lines), Cell("exercise", "code", solved))
    assert stripped(Source(tmp_path / "lab.py", cells))[1] == []


def test_marks_of_different_depth_do_not_match(tmp_path):
    text = "if x:\n    # BEGIN SOLUTION\n    y = 1\n# END SOLUTION"
    _, problems = stripped(Source(tmp_path / "lab.py", (Cell("exercise", "code", text),)))
    assert "is not indented as its `# BEGIN SOLUTION`" in str(problems[0])
