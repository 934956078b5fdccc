"""BM25 (Robertson and Walker 1994; Robertson and Zaragoza 2009)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ssi_core.arrays import ArraySpec, ArraySpecs, with_data
from ssi_core.bounds import Count, Mean, Share, Weight
from ssi_core.estimator import Sizes
from ssi_core.models.base import FitOptions, FittedModel, Model, Side, fitted
from ssi_core.scoring.vectors import Inner, Vectors
from ssi_core.types import Task, Texts, View

TRIED = {
    "k1": (0.5, 1.2, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 300.0, 1000.0),
    "b": (0.3, 0.5, 0.75, 0.9, 1.0),
    "k3": (0.0, 1.0, 8.0, 100.0),
}
"""Values that are tried on validation, the most important setting first."""


@dataclass(frozen=True)
class Bm25(Model):
    """Score by word counts that saturate.

    ``f(q, d) = sum_i (k3 + 1) q_i / (k3 + q_i) * idf_i (k1 + 1) d_i / (k1 (1 - b + b L) + d_i)``
    with counts ``q_i, d_i`` and ``idf_i = ln(1 + (n - df_i + 0.5) / (df_i + 0.5))``, which is never
    negative. ``L`` is the document's length (words of the vocabulary) over the mean length.

    Parameters
    ----------
    k1 : float
        Saturation of a document's counts.
    b : float
        Share of the length normalisation, 0..1.
    k3 : float
        Saturation of the query's counts; it matters where queries are documents.
    tuned : bool
        Let other values take the place of these where they are clearly better on validation.
    """

    name: ClassVar[str] = "bm25"
    k1: Weight = 1.2
    b: Share = 0.75
    k3: Weight = 8.0
    tuned: bool = False
    measure: Mean = "map"
    validation_queries: Count = 1000

    def views(self) -> set[str]:
        """Counts."""
        return {"counts"}

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Count document frequencies and the mean length on the task's documents; tune."""
        counts = task.documents.matrix("counts")
        n, words = counts.shape
        df = np.bincount(counts.indices, minlength=words)
        arrays = {
            "idf": np.log1p((n - df + 0.5) / (df + 0.5)).astype(np.float32),
            "mean_length": np.array([max(1.0, counts.data.sum(dtype=np.float64) / max(1, n))]),
        }
        fit = fitted(self, task, arrays)
        if not self.tuned:
            return fit
        from ssi_core.selection.one_by_one import one_by_one

        def made(settings: Mapping[str, float]) -> FittedModel:
            chosen = np.array([settings[name] for name in TRIED])
            return replace(fit, arrays={**arrays, "settings": chosen})

        validator = options.judge(task, "valid", self.validation_queries)
        settings, facts = one_by_one(made, settings_of(fit), TRIED, validator, self.measure)
        return replace(made(settings), facts=facts)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the idf of each word, the mean length, and the settings where they are tuned."""
        settings = {"settings": ArraySpec("float64", (len(TRIED),), least=0)}
        return {
            "idf": ArraySpec("float32", (sizes["document counts"],), least=0),
            "mean_length": ArraySpec("float64", (1,), least=1),
            **(settings if self.tuned else {}),
        }

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Saturated counts on both sides; idf on the document's."""
        counts = texts.matrix("counts")
        k1, b, k3 = settings_of(fitted).values()
        if side == "query":
            data = (k3 + 1) * counts.data / (k3 + counts.data)
        else:
            length = np.asarray(counts.sum(axis=1)) / fitted.arrays["mean_length"][0]
            floors = np.repeat(k1 * (1 - b + b * length), np.diff(counts.indptr))
            data = fitted.arrays["idf"][counts.indices] * (k1 + 1) * counts.data
            data /= floors + counts.data
        return Inner(with_data(counts, data.astype(np.float32)), None)

    def sparse_view(self, fitted: FittedModel, side: Side) -> View:
        """Columns are words."""
        return fitted.view("counts", side)


def settings_of(fitted: FittedModel) -> dict[str, float]:
    """Return k1, b and k3: what was chosen, or given."""
    given = [getattr(fitted.model, name) for name in TRIED]
    chosen = fitted.arrays.get("settings")
    return dict(zip(TRIED, given if chosen is None else chosen.tolist(), strict=True))
