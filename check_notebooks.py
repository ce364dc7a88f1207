"""Check a folder of handed-in notebooks: ``python check_notebooks.py --help``."""

import argparse
import contextlib
import datetime
import os
import sys
import time
from pathlib import Path

from course_build.handed_in.files import handed_in
from course_build.handed_in.page import About
from course_build.handed_in.reports import CSV_NAME, PAGE_NAME, write_reports
from course_build.handed_in.trusted_cells import checks_of
from course_build.interrupts import Interrupts
from course_build.lab_build import printable
from course_build.problems import AuthoringError
from course_build.progress import Progress, clock
from course_build.source import read_source
from course_build.tree import Tree
from course_lib.lab import PROFILES

_POLL_SECONDS = 0.05

_HELP = """\
Runs every notebook of a folder from top to bottom in a fresh kernel, several at once, with the
course's own checks of the exercises, and writes a table of who has done what: checks.csv for a
spreadsheet, checks.html to read.

THIS RUNS OTHER PEOPLE'S CODE ON YOUR MACHINE. Each notebook gets a working folder of its own,
none of your environment variables, limits on time, memory, files and processes and, where the
system allows it, no network. What could be had is said before the first notebook begins. See
docs/teachers.md, also for how to run this in a container.
"""
_EPILOG = """\
examples:
  python check_notebooks.py handed-in                       the table goes to checked/
  python check_notebooks.py handed-in --out week3 --jobs 4
  python check_notebooks.py handed-in --profile smoke       seconds for a notebook; experiments
                                                            are not judged at that size

exit status: 0 if every file has its rows, whatever the verdicts; 1 if the run was stopped or the
table cannot be written; 2 if the command itself cannot be understood. Ctrl-C ends in order and
keeps the table of what is done; a second one ends at once.
"""


