"""What became of a handed-in notebook, as rows of the table.

The worker's words and the checks' outcomes come from a process in which a student's code runs:
they are read as data, and whatever does not look as it should is passed over.
"""

import json
from dataclasses import dataclass

# A check of an exercise gives one of the first four. "not reached" says that there is no verdict,
# and "note" goes with something of the whole notebook.
RESULTS = ("passed", "failed", "waiting", "not judged", "not reached", "note")

_WITHOUT_OUTCOME = "The check ended early: what it needs is not there, or ended it."
_LONGEST_MESSAGE = 5_000
_MOST_NOTES = 10


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    file : str
    lab : str
        Empty where it is not known.
    exercise : int or None
        None where the row is about the whole file.
    name : str
        What the exercise asks for, such as ``clip_rows``.
    result : str
        One of ``RESULTS``.
    message : str
    """

    file: str
    lab: str
    exercise: int | None
    name: str
    result: str
    message: str


def whole_file(file, message, lab=""):
    """Return the one row of a file that could not be run."""
    return Row(file, lab, None, "", "not reached", message)


def rows_of_run(file, lab, checks, events, outcomes, reason):
    """Return the rows of a notebook that was run: one for each exercise, and notes.

    Parameters
    ----------
    file, lab : str
    checks : list of Check
    events : list of dict
        What the worker told.
    outcomes : bytes
        The file that the checks wrote.
    reason : str
        Why the run ended before the last cell; empty if it did not.
    """
    verdicts = _verdicts(outcomes)
    for event in events:
        if event["event"] == "error" and event["check"] == 0:
            message = f"The course's own checks could not be loaded: {event['error']}"
            return [Row(file, lab, one.number, one.name, "not reached", message) for one in checks]
    # The last trusted cell's own error, as when a name does not exist.
    errors = {e["check"]: e["error"] for e in events if e["event"] == "error" and e["check"]}
    rows = []
    for check in checks:
        if check.number in verdicts:
            result, message = verdicts[check.number]
        elif check.number in errors:
            result = "failed"
            message = f"{_WITHOUT_OUTCOME} {errors[check.number]}"
        else:
            result = "not reached"
            message = reason or "The check ran and wrote no outcome."
        rows.append(Row(file, lab, check.number, check.name, result, message[:_LONGEST_MESSAGE]))
    notes = list(_notes(events))
    if reason and not any(row.result == "not reached" for row in rows):
        notes.append(reason)
    shown = notes[:_MOST_NOTES]
    if len(notes) > _MOST_NOTES:
        shown.append(f"{len(notes) - _MOST_NOTES} more cells failed.")
    return rows + [Row(file, lab, None, "", "note", note) for note in shown]


def read_event(line):
    """Return what a line of the worker's says, or None if it is not one of them."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        return None
    place = {"number": int, "first_line": str}
    wanted = {
        "lab": {"lab": str},
        "refused": {"reason": str},
        "cell": {"total": int, "section": str, **place},
        "error": {"error": str, **place},
        "died": {},
        "broken": {"reason": str},
        "end": {},
    }.get(event["event"])
    if wanted is None or not all(isinstance(event.get(k), kind) for k, kind in wanted.items()):
        return None
    if not isinstance(event.get("check"), int | None):
        return None
    return {"check": None, **event}


def _verdicts(outcomes):
    """Return {exercise: (result, message)} from the lines that the checks wrote."""
    found = {}
    for line in outcomes.decode("utf-8", errors="replace").splitlines():
        try:
            outcome = json.loads(line)
        except (ValueError, RecursionError):
            continue
        match outcome:
            case {"exercise": int(number), "status": str(status), "message": str(message)}:
                if status in RESULTS[:4] and not isinstance(number, bool):
                    found[number] = status, message
    return found


def _notes(events):
    """Yield a sentence for each of the notebook's own cells that failed."""
    for event in events:
        if event["event"] == "error" and event["check"] is None:
            yield (
                f"Code cell {event['number']} failed: {event['error']}\n"
                f"Its first line: {event['first_line']}"
            )
