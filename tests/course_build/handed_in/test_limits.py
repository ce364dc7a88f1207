import os
import subprocess
import sys
import time

import psutil
import pytest

from course_build.handed_in import run as handed_in_run
from course_build.handed_in import watch
from course_build.handed_in.files import HandedIn
from course_build.handed_in.run import HandedInRun, Settings
from course_build.handed_in.sandbox import Sandbox
from course_build.handed_in.watch import ProcessTree, delete, disk_usage

from .conftest import write_notebook

EATER = """\
import subprocess, sys, time
code = "held = b'1' * 150 * 2**20; import time; time.sleep(90)"
started = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(5)]
time.sleep(90)
"""
MANY = """\
import subprocess, time
started = [subprocess.Popen(["sleep", "90"]) for _ in range(30)]
time.sleep(90)
"""
WRITER = """\
import time
for n in range(4):
    with open(f"large-{n}", "wb") as file:
        file.write(b"1" * 20 * 2**20)
time.sleep(90)
"""
TALKER = """\
import time
for n in range(10**6):
    open(f"file-{n}", "w").close()
time.sleep(90)
"""
ESCAPES = """\
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(90)"],
                         start_new_session=True)
open({path!r}, "w").write(str(child.pid))
time.sleep(90)
"""


@pytest.fixture
def begin(tmp_path, labs, cells):
    """Begin a notebook that does the first exercise and then something else."""
    begun = []

    def begin(code, **limits):
        path = tmp_path / "one.ipynb"
        write_notebook(path, cells["parameters"], cells["true-label-logit"], code)
        limits = {"timeout": 100, "memory": 3 * 2**30, **limits}
        begun.append(
            HandedInRun(
                HandedIn(path, path.name), Settings(Sandbox("none"), labs, "smoke", **limits)
            )
        )
        begun[-1].start()
        return begun[-1]

    yield begin
    for one in begun:
        one.kill()


@pytest.fixture
def run(begin):
    """Run such a notebook; return its rows."""

    def run(code, *, time_flies=False, **limits):
        one = begin(code, **limits)
        while not one.poll():
            if time_flies and one.position is not None and one.position.number == 3:
                one._began -= 100
            time.sleep(0.02)
        return {row.exercise: (row.result, row.message) for row in one.rows}

    return run


