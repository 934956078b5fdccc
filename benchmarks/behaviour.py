"""User behaviour in, ranking out: CPU seconds of ``ssi fit`` on a million events of a made-up shop.

    python -m benchmarks.behaviour

The log (`ssi_core.sample.shop`) and the root are made in a directory of their own, so that nothing
is found there; further options are those of ``ssi fit``. Stages are those of ``cpu_seconds``; the
rest is the start of the process, the index, and the files for OpenSearch.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ssi_core.sample.shop import LOG, PRODUCTS, write_shop

VISITS = 88_000
"""Queries with their impressions and clicks: a million lines."""


def measured(path: Path, products: int, visits: int, options: list[str]) -> dict[str, Any]:
    """Write a shop, run the command on it, and return its result with the CPU seconds."""
    counts = write_shop(path / "shop", products=products, visits=visits)
    log, texts = path / "shop" / LOG, path / "shop" / PRODUCTS
    out = ["--out", path / "model", "--export", "opensearch", path / "opensearch"]
    words = [sys.executable, "-m", "ssi_core", "fit", log, "--texts", texts, *out, "--json"]
    before, begin = _spent(), time.monotonic()
    done = subprocess.run(
        [*map(str, words), *options],
        env={**os.environ, "SSI_ROOT": str(path / "root")},
        stdout=subprocess.PIPE,
        check=True,
    )
    total, wall = _spent() - before, time.monotonic() - begin
    value: dict[str, Any] = json.loads(done.stdout)
    stages = value["cpu_seconds"]
    stages["rest"] = round(total - sum(stages.values()), 2)
    events = sum(counts[name] for name in ("queries", "impressions", "clicks"))
    return value | {"events": events, "total": round(total, 2), "wall": round(wall, 2)}


def _spent() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print the seconds of each stage, and what was chosen."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.behaviour", description=__doc__)
    parser.add_argument("--place", type=Path, help="an empty directory, which stays")
    parser.add_argument("--products", type=int, default=20_000)
    parser.add_argument("--visits", type=int, default=VISITS)
    arguments, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="ssi-") as folder:
        place = arguments.place or Path(folder)
        value = measured(place, arguments.products, arguments.visits, options)
    print(f"{value['events']:,} events, {value['total']} CPU seconds, {value['wall']} of the clock")
    print(", ".join(f"{name} {seconds}" for name, seconds in value["cpu_seconds"].items()))
    print(value["reason"])
    for row in value["measures"]:
        print(row["ranker"], *(f"{name} {row[name]:.4f}" for name in ("map", "rank_loss")))


if __name__ == "__main__":
    main()
