"""The table as a page for a person: who has done what at a glance, then what was said.

The page needs nothing but itself: no script, no picture, no network. Every text in it that comes
from a notebook or its name is escaped.
"""

from dataclasses import dataclass
from html import escape
from itertools import groupby

_SIGNS = {
    "passed": ("✓", "passed"),
    "failed": ("✗", "failed"),
    "waiting": ("…", "waiting for an answer"),
    "not judged": ("–", "not judged at this size"),
    "not reached": ("∅", "not reached"),
}

# The page may load nothing, run nothing and send nothing, whatever text stands in it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

_STYLE = """\
:root { color-scheme: light; }
body { margin: 0 auto; padding: 1.5rem 2rem 4rem; max-width: 68rem; background: #fff;
  color: #1a1a1a; font: 1rem/1.5 system-ui, "Segoe UI", "Noto Sans", sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .2rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; overflow-wrap: anywhere; }
p { margin: .4rem 0; max-width: 46rem; }
a { color: #0b4a8f; }
.about { border: 1px solid #8a8a8a; border-radius: 6px; padding: .6rem 1rem; margin: 1rem 0; }
.about p, .legend { max-width: none; }
.about ul { margin: .3rem 0; padding-left: 1.2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { border: 1px solid #b5b5b5; padding: .3rem .6rem; text-align: center; }
thead th { background: #f0f0f0; vertical-align: bottom; }
thead code { font-size: .8rem; font-weight: normal; }
tbody th { text-align: left; font-weight: normal; overflow-wrap: anywhere; min-width: 12rem; }
td a { display: block; text-decoration: none; color: inherit; }
td.why { text-align: left; overflow-wrap: anywhere; }
td.passed { background: #d9f0dd; }
td.failed { background: #f9d9d5; }
td.waiting { background: #fdf1cf; }
td.not-reached { background: #e4e4e4; }
.legend span { margin-right: 1.2rem; white-space: nowrap; }
pre { margin: .3rem 0 .8rem; padding: .5rem .8rem; background: #f6f6f6;
  border-left: 3px solid #8a8a8a;
  font: .875rem/1.45 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; }
@media print { body { max-width: none; padding: 0; } pre, h3 { break-inside: avoid; } }
"""


@dataclass(frozen=True)
class About:
    """What a page says of how it came about.

    Attributes
    ----------
    when : str
    settings : list of str
        Sentences on the profile and the limits.
    isolation : list of str
        Sentences on what was kept apart, and what was not.
    """

    when: str
    settings: list
    isolation: list


def page(rows, labs, about):
    """Return the page, in HTML.

    Parameters
    ----------
    rows : list of Row
    labs : dict
        The checks of each lab, by its name.
    about : About
    """
    files = {}
    for row in rows:
        files.setdefault(row.file, []).append(row)
    anchors = {file: f"file-{n}" for n, file in enumerate(files, start=1)}
    body = [
        "<h1>Handed-in notebooks</h1>",
        f"<p>Files: {len(files)}. Checked on {escape(about.when)}.</p>",
        *_about(about),
        *_matrices(files, labs, anchors),
        *_messages(files, anchors),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Handed-in notebooks</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _about(about):
    yield '<div class="about">'
    yield (
        "<p><strong>Feedback, and not an exam.</strong> Each notebook ran from top to bottom in a "
        "fresh kernel. The checks are the course's own: what a student printed, changed or deleted "
        "in a check cell does not count. But a student's code runs in the same process as the "
        "checks. Code that is written to deceive can forge a verdict. Before you mark by this "
        "page, read the notebook.</p>"
        "<p><strong>Other people's code ran on this machine.</strong> It was bounded and kept "
        "apart like this:</p>"
    )
    yield "<ul>"
    for sentence in [*about.settings, *about.isolation]:
        yield f"<li>{escape(sentence)}</li>"
    yield "</ul></div>"


def _matrices(files, labs, anchors):
    """For each lab a table of its files and exercises; then the files without a verdict."""
    yield '<p class="legend">'
    for sign, meaning in _SIGNS.values():
        yield f"<span>{sign} {meaning}</span>"
    yield "</p>"
    for lab, checks in labs.items():
        mine = {file: rows for file, rows in files.items() if any(row.lab == lab for row in rows)}
        if mine:
            yield f"<h2>{escape(lab)}</h2>"
            yield from _matrix(mine, checks, anchors)
    rest = [file for file, rows in files.items() if not any(row.lab for row in rows)]
    if rest:
        yield "<h2>Not run</h2>"
        yield '<div class="scroll"><table><thead><tr><th>file</th><th>why</th></tr></thead><tbody>'
        for file in rest:
            why = "<br>".join(_shown(row.message) for row in files[file])
            yield f'<tr><th scope="row">{_shown(file)}</th><td class="why">{why}</td></tr>'
        yield "</tbody></table></div>"


def _matrix(files, checks, anchors):
    yield '<div class="scroll"><table><thead><tr><th scope="col">file</th>'
    for check in checks:
        name = _shown(check.name).replace("_", "_<wbr>")  # where a long one may be broken
        yield f'<th scope="col">{check.number}<br><code>{name}</code></th>'
    yield '<th scope="col">passed</th></tr></thead><tbody>'
    for file, rows in files.items():
        anchor = anchors[file]
        results = {row.exercise: row.result for row in rows if row.exercise is not None}
        yield f'<tr><th scope="row"><a href="#{anchor}">{_shown(file)}</a></th>'
        for check in checks:
            result = results.get(check.number, "not reached")
            sign, meaning = _SIGNS[result]
            kind = result.replace(" ", "-")
            yield (
                f'<td class="{kind}"><a href="#{anchor}" title="{meaning}" '
                f'aria-label="{meaning}">{sign}</a></td>'
            )
        passed = list(results.values()).count("passed")
        yield f"<td>{passed} of {len(checks)}</td></tr>"
    yield "</tbody></table></div>"


def _messages(files, anchors):
    """What was said of each notebook that ran, but for what passed."""
    run = {file: rows for file, rows in files.items() if any(row.lab for row in rows)}
    if run:
        yield "<h2>What was said</h2>"
    for file, rows in run.items():
        yield f'<h3 id="{anchors[file]}">{_shown(file)}</h3>'
        told = [row for row in rows if row.result != "passed"]
        if not told:
            yield "<p>All exercises passed.</p>"
        # One message often stands for several exercises: those that were not reached.
        for (result, message), alike in groupby(told, key=lambda row: (row.result, row.message)):
            named = [_named(row) for row in alike if row.exercise is not None]
            if named:
                yield f"<p>Exercise {', '.join(named)}: {_SIGNS[result][1]}</p>"
            yield f"<pre>{_shown(message)}</pre>"


def _named(row):
    name = f" (<code>{_shown(row.name)}</code>)" if row.name else ""
    return f"{row.exercise}{name}"


def _shown(text):
    """Return a message escaped, without what would hide or reorder its characters."""
    kept = (c if c.isprintable() or c == "\n" else "\ufffd" for c in text.replace("\t", "    "))
    return escape("".join(kept))
