import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from nbformat import v4

from course_build.execution import Execution, ExecutionFailed
from course_build.results import ROOT


def notebook(*cells):
    """A notebook of code cells with the ids cell-1, cell-2, ..., prose above each."""
    all_cells = []
    for number, source in enumerate(cells, start=1):
        all_cells.append(v4.new_markdown_cell(f"Cell {number}", id=f"text-{number}"))
        all_cells.append(v4.new_code_cell(source, id=f"cell-{number}"))
    return v4.new_notebook(cells=all_cells)


def execute(*cells, timeout=60, directory=None, **environment):
    execution = Execution(
        notebook(*cells),
        directory=directory or Path.cwd(),
        environment=environment,
        timeout=timeout,
    )
    assert execution.wait(60)
    return execution


def failure(execution):
    with pytest.raises(ExecutionFailed) as caught:
        execution.check()
    return caught.value


def printed(execution, cell_id):
    cell = next(cell for cell in execution.notebook.cells if cell.id == cell_id)
    return "".join(output.get("text", "") for output in cell.outputs)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def until(condition, seconds=5):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


START_CHILD = (
    "import subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    "print(child.pid, flush=True)\n"
)
SLEEPER = f"{START_CHILD}time.sleep(60)"


def test_a_notebook_runs_in_this_interpreter_with_its_variables(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "no home"))
    execution = execute(
        "import os, sys\nprint(sys.executable)\nprint(os.getcwd())",
        "",
        "print(os.environ['COURSE_PROFILE'])",
        directory=tmp_path,
        COURSE_PROFILE="smoke",
    )
    execution.check()
    assert printed(execution, "cell-1").split("\n") == [sys.executable, str(tmp_path), ""]
    assert printed(execution, "cell-3") == "smoke\n"
    assert execution.total == 2 and execution.position.number == 2
    assert 0 < execution.seconds < 60
    assert not any("execution" in cell.metadata for cell in execution.notebook.cells)


def test_a_failing_cell_is_named_by_number_id_and_first_line(capfd):
    execution = execute("x = 1", "\n# the share\ny = x / 0", "print('never')")
    error = failure(execution)
    assert error.reason == "ZeroDivisionError: division by zero"
    assert (error.position.number, error.position.cell_id) == (2, "cell-2")
    assert error.position.first_line == "# the share"
    assert execution.notebook.cells[3].outputs[0].ename == "ZeroDivisionError"
    assert execution.notebook.cells[5].outputs == []
    assert capfd.readouterr() == ("", "")


def test_a_syntax_error_is_a_failing_cell():
    assert failure(execute("x = = 1")).reason.startswith("SyntaxError")


def test_a_kernel_that_is_killed_is_reported_with_its_last_words(capfd, monkeypatch):
    began = time.monotonic()
    with monkeypatch.context() as context:
        context.delenv("PYTEST_CURRENT_TEST")  # ipykernel would behave otherwise
        execution = execute(
            "x = 1",
            # As native code does it that never lets another thread of the kernel run again.
            "import ctypes, os\n"
            "c = ctypes.PyDLL(None)\n"
            "c.write(2, b'no more memory for this one\\n', 28) and c.kill(os.getpid(), 9)",
        )
    assert time.monotonic() - began < 10
    error = failure(execution)
    assert error.reason.startswith("the kernel died")
    assert error.position.number == 2
    assert error.log == "no more memory for this one"
    assert capfd.readouterr() == ("", "")


def test_what_a_dead_kernel_started_does_not_live_on():
    execution = execute(f"{START_CHILD}time.sleep(0.5)", "import os\nos.kill(os.getpid(), 9)")
    assert failure(execution).reason.startswith("the kernel died")
    child = int(printed(execution, "cell-1"))
    until(lambda: not alive(child))


def test_a_kernel_that_exits_is_reported():
    assert failure(execute("import os\nos._exit(0)")).reason.startswith("the kernel died")


