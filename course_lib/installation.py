"""The packages that a notebook needs: the missing ones are installed, the others left as they are.

A notebook's set-up cell calls :func:`install_missing` before anything else of the library, so that
this file needs nothing but Python and what every notebook's kernel has.
"""

import contextlib
import importlib
import re
import site
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from course_lib.language import _

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
_PATIENCE_SECONDS = 3600


class InstallationError(RuntimeError):
    """Packages are missing and could not be installed; the message says which, and why."""

    def _render_traceback_(self):
        """Return what Jupyter shows for this error: the message, without the library's lines."""
        return [str(self)]


def install_missing(project=PROJECT):
    """Install those packages of the course that are missing; say so, and nothing otherwise.

    Every package that is there is given to pip as a constraint, so that pip refuses to change
    one rather than do it. One whose version the course was not made for is named and left alone.

    A package that asks for older versions of others than it works with would not be installed
    beside them. The project lists it under ``tool.course.install-without-dependencies``, and what
    it truly needs among the course's own dependencies.

    Args:
        project: the course's ``pyproject.toml``. Where there is none, because the library was
            itself installed by pip, its packages were installed with it.

    Raises:
        InstallationError: if a package is missing and pip could not install it.
    """
    if not Path(project).is_file():
        return
    settings = tomllib.loads(Path(project).read_text(encoding="utf-8"))
    course = settings.get("tool", {}).get("course", {})
    by_itself = course.get("install-without-dependencies", [])
    missing = []
    alone = []
    for requirement in map(Requirement, settings["project"]["dependencies"]):
        try:
            found = version(requirement.name)
        except PackageNotFoundError:
            (alone if requirement.name in by_itself else missing).append(str(requirement))
            continue
        if not requirement.specifier.contains(found, prereleases=True):
            text = _(
                "The course is made for {wanted}, and version {found} is installed here. It was "
                "left as it is. If a cell fails, this may be the cause."
            )
            print(text.format(wanted=requirement, found=found))
    if missing or alone:
        _install(missing, alone)


def _install(packages, alone):
    names = ", ".join([*packages, *alone])
    print(_("Installing {packages} (once; this may take a minute) ...").format(packages=names))
    try:
        if packages:
            _pip(packages)
        if alone:
            _pip(["--no-deps", *alone])
    except (OSError, subprocess.TimeoutExpired) as error:
        text = _(
            "These packages could not be installed: {packages}. That takes pip and a network "
            "connection. No package that was there has been changed. What went wrong: {reason}"
        )
        raise InstallationError(text.format(packages=names, reason=error)) from None
    if site.ENABLE_USER_SITE:
        # pip may have made this folder just now, after Python looked which ones there are.
        site.addsitedir(site.getusersitepackages())
    importlib.invalidate_caches()


def _pip(wanted):
    """Install what is wanted without changing what is there; an OSError says why it failed."""
    # A kernel asks its children for colours, which would end up in the message.
    command = [sys.executable, "-m", "pip", "install", "--no-color"]
    with tempfile.TemporaryDirectory() as temporary:
        keep = Path(temporary, "keep.txt")
        keep.write_text("\n".join(_constraints()), encoding="utf-8", newline="\n")
        done = subprocess.run(
            [*command, "--constraint", str(keep), *wanted],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE_SECONDS,
        )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [_("pip gave no reason")]
        named = [line for line in lines if re.match("error:", line, re.IGNORECASE)]
        raise OSError([*named, lines[-1]][0])


def _constraints():
    """Return what holds each installed package at its version, one line each."""
    held = {}
    for distribution in distributions():
        name, found = distribution.name, distribution.version
        # A damaged installation has no name, or a version that pip cannot read and passes over.
        if name and found:
            with contextlib.suppress(InvalidVersion):
                # The first of two is the one that Python imports.
                held.setdefault(canonicalize_name(name), f"{name}=={Version(found)}")
    return held.values()
