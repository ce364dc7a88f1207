"""Training many networks: the same bits everywhere, kept, resumed, and nothing mixed up."""

import contextlib
import dataclasses
import errno
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import joblib
import numpy as np
import pytest
import torch

from course_lib import networks, training_runs
from course_lib.attacks import label_logit_from_logits
from course_lib.networks import PrivateTraining, Training, normalised, train_network
from course_lib.training_runs import (
    SaveError,
    load_run,
    run_keys,
    save_run,
    seconds_per_image,
    train_many,
)

ROOT = Path(__file__).resolve().parents[2]
TRAINING = Training(epochs=2, batch_size=16, snapshots=(1,))
SEEDS = [5, 6, 7]


def pool():
    rng = np.random.default_rng(0)
    X = normalised(rng.integers(0, 256, (40, 32, 32, 3), dtype=np.uint8))
    return X, rng.integers(0, 10, 40), rng.random((3, 40)) < 0.5


@pytest.fixture
def records():
    return pool()


@pytest.fixture
def counted(monkeypatch):
    """The seeds of the networks that are trained."""
    seeds = []

    def counting(training, X, y, seed, **options):
        seeds.append(seed)
        return train_network(training, X, y, seed, **options)

    monkeypatch.setattr(training_runs, "train_network", counting)
    return seeds


def same(a, b):
    return all(
        np.array_equal(x[name], y[name])
        for many, others in zip(a, b, strict=True)
        for x, y in zip(many, others, strict=True)
        for name in x
    )


def train(records, folder=None, training=TRAINING, seeds=SEEDS, **options):
    X, y, IN = records
    options = {"workers": 1} | options
    return train_many(training, X, y, IN, seeds, folder=folder, **options)


def test_a_population_is_its_networks_trained_one_by_one(records):
    X, y, IN = records
    threads = torch.get_num_threads()
    many = train(records)
    assert torch.get_num_threads() == threads
    torch.set_num_threads(1)
    alone = [train_network(TRAINING, X[i], y[i], seed) for i, seed in zip(IN, SEEDS, strict=True)]
    torch.set_num_threads(threads)
    assert [len(weights) for weights in many] == [2, 2, 2] and same(many, alone)


def test_workers_in_other_processes_give_the_same_bits(records):
    assert same(train(records, workers=2), train(records))


def test_what_was_trained_is_not_trained_again(records, counted, tmp_path):
    said = []
    first = train(records, tmp_path, say=said.append)
    assert counted == SEEDS and said == []
    again = train(records, tmp_path, say=said.append)
    assert counted == SEEDS and same(first, again)
    assert said == ["3 of 3 networks were trained before, and are used again."]


def test_a_private_population_is_kept_too(records, tmp_path):
    private = PrivateTraining(epochs=1, steps_per_epoch=2)
    first = train(records, tmp_path, private)
    assert same(first, train(records, tmp_path, private))
    assert len(list(tmp_path.iterdir())) == 3


def changed_pool(records):
    X, y, IN = records
    X = X.copy()
    X[3, 0, 0, 0] += 1
    return X, y, IN


def changed_label(records):
    X, y, IN = records
    y = y.copy()
    y[3] = (y[3] + 1) % 10
    return X, y, IN


def changed_split(records):
    X, y, IN = records
    IN = IN.copy()
    IN[:, 3] = ~IN[:, 3]
    return X, y, IN


@pytest.mark.parametrize("change", [changed_pool, changed_label, changed_split])
def test_other_data_never_meets_an_old_network(records, change):
    X, y, IN = records
    before, after = run_keys(TRAINING, X, y, IN, SEEDS), run_keys(TRAINING, *change(records), SEEDS)
    assert not set(before) & set(after)


