"""Run a notebook from its first cell to its last, in a fresh kernel, and say what went wrong.

The kernel is the interpreter that runs the build; no kernelspec needs to be installed. Each run
has a private folder for its connection, its log and its IPython profile, so that runs side by
side share nothing and a home that cannot be written does no harm.

nbclient swallows Ctrl-C where it runs in the main thread. So each run has a thread of its own,
and the caller waits::

    run = Execution(notebook, directory=ROOT, environment={...}, timeout=600)
    try:
        while not run.wait(0.5):
            ...  # draw the progress from run.position and run.total
    except KeyboardInterrupt:
        run.stop()
    run.check()

A run is ended in order by ``stop``, which lets the cell clean up behind itself, or at once by
``kill``.
"""

import asyncio
import atexit
import contextlib
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from traitlets.config import Config

# The number of threads changes the last bits of a sum: fixed, so that figures come out again.
# The same for each lab, however many run side by side and whatever the machine has.
THREADS = 2

FIXED_THREADS = {
    **dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
        str(THREADS),
    ),
    # Else a busy or a small machine would get fewer.
    "OMP_DYNAMIC": "FALSE",
    "MKL_DYNAMIC": "FALSE",
}

_STARTUP_SECONDS = 120
# How long an interrupted cell may take to clean up behind itself.
_GRACE_SECONDS = 3
_SHUTDOWN_SECONDS = 2
_LOG_LINES = 20

# A Unix socket's path holds about 100 bytes; the rest of it needs 20.
_LONGEST_IPC_FOLDER = 80


class ExecutionFailed(RuntimeError):  # noqa: N818 (said of a run, not of the program)
    """A notebook did not run to its end.

    Attributes
    ----------
    reason : str
        The exception of the cell, or what became of the kernel.
    position : Position or None
        The cell that was running; None before the first one.
    log : str
        The last lines that the kernel wrote outside the notebook.
    interrupted : bool
        Whether ``Execution.stop`` or ``Execution.kill`` ended it.
    """

    def __init__(self, reason, position=None, log="", interrupted=False):
        super().__init__(reason)
        self.reason = reason
        self.position = position
        self.log = log
        self.interrupted = interrupted


@dataclass(frozen=True)
class Position:
    """A code cell of a notebook: its number among the code cells from 1, its id, its first line.

    ``section`` is the heading that stands last above it, without its marks.
    """

    number: int
    cell_id: str
    first_line: str
    section: str = ""


class OwnInterpreter(AsyncKernelManager):
    """Starts this interpreter as the kernel."""

    @property
    def kernel_spec(self):
        return KernelSpec(
            argv=[
                sys.executable,
                "-m",
                "ipykernel_launcher",
                "-f",
                "{connection_file}",
                "--HistoryManager.enabled=False",
                # What a crash prints goes into the log, where it outlives the kernel.
                "--IPKernelApp.capture_fd_output=False",
            ],
            display_name="Python 3",
            language="python",
        )


