"""What keeps a handed-in notebook away from the teacher's machine, as far as the system can.

Three ways, the first that works here is taken:

- **bubblewrap** (``bwrap``, a package of every Linux distribution): no network; processes of its
  own, which all end with the first; nothing but its own folder can be written; and the home
  folder, the other notebooks and the sockets of this machine's services cannot be seen.
- **namespaces** (``unshare`` of util-linux): no network, and processes of its own. Files are what
  the teacher's account may read and write.
- **none**, as on macOS, or in a container that forbids the others: a process group.

Whether a way works is tried, by a process that is started in it and looks around. So what the
report says of a run is what was seen.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

from course_build.execution import FIXED_THREADS, THREADS

ROOT = Path(__file__).resolve().parent.parent.parent

# Everything else stays behind: tokens, passwords, addresses of proxies, settings of Python.
_INHERITED = (
    *("PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
    *("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "CUDA_VISIBLE_DEVICES"),
)

# For what is written outside of the own folder: /tmp, /dev/shm.
_SCRATCH_BYTES = 2**30

_LOOK_AROUND = """\
import json, os, socket, sys
process, *places = sys.argv[1:]
try:
    os.kill(int(process), 0)
    sees = True
except OSError as error:
    sees = isinstance(error, PermissionError)
print(json.dumps({
    "interfaces": [name for _, name in socket.if_nameindex()],
    "sees": sees,
    "writable": [place for place in places if os.access(place, os.W_OK)],
}))
"""


@dataclass(frozen=True)
class Sandbox:
    """A way to start a process, and what it was seen to keep away.

    Attributes
    ----------
    name : str
        "bubblewrap", "namespaces" or "none".
    network_is_cut : bool
        Nothing but the machine's own loopback is there.
    processes_are_own : bool
        Other processes are not seen, and none outlives the first.
    files_are_safe : bool
        The course, the handed-in files, the home folder and the folders of the notebooks that
        run at the same time cannot be written.
    hidden : tuple of path
        Folders that the process must not see, where that can be had.
    """

    name: str
    network_is_cut: bool = False
    processes_are_own: bool = False
    files_are_safe: bool = False
    hidden: tuple = ()

    def command(self, folder, *command):
        """Return the command that runs another one in the sandbox.

        Parameters
        ----------
        folder : path
            The one that may be written.
        """
        if self.name == "bubblewrap":
            return [*_bubblewrap(folder, self.hidden), *command]
        if self.name == "namespaces":
            return [
                *("unshare", "--user", "--map-current-user", "--net", "--ipc", "--uts"),
                *("--pid", "--fork", "--kill-child", "--mount-proc", "--", *command),
            ]
        return list(command)

    def sentences(self):
        """Say what was seen to be kept apart, and what was not."""
        cut = "was cut" if self.network_is_cut else "was NOT cut: they could send and fetch"
        yield f"The network of the notebooks {cut}."
        if self.files_are_safe:
            yield "They could write in a folder of their own and nowhere else."
        else:
            yield (
                "Files were NOT protected: the notebooks could read and change what this account "
                "can. In a container that is what was mounted; elsewhere install bubblewrap, or "
                "use a container (docs/teachers.md)."
            )
        if not self.processes_are_own:
            yield (
                "Processes were NOT kept apart: the notebooks could end other programs, and one "
                "that hides itself well could live on after its notebook."
            )


def environment(folder, profile):
    """Return the environment of a run: a short list of what is inherited, and its own places.

    Parameters
    ----------
    folder : path
        Its own, with the folders ``home`` and ``tmp``.
    profile : str
    """
    return {
        **{name: os.environ[name] for name in _INHERITED if name in os.environ},
        **FIXED_THREADS,
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "PYTHONPATH": str(ROOT),
        "PYTHONHASHSEED": "0",
        # A lab trains one network per core; its memory shall not hang on how many there are.
        "LOKY_MAX_CPU_COUNT": str(THREADS),
        # Nothing that a notebook does shall stay in the course's folders.
        "PYTHONDONTWRITEBYTECODE": "1",
        # What the set-up cell finds missing here is the teacher's matter.
        "PIP_NO_INDEX": "1",
        "COURSE_PROFILE": profile,
        "COURSE_LANG": "en",  # the language of the table
    }


def find_sandbox(hidden):
    """Return the best sandbox that works here.

    Parameters
    ----------
    hidden : paths
        Folders that a handed-in notebook must not see: those with the others' work.
    """
    hidden = tuple(Path(path).resolve() for path in hidden)
    for name, program in (("bubblewrap", "bwrap"), ("namespaces", "unshare")):
        if shutil.which(program):
            seen = _look_around(Sandbox(name, hidden=hidden))
            if seen is not None and seen.network_is_cut and seen.processes_are_own:
                return seen
    return _look_around(Sandbox("none", hidden=hidden)) or Sandbox("none")


def _look_around(sandbox):
    """Start a process in the sandbox; return the sandbox with what it saw, or None."""
    with _temporary() as folder, _temporary() as anothers:
        # The last is as the folder of another notebook, which runs at the same time.
        places = [str(place) for place in (ROOT, Path.home(), *sandbox.hidden, anothers)]
        command = (sys.executable, "-c", _LOOK_AROUND, str(os.getpid()), *places)
        try:
            done = subprocess.run(
                sandbox.command(Path(folder), *command),
                capture_output=True,
                check=True,
                timeout=30,
                cwd=folder,
            )
            seen = json.loads(done.stdout)
        except (OSError, subprocess.SubprocessError, ValueError):
            return None
    return Sandbox(
        sandbox.name,
        network_is_cut=not set(seen["interfaces"]) - {"lo", "lo0"},
        processes_are_own=not seen["sees"],
        files_are_safe=not seen["writable"],
        hidden=sandbox.hidden,
    )


def _temporary():
    return tempfile.TemporaryDirectory(prefix="handed-in-")


def _bubblewrap(folder, hidden):
    """Return the call of bwrap: the whole system can be read, but for what is hidden."""
    folder = Path(folder).resolve()
    scratch = ("--size", str(_SCRATCH_BYTES), "--tmpfs")
    call = [
        *("bwrap", "--die-with-parent", "--new-session"),
        *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *(*scratch, "/tmp", *scratch, "/dev/shm"),
    ]
    # The folder that this one lies in holds those of the notebooks that run at the same time. In
    # /run lie the sockets of services, such as Docker's and that of the session: a network of its
    # own keeps nobody from them, and they start programs outside.
    emptied = {path.resolve() for path in (Path.home(), folder.parent, Path("/run"), *hidden)}
    emptied = {path for path in emptied if path.is_dir()}
    emptied -= {Path("/"), Path("/tmp").resolve(), *_needed()}
    # What lies deeper comes later: the course may lie in the home folder, or the other way round.
    for path in sorted({*emptied, *_needed()}):
        call += ["--tmpfs", path] if path in emptied else ["--ro-bind", path, path]
    call += ["--bind", folder, folder]
    for path in emptied:  # only now: what is to lie in them needs a place
        call += ["--remount-ro", path]
    return [*map(str, call), "--"]


def _needed():
    """The folders that the course and this Python are made of."""
    named = sysconfig.get_paths()
    places = [named[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    places += [ROOT, sys.prefix, sys.base_prefix, Path(sys.executable).resolve().parent]
    return {Path(place).resolve() for place in places}
