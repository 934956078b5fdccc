"""Nights on which little changes: retraining from the champion beside retraining from scratch.

    SSI_ROOT=/tmp/nights python -m benchmarks.nights --nights 30 [--corpus CORPUS] [--save FILE]

Each night brings one more percent of the links. Two registered models are retrained on the same
data, one with `start = "champion"` (from scratch once in seven nights), one always from scratch;
their challengers are measured on the same frozen set. A line has the CPU seconds of both, with
those of the row's process and without those of Prefect's server, which runs all day, and the MAP
of both challengers. Sums, the mean difference, its standard
error over nights and the test of equivalence are told after each night on which the first started
from an earlier model, and kept in FILE; the margin of that test is the standard error of a MAP over
queries.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.month import Kind, one_worker, run_night, write_night
from flows import environment
from ssi_core.evaluation.significance import paired_equivalence
from ssi_core.files import write_result

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


def cpu_seconds(service: int) -> float:
    """CPU seconds of this process and of all that it has started, but for a service of the day."""
    running = psutil.Process(service)
    apart = {running, *running.children(recursive=True)}
    every = {psutil.Process(), *psutil.Process().children(recursive=True)} - apart
    times = [one.cpu_times() for one in every]
    return sum(t.user + t.system + t.children_user + t.children_system for t in times)


def shares(nights: int) -> Iterator[float]:
    """Share of the links of each night: one percent of them more than the night before."""
    return (0.99 ** (nights - 1 - n) for n in range(nights))


def challenger_map(run: str, frozen: str, corpus: Path) -> tuple[float, float]:
    """MAP of a challenger on the frozen set that judged it, and its standard error."""
    from flows.training.frozen_sets import measured

    report = measured(run, frozen, str(corpus))
    return report.means["map"], report.errors["map"]


def summary(nights: list[dict[str, Any]]) -> dict[str, Any]:
    """Compare the nights on which one model went on from an earlier one."""
    warm = [night for night in nights if night["start"] == "champion"]
    seconds = {name: sum(night["seconds"][name] for night in warm) for name in NAMES}
    every = {name: sum(night["seconds"][name] for night in nights[1:]) for name in NAMES}
    ours, theirs = (np.array([night["map"][name] for night in warm]) for name in NAMES)
    margin = float(np.mean([night["error"] for night in warm]))
    difference = ours - theirs
    several = len(warm) > 1
    return {
        "nights": len(warm),
        "seconds": seconds,
        "ratio": seconds["champion"] / seconds["scratch"],
        "ratio_with_checks": every["champion"] / every["scratch"],
        "map": {"champion": float(ours.mean()), "scratch": float(theirs.mean())},
        "map_difference": float(difference.mean()),
        "map_se": float(difference.std(ddof=1) / np.sqrt(len(warm))) if several else None,
        "margin": margin,
        "p_equivalent": paired_equivalence(ours, theirs, margin) if several else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nights", description=__doc__)
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--documents", type=int, default=1600)
    parser.add_argument("--corpus", type=Path, default=None)
    parser.add_argument("--save", type=Path, default=None)
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
    nights: list[dict[str, Any]] = []
    with Server() as server, one_worker():
        server.ready()
        service = server.process.pid
        for number, share in enumerate(shares(arguments.nights), 1):
            corpus = path / f"night-{number}"
            if not corpus.exists():
                write_night(whole, Kind(documents, share), corpus, seed=0)
            first = "scratch" if number % 7 == 1 else "champion"
            night: dict[str, Any] = {"share": share, "start": first, "seconds": {}, "map": {}}
            for name, start in zip(NAMES, (first, "scratch"), strict=True):
                before = cpu_seconds(service)
                night["what"], found = run_night(corpus, table, start, name)
                night["seconds"][name] = round(cpu_seconds(service) - before, 2)
                challenger, frozen = found["challenger"], sets_of(name, [])[-1]
                night["map"][name], night["error"] = challenger_map(challenger, frozen, corpus)
            nights.append(night)
            print(number, night, flush=True)
            if first == "champion":
                found = {"documents": documents, **summary(nights)}
                print(json.dumps(found), flush=True)
                if arguments.save is not None:
                    write_result(arguments.save, {**found, "each": nights})


if __name__ == "__main__":
    main()
