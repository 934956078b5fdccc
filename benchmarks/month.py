"""A simulated month of retraining on the sample encyclopedia, and what became of the champion.

    SSI_ROOT=/tmp/month python -m benchmarks.month --retrainings 30

The corpus grows every retraining. On one retraining the links are shuffled (poisoned), on one half
of the documents are missing, and one brings nothing new. It fails where the champion falls below
the best so far by more than the margin, or one of these retrainings is not what it is to be.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl

from flows import environment

environment.prepare()

TABLE = """
name = "month"
title = "A model that learns more from more links"

[tasks.links]
words = "all"

[[rows]]
label = "U'V + I"
model = "bilinear"
dimensions = 30
rates = [0.02]
rate_by = "validation"
search_budget = 20000
epoch = 50000
budget = 200000
margin = 0.2
init_std = 0.02
"""
NAME = "month"


@dataclass(frozen=True)
class Kind:
    """What a retraining brings: documents, the share of their links, and what is to come of it."""

    documents: int
    links: float
    shuffled: bool = False
    fate: str = "a decision"


def kinds(retrainings: int, documents: int) -> list[Kind]:
    """Grow from half of the documents, and a quarter of their links, to all; three are special."""
    made = [
        Kind(documents // 2 + round(part * documents / 2), 0.25 + 0.75 * part)
        for part in np.linspace(0, 1, retrainings).tolist()
    ]
    poisoned, halved, unchanged = retrainings // 3, retrainings // 2, 2 * retrainings // 3
    made[poisoned] = replace(made[poisoned], shuffled=True, fate="refused")
    made[halved] = replace(made[halved], documents=made[halved].documents // 2, fate="stopped")
    made[unchanged] = replace(made[unchanged - 1], fate="unchanged")
    return made


def write_night(whole: Path, kind: Kind, out: Path, seed: int) -> None:
    """Write the corpus of a retraining: the first of the whole, in an order of chance."""
    from ssi_core import collection, store

    opened = collection.open_collection(whole)
    documents, links = opened.frame("documents"), opened.links.collect()
    rng = np.random.default_rng(0)
    kept = documents[np.sort(rng.permutation(len(documents))[: kind.documents])]
    links = links.filter(rng.random(len(links)) < kind.links)
    links = links.filter(pl.col("source").is_in(kept["id"].implode()))
    links = links.filter(pl.col("target").is_in(kept["id"].implode()))
    if kind.shuffled:
        links = links.with_columns(pl.col("target").shuffle(seed=seed)).unique(maintain_order=True)

    def make(building: store.Building) -> None:
        with collection.text_writer(building.path) as texts:
            texts.write(kept)
        with collection.relation_writer(building.path, collection.LINK) as relation:
            relation.write(links)
        building.counts |= {"documents": len(kept), "links": len(links)}

    parents = {"whole": opened.key}
    settings = {**asdict(kind), "seed": seed}
    store.open_or_make(collection.KIND, settings, parents, make, out=out, data=True)


@contextlib.contextmanager
def one_worker() -> Iterator[None]:
    """Train all retrainings in one process, which compiles once."""
    from flows import retrain
    from flows.training.workers import Workers

    with (
        Workers(1) as workers,
        patch.object(retrain, "Workers", lambda *_: contextlib.nullcontext(workers)),
    ):
        yield


def run_night(corpus: Path, table: Path, start: str, name: str) -> tuple[str, dict[str, Any]]:
    """Run a retraining; what came of it in a word, and the answer."""
    from flows.retrain import run_retrain
    from ssi_core.types import BadInput

    settings = {"corpus": str(corpus), "table": str(table), "name": name, "start": start}
    try:
        found = run_retrain(**settings)
    except BadInput as error:
        return "stopped", {"reason": str(error)}
    if found["unchanged"]:
        return "unchanged", found
    return {"promote": "promoted", "refuse": "refused"}[found["outcome"]], found


def champion_map(corpus: Path) -> float:
    """Return the MAP of the champion on the frozen set, as the last retraining knows it."""
    from flows.tracking import registry
    from flows.training.frozen_sets import measured, sets_of

    version = registry.champion(NAME)
    assert version is not None
    # The first set, whichever judges by now.
    report = measured(registry.run_of(version, NAME), sets_of(NAME, [])[-1], str(corpus))
    return report.means["map"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.month", description=__doc__)
    parser.add_argument("--retrainings", type=int, default=30)
    parser.add_argument("--documents", type=int, default=1200)
    parser.add_argument("--start", choices=["scratch", "champion"], default="scratch")
    arguments = parser.parse_args()
    from flows.servers.server import Server
    from ssi_core.guests.monitoring.gate import Rule
    from ssi_core.sample.encyclopedia import ENGLISH_DUMP, make_sample
    from tests.sources import ingest

    path = environment.home() / "month"
    path.mkdir(parents=True, exist_ok=True)
    table = path / "month.toml"
    table.write_text(TABLE)
    dump = make_sample(arguments.documents, 0).path / ENGLISH_DUMP
    ingest("wikipedia", [dump], path / "whole", processes=1)
    best, wrong = 0.0, []
    print("retraining documents  seconds  what        champion's MAP  why")
    with Server() as server, one_worker():
        server.ready()
        for n, kind in enumerate(kinds(arguments.retrainings, arguments.documents), 1):
            corpus = path / f"{kind.documents}{'-shuffled' if kind.shuffled else ''}"
            if not corpus.exists():
                write_night(path / "whole", kind, corpus, seed=n)
            began = time.monotonic()
            what, found = run_night(corpus, table, arguments.start, NAME)
            seconds, now = time.monotonic() - began, champion_map(path / "whole")
            print(
                f"{n:5} {kind.documents:9} {seconds:8.1f}  {what:10}  {now:14.4f}  "
                f"{found['reason'].replace(str(path) + '/', '')[:110]}",
                flush=True,
            )
            if kind.fate not in ("a decision", what):
                wrong.append(f"retraining {n} was {what}, expected {kind.fate}")
            if now < best * (1 - Rule().margin):
                wrong.append(f"retraining {n}: MAP {now:.4f} after {best:.4f}")
            best = max(best, now)
    if wrong:
        raise SystemExit("; ".join(wrong))


if __name__ == "__main__":
    main()