class Execution:
    """One run of a notebook, which begins at once in a thread of its own.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        Its outputs are filled in while it runs, up to the cell that fails.
    directory : path
        The kernel's working directory.
    environment : dict
        Variables added to this process's for the kernel.
    timeout : int
        Seconds that one cell may take.

    Attributes
    ----------
    total : int
        The number of code cells.
    position : Position or None
        The cell that runs, or ran last.
    seconds : float or None
        How long the run took, once it is over.
    """

    def __init__(self, notebook, *, directory, environment, timeout):
        self.notebook = notebook
        self.total = sum(is_run(cell) for cell in notebook.cells)
        self.position = None
        self.seconds = None
        self._directory = Path(directory)
        self._environment = environment
        self._timeout = timeout
        self._failure = ExecutionFailed("the run is not over")
        self._stopped = False
        self._folder = None
        self._pid = None
        self._loop = None
        self._task = None
        self._client = None
        # Not Thread.join: on Python 3.11 a Ctrl-C during it makes a live thread count as ended.
        self._over = threading.Event()
        threading.Thread(target=self._run, name="notebook", daemon=True).start()

    def wait(self, seconds=None):
        """Wait for the end, or for some seconds; return whether the run is over."""
        return self._over.wait(seconds)

    def interrupt(self):
        """Ask the cell that runs to end, as Ctrl-C in a notebook does; no other is begun."""
        self._stopped = True
        if self.position is None:
            self._cancel()
        elif self._pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self._pid, signal.SIGINT)

    def stop(self):
        """End the run in order, kernel included; ``check`` then says that it was interrupted.

        The cell gets a few seconds to clean up behind itself. One that takes longer is killed.
        """
        if not self._stopped:
            self.interrupt()
        if not self._over.wait(_GRACE_SECONDS):
            self._cancel()
            self._over.wait(10)

    def kill(self):
        """End the run at once: the kernel and all that it started are killed."""
        self._stopped = True
        if not self._over.is_set():
            _kill_group(self._pid)
        self._cancel()
        self._over.wait(1)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _cancel(self):
        if self._client is not None:
            self._client.shutdown_kernel = "immediate"
        if self._task is not None:
            with contextlib.suppress(RuntimeError):  # the loop may have closed meanwhile
                self._loop.call_soon_threadsafe(self._task.cancel)

    def check(self):
        """Return if the notebook ran to its end.

        Raises
        ------
        ExecutionFailed
            If it did not.
        """
        if self._failure is not None:
            raise self._failure

    def _run(self):
        began = time.monotonic()
        try:
            with tempfile.TemporaryDirectory(prefix="lab-", ignore_cleanup_errors=True) as folder:
                self._folder = Path(folder)
                self._failure = self._run_in(self._folder)
        except Exception as error:  # this is another thread than the caller's: hand it over
            self._failure = ExecutionFailed(f"{type(error).__name__}: {error}", self.position)
        finally:
            self.seconds = time.monotonic() - began
            self._over.set()

    def _run_in(self, folder):
        """Run the notebook with a private folder; return why it failed, or None."""
        log = folder / "kernel.log"
        reason = asyncio.run(self._execute(folder, log))
        if self._stopped:
            return ExecutionFailed("interrupted", self.position, interrupted=True)
        if reason is not None:
            return ExecutionFailed(reason, self.position, _last_lines(log))
        return None

    async def _execute(self, folder, log):
        """Run the notebook; return why it failed, or None."""
        self._client = client = NotebookClient(
            self.notebook,
            timeout=self._timeout,
            startup_timeout=_STARTUP_SECONDS,
            iopub_timeout=30,
            kernel_manager_class=OwnInterpreter,
            resources={"metadata": {"path": str(self._directory)}},
            record_timing=False,
            coalesce_streams=True,
            on_cell_start=self._note_start,
            config=private_connection(folder),
        )
        environment = {
            **os.environ,
            "IPYTHONDIR": str(folder / "ipython"),  # no start-up files of the person who builds
            **FIXED_THREADS,
            "PYTHONHASHSEED": "0",
            **self._environment,
        }

        def note_kernel(notebook):
            self._pid = client.km.provisioner.pid

        client.on_notebook_start = note_kernel
        with open(log, "wb") as sink:
            self._loop = asyncio.get_running_loop()
            self._task = asyncio.ensure_future(
                client.async_execute(env=environment, stdout=sink, stderr=sink)
            )
            if self._stopped:  # between the thread's start and here
                self._task.cancel()
            try:
                await self._task
            except CellTimeoutError:
                return f"the cell ran longer than {self._timeout} s (see --timeout)"
            except CellExecutionError as error:
                return f"{error.ename}: {error.evalue}"
            except DeadKernelError:
                return "the kernel died: it crashed, or was killed (as when memory runs out)"
            except (asyncio.CancelledError, _StoppedBetweenCells):
                return "interrupted"
            except RuntimeError as error:
                return f"the kernel did not start: {error}"
            finally:
                await _end_kernel(client, self._pid)
        return None

    def _note_start(self, cell, cell_index):
        if self._stopped:
            raise _StoppedBetweenCells
        if is_run(cell):
            before = self.notebook.cells[: cell_index + 1]
            self.position = Position(
                number=sum(map(is_run, before)),
                cell_id=cell.get("id", ""),
                first_line=cell.source.strip().splitlines()[0],
                section=last_heading(before),
            )


class _StoppedBetweenCells(Exception):  # noqa: N818 (nothing went wrong)
    """The run was interrupted while no cell ran."""


def is_run(cell):
    """Whether a cell is run: one that holds code."""
    return cell.cell_type == "code" and bool(cell.source.strip())


def last_heading(cells):
    """Return the text of the last Markdown heading in the cells, or nothing."""
    for cell in reversed(cells):
        if cell.cell_type == "markdown":
            text = re.sub(r"^(```|~~~).*?^\1", "", cell.source, flags=re.MULTILINE | re.DOTALL)
            headings = re.findall(r"^#{1,6} +(.+?)[ #]*$", text, flags=re.MULTILINE)
            if headings:
                return headings[-1]
    return ""


def private_connection(folder):
    """Return the configuration of a connection that no other run can clash with."""
    fits = len(os.fsencode(folder)) <= _LONGEST_IPC_FOLDER
    return Config(
        KernelManager={
            "connection_file": str(folder / "kernel.json"),
            "transport": "ipc" if os.name == "posix" and fits else "tcp",
            "shutdown_wait_time": _SHUTDOWN_SECONDS,
        }
    )


async def _end_kernel(client, pid):
    """See to it that neither the kernel nor a process that it started lives on."""
    # nbclient leaves this behind when a kernel does not start.
    atexit.unregister(client._cleanup_kernel)
    manager = client.km
    if manager is not None and manager.has_kernel:
        await manager.shutdown_kernel(now=True)
    _kill_group(pid)


def _kill_group(pid):
    """Kill a kernel and what it started: jupyter_client gave it a process group of its own."""
    if pid is not None and hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def _last_lines(log):
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-_LOG_LINES:])