def other(value):
    """Another value that a setting of the same kind can have."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return {"small": "resnet18-dp", "constant": "one-cycle"}[value]
    if isinstance(value, tuple):
        return ()
    return 7 if value is None else value + 1


@pytest.mark.parametrize(
    ("settings", "name"),
    [(s, field.name) for s in (TRAINING, PrivateTraining()) for field in dataclasses.fields(s)],
)
def test_every_setting_is_part_of_the_key(records, settings, name):
    X, y, IN = records
    changed = dataclasses.replace(settings, **{name: other(getattr(settings, name))})
    before, after = (run_keys(s, X, y, IN, SEEDS) for s in (settings, changed))
    assert not set(before) & set(after)


def test_seed_code_versions_and_kind_of_device_are_part_of_the_key(records, monkeypatch, tmp_path):
    X, y, IN = records
    keys = [run_keys(TRAINING, X, y, IN, SEEDS)]
    assert len(set(keys[0])) == 3 and run_keys(TRAINING, X, y, IN, SEEDS) == keys[0]
    keys.append(run_keys(TRAINING, X, y, IN, [1, 2, 3]))
    keys.append(run_keys(TRAINING, X, y, IN, SEEDS, device="cuda"))
    with monkeypatch.context() as patched:
        patched.setattr(training_runs.importlib.metadata, "version", lambda name: "0")
        keys.append(run_keys(TRAINING, X, y, IN, SEEDS))
    edited = tmp_path / "networks.py"
    edited.write_bytes(Path(networks.__file__).read_bytes() + b"\n# a comment")
    monkeypatch.setattr(networks, "__file__", str(edited))
    keys.append(run_keys(TRAINING, X, y, IN, SEEDS))
    assert len({key for some in keys for key in some}) == 15


def truncated(path):
    path.write_bytes(path.read_bytes()[:-100])


def empty(path):
    path.write_bytes(b"")


def one_bit(path):
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 2] ^= 1
    path.write_bytes(contents)


def foreign(path):
    another = next(p for p in path.parent.iterdir() if p != path)
    path.write_bytes(another.read_bytes())


class Trap:
    """A pickle of it makes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def a_pickle(path):
    torch.save({"key": "", "digest": "", "weights": [], "trap": Trap(path.with_name("ran"))}, path)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (truncated, "damaged"),
        (empty, "damaged"),
        (one_bit, "damaged"),
        (a_pickle, "damaged"),
        (foreign, "belongs to other settings"),
    ],
)
def test_a_damaged_or_foreign_file_is_refused_and_its_network_trained_anew(
    records, counted, tmp_path, damage, reason
):
    X, y, IN = records
    first = train(records, tmp_path)
    path = tmp_path / f"{run_keys(TRAINING, X, y, IN, SEEDS)[1][:32]}.pt"
    damage(path)
    counted.clear()
    said = []
    again = train(records, tmp_path, say=said.append)
    assert counted == [6] and same(first, again)
    assert not (tmp_path / "ran").exists()
    assert (
        said[0] == f"{path.name} is not used: it {reason_of(reason)}. That network is trained anew."
    )
    assert said[1].startswith("2 of 3")
    counted.clear()
    train(records, tmp_path, say=said.append)
    assert counted == []  # and the good one has taken its place


def reason_of(reason):
    return f"is {reason}" if reason == "damaged" else reason


