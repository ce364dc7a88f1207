"""The files of a folder that was handed in, and how one of them is read."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

# Jupyter's own copies of notebooks, and what operating systems leave in archives.
_NOT_HANDED_IN = {".ipynb_checkpoints", "__MACOSX", "Thumbs.db", "desktop.ini"}

# An executed lab has about two; pictures that a student pasted may make it more.
LARGEST_NOTEBOOK = 50 * 2**20


class NotANotebookError(ValueError):
    """A file that cannot be a notebook; the message says why, as the end of "it ..."."""


@dataclass(frozen=True)
class HandedIn:
    """A file or folder that somebody handed in: where it is, and its name as it can be shown."""

    path: Path
    name: str


def handed_in(folder, leave_out=()):
    """List what was handed in: every file in a folder and the folders in it, by name.

    A link, a folder that is named like a notebook and one that cannot be opened are listed and not
    followed. Hidden files and Jupyter's own copies are left out.

    Parameters
    ----------
    folder : path
    leave_out : paths
        Folders in it that nobody handed in, such as the one that the table is written to.

    Raises
    ------
    OSError
        If the folder itself cannot be read.
    """
    leave_out = {Path(path).resolve() for path in leave_out}
    found, waiting = [], [Path(folder)]
    while waiting:
        inner = waiting.pop()
        try:
            entries = list(os.scandir(inner))
        except OSError:
            if inner == Path(folder):
                raise
            found.append(HandedIn(inner, shown(inner.relative_to(folder))))
            continue
        for entry in entries:
            path = Path(entry.path)
            if entry.name.startswith(".") or entry.name in _NOT_HANDED_IN:
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and path.resolve() in leave_out:
                continue
            if is_folder and path.suffix.lower() != ".ipynb":
                waiting.append(path)
            else:
                found.append(HandedIn(path, shown(path.relative_to(folder))))
    return sorted(found, key=lambda one: one.name)


def shown(path):
    """Return a path as text without anything that is not seen as it is, such as a line break."""
    text = os.fsencode(path).decode("utf-8", errors="backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def read_notebook(path):
    """Return the bytes of a file that may be a notebook.

    Raises
    ------
    NotANotebookError
        If it is a link, a folder, a device, too large, empty, without the ending of a notebook,
        or cannot be read.
    """
    path = Path(path)
    if path.is_dir() and not path.is_symlink() and not os.access(path, os.R_OK | os.X_OK):
        raise NotANotebookError("is a folder that cannot be opened")
    if path.suffix.lower() != ".ipynb":
        raise NotANotebookError("is no notebook: its name does not end in .ipynb")
    if path.is_symlink():
        raise NotANotebookError("is a link to another file, which is not followed")
    try:
        return read_plain_file(path, LARGEST_NOTEBOOK)
    except IsADirectoryError:
        raise NotANotebookError("is a folder and no notebook") from None
    except OSError as error:
        raise NotANotebookError(f"cannot be read: {error.strerror}") from error


def read_plain_file(path, largest):
    """Return the bytes of a plain file; nothing else is opened, waited for or followed.

    Raises
    ------
    NotANotebookError
        If it is something else, empty, or larger than ``largest`` bytes.
    OSError
        If it cannot be read.
    """
    # Without O_NONBLOCK the opening of a pipe that nobody writes to would never end.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(path)
        if not stat.S_ISREG(status.st_mode):
            raise NotANotebookError("is no plain file")
        if status.st_size > largest:
            size, limit = status.st_size / 2**20, largest / 2**20
            raise NotANotebookError(
                f"is too large: {size:,.0f} MiB, where at most {limit:,.0f} MiB are read. "
                "Clear its outputs and hand it in again"
            )
        contents = file.read(largest + 1)  # it may grow meanwhile
    if not contents:
        raise NotANotebookError("is empty")
    return contents[:largest]
