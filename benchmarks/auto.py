"""Measure what `auto` chooses beside models that need no choice, on many data sets.

``docs/auto.md`` shows the table and the commands that make the collections.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import stats

from ssi_core.estimator import parse
from ssi_core.evaluation.comparison import value_text
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.significance import holm, paired_randomisation
from ssi_core.files import write_result
from ssi_core.models import MODELS
from ssi_core.tasks.build import build_task
from ssi_core.tasks.task import open_task
from ssi_core.types import Float64, Task

MARGIN = 0.01
"""A model is not inferior if it is less than this below the other."""

WORDS = ("raw", "sublinear", "bm25")
VIEWS = ("counts", *WORDS, "sublinear:50", "sublinear:200")
OF_MATES = ("counts", "sublinear", "sublinear:50", "sublinear:200", "dictionary.sublinear")


class Set(NamedTuple):
    """A task, and the measure that matters there.

    Attributes
    ----------
    data : str
        Label of its collection.
    measure : str
        Mean that `auto` chooses by, and that is tested.
    fields : mapping
        Of `tasks.spec.TaskSpec`.
    """

    data: str
    measure: str
    fields: Mapping[str, Any]


JUDGED = {"relevant": "judgement", "words": "all"}
SETS = {
    "Wikispeedia links": Set("wikispeedia", "map", {}),
    "Wikispeedia, links of 3 words": Set(
        "wikispeedia", "ndcg_at_10", {"queries": "words:3", "auxiliary": ("link",)}
    ),
    "Wikispeedia titles": Set("wikispeedia", "mrr", {"relevant": "self", "queries": "titles"}),
    "Wikispeedia, 3 words of a page": Set(
        "wikispeedia", "mrr", {"relevant": "self", "queries": "words:3"}
    ),
    "anchors of an excerpt": Set("anchors", "mrr", {"relevant": "click", "words": "all"}),
    "Cranfield": Set("cranfield", "map", JUDGED),
    "CISI": Set("cisi", "map", JUDGED),
    "CACM": Set("cacm", "map", JUDGED),
    "WikiQA, question to page": Set("wikiqa", "mrr", JUDGED),
    "Kyoto mates": Set("kyoto", "mrr", {"relevant": "translation", "views": OF_MATES}),
    "clicks of the sample": Set("clicks", "map", {"relevant": "click"}),
}

UNTRAINED: Mapping[str, Mapping[str, Any]] = {
    "BM25": {"model": "bm25"},
    "TF-IDF": {"model": "tfidf", "view": "raw"},
    "TF-IDF, 1 + ln tf": {"model": "tfidf", "view": "sublinear"},
    "LSI mix": {"model": "lsi_mixture", "view": "sublinear", "dimensions": (100, 300)},
}
UNTRAINED_OF_MATES: Mapping[str, Mapping[str, Any]] = {
    "TF-IDF of words translated": {"model": "tfidf", "view": "dictionary.sublinear"},
    "LSI mix": {"model": "cl_lsi", "view": "sublinear", "dimensions": 200},
}
FIXED = {
    "model": "bilinear",
    "diagonal": "learned",
    "diagonal_rate": 20.0,
    "diagonal_view": "sublinear",
    "view": "sublinear:50",
    "dimensions": 50,
    "margin": 0.1,
    "init_std": 0.01,
    "rates": (0.03,),
    "rate_by": "validation",
    "negatives": 8,
    "epoch": 20_000,
    "budget": 20_000_000,
}
"""The settings of `SSI()`, ended by five validations without a lower rank loss."""


def measured(
    name: str, one: Set, collection: Path, *, model: Path | None = None, **auto: Any
) -> dict[str, Any]:
    """Return the means of every row on a set, with tests of `auto` against each.

    Parameters
    ----------
    model : Path or None
        Directory to write what `auto` chose (in the first fold) to.
    **auto
        Settings of `models.choice.auto.Auto`.
    """
    with TemporaryDirectory(prefix="ssi-auto-") as path:
        fields = {"views": VIEWS, **one.fields}
        build_task(collection, Path(path) / "task", **fields)
        task = open_task(Path(path) / "task")
        mates = fields.get("relevant") == "translation"
        rows: dict[str, Mapping[str, Any]] = dict(UNTRAINED_OF_MATES if mates else UNTRAINED)
        if not mates:
            rows["U'V + D"] = FIXED
        begun = time.process_time()
        found, frame = _row(task, {"model": "auto", "measure": one.measure, **auto}, model)
        choice = {"seconds": time.process_time() - begun, "folds": found}
        frames = {"auto": frame, **{label: _row(task, row)[1] for label, row in rows.items()}}
        pairs = len(task.train)
    return {
        "set": name,
        "measure": one.measure,
        "pairs": pairs,
        "queries": len(frame),
        "choice": choice,
        "rows": [
            {"row": label, **_means(frame, one.measure), **_tests(frames, label, one.measure)}
            for label, frame in frames.items()
        ],
        "untrained": max(rows.keys() - {"U'V + D"}, key=lambda r: frames[r][one.measure].mean()),
    }


def _row(
    task: Task, row: Mapping[str, Any], path: Path | None = None
) -> tuple[list[dict[str, Any]], pl.DataFrame]:
    """Fit a model on each fold; return what it says of its choice, and a row for each query."""
    model = parse(MODELS[row["model"]], {k: v for k, v in row.items() if k != "model"})
    found, frames = [], []
    for fold in task.folds or [task]:
        fit = model.fit(fold, np.random.default_rng([0]))
        if path is not None and not found:
            fit.save(path)
        if "auto" in fit.facts:
            facts = {k: fit.facts["auto"][k] for k in ("triples", "p", "reason", "queries")}
            trials = len(fit.facts["auto"]["trials"])
            found.append({"choice": fit.facts["choice"], "trials": trials, **facts})
        frames.append(evaluate(fit, fold, queries=10_000, tuples=0).per_query)
    return found, pl.concat(frames).sort("id")


def _means(frame: pl.DataFrame, measure: str) -> dict[str, Any]:
    names = dict.fromkeys((measure, "rank_loss"))
    return {"measures": {n: {"mean": _mean(v := _of(frame, n)), "se": _error(v)} for n in names}}


def _tests(frames: Mapping[str, pl.DataFrame], label: str, measure: str) -> dict[str, Any]:
    """Test `auto` against a row: whether it is above it, and whether it is not inferior."""
    if label == "auto":
        return {}
    ours, theirs = (_of(frames[one], measure) for one in ("auto", label))
    behind = theirs - ours
    error = _error(behind)
    limit = _mean(behind) + 1.645 * error
    inferior = float(stats.norm.sf((MARGIN - _mean(behind)) / error)) if error else 0.0
    p = paired_randomisation(ours, theirs, alternative="greater")
    return {"difference": -_mean(behind), "p": p, "limit": limit, "p_inferior": inferior}


def corrected(sets: Sequence[Mapping[str, Any]]) -> None:
    """Add Holm's p over the sets to the tests against the best untrained row of each."""
    best = [next(row for row in one["rows"] if row["row"] == one["untrained"]) for one in sets]
    for name in ("p", "p_inferior"):
        for row, p in zip(best, holm([row[name] for row in best]).tolist(), strict=True):
            row[f"{name}_adjusted"] = p