def test_a_kernel_that_does_not_start_is_reported(tmp_path):
    """In a process of its own, to see that nothing is printed at its exit either."""
    (tmp_path / "ipykernel_launcher.py").write_text("raise SystemExit('no kernel today')")
    program = (
        "from nbformat import v4\n"
        "from course_build.execution import Execution\n"
        "notebook = v4.new_notebook(cells=[v4.new_code_cell('x = 1')])\n"
        f"environment = {{'PYTHONPATH': {str(tmp_path)!r}}}\n"
        "run = Execution(notebook, directory='.', environment=environment, timeout=60)\n"
        "run.wait()\n"
        "print(run._failure.reason, run._failure.position, run._failure.log, sep='\\n')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    reason, position, log = done.stdout.splitlines()
    assert reason.startswith("the kernel did not start")
    assert (position, log, done.stderr) == ("None", "no kernel today", "")


def test_a_working_directory_that_is_missing_is_reported(tmp_path):
    error = failure(execute("x = 1", directory=tmp_path / "none"))
    assert "none" in error.reason


def test_a_cell_beyond_the_time_limit_is_ended_with_all_it_started():
    execution = execute("import os; print(os.getpid())", SLEEPER, timeout=2)
    assert failure(execution).reason.startswith("the cell ran longer than 2 s")
    pids = int(printed(execution, "cell-1")), int(printed(execution, "cell-2"))
    until(lambda: not any(map(alive, pids)))


def test_a_stopped_run_ends_at_once_with_all_it_started():
    execution = Execution(
        notebook("import os; print(os.getpid())", SLEEPER),
        directory=Path.cwd(),
        environment={},
        timeout=60,
    )
    until(lambda: printed(execution, "cell-2"), seconds=20)
    began = time.monotonic()
    execution.stop()
    assert execution.wait(0) and time.monotonic() - began < 3
    error = failure(execution)
    assert error.interrupted and error.position.number == 2
    pids = int(printed(execution, "cell-1")), int(printed(execution, "cell-2"))
    until(lambda: not any(map(alive, pids)))


@pytest.mark.parametrize("pause", [0, 0.1, 0.3])
def test_a_run_that_is_stopped_while_it_starts_ends(pause):
    execution = Execution(
        notebook("x = 1", "import time; time.sleep(60)"),
        directory=Path.cwd(),
        environment={},
        timeout=60,
    )
    time.sleep(pause)
    execution.stop()
    assert execution.wait(0)
    assert failure(execution).interrupted
    assert not [thread for thread in threading.enumerate() if thread.name == "notebook"]


def test_a_run_that_is_not_over_has_not_succeeded():
    execution = Execution(
        notebook("import time; time.sleep(60)"), directory=Path.cwd(), environment={}, timeout=60
    )
    assert not execution.wait(0)
    failure(execution)
    execution.stop()


def test_runs_side_by_side_do_not_clash():
    executions = [
        Execution(notebook(f"print({n})"), directory=Path.cwd(), environment={}, timeout=60)
        for n in range(4)
    ]
    for n, execution in enumerate(executions):
        assert execution.wait(60)
        execution.check()
        assert printed(execution, "cell-1") == f"{n}\n"


def test_a_long_path_for_temporary_files_does_no_harm(tmp_path, monkeypatch):
    """A Unix socket's path may not be longer than about 100 bytes."""
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    execute("x = 1").check()
    assert not list(folder.iterdir())


def test_outputs_are_the_same_again():
    cells = "import sys\nprint(1)\nprint(2, file=sys.stderr)\nprint(3)", "{'a', 'b', 'c'}"
    assert execute(*cells).notebook == execute(*cells).notebook


def test_the_number_of_threads_is_fixed_whatever_the_environment_says(monkeypatch):
    """It changes the last bits of a sum, so also those of every figure that follows."""
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("MKL_DYNAMIC", "TRUE")
    names = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "MKL_DYNAMIC"]
    execution = execute(
        f"import os, numpy, threadpoolctl\nprint([os.environ[name] for name in {names}])\n"
        "print({pool['num_threads'] for pool in threadpoolctl.threadpool_info()})"
    )
    execution.check()
    assert printed(execution, "cell-1") == "['2', '2', '2', 'FALSE']\n{2}\n"


def test_the_section_is_the_last_heading_above_the_cell():
    cells = [
        v4.new_markdown_cell("# Title", id="a"),
        v4.new_markdown_cell("## The attack ##\nprose\n\n```\n# a comment\n```", id="b"),
        v4.new_markdown_cell("no heading, #tag", id="c"),
        v4.new_code_cell("x = 1", id="d"),
    ]
    execution = Execution(
        v4.new_notebook(cells=cells), directory=Path.cwd(), environment={}, timeout=60
    )
    assert execution.wait(60)
    assert execution.position.section == "The attack"


def test_a_stopped_cell_may_clean_up_and_no_other_is_begun():
    source = (
        "try:\n    print(1, flush=True)\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    print('cleaned up')"
    )
    execution = Execution(
        notebook("import time", source, "print('never')"),
        directory=Path.cwd(),
        environment={},
        timeout=60,
    )
    until(lambda: printed(execution, "cell-2"), seconds=20)
    execution.stop()
    assert failure(execution).interrupted
    assert printed(execution, "cell-2") == "1\ncleaned up\n"
    assert printed(execution, "cell-3") == ""


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_cell_that_ignores_the_interruption_is_killed(end, monkeypatch):
    monkeypatch.setattr("course_build.execution._GRACE_SECONDS", 0.5)
    source = (
        "import os, time\nprint(os.getpid(), flush=True)\nwhile True:\n"
        "    try:\n        time.sleep(1)\n    except KeyboardInterrupt:\n        print('no')"
    )
    execution = Execution(notebook(source), directory=Path.cwd(), environment={}, timeout=60)
    until(lambda: printed(execution, "cell-1"), seconds=20)
    began = time.monotonic()
    getattr(execution, end)()
    assert 0.5 * (end == "stop") < time.monotonic() - began < 4
    assert failure(execution).interrupted
    until(lambda: not alive(int(printed(execution, "cell-1").split()[0])))
