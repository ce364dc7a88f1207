"""Labs that run at the same time, in one build and in several."""

import os
import re
import signal
import time

import pytest

from course_build.locks import LabLock
from course_build.results import read_results

# Waits until the other lab has come as far: alone it never ends.
MEET = """
import time
from pathlib import Path

folder = Path({folder!r})
(folder / "{name}").touch()
for _ in range(400):
    if len(list(folder.iterdir())) == 2:
        break
    time.sleep(0.05)
else:
    raise TimeoutError("alone")
lab.record(one=1)
"""

# Says that it runs, and waits until it may go on.
WAIT = """
import os
import time
from pathlib import Path

folder = Path({folder!r})
(folder / f"runs-{{os.getpid()}}").touch()
while not (folder / "go").exists():
    time.sleep(0.05)
lab.record(one=1)
"""


@pytest.fixture
def meeting(tmp_path):
    folder = tmp_path / "meeting"
    folder.mkdir()
    return folder


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_jobs_run_side_by_side(build, labs, meeting):
    for name in ("a", "b"):
        labs.write(name, MEET.format(folder=str(meeting), name=name))
    status, out, err = build("--jobs", 2, sources=labs.folder)
    assert status == 0, err
    assert re.findall(r"^([ab]) +written", out, re.M) == ["a", "b"]


def test_without_jobs_they_run_one_after_the_other(build, labs, tmp_path):
    record = f"open({str(tmp_path / 'order')!r}, 'a').write"
    for name in ("a", "b"):
        labs.write(name, f"import time\n{record}('<')\ntime.sleep(0.3)\n{record}('>')")
    assert build(sources=labs.folder)[0] == 0
    assert (tmp_path / "order").read_text() == "<><>"


def test_a_second_build_of_a_lab_waits_and_runs_nothing_twice(build_process, labs, meeting):
    labs.write("slow", WAIT.format(folder=str(meeting)))
    first = build_process("slow", sources=labs.folder)
    until(lambda: list(meeting.glob("runs-*")))
    second = build_process("slow", sources=labs.folder)
    line = second.stderr.readline()
    expected = f"another build of it runs (process {first.pid}): waiting for its end\n"
    assert line.startswith("slow  0:0") and line.endswith(expected)
    (meeting / "go").touch()
    assert "slow  written" in first.communicate(timeout=60)[0]
    assert "slow  up to date" in second.communicate(timeout=60)[0]
    assert (first.returncode, second.returncode) == (0, 0)
    assert len(list(meeting.glob("runs-*"))) == 1


def test_a_build_that_waits_can_be_interrupted(build_process, labs, build, tmp_path):
    labs.write("slow")
    lock = LabLock(build.folder / "slow.json", tmp_path / "build" / "locks")
    assert lock.acquire()
    process = build_process("slow", sources=labs.folder)
    assert f"process {os.getpid()}" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "stopped: slow: interrupted before its first cell" in out
    assert not build.folder.exists()


def test_the_lock_of_a_build_that_was_killed_is_no_obstacle(build_process, build, labs, meeting):
    source = WAIT.format(folder=str(meeting))
    labs.write("slow", source)
    first = build_process("slow", sources=labs.folder)
    until(lambda: list(meeting.glob("runs-*")))
    first.kill()
    first.wait(10)
    (meeting / "go").touch()
    status, _, err = build("slow", sources=labs.folder)
    assert status == 0 and "another build" not in err
    assert [path.name for path in build.folder.iterdir()] == ["slow.json"]


def test_the_lock_is_of_one_results_file(tmp_path):
    def lock(path):
        return LabLock(tmp_path / path, tmp_path / "locks")

    held = lock("results/a.json")
    assert held.acquire() and not lock("results/../results/a.json").acquire()
    assert lock("results/a.json").holder() == str(os.getpid())
    assert lock("results/b.json").acquire() and lock("other/a.json").acquire()
    held.release()
    assert lock("results/a.json").acquire()


def test_a_tree_that_cannot_hold_locks_is_named(build, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("build_results.BUILD_DIR", tmp_path / "file")
    status, _, err = build("runs_to_its_end")
    assert status == 1 and "where builds keep their locks, cannot be written" in err


def eight(labs):
    names = [f"lab_{number}" for number in range(8)]
    for number, name in enumerate(names):
        labs.write(name, f"lab.record(number={number})")
    return names


def check_eight(build, names):
    for number, name in enumerate(names):
        assert read_results(build.folder / f"{name}.json")["results"]["number"] == number
    assert len(list(build.folder.iterdir())) == 8


def test_eight_labs_at_once(build, labs):
    names = eight(labs)
    status, _, err = build("--jobs", 8, sources=labs.folder)
    assert status == 0, err
    check_eight(build, names)


@pytest.mark.slow
def test_eight_labs_at_once_twenty_times(build, labs):
    names = eight(labs)
    for _ in range(20):
        status, _, err = build("--jobs", 8, "--force", sources=labs.folder)
        assert status == 0, err
        check_eight(build, names)


@pytest.mark.slow
def test_eight_builds_at_once(build_process, build, labs):
    """Each of all labs: every lab runs once, and nothing is half written."""
    names = eight(labs)
    processes = [build_process(sources=labs.folder) for _ in range(8)]
    outs = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 8
    check_eight(build, names)
    for name in names:
        assert sum(f"{name}  written" in out for out in outs) == 1
