"""The results file of a lab: what is in it, reading it, writing it whole or not at all.

::

    {"results": {key: number | text | true/false},
     "data":    {name: [array, ...]},
     "claims":  [{"id": ..., "text": ..., "holds": true/false}, ...],
     "meta":    {"lab", "profile", "language", "schema", "inputs", "versions", "data", "device",
                 "seconds", "date"}}

Strict JSON in UTF-8: no NaN, no infinity. ``meta.inputs`` maps each file that the results depend
on (the lab's source, the library, the bundled data) to its SHA-256, so that a check can say which
one changed. ``meta.data`` maps each data file the run read to its checksum, downloads included.
``meta.date`` is the day on which these figures were first computed: a rerun that finds the same
ones keeps it.

The same in the words of JSON Schema, for programs in other languages:
``data/results.schema.json``; for people: ``data/results/README.md``.
"""

import contextlib
import datetime
import hashlib
import importlib.metadata
import json
import math
import os
import platform
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES_DIR = ROOT / "notebooks" / "source"
RESULTS_DIR = ROOT / "data" / "results"
SCHEMA_FILE = ROOT / "data" / "results.schema.json"

SCHEMA = 1

META_KEYS = (
    "lab",
    "profile",
    "language",
    "schema",
    "inputs",
    "versions",
    "data",
    "device",
    "seconds",
    "date",
)

# The packages whose version can move a figure.
PACKAGES = (
    "diffprivlib",
    "dp-accounting",
    "joblib",
    "matplotlib",
    "numpy",
    "opacus",
    "scikit-learn",
    "scipy",
    "torch",
    "torchvision",
)

# The one figure that is never the same twice.
TIMING_KEY = "minutes_total"

# As lab.py takes them.
_KEY = re.compile(r"[a-z][a-z0-9_]*")
_CLAIM_ID = re.compile(r"[a-z][a-z0-9-]*")

# What of course_lib cannot change a figure: translations, fonts, the answers that are taken from
# the labs' sources, and what tools leave behind.
_FOLDERS_APART = {"locale", "fonts", "answers", "__pycache__", ".ipynb_checkpoints"}
_SUFFIXES_APART = {".po", ".pot", ".mo", ".otf", ".ttf", ".ttc", ".woff", ".woff2", ".pyc"}


class ResultsError(ValueError):
    """A results file is missing, is no results file, or cannot be written."""


def read_results(path):
    """Return the contents of a lab's results file as a dict, validated.

    Raises
    ------
    ResultsError
        If the file is missing, cannot be read, is not strict JSON, or is not what the lab's
        build writes (another schema included). The message names the file and what to do.
    """
    path = Path(path)
    remedy = _remedy(path)
    return _validated(_read_json(path, remedy), path, remedy)


def parse_results(text, path):
    """Return the contents of a results file that was read from elsewhere, such as git.

    Raises
    ------
    ResultsError
        As ``read_results`` does, with ``path`` as the file's name.
    """
    return _validated(_parse_json(text, path, _remedy(path)), path, _remedy(path))


def _remedy(path):
    return f"compute it again with `python build_results.py {Path(path).stem}`"


def _validated(contents, path, remedy):
    if not isinstance(contents, dict) or not isinstance(contents.get("meta"), dict):
        raise ResultsError(f"{path} is JSON but no results file (it has no 'meta'): {remedy}")
    meta = contents["meta"]
    if meta.get("schema") != SCHEMA:
        raise ResultsError(
            f"{path} is of schema {meta.get('schema')!r}, this course reads {SCHEMA}: {remedy}"
        )
    missing = [key for key in META_KEYS if key not in meta]
    if missing:
        raise ResultsError(f"{path} lacks {', '.join(missing)} in its 'meta': {remedy}")
    problem = _problem_with_meta(meta) or _problem_with_run(contents, extra="meta")
    if problem:
        raise ResultsError(f"{path}: {problem}: {remedy}")
    return contents


def read_run(path):
    """Return what a lab's last cell wrote: ``results``, ``data``, ``claims`` and ``run``.

    Raises
    ------
    ResultsError
        If the lab wrote nothing, or something that a results file cannot hold.
    """
    path = Path(path)
    if not path.is_file():
        raise ResultsError(
            "the lab ended without writing results: its last cell must call lab.save()"
        )
    shown = "what the lab wrote as its results"
    remedy = "record figures through lab.record and lab.curve, which check them"
    contents = _read_json(path, remedy, shown)
    problem = _problem_with_run(contents, extra="run")
    if problem:
        raise ResultsError(f"{shown} cannot be published: {problem}: {remedy}")
    return contents


