"""CIFAR-10: the bundle, and the whole set by a download that may break off."""

import hashlib
import http.server
import io
import pickle
import tarfile
import threading

import numpy as np
import pytest
from torchvision.datasets import CIFAR10

from course_lib import data
from course_lib.data import DataError, fetch_resumable, load_cifar10

PAGE = b"<!DOCTYPE html><html><body>Access denied</body></html>"


class Ranges(http.server.BaseHTTPRequestHandler):
    """A server that knows ranges; it breaks off after ``breaks_after`` bytes of an answer."""

    def do_GET(self):
        self.server.asked.append(self.headers.get("Range"))
        body = self.server.body
        start = 0
        if self.headers.get("Range") and self.server.knows_ranges:
            start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        stop = len(body)
        if self.server.breaks_after is not None:
            stop = start + self.server.breaks_after
        self.wfile.write(body[start:stop])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges) as server:
        server.body = np.random.default_rng(0).bytes(3_000_000)
        server.asked, server.knows_ranges, server.breaks_after = [], True, None
        server.url = f"http://127.0.0.1:{server.server_port}/archive"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(5)


def md5(contents):
    return hashlib.md5(contents).hexdigest()


def test_a_download_that_broke_off_goes_on_from_there(server, tmp_path):
    server.breaks_after = 1_200_000
    seen = []
    with pytest.raises(DataError, match="broke off after 1 of 3 MB, which are kept"):
        fetch_resumable(
            server.url,
            tmp_path / "file",
            md5=md5(server.body),
            progress=lambda *done: seen.append(done),
        )
    assert seen[-1] == (1.2, 3.0) and not (tmp_path / "file").exists()
    server.breaks_after = None
    path = fetch_resumable(server.url, tmp_path / "file", md5=md5(server.body))
    assert path.read_bytes() == server.body
    assert server.asked == [None, "bytes=1200000-"]
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_server_without_ranges_sends_everything_again(server, tmp_path):
    (tmp_path / "file.part").write_bytes(b"half of it")
    server.knows_ranges = False
    path = fetch_resumable(server.url, tmp_path / "file", md5=md5(server.body))
    assert path.read_bytes() == server.body


def test_a_file_that_is_there_is_not_fetched_again(server, tmp_path):
    (tmp_path / "file").write_bytes(server.body)
    fetch_resumable(server.url, tmp_path / "file", md5=md5(server.body))
    assert server.asked == []


@pytest.mark.parametrize("left_over", [b"", b"x" * 4_000_000])
def test_what_is_not_the_file_is_thrown_away(server, tmp_path, left_over):
    expected = md5(server.body)
    server.body = PAGE
    if left_over:  # longer than what the server has: it answers 416
        (tmp_path / "file.part").write_bytes(left_over)
    what = "another file" if left_over else "a web page"
    with pytest.raises(DataError, match=f"sent {what} instead"):
        fetch_resumable(server.url, tmp_path / "file", md5=expected)
    assert list(tmp_path.iterdir()) == []


def test_no_network_is_said_in_a_sentence(tmp_path):
    with pytest.raises(DataError, match=r"cannot be reached .* this needs a network connection"):
        fetch_resumable("http://127.0.0.1:9/none", tmp_path / "file", md5=md5(b""))


def test_a_folder_that_cannot_be_written_is_named(server, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DataError, match="cannot be written"):
        fetch_resumable(server.url, tmp_path / "file" / "archive", md5=md5(server.body))


def test_the_whole_set_comes_through_torchvision_checked_and_only_once(
    server, tmp_path, monkeypatch
):
    rng = np.random.default_rng(1)
    images = rng.integers(0, 256, (6, 20, 3, 32, 32), dtype=np.uint8)
    labels = rng.integers(0, 10, (6, 20))
    lists, packed = [], io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        names = [*(f"data_batch_{k}" for k in range(1, 6)), "test_batch", "batches.meta"]
        for k, name in enumerate(names):
            contents = {"label_names": [str(c) for c in range(10)]}
            if name != "batches.meta":
                contents = {"data": images[k].reshape(20, -1), "labels": labels[k].tolist()}
            contents = pickle.dumps(contents)
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(contents)
            archive.addfile(member, io.BytesIO(contents))
            lists.append([name, md5(contents)])
    server.body = packed.getvalue()
    monkeypatch.setattr(data, "DOWNLOADS_DIR", tmp_path)
    monkeypatch.setattr(CIFAR10, "url", server.url)
    monkeypatch.setattr(CIFAR10, "tgz_md5", md5(server.body))
    monkeypatch.setattr(CIFAR10, "train_list", lists[:5])
    monkeypatch.setattr(CIFAR10, "test_list", lists[5:6])
    monkeypatch.setattr(CIFAR10, "meta", CIFAR10.meta | {"md5": lists[6][1]})
    for _time in range(2):
        whole = load_cifar10("download")
        expected = images.transpose(0, 1, 3, 4, 2)
        np.testing.assert_array_equal(whole.x_train, expected[:5].reshape(100, 32, 32, 3))
        np.testing.assert_array_equal(whole.x_test, expected[5])
        np.testing.assert_array_equal(whole.y_train, labels[:5].ravel())
        np.testing.assert_array_equal(whole.y_test, labels[5])
    assert len(server.asked) == 1


def test_a_damaged_bundle_is_refused_with_the_remedy(tmp_path, monkeypatch):
    whole = (data.DATA_DIR / "cifar10_subset.npz").read_bytes()
    (tmp_path / "cifar10_subset.npz").write_bytes(whole[:-1])
    monkeypatch.setattr(data, "DATA_DIR", tmp_path)
    with pytest.raises(DataError, match=r"cifar10_subset\.npz is damaged.*git checkout"):
        load_cifar10()


def test_an_unknown_source_is_refused():
    with pytest.raises(ValueError, match="'bundle' or 'download'"):
        load_cifar10("web")
