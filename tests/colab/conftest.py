"""What the tests of a notebook alone share."""

import pytest

from course_build.address import read_address
from tests.colab.alone import (
    NOT_IN_COLAB,
    environment_without,
    kernel_environment,
    served_repository,
    wheel_of,
)


@pytest.fixture(scope="session")
def ref():
    """The branch or tag that the notebooks fetch."""
    return read_address().ref


@pytest.fixture(scope="session")
def origin(tmp_path_factory, ref):
    """The address of a repository that holds the course as it is here."""
    return served_repository(tmp_path_factory.mktemp("le dépôt"), ref)


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    """A folder that stands for the package index: what Colab lacks, and nothing else."""
    folder = tmp_path_factory.mktemp("wheels")
    for package in NOT_IN_COLAB:
        wheel_of(package, folder)
    return folder


@pytest.fixture
def colab(tmp_path):
    """The Python of an environment like Colab's, made for this test."""
    return environment_without(tmp_path / "environment", NOT_IN_COLAB)


@pytest.fixture(scope="session")
def complete(tmp_path_factory):
    """The Python of an environment that has all packages; it lacks the course, and stays so."""
    return environment_without(tmp_path_factory.mktemp("complete") / "environment", ())


@pytest.fixture
def folder(tmp_path):
    """Where the notebook runs: empty, and at a path that needs quoting."""
    folder = tmp_path / "mes études d’été 学習"
    folder.mkdir()
    return folder


@pytest.fixture
def home(tmp_path):
    """A home that nobody may write into."""
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o555)
    yield home
    home.chmod(0o755)


@pytest.fixture
def environment(home, origin, wheels):
    """The variables of the student's kernel."""
    return kernel_environment(
        home,
        COURSE_REPO=origin,
        COURSE_PROFILE="smoke",
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=wheels.as_uri(),
    )
