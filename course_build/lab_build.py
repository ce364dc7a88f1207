"""One lab on its way to its results: whether it must run, the run, what may be published.

A ``LabBuild`` never blocks and never raises for a fault of its lab: it is started, polled until it
has an ``outcome``, and can be stopped. So several go on side by side in one thread.
"""

import contextlib
import os
import shutil
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import nbformat

from course_build.answers import answers_of
from course_build.computed_here import ComputedHere
from course_build.execution import Execution, ExecutionFailed
from course_build.exercise_checks import check_faults, read_checks
from course_build.locks import LabLock
from course_build.moved import committed_results, moved_figures
from course_build.problems import AuthoringError
from course_build.render import executed_form, student_form
from course_build.results import (
    ROOT,
    ResultsError,
    changes,
    check_writable,
    lab_inputs,
    package_versions,
    read_results,
    read_run,
    reasons_to_run,
    relative,
    stale_reasons,
    sweep,
    write_results,
)
from course_build.source import read_source
from course_build.tree import Tree

ENGLISH = "en"


@dataclass(frozen=True)
class Settings:
    """What is asked of all labs.

    Attributes
    ----------
    profile : str
    language : str or None
        That of the student's notebook to run; None for the solved one, which gives results.
    directory : path or None
        Where the results go; None where they are not written.
    build : path
        Where locks and the notebooks of failed labs are kept.
    keep : path or None
        Where all executed notebooks are kept.
    timeout : int
        Seconds for one cell.
    force : bool
        Run a lab even if its results are up to date.
    """

    profile: str
    language: str | None
    directory: Path | None
    build: Path
    keep: Path | None
    timeout: int
    force: bool


@dataclass(frozen=True)
class Outcome:
    """What became of a lab.

    Attributes
    ----------
    lab : str
    state : str
        "written", "ran" (nothing is written in this profile), "up to date", "failed", "stopped"
        or "not run".
    seconds : float or None
        How long the run took.
    contents : dict or None
        Results, curves and claims, of this run or of the file that is up to date.
    moved : list of Moved, or None
        What differs from the committed results; None where there are none to compare with.
    headline : str
        Of a lab that failed: the cell, its first line and the exception, in one line.
    report : str
        The same with all there is to say, in several lines.
    kept : str
        Where the executed notebook is.
    """

    lab: str
    state: str
    seconds: float | None = None
    contents: dict | None = None
    moved: list | None = field(default=None)
    headline: str = ""
    report: str = ""
    kept: str = ""

    @property
    def is_good(self):
        """Whether the lab did what was asked."""
        return self.state in ("written", "ran", "up to date")


class _ClaimsError(ValueError):
    """Claims that do not hold in this run."""


class _ExercisesError(ValueError):
    """Exercises whose reference answers do not pass, or whose stubs do not wait."""


class _ChangedError(ValueError):
    """A file that the results depend on changed during the run."""


