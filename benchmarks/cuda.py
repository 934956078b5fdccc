"""The sweep on a GPU beside one thread of the processor.

    python -m benchmarks.cuda
    python -m benchmarks.cuda --blocks 64 256 1024 4096 --threads 32 64 128 --words 30000 440000

Triples a second by the wall clock, copies of the parameters to the device and back among them, and
the rank loss on validation after the same triples from the same start: blocks that see each other's
steps late may learn less from a triple. It is refused without a GPU, and on the simulator, whose
figures mean nothing.
"""

from __future__ import annotations

import argparse
import time
from statistics import median

from benchmarks.share import task_of
from benchmarks.timing import surroundings
from ssi_core.models.base import Course
from ssi_core.models.bilinear import Bilinear, _Training
from ssi_core.training.device import DeviceSgd, require_device
from ssi_core.training.sgd import Sgd
from ssi_core.types import Refused

_SETTINGS = {"rate": 0.1, "margin": 1.0, "alpha": 1.0, "init_std": 0.1}
_LINE = "{:>9} {:>7} {:>8} {:>12} {:>7} {:>10}"


def begin(training: _Training, blocks: int, threads: int) -> Sgd:
    """Return a training at its start, on the processor where there are no blocks."""
    trainee = training.begin(_SETTINGS)
    if not blocks:
        return trainee
    return DeviceSgd(trainee.groups, blocks=blocks, threads=threads, judge=training.valid)


def measured(trainee: Sgd, triples: int, sweeps: int) -> tuple[float, float]:
    """Return the median of triples a second over sweeps, and the rank loss after them."""
    speeds = []
    for _ in range(sweeps):
        start = time.perf_counter()
        trainee.sweep(triples)
        speeds.append(triples / (time.perf_counter() - start))
    return median(speeds), trainee.error()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cuda", description=__doc__)
    parser.add_argument("--words", type=int, nargs="+", default=[30_000])
    parser.add_argument("--blocks", type=int, nargs="+", default=[1, 64, 256, 1024, 4096])
    parser.add_argument("--threads", type=int, nargs="+", default=[64], help="powers of two")
    parser.add_argument("--triples", type=int, default=200_000, help="of a sweep")
    parser.add_argument("--sweeps", type=int, default=9)
    parser.add_argument("--dimensions", type=int, default=100)
    arguments = parser.parse_args()
    try:
        device = require_device()
    except Refused as refused:
        parser.exit(4, f"{refused}\n")
    if device == "simulator":
        parser.exit(4, "NUMBA_ENABLE_CUDASIM is set: the simulator's figures mean nothing.\n")
    print(", ".join(f"{name} {said}" for name, said in surroundings().items()) + f", {device}")
    print(_LINE.format("words", "blocks", "threads", "triples/s", "ratio", "rank loss"))
    places = [(0, 0), *((b, t) for b in arguments.blocks for t in arguments.threads)]
    for words in arguments.words:
        model = Bilinear(dimensions=arguments.dimensions)
        training, first = _Training(model, task_of(words), {}, 0, Course()), 0.0
        for blocks, threads in places:
            begin(training, blocks, threads).sweep(1000)  # compiles
            trainee = begin(training, blocks, threads)
            speed, loss = measured(trainee, arguments.triples, arguments.sweeps)
            first = first or speed
            shown = (f"{words:,}", blocks or "cpu", threads or 1, f"{speed:,.0f}")
            print(_LINE.format(*shown, f"{speed / first:.2f}", f"{loss:.4f}"), flush=True)


if __name__ == "__main__":
    main()
