"""What is wrong with a source or a catalog, and where, so that an editor can jump to it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Problem:
    """One fault: the file, the line (from 1), what stands there, and what to do about it."""

    path: Path
    line: int
    message: str
    cell: str = ""

    def __str__(self):
        cell = f'cell "{self.cell}": ' if self.cell else ""
        return f"{shown(self.path)}:{self.line}: {cell}{self.message}"


class AuthoringError(ValueError):
    """A source, a catalog or a setting is refused; ``problems`` holds one entry a fault."""

    def __init__(self, problems):
        self.problems = list(problems)
        super().__init__("\n".join(map(str, self.problems)))


def refuse(problems):
    """Raise ``AuthoringError`` if there are problems, else do nothing."""
    problems = list(problems)
    if problems:
        raise AuthoringError(problems)


def shown(path):
    """A path as a person wants to read it: from where they are, if that is above it."""
    path = Path(path).absolute()
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)
