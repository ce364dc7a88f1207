import os
from pathlib import Path

import pytest

from course_build.handed_in.files import (
    LARGEST_NOTEBOOK,
    NotANotebookError,
    handed_in,
    read_notebook,
    read_plain_file,
    shown,
)


def test_every_file_is_found_also_in_folders_of_their_own(tmp_path):
    for name in ("b.ipynb", "a/x.IPYNB", "a/y.zip", "out/checks.csv", ".hidden", "a/.git/z"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "folder.ipynb").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path)
    found = handed_in(tmp_path, leave_out=[tmp_path / "out"])
    assert [one.name for one in found] == [
        "a/x.IPYNB",
        "a/y.zip",
        "b.ipynb",
        "folder.ipynb",
        "loop",
    ]


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        (b"a\nb.ipynb", "a\\nb.ipynb"),
        (b"\xff.ipynb", "\\xff.ipynb"),
        ("\u202eipynb".encode(), "\\u202eipynb"),
        (b"\x1b[31m", "\\x1b[31m"),
        ("é 日本.ipynb".encode(), "é 日本.ipynb"),
    ],
)
def test_a_name_is_shown_as_it_can_be_seen(name, seen):
    assert shown(os.fsdecode(name)) == seen


def test_a_file_that_grows_is_read_up_to_the_limit(tmp_path, monkeypatch):
    path = tmp_path / "a.ipynb"
    path.write_bytes(b"12345")
    assert read_plain_file(path, 5) == b"12345"
    with pytest.raises(NotANotebookError, match="is too large"):
        read_plain_file(path, 4)
    assert 10 * 2**20 < LARGEST_NOTEBOOK < 2**30


def test_a_notebook_that_is_gone_or_closed_says_so(tmp_path):
    with pytest.raises(NotANotebookError, match="cannot be read: No such file"):
        read_notebook(tmp_path / "gone.ipynb")


def test_a_folder_that_cannot_be_opened_is_a_line_and_the_others_are_found(tmp_path, monkeypatch):
    for name in ("a", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "b.ipynb").write_text("{}")
    scandir, access = os.scandir, os.access

    def closed(path):
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)  # whoever runs the tests may be allowed everything
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "closed")
    assert access(tmp_path / "closed", os.R_OK)
    assert [one.name for one in handed_in(tmp_path)] == ["a/b.ipynb", "closed"]
    with pytest.raises(NotANotebookError, match="is a folder that cannot be opened"):
        read_notebook(tmp_path / "closed")
    with pytest.raises(PermissionError):
        handed_in(tmp_path / "closed")


def test_what_is_no_plain_file_is_neither_followed_nor_waited_for(tmp_path):
    (tmp_path / "target").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="link"):
        read_plain_file(tmp_path / "link", 100)
    with pytest.raises(NotANotebookError, match="is no plain file"):
        read_plain_file(tmp_path / "pipe", 100)
    with pytest.raises(NotANotebookError, match="is no plain file"):
        read_plain_file("/dev/zero", 100)
