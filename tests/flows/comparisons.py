"""Rows of small made-up reports in a store of their own, as a table's rows would leave them."""

from __future__ import annotations

import numpy as np
import polars as pl

from flows import tracking
from ssi_core.evaluation.measures import MEASURES
from ssi_core.experiment import parse_table
from ssi_core.types import Report

QUERIES = 60
CURVES = ("val/rank_loss", "curve/train_rank_loss", "curve/test_rank_loss")

TABLE = {
    "name": "made-up",
    "title": "Rows of made-up reports",
    "source": "Nobody (2000): Nothing",
    "note": "The values are made up.",
    "rows": [
        {
            "label": "TF-IDF",
            "model": "tfidf",
            "paper": {"rank_loss": 0.0162, "map": 0.329, "map_se": 0.010},
        },
        {"label": "BM25", "model": "bm25", "note": "not in the paper"},
        {"label": "U'V + I", "model": "bilinear", "budget": 1000, "rates": [0.1, 0.03]},
        {"label": "LSI", "model": "lsi"},
    ],
    "scatter": [["U'V + I", "BM25"], ["U'V + I", "LSI"], ["U'V + I", "TF-IDF"]],
    "claims": [
        {"above": "U'V + I", "below": "TF-IDF", "measure": ["map", "rank_loss"]},
        {"above": "TF-IDF", "below": "U'V + I", "measure": "p_at_10"},
        {"above": "BM25", "below": "TF-IDF", "measure": "map"},
        {"above": "LSI", "below": "TF-IDF", "measure": "map"},
    ],
}


def report(gain: float, seed: int = 0) -> Report:
    """Values of the same queries, the better the larger ``gain`` is."""
    queries, noise = np.random.default_rng(1), np.random.default_rng(seed)
    columns = {}
    for name in MEASURES:
        values = queries.uniform(0.2, 0.6, QUERIES) + noise.normal(0, 0.02, QUERIES)
        columns[name] = np.clip(values + (-gain if name == "rank_loss" else gain), 0, 1)
    ids = [f"q{query:02}" for query in range(QUERIES)]
    frame = pl.DataFrame({"query": np.arange(QUERIES), "id": ids, **columns})
    means = {name: float(values.mean()) for name, values in columns.items()}
    errors = {name: float(v.std(ddof=1) / QUERIES**0.5) for name, v in columns.items()}
    return Report(frame, means, errors, {"p_at_10": 0.62})


def write(task, comparison="first", gains=(("TF-IDF", 0.0), ("BM25", 0.0), ("U'V + I", 0.2))):
    """Write rows of `TABLE`, two seeds of the trained one; return the run ids."""
    table = parse_table(TABLE)
    runs = []
    for label, gain in gains:
        for seed in range(2 if label == "U'V + I" else 1):
            with tracking.row_run(table, table.row(label), seed, comparison, task) as run:
                if label == "U'V + I":
                    for step in (0, 500, 1000):
                        losses = {name: 0.1 / (1 + step) for name in CURVES}
                        run.watch(step, {"train/hinge": 1.0, **losses})
                    run.facts({"triples": 1000})
                run.report(report(gain, seed=len(runs)))
            runs.append(run.run_id)
    return runs
