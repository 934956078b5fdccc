"""What words that stand together in a name add to BM25F, and how much they should weigh.

    python -m benchmarks.phrases LABEL=DATA ... --out phrases.json

"words of links" are queries of training and validation, each scored as if it were held out
(`own_words`); "names" are titles and headings without some of their words, of another draw than
those that ``docs/site.md`` reports. No test pair is looked at. MRR among the first 20 pages.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np

import ssi_core as ssi
from benchmarks.static_sites import known_items
from ssi_core.files import write_result
from ssi_core.models.base import FitOptions
from ssi_core.models.bm25f import Bm25F
from ssi_core.models.combined.own_words import without_own, wordings
from ssi_core.serving.searcher import texts_of
from ssi_core.tasks.kinds import fields_of
from ssi_core.tasks.training_part import training_part
from ssi_core.types import Float64, Task

WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0)
DEPTH, NAMES, SEED = 20, 400, 7
KINDS = ("words of links", "names")


def reciprocal_ranks(scores: Any, right: list[set[int]]) -> Float64:
    """Return 1 / rank of the first right document of each query, 0 where the first have none."""
    order = np.argsort(-scores.toarray(), axis=1, kind="stable")[:, :DEPTH].tolist()
    found = zip(order, right, strict=True)
    return np.array(
        [next((1 / n for n, d in enumerate(row, 1) if d in of), 0) for row, of in found]
    )


def of_links(task: Task) -> tuple[list[int], list[set[int]]]:
    """Return the rows of the queries of training and validation, and their documents."""
    right: dict[int, set[int]] = {}
    for query, document in np.vstack([task.train.rows, task.valid.rows]).tolist():
        right.setdefault(query, set()).add(document)
    return list(right), list(right.values())


def measured(label: str, documents: ssi.Documents) -> dict[str, Any]:
    """Return what each weight reaches on queries of both kinds."""
    task = training_part(ssi.Task.of(documents, **fields_of("anchors")).data)
    asked, of_asked = of_links(task)
    queries, judged = known_items(documents, NAMES, SEED)
    rows = {document: row for row, document in enumerate(task.documents.ids)}
    of_names: dict[str, set[int]] = {name: set() for name in queries}
    for name, document, _ in judged.rows():
        of_names[name].add(rows[document])
    named = texts_of(list(queries.values()), task.queries.views)
    values: dict[float, dict[str, Float64]] = {}
    for weight in WEIGHTS:
        model = Bm25F.tuned(measure="mrr", phrases=(weight,))
        words = model.learn(task, np.random.default_rng(0), FitOptions())
        pages = words.embed_documents(task.documents).sparse
        both = words.embed_queries(task.queries).sparse, pages
        left, right = without_own(both, words, task, [wordings(task)])
        scores = left[asked] @ right.T, words.embed_queries(named).sparse @ pages.T
        relevant = of_asked, list(of_names.values())
        values[weight] = dict(zip(KINDS, map(reciprocal_ranks, scores, relevant), strict=True))
    return {
        "set": label,
        "queries": {kind: len(one) for kind, one in values[0.0].items()},
        "weights": [
            {"weight": weight} | {kind: _gain(one[kind], values[0.0][kind]) for kind in KINDS}
            for weight, one in values.items()
        ],
    }


def _gain(values: Float64, base: Float64) -> dict[str, float]:
    gain = values - base
    error = float(gain.std(ddof=1) / np.sqrt(len(gain)))
    return {"mrr": float(values.mean()), "gain": float(gain.mean()), "se": error}


def main() -> None:
    """Measure, write the result, and print it as a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.phrases", description=__doc__)
    parser.add_argument("tasks", nargs="+", metavar="LABEL=DATA")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    pairs = [one.split("=", 1) for one in given.tasks]
    results = [measured(label, ssi.read(data)) for label, data in pairs]
    write_result(given.out, {"comparison": "phrases", "results": results})
    print("| |", " | ".join(one["set"] for one in results), "|")
    for kind in KINDS:
        for place, weight in enumerate(WEIGHTS):
            one = [result["weights"][place][kind] for result in results]
            shown = [
                f"{row['gain']:+.3f} ±{row['se']:.3f}" if weight else f"{row['mrr']:.3f}"
                for row in one
            ]
            print(f"| {kind}, weight {weight:g} |", " | ".join(shown), "|")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
