"""Missing packages are installed, and no other is changed: by pip, from a folder of wheels."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CALL = """
import sys
from pathlib import Path
from course_lib.installation import InstallationError, install_missing
try:
    install_missing(Path(sys.argv[1]))
except InstallationError as error:
    print(*error._render_traceback_())
else:
    from importlib import import_module
    for name in sys.argv[2:]:
        print(name, import_module(name).version)
"""


@pytest.fixture
def wheels(tmp_path):
    """Make wheels of packages that hold their version; the folder stands for the index."""
    folder = tmp_path / "wheels"
    folder.mkdir()

    def make(name, version, *requires):
        about = f"{name}-{version}.dist-info"
        needs = "".join(f"Requires-Dist: {need}\n" for need in requires)
        with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
            for path, text in {
                f"{name}.py": f"version = {version!r}\n",
                f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
                + needs,
                f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
                f"{about}/RECORD": f"{name}.py,,\n",
            }.items():
                wheel.writestr(path, text)

    make.folder = folder
    return make


@pytest.fixture
def environment(tmp_path, wheels):
    """An environment with pip and packaging, and nothing else."""

    class Environment:
        folder = tmp_path / "environment"
        project = tmp_path / "pyproject.toml"

        def run(self, *command, **variables):
            own = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON"))}
            own |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels.folder.as_uri()}
            own |= {"PIP_CONFIG_FILE": os.devnull, "HOME": str(tmp_path / "home")}
            own |= {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", **variables}
            own.pop("COURSE_LANG", None)
            done = subprocess.run(
                [self.python, *command], cwd=tmp_path, env=own, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        def install_missing(self, *dependencies, then=(), alone=(), **variables):
            """What the library's function prints, and then the versions of some packages."""
            self.project.write_text(
                f"[project]\ndependencies = {list(dependencies)}\n"
                f"[tool.course]\ninstall-without-dependencies = {list(alone)}\n",
                encoding="utf-8",
            )
            return self.run("-c", CALL, str(self.project), *then, **variables).splitlines()

    made = Environment()
    venv.EnvBuilder(symlinks=True, with_pip=False).create(made.folder)
    made.python = made.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    [made.place] = made.folder.glob("[Ll]ib/**/site-packages")
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if entry.name in ("pip", "packaging") or entry.name.startswith(("pip-", "packaging-")):
            (made.place / entry.name).symlink_to(entry)
    # A folder of links alone looks empty to pip, which then removes it whole.
    (made.place / "a file.txt").touch()
    return made


def test_only_what_is_missing_is_installed_and_can_be_used_at_once(environment, wheels):
    wheels("there", "1.0")
    environment.run("-m", "pip", "install", "--quiet", "there")
    wheels("there", "1.5")
    wheels("absent_one", "2.0", "there")
    wheels("other", "0.3")
    asked = ["there>=1", "absent-one[extra]>=2,<3", "other"]
    lines = environment.install_missing(*asked, then=["there", "absent_one", "other"])
    assert lines == [
        "Installing absent-one[extra]<3,>=2, other (once; this may take a minute) ...",
        "there 1.0",
        "absent_one 2.0",
        "other 0.3",
    ]
    assert environment.install_missing(*asked) == []


def test_where_pip_installs_for_the_user_alone_it_can_be_used_at_once_too(
    environment, wheels, tmp_path
):
    settings = environment.folder / "pyvenv.cfg"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace("packages = false", "packages = true"), encoding="utf-8")
    wheels("absent", "1.0")
    own = {"PIP_USER": "1", "PYTHONUSERBASE": str(tmp_path / "user")}
    assert environment.install_missing("absent", then=["absent"], **own)[1:] == ["absent 1.0"]
    assert list((tmp_path / "user").rglob("absent.py"))


def test_pip_refuses_to_change_a_package_that_is_there_and_the_message_says_so(environment, wheels):
    wheels("there", "1.0")
    environment.run("-m", "pip", "install", "--quiet", "there")
    wheels("there", "2.0")
    wheels("absent", "1.0", "there>=2")
    lines = environment.install_missing("absent", "there")
    assert len(lines) == 2
    assert lines[1].startswith("These packages could not be installed: absent. That takes pip and")
    assert "conflicting dependencies" in lines[1]
    assert environment.install_missing("there", then=["there"]) == ["there 1.0"]
    # It is the constraint that held it: pip by itself goes up.
    environment.run("-m", "pip", "install", "--quiet", "absent")
    assert environment.install_missing("absent", then=["there"]) == ["there 2.0"]


