"""One run over a folder that holds every kind of notebook, good and bad, and what it gave."""

import json
import os
import tempfile

import pytest

from course_build.render import as_text, student_form

from .conftest import LAB, write_notebook

OVERLAP = (
    "import time\nbegan = time.time()\ntime.sleep(2)\nraise RuntimeError([began, time.time()])"
)
SECRET = "only the teacher may read this"


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory, source, cells):
    """The folder."""
    folder = tmp_path_factory.mktemp("handed-in")
    start, logit, ratio = cells["parameters"], cells["true-label-logit"], cells["log-ratio"]

    def write(name, *codes):
        write_notebook(folder / f"{name}.ipynb", *codes)

    # A notebook takes seconds, so each shows several things.
    write(
        "a1 at once",
        start,
        ("cell", "# the share\n1 / 0"),
        OVERLAP,
        logit,
        "= 1",
        ratio,
        "np.empty(10**9)",
        "for _ in range(30):\n    print('x' * 10**6)",
        "input()",
    )
    write(
        "a2 at once <b>=odd;\n\u202e'\"&é",
        start,
        OVERLAP,
        "import os\nraise RuntimeError(sorted(os.environ.items()))",
        "import tempfile\nhome, temporary = os.path.expanduser('~'), tempfile.gettempdir()\n"
        "raise RuntimeError([os.getcwd(), os.listdir(), home, temporary])",
        "raise ValueError('<script>')",
        "exit()",
    )
    stubs = student_form(source, translations={})
    (folder / "stubs.ipynb").write_text(as_text(stubs), encoding="utf-8")
    wrong = ratio.replace("ddof=1", "ddof=0")
    another = ratio.replace("log_ratio", "another") + "\n\n\nex.check(2, another)"
    write(
        "forged",
        start,
        another,
        'print("✓ Exercise 1 (true_label_logit): right.")',
        "class ex:\n    check = staticmethod(lambda *_: print('right'))\nExercises = ex",
        "import os\nos.environ['COURSE_CHECKS'] = 'mine'\nos.environ['COURSE_PROFILE'] = 'full'",
        ("check-1", "ex.check(1, None)"),
        wrong,
        ("check-2", "print('right')"),
    )
    write(
        "shadowed",
        "open('course_lib.py', 'w').write('raise SystemExit')",
        start,
        "lab.profile = 'quick'\nassert lab.keep_in('networks') is None",
        "import sys\nsys.stdout.close()",
        logit,
        "import os\nos.kill(os.getpid(), 9)",
        ratio,
    )
    write("another lab", 'from course_lib.lab import Lab\nlab = Lab("nobody")')
    write("no lab", "print(1)")
    old = (start, logit, ratio, "%reset -f", start, ratio, "raise ValueError('in the end')")
    write_old_notebook(folder / "old.ipynb", *old)
    write_colab_notebook(folder / "colab.ipynb", source)
    write_what_is_none(folder)
    return folder


def write_old_notebook(path, *codes):
    made = [
        {"cell_type": "code", "input": [c], "language": "python", "metadata": {}, "outputs": []}
        for c in codes
    ]
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": made}]}
    path.write_text(json.dumps(old), encoding="utf-8")


def write_colab_notebook(path, source):
    """As Colab saves one: format 4.0, the ids in the metadata; and one name is used again."""
    made = [
        {
            "cell_type": "code",
            "execution_count": None,
            "outputs": [],
            "metadata": {"id": c.id, "tags": list(c.tags)},
            "source": c.text,
        }
        for c in source.cells
        if c.kind == "code"
    ]
    made.append(
        {**made[0], "metadata": {"id": "later"}, "source": "# if log_ratio == 1\nlog_ratio"}
    )
    contents = {"nbformat": 4, "nbformat_minor": 0, "metadata": {"colab": {}}, "cells": made}
    path.write_text(json.dumps(contents), encoding="utf-8")


def write_what_is_none(folder):
    """Files that are no notebooks."""
    (folder / "student b").mkdir()
    (folder / "student b" / "essay.pdf").write_bytes(b"%PDF")
    (folder / "empty.ipynb").write_bytes(b"")
    (folder / "text.ipynb").write_text("print('hello')", encoding="utf-8")
    with open(folder / "huge.ipynb", "wb") as file:
        file.truncate(10**9)
    (folder / "secret.txt").write_text(SECRET, encoding="utf-8")
    (folder / "link.ipynb").symlink_to(folder / "secret.txt")
    (folder / "folder.ipynb").mkdir()
    os.mkfifo(folder / "pipe.ipynb")
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / ".ipynb_checkpoints" / "copy.ipynb").write_text("{}", encoding="utf-8")


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def temporary():
    """The folder for temporary files during the run."""
    with tempfile.TemporaryDirectory() as folder:
        yield os.path.realpath(folder)


