"""The course gets along with the packages that Colab has, and changes none of them."""

import importlib.metadata
import os
import subprocess
import tomllib
from pathlib import Path

import pytest
import uv
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.colab.alone import ROOT

VERSIONS = Path(__file__).parent / "versions.txt"
COLAB_PYTHON = "3.13"
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# Of what the packages installed without their dependencies ask for, that which Colab has not.
DISREGARDED = {"dp-accounting": ["attrs"]}


def pinned(text):
    """The packages of a list of requirements with their versions."""
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    pairs = (line.split("==") for line in lines if "==" in line)
    return {canonicalize_name(name): version for name, version in pairs}


def by_name(requirements):
    return {canonicalize_name(one.name): one for one in map(Requirement, requirements)}


NEEDED = by_name(SETTINGS["project"]["dependencies"])
COLAB = pinned(VERSIONS.read_text(encoding="utf-8"))


def resolve(folder, constraints):
    """Find versions of all that the course needs for Colab's Python; nothing is installed."""
    names = {name for names in DISREGARDED.values() for name in names}
    files = {"wanted.txt": NEEDED.values(), "instead.txt": [NEEDED[name] for name in names]}
    for name, lines in files.items():
        (folder / name).write_text("\n".join(map(str, lines)), encoding="utf-8")
    return subprocess.run(
        [
            uv.find_uv_bin(),
            *("pip", "compile", "--no-config", "--no-python-downloads"),
            *("--no-header", "--no-annotate"),
            *("--python-version", COLAB_PYTHON, "--python-platform", "x86_64-manylinux_2_28"),
            # Wheels only: their metadata can be read without downloading them.
            *("--only-binary", ":all:"),
            *("--constraint", constraints, "--override", "instead.txt", "wanted.txt"),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )


def found(done):
    """What was found; without a package index, the test ends here."""
    if done.returncode and "Failed to fetch" in done.stderr:
        message = "whether Colab's versions suffice is not known: no package index can be reached"
        if os.environ.get("CI"):
            pytest.fail(f"{message}\n{done.stderr}")
        pytest.skip(message)
    return done


def test_ranges_admit_the_versions_that_colab_has():
    both = NEEDED.keys() & COLAB.keys()
    assert both >= {"numpy", "scipy", "scikit-learn", "matplotlib", "torch", "torchvision"}
    assert [str(NEEDED[name]) for name in both if COLAB[name] not in NEEDED[name].specifier] == []


def test_what_is_installed_without_its_dependencies_has_them_and_fits_but_for_what_is_said():
    alone = SETTINGS["tool"]["course"]["install-without-dependencies"]
    assert alone == list(DISREGARDED)
    for package in alone:
        own = by_name(importlib.metadata.requires(package))
        assert own.keys() <= NEEDED.keys()
        outside = [name for name in own if COLAB[name] not in own[name].specifier]
        assert outside == DISREGARDED[package]


def test_resolver_finds_a_set_that_changes_nothing_of_colab(tmp_path):
    done = found(resolve(tmp_path, VERSIONS))
    assert done.returncode == 0, done.stderr
    chosen = pinned(done.stdout)
    changed = [name for name in chosen if COLAB.get(name, chosen[name]) != chosen[name]]
    assert changed == []
    assert chosen.keys() >= NEEDED.keys()


def test_resolver_would_say_so_if_there_were_none(tmp_path):
    constraints = tmp_path / "constraints.txt"
    text = VERSIONS.read_text(encoding="utf-8")
    constraints.write_text(text.replace("scikit-learn==1.6.1", "scikit-learn==1.8.0"), "utf-8")
    done = found(resolve(tmp_path, constraints))
    assert done.returncode == 1
    assert "scikit-learn" in done.stderr