def write_results(path, run, meta):
    """Write a lab's results file: whole, or not at all.

    Parameters
    ----------
    path : path
        ``data/results/<lab>.json``; an existing file is replaced once the new one is complete.
    run : dict
        ``results``, ``data`` and ``claims``.
    meta : dict
        The keys of ``META_KEYS`` but ``schema`` and ``date``, which are added here.

    Raises
    ------
    ResultsError
        If the file cannot be written; what was there before stays.
    """
    path = Path(path)
    contents = {key: run[key] for key in ("results", "data", "claims")}
    date = _first_computed(path, contents) or datetime.date.today().isoformat()
    complete = {**meta, "schema": SCHEMA, "date": date}
    contents["meta"] = {key: complete[key] for key in META_KEYS}
    text = _as_json(contents)
    # What would not be read is not written either.
    _validated(json.loads(text), path, "the lab's build has to be mended")
    temporary = _temporary(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise ResultsError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):  # it is gone, unless something went wrong
            temporary.unlink()


def _temporary(path):
    return path.with_name(f"{path.name}.{os.getpid()}.part")


def sweep(path):
    """Delete what builds that were killed in mid-write have left beside a results file."""
    for leftover in path.parent.glob(f"{path.name}.*.part"):
        with contextlib.suppress(OSError):
            leftover.unlink()


def check_writable(path):
    """Find out whether a results file could be written, before hours are spent on it.

    Raises
    ------
    ResultsError
        If its folder cannot be made or written to, if the path is a folder, or if a file that
        is not JSON stands there: it may be somebody's, so it is not replaced.
    """
    path = Path(path)
    probe = _temporary(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ResultsError(f"{path} cannot be written: {error.strerror}") from error
    if path.is_dir():
        raise ResultsError(f"{path} cannot be written: it is a folder")
    if path.exists():
        _read_json(path, "it was left as it is: move it away, or delete it, and build again")


def lab_inputs(source):
    """Return the SHA-256 of each file of the tree that a lab's results depend on.

    These are its source and the library; the data that it reads is added after the run. Catalogs,
    fonts and the answers to exercises are left out, because they cannot change a figure.
    """
    source = Path(source).resolve()
    library = [path for path in (ROOT / "course_lib").rglob("*") if _counts(path)]
    return {relative(path): _sha256(path) for path in sorted([source, *library])}


def _counts(path):
    inside = path.relative_to(ROOT)
    return (
        path.is_file()
        and not _FOLDERS_APART.intersection(inside.parts)
        and path.suffix not in _SUFFIXES_APART
        and not path.name.startswith(".")
    )


def stale_reasons(source, contents):
    """Return why a results file no longer matches the tree, one sentence each; empty if it does.

    Versions are not among the reasons; ``moved_versions`` has them.

    Raises
    ------
    ResultsError
        If an input cannot be read.
    """
    return changes(contents["meta"]["inputs"], lab_inputs(source))


def changes(recorded, current):
    """Return in what the files of the tree differ from those recorded, one sentence each.

    Parameters
    ----------
    recorded : dict
        SHA-256 by path, seen from the repository.
    current : dict
        The same of the tree as it is. A file that is recorded, but not named here, is looked up.
    """
    reasons = []
    for name, digest in recorded.items():
        found = current.get(name) or _digest_inside(name)
        if found is None:
            reasons.append(f"{name} is gone")
        elif found != digest:
            reasons.append(f"{name} changed")
    reasons += [f"{name} is new" for name in current if name not in recorded]
    return reasons


def _digest_inside(name):
    """Return the SHA-256 of a file of the course, or None where there is none.

    The name is that of a results file, which anyone may have written: nothing outside is read.
    """
    try:
        path = (ROOT / name).resolve()
        if not path.is_relative_to(ROOT) or not path.is_file():
            return None
    except (ValueError, OSError):  # such as a zero byte in it, or a thousand letters
        return None
    return _sha256(path)


def moved_versions(contents):
    """Return the versions that differ from those in use here, as ``numpy 2.1 (here 2.4)``."""
    here = package_versions()
    recorded = contents["meta"]["versions"]
    moved = [
        f"{name} {version} (here {here.get(name, 'not installed')})"
        for name, version in recorded.items()
        if here.get(name) != version
    ]
    return moved + [f"{name} {here[name]} is new" for name in here if name not in recorded]


def reasons_to_run(source, path, profile, language):
    """Return why a lab has to be run to have its results in a file; empty if they are there.

    Parameters
    ----------
    source, path : path
        The lab's source, and the results file.
    profile, language : str
        What is asked for.
    """
    try:
        contents = read_results(path)
    except ResultsError as error:
        return [str(error)]
    meta = contents["meta"]
    asked = {"lab": path.stem, "profile": profile, "language": language}
    reasons = [f"it is of the {key} {meta[key]!r}" for key in asked if meta[key] != asked[key]]
    reasons += stale_reasons(source, contents)
    return reasons + [f"computed with {version}" for version in moved_versions(contents)]


def package_versions():
    """Return the versions of Python and of the packages that can move a figure.

    Names have ``_`` for ``-``, so that a text can quote ``{{ meta.versions.scikit_learn }}``.
    """
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package.replace("-", "_")] = importlib.metadata.version(package)
    return versions


def relative(path):
    """Return a path as seen from the repository, with forward slashes."""
    path = Path(path)
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.as_posix()


