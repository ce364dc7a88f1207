"""Run one handed-in notebook, inside the sandbox: ``python -m course_build.handed_in.worker``.

The argument is a file with the job, in JSON (see ``run``). What happens is told on standard
output, one JSON object a line. What the notebook shows is dropped as it comes: a cell may print
gigabytes. A cell that fails does not keep the later ones from running.
"""

import asyncio
import contextlib
import json
import os
import resource
import subprocess
import sys
import warnings
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from nbformat import v4

from course_build.execution import OwnInterpreter, is_run, last_heading, private_connection
from course_build.handed_in.trusted_cells import (
    Check,
    exercise_of,
    lab_of,
    with_trusted_checks,
)

_STARTUP_SECONDS = 120
_LONGEST_TEXT = 2_000
_LARGEST_FILE = 2**30
_NO_OUTPUT_SECONDS = 5


class _Client(NotebookClient):
    """Keeps nothing of what a cell shows."""

    def output(self, outs, msg, display_id, cell_index):
        return None

    def clear_output(self, outs, msg, cell_index):
        pass

    def handle_comm_msg(self, outs, msg, cell_index):
        pass


def main(path):
    """Do the job that a file describes."""
    job = json.loads(Path(path).read_text(encoding="utf-8"))
    _limit(job["memory"])
    notebook, reason = read_notebook(job["notebook"])
    lab = None if notebook is None else lab_of(notebook)
    if notebook is not None and lab is None:
        reason = "is not recognised as a lab of the course: no cell of it says Lab(...)"
    elif lab is not None and lab not in job["labs"]:
        known = ", ".join(job["labs"]) or "none"
        reason = f'says that it is the lab "{lab[:80]}"; those with exercises are: {known}'
    if reason:
        _tell(event="refused", reason=reason)
        return
    _tell(event="lab", lab=lab)
    checks = [Check.from_data(data) for data in job["labs"][lab]]
    notebook.cells = with_trusted_checks(notebook.cells, lab, checks, job["checks"])
    asyncio.run(_execute(notebook, Path(job["folder"])))


def _limit(memory):
    """Bound what one process may do; the kernel and all that it starts inherit it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))
    # Private memory that can be written, whether it is in use or not. An array that is too large
    # is then a MemoryError in its cell, and the others run. On macOS it bounds next to nothing.
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def read_notebook(path):
    """Return (notebook, None), or (None, why it is none)."""
    try:
        contents = json.loads(Path(path).read_text(encoding="utf-8-sig"))
        if not isinstance(contents, dict) or not isinstance(contents.get("nbformat"), int):
            return None, "is no notebook: it holds something else"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about ids, which nobody needs here
            notebook = nbformat.reads(json.dumps(contents), as_version=4)
        return v4.new_notebook(cells=[_plain(cell) for cell in notebook.cells]), None
    except UnicodeDecodeError:
        return None, "is no notebook: it is no text in UTF-8"
    except (MemoryError, ImportError):  # nbformat loads parts of itself only when it needs them
        return None, "needs more memory to be read than a notebook may use"
    except RecursionError:
        return None, "is no notebook: it is nested too deeply"
    except ValueError as error:
        if isinstance(error, json.JSONDecodeError):
            return None, "is no notebook: it is not in JSON, or only a part of it is there"
        said = (str(error).strip() or "a value in it is not right").splitlines()[0]
        return None, f"is no notebook that can be read: {said[:200]}"
    # What is damaged, or only looks like a notebook, fails anywhere in the conversion. What
    # Python says of that is for those who know the library.
    except Exception:
        return None, "is no notebook that can be read: its cells are not as a notebook has them"


def _plain(cell):
    """Return a cell with what is needed of it; a fault elsewhere in it does no harm."""
    make = v4.new_code_cell if cell.cell_type == "code" else v4.new_markdown_cell
    ids = (cell.get("id"), cell.metadata.get("id"))  # Colab keeps it in the metadata
    tags = cell.metadata.get("tags")
    return make(
        # Half a character, which JSON may hold, cannot be sent to a kernel.
        str(cell.source).encode("utf-8", errors="replace").decode("utf-8"),
        metadata={
            "id": next((one for one in ids if isinstance(one, str)), ""),
            "tags": [str(tag) for tag in tags] if isinstance(tags, list) else [],
        },
    )


async def _execute(notebook, folder):
    """Run the cells and tell what happens to them."""
    total = sum(is_run(cell) and exercise_of(cell) is None for cell in notebook.cells)
    number = 0

    def place(cell):
        check = exercise_of(cell)
        own = cell.source.strip().splitlines()[0]
        first_line = own if check is None else f"the check of exercise {check}"
        return {"number": number, "check": check, "first_line": first_line}

    def start(cell, cell_index):
        nonlocal number
        if is_run(cell) and exercise_of(cell) != 0:
            number += exercise_of(cell) is None
            section = last_heading(notebook.cells[: cell_index + 1])
            _tell(event="cell", total=total, section=section, **place(cell))

    def done(cell, cell_index, execute_reply):
        reply = execute_reply["content"]
        if reply["status"] == "error":
            error = f"{reply.get('ename')}: {reply.get('evalue')}"
            _tell(event="error", error=error, **place(cell))

    client = _Client(
        notebook,
        timeout=None,  # whoever started this process bounds the whole
        startup_timeout=_STARTUP_SECONDS,
        iopub_timeout=_NO_OUTPUT_SECONDS,
        kernel_manager_class=OwnInterpreter,
        resources={"metadata": {"path": str(folder / "work")}},
        record_timing=False,
        store_widget_state=False,
        shutdown_kernel="immediate",  # all that counts is in the file of the outcomes
        allow_errors=True,
        on_cell_start=start,
        on_cell_executed=done,
        config=private_connection(folder),
    )
    environment = {**os.environ, "IPYTHONDIR": str(folder / "ipython")}
    nothing = subprocess.DEVNULL
    try:
        await client.async_execute(env=environment, stdout=nothing, stderr=nothing)
    except DeadKernelError:
        _tell(event="died")
    except RuntimeError as error:
        _tell(event="broken", reason=str(error))
    else:
        _tell(event="end")


def _tell(**what):
    short = {k: v[:_LONGEST_TEXT] if isinstance(v, str) else v for k, v in what.items()}
    print(json.dumps(short), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
