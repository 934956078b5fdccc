"""Documents made ready to be ranked, and what is found among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ssi_core.evaluation.scorer import Scorer
from ssi_core.kernels.topk import top_k
from ssi_core.types import Int64, Vectors


@dataclass(frozen=True)
class Hit:
    """A document that was found; ``score`` is the model's f(q, d)."""

    id: str
    title: str
    score: float


@dataclass(frozen=True)
class Ranked:
    """Some documents and their vectors; exact, ties by ascending row.

    Attributes
    ----------
    ids, titles : polars Series of str, length n
    scorer : of their n vectors
    hidden : rows that are never found
    """

    ids: pl.Series
    titles: pl.Series
    scorer: Scorer
    hidden: Int64 | None = None

    def best(self, queries: Vectors, k: int) -> list[tuple[Hit, ...]]:
        """Return the k best documents of each query, best first.

        A document that has no word of the query and meets it in no latent space is no result.
        """
        scores = self.scorer.score(queries)
        if queries.dense is None:
            scores[scores == 0] = -np.inf
        if self.hidden is not None:
            scores[:, self.hidden] = -np.inf
        k = min(k, len(self.ids))
        rows = np.empty((len(scores), k), np.int32)
        best = np.empty((len(scores), k), np.float32)
        top_k(scores, rows, best)
        return [self._hits(*both) for both in zip(rows.tolist(), best.tolist(), strict=True)]

    def _hits(self, rows: Sequence[int], scores: Sequence[float]) -> tuple[Hit, ...]:
        return tuple(
            Hit(self.ids[row], self.titles[row], score)
            for row, score in zip(rows, scores, strict=True)
            if row >= 0
        )