def table(sets: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return lines of Markdown: a line for each set.

    ``*``: `auto` is above the best untrained row, ``=``: it is not inferior to it, after Holm.
    """
    return [f"| {' | '.join(_cells(one))} |" for one in sets]


def _cells(one: Mapping[str, Any]) -> Iterator[str]:
    rows = {row["row"]: row for row in one["rows"]}
    measure = one["measure"]
    yield one["set"]
    yield f"{one['pairs']:,}"
    yield (
        measure.replace("_at_", "@")
        .replace("ndcg", "nDCG")
        .replace("map", "MAP")
        .replace("mrr", "MRR")
    )
    for label in ("BM25", "TF-IDF", "LSI mix", "U'V + D", "auto"):
        row = rows.get(label)
        if row is None and label == "TF-IDF":
            row = rows["TF-IDF of words translated"]
        if row is None:
            yield ""
            continue
        value = row["measures"][measure]
        sign = ""
        if label == "auto":
            best = rows[one["untrained"]]
            sign = "* " if best["p_adjusted"] < 0.05 and best["difference"] > 0 else ""
            sign = sign or ("= " if best["p_inferior_adjusted"] < 0.05 else "")
        yield f"{sign}{value_text(measure, value['mean'], value['se'])}"
    triples = sum(fold["triples"] for fold in one["choice"]["folds"])
    yield f"{triples:,}"
    yield f"{one['choice']['seconds']:.0f}"


def _of(frame: pl.DataFrame, measure: str) -> Float64:
    return np.asarray(frame[measure].to_numpy(), np.float64)


def _mean(values: Float64) -> float:
    return float(values.mean())


def _error(values: Float64) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auto", description=__doc__)
    parser.add_argument("data", nargs="+", metavar="LABEL=COLLECTION")
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--budget", type=int, default=10_000_000)
    parser.add_argument("--models", type=Path, help="directory to keep the models in")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    places = dict(one.split("=", 1) for one in given.data)
    sets = []
    for name in given.sets:
        if SETS[name].data in places:
            path = Path(places[SETS[name].data])
            kept = given.models and given.models / name.replace(" ", "-").replace(",", "")
            sets.append(measured(name, SETS[name], path, model=kept, budget=given.budget))
            corrected(sets)
            write_result(given.out, {"comparison": "auto", "sets": sets})
            print(table(sets[-1:])[0], flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
