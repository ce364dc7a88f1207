"""What the scripts that make the bundled data share: packing arrays, and the command itself."""

import argparse
import hashlib
import io
import os
import sys
import zipfile
from pathlib import Path

import numpy as np

from course_lib.data import DATA_DIR, DataError

# The earliest date a zip archive can hold: the bundle must not depend on the day it was made.
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


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


def bundle_command(module, description, folder_help, filename, make, arguments=None):
    """Run ``python -m MODULE FOLDER [--output FILE]`` and return its exit status.

    Parameters
    ----------
    module, description, folder_help : str
        What ``--help`` says.
    filename : str
        The bundle's name in ``data``.
    make : function
        From the folder of the originals to the arrays of the bundle.
    arguments : list of str, optional
        Those of the command line unless given.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", metavar="FOLDER", help=folder_help)
    parser.add_argument(
        "--output", default=DATA_DIR / filename, type=Path, help=f"default: data/{filename}"
    )
    options = parser.parse_args(arguments)
    try:
        write_bundle(make(options.folder), options.output)
    except DataError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{options.output} cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    digest = hashlib.sha256(options.output.read_bytes()).hexdigest()
    print(f"{options.output}: {options.output.stat().st_size} bytes, SHA-256 {digest}")
    return 0
