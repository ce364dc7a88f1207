"""Run the labs and write their results: ``python build_results.py --help``."""

import argparse
import contextlib
import difflib
import sys
import time
from pathlib import Path

from course_build.freshness import stale_notebooks, stale_texts
from course_build.interrupts import Interrupts
from course_build.lab_build import LabBuild, Outcome, Settings
from course_build.progress import Progress, clock
from course_build.results import (
    RESULTS_DIR,
    ROOT,
    SOURCES_DIR,
    ResultsError,
    moved_versions,
    read_results,
    relative,
    stale_reasons,
)
from course_build.summary import summary
from course_build.tree import Tree
from course_lib.lab import PROFILES

# Locks, and the notebooks of labs that failed.
BUILD_DIR = ROOT / "build"

_POLL_SECONDS = 0.1

EPILOG = """\
examples:
  python build_results.py                             all labs, results to data/results
  python build_results.py mnist_dpsgd --force         one lab, even if it is up to date
  python build_results.py --check                     what is out of date, and why
  python build_results.py --profile smoke --jobs 2    does every lab run? (publishes nothing)
  python build_results.py --lang fr --profile smoke   does the French student's notebook run?

The results in data/results are those of the profile 'quick'. A lab whose source, library, data
and versions are those of its results is not run again. A lab that fails leaves its earlier
results as they were; the other labs go on, and the exit status is 1. Ctrl-C ends in order:
notebooks are kept, results stay whole; a second Ctrl-C ends at once.
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
            return _check(labs, options, sources)
        if options.keep is not None:
            _make_folder(options.keep)
    except BadRequestError as error:
        print(f"build_results: {error}", file=sys.stderr)
        return 1
    settings = Settings(
        profile=options.profile,
        language=options.lang,
        directory=directory,
        build=BUILD_DIR,
        keep=options.keep,
        timeout=options.timeout,
        force=options.force,
    )
    builds = [LabBuild(lab, source, settings) for lab, source in labs.items()]
    try:
        outcomes = _run(builds, options.jobs)
    except KeyboardInterrupt:
        print("build_results: ended at once; no notebook was kept", file=sys.stderr)
        return 1
    for line in summary(outcomes):
        print(line)
    return 0 if all(outcome.is_good for outcome in outcomes) else 1


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
        "--jobs",
        type=_number_of_labs,
        default=1,
        metavar="N",
        help="how many labs run side by side (default: 1; one lab keeps two cores busy)",
    )
    parser.add_argument(
        "--force", action="store_true", help="run labs whose results are up to date, too"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="run nothing; say which results and notebooks are out of date, and why",
    )
    return parser


def _seconds(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of seconds above 0")
    return int(text)


def _number_of_labs(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of labs above 0")
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


def _check(labs, options, sources):
    """Say of each lab whether its results and notebooks are those of the tree."""
    directory = options.results or RESULTS_DIR
    # Other sources than the course's have no notebooks.
    notebooks = stale_notebooks(Tree(), labs) if sources == SOURCES_DIR else {}
    stale = False
    for lab, source in labs.items():
        versions = []
        try:
            contents = read_results(directory / f"{lab}.json")
            reasons = stale_reasons(source, contents)
            versions = moved_versions(contents)
        except ResultsError as error:
            reasons = [str(error)]
        about = notebooks.get(lab, [])
        stale = stale or bool(reasons or about)
        print(f"{lab}: {'out of date: ' + '; '.join(reasons) if reasons else 'up to date'}")
        if versions:
            print(f"  computed with other versions, so a build runs it: {', '.join(versions)}")
        for line in about:
            print(f"  notebooks: {line}")
    if not options.labs and sources == SOURCES_DIR:
        for line in stale_texts(Tree()):
            stale = True
            print(f"texts: {line}")
    if not options.labs:
        for path in sorted(directory.glob("*.json")):
            if path.stem not in labs:
                stale = True
                print(f"{relative(path.resolve())}: belongs to no lab; delete it")
    return 1 if stale else 0


def _run(builds, jobs):
    """Run labs, some of them side by side; return their outcomes.

    Raises
    ------
    KeyboardInterrupt
        If the end was asked for twice.
    """
    interrupts = Interrupts()
    waiting, running = list(builds), []
    with interrupts.watched(), contextlib.closing(Progress(sys.stderr)) as progress:
        try:
            while (waiting or running) and not interrupts.asked:
                while waiting and len(running) < jobs:
                    running.append(waiting.pop(0))
                    running[-1].start()
                _take_leave(running, progress)
                progress.show(running)
                if running:
                    time.sleep(_POLL_SECONDS)
            if running:
                progress.note("interrupted: ending in order; Ctrl-C again ends at once")
            for build in running:
                build.interrupt()
            for build in running:
                build.stop()
            _take_leave(running, progress)
        finally:
            for build in running:
                build.kill()
    return [build.outcome or Outcome(build.lab, "not run") for build in builds]


def _take_leave(running, progress):
    """Say what became of the labs that are over, and forget them."""
    for build in [build for build in running if build.poll()]:
        running.remove(build)
        outcome = build.outcome
        if outcome.state == "up to date":
            progress.note(f"{build.lab}: up to date, not run (--force runs it)")
        elif outcome.is_good:
            kept = f"; {outcome.kept}" if outcome.kept else ""
            progress.note(f"{build.lab}: {outcome.state} after {clock(outcome.seconds)}{kept}")
        else:
            progress.note(f"{build.lab}: {outcome.report}".replace("\n", "\n  "))


if __name__ == "__main__":
    sys.exit(main())
