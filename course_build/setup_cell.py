"""The set-up cell: what lets a notebook run on its own, the same in every lab.

A student has one ``.ipynb``. Where ``course_lib`` can be imported already, or the notebook lies
inside a copy of the course, nothing is fetched. Elsewhere the cell clones the course at the tag
that the notebook was built from, library and data together. Packages that are missing are a
matter for the library that is then there: ``course_lib.installation``.

The cell is plain Python, with neither magics nor a look at who runs it, so that Colab, JupyterLab
and VS Code run the same lines. Colab shows it as a form, by its title alone, until the student asks
for the code. JupyterLab could hide it too, but would leave a bar without a word in its place, so
there it stays open: it is short enough to be read.
"""

import json

from course_build.source import SETUP_ID, Cell

# Colab's form: the first line gives the title, the metadata keep the code folded.
FORM_TITLE = "Set-up: run this cell first"
FORM_METADATA = {"cellView": "form"}

_TEXT = """\
# Where the course and the packages it needs are already there, this cell does nothing. Elsewhere,
# as in Colab, it fetches the course, code and data, into a folder beside the notebook, and it
# installs the packages that are missing. It never changes a package that is there.
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("COURSE_LANG", @LANGUAGE@)
repository = os.environ.get("COURSE_REPO", @REPOSITORY@)
ref = @REF@
here = Path.cwd()
own = here / @FOLDER@


class NoCourseError(RuntimeError):
    def _render_traceback_(self):  # Jupyter then shows the message alone
        return [str(self)]


def fetch():
    print(f"Fetching the course from {repository} (once; a few seconds) ...")
    command = ["git", "clone", "--quiet", "--depth", "1", "--branch", ref, "--", repository]
    how = {"check": True, "capture_output": True, "text": True, "errors": "replace", "timeout": 900}
    how["env"] = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        with tempfile.TemporaryDirectory(dir=here) as place:
            clone = Path(place, "course")
            subprocess.run([*command, str(clone)], **how)
            clone.rename(own)
    except (OSError, subprocess.SubprocessError) as failure:
        error = str(getattr(failure, "stderr", None) or failure).split("\\n")[0]
        raise NoCourseError(
            f"The course could not be fetched from {repository} ({ref}) into {here}, which takes "
            "git, a network connection and permission to write there. "
            f"What went wrong: {error}"
        ) from None
    return own


if importlib.util.find_spec("course_lib") is None:
    copies = [p for p in (own, here, *here.parents) if (p / "course_lib").is_dir()]
    sys.path.append(str(copies[0] if copies else fetch()))

from course_lib.installation import install_missing

install_missing()
"""


def setup_cell(address, language="en"):
    """The set-up cell of the notebooks in a language, its own text in English."""
    values = {
        "LANGUAGE": language,
        "REPOSITORY": address.repository,
        "REF": address.ref,
        "FOLDER": "course-" + address.ref.replace("/", "-"),
    }
    text = _TEXT
    for name, value in values.items():
        text = text.replace(f"@{name}@", json.dumps(value))
    return Cell(SETUP_ID, "code", text.rstrip("\n"))


def as_form(text, title=FORM_TITLE):
    """The text of a set-up cell under its title, as Colab reads one."""
    return f"# @title {title}\n{text}"
