"""The set-up cell: what lets a notebook run on its own, the same in every lab.

A student has one ``.ipynb``. Where ``course_lib`` can be imported already, or the notebook lies
inside a copy of the course, the cell is silent. Elsewhere it clones the course at the tag that
the notebook was built from, library and data together, and installs what is missing. Packages
that are there are given to pip as constraints, so that pip refuses to change one.
"""

import json

from course_build.source import SETUP_ID, Cell

_TEXT = """\
# Set-up: run this cell first. Inside a copy of the course it does nothing. On its own, as in
# Colab, it fetches the course's code and data into a folder beside the notebook and installs the
# packages that are missing. It never changes a package that is there.
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import distributions
from pathlib import Path

os.environ.setdefault("COURSE_LANG", @LANGUAGE@)
repository = os.environ.get("COURSE_REPO", @REPOSITORY@)
ref = @REF@


def run(*command):
    quiet = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    subprocess.run(command, check=True, capture_output=True, text=True, env=quiet, timeout=900)


def fetch(folder):
    print(f"Fetching the course from {repository} (once; a few seconds) ...")
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        clone = Path(temporary, "course")
        run("git", "clone", "--depth", "1", "--branch", ref, repository, str(clone))
        clone.rename(folder)


def install_missing(folder):
    def name(requirement):
        return re.match(r"[\\w.-]+", requirement)[0].lower().replace("_", "-")

    present = {name(d.name): f"{d.name}=={d.version}" for d in distributions() if d.name}
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    missing = [package for package in project["dependencies"] if name(package) not in present]
    if missing:
        print(f"Installing {', '.join(missing)} (once; about a minute) ...")
        with tempfile.TemporaryDirectory() as temporary:
            keep = Path(temporary, "keep.txt")
            keep.write_text("\\n".join(present.values()), encoding="utf-8")
            run(sys.executable, "-m", "pip", "install", "--constraint", str(keep), *missing)
        importlib.invalidate_caches()


if importlib.util.find_spec("course_lib") is None:
    here = Path.cwd()
    own = here / f"course-{ref}"
    copies = [p for p in (here, *here.parents) if (p / "course_lib" / "__init__.py").is_file()]
    if not copies:
        try:
            if not own.exists():
                fetch(own)
            install_missing(own)
        except (OSError, subprocess.SubprocessError) as error:
            reason = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1]
            raise RuntimeError(
                f"This notebook needs the course from {repository} ({ref}), which takes git, pip "
                f"and a network connection the first time. What went wrong: {reason}"
            ) from None
    sys.path.append(str([*copies, own][0]))
"""


def setup_cell(address, language="en"):
    """The set-up cell of the notebooks in a language, its own text in English."""
    values = {"LANGUAGE": language, "REPOSITORY": address.repository, "REF": address.ref}
    text = _TEXT
    for name, value in values.items():
        text = text.replace(f"@{name}@", json.dumps(value))
    return Cell(SETUP_ID, "code", text.rstrip("\n"))
