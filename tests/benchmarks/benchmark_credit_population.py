"""How time and memory of the credit lab's bench grow with the number of models.

Run from the repository's root: ``python -m tests.benchmarks.benchmark_credit_population``. Each
size runs in a process of its own, on one thread, so that its peak memory is its own. The table ends
with what each added model costs: where that stays the same, growth is linear.
"""

import json
import os
import resource
import subprocess
import sys
import time

N_RECORDS = 2_000
SIZES = (512, 1_024, 2_048, 4_096)


def measure(n_models):
    """Train and attack a population; seconds, peak memory and the largest array beside PHI."""
    import tracemalloc

    import numpy as np

    from course_lib import attacks, credit, population

    world = credit.make_credit(N_RECORDS, np.random.default_rng(0))
    A = credit.Featurizer(3)(world["X"])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    start = time.perf_counter()
    IN, PHI, _ = population.train_population(
        A, world["y"], n_models, N_RECORDS // 2, 1e-3, np.random.default_rng(1)
    )
    trained = time.perf_counter()
    attacks.lira_scores_all(PHI, IN)
    attacks.calibrated_loss_scores_all(PHI, IN)
    attacks.per_record_ks(PHI, IN)
    attacked = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

    tracemalloc.start()
    attacks.lira_scores_all(PHI, IN)
    _, traced = tracemalloc.get_traced_memory()
    return {
        "train_s": trained - start,
        "attack_s": attacked - trained,
        "peak_mib": peak / 1024,
        "pairs_mib": PHI.nbytes / 2**20,
        "lira_in_pairs": traced / PHI.nbytes,
    }


def main():
    if len(sys.argv) > 1:
        print(json.dumps(measure(int(sys.argv[1]))))
        return
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    print(f"{N_RECORDS:,} records, 56 features; pairs: one float64 for each model and record")
    print(
        f"{'models':>7}{'training':>11}{'attacks':>10}{'pairs':>11}{'peak':>11}{'peak/pairs':>12}"
    )
    rows = []
    for n_models in SIZES:
        answer = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.benchmark_credit_population", str(n_models)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | one_thread,
        )
        row = json.loads(answer.stdout)
        rows.append(row)
        print(
            f"{n_models:>7,}{row['train_s']:>9.2f} s{row['attack_s']:>8.2f} s"
            f"{row['pairs_mib']:>7.1f} MiB{row['peak_mib']:>7.0f} MiB"
            f"{row['peak_mib'] / row['pairs_mib']:>12.1f}",
            flush=True,
        )
    print("each added model costs:")
    steps = zip(SIZES, SIZES[1:], rows, rows[1:], strict=False)
    for smaller, larger, before, after in steps:
        added = larger - smaller
        seconds = sum(after[key] - before[key] for key in ("train_s", "attack_s"))
        memory = (after["peak_mib"] - before["peak_mib"]) * 1024
        print(
            f"  from {smaller:,} to {larger:,}: {1e3 * seconds / added:.2f} ms,"
            f" {memory / added:.0f} KiB ({N_RECORDS * 8 / 1024:.1f} KiB are its outputs)"
        )
    print(f"LiRA for all targets holds at most {rows[-1]['lira_in_pairs']:.1f} times the pairs")


if __name__ == "__main__":
    main()
