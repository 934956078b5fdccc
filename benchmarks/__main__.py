"""Run benchmarks and print their table."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks import (
    answers,
    blocks,
    cluster,
    dice,
    exact,
    forms,
    hash_kernels,
    identity,
    ingest,
    japanese,
    lsi,
    matching,
    memory,
    metrics,
    serving,
    share,
    sweep,
    tokenise,
    topics,
    wikitext,
    words,
)
from benchmarks.timing import Row, surroundings

BENCHMARKS = {
    "sweep": sweep.rows,
    "identity": identity.rows,
    "blocks": blocks.rows,
    "exact": exact.rows,
    "words": words.rows,
    "answers": answers.rows,
    "lsi": lsi.rows,
    "metrics": metrics.rows,
    "tokenise": tokenise.rows,
    "ingest": ingest.rows,
    "wikitext": wikitext.rows,
    "dice": dice.rows,
    "topics": topics.rows,
}
ON_REQUEST = {
    "cluster": cluster.rows,
    "memory": memory.rows,
    "forms": forms.rows,
    "hash_kernels": hash_kernels.rows,
    "japanese": japanese.rows,
    "matching": matching.rows,
    "serving": serving.rows,
    "share": share.rows,
    "topics_memory": topics.memory,
}
"""Benchmarks that are run when they are named: they take minutes, or more memory or cores."""
_ALL = BENCHMARKS | ON_REQUEST
_LINE = "{:42} {:>13} {:>8} {:>7} {:>6} {:>6} {:>8}"


def short(value: float | None) -> str:
    """Three digits, or a dash."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def reached(row: Row) -> str:
    """Whether the ratio is at least the floor, and the goal."""
    if row.ratio is None:
        return "skipped"
    words = [
        "-" if least is None else ("yes" if row.ratio >= least else "no")
        for least in (row.floor, row.goal)
    ]
    return "/".join(words)


def line(row: Row) -> str:
    """One line of the table, and its note below."""
    numbers = (row.peer, row.ratio, row.floor, row.goal)
    ours = f"{short(row.ours)} {row.unit}" if row.ours is not None else "-"
    text = _LINE.format(row.benchmark, ours, *map(short, numbers), reached(row))
    return f"{text}\n    {row.note}" if row.note else text


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(_ALL)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    parser.add_argument("--no-mlflow", action="store_true", help="write no run of MLflow")
    arguments = parser.parse_args()
    names = arguments.names or list(BENCHMARKS)
    unknown = sorted(set(names) - set(_ALL))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(_ALL)}")
    before = surroundings()
    print(", ".join(f"{name} {said}" for name, said in before.items()))
    print(_LINE.format("benchmark", "ours", "peer", "ratio", "floor", "goal", "reached"))
    found: list[Row] = []
    with threadpool_limits(1):
        for name in names:
            for row in _ALL[name]():
                found.append(row)
                print(line(row), flush=True)
    after = surroundings()
    print(f"load after: {after['load']}")
    if arguments.json:
        results = {"before": before, "after": after, "rows": [asdict(row) for row in found]}
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    if not arguments.no_mlflow:
        # Loaded after the measurements, which it would share the memory with.
        from benchmarks.log import EXPERIMENT, log

        print(f"run {log(found, before, after)} of MLflow's experiment {EXPERIMENT}")


if __name__ == "__main__":
    main()