def main(arguments=None, tree=None):
    """Run the command and return its exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if os.name != "posix":
        parser.error("this needs Linux or macOS; on Windows, run it in WSL")
    # Only now: what they import is not there on Windows.
    from course_build.handed_in.run import HandedInRun, Settings
    from course_build.handed_in.sandbox import find_sandbox

    files = _files(parser, options)
    try:
        labs = _labs(tree or Tree())
    except AuthoringError as error:
        print(error, file=sys.stderr)
        return 1
    settings = Settings(
        sandbox=find_sandbox([options.folder, options.out]),
        labs=labs,
        profile=options.profile,
        timeout=options.timeout,
        memory=int(options.memory * 2**30),
    )
    about = _about(settings)
    many = f"{len(files)} files that were" if len(files) > 1 else "1 file that was"
    lines = [f"This runs the code of {many} handed in.", *about.isolation]
    print("\n".join(lines), file=sys.stderr)
    runs = [HandedInRun(file, settings) for file in files]

    def write():
        rows = [row for run in runs for row in run.rows or ()]
        write_reports(options.out, rows, labs, about)

    try:
        whole = _run(runs, options.jobs, write)
    except KeyboardInterrupt:
        print("check_notebooks: ended at once", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"check_notebooks: the table cannot be written: {error}", file=sys.stderr)
        return 1
    print(options.out / CSV_NAME)
    print(options.out / PAGE_NAME)
    return 0 if whole else 1


def _parser():
    parser = argparse.ArgumentParser(
        prog="check_notebooks.py",
        description=_HELP,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "folder",
        type=Path,
        metavar="FOLDER",
        help="the handed-in notebooks, also in folders of their own, one for each student",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("checked"),
        metavar="DIR",
        help="where the table goes (default: checked)",
    )
    parser.add_argument(
        "--profile",
        choices=PROFILES,
        default="quick",
        help="the size of the experiments (default: quick, as in the labs)",
    )
    parser.add_argument(
        "--timeout",
        type=_number("seconds"),
        default=1800,
        metavar="SECONDS",
        help="how long one notebook may run (default: 1800)",
    )
    parser.add_argument(
        "--memory",
        type=_number("GiB"),
        default=6,
        metavar="GIB",
        help="the memory that one notebook may use, with all that it starts (default: 6)",
    )
    jobs = max(1, (os.cpu_count() or 1) // 2)
    parser.add_argument(
        "--jobs",
        type=_whole_number,
        default=jobs,
        metavar="N",
        help=f"how many notebooks run at once (default: one for every two cores, here {jobs})",
    )
    return parser


def _number(unit):
    def read(text):
        with contextlib.suppress(ValueError):
            value = float(text)
            if 0 < value < float("inf"):
                return value
        raise argparse.ArgumentTypeError(f"{text!r} is no number of {unit} above 0")

    return read


def _whole_number(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of notebooks above 0")
    return int(text)


def _files(parser, options):
    """Return what was handed in; end the command where the folders will not do."""
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder: name the one with the handed-in notebooks")
    if options.out.resolve() == options.folder.resolve():
        parser.error("--out is the folder of the handed-in notebooks: choose another for the table")
    try:
        files = handed_in(options.folder, leave_out=[options.out])
    except OSError as error:
        parser.error(f"{error.filename} cannot be read: {error.strerror}")
    if not files:
        parser.error(f"there is nothing in {options.folder}")
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out: the folder {options.out} cannot be made: {error.strerror}")
    if not os.access(options.out, os.W_OK):
        parser.error(f"--out: the folder {options.out} cannot be written")
    return files


def _labs(tree):
    """Return the checks of each lab that has some."""
    labs = {lab: checks_of(read_source(tree.source(lab))) for lab in tree.labs}
    return {lab: checks for lab, checks in labs.items() if checks}


def _about(settings):
    """Return what the page says of how the notebooks are run."""
    now = datetime.datetime.now().astimezone()
    return About(
        when=f"{now:%d %B %Y, %H:%M}",
        settings=[
            f"Each notebook ran with the profile {settings.profile}, for at most "
            f"{settings.timeout:g} s, with at most {settings.memory / 2**30:g} GiB of memory.",
            *(
                ["In this profile everything is tiny: what a student's run measures is not judged."]
                if settings.profile == "smoke"
                else []
            ),
        ],
        isolation=list(settings.sandbox.sentences()),
    )


def _run(runs, jobs, write):
    """Run the notebooks, some of them at once; return whether all came to their end.

    Raises
    ------
    KeyboardInterrupt
        If the end was asked for twice.
    OSError
        If the table cannot be written.
    """
    interrupts = Interrupts()
    waiting, running = list(runs), []
    with interrupts.watched(), contextlib.closing(Progress(sys.stderr)) as progress:
        try:
            write()  # a place that cannot be written is found out before hours have passed
            while (waiting or running) and not interrupts.asked:
                while waiting and len(running) < jobs:
                    running.append(waiting.pop(0))
                    running[-1].start()
                ended = [run for run in running if run.poll()]
                for run in ended:
                    running.remove(run)
                    progress.note(_line(run))
                if ended:
                    write()
                progress.show(running)
                if running and not ended:
                    time.sleep(_POLL_SECONDS)
            if interrupts.asked:
                progress.note("interrupted: ending in order; Ctrl-C again ends at once")
            for run in runs:
                run.stop()
            write()
        finally:
            for run in runs:
                run.kill()
    return not interrupts.asked


def _line(run):
    """Return what a terminal shows of a notebook that is done."""
    results = [row.result for row in run.rows if row.exercise is not None]
    if not results:
        return printable(f"{run.file.name}: {run.rows[0].message}")
    counts = {result: results.count(result) for result in dict.fromkeys(results)}
    said = ", ".join(f"{count} {result}" for result, count in counts.items())
    return f"{run.file.name}: {said} ({clock(run.elapsed)})"


if __name__ == "__main__":
    sys.exit(main())
