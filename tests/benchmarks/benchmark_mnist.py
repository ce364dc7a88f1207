"""How long the MNIST lab takes, beside the same work written straightforwardly.

    python -m tests.benchmarks.benchmark_mnist

Runs straightforward.py, then the lab's notebook in a kernel of its own as build_results.py does,
and prints the ratio of the two times. Then it times the training of the lab's 17 Adam models and
compares their floating point operations a second with the machine's float32 matrix-product peak,
measured here with all cores at once.

Nothing else should run meanwhile: the notebook uses every core.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import joblib
import numpy as np
import torch

from course_lib.data import load_mnist
from course_lib.population import train_mlps
from course_lib.products import product
from tests.benchmarks import straightforward

ROOT = Path(__file__).resolve().parents[2]
EPOCHS = 60
# Multiply-adds of a step on one row: W1 forward and backward; W2 forward, backward, and through it.
# Blank pixels count, although the training gets by without their products.
FLOP_PER_ROW = 2 * (2 * 784 * 256 + 3 * 256 * 10)


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def time_notebook():
    """Run the lab as the build does, from starting the kernel to the written results."""
    from build_results import main

    with tempfile.TemporaryDirectory() as folder:
        return seconds(lambda: main(["mnist_dpsgd", "--results", folder]))


def _products(repeats, size=1024):
    torch.set_num_threads(1)
    A = torch.randn(size, size)
    for _ in range(3):
        product(A, A)
    elapsed = seconds(lambda: [product(A, A) for _ in range(repeats)])
    return repeats * 2 * size**3 / elapsed


def peak():
    """The float32 matrix-product peak of all cores together, in operations a second."""
    cores = joblib.cpu_count()
    return sum(joblib.Parallel(n_jobs=cores)(joblib.delayed(_products)(300) for _ in range(cores)))


def population_rate():
    """Operations a second while the 17 Adam models of the lab train, workers already started."""
    mnist = load_mnist()
    rng = np.random.default_rng(0)
    pool = rng.choice(60_000, 4_000, replace=False)
    X = straightforward.pixels(mnist.x_train[pool])
    y = torch.from_numpy(mnist.y_train[pool].astype(np.int64))
    IN = rng.random((17, 4_000)) < 0.5
    list(train_mlps(X, y, IN[:2], range(2), epochs=1))
    elapsed = seconds(lambda: list(train_mlps(X, y, IN, range(17), epochs=EPOCHS)))
    return FLOP_PER_ROW * IN.sum() * EPOCHS / elapsed, elapsed


def time_straightforward():
    """Run the plain program, from starting Python on, and let it print how its time is spent."""
    command = [sys.executable, "-m", "tests.benchmarks.straightforward"]
    return seconds(lambda: subprocess.run(command, cwd=ROOT, check=True))


def report():
    print("straightforward:")
    plain = time_straightforward()
    print(f"  in all: {plain:.1f} s")
    notebook = time_notebook()
    print(f"notebook: {notebook:.1f} s")
    print(f"ratio: {notebook / plain:.2f}")
    rate, elapsed = population_rate()
    top = peak()
    print(
        f"17 Adam models: {elapsed:.1f} s, {rate / 1e9:.0f} of {top / 1e9:.0f} GFLOP/s, "
        f"{rate / top:.0%} of the float32 peak"
    )


if __name__ == "__main__":
    report()