def test_a_package_that_asks_for_older_ones_than_it_needs_is_installed_beside_the_newer(
    environment, wheels
):
    wheels("there", "26.1")
    environment.run("-m", "pip", "install", "--quiet", "there")
    wheels("narrow", "0.6", "there<24", "other")
    wheels("narrow", "0.7")
    wheels("other", "0.3")
    asked = ["there>=22", "narrow<0.7", "other"]
    names = ["there", "narrow", "other"]
    assert "conflicting dependencies" in environment.install_missing(*asked)[-1]
    lines = environment.install_missing(*asked, alone=["narrow"], then=names)
    assert lines[0].startswith("Installing other, narrow<0.7 (once;")
    assert lines[1:] == ["there 26.1", "narrow 0.6", "other 0.3"]
    assert environment.install_missing(*asked, alone=["narrow"]) == []


def test_a_package_that_no_index_has_is_named_with_the_reason(environment):
    _, line = environment.install_missing("absent>=3")
    assert line.startswith("These packages could not be installed: absent>=3. ")
    assert "Could not find a version that satisfies the requirement absent>=3" in line


def test_the_reason_has_no_colours_in_it(environment):
    # A kernel sets this variable for all that it starts.
    plain = environment.install_missing("absent")
    assert environment.install_missing("absent", FORCE_COLOR="1") == plain


def test_without_pip_it_says_so(environment):
    (environment.place / "pip").unlink()
    _, line = environment.install_missing("absent")
    assert line.endswith("No module named pip")


def test_a_version_the_course_was_not_made_for_is_named_and_left(environment, wheels):
    wheels("there", "1.9.1")
    environment.run("-m", "pip", "install", "--quiet", "there")
    wheels("there", "1.7")
    [line, version] = environment.install_missing("there>=1.5,<1.8", then=["there"])
    assert line.startswith("The course is made for there<1.8,>=1.5, and version 1.9.1 is installed")
    assert version == "there 1.9.1"


def test_a_version_with_a_local_part_is_within_the_range_and_stays(environment, wheels):
    wheels("there", "2.11.0+cu128")
    environment.run("-m", "pip", "install", "--quiet", "there")
    wheels("there", "2.11.0")
    wheels("absent", "1.0", "there>=2.11")
    lines = environment.install_missing("there>=2.11", "absent", then=["there"])
    assert lines[1:] == ["there 2.11.0+cu128"]


def test_what_pip_cannot_read_of_other_packages_does_not_stop_it(environment, wheels):
    wheels("absent", "1.0")
    for name, metadata in {
        "odd-1.0": "Name: odd\nVersion: 1.0-from-a-distributor_x\n",
        "nameless-1.0": "Version: 1.0\n",
        "versionless-1.0": "Name: versionless\n",
    }.items():
        folder = environment.place / f"{name}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\n{metadata}", encoding="utf-8")
    assert environment.install_missing("absent", then=["absent"])[1:] == ["absent 1.0"]


def test_of_two_copies_the_one_that_python_imports_is_held(environment, wheels, tmp_path):
    wheels("there", "1.0")
    environment.run("-m", "pip", "install", "--quiet", "there")
    wheels("there", "2.0")
    behind = tmp_path / "behind"
    environment.run("-m", "pip", "install", "--quiet", "--target", str(behind), "there==2.0")
    (environment.place / "behind.pth").write_text(f"{behind}\n", encoding="utf-8")
    wheels("absent", "1.0", "there==1.0")
    lines = environment.install_missing("there", "absent", then=["there", "absent"])
    assert lines[1:] == ["there 1.0", "absent 1.0"]


def test_a_library_that_pip_installed_has_no_list_to_look_at(environment, tmp_path):
    assert environment.run("-c", CALL, str(tmp_path / "no" / "pyproject.toml")) == ""


def test_the_course_has_all_it_needs_here():
    code = "from course_lib.installation import install_missing; install_missing()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