@pytest.fixture(scope="module")
def table(handed_in, out, check, temporary):
    """The table of the run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKEN_OF_THE_TEACHER", SECRET)
        patch.setattr(tempfile, "tempdir", temporary)
        status, table = check(handed_in, out, "--jobs", "2", "--timeout", "120")
    assert status == 0
    return table


def verdicts(table, name):
    return [result for exercise, (result, _) in table[f"{name}.ipynb"].items() if exercise]


def note(table, name):
    return table[f"{name}.ipynb"][""][1]


@pytest.fixture(scope="module")
def mixed(table):
    """The name of the notebook that shows what a notebook can see."""
    return next(name.removesuffix(".ipynb") for name in table if "odd" in name)


def test_solved_exercises_pass_and_stubs_wait(table):
    assert verdicts(table, "colab") == ["passed", "passed"]
    assert verdicts(table, "stubs") == ["waiting", "waiting"]
    assert "" not in table["colab.ipynb"]  # no cell failed: its ids were found in the metadata


def test_a_wrong_answer_fails_with_what_the_check_says_of_it(table):
    assert verdicts(table, "forged")[1] == "failed"
    assert "divided by n" in table["forged.ipynb"]["2"][1]


def test_later_cells_run_when_earlier_ones_fail_and_the_failures_are_noted(table):
    assert verdicts(table, "a1 at once") == ["passed", "passed"]
    assert note(table, "a1 at once").split("\n")[:2] == [
        "Code cell 2 failed: ZeroDivisionError: division by zero",
        "Its first line: # the share",
    ]
    assert "Code cell 5 failed: SyntaxError" in note(table, "a1 at once")


def test_a_cell_that_asks_for_input_fails_and_does_not_wait(table):
    assert "Code cell 9 failed: StdinNotImplementedError" in note(table, "a1 at once")


def test_a_verdict_does_not_depend_on_what_a_student_prints_or_writes_into_check_cells(table):
    assert verdicts(table, "forged") == ["failed", "failed"]
    assert "name 'true_label_logit' is not defined" in table["forged.ipynb"]["1"][1]


def test_the_courses_own_library_is_used_whatever_lies_in_the_working_folder(table):
    assert verdicts(table, "shadowed")[0] == "passed"


def test_a_lab_keeps_nothing_for_the_next_notebook(table):
    assert "" not in table["shadowed.ipynb"]


def test_a_notebook_that_resets_its_names_or_closes_its_output_is_checked(table):
    assert verdicts(table, "shadowed")[0] == "passed"
    assert verdicts(table, "old") == ["passed", "passed"]
    assert "ValueError: in the end" in note(table, "old")  # all of it ran, format 3 as it is


def test_a_kernel_that_is_killed_keeps_the_verdicts_before_it(table):
    assert verdicts(table, "shadowed") == ["passed", "not reached"]
    assert "kernel died in code cell 6 of 7" in table["shadowed.ipynb"]["2"][1]


def test_an_array_that_is_too_large_is_an_error_of_its_cell(table):
    assert "Code cell 7 failed: " in note(table, "a1 at once")
    assert "Unable to allocate 7.45 GiB" in note(table, "a1 at once")


def test_the_teachers_environment_is_not_visible(table, mixed):
    seen = note(table, mixed)
    assert "'COURSE_PROFILE', 'smoke'" in seen
    assert SECRET not in seen and "TOKEN_OF_THE_TEACHER" not in seen


def test_a_notebook_works_and_lives_in_its_own_empty_folder(table, mixed, temporary):
    seen = note(table, mixed).split("Code cell 4 failed")[1]
    assert seen.count(os.path.join(temporary, "handed-in-")) == 3 and "/work', [], '" in seen


def test_nothing_is_left_of_the_working_folders(table, temporary):
    assert os.listdir(temporary) == []


def test_two_notebooks_run_at_once(table):
    (first, first_end), (second, second_end) = (
        json.loads(rows[""][1].split("RuntimeError: ")[1].split("\n")[0])
        for name, rows in table.items()
        if "at once" in name
    )
    assert max(first, second) < min(first_end, second_end)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("student b/essay.pdf", "its name does not end in .ipynb"),
        ("empty.ipynb", "is empty"),
        ("text.ipynb", "is not in JSON"),
        ("huge.ipynb", "is too large: 954 MiB"),
        ("link.ipynb", "is a link"),
        ("folder.ipynb", "is a folder"),
        ("pipe.ipynb", "is no plain file"),
        ("no lab.ipynb", "is not recognised as a lab"),
        ("another lab.ipynb", f'the lab "nobody"; those with exercises are: {LAB}'),
    ],
)
def test_what_is_no_notebook_of_the_course_is_one_row(name, says, table):
    [(exercise, (result, message))] = table[name].items()
    assert (exercise, result) == ("", "not reached") and says in message


def test_hidden_files_and_jupyters_own_copies_are_left_out(table, handed_in):
    assert len(table) == 17 and not any("copy" in name for name in table)


def test_an_odd_name_is_shown_escaped_and_is_no_formula(table):
    [name] = [name for name in table if "odd" in name]
    assert name == "a2 at once <b>=odd;\\n\\u202e'\"&é.ipynb"
    assert "ValueError: <script>" in table[name][""][1]


def test_the_page_holds_every_file_and_renders_nothing_of_a_notebook(table, out):
    page = (out / "checks.html").read_text(encoding="utf-8")
    assert "<script" not in page and "ValueError: &lt;script&gt;" in page
    assert "&lt;b&gt;=odd;\\n\\u202e&#x27;&quot;&amp;é.ipynb" in page
    assert SECRET not in page and "link.ipynb" in page
    assert "http://" not in page and "https://" not in page  # it loads nothing
