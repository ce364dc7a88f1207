"""Training many networks safely: side by side, kept one by one, resumed after an interruption.

A run is one network: its settings, its seed, its members. Each finished run is kept in a file of
its own, named after a hash of everything that it depends on: every setting, the data, the members,
the code that trains, the versions of the packages. A changed setting therefore never meets an old
network. The files hold weights and nothing else; they are read without pickle.

joblib starts the workers, so joblib.parallel_config chooses where they run: processes on this
machine, or a cluster.
"""

import contextlib
import hashlib
import importlib.metadata
import io
import json
import os
import tempfile
import threading
import time
import warnings
from dataclasses import asdict, replace
from pathlib import Path

import joblib
import numpy as np
import torch

from course_lib import models, networks
from course_lib.language import _
from course_lib.networks import PrivateTraining, train_network, train_private

_PACKAGES = ("torch", "torchvision", "opacus", "numpy")
_SECONDS_BETWEEN_LOOKS = 0.5


class SaveError(OSError):
    """A finished network cannot be kept; the message says what to do."""


def run_keys(training, X, y, IN, seeds, device="cpu"):
    """The names under which M runs are kept: a SHA-256 of all that they depend on.

    Args:
        training: networks.Training or networks.PrivateTraining.
        X, y: the pool.
        IN: M × P bool, the members of each run.
        seeds: M ints.
        device: where they train; its kind counts.

    Returns:
        list of M hexadecimal digests.
    """
    shared = hashlib.sha256()
    settings = {
        "kind": type(training).__name__,
        "settings": asdict(training),
        "device": torch.device(device).type,
        "versions": {name: importlib.metadata.version(name) for name in _PACKAGES},
    }
    shared.update(json.dumps(settings, sort_keys=True).encode())
    for path in (models.__file__, networks.__file__, Path(__file__).with_name("resnet18.py")):
        shared.update(Path(path).read_bytes())
    for array in (X, y):
        array = np.ascontiguousarray(array)
        shared.update(f"{array.dtype} {array.shape}".encode())
        shared.update(array.data)
    keys = []
    for is_member, seed in zip(IN, seeds, strict=True):
        own = shared.copy()
        own.update(f"{int(seed)}".encode())
        own.update(np.packbits(is_member).tobytes())
        keys.append(own.hexdigest())
    return keys


def train_many(
    training, X, y, IN, seeds, *, device="cpu", workers=-1, folder=None, progress=None, say=print
):
    """Train a population of networks, or take from a folder those that were trained before.

    Each network trains on one thread of a process of its own: its convolutions are too small to
    share between cores, and so a network's bits do not depend on the number of cores. On a GPU
    they train one after the other.

    Args:
        training: networks.Training or networks.PrivateTraining.
        X: P × 3 × 32 × 32 float32 array, the pool.
        y: P class numbers.
        IN: M × P bool array, the members of each network.
        seeds: M ints.
        device: where to train.
        workers: how many train at a time; -1 for one per core. Ignored on this machine's GPU.
        folder: where finished networks are kept and looked for; None keeps nothing.
        progress: called as progress(epochs done, epochs in all, what trains now).
        say: called with a sentence about what was found in the folder.

    Returns:
        list of M lists of weights: networks.train_network says how many each holds, and
        networks.train_private gives one.

    Raises:
        ValueError: if IN is not bool, or its shape does not fit X and seeds.
        SaveError: if a network cannot be kept, for instance because the disk is full.
    """
    IN = np.asarray(IN)
    if IN.dtype != bool or IN.shape != (len(seeds), len(X)):
        raise ValueError(
            f"IN is {IN.dtype} of shape {IN.shape}; expected bool of shape "
            f"(number of seeds, number of images) = ({len(seeds)}, {len(X)})."
        )
    X, y = np.asarray(X), np.asarray(y)
    trained = [None] * len(seeds)
    files = [None] * len(seeds)
    if folder is not None:
        keys = run_keys(training, X, y, IN, seeds, device)
        files = [Path(folder) / f"{key[:32]}.pt" for key in keys]
        _look_for(files, keys, trained, say)
    missing = [m for m, found in enumerate(trained) if found is None]
    if not missing:
        return trained
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as marks:
        tasks = [
            joblib.delayed(_train_one)(
                training, X, y, IN[m], int(seeds[m]), str(device), m, str(Path(marks) / str(m))
            )
            for m in missing
        ]
        done = len(trained) - len(missing)
        with _watched(marks, progress, training.epochs, done, len(trained)):
            for m, weights in _results(tasks, device, workers):
                if folder is not None:
                    save_run(files[m], keys[m], weights)
                trained[m] = weights
    return trained


