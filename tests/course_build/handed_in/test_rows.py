import json

import pytest

from course_build.handed_in.rows import read_event, rows_of_run
from course_build.handed_in.trusted_cells import Check

CHECKS = [Check(1, "mean_of_rows", "", ()), Check(2, "clip", "", ())]


def outcome(number, status, message="said"):
    return json.dumps({"exercise": number, "passed": None, "status": status, "message": message})


def cell_error(check, error="ValueError: x", number=1):
    return {"event": "error", "number": number, "first_line": "f()", "check": check, "error": error}


def results(outcomes="", events=(), reason=""):
    rows = rows_of_run("a.ipynb", "coins", CHECKS, list(events), outcomes.encode(), reason)
    return [(row.exercise, row.result, row.message) for row in rows]


def test_the_last_outcome_of_an_exercise_counts():
    lines = "\n".join([outcome(1, "waiting"), outcome(1, "passed"), outcome(2, "not judged")])
    assert results(lines) == [(1, "passed", "said"), (2, "not judged", "said")]


def test_an_exercise_without_an_outcome_says_why():
    said = results(outcome(1, "failed"), reason="It hung.")
    assert said == [(1, "failed", "said"), (2, "not reached", "It hung.")]


def test_an_end_after_the_last_check_is_a_note():
    said = results(outcome(1, "passed") + "\n" + outcome(2, "passed"), reason="It hung.")
    assert said[2:] == [(None, "note", "It hung.")]


def test_checks_that_cannot_be_loaded_are_nobodys_failure():
    events = [cell_error(0, "ImportError: no numpy"), cell_error(1, "NameError: x")]
    said = results(events=events)
    assert [row[1] for row in said] == ["not reached", "not reached"]
    assert "could not be loaded: ImportError: no numpy" in said[0][2]


def test_of_many_failing_cells_the_first_are_told():
    said = results(outcome(1, "passed"), [cell_error(None, number=n) for n in range(1, 40)], "x")
    notes = [message for exercise, _, message in said if exercise is None]
    assert len(notes) == 11 and notes[0].startswith("Code cell 1 failed: ValueError: x\n")
    assert notes[-1] == "29 more cells failed."


@pytest.mark.parametrize(
    "line",
    ["", "x", "[]", "null", "1e999", "[" * 10**5, '{"exercise": 1}', outcome("1", "passed"),
     outcome(1, "<b>"), outcome(1, "note"), outcome(9, "passed"), outcome(1, "passed", None),
     outcome(1.0, "passed"), outcome(True, "passed")],
)  # fmt: skip
def test_an_outcome_of_another_form_is_none(line):
    assert [row[1] for row in results(line)] == ["not reached", "not reached"]


def test_a_long_message_is_cut():
    assert len(results(outcome(1, "failed", "x" * 10**6))[0][2]) == 5_000


@pytest.mark.parametrize(
    "event",
    [{"event": "end"}, {"event": "lab", "lab": "coins"}, {"event": "refused", "reason": "no"},
     cell_error(3), cell_error(None)],
)  # fmt: skip
def test_what_the_worker_tells_is_read(event):
    assert read_event(json.dumps(event)) == {"check": None, **event}


@pytest.mark.parametrize(
    "line",
    ["", "{", "[]", "3", "{}", '{"event": "lab"}', '{"event": "lab", "lab": 3}',
     '{"event": ["end"]}', '{"event": "cell", "number": 1}', "[" * 10**5,
     '{"event": "end", "check": "x"}'],
)  # fmt: skip
def test_what_the_worker_does_not_tell_is_passed_over(line):
    assert read_event(line) is None
