"""Run the labs and write their results: ``python build_results.py --help``."""

import argparse
import difflib
import shutil
import sys
import tempfile
import time
from pathlib import Path

import nbformat

from course_build.execution import Execution, ExecutionFailed
from course_build.problems import AuthoringError
from course_build.render import executed_form, student_form
from course_build.results import (
    RESULTS_DIR,
    ROOT,
    SOURCES_DIR,
    ResultsError,
    check_writable,
    lab_inputs,
    package_versions,
    read_results,
    read_run,
    relative,
    stale_reasons,
    write_results,
)
from course_build.tree import Tree
from course_lib.lab import PROFILES

FAILED_DIR = ROOT / "build" / "failed"

EPILOG = """\
examples:
  python build_results.py                             all labs, results to data/results
  python build_results.py mnist_dpsgd                 one lab
  python build_results.py --check                     which results are out of date, and why
  python build_results.py --profile smoke             does every lab run? (publishes nothing)
  python build_results.py --lang fr --profile smoke   does the French student's notebook run?

The results in data/results are those of the profile 'quick'. A lab that fails leaves its earlier
results as they were; the other labs go on, and the exit status is 1.
"""


class BadRequestError(ValueError):
    """The command asks for something that does not exist; the message says what does."""


def main(arguments=None, sources=SOURCES_DIR):
    """Run the command and return its exit status: 0 when all went well, else 1."""
    options = _parser().parse_args(arguments)
    try:
        labs = _choose_labs(options.labs, sources)
        _check_choice("profile", options.profile, PROFILES)
        if options.lang is not None:
            _check_choice("language", options.lang, Tree().languages)
        directory = _results_directory(options)
        if options.check:
            return _check(labs, options.results or RESULTS_DIR)
        if options.keep is not None:
            _make_folder(options.keep)
        if directory is not None:
            for lab in labs:
                check_writable(directory / f"{lab}.json")
    except (BadRequestError, ResultsError) as error:
        print(f"build_results: {error}", file=sys.stderr)
        return 1
    failed = []
    for lab, source in labs.items():
        try:
            _run_lab(lab, source, options, directory)
        except LabFailedError as error:
            failed.append(lab)
            report = str(error)
            if directory is not None:
                report += "\n" + _fate(source, directory / f"{lab}.json")
            print(f"{lab}: {report}".replace("\n", "\n  "), file=sys.stderr)
            if error.interrupted:
                break
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


class ClaimsError(ValueError):
    """Claims that do not hold in this run."""


class LabFailedError(RuntimeError):
    """A lab gave no results that may be published; the message is the report."""

    def __init__(self, report, interrupted=False):
        super().__init__(report)
        self.interrupted = interrupted


def _parser():
    parser = argparse.ArgumentParser(
        prog="build_results.py",
        description="Run the labs from top to bottom and write what they found.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("labs", nargs="*", metavar="LAB", help="a lab's name (default: all)")
    parser.add_argument(
        "--profile",
        default="quick",
        help="smoke: seconds, for tests; quick: what is published (default); full: for a GPU",
    )
    parser.add_argument(
        "--lang",
        metavar="LANGUAGE",
        help="run the student's notebook of this language, as a check: nothing is written",
    )
    parser.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        help="write the results there (default for quick: data/results; else nowhere)",
    )
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the executed notebooks there"
    )
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=3600,
        metavar="SECONDS",
        help="how long one cell may run (default: 3600)",
    )
    parser.add_argument(
        "--check", action="store_true", help="run nothing; say which results are out of date"
    )
    return parser