def _read_json(path, remedy, shown=None):
    """Read strict JSON; every failure is a sentence that names the file."""
    shown = shown or str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ResultsError(f"{shown} does not exist: {remedy}") from None
    except OSError as error:
        raise ResultsError(f"{shown} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ResultsError(f"{shown} is not JSON (it is no text in UTF-8): {remedy}") from error
    return _parse_json(text, shown, remedy)


def _parse_json(text, shown, remedy):
    def refuse(constant):
        raise ResultsError(f"{shown} holds {constant}, which JSON does not know: {remedy}")

    try:
        return json.loads(text, parse_constant=refuse)
    except ResultsError:
        raise
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{shown} is not JSON ({error}): {remedy}") from error


def _problem_with_meta(meta):
    """Return what is wrong with meta's values in a few words, or None."""
    for key in ("inputs", "versions", "data"):
        value = meta[key]
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            return f"'{key}' in 'meta' must map names to texts"
    for key in ("lab", "profile", "language", "device"):
        if not isinstance(meta[key], str):
            return f"'{key}' in 'meta' must be a text"
    seconds = meta["seconds"]
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < 1e9:
        return "'seconds' in 'meta' must be a number of seconds"
    try:
        is_day = datetime.date.fromisoformat(meta["date"]).isoformat() == meta["date"]
    except (TypeError, ValueError):
        is_day = False
    if not is_day:
        return "'date' in 'meta' must be a day such as 2026-01-31"
    return None


def _problem_with_run(contents, extra):
    """Return what is wrong with results, data and claims in a few words, or None."""
    expected = {"results": dict, "data": dict, "claims": list, extra: dict}
    if not isinstance(contents, dict) or set(contents) != set(expected):
        return f"it must hold {', '.join(expected)} and nothing else"
    for key, kind in expected.items():
        if not isinstance(contents[key], kind):
            return f"'{key}' must be {'an object' if kind is dict else 'a list'}"
    for key in [*contents["results"], *contents["data"]]:
        if not _KEY.fullmatch(key):
            return f"the name {key!r} must be of small letters, digits and _, with a letter first"
    for key, value in contents["results"].items():
        # A number too large for a float, such as 1e999, is read as infinity.
        if not isinstance(value, bool | int | float | str) or not _is_finite(value):
            return f"the result '{key}' must be a finite number, a text or true/false"
    for name, arrays in contents["data"].items():
        if not isinstance(arrays, list) or not all(_is_array(array) for array in arrays):
            return f"the curve '{name}' must be a list of arrays of finite numbers"
    seen = set()
    for claim in contents["claims"]:
        if not isinstance(claim, dict) or set(claim) != {"id", "text", "holds"}:
            return "each claim must have 'id', 'text', 'holds' and nothing else"
        if not isinstance(claim["id"], str) or not isinstance(claim["text"], str):
            return "a claim's 'id' and 'text' must be texts"
        if not _CLAIM_ID.fullmatch(claim["id"]):
            return (
                f"the claim's id {claim['id']!r} must be of small letters, digits and -, "
                "with a letter first"
            )
        if not isinstance(claim["holds"], bool):
            return f"the claim '{claim['id']}' must say true or false"
        if claim["id"] in seen:
            return f"the claim '{claim['id']}' comes twice"
        seen.add(claim["id"])
    return None


def _is_array(array):
    if not isinstance(array, list):
        return False
    return all(
        _is_array(value)
        if isinstance(value, list)
        else isinstance(value, bool | int | float) and _is_finite(value)
        for value in array
    )


def _is_finite(value):
    return not isinstance(value, float) or math.isfinite(value)


def _first_computed(path, contents):
    """Return the date of the file at ``path`` if it holds the same figures, else None."""
    try:
        old = read_results(path)
    except ResultsError:
        return None
    # Through JSON, so that both sides have been written and read.
    new = json.loads(_as_json(contents))
    same = _without_timing(old) == _without_timing(new)
    return old["meta"]["date"] if same else None


def _without_timing(contents):
    results = {key: value for key, value in contents["results"].items() if key != TIMING_KEY}
    return results, contents["data"], contents["claims"]


def _as_json(contents):
    """Return JSON with one line a figure, curve, claim and input; figures and curves by name."""
    ordered = {
        **contents,
        "results": dict(sorted(contents["results"].items())),
        "data": dict(sorted(contents["data"].items())),
    }
    return _layout(ordered, depth=0) + "\n"


def _layout(value, depth):
    """Lay out objects with one entry a line, and so the list of claims; all else in one line."""
    if isinstance(value, dict) and value:
        entries = [f"{_compact(key)}: {_layout(value[key], depth + 1)}" for key in value]
        brackets = "{}"
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        entries = [_compact(item) for item in value]
        brackets = "[]"
    else:
        return _compact(value)
    indent = " " * (depth + 1)
    lines = f",\n{indent}".join(entries)
    return f"{brackets[0]}\n{indent}{lines}\n{' ' * depth}{brackets[1]}"


def _compact(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _sha256(path):
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ResultsError(f"{relative(path)} cannot be read: {error.strerror}") from error
