"""What became of a handed-in notebook, as rows of the table.

The worker's words and the checks' outcomes come from a process in which a student's code runs:
they are read as data, and whatever does not look as it should is passed over.
"""

import json
from dataclasses import dataclass

# A check of an exercise gives one of the first four. "not reached" says that there is no verdict,
# and "note" goes with something of the whole notebook.
RESULTS = ("passed", "failed", "waiting", "not judged", "not reached", "note")

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
    # The last trusted cell's own error, as when a name does not exist.
    errors = {e["check"]: e["error"] for e in events if e["event"] == "error" and e["check"]}
    notes = list(_notes(events, reason))
    rows = []
    for check in checks:
        if check.number in verdicts:
            result, message = verdicts[check.number]
        elif check.number in errors:
            result = "failed"
            message = (
                f"What the check needs is not there after the cells ran. {errors[check.number]}"
            )
        else:
            result = "not reached"
            message = reason or "The check ran and wrote no outcome."
        rows.append(Row(file, lab, check.number, check.name, result, message[:_LONGEST_MESSAGE]))
    shown = notes[:_MOST_NOTES]
    if len(notes) > _MOST_NOTES:
        shown.append(f"and {len(notes) - _MOST_NOTES} more cells failed")
    return rows + [Row(file, lab, None, "", "note", note) for note in shown]


def read_event(line):
    """Return what a line of the worker's says, or None if it is not one of them."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    place = {"number": int, "cell_id": str, "first_line": str}
    wanted = {
        "lab": {"lab": str},
        "refused": {"reason": str},
        "cell": {"total": int, "section": str, **place},
        "error": {"error": str, **place},
        "died": {},
        "broken": {"reason": str},
        "end": {},
    }.get(event.get("event"))
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
                if status in RESULTS[:4]:
                    found[number] = status, message
    return found


def _notes(events, reason):
    """Yield a sentence for each of the notebook's own cells that failed, and for an early end."""
    for event in events:
        if event["event"] != "error" or event["check"]:
            continue
        if event["check"] == 0:
            yield f"The course's checks could not be loaded: {event['error']}"
            continue
        called = f" ({event['cell_id']})" if event["cell_id"] else ""
        yield (
            f"Cell {event['number']}{called} failed: {event['error']}\n"
            f"Its first line: {event['first_line']}"
        )
    if reason:
        yield reason
