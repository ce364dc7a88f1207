import contextlib
import gzip
import hashlib
import http.server
import socket
import threading
import time

import numpy as np
import pytest

from course_lib import data
from course_lib.data import DataError, fetch, load_mnist, read_idx

CONTENTS = b"the file that was asked for" * 100
MD5 = hashlib.md5(CONTENTS).hexdigest()
SHA256 = hashlib.sha256(CONTENTS).hexdigest()
PAGE = b"<!DOCTYPE html><html><body>Access denied</body></html>"


class Answers(http.server.BaseHTTPRequestHandler):
    """A server whose paths are named by what happens there."""

    requests = 0

    def do_GET(self):
        type(self).requests += 1
        if self.path == "/forbidden":
            self._send(403, PAGE)
        elif self.path == "/page":
            self._send(200, PAGE)
        elif self.path == "/truncated":
            self._send(200, CONTENTS[:500], announced=len(CONTENTS))
        elif self.path == "/truncated-and-not-announced":
            self._send(200, CONTENTS[:500], announced=None)
        elif self.path == "/stalls":
            self._send(200, CONTENTS[:500], announced=len(CONTENTS))
            self.server.released.wait(10)
        elif self.path == "/silent":
            self.server.released.wait(10)
        elif self.path in self.server.files:
            self._send(200, self.server.files[self.path])
        else:
            self._send(200, CONTENTS)

    def _send(self, status, body, announced=0):
        self.send_response(status)
        if announced is not None:
            self.send_header("Content-Length", str(announced or len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        server.daemon_threads = True
        server.released = threading.Event()
        server.files = {}
        server.url = f"http://127.0.0.1:{server.server_port}"
        Answers.requests = 0
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield server
        server.released.set()
        server.shutdown()
        thread.join(5)


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_mnist_is_whole_and_needs_no_network(no_network):
    mnist = load_mnist()
    assert mnist.x_train.shape == (60000, 28, 28) and mnist.x_test.shape == (10000, 28, 28)
    assert {array.dtype for array in vars(mnist).values()} == {np.dtype(np.uint8)}
    # The counts of each digit in the original, and the first labels.
    assert np.bincount(mnist.y_train).tolist() == [
        5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949,
    ]  # fmt: skip
    assert np.bincount(mnist.y_test).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
    assert mnist.y_train[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    pixels = mnist.x_train / 255
    assert round(pixels.mean(), 4) == 0.1307 and round(pixels.std(), 4) == 0.3081


def test_mnist_says_which_file_was_read():
    load_mnist()
    assert data.files_read()["data/mnist.npz"] == data.MNIST_SHA256


@pytest.mark.parametrize("damage", ["flipped", "truncated", "pointer"])
def test_a_damaged_bundle_is_named_and_refused(damage, tmp_path, monkeypatch):
    contents = bytearray((data.DATA_DIR / "mnist.npz").read_bytes())
    if damage == "flipped":
        contents[len(contents) // 2] ^= 1
    elif damage == "truncated":
        del contents[-1:]
    else:
        contents = b"version https://git-lfs.github.com/spec/v1\n"
    (tmp_path / "mnist.npz").write_bytes(contents)
    monkeypatch.setattr(data, "DATA_DIR", tmp_path)
    with pytest.raises(DataError, match=r"data/mnist\.npz is damaged.*git checkout -- data/mnist"):
        load_mnist()


def test_a_missing_bundle_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "DATA_DIR", tmp_path)
    with pytest.raises(DataError, match=r"data/mnist\.npz is missing.*git checkout"):
        load_mnist()


def test_an_unreadable_bundle_is_named(tmp_path, monkeypatch):
    (tmp_path / "mnist.npz").mkdir()
    monkeypatch.setattr(data, "DATA_DIR", tmp_path)
    with pytest.raises(DataError, match=r"data/mnist\.npz cannot be read"):
        load_mnist()


def test_an_unknown_source_is_refused():
    with pytest.raises(ValueError, match="'web'; choose 'bundle' or 'download'"):
        load_mnist(source="web")


@pytest.mark.parametrize("checksum", [{"md5": MD5}, {"sha256": SHA256}])
def test_fetch_keeps_the_file_and_asks_once(checksum, server, tmp_path):
    path = tmp_path / "new folder" / "file"
    for _ in range(2):
        assert fetch(f"{server.url}/file", path, **checksum) == path
        assert path.read_bytes() == CONTENTS
    assert Answers.requests == 1
    assert data.files_read()[f"{server.url}/file"] in {f"md5:{MD5}", f"sha256:{SHA256}"}


def test_fetch_replaces_a_damaged_copy(server, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(PAGE)
    fetch(f"{server.url}/file", path, md5=MD5)
    assert path.read_bytes() == CONTENTS


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("forbidden", "answered 403 Forbidden"),
        ("page", "sent a web page instead of the expected file"),
        ("truncated", f"ended after 500 of {len(CONTENTS)} bytes"),
        ("truncated-and-not-announced", "sent another file, or part of it"),
        ("stalls", "sent nothing for 0.3 seconds"),
        ("silent", "sent nothing for 0.3 seconds"),
    ],
)
@pytest.mark.parametrize("earlier", [None, b"an earlier, other file"])
def test_a_failed_download_is_one_sentence_and_leaves_nothing(
    path, says, earlier, server, tmp_path
):
    destination = tmp_path / "file"
    if earlier is not None:
        destination.write_bytes(earlier)
    began = time.monotonic()
    with pytest.raises(DataError, match=says) as caught:
        fetch(f"{server.url}/{path}", destination, sha256=SHA256, timeout=0.3)
    assert time.monotonic() - began < 3
    assert "\n" not in str(caught.value) and server.url in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == ([] if earlier is None else ["file"])
    assert earlier is None or destination.read_bytes() == earlier


def test_no_server_is_one_sentence(tmp_path):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(DataError, match=r"cannot be reached .*needs a network connection"):
        fetch(f"http://127.0.0.1:{port}/file", tmp_path / "file", md5=MD5, timeout=2)
    assert not list(tmp_path.iterdir())


def test_a_destination_that_cannot_be_written_is_named(server, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"downloads.* cannot be written"):
        fetch(f"{server.url}/file", tmp_path / "file" / "downloads", md5=MD5)


@pytest.mark.parametrize("checksums", [{}, {"md5": MD5, "sha256": SHA256}])
def test_fetch_wants_one_checksum(checksums, tmp_path):
    with pytest.raises(ValueError, match="give one checksum"):
        fetch("http://127.0.0.1/file", tmp_path / "file", **checksums)


def test_mnist_can_be_downloaded(server, tmp_path, monkeypatch):
    """The four files, small ones here, are checked, unpacked and kept."""
    rng = np.random.default_rng(0)
    arrays = {}
    files = {}
    for name, (filename, _) in data._MNIST_FILES.items():
        shape = (5, 28, 28) if name.startswith("x") else (5,)
        arrays[name] = rng.integers(0, 256, shape, dtype=np.uint8)
        packed = gzip.compress(idx_bytes(arrays[name]))
        server.files[f"/{filename}"] = packed
        files[name] = (filename, hashlib.md5(packed).hexdigest())
    monkeypatch.setattr(data, "_MNIST_FILES", files)
    monkeypatch.setattr(data, "_MNIST_URL", f"{server.url}/")
    monkeypatch.setattr(data, "DOWNLOADS_DIR", tmp_path)
    for _ in range(2):
        mnist = load_mnist(source="download")
        for name, array in arrays.items():
            np.testing.assert_array_equal(getattr(mnist, name), array)
    assert Answers.requests == 4


def idx_bytes(array):
    """An IDX file, written as its specification has it."""
    header = bytes([0, 0, 8, array.ndim])
    return header + b"".join(n.to_bytes(4, "big") for n in array.shape) + array.tobytes()


@pytest.mark.parametrize("shape", [(3,), (2, 3, 4), (0,)])
def test_idx_comes_back_as_it_was_written(shape):
    array = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    np.testing.assert_array_equal(read_idx(idx_bytes(array)), array)


@pytest.mark.parametrize(
    ("contents", "says"),
    [
        (PAGE, "no IDX file"),
        (b"", "no IDX file"),
        (b"\0\0\x0d\x01\0\0\0\0", "no IDX file"),  # floats
        (b"\0\0\x08\x03\0\0", "ends within its header"),
        (idx_bytes(np.zeros(5, np.uint8))[:-1], "has 12 bytes where its shape"),
        (idx_bytes(np.zeros(5, np.uint8)) + b"\0", "has 14 bytes where its shape"),
    ],
)
def test_what_is_no_idx_file_is_refused(contents, says):
    with pytest.raises(DataError, match=says):
        read_idx(contents)


def test_the_checksum_is_documented():
    assert data.MNIST_SHA256 in (data.DATA_DIR / "README.md").read_text(encoding="utf-8")
