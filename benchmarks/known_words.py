"""Claims of a table on those judged queries whose words all occur in the log, and on the others.

    python -m benchmarks.known_words TABLE COMPARISON=CORPUS ... > docs/results/NAME.json

Beside the claims each mixture is tested against the row of its last part: "PLSA + UM" against "UM".
A word occurs in the log if a clicked query or a clicked title has it. Paper 003 has a log of 82
million pairs, in which nearly all words occur; a small log lacks many.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from flows import tracking
from flows.reporting.compare import Loaded, load
from ssi_core.collection import open_collection
from ssi_core.evaluation.claims import Claim
from ssi_core.evaluation.significance import holm, rounds_of, stratified_randomisation
from ssi_core.text.tokenizer import tokenize


def known(corpus: Path) -> set[str]:
    """Return the ids of the queries whose words all occur in clicked queries and titles."""
    collection = open_collection(corpus)
    texts = {side: pl.read_parquet(collection.parts(side)) for side in ("queries", "documents")}
    clicks = pl.read_parquet(collection.relation("click"))
    clicked = {"queries": clicks[:, 0].unique(), "documents": clicks[:, 1].unique()}
    words = {
        word
        for side, ids in clicked.items()
        for text in texts[side].filter(pl.col("id").is_in(ids.implode()))["text"]
        for word in tokenize(text)
    }
    rows = texts["queries"].select("id", "text").iter_rows()
    return {name for name, text in rows if set(tokenize(text)) <= words}


def main() -> None:
    """Test each claim of order on all logs together, each of which counts the same."""
    tracking.ready()
    table, *given = sys.argv[1:]
    pairs = [one.split("=", 1) for one in given]
    logs = [(load(table, name), known(Path(corpus))) for name, corpus in pairs]
    result = {
        kind: tested([(one, chosen(one, names, inside=inside)) for one, names in logs])
        for kind, inside in (("all words in the log", True), ("some are not", False))
    }
    print(json.dumps(result, indent=1, ensure_ascii=False))


def chosen(loaded: Loaded, names: set[str], *, inside: bool) -> Any:
    """Tell which queries of a comparison are of the kind."""
    ids = next(iter(loaded.means.values()))["id"]
    return np.array([(name in names) == inside for name in ids])


def tested(logs: list[tuple[Loaded, Any]]) -> dict[str, Any]:
    """Return the number of queries, and difference and p of each claim."""
    table = logs[0][0].table
    claims = [claim for claim in table.claims if claim.margin is None]
    labels = [row.label for row in table.rows]
    parts = [(label, label.rpartition(" + ")[2]) for label in labels]
    claims += [
        Claim(*pair, claims[0].measure)
        for pair in parts
        if pair[1] in labels and pair[0] != pair[1]
    ]
    found: list[dict[str, Any]] = []
    for claim in claims:
        both = [
            tuple(one.means[label][claim.measure].to_numpy()[rows] for label in claim.rows)
            for one, rows in logs
        ]
        found.append(
            {
                "claim": str(claim),
                "means": [
                    float(np.mean([side.mean() for side in of])) for of in zip(*both, strict=True)
                ],
                "difference": float(np.mean([(a - b).mean() for a, b in both])),
                "p": stratified_randomisation(both, rounds=rounds_of(len(claims))),  # type: ignore[arg-type]
            }
        )
    for one, p in zip(found, holm([one["p"] for one in found]), strict=True):
        one["p_holm"] = float(p)
    return {"queries": [int(rows.sum()) for _, rows in logs], "claims": found}


if __name__ == "__main__":
    main()
