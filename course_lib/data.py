"""The data sets of the labs: bundled with the course, downloaded only when asked, checksummed."""

import contextlib
import gzip
import hashlib
import http.client
import io
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import numpy as np

DATA_DIR = Path(__file__).resolve().parent.parent / "data"
DOWNLOADS_DIR = DATA_DIR / "downloads"

MNIST_SHA256 = "99b6212d8b734503d7fa2e29ea6413bad62226998e56555f4a6b0b30072f1aec"

CIFAR10_SHA256 = "5505b3805d253cd62d84ff03c573cc1c9e9e893baaff3f32f69d419ae9263a8c"

# Where torchvision gets MNIST, and the MD5 of each compressed file.
_MNIST_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_MNIST_FILES = {
    "x_train": ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
    "y_train": ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
    "x_test": ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
    "y_test": ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
}

# Of the values and labels of scikit-learn's breast cancer data, as little-endian numbers.
_BREAST_CANCER_SHA256 = "25e2eb7b7a8745b1bde5ba18bc4969983d2e2f403291ecd5bde4a29ef30c3859"

_files_read = {}


class DataError(RuntimeError):
    """A data file is missing or is not what it should be; the message says what to do."""


@dataclass(frozen=True, eq=False)
class MNIST:
    """The handwritten digits of LeCun, Cortes and Burges (1998), pixels from 0 to 255.

    Attributes
    ----------
    x_train : uint8 array (60000, 28, 28)
    y_train : uint8 array (60000,)
    x_test : uint8 array (10000, 28, 28)
    y_test : uint8 array (10000,)
    """

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def load_mnist(source="bundle"):
    """Return the whole of :class:`MNIST`.

    Parameters
    ----------
    source : {"bundle", "download"}
        The course's own file, which needs no network, or the original files from the web,
        which are kept under ``data/downloads/mnist``.

    Raises
    ------
    DataError
        If the bundle is missing or damaged, or a download fails.
    ValueError
        If the source is neither of the two.
    """
    if source == "download":
        arrays = {}
        for name, (filename, md5) in _MNIST_FILES.items():
            path = fetch(_MNIST_URL + filename, DOWNLOADS_DIR / "mnist" / filename, md5=md5)
            arrays[name] = read_idx(gzip.decompress(path.read_bytes()))
        return MNIST(**arrays)
    if source != "bundle":
        raise ValueError(f"source is {source!r}; choose 'bundle' or 'download'")
    contents = read_bundled(DATA_DIR / "mnist.npz", MNIST_SHA256)
    with np.load(io.BytesIO(contents), allow_pickle=False) as arrays:
        return MNIST(**{name: arrays[name] for name in _MNIST_FILES})


@dataclass(frozen=True, eq=False)
class BreastCancer:
    """The Wisconsin diagnostic data of Wolberg, Street and Mangasarian (1995), one row a patient.

    Attributes
    ----------
    x : float64 array (569, 30)
        Ten measurements of the cell nuclei in an image, each as mean, standard error and worst
        value, in the data set's own units.
    y : int64 array (569,)
        1 for a benign, 0 for a malignant tumour.
    feature_names : tuple of str
    """

    x: np.ndarray
    y: np.ndarray
    feature_names: tuple


def load_breast_cancer():
    """Return :class:`BreastCancer`, which comes with scikit-learn.

    Raises
    ------
    DataError
        If scikit-learn's data is not the one the course was built with.
    """
    from sklearn.datasets import load_breast_cancer as load

    bunch = load()
    x, y = bunch.data.astype("<f8"), bunch.target.astype("<i8")
    found = hashlib.sha256(x.tobytes() + y.tobytes()).hexdigest()
    if found != _BREAST_CANCER_SHA256:
        raise DataError(
            f"scikit-learn's breast cancer data has changed: its SHA-256 begins with {found[:12]} "
            f"where {_BREAST_CANCER_SHA256[:12]} is expected. It was not used: install the version "
            "of scikit-learn that requirements.txt names"
        )
    _files_read["sklearn.datasets: breast cancer"] = found
    return BreastCancer(x, y, tuple(bunch.feature_names.tolist()))


