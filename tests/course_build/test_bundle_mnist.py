import hashlib

import numpy as np
import pytest

from course_build import bundle_mnist
from course_build.bundle_mnist import main, read_originals
from course_build.bundles import write_bundle
from course_lib.data import MNIST_SHA256, DataError, load_mnist


def idx_bytes(array):
    header = bytes([0, 0, 8, array.ndim])
    return header + b"".join(n.to_bytes(4, "big") for n in array.shape) + array.tobytes()


@pytest.fixture
def originals(tmp_path, monkeypatch):
    """A folder of four small IDX files that pass for the originals, and their arrays."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "MNIST" / "raw"
    folder.mkdir(parents=True)
    arrays, known = {}, {}
    for name, (filename, _) in bundle_mnist.ORIGINALS.items():
        shape = (4, 28, 28) if name.startswith("x") else (4,)
        arrays[name] = rng.integers(0, 256, shape, dtype=np.uint8)
        contents = idx_bytes(arrays[name])
        (folder / filename).write_bytes(contents)
        known[name] = (filename, hashlib.md5(contents).hexdigest())
    monkeypatch.setattr(bundle_mnist, "ORIGINALS", known)
    return tmp_path, arrays


def test_the_bundle_holds_the_originals(originals, tmp_path, capsys):
    folder, arrays = originals
    output = tmp_path / "bundle.npz"
    assert main([str(folder), "--output", str(output)]) == 0
    assert hashlib.sha256(output.read_bytes()).hexdigest() in capsys.readouterr().out
    with np.load(output, allow_pickle=False) as bundle:
        assert list(bundle) == list(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(bundle[name], array)


def test_a_missing_file_is_named(originals):
    folder, _ = originals
    (folder / "MNIST" / "raw" / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(DataError, match=r"t10k-labels-idx1-ubyte is not in .*--help"):
        read_originals(folder)


def test_another_file_under_the_name_is_refused_and_the_old_bundle_stays(
    originals, tmp_path, capsys
):
    folder, _ = originals
    path = folder / "MNIST" / "raw" / "train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    output = tmp_path / "bundle.npz"
    output.write_bytes(b"old")
    assert main([str(folder), "--output", str(output)]) == 1
    assert "train-images-idx3-ubyte is not the original" in capsys.readouterr().err
    assert output.read_bytes() == b"old"


def test_the_days_do_not_matter(originals, tmp_path, monkeypatch):
    _, arrays = originals
    write_bundle(arrays, tmp_path / "one.npz")
    monkeypatch.setattr("time.time", lambda: 2e9)
    write_bundle(arrays, tmp_path / "two.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


@pytest.mark.slow
def test_the_committed_bundle_comes_from_these_arrays(tmp_path):
    write_bundle(vars(load_mnist()), tmp_path / "mnist.npz")
    made = (tmp_path / "mnist.npz").read_bytes()
    assert hashlib.sha256(made).hexdigest() == MNIST_SHA256