def is_alive(pid):
    """Whether a process runs; one that waits for its parent to take note of its end does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_notebook_that_never_ends_keeps_the_verdicts_before_the_limit(run):
    rows = run("while True:\n    pass", time_flies=True)
    assert rows[1][0] == "passed"
    assert rows[2] == (
        "not reached",
        "The notebook ran longer than 100 s (--timeout) and was ended in code cell 3 of 3.",
    )


def test_a_limit_that_leaves_no_room_to_begin_is_said_to_do_so(run, monkeypatch):
    monkeypatch.setattr(ProcessTree, "memory", lambda tree: 4 * 2**30)
    rows = run("", memory=3 * 2**30)
    assert {result for result, _ in rows.values()} == {"not reached"}
    [message] = {message for _, message in rows.values()}
    assert "more than 3 GiB of memory" in message and "before its first cell" in message


@pytest.mark.parametrize("megabytes", [5, 20, 40])
def test_a_notebook_with_hardly_any_memory_is_a_row_whatever_fails_first(run, megabytes):
    assert {result for result, _ in run("", memory=megabytes * 2**20).values()} == {"not reached"}


def test_memory_is_that_of_all_processes_together(run):
    rows = run(EATER, memory=int(0.7 * 2**30))  # no process alone comes near it
    assert rows[1][0] == "passed" and "more than 0.7 GiB of memory (--memory)" in rows[2][1]


def test_too_many_processes_are_ended_even_where_their_memory_takes_long_to_sum_up(
    run, monkeypatch
):
    monkeypatch.setattr(handed_in_run, "MOST_PROCESSES", 20)
    slow = ProcessTree.memory
    monkeypatch.setattr(ProcessTree, "memory", lambda tree: [slow(tree), time.sleep(0.5)][0])
    rows = run(MANY, timeout=9)  # the next look at the memory comes after this
    assert rows[1][0] == "passed" and "started more than 20 processes" in rows[2][1]


def test_processes_that_go_on_starting_others_in_other_sessions_are_all_ended(
    tmp_path, monkeypatch
):
    mark = tmp_path / "running"
    code = (  # each starts the next one and ends, out of the group, for as long as it is let
        "import os, sys, time\n"
        "for n in range(60):\n"
        "    os.setsid() if n else None\n"
        f"    open({str(mark)!r}, 'w').write(str(n))\n"
        "    if os.fork():\n"
        "        time.sleep(0.5)\n"
        "        os._exit(0)\n"
        "    time.sleep(0.1)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as process:
        tree = ProcessTree(process.pid)
        while not (mark.is_file() and mark.read_text() not in ("", "0", "1")):
            tree.processes()
            time.sleep(0.01)
        look, pauses = tree._look, iter([0.3])

        def slow():
            look()
            time.sleep(next(pauses, 0))  # meanwhile others are started

        monkeypatch.setattr(tree, "_look", slow)
        tree.kill()
    last = mark.read_text()
    time.sleep(0.4)
    assert mark.read_text() == last


@pytest.mark.slow
@pytest.mark.parametrize("code", [WRITER, TALKER])
def test_large_and_many_files_are_ended(code, run, monkeypatch):
    monkeypatch.setattr(handed_in_run, "LARGEST_FOLDER", 50 * 2**20)
    assert "GiB of files, or very many files" in run(code)[2][1]


def wait_for_pid(path):
    end = time.monotonic() + 60
    while not (path.is_file() and path.read_text()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return int(path.read_text())


@pytest.mark.parametrize("way", ["stop", "kill"])
def test_what_a_notebook_started_ends_with_it_even_in_a_session_of_its_own(way, begin, tmp_path):
    one = begin(ESCAPES.format(path=str(tmp_path / "pid")))
    pid = wait_for_pid(tmp_path / "pid")
    folder = one._folder
    assert not one.poll() and is_alive(pid) and folder.is_dir()
    getattr(one, way)()
    assert not is_alive(pid) and not folder.exists()
    if way == "stop":
        said = [(row.exercise, row.result, row.message) for row in one.rows]
        assert said[1] == (2, "not reached", "The run was stopped in code cell 3 of 3.")


def test_the_memory_of_a_tree_is_that_of_its_leader_and_its_children():
    child = (
        "import time; held = bytearray(b'1' * 100 * 2**20); print(1, flush=True); time.sleep(60)"
    )
    leader = (
        "import subprocess, sys; held = bytearray(b'1' * 50 * 2**20)\n"
        f"subprocess.run([sys.executable, '-c', {child!r}])"
    )
    command = [sys.executable, "-c", leader]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        process.stdout.readline()
        tree = ProcessTree(process.pid)
        processes, memory = tree.processes(), tree.memory()
        tree.kill()
    assert processes == 2
    assert 150 * 2**20 < memory < 220 * 2**20
    end = time.monotonic() + 5
    while tree.processes():
        assert time.monotonic() < end


def test_disk_usage_counts_what_takes_place_and_stops_at_many_files(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"1" * 2**20)
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(2**40)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert 2**20 <= disk_usage(tmp_path) < 2 * 2**20
    monkeypatch.setattr(watch, "_MOST_FILES", 100)
    for n in range(101):
        (tmp_path / "a" / str(n)).touch()
    assert disk_usage(tmp_path) == float("inf")


@pytest.fixture
def deep(tmp_path):
    """A folder with folders in folders, so deep that their path is too long for the system."""
    top = tmp_path / "top"
    top.mkdir()
    here = os.getcwd()
    try:
        os.chdir(top)
        for _ in range(250):
            os.mkdir("d" * 20)
            os.chdir("d" * 20)
    finally:
        os.chdir(here)
    return top


def test_a_folder_is_deleted_whatever_was_made_of_it(deep, tmp_path):
    kept = tmp_path / "kept"
    kept.write_text("")
    (deep / "-rf").mkdir()
    (deep / "link").symlink_to(kept)
    (deep / "-rf").chmod(0)
    assert disk_usage(deep) == float("inf")
    delete(deep)
    assert not deep.exists() and kept.exists()