@dataclass(frozen=True, eq=False)
class CIFAR10:
    """The photographs of Krizhevsky (2009), or some of them, pixels from 0 to 255.

    Attributes
    ----------
    x_train : uint8 array (n, 32, 32, 3)
        Rows, columns, and red, green, blue.
    y_train : uint8 array (n,)
        0 airplane, 1 automobile, 2 bird, 3 cat, 4 deer, 5 dog, 6 frog, 7 horse, 8 ship, 9 truck.
    x_test, y_test : likewise
    """

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def load_cifar10(source="bundle", on_progress=None):
    """Return a random part of :class:`CIFAR10`, or all of it.

    Parameters
    ----------
    source : {"bundle", "download"}
        The course's own file, which needs no network: 5,000 training and 2,000 test images in
        random order. Or all 50,000 and 10,000 in the original order, through torchvision, kept
        under ``data/downloads/cifar10``: 170 MB to fetch once. A download that breaks off goes on
        from there the next time.
    on_progress : callable
        Called as on_progress(megabytes so far, megabytes in all) while the download runs.

    Raises
    ------
    DataError
        If the bundle is missing or damaged, or a download fails.
    ValueError
        If the source is neither of the two.
    """
    if source == "download":
        return _whole_cifar10(DOWNLOADS_DIR / "cifar10", on_progress)
    if source != "bundle":
        raise ValueError(f"source is {source!r}; choose 'bundle' or 'download'")
    from PIL import Image

    contents = read_bundled(DATA_DIR / "cifar10_subset.npz", CIFAR10_SHA256)
    with np.load(io.BytesIO(contents), allow_pickle=False) as arrays:
        y_train, y_test = arrays["y_train"], arrays["y_test"]
        with Image.open(io.BytesIO(arrays["images"].tobytes())) as sheet:
            rows = np.asarray(sheet.convert("RGB"))
    tiles = rows.reshape(len(rows) // 32, 32, -1, 32, 3).swapaxes(1, 2).reshape(-1, 32, 32, 3)
    return CIFAR10(tiles[: len(y_train)], y_train, tiles[len(y_train) :], y_test)


def _whole_cifar10(folder, on_progress):
    from torchvision.datasets import CIFAR10 as TorchvisionCIFAR10  # noqa: N811

    source = TorchvisionCIFAR10
    fetch_resumable(source.url, folder / source.filename, md5=source.tgz_md5, progress=on_progress)
    try:
        # It finds the archive, unpacks it where needed, and checks each file in it.
        train, test = (source(folder, train=train, download=True) for train in (True, False))
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error.strerror or error}") from error
    return CIFAR10(
        train.data,
        np.array(train.targets, dtype=np.uint8),
        test.data,
        np.array(test.targets, dtype=np.uint8),
    )


def files_read():
    """Return the data files that this process has read, with their checksums.

    Bundled files stand under their path in the repository, downloads under their address.
    """
    return dict(_files_read)


def read_bundled(path, sha256):
    """Return the bytes of a file that comes with the course, once its SHA-256 is checked.

    Raises
    ------
    DataError
        If the file cannot be read, or is not the one the course was built with.
    """
    # Seen from the repository, which is where the remedy is typed.
    shown = f"data/{path.name}" if path.parent == DATA_DIR else str(path)
    remedy = f"get it again with `git checkout -- {shown}` in the course's folder"
    try:
        contents = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{shown} is missing: {remedy}") from None
    except OSError as error:
        raise DataError(f"{shown} cannot be read ({error.strerror}): {remedy}") from error
    found = hashlib.sha256(contents).hexdigest()
    if found != sha256:
        raise DataError(
            f"{shown} is damaged: its SHA-256 begins with {found[:12]} where {sha256[:12]} "
            f"is expected ({len(contents)} bytes). It was not used: {remedy}"
        )
    _files_read[shown] = found
    return contents


def read_idx(contents):
    """Return the uint8 array in the bytes of an IDX file, the format MNIST was published in.

    Raises
    ------
    DataError
        If the bytes are not an IDX file of unsigned bytes, or too few or too many.
    """
    # Two zero bytes, the type (8 = unsigned byte), the number of axes; then each axis' length.
    if len(contents) < 4 or contents[:3] != b"\x00\x00\x08":
        raise DataError("this is no IDX file of unsigned bytes: it does not begin with 00 00 08")
    axes = contents[3]
    header = 4 + 4 * axes
    if len(contents) < header:
        raise DataError(f"this IDX file ends within its header, after {len(contents)} bytes")
    shape = tuple(int(length) for length in np.frombuffer(contents, ">u4", axes, 4))
    expected = header + int(np.prod(shape, dtype=np.int64))
    if len(contents) != expected:
        raise DataError(
            f"this IDX file has {len(contents)} bytes where its shape {shape} needs {expected}"
        )
    return np.frombuffer(contents, np.uint8, offset=header).reshape(shape).copy()


