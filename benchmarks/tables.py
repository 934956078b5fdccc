"""Compute the tables of docs/results again, cheapest first, with three seeds a row.

    python -m benchmarks.tables DATA [RESULT ...] [--seeds 3] [--hours H] [--list]

DATA holds the published data sets, a folder each. First it prints hours: the CPU seconds that
``tables.toml`` has of a table, or else what its rows took when they were computed last, which is
too much where other work ran beside them. A result whose code, settings and seeds are those of
today is left alone, and finished rows are found again, so that the command goes on where it was
stopped. At its end it prints what is not finished, and why.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flows.reporting import result_file
from flows.reporting.shipped_tables import find_table
from ssi_core.types import BadInput

HERE = Path(__file__).parent
RESULTS = HERE.parent / "docs" / "results"


@dataclass(frozen=True)
class Computation:
    """A table on a corpus, and the result that comes of it."""

    table: str
    corpus: str
    result: str

    def hours(self, seeds: int) -> float | None:
        """Return what it took, with so many seeds; None where it was not computed before."""
        if measured := declared()["cpu_seconds"].get(self.result):
            return measured / 3 * seeds / 3600
        found, table = self.kept(), find_table(self.table)
        if found is None:
            return None
        taken = {row["label"]: row["seconds"] or 0 for row in found["summary"]}
        wanted = [(row.label, len(table.seeds_of(row, seeds))) for row in table.rows]
        return sum(taken.get(label, 0) * number for label, number in wanted) / 3600

    def kept(self) -> dict | None:
        """Return its result, if there is one."""
        try:
            return result_file.load(RESULTS / f"{self.result}.json")
        except BadInput:
            return None

    def current(self, seeds: int) -> bool:
        """Tell whether its result is of the code, the settings and the seeds of today."""
        found, table = self.kept(), find_table(self.table)
        if found is None or result_file.earlier(found):
            return False
        of_row = {row["label"]: row["seeds"] for row in found["summary"]}
        wanted = {row.label: len(table.seeds_of(row, seeds)) for row in table.rows}
        return all(of_row.get(label, 0) >= number for label, number in wanted.items())


def declared() -> dict:
    """Return ``tables.toml``."""
    return tomllib.loads((HERE / "tables.toml").read_text(encoding="utf-8"))


def computations() -> Iterator[Computation]:
    """Yield what ``tables.toml`` declares."""
    of_corpus = declared()["tables"]
    every = [table for tables in of_corpus.values() for table in tables]
    for corpus, tables in of_corpus.items():
        for table in tables:
            several = every.count(table) > 1
            yield Computation(table, corpus, f"{table}-{corpus}" if several else table)


def main() -> int:
    """Print the hours, compute, print what is missing."""
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("data", type=Path)
    given.add_argument("results", nargs="*")
    given.add_argument("--seeds", type=int, default=3)
    given.add_argument("--hours", type=float, default=float("inf"))
    given.add_argument("--list", action="store_true")
    asked = given.parse_args()
    wanted = [one for one in computations() if not asked.results or one.result in asked.results]
    to_do = [one for one in wanted if not one.current(asked.seeds)]
    hours = {one: one.hours(asked.seeds) for one in to_do}
    to_do.sort(key=lambda one: (hours[one] is None, hours[one] or 0.0))
    for one in to_do:
        print(
            f"{hours[one]:8.2f} h  {one.result}"
            if hours[one] is not None
            else f"  unknown  {one.result}"
        )
    total = sum(filter(None, hours.values()))
    print(f"{total:8.2f} h  on one core, {len(to_do)} of {len(wanted)} tables\n")
    if asked.list:
        return 0
    ends, unfinished = time.monotonic() + 3600 * asked.hours, []
    for one in to_do:
        if time.monotonic() + 3600 * (hours[one] or 0.0) > ends:
            unfinished.append(f"{one.result}: no time left")
            continue
        before = sum(os.times()[2:4])
        if why := compute(one, asked.data, asked.seeds):
            unfinished.append(f"{one.result}: {why}")
        print(f"{one.result}: {sum(os.times()[2:4]) - before:.0f} CPU seconds", flush=True)
    print("\n".join(["not finished:", *unfinished] if unfinished else ["all are finished"]))
    return 1 if unfinished else 0


def collections(corpus: str, data: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the collections of a corpus, one for each of its folds: name, words of the source."""
    known = declared()
    how = known["corpora"][corpus]
    if corpus not in known["folds"]:
        yield corpus, how.format(data=data).split()
        return
    for fold in range(1, 1 + known["folds"][corpus]):
        yield f"{corpus}-{fold}", how.format(data=data, fold=fold).split()


def compute(one: Computation, data: Path, seeds: int) -> str:
    """Compute a table and keep its result; return why not, or nothing."""
    root = Path(os.environ.get("SSI_ROOT", HERE.parent)) / "corpora"
    comparisons = []
    for name, source in collections(one.corpus, data):
        pipeline = ["lab", "pipeline", one.table, "--corpus", str(root / name)]
        for words in (
            ["data", "ingest", *source, "--out", str(root / name)],
            [*pipeline, "--seeds", str(seeds), "--json"],
        ):
            said, why = ssi(*words)
            if why:
                return why
        comparisons.append(json.loads(said)["comparison"])
    kept = RESULTS / f"{one.result}.json"
    return ssi("compare", one.table, "--comparison", ",".join(comparisons), "--save", str(kept))[1]


def ssi(*words: str) -> tuple[str, str]:
    """Run the command; return what it printed, and why it failed, or nothing."""
    print("ssi", *words, flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "ssi_core", *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return "", (done.stderr.strip().splitlines() or ["it failed"])[-1]
    return done.stdout, ""


if __name__ == "__main__":
    sys.exit(main())
