"""Where the course can be fetched from: one place, ``pyproject.toml``.

::

    [project.urls]
    Repository = "https://github.com/OWNER/REPOSITORY"

    [tool.course]
    ref = "main"  # the tag or branch that the notebooks are built from
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from course_build.problems import AuthoringError, Problem

_PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
_PLACEHOLDER = "https://github.com/OWNER/REPOSITORY"
_COLAB = "https://colab.research.google.com"


@dataclass(frozen=True)
class Address:
    """A repository and the tag or branch in it."""

    repository: str
    ref: str

    @property
    def is_placeholder(self):
        """Whether nobody has said yet where the course will live."""
        return self.repository == _PLACEHOLDER

    def colab_link(self, path):
        """Where Colab opens a file of the repository; None if it is not on GitHub."""
        match = re.fullmatch(r"https://github\.com/([^/]+/[^/]+?)(\.git)?/?", self.repository)
        return f"{_COLAB}/github/{match[1]}/blob/{self.ref}/{path}" if match else None

    def badge(self, path, alt):
        """The Colab badge for a notebook as Markdown; None if Colab cannot open it."""
        link = self.colab_link(path)
        return f"[![{alt}]({_COLAB}/assets/colab-badge.svg)]({link})" if link else None


def read_address(pyproject=_PYPROJECT):
    """Read the address from a ``pyproject.toml``.

    Raises
    ------
    AuthoringError
        If it holds one that cannot stand in a URL and in a command. None at all is read as the
        placeholder.
    """
    settings = tomllib.loads(Path(pyproject).read_text(encoding="utf-8"))
    repository = settings.get("project", {}).get("urls", {}).get("Repository", _PLACEHOLDER)
    ref = settings.get("tool", {}).get("course", {}).get("ref", "main")
    if not re.fullmatch(r"(https|file)://[\w./~%-]+", repository):
        message = (
            f'[project.urls] Repository is "{repository}": give the https address of the course'
        )
        raise AuthoringError([Problem(pyproject, 1, message)])
    if not re.fullmatch(r"\w[\w./-]*", ref):
        message = f'[tool.course] ref is "{ref}": give the tag or branch that notebooks come from'
        raise AuthoringError([Problem(pyproject, 1, message)])
    return Address(repository, ref)
