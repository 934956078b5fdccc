"""Several workers that sum up what they change, beside one: validation by the sweeps of a worker.

    python -m benchmarks.parallel TASK --triples 400000 --json FILE

All workers are simulated in this process, in turn: what counts is the loss after so many triples
of one worker, and the bytes of an exchange. Its time on a network is computed from these: the
driver's link carries what all workers send, and then what all receive.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from benchmarks.share import Timed
from ssi_core.models.base import Course
from ssi_core.models.bilinear import Bilinear, _Training
from ssi_core.tasks.task import open_task
from ssi_core.training.descend import Diverged, descend
from ssi_core.training.parallel import Workers, triples_of_round
from ssi_core.training.sgd import Sgd

BAR = 0.4
"""Sweeps of each worker, as a share of those of the plain training, which they have to do with."""
_POINTS = 8
"""Validations of a training."""
_LINKS = {"1 Gbit/s": 1e9 / 8, "10 Gbit/s": 1e10 / 8}
_HEAD = (
    *("workers", "round", "triples", "1/4", "1/2", "1", "best", "sd", "there", "sweeps"),
    *("MB", "s", *_LINKS),
)
_LINE = "{:>7} {:>5} {:>9} {:>7} {:>7} {:>7} {:>7} {:>6} {:>5} {:>6} {:>7} {:>6} {:>8} {:>9}"


@dataclass(frozen=True)
class Settings:
    """What is trained: ``U'V + I`` of a task, whose W reads 100 words of a text."""

    task: str
    rate: float
    margin: float
    dimensions: int

    def begin(self, seed: int) -> Sgd:
        """Begin a training."""
        model = Bilinear(view="sublinear:100", diagonal_view="raw", dimensions=self.dimensions)
        training = _Training(model, open_task(Path(self.task)), {}, seed, Course())
        numbers = {"rate": self.rate, "margin": self.margin, "alpha": 1.0, "init_std": 0.01}
        return training.begin(numbers)


@dataclass(frozen=True)
class Result:
    """A training.

    Attributes
    ----------
    workers : int
        0: the plain training.
    share : float
        Triples of all workers in a round, over the training pairs.
    seed : int
        Of the start and of the sampling.
    period : int
        Triples of a worker in a round.
    curve : list of tuple
        Triples of a worker, and validation rank loss then; 1 where it diverged.
    sent, received : float
        Bytes of an exchange: of all workers together, of each; means of the later half of rounds.
    exchange : float
        CPU seconds of the driver for an exchange.
    speed : float
        Triples a CPU second of a sweep, with what writes and reads changes.
    """

    workers: int
    share: float
    seed: int
    period: int
    curve: list[tuple[int, float]]
    sent: float = 0
    received: float = 0
    exchange: float = 0
    speed: float = 0

    @property
    def best(self) -> float:
        """The lowest loss."""
        return min(loss for _, loss in self.curve)

    def reached(self, target: float) -> int | None:
        """Return the triples of a worker after which the loss is at the target."""
        return next((triples for triples, loss in self.curve if loss <= target), None)


class _Timed(Workers):
    """Workers whose exchanges are timed."""

    seconds = 0.0

    def _add(self, number: int) -> None:
        start = time.process_time()
        super()._add(number)
        self.seconds += time.process_time() - start


def train(what: Settings, workers: int, share: float, seed: int, triples: int) -> Result:
    """Train until each worker has taken so many triples; workers 0: without any."""
    begin, least = partial(what.begin, seed), triples // _POINTS
    curve: list[tuple[int, float]] = []

    def watch(step: int, metrics: Mapping[str, float]) -> None:
        curve.append((step // max(1, workers), metrics["val/rank_loss"]))

    def descended(trainee: Any, period: int) -> float:
        timed, each = Timed(trainee), period * max(1, round(least / period))
        all_ = max(1, workers)
        try:
            descend(timed, epoch=each * all_, budget=triples * all_, patience=10**6, watch=watch)
        except Diverged:
            curve.append((curve[-1][0] + each, 1.0))
        return curve[-1][0] * all_ / timed.spent["sweep"]

    if not workers:
        return Result(0, 0, seed, 0, curve, speed=descended(begin(), least))
    pairs = len(open_task(Path(what.task)).train)
    period = triples_of_round(pairs, workers, int(share * pairs / workers), bound=1)
    with tempfile.TemporaryDirectory(prefix="ssi-parallel-") as place:
        trainee = _Timed(begin, Path(place), workers=workers, triples=period)
        speed = descended(trainee, period)
    later = slice(len(trainee.sent) // 2, None)
    bytes_ = mean(trainee.sent[later]), mean(trainee.received[later])
    exchange = trainee.seconds / len(trainee.sent)
    return Result(workers, share, seed, period, curve, *bytes_, exchange, speed)


def lines(results: Sequence[Result], triples: int) -> Iterator[str]:
    """Yield a line for each number of workers and share, means over the seeds.

    Losses after a quarter, half and all of the triples of a worker, the best of the training, how
    often it is at the target, the best of the plain training, and after which share of its sweeps;
    megabytes of an exchange and seconds of a round's triples; this share with the exchanges' time.
    """
    plain = [one for one in results if not one.workers]
    target = mean(one.best for one in plain)
    whole = mean(one.reached(one.best) or triples for one in plain)
    speed = mean(one.speed for one in plain)
    yield _LINE.format(*_HEAD)
    for workers, share in dict.fromkeys((one.workers, one.share) for one in results):
        same = [one for one in results if (one.workers, one.share) == (workers, share)]
        bests = [one.best for one in same]
        found = [one.reached(target) for one in same]
        there = [one for one in found if one is not None]
        first = same[0]
        seconds = first.period / speed
        moved = mean(one.sent + workers * one.received for one in same)
        gains = [
            mean(there) / whole * (1 + moved / rate / seconds) if there and workers else None
            for rate in _LINKS.values()
        ]
        yield _LINE.format(
            workers or "plain",
            f"{share:.0%}" if workers else "",
            f"{first.period:,}",
            *(f"{100 * mean(_at(one, triples // part) for one in same):.3f}" for part in (4, 2, 1)),
            f"{100 * mean(bests):.3f}",
            f"{100 * stdev(bests):.3f}" if len(bests) > 1 else "",
            f"{len(there)}/{len(found)}",
            f"{mean(there) / whole:.2f}" if there else "-",
            f"{moved / 1e6:.1f}",
            f"{seconds:.2f}",
            *("-" if gain is None else f"{gain:.2f}" for gain in gains),
        )


def _at(one: Result, triples: int) -> float:
    """Return the lowest loss that a worker has seen after so many triples."""
    return min(loss for step, loss in one.curve if step <= triples)


def main() -> None:
    """Train all, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", help="directory of a task with the views sublinear:100 and raw")
    parser.add_argument("--triples", type=int, default=400_000, help="of each worker")
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--margin", type=float, default=0.03)
    parser.add_argument("--dimensions", type=int, default=100)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--shares", type=float, nargs="+", default=[0.03, 0.06, 0.13, 0.26, 0.5])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    what = Settings(given.task, given.rate, given.margin, given.dimensions)
    what.begin(0).sweep(1)  # compiles
    results = []
    for seed in given.seeds:
        for workers, share in [(0, 0.0), *product(given.workers, given.shares)]:
            triples = given.triples if workers else round(given.triples / BAR)
            results.append(train(what, workers, share, seed, triples))
            if given.json:
                given.json.write_text(json.dumps([asdict(one) for one in results]))
    for line in lines(results, given.triples):
        print(line)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
