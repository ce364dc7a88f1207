"""What it takes to run a notebook as in Colab: alone, where the course is not.

A repository on this computer stands for the one that the notebooks fetch from. An environment
stands for Colab's: the packages of the one that runs the tests, but for a few, without the course,
and with a module that is named ``google.colab``. Nothing else is made up.
"""

import importlib.metadata
import os
import shutil
import subprocess
import sysconfig
import venv
import zipfile
from pathlib import Path

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from course_build.execution import FIXED_THREADS
from course_build.tree import Tree

ROOT = Tree().root
# What Colab lacks of the course's packages.
NOT_IN_COLAB = ("diffprivlib", "dp-accounting", "opacus")


def served_repository(folder, ref):
    """Make a repository of the course as it is here, committed or not; return its address."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True).stdout
    for name in names.decode("utf-8").split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    for words in (
        ("init", "--quiet"),
        ("checkout", "--quiet", "-b", ref),
        ("add", "--all"),
        ("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "x"),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    return folder.as_uri()


def environment_without(folder, packages):
    """Make an environment that lacks these packages, and the course; return its Python."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    [place] = folder.glob("[Ll]ib/**/site-packages")
    hidden = {"course_lib"}
    for package in packages:
        files = importlib.metadata.files(package)
        hidden |= {file.parts[0] for file in files if ".." not in file.parts}
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if entry.name not in hidden and not entry.name.startswith(("__editable__", "course_lib-")):
            (place / entry.name).symlink_to(entry)
    module = folder / "stand-in" / "google" / "colab" / "__init__.py"
    module.parent.mkdir(parents=True)
    module.write_text('"""Stands for the module that every kernel of Colab has."""\n', "utf-8")
    # As in Colab, it is imported before the notebook's first cell.
    lines = f"{module.parent.parent.parent}\nimport google.colab\n"
    (place / "stand_in.pth").write_text(lines, "utf-8")
    return python


def wheel_of(package, folder):
    """Pack an installed package of pure Python as the wheel that it came from."""
    found = importlib.metadata.distribution(package)
    name = found.name.replace("-", "_")
    path = folder / f"{name}-{found.version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file in found.files:
            if ".." not in file.parts and file.suffix != ".pyc" and file.locate().is_file():
                wheel.write(file.locate(), file.as_posix())
    return path


def kernel_environment(home, **more):
    """The variables of a student's kernel: none of the course's, but those that are given."""
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COURSE_", "PIP_", "PYTHON", "VIRTUAL_ENV", "XDG_", "MPL"))
    }
    return {**own, **FIXED_THREADS, "HOME": str(home), "PIP_CONFIG_FILE": os.devnull, **more}


def without_privileges(command):
    """A command that may write where permissions say so, even if the tests run as root."""
    if os.name == "nt" or os.geteuid() != 0:
        return command
    dropped = "-dac_override,-dac_read_search"
    return ["setpriv", f"--bounding-set={dropped}", "--inh-caps=-all", *command]


def run_alone(notebook, python, folder, environment):
    """Run a notebook in a folder with an environment's Python; its outputs are filled in.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell fails.
    """

    class Kernel(AsyncKernelManager):
        @property
        def kernel_spec(self):
            module = ["-m", "ipykernel_launcher", "-f", "{connection_file}"]
            argv = without_privileges([str(python), *module])
            return KernelSpec(argv=argv, display_name="Python 3", language="python")

    client = NotebookClient(
        notebook,
        kernel_manager_class=Kernel,
        resources={"metadata": {"path": str(folder)}},
        timeout=600,
        coalesce_streams=True,
        record_timing=False,
    )
    client.execute(env=environment, stderr=subprocess.DEVNULL)
    return notebook


def shown(notebook):
    """What the cells printed, by their ids."""
    return {
        cell.id: "".join(output.get("text", "") for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    }


def packages_of(python):
    """The packages that an environment has, with their versions."""
    code = (
        "from importlib.metadata import distributions as d\nfor x in d(): print(x.name, x.version)"
    )
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return dict(line.split() for line in done.stdout.splitlines())