class LabBuild:
    """The build of one lab.

    Parameters
    ----------
    lab : str
    source : path
    settings : Settings

    Attributes
    ----------
    outcome : Outcome or None
        None until it is over.
    execution : Execution or None
        The run, once there is one.
    waits_for : str or None
        The number of the process that builds the same results, while there is one.
    expected : float or None
        The seconds that the last run took.
    """

    def __init__(self, lab, source, settings):
        self.lab = lab
        self.source = source
        self.settings = settings
        self.outcome = None
        self.execution = None
        self.waits_for = None
        self.expected = None
        self._began = time.monotonic()
        self._notebook = None
        self._inputs = None
        self._committed = None
        self._folder = None
        self._path = None
        self._lock = None
        if settings.directory is not None:
            self._path = settings.directory / f"{lab}.json"
            self._lock = LabLock(self._path, settings.build / "locks")
            self._computed_here = ComputedHere(self._path, settings.build / "computed")

    @property
    def elapsed(self):
        """The seconds since the build was started."""
        return time.monotonic() - self._began

    def start(self):
        """Begin, or find that another build of the same results has to be waited for."""
        self._began = time.monotonic()
        with self._faults_are_outcomes():
            self._take_or_wait()

    def poll(self):
        """Do what can be done without waiting; return whether there is an outcome."""
        with self._faults_are_outcomes():
            if self.outcome is None and self.waits_for is not None:
                self._take_or_wait()
            elif self.outcome is None and self.execution.wait(0):
                self._finish()
        return self.outcome is not None

    def interrupt(self):
        """Ask the run to end; ``stop`` waits for it."""
        if self.execution is not None and self.outcome is None:
            self.execution.interrupt()

    def stop(self):
        """End in order: the kernel ends, the notebook is kept, the results stay as they are."""
        if self.outcome is not None:
            return
        if self.execution is None:
            self._release()
            said = "interrupted before its first cell"
            self.outcome = Outcome(self.lab, "stopped", headline=said, report=said)
            return
        self.execution.stop()
        with self._faults_are_outcomes():
            self._finish()

    def kill(self):
        """End at once; nothing is kept."""
        if self.execution is not None and self.outcome is None:
            self.execution.kill()
        self._release()

    def _take_or_wait(self):
        if self._lock is not None and not self._take_lock():
            self.waits_for = self._lock.holder()
            return
        self.waits_for = None
        self._begin()

    def _take_lock(self):
        try:
            return self._lock.acquire()
        except OSError as error:
            raise ResultsError(
                f"{relative(self.settings.build)}, where builds keep their locks, "
                f"cannot be written: {error.strerror}"
            ) from error

    def _begin(self):
        settings = self.settings
        language = settings.language or ENGLISH
        self._note_last_run()
        if self._path is not None:
            sweep(self._path)
            if (
                not settings.force
                and not reasons_to_run(self.source, self._path, settings.profile, language)
                and self._computed_here.holds()
            ):
                contents = read_results(self._path)
                self._end(Outcome(self.lab, "up to date", contents=contents))
                return
            check_writable(self._path)
        # Before the run: a file that changes meanwhile is found out.
        self._inputs = lab_inputs(self.source)
        form = executed_form if settings.language is None else student_form
        arguments = () if settings.language is None else (settings.language,)
        self._notebook = form(self.source, *arguments)
        self._folder = Path(tempfile.mkdtemp(prefix="results-"))
        self.execution = Execution(
            self._notebook,
            directory=ROOT,
            environment={
                "COURSE_PROFILE": settings.profile,
                "COURSE_LANG": language,
                "COURSE_RESULTS": str(self._folder / "run.json"),
                "COURSE_CHECKS": str(self._folder / "checks.jsonl"),
            },
            timeout=settings.timeout,
        )

    def _note_last_run(self):
        """Remember the figures to compare with, before they are replaced, and the time."""
        if self.settings.language is not None or self._path is None:
            return
        profile = self.settings.profile
        self._committed = committed_results(self.lab, self._path, profile)
        last = self._committed
        with contextlib.suppress(ResultsError):
            here = read_results(self._path)
            last = here if here["meta"]["profile"] == profile else last
        if last is not None:
            self.expected = last["meta"]["seconds"]

    def _finish(self):
        """Judge what the run found, and write it."""
        settings = self.settings
        self.execution.check()
        run = read_run(self._folder / "run.json")
        # A student's exercises are not done, and smoke is too small for what the claims say.
        if settings.language is None and settings.profile != "smoke":
            _check_claims(run)
        self._check_exercises()
        seconds = self.execution.seconds
        state = "ran"
        if self._path is not None:
            changed = changes(self._inputs, lab_inputs(self.source))
            if changed:
                raise _ChangedError("; ".join(changed))
            write_results(self._path, run, self._meta(run, seconds))
            self._computed_here.remember()
            state = "written"
        outcome = Outcome(self.lab, state, seconds, run)
        if settings.keep is not None:
            outcome = replace(outcome, kept=self._keep(settings.keep))
        self._end(outcome)

    def _check_exercises(self):
        """See that every reference answer passes its check or, where it is a stub, waits."""
        has_checks = Tree().checks(self.lab).is_file()
        exercises = answers_of(read_source(self.source)) if has_checks else {}
        faults = check_faults(
            read_checks(self._folder / "checks.jsonl"),
            exercises,
            self.settings.profile,
            solved=self.settings.language is None,
        )
        if faults:
            raise _ExercisesError("\n".join(faults))

    def _meta(self, run, seconds):
        data = run["run"]["data"]
        bundled = {name: digest for name, digest in data.items() if name.startswith("data/")}
        return {
            "lab": self.lab,
            "profile": self.settings.profile,
            "language": self.settings.language or ENGLISH,
            "inputs": {**self._inputs, **bundled},
            "versions": package_versions(),
            "data": data,
            "device": run["run"]["device"],
            "seconds": round(seconds, 1),
        }

    @contextlib.contextmanager
    def _faults_are_outcomes(self):
        try:
            yield
        except (
            AuthoringError,
            ExecutionFailed,
            ResultsError,
            _ClaimsError,
            _ExercisesError,
            _ChangedError,
        ) as error:
            self._fail(error)
        except OSError as error:  # a full disk where temporary files go, for instance
            name = f"{error.filename}: " if error.filename else ""
            self._fail(ResultsError(f"{name}{error.strerror or error}"))

    def _fail(self, error):
        headline, report = _describe(error)
        kept = ""
        if self._notebook is not None:
            kept = self._keep(self.settings.keep or self.settings.build / "failed")
            report += f"\n{kept}"
        if self._path is not None:
            report += f"\n{_fate(self.source, self._path)}"
        stopped = isinstance(error, ExecutionFailed) and error.interrupted
        seconds = None if self.execution is None else self.execution.seconds
        self._end(
            Outcome(
                self.lab,
                "stopped" if stopped else "failed",
                seconds,
                headline=headline,
                report=report,
                kept=kept,
            )
        )

    def _end(self, outcome):
        if outcome.contents is not None and self._committed is not None:
            moved = moved_figures(self._committed, outcome.contents)
            outcome = replace(outcome, moved=moved)
        self._release()
        self.outcome = outcome

    def _release(self):
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            self._lock.release()

    def _keep(self, directory):
        """Write the notebook as far as it was executed; say where, or why not."""
        path = directory / f"{self.lab}.ipynb"
        temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            directory.mkdir(parents=True, exist_ok=True)
            temporary.write_text(
                nbformat.writes(self._notebook) + "\n", encoding="utf-8", newline="\n"
            )
            os.replace(temporary, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            return f"the notebook could not be kept in {path}: {error.strerror}"
        return f"executed notebook in {relative(path.resolve())}"


def printable(text):
    """Return a text in one line, without what would move a terminal's cursor or colour it."""
    return "".join(c if c.isprintable() else " " for c in text)


def _check_claims(run):
    broken = [claim for claim in run["claims"] if not claim["holds"]]
    if broken:
        raise _ClaimsError("\n".join(f"{claim['id']}: {claim['text']}" for claim in broken))


def _describe(error):
    """Return what went wrong: in one line, and with what the kernel wrote outside the notebook."""
    if isinstance(error, AuthoringError):
        lines = [f"its source is refused:\n{error}"]
    elif isinstance(error, _ClaimsError):
        lines = [f"claims that do not hold, so nothing is published:\n{error}"]
    elif isinstance(error, _ExercisesError):
        lines = [f"exercises that are not as they should be, so nothing is published:\n{error}"]
    elif isinstance(error, _ChangedError):
        lines = [f"while the lab ran, so that nothing is published, {error}: build it again"]
    elif isinstance(error, ResultsError):
        lines = [str(error)]
    elif error.position is None:
        lines = [f"before the first cell: {error.reason}"]
    else:
        position = error.position
        lines = [
            f"cell {position.number} ({position.cell_id}): {error.reason}",
            f"its first line: {position.first_line}",
        ]
    if isinstance(error, ExecutionFailed):
        first_lines = [text.splitlines()[0] for text in lines]  # a message may have dozens
    else:
        first_lines = [line for text in lines for line in text.splitlines()]
    headline = printable("; ".join(first_lines).replace(":; ", ": "))
    lines = [printable(line) for text in lines for line in text.splitlines()]
    if getattr(error, "log", ""):
        lines.append("the kernel's last words:")
        lines += [f"  {printable(line)}" for line in error.log.splitlines()]
    return headline, "\n".join(lines)


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
