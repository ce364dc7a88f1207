"""What is said at the end of a build: a table of the labs, what moved, what failed and where."""

from course_build.progress import clock

# Of the figures that moved, as many a lab are shown.
_SHOWN = 10


def summary(outcomes):
    """Return the lines of the summary of a build.

    Parameters
    ----------
    outcomes : list of Outcome
        One a lab.
    """
    return [*_table(outcomes), *_moved(outcomes), *_failed(outcomes)]


def _table(outcomes):
    rows = [("lab", "", "time", "figures", "claims", "moved"), *map(_row, outcomes)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = list(zip(row, widths, strict=True))
        texts = [text.ljust(width) for text, width in cells[:2]]
        numbers = [text.rjust(width) for text, width in cells[2:]]
        yield "  ".join([*texts, *numbers]).rstrip()


def _row(outcome):
    time = "" if outcome.seconds is None else clock(outcome.seconds)
    if outcome.contents is None:
        return outcome.lab, outcome.state, time, "", "", ""
    claims = outcome.contents["claims"]
    held = sum(claim["holds"] for claim in claims)
    return (
        outcome.lab,
        outcome.state,
        time,
        str(len(outcome.contents["results"])),
        f"{held} of {len(claims)}",
        "" if outcome.moved is None else str(len(outcome.moved)),
    )


def _moved(outcomes):
    moved = [outcome for outcome in outcomes if outcome.moved]
    if moved:
        yield "moved since the committed results:"
    for outcome in moved:
        for one in outcome.moved[:_SHOWN]:
            yield f"  {outcome.lab}  {one}"
        if len(outcome.moved) > _SHOWN:
            yield f"  {outcome.lab}  and {len(outcome.moved) - _SHOWN} more"


def _failed(outcomes):
    for state in ("failed", "stopped", "not run"):
        for outcome in outcomes:
            if outcome.state == state:
                parts = [outcome.headline, outcome.kept]
                yield f"{state}: {outcome.lab}: {'; '.join(filter(None, parts))}".rstrip(": ")
