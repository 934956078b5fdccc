"""Make the matrix of models and other data: what each model says of data it was not trained on.

A cell has measures, or the reason why the command refuses it. ``docs/other-data.md`` shows the
table and the commands that make its models and data.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from flows import tracking
from ssi_core.collection import open_collection
from ssi_core.evaluation.claims import twins
from ssi_core.evaluation.comparison import LEVEL, paired_tests
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.measures import LOWER_IS_BETTER
from ssi_core.files import write_result
from ssi_core.models import load_model
from ssi_core.scoring.vectors import Fitted
from ssi_core.serving.searcher import model_in
from ssi_core.tasks.other_data import texts_for
from ssi_core.types import BadInput

COMPARISON = "other-data"
MEASURES = ("rank_loss", "map", "mrr", "ndcg_at_10")
TESTED = ("rank_loss", "map")


def cell(fitted: Fitted, path: Path, queries: int) -> tuple[dict[str, Any], pl.DataFrame | None]:
    """Measure a model on one data set, as `ssi lab evaluate MODEL --on PLACE`; or say why not.

    Returns
    -------
    row : dict
        What the table shows.
    values : frame of id and measures, or None
        A row for each query; None: it is refused.
    """
    relevant = "translation" if "translation" in open_collection(path).relevant else None
    try:
        task, unknown = texts_for(fitted, path, queries=queries, relevant=relevant)
    except BadInput as error:
        return {"refused": str(error).removeprefix(f"{path}: ")}, None
    report = evaluate(fitted, task, queries=queries, tuples=0)
    measured = {name: {"mean": report.means[name], "se": report.errors[name]} for name in MEASURES}
    counts = {"queries": len(report.per_query), "candidates": report.candidates}
    row = {**counts, "unknown_words": unknown, "measures": measured}
    return row, report.per_query.select("id", *MEASURES)


def matrix(
    models: Mapping[str, str],
    data: Mapping[str, Path],
    queries: int,
    without: Collection[tuple[str, str]] = (),
) -> list[dict[str, Any]]:
    """Return a row for each model and data set.

    Parameters
    ----------
    models : label -> model, as the command takes it
    data : label -> directory
    queries : those that are drawn at most
    without : cells that are left out, such as data of which the model has seen the answers
    """
    rows: list[dict[str, Any]] = []
    values: dict[tuple[str, str], pl.DataFrame] = {}
    for label, model in models.items():
        fitted = load_model(model_in(Path(tracking.model_directory(model))))
        for name, place in data.items():
            if (label, name) in without:
                continue
            row, frame = cell(fitted, place, queries)
            rows.append({"model": label, "data": name, **row})
            if frame is not None:
                values[label, name] = frame
            print(label, "|", name, "|", rows[-1].get("refused") or rows[-1]["measures"])
    _test(rows, values)
    return rows


def _test(rows: Sequence[dict[str, Any]], values: Mapping[tuple[str, str], pl.DataFrame]) -> None:
    """Test each model against the TF-IDF of its words, paired by query; a family is a measure."""
    plain = _plain(label for label, _ in values)
    pairs = [
        (cell, base)
        for cell in values
        if (base := (plain.get(_source(cell[0]), ""), cell[1])) in values
        and base != cell
        and values[base]["id"].equals(values[cell]["id"])
    ]
    names = {cell: " on ".join(cell) for cell in values}
    means = {names[cell]: frame for cell, frame in values.items()}
    named = [(names[cell], names[base]) for cell, base in pairs]
    tests = {name: paired_tests(named, means, twins(means), name) for name in TESTED}
    found = {(row["model"], row["data"]): row for row in rows}
    for number, (cell, _) in enumerate(pairs):
        found[cell]["tests"] = {
            name: {key: own[number][key] for key in ("difference", "p", "p_adjusted", "bound")}
            for name, own in tests.items()
        }


def _source(label: str) -> str:
    return label.partition(", ")[0]


def _plain(labels: Iterable[str]) -> dict[str, str]:
    """Return data -> the TF-IDF of its words, of labels "DATA, MODEL"."""
    return {_source(label): label for label in labels if label.partition(", ")[2][:6] == "TF-IDF"}


def table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return lines of Markdown: each learned model beside the TF-IDF of its words, cell by cell.

    A model is named "DATA, MODEL"; the one whose name begins with TF-IDF is what others of the same
    data are beside. ``*`` is better and ``°`` worse than it.
    """
    cells = {(row["model"], row["data"]): row for row in rows}
    plain = _plain(label for label, _ in cells)
    lines = []
    for (label, data), row in cells.items():
        source, _, model = label.partition(", ")
        if label == plain[source] or "refused" in row:
            continue
        beside = cells[plain[source], data]
        unknown = "{queries:.0%}, {documents:.0%}".format(**row["unknown_words"])
        values = (
            (_sign(row, name) if one is row else "")
            + " ± ".join(f"{scale * one['measures'][name][part]:{form}}" for part in ("mean", "se"))
            for name, scale, form in (("rank_loss", 100, ".2f"), ("map", 1, ".3f"))
            for one in (beside, row)
        )
        parts = (source, model, data, unknown, str(row["queries"]), *values)
        lines.append(f"| {' | '.join(parts)} |".replace(" 0.", " ."))
    return lines


def _sign(row: Mapping[str, Any], measure: str) -> str:
    test = row["tests"][measure]
    if test["p_adjusted"] >= LEVEL:
        return ""
    return "* " if (test["difference"] < 0) == (measure in LOWER_IS_BETTER) else "° "


def _named(value: str) -> tuple[str, str]:
    label, _, rest = value.partition("=")
    return label, rest


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.other_data", description=__doc__)
    for name in ("model", "data"):
        how = {"metavar": "LABEL=PLACE", "required": True}
        parser.add_argument(f"--{name}", type=_named, action="append", **how)
    parser.add_argument("--without", type=_named, action="append", default=[], metavar="MODEL=DATA")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    data = {label: Path(path) for label, path in given.data}
    rows = matrix(dict(given.model), data, given.queries, given.without)
    write_result(
        given.out, {"comparison": COMPARISON, "queries_at_most": given.queries, "rows": rows}
    )


if __name__ == "__main__":
    main()
