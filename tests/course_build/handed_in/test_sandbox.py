import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from course_build.handed_in import sandbox as module
from course_build.handed_in.sandbox import ROOT, Sandbox, environment, find_sandbox

# Whether a system allows it at all.
ALLOWED = {
    "bubblewrap": ("bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"),
    "namespaces": ("unshare", "--user", "--net", "--pid", "--fork", "--mount-proc", "true"),
}
CONNECT = "import socket; socket.create_connection(('127.0.0.1', {port}), timeout=5)"


@pytest.fixture(params=["bubblewrap", "namespaces"])
def sandbox(request, tmp_path):
    """Each sandbox that this system has."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "other.ipynb").write_text("the work of another student", encoding="utf-8")
    if (
        shutil.which(ALLOWED[request.param][0]) is None
        or subprocess.run(ALLOWED[request.param], capture_output=True, check=False).returncode
    ):
        pytest.skip(f"{request.param} cannot be had here")
    seen = module._look_around(Sandbox(request.param, hidden=(hidden,)))
    assert seen is not None
    return seen


@pytest.fixture
def python(tmp_path):
    """Run code in a sandbox; return whether it ended well, and what it printed."""
    folder = tmp_path / "own"
    folder.mkdir()

    def python(sandbox, code):
        command = sandbox.command(folder, sys.executable, "-c", code)
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=folder)
        return done.returncode == 0, (done.stdout + done.stderr).strip()

    return python


def test_a_server_of_this_machine_cannot_be_reached(sandbox, python):
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = CONNECT.format(port=server.getsockname()[1])
        assert python(Sandbox("none"), code) == (True, "")
        reached, said = python(sandbox, code)
    assert not reached and "Error" in said and sandbox.network_is_cut


def test_the_processes_of_this_machine_are_not_seen(sandbox, python):
    code = f"import os; os.kill({os.getpid()}, 0)"
    assert python(Sandbox("none"), code)[0]
    assert "ProcessLookupError" in python(sandbox, code)[1]
    assert sandbox.processes_are_own


def test_bubblewrap_lets_nothing_be_written_but_the_own_folder(sandbox, python, tmp_path):
    if sandbox.name != "bubblewrap":
        pytest.skip("namespaces alone do not protect files")
    assert sandbox.files_are_safe
    for place in (ROOT, Path.home(), tmp_path / "hidden"):
        assert "Read-only" in python(sandbox, f"open({str(place / 'new')!r}, 'w')")[1]
    python(sandbox, f"open({str(tmp_path / 'beside')!r}, 'w')")
    assert not (tmp_path / "beside").exists()
    assert python(sandbox, "open('new', 'w')") == (True, "")
    assert (tmp_path / "own" / "new").exists()
    assert python(sandbox, f"import os; print(os.listdir({str(tmp_path / 'hidden')!r}))")[1] == "[]"


def test_bubblewrap_hides_the_notebooks_that_run_beside_and_the_sockets_of_services(
    sandbox, python, tmp_path
):
    if sandbox.name != "bubblewrap":
        pytest.skip("namespaces alone do not hide files")
    # As where temporary files go to a place of the teacher's own, outside of /tmp.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        folder = Path(place).resolve() / "own"
        for name in ("own", "beside"):
            (folder.parent / name).mkdir()
        code = f"import os; open('new', 'w'); print([os.listdir(p) for p in ('/run', {place!r})])"
        command = sandbox.command(folder, sys.executable, "-c", code)
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=folder)
        assert done.stdout.strip() == "[[], ['own']]", done.stderr
        assert (folder / "new").is_file()


def test_the_own_folder_may_lie_in_the_home_folder(sandbox, monkeypatch, tmp_path):
    if sandbox.name != "bubblewrap":
        pytest.skip("namespaces alone do not hide files")
    home = tmp_path / "home"
    (home / "tmp").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(tempfile, "tempdir", str(home / "tmp"))
    found = find_sandbox([])
    assert found.name == "bubblewrap" and found.files_are_safe


def test_the_environment_is_a_short_list(monkeypatch, tmp_path):
    for name in ("MY_TOKEN", "PYTHONSTARTUP", "HTTPS_PROXY", "COURSE_RESULTS", "SSH_AUTH_SOCK"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("LANG", "fr_FR.UTF-8")
    given = environment(tmp_path, "quick")
    assert "secret" not in given.values()
    assert given["LANG"] == "fr_FR.UTF-8" and given["COURSE_LANG"] == "en"
    assert given["HOME"] == str(tmp_path / "home") and given["PYTHONPATH"] == str(ROOT)
    assert given["LOKY_MAX_CPU_COUNT"] == given["OMP_NUM_THREADS"] == "2"


def test_without_any_help_of_the_system_the_report_says_what_is_open(monkeypatch):
    monkeypatch.setattr(module.shutil, "which", lambda program: None)
    said = " ".join(find_sandbox([]).sentences())
    has_network = {name for _, name in socket.if_nameindex()} - {"lo", "lo0"}
    assert ("network of the notebooks was NOT cut" in said) == bool(has_network)
    assert "Files were NOT protected" in said and "Processes were NOT kept apart" in said


def test_files_are_not_called_safe_where_one_notebook_could_write_in_anothers_folder(
    sandbox, monkeypatch
):
    if sandbox.name != "bubblewrap":
        pytest.skip("namespaces alone do not protect files")
    shared = tempfile.gettempdir()  # the one place that can be written, as in a container
    call = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    monkeypatch.setattr(module, "_bubblewrap", lambda *_: [*call, "--bind", shared, shared, "--"])
    seen = module._look_around(Sandbox("bubblewrap"))
    assert seen.network_is_cut and not seen.files_are_safe


def test_a_sandbox_that_does_not_keep_its_promise_is_not_taken(monkeypatch, tmp_path):
    for program in ("bwrap", "unshare"):  # they run the command and keep nothing apart
        fake = tmp_path / program
        fake.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
        fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path) + os.pathsep + os.environ["PATH"])
    assert find_sandbox([]).name == "none"


def test_the_best_sandbox_of_this_system_is_taken(sandbox):
    found = find_sandbox([])
    assert found.network_is_cut and found.processes_are_own
    if sandbox.name == "bubblewrap":
        assert found.name == "bubblewrap" and list(found.sentences())[1].startswith("They could")