def save_run(path, key, weights):
    """Keep a run's weights under its key: the file appears whole or not at all.

    Args:
        path: the file.
        key: the run's digest, as run_keys gives it.
        weights: list of dicts of numpy arrays.

    Raises:
        SaveError: if the file cannot be written.
    """
    path = Path(path)
    tensors = [{k: torch.from_numpy(a) for k, a in state.items()} for state in weights]
    packed = io.BytesIO()
    torch.save({"key": key, "digest": _digest(weights), "weights": tensors}, packed)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(packed.getbuffer())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise SaveError(
            _(
                "a network of {size:.1f} MB cannot be kept in {folder}: {reason}. Make room there, "
                "or choose another folder, and run the cell again: those kept before are used."
            ).format(
                size=packed.tell() / 1e6, folder=path.parent, reason=error.strerror or str(error)
            )
        ) from error


def load_run(path, key):
    """The weights that save_run kept.

    Raises:
        ValueError: if the file is damaged or holds another run; the message says which.
        OSError: if it cannot be read.
    """
    contents = Path(path).read_bytes()
    try:
        found = torch.load(io.BytesIO(contents), map_location="cpu", weights_only=True)
        weights = [{k: t.numpy() for k, t in state.items()} for state in found["weights"]]
        intact = found["digest"] == _digest(weights)
    except Exception as error:  # whatever PyTorch's reader makes of bytes that are not its own
        raise ValueError(_("it is damaged")) from error
    if not intact:
        raise ValueError(_("it is damaged"))
    if found["key"] != key:
        raise ValueError(_("it belongs to other settings"))
    return weights


def _look_for(files, keys, trained, say):
    """Fill ``trained`` with the runs that are kept, and say what was found."""
    for m, (path, key) in enumerate(zip(files, keys, strict=True)):
        if path.is_file():
            try:
                trained[m] = load_run(path, key)
            except ValueError as fault:
                say(
                    _("{name} is not used: {fault}. That network is trained anew.").format(
                        name=path.name, fault=fault
                    )
                )
    kept = sum(found is not None for found in trained)
    if kept:
        say(
            _("{kept} of {total} networks were trained before, and are used again.").format(
                kept=kept, total=len(trained)
            )
        )


def _digest(weights):
    digest = hashlib.sha256()
    for state in weights:
        for name, array in state.items():
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _results(tasks, device, workers):
    """Yield (number, weights) of each run as soon as it is trained."""
    backend, _ = joblib.parallel.get_active_backend()
    here = isinstance(backend, joblib.parallel.LokyBackend)  # joblib's own choice: no cluster
    if here and torch.device(device).type != "cpu":
        workers = 1  # they would take turns on the device anyway, and share its memory
    threads = torch.get_num_threads()
    with warnings.catch_warnings():
        # loky replaces a worker whose memory has grown; that loses nothing.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
        try:
            yield from joblib.Parallel(n_jobs=workers, return_as="generator_unordered")(tasks)
        finally:
            torch.set_num_threads(threads)


def _train_one(training, X, y, is_member, seed, device, number, mark):
    torch.set_num_threads(1)
    train = train_private if isinstance(training, PrivateTraining) else train_network

    def on_epoch(epoch):
        with contextlib.suppress(OSError):  # another machine does not see the folder
            Path(mark).write_text(str(epoch), encoding="ascii")

    on_epoch(0)
    members = np.flatnonzero(is_member)
    return number, train(training, X[members], y[members], seed, device=device, on_epoch=on_epoch)


@contextlib.contextmanager
def _watched(marks, progress, epochs, done, total):
    """Report the epochs that the workers mark in a folder, from a thread of its own."""
    if progress is None:
        yield
        return
    stop = threading.Event()

    def look():
        finished, running = 0, []
        for mark in sorted(Path(marks).iterdir(), key=lambda path: int(path.name)):
            with contextlib.suppress(OSError, ValueError):
                epoch = int(mark.read_text(encoding="ascii") or 0)
                finished += epoch
                if epoch < epochs:
                    running.append((int(mark.name) + 1, epoch + 1))
        if finished:
            now = ", ".join(
                _("network {number} in epoch {epoch}").format(number=number, epoch=epoch)
                for number, epoch in running
            )
            progress(finished, (total - done) * epochs, now)

    def watch():
        while not stop.wait(_SECONDS_BETWEEN_LOOKS):
            look()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        look()


def seconds_per_image(training, X, y, *, device="cpu", n_images=400):
    """Time a short training, to foretell a long one.

    Args:
        training: networks.Training or networks.PrivateTraining.
        X, y: at least one image; they are repeated as needed.
        device: where to train.
        n_images: how many images an epoch of the short training has.

    Returns:
        seconds that one image takes in one epoch, on one thread.
    """
    index = np.arange(n_images) % len(X)
    if isinstance(training, PrivateTraining):
        train, short = train_private, replace(training, epochs=1, steps_per_epoch=2)
    else:
        train, short = train_network, replace(training, epochs=1, snapshots=())
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        train(short, X[index], y[index], 0, device=device)  # to warm up
        started = time.perf_counter()
        train(short, X[index], y[index], 0, device=device)
        return (time.perf_counter() - started) / n_images
    finally:
        torch.set_num_threads(threads)