def test_a_full_disk_is_said_and_leaves_no_half_file(records, counted, tmp_path, monkeypatch):
    write = Path.write_bytes

    def full(self, contents):
        if len(list(tmp_path.glob("*.pt"))) == 1:
            write(self, bytes(contents)[:1000])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, contents)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(SaveError, match=r"cannot be kept in .*: No space left.*Make room there"):
        train(records, tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.undo()
    assert len(counted) >= 2
    assert same(train(records, tmp_path), train(records))


def test_a_folder_that_is_a_file_is_said(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SaveError, match="cannot be kept in"):
        save_run(tmp_path / "file" / "run.pt", "key", [{"w": np.zeros(3, np.float32)}])


def test_a_run_survives_its_file_bit_by_bit(tmp_path):
    weights = [{"w": np.float32([1, np.pi, -0.0]), "n": np.array(3, np.int64)}]
    save_run(tmp_path / "run.pt", "key", weights)
    assert same([load_run(tmp_path / "run.pt", "key")], [weights])
    with pytest.raises(ValueError, match="other settings"):
        load_run(tmp_path / "run.pt", "another key")


INTERRUPTED = """
    import time
    from course_lib import training_runs
    from tests.course_lib.test_training_runs import SEEDS, TRAINING, pool, train

    original = training_runs.train_network

    def slow(training, X, y, seed, **options):
        if seed == SEEDS[1]:
            print("the second one trains", flush=True)
            time.sleep(60)
        return original(training, X, y, seed, **options)

    training_runs.train_network = slow
    train(pool(), {folder!r})
"""


def test_ctrl_c_loses_the_network_in_training_and_no_other(records, counted, tmp_path):
    code = textwrap.dedent(INTERRUPTED).format(folder=str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert b"the second one trains" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in process.communicate(timeout=30)[1]
    assert len(list(tmp_path.iterdir())) == 1
    said = []
    again = train(records, tmp_path, say=said.append)
    assert counted == SEEDS[1:] and said[0].startswith("1 of 3")
    assert same(again, train(records))


def test_progress_tells_epochs_and_what_trains_now(records, monkeypatch):
    monkeypatch.setattr(training_runs, "_SECONDS_BETWEEN_LOOKS", 0.01)
    seen = []

    def slow(training, X, y, seed, *, device, on_epoch):
        for epoch in range(training.epochs):
            time.sleep(0.05)
            on_epoch(epoch + 1)
        return [{}]

    monkeypatch.setattr(training_runs, "train_network", slow)
    train(records, progress=lambda *now: seen.append(now))
    assert seen[-1] == (6, 6, "")
    assert (1, 6, "network 1 in epoch 2") in seen and (3, 6, "network 2 in epoch 2") in seen
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)


def test_membership_must_be_bool_and_fit(records):
    X, y, IN = records
    for wrong in (IN.astype(int), IN[:2], IN[:, :5]):
        with pytest.raises(ValueError, match="expected bool of shape"):
            train_many(TRAINING, X, y, wrong, SEEDS)


@pytest.mark.parametrize("training", [TRAINING, PrivateTraining(), Training(epochs=100)])
def test_the_time_of_training_is_foretold_by_the_image(records, training):
    X, y, _ = records
    assert 0 < seconds_per_image(training, X, y, n_images=50) < 0.5


@pytest.mark.parametrize("training", [Training, PrivateTraining])
def test_the_full_size_code_path_at_small_scale_is_resumed(training, counted, tmp_path):
    """ResNet-18 on two hundred images, one epoch, a target and two shadows, then again."""
    rng = np.random.default_rng(3)
    X = normalised(rng.integers(0, 256, (200, 32, 32, 3), dtype=np.uint8))
    y = rng.integers(0, 10, 200)
    halves = [
        torch.utils.data.random_split(range(200), [100, 100], torch.Generator().manual_seed(m))
        for m in range(3)
    ]
    IN = np.zeros((3, 200), dtype=bool)
    for m, (members, _) in enumerate(halves):
        IN[m, members.indices] = True
    if training is Training:
        settings = Training("resnet18", epochs=1, batch_size=64, weight_decay=1e-4, augment=True)
    else:
        settings = PrivateTraining(
            "resnet18-dp", epochs=1, steps_per_epoch=3, weight_decay=1e-4, physical_batch_size=32
        )
    options = {"workers": 1, "folder": tmp_path, "say": lambda sentence: None}
    train_many(settings, X, y, IN[:2], [0, 1], **options)
    all_three = train_many(settings, X, y, IN, [0, 1, 2], **options)
    if training is Training:
        assert counted == [0, 1, 2]
    phi = [
        label_logit_from_logits(networks.logits(settings.architecture, weights[-1], X), y)
        for weights in all_three
    ]
    assert np.isfinite(phi).all() and len(list(tmp_path.iterdir())) == 3


def test_two_workers_of_a_dask_cluster_give_the_same_scores(records):
    distributed = pytest.importorskip("distributed")
    X, y, _ = records
    here = train(records)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        there = train(records, workers=2)
    scores = [
        [label_logit_from_logits(networks.logits("small", w[-1], X), y) for w in many]
        for many in (here, there)
    ]
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize(
    ("device", "backend", "expected"),
    [("cpu", None, 4), ("cuda", None, 1), ("cpu", "threading", 4), ("cuda", "threading", 4)],
)
def test_a_gpu_here_trains_one_at_a_time_and_a_cluster_as_many_as_asked(
    device, backend, expected, monkeypatch
):
    asked = []

    def parallel(n_jobs, return_as):
        asked.append(n_jobs)
        return list

    monkeypatch.setattr(training_runs.joblib, "Parallel", parallel)
    chosen = joblib.parallel_config(backend) if backend else contextlib.nullcontext()
    with chosen:
        assert list(training_runs._results([], device, 4)) == []
    assert asked == [expected]
