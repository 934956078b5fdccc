"""Nights on which little changes: retraining from the champion beside retraining from scratch.

    SSI_ROOT=/tmp/nights python -m benchmarks.nights --nights 30 [--corpus CORPUS]

Each night brings one more percent of the links. Two registered models are retrained on the same
data, one with `start = "champion"` (from scratch once in seven nights), one always from scratch;
their challengers are measured on the same frozen set. A line has the CPU seconds of both, with
those of the row's process, and the MAP of both challengers; the last one has the sums, the mean
difference and its standard error over nights.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil

from benchmarks.month import Kind, one_worker, run_night, write_night
from flows import environment

environment.prepare()

TABLE = """
name = "nights"
title = "One row, each night"

[tasks.links]
words = "all"

[[rows]]
label = "U'V + I"
model = "bilinear"
diagonal = "learned"
dimensions = 50
rates = [0.1]
rate_by = "validation"
epoch = 20000
patience = 50
budget = 2000000
margin = 0.2
view = "sublinear"
"""
ROW, NAMES = "U'V + I", ("champion", "scratch")


def cpu_seconds() -> float:
    """CPU seconds of this process and of all that it has started."""
    every = [psutil.Process(), *psutil.Process().children(recursive=True)]
    times = [one.cpu_times() for one in every]
    return sum(t.user + t.system + t.children_user + t.children_system for t in times)


def shares(nights: int) -> Iterator[float]:
    """Share of the links of each night: one percent of them more than the night before."""
    return (0.99 ** (nights - 1 - n) for n in range(nights))


def challenger_map(run: str, frozen: str, corpus: Path) -> float:
    """MAP of a challenger on the frozen set that judged it."""
    from flows.training.frozen_sets import measured

    return measured(run, frozen, str(corpus)).means["map"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nights", description=__doc__)
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--documents", type=int, default=1600)
    parser.add_argument("--corpus", type=Path, default=None)
    arguments = parser.parse_args()
    from flows.servers.server import Server
    from flows.training.frozen_sets import sets_of
    from ssi_core.collection import open_collection
    from ssi_core.sample.encyclopedia import ENGLISH_DUMP, make_sample
    from tests.sources import ingest

    path = environment.home() / "nights"
    path.mkdir(parents=True, exist_ok=True)
    table = path / "nights.toml"
    table.write_text(TABLE)
    whole = arguments.corpus or path / "whole"
    if arguments.corpus is None:
        dump = make_sample(arguments.documents, 0).path / ENGLISH_DUMP
        ingest("wikipedia", [dump], whole, processes=1)
    documents = len(open_collection(whole).names("documents"))
    costs: dict[str, list[float]] = {name: [] for name in NAMES}
    maps: dict[str, list[float]] = {name: [] for name in NAMES}
    with Server() as server, one_worker():
        server.ready()
        for night, share in enumerate(shares(arguments.nights), 1):
            corpus = path / f"night-{night}"
            if not corpus.exists():
                write_night(whole, Kind(documents, share), corpus, seed=0)
            for name in NAMES:
                before = cpu_seconds()
                start = "scratch" if night % 7 == 1 else name
                what, found = run_night(corpus, table, start, name)
                costs[name].append(cpu_seconds() - before)
                maps[name].append(
                    challenger_map(found["challenger"], sets_of(name, [])[-1], corpus)
                )
            line = [f"{costs[name][-1]:7.1f} s {maps[name][-1]:.4f}" for name in NAMES]
            print(f"{night:3} {share:.1%}  {'   '.join(line)}  {what}", flush=True)
    ours, theirs = (np.array(maps[name][1:]) for name in NAMES)
    difference = ours - theirs
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    sums = [sum(costs[name][1:]) for name in NAMES]
    print(
        f"from the second night on: {sums[0]:.0f} against {sums[1]:.0f} CPU s "
        f"({sums[0] / sums[1]:.2f}), MAP {difference.mean():+.4f} (s.e. {error:.4f})"
    )


if __name__ == "__main__":
    main()