def fetch(url, destination, *, sha256=None, md5=None, timeout=30.0):
    """Download one file, keep it only if its checksum is right, and return its path.

    A file already at the destination is used when its checksum is right, without network, and
    replaced when it is not.

    Parameters
    ----------
    url : str
    destination : path
    sha256, md5 : str
        The expected checksum in hexadecimal: exactly one of the two.
    timeout : float
        Seconds without a byte after which the server counts as silent.

    Raises
    ------
    DataError
        If the server refuses, is silent or out of reach, or what it sent is not the file.
    ValueError
        If not exactly one checksum is given.
    """
    if (sha256 is None) == (md5 is None):
        raise ValueError(f"give one checksum, sha256 or md5, for {url}")
    algorithm, expected = ("sha256", sha256) if md5 is None else ("md5", md5)
    destination = Path(destination)
    if destination.is_file():
        with open(destination, "rb") as file:
            if hashlib.file_digest(file, algorithm).hexdigest() == expected:
                _files_read[url] = f"{algorithm}:{expected}"
                return destination
    temporary = destination.with_name(f"{destination.name}.{os.getpid()}.part")
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            digest, beginning = _download(url, file, algorithm, timeout)
        if digest != expected:
            what = "a web page" if _is_html(beginning) else "another file, or part of it"
            raise DataError(
                f"{url} sent {what} instead of the expected file (its {algorithm} is wrong); "
                "nothing was kept. Try again later, or from another network"
            )
        os.replace(temporary, destination)
    except OSError as error:
        raise DataError(f"{destination} cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):  # it is gone already, unless the download failed
            temporary.unlink()
    _files_read[url] = f"{algorithm}:{expected}"
    return destination


def fetch_resumable(url, destination, *, md5, progress=None, timeout=30.0):
    """Download one large file, in several goes if need be, and return its path.

    What has arrived when the connection breaks off, or the reader stops it, is kept beside the
    destination as ``.part``, and the next call asks for the rest. The file gets its own name only
    once its MD5 is right.

    Parameters
    ----------
    url : str
    destination : path
    md5 : str
        The expected checksum in hexadecimal.
    progress : callable
        Called as progress(megabytes so far, megabytes in all), once a megabyte.
    timeout : float
        Seconds without a byte after which the server counts as silent.

    Raises
    ------
    DataError
        If the server refuses, is silent or out of reach, or what it sent is not the file.
    """
    destination = Path(destination)
    if not _has_md5(destination, md5):
        part = destination.with_name(f"{destination.name}.part")
        try:
            destination.parent.mkdir(parents=True, exist_ok=True)
            _download_rest(url, part, progress, timeout)
            if not _has_md5(part, md5):
                with open(part, "rb") as file:
                    what = "a web page" if _is_html(file.read(512)) else "another file"
                part.unlink()
                raise DataError(
                    f"{url} sent {what} instead of the expected file (its md5 is wrong); nothing "
                    "was kept. Try again later, or from another network"
                )
            os.replace(part, destination)
        except OSError as error:
            raise DataError(
                f"{destination} cannot be written: {error.strerror or error}"
            ) from error
    _files_read[url] = f"md5:{md5}"
    return destination


def _has_md5(path, md5):
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest() == md5


def _download_rest(url, part, progress, timeout):
    """Ask for what ``part`` lacks, and append it; start over where the server sends everything."""
    have = part.stat().st_size if part.is_file() else 0
    headers = {"User-Agent": "course-lib"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=timeout
        ) as response:
            if response.status != 206:
                have = 0
            announced = response.headers.get("Content-Length")
            total = have + int(announced) if announced else None
            with open(part, "ab" if have else "wb") as file:
                while block := response.read(1 << 20):
                    file.write(block)
                    have += len(block)
                    if progress and total:
                        progress(have / 1e6, total / 1e6)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # nothing is missing, or what there is belongs to another file
            return
        raise DataError(
            f"{url} answered {error.code} {error.reason}. Try again later, or from another network"
        ) from error
    except urllib.error.URLError as error:
        raise DataError(
            f"{url} cannot be reached ({error.reason}): this needs a network connection. What has "
            "arrived before is kept"
        ) from error
    except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise DataError(
            f"the connection to {url} broke off after {have / 1e6:.0f} MB, which are kept: run "
            "this again, and it goes on from there"
        ) from error
    if total is not None and have < total:
        raise DataError(
            f"the connection to {url} broke off after {have / 1e6:.0f} of {total / 1e6:.0f} MB, "
            "which are kept: run this again, and it goes on from there"
        )


def _download(url, file, algorithm, timeout):
    """Copy what the server sends into an open file; return its checksum and first bytes."""
    hasher = hashlib.new(algorithm)
    beginning = b""
    received = 0
    # Some servers turn away Python's default name.
    request = urllib.request.Request(url, headers={"User-Agent": "course-lib"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            announced = response.headers.get("Content-Length")
            while block := response.read(1 << 16):
                file.write(block)
                hasher.update(block)
                received += len(block)
                beginning = beginning or block[:512]
    except urllib.error.HTTPError as error:
        raise DataError(
            f"{url} answered {error.code} {error.reason}; nothing was kept. "
            "Try again later, or from another network"
        ) from error
    except TimeoutError as error:
        raise DataError(f"{url} sent nothing for {timeout:g} seconds; nothing was kept") from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise DataError(f"{url} did not answer within {timeout:g} seconds") from error
        raise DataError(
            f"{url} cannot be reached ({error.reason}): this needs a network connection"
        ) from error
    except (http.client.HTTPException, ConnectionError) as error:
        raise DataError(f"the connection to {url} broke off; nothing was kept") from error
    if announced is not None and received != int(announced):
        raise DataError(
            f"{url} ended after {received} of {announced} bytes; nothing was kept. Try again"
        )
    return hasher.hexdigest(), beginning


def _is_html(beginning):
    return beginning.lstrip().lower().startswith((b"<!doctype html", b"<html"))
