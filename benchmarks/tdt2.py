"""Hash codes of TDT2 (9,394 stories, 30 topics): means over ten divisions, as in the paper.

    python -m benchmarks.tdt2 tdt2/TDT2.mat > docs/results/hash-codes-tdt2.json

The file has counts of 36,771 words, the topic and the day of each story, and no text. A division
draws 5,597 stories to train, as the paper's do, and tests 3,797. Rows are TF-IDF of unit length, of
words in two training stories or more.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.io import loadmat

from ssi_core.guests.codes.compare import Labelled, curve_of, sign_test
from ssi_core.guests.codes.hashers import hasher_named
from ssi_core.kernels.sparse import unit_rows
from ssi_core.views.weighting import inverse_document_frequency

METHODS = ("sth", "sths", "lsi", "centred_lsi", "itq", "lch", "spectral", "lsh")
LENGTHS = (4, 8, 16, 32, 64)
DRAWS, TRAIN, WORDS = 10, 5597 / 9394, 36_771


def main() -> None:
    """Measure each method on each division; print the means and their sd over divisions."""
    matrix = sparse.csr_array(loadmat(Path(sys.argv[1]))["fea"]).astype(np.float64)
    counts, topics = matrix[:, :WORDS], matrix[:, [WORDS]].toarray().ravel().astype(np.int32)
    draws = range(int(sys.argv[2]) if len(sys.argv) > 2 else DRAWS)
    means: dict[str, list[dict[int, dict[str, float]]]] = {name: [] for name in METHODS}
    wins: dict[str, list[dict[str, Any]]] = {name: [] for name in METHODS}
    seconds = dict.fromkeys(METHODS, 0.0)
    for draw in draws:
        train, test = division(counts, topics, draw)
        curves = {
            name: curve_of(hasher_named(name, {"seed": draw}, name), train, test, LENGTHS)
            for name in METHODS
        }
        for name, curve in curves.items():
            seconds[name] += curve.seconds / len(draws)
            means[name].append(
                {
                    bits: {measure: float(one.mean()) for measure, one in values.items()}
                    for bits, values in curve.values.items()
                }
            )
            wins[name].append(
                {
                    measure: sign_test(curve.values[16][measure], curves["sth"].values[16][measure])
                    for measure in ("precision", "recall", "accuracy", "map")
                }
            )
        print(f"division {draw + 1} of {len(draws)}", file=sys.stderr)
    result = {
        "collection": "TDT2",
        "classes": len(np.unique(topics)),
        "train": len(train.labels),
        "test": len(test.labels),
        "divisions": len(draws),
        "radius": 1,
        "lengths": list(LENGTHS),
        "rows": [
            {
                "hasher": name,
                "curve": {str(bits): summary(means[name], bits) for bits in LENGTHS},
                "above_sth_at_16": better(wins[name]),
                "cpu_seconds": round(seconds[name], 1),
            }
            for name in METHODS
        ],
    }
    print(json.dumps(result, indent=1))


def division(counts: sparse.csr_array, topics: Any, seed: int) -> tuple[Labelled, Labelled]:
    """Draw a division; words and their weights are those of the training stories."""
    order = np.random.default_rng([seed]).permutation(len(topics))
    sides = np.split(order, [round(TRAIN * len(order))])
    df = np.bincount(counts[sides[0]].indices, minlength=counts.shape[1])
    kept = np.flatnonzero(df >= 2)
    idf = inverse_document_frequency(df[kept], len(sides[0]))
    return tuple(Labelled(weighted(counts[side][:, kept], idf), topics[side]) for side in sides)  # type: ignore[return-value]


def weighted(counts: sparse.csr_array, idf: Any) -> sparse.csr_array:
    """Return rows of TF-IDF of unit length."""
    rows = sparse.csr_array(counts @ sparse.diags_array(idf.astype(np.float64)))
    rows.sort_indices()
    unit_rows(rows.indptr.astype(np.int64), rows.data)
    return rows


def summary(of_draws: list[dict[int, dict[str, float]]], bits: int) -> dict[str, Any]:
    """Return the mean of each measure over divisions, and its standard deviation."""
    found: dict[str, Any] = {}
    for measure in of_draws[0][bits]:
        values = [draw[bits][measure] for draw in of_draws]
        found[measure] = float(np.mean(values))
        if len(values) > 1:
            found[f"{measure}_sd"] = float(np.std(values, ddof=1))
    return found


def better(tests: list[dict[str, Any]]) -> dict[str, int]:
    """Count the divisions in which a method is above STH by the sign test, p below .01."""
    return {
        measure: sum(
            t[measure]["p"] < 0.01 and t[measure]["wins"] > t[measure]["losses"] for t in tests
        )
        for measure in tests[0]
    }


if __name__ == "__main__":
    main()
