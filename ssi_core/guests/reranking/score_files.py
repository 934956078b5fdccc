"""Scores of pairs as files: a run of TREC, or a number a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ssi_core import files
from ssi_core.evaluation.trec import escape
from ssi_core.guests.reranking.measures import Grades
from ssi_core.guests.reranking.pairs import PairFeatures
from ssi_core.scoring.decreasing import strictly_decreasing
from ssi_core.types import Float64


def write_run(features: PairFeatures, scores: Float64, path: Path, name: str) -> None:
    """Write the order of the documents of each query as a run of TREC.

    The scores of the file fall strictly (`scoring.decreasing`), so that every tool has the
    order of LETOR's measures. A row without a document is named by its place, ``row-7``.

    Parameters
    ----------
    features : PairFeatures
        Pairs.
    scores : float64 (pairs,)
        A score for each.
    path : Path
        The file.
    name : str
        Last field of each line.
    """
    order = Grades.of(features).order_of(scores)
    documents = features.documents.to_list()

    def lines() -> Iterator[str]:
        for query, rows in features.lists():
            positions = _each_once(order[rows], documents)
            shown = strictly_decreasing(scores[positions].astype(np.float32))
            for rank, (position, score) in enumerate(zip(positions, shown, strict=True), 1):
                document = escape(documents[position]) or f"row-{position + 1}"
                yield f"{escape(query)} Q0 {document} {rank} {score:.9g} {name}\n"

    with files.writing(path.parent), path.open("w", encoding="utf-8") as out:
        out.writelines(lines())


def _each_once(positions: NDArray[np.integer], documents: Sequence[str]) -> NDArray[np.integer]:
    """Return positions without those of a document that stands further above."""
    first: dict[str, int] = {}
    for position in positions.tolist():
        first.setdefault(documents[position] or f"row-{position + 1}", position)
    return np.fromiter(first.values(), np.int64)


def write_scores(scores: Float64, path: Path) -> None:
    """Write a score a line, in the order of the pairs, as LETOR's evaluation script reads them."""
    with files.writing(path.parent), path.open("w", encoding="utf-8") as out:
        out.writelines(f"{score!r}\n" for score in scores.tolist())
