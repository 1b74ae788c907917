"""Tiled attention against naive, forward and backward: time and extra memory."""

import tracemalloc

import numpy as np

from backhand.ops import attention, tiled_attention

from . import timing

OPS = {"naive": attention, "tiled": tiled_attention}
WIDTH = 64


def extra_megabytes(run):
    tracemalloc.start()
    run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


def main():
    timing.describe_machine()
    print(f"\nOne causal head of width {WIDTH}, float32, forward and backward")
    print(f"{'T':>5} {'tiled / naive':>16} {'naive, ms':>18} {'tiled, ms':>18}"
          f" {'naive, MB':>10} {'tiled, MB':>10}")
    for T in 512, 1024, 2048, 4096:
        rng = np.random.default_rng(0)
        q, k, v, dy = rng.normal(size=(4, T, WIDTH)).astype(np.float32)

        def run(op):
            y, cache = op.forward(q, k, v)
            return y, *op.backward(dy, cache)

        for ours, theirs in zip(run(tiled_attention), run(attention)):
            np.testing.assert_allclose(ours, theirs, atol=1e-4)
        contest = {name: lambda op=op: run(op) for name, op in OPS.items()}
        times = timing.take_turns(contest, rounds=2**14 // T)
        megabytes = [extra_megabytes(contestant) for contestant in contest.values()]
        print(
            f"{T:5} {timing.ratio(times['tiled'], times['naive'])}",
            *map(timing.milliseconds, times.values()),
            *(f"{size:10.1f}" for size in megabytes),
        )


if __name__ == "__main__":
    main()