def _seconds(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of seconds above 0")
    return int(text)


def _choose_labs(names, sources):
    """Return {lab: its source} for the named labs, or all."""
    known = {path.stem: path for path in sorted(Path(sources).glob("*.py"))}
    if not known:
        raise BadRequestError(f"there is no lab in {relative(Path(sources))}")
    for name in names:
        _check_choice("lab", name, known)
    return {name: known[name] for name in names or known}


def _check_choice(what, value, known):
    if value in known:
        return
    close = difflib.get_close_matches(value, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise BadRequestError(f"unknown {what} {value!r}: {hint}There is {', '.join(known)}")


def _results_directory(options):
    """Return where the results go, or None where they are not written."""
    if options.lang is not None:
        if options.results is not None:
            raise BadRequestError(
                "--lang runs a student's notebook, whose results are not written: "
                "leave out --lang or --results"
            )
        return None
    if options.results is None:
        return RESULTS_DIR if options.profile == "quick" else None
    if options.profile == "smoke" and options.results.resolve() == RESULTS_DIR:
        raise BadRequestError(
            "the results of the profile 'smoke' are not published: "
            "choose another folder than data/results"
        )
    return options.results


def _make_folder(path):
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadRequestError(
            f"--keep: the folder {path} cannot be made: {error.strerror}"
        ) from error


def _check(labs, directory):
    """Say of each lab whether its results are those of the tree."""
    stale = False
    versions = package_versions()
    for lab, source in labs.items():
        try:
            contents = read_results(directory / f"{lab}.json")
            reasons = stale_reasons(source, contents)
        except ResultsError as error:
            reasons = [str(error)]
            contents = None
        stale = stale or bool(reasons)
        print(f"{lab}: {'out of date: ' + '; '.join(reasons) if reasons else 'up to date'}")
        if contents is not None:
            moved = [
                f"{name} {version} (here {versions.get(name, 'not installed')})"
                for name, version in contents["meta"]["versions"].items()
                if versions.get(name) != version
            ]
            if moved:
                print(f"  computed with other versions: {', '.join(moved)}")
    return 1 if stale else 0


def _run_lab(lab, source, options, directory):
    """Run one lab, check what it found, write it, and say so in one line."""
    inputs = lab_inputs(source)  # before the run: a file that changes meanwhile makes it stale
    language = options.lang or "en"
    try:
        solved = options.lang is None
        notebook = executed_form(source) if solved else student_form(source, language)
    except AuthoringError as error:
        raise LabFailedError(f"its source is refused:\n{error}") from error
    try:
        run, seconds = _execute(lab, notebook, language, options)
        # A student's exercises are not done, and smoke is too small for what the claims say.
        if solved and options.profile != "smoke":
            _check_claims(run)
        outcome = [_clock(seconds), _summary(run)]
        if directory is not None:
            path = directory / f"{lab}.json"
            write_results(path, run, _meta(lab, language, options, inputs, run, seconds))
            outcome.append(f"results in {relative(path.resolve())}")
    except (ExecutionFailed, ResultsError, ClaimsError) as error:
        kept = _keep(notebook, lab, options.keep or FAILED_DIR)
        interrupted = isinstance(error, ExecutionFailed) and error.interrupted
        raise LabFailedError(f"{_describe(error)}\n{kept}", interrupted) from error
    if options.keep is not None:
        outcome.append(_keep(notebook, lab, options.keep))
    print(f"{lab}: {', '.join(outcome)}", flush=True)


def _execute(lab, notebook, language, options):
    """Run a notebook while showing how far it is; return what it wrote, and the seconds."""
    folder = Path(tempfile.mkdtemp(prefix="results-"))
    try:
        written = folder / "run.json"
        execution = Execution(
            notebook,
            directory=ROOT,
            environment={
                "COURSE_PROFILE": options.profile,
                "COURSE_LANG": language,
                "COURSE_RESULTS": str(written),
            },
            timeout=options.timeout,
        )
        _wait(lab, execution)
        execution.check()
        return read_run(written), execution.seconds
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(lab, execution):
    """Wait for the end of a run; on a terminal, show the cell and the time in one line."""
    began = time.monotonic()
    shown = sys.stderr.isatty()
    try:
        while not execution.wait(0.2):
            if shown:
                _show_progress(lab, execution, time.monotonic() - began)
    except KeyboardInterrupt:
        execution.stop()
    finally:
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _show_progress(lab, execution, seconds):
    position = execution.position
    line = f"{lab}  {_clock(seconds)}  "
    if position is None:
        line += "starting the kernel"
    else:
        line += f"cell {position.number} of {execution.total}  {position.first_line}"
    width = shutil.get_terminal_size().columns - 1
    print(f"\r\x1b[K{line[:width]}", end="", file=sys.stderr, flush=True)


def _check_claims(run):
    broken = [claim for claim in run["claims"] if not claim["holds"]]
    if broken:
        raise ClaimsError("\n".join(f"{claim['id']}: {claim['text']}" for claim in broken))


def _summary(run):
    held = sum(claim["holds"] for claim in run["claims"])
    return f"{len(run['results'])} figures, {held} of {len(run['claims'])} claims hold"


def _meta(lab, language, options, inputs, run, seconds):
    data = run["run"]["data"]
    bundled = {name: digest for name, digest in data.items() if name.startswith("data/")}
    return {
        "lab": lab,
        "profile": options.profile,
        "language": language,
        "inputs": {**inputs, **bundled},
        "versions": package_versions(),
        "data": data,
        "device": run["run"]["device"],
        "seconds": round(seconds, 1),
    }


def _describe(error):
    """Return what went wrong: where, what, and what the kernel wrote outside the notebook."""
    if isinstance(error, ClaimsError):
        return f"claims that do not hold, so nothing is published:\n{error}"
    if isinstance(error, ResultsError):
        return str(error)
    if error.position is None:
        lines = [f"before the first cell: {error.reason}"]
    else:
        position = error.position
        lines = [
            f"cell {position.number} ({position.cell_id}): {error.reason}",
            f"its first line: {position.first_line}",
        ]
    if error.log:
        lines.append("the kernel's last words:")
        lines += [f"  {line}" for line in error.log.splitlines()]
    return "\n".join(lines)


def _keep(notebook, lab, directory):
    """Write the notebook as far as it was executed; say where, or why not."""
    path = directory / f"{lab}.ipynb"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8", newline="\n")
    except OSError as error:
        return f"the notebook could not be kept in {path}: {error.strerror}"
    return f"executed notebook in {relative(path.resolve())}"


def _fate(source, path):
    """Say what became of the results that stood there before."""
    shown = relative(path.resolve())
    if not path.is_file():
        return f"{shown} was not written"
    try:
        reasons = stale_reasons(source, read_results(path))
    except ResultsError as error:
        reasons = [str(error)]
    state = f"is out of date: {'; '.join(reasons)}" if reasons else "is up to date"
    return f"{shown} was left as it was, and {state}"


def _clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


if __name__ == "__main__":
    sys.exit(main())
