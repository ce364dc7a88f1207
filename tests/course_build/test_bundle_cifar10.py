import hashlib
import io
import json

import numpy as np
import pytest
from PIL import Image

from course_build import bundle_cifar10
from course_build.bundle_cifar10 import draw_subset, main, read_originals
from course_build.bundles import write_bundle
from course_lib import data
from course_lib.data import DataError, load_cifar10


@pytest.fixture
def originals(tmp_path, monkeypatch):
    """A folder of files that pass for the package's, and the images and labels in them."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "package"
    folder.mkdir()
    images = rng.integers(0, 256, (6, 40, 32, 32, 3), dtype=np.uint8)
    labels = rng.integers(0, 10, 240)
    names = [*(f"data_batch_{k}.png" for k in range(1, 6)), "test_batch.png"]
    for name, batch in zip(names, images, strict=True):
        Image.fromarray(batch.reshape(40, 1024, 3)).save(folder / name)
    (folder / "train_lables.json").write_text(json.dumps(labels[:200].tolist()))
    (folder / "test_lables.json").write_text(json.dumps(labels[200:].tolist()))
    known = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}
    monkeypatch.setattr(bundle_cifar10, "ORIGINALS", known)
    return tmp_path, images, labels


def test_originals_are_read_in_their_order(originals):
    folder, images, labels = originals
    arrays = read_originals(folder)
    np.testing.assert_array_equal(arrays["x_train"], images[:5].reshape(200, 32, 32, 3))
    np.testing.assert_array_equal(arrays["x_test"], images[5])
    np.testing.assert_array_equal(arrays["y_train"], labels[:200])
    np.testing.assert_array_equal(arrays["y_test"], labels[200:])


def test_the_bundle_holds_the_images_that_the_seed_draws_without_loss(originals):
    folder, images, labels = originals
    bundle = draw_subset(read_originals(folder), n_train=170, n_test=30, seed=5)
    rng = np.random.default_rng(5)
    train, test = rng.choice(200, 170, replace=False), rng.choice(40, 30, replace=False)
    np.testing.assert_array_equal(bundle["train_index"], train)
    np.testing.assert_array_equal(bundle["test_index"], test)
    np.testing.assert_array_equal(bundle["y_train"], labels[:200][train])
    sheet = np.asarray(Image.open(io.BytesIO(bundle["images"].tobytes())).convert("RGB"))
    tiles = [sheet[32 * r : 32 * r + 32, 32 * c : 32 * c + 32] for r in (0, 1) for c in range(100)]
    expected = np.concatenate([images[:5].reshape(200, 32, 32, 3)[train], images[5][test]])
    np.testing.assert_array_equal(tiles, expected)


def test_the_loader_gets_back_what_was_bundled(originals, tmp_path, monkeypatch):
    folder, _, _ = originals
    whole = read_originals(folder)
    bundle = draw_subset(whole, n_train=170, n_test=30)
    write_bundle(bundle, tmp_path / "cifar10_subset.npz")
    digest = hashlib.sha256((tmp_path / "cifar10_subset.npz").read_bytes()).hexdigest()
    monkeypatch.setattr(data, "DATA_DIR", tmp_path)
    monkeypatch.setattr(data, "CIFAR10_SHA256", digest)
    loaded = load_cifar10()
    np.testing.assert_array_equal(loaded.x_train, whole["x_train"][bundle["train_index"]])
    np.testing.assert_array_equal(loaded.y_train, whole["y_train"][bundle["train_index"]])
    np.testing.assert_array_equal(loaded.x_test, whole["x_test"][bundle["test_index"]])
    np.testing.assert_array_equal(loaded.y_test, whole["y_test"][bundle["test_index"]])


@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_file_that_is_not_the_original_is_refused(originals, damage, tmp_path, capsys):
    folder, _, _ = originals
    path = folder / "package" / "data_batch_3.png"
    if damage == "changed":
        path.write_bytes(path.read_bytes()[:-1] + b"\0")
    else:
        path.unlink()
    with pytest.raises(DataError, match=r"data_batch_3\.png"):
        read_originals(folder)
    output = tmp_path / "bundle.npz"
    assert main([str(folder), "--output", str(output)]) == 1
    assert "data_batch_3.png" in capsys.readouterr().err
    assert not output.exists()


def test_the_committed_bundle_is_what_its_description_says():
    cifar10 = load_cifar10()
    assert cifar10.x_train.shape == (5000, 32, 32, 3) and cifar10.x_test.shape == (2000, 32, 32, 3)
    # A random part has nearly the means and the classes of the whole, which the field publishes.
    means = cifar10.x_train.mean(axis=(0, 1, 2)) / 255
    np.testing.assert_allclose(means, (0.4914, 0.4822, 0.4465), atol=0.01)
    assert np.all(abs(np.bincount(cifar10.y_train, minlength=10) - 500) < 100)
    flat = cifar10.x_train.reshape(5000, -1)
    assert len(np.unique(flat, axis=0)) >= 4995
