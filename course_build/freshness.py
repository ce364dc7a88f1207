"""Which notebooks are not what their sources give, and why, in a second.

To render all notebooks takes many seconds. So what was found is remembered, under ``build/``,
with the SHA-256 of everything it was found with; a lab is rendered again only when one of these
is another. What is remembered can be deleted at any time.
"""

import contextlib
import hashlib
import importlib.metadata
import json
import os
import platform

from course_build.address import read_address
from course_build.notebooks import Build
from course_build.problems import AuthoringError
from course_build.tree import ENGLISH, SETUP_CATALOG

# What turns sources into notebooks.
_PACKAGES = ("jupytext", "libcst", "markdown-it-py", "nbformat", "polib")


def stale_notebooks(tree, labs):
    """Return what is to be said of the notebooks of each lab; nothing where they are up to date.

    Parameters
    ----------
    tree : Tree
    labs : list of str

    Returns
    -------
    dict
        For each lab a list of lines.
    """
    path = tree.root / "build" / "notebooks.json"
    memory = _remembered(path)
    common = _common(tree)
    lines = {}
    for lab in labs:
        entry = memory.get(lab, {})
        inputs = {**common, **_hashes(tree.root, _files(tree, lab))}
        if entry.get("inputs") != inputs:
            found = _compare(tree, lab)
            entry = {
                "inputs": inputs,
                "lines": found,
                # Those with which the notebooks were last right: they tell what changed.
                "right": entry.get("right") if found else inputs,
            }
            memory[lab] = entry
        lines[lab] = [*entry["lines"], *_why(entry)]
    _remember(path, memory)
    return lines


def stale_texts(tree):
    """Return what is to be said of the READMEs and of what the library says; it takes no time."""
    try:
        build = Build(tree, read_address(tree.root / "pyproject.toml"), writing=False)
        build.catalog_of_setup(tree.languages)
    except AuthoringError as error:
        return [str(problem) for problem in error.problems]
    build.library(tree.languages)
    build.readmes(tree.languages)
    return _said(build)


def _files(tree, lab):
    """What the notebooks of a lab are made from, and the notebooks."""
    files = [tree.source(lab), tree.results(lab), tree.root / "pyproject.toml"]
    files += [tree.checks(lab), tree.answers(lab)]
    for language in tree.languages:
        files.append(tree.notebook(lab, language))
        if language != ENGLISH:
            files += [tree.catalog(name, language) for name in (lab, SETUP_CATALOG)]
    return files


def _common(tree):
    """What all notebooks depend on: the code that makes them, and the packages it uses."""
    versions = {package: importlib.metadata.version(package) for package in _PACKAGES}
    code = sorted((tree.root / "course_build").glob("*.py"))
    return {"python": platform.python_version(), **versions, **_hashes(tree.root, code)}


def _hashes(root, files):
    hashes = {}
    for path in files:
        if path.is_file():
            name = path.relative_to(root).as_posix()
            hashes[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return hashes


def _compare(tree, lab):
    """Make the notebooks of a lab and compare; return what there is to say."""
    try:
        build = Build(tree, read_address(tree.root / "pyproject.toml"), writing=False)
        build.catalog_of_setup(tree.languages)
    except AuthoringError as error:
        return [str(problem) for problem in error.problems]
    build.lab(lab, tree.languages)
    return _said(build)


def _said(build):
    found = [str(problem) for problem in build.refused]
    return found if build.is_up_to_date else [*found, *build.report()]


def _why(entry):
    """Which of the inputs are not those with which the notebooks were last right."""
    now, right = entry["inputs"], entry["right"]
    if not entry["lines"] or not right:
        return []
    changed = [f"{name} changed" for name in now if name in right and right[name] != now[name]]
    changed += [f"{name} is new" for name in now if name not in right]
    changed += [f"{name} is gone" for name in right if name not in now]
    return [f"since they were right: {'; '.join(changed)}"] if changed else []


def _remembered(path):
    """What was found earlier; nothing where it cannot be read or is not what is written here."""
    try:
        memory = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(memory, dict):
        return {}
    return {lab: entry for lab, entry in memory.items() if _is_entry(entry)}


def _is_entry(entry):
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("inputs"), dict)
        and isinstance(entry.get("lines"), list)
        and isinstance(entry.get("right"), dict | None)
        and all(isinstance(line, str) for line in entry["lines"])
    )


def _remember(path, memory):
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    with contextlib.suppress(OSError):  # a tree that cannot be written: found again next time
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(memory, indent=1), encoding="utf-8", newline="\n")
        os.replace(temporary, path)
