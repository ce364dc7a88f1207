"""What the exercises' checks said in a run, and what of it must not be published."""

import json


def read_checks(path):
    """Return the lines that the checks of a run wrote to the file of ``COURSE_CHECKS``.

    Parameters
    ----------
    path : path
        It need not exist: a lab without exercises writes none.

    Returns
    -------
    list of dict
        Each with ``exercise``, ``passed``, ``status`` and ``message``, in the order of the run.
    """
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def check_faults(checks, exercises, profile, solved):
    """Say which exercises a run did not leave as it should.

    In the solved form every reference answer passes its check; an experiment is not judged in
    the smoke profile. In the student's form every exercise waits.

    Parameters
    ----------
    checks : list of dict
        As ``read_checks`` returns them; the last one of an exercise counts.
    exercises : iterable of int
        The numbers of the lab's exercises.
    profile : str
    solved : bool

    Returns
    -------
    list of str
        One line for each such exercise; empty when all is well.
    """
    last = {check["exercise"]: check for check in checks}
    good = {"passed"} if solved else {"waiting"}
    if solved and profile == "smoke":
        good.add("not judged")
    faults = []
    for number in sorted({*exercises, *last}):
        if number not in last:
            faults.append(f"exercise {number} has no check: add `ex.check({number}, ...)`")
        elif last[number]["status"] not in good:
            form = "the reference answer" if solved else "the student's stub"
            faults.append(f"exercise {number}, {form}: {' '.join(last[number]['message'].split())}")
    return faults
