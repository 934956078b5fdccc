"""Latent semantic indexing, and its mixture with TF-IDF (journal paper, section 4).

The documents' rows ``X`` (n, D) of a view are factored ``X ~ P S V'``; a text ``x`` becomes
``x V_N`` (N,), and texts are compared by the cosine there. The N leading columns of one
factorisation serve every smaller N; `ssi_core.models.latent.svd` says how exact they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from ssi_core.arrays import ArraySpec, ArraySpecs
from ssi_core.bounds import Count, Dimensions, Share, Values
from ssi_core.estimator import Sizes
from ssi_core.evaluation.candidates import ranking_memory
from ssi_core.models.base import FitOptions, FittedModel, Model, Side, fitted
from ssi_core.models.latent.projection import Projection, cosine_words, unit
from ssi_core.models.latent.svd import leading_vectors, memory_of
from ssi_core.models.tfidf import TfIdf
from ssi_core.resources import Cost
from ssi_core.scoring.vectors import DenseWords, Inner, Vectors
from ssi_core.types import Task, TextMatrix, Texts, View

_GRID = (50, 100, 200, 500, 750, 1000)  # the paper's dimensions
_ALPHAS = tuple(round(0.05 * i, 2) for i in range(21))


@dataclass(frozen=True)
class Lsi(Projection):
    """``f(q, d) = cos(q V_N, d V_N)``."""

    name: ClassVar[str] = "lsi"
    dimensions: Dimensions | Values[Dimensions] = _GRID
    tuning_queries: Count = 500

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Factor once at the largest N; keep the N of the lowest training rank loss."""
        matrix = task.documents.matrix(self.view)
        factors = leading_vectors(matrix, grid(self.dimensions), rng, threads=options.threads)
        vectors, bounded = factors.vectors, sorted(set(factors.dimensions.values()))
        losses = {}
        if len(bounded) > 1:
            validator = options.judge(task, "train", self.tuning_queries, threads=1)
            for n in bounded:
                losses[n] = validator.rank_loss(fitted(self, task, {"V": vectors[:, :n].copy()}))
        chosen = min(losses, key=losses.__getitem__) if losses else bounded[0]
        facts = {
            "dimensions": chosen,
            "residual": factors.residual,
            "training_rank_loss": {str(n): v for n, v in losses.items()},
        }
        return fitted(self, task, {"V": vectors[:, :chosen].copy()}, facts)

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of the factors and of their choice."""
        return Cost(_memory(self, task), 0)


@dataclass(frozen=True)
class LsiMixture(Model):
    """``f(q, d) = alpha cos(q V_N, d V_N) + (1 - alpha) cos(q, d)``.

    alpha and N have the lowest rank loss on training pairs.

    Parameters
    ----------
    tfidf_view : str
        Weighting of words of the cosine; by default that of ``view``.
    alphas : list of float
        Values of alpha to choose from.
    """

    name: ClassVar[str] = "lsi_mixture"
    view: str = "raw"
    tfidf_view: str | None = None
    dimensions: Dimensions | Values[Dimensions] = _GRID
    alphas: Values[Share] = _ALPHAS
    tuning_queries: Count = 500

    def views(self) -> set[str]:
        """Views of both parts."""
        return {self.view, self.tfidf_view or self.view}

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Choose alpha and N together; the two parts are scored once each and then mixed."""
        matrix = task.documents.matrix(self.view)
        factors = leading_vectors(matrix, grid(self.dimensions), rng, threads=options.threads)
        vectors = factors.vectors
        validator = options.judge(task, "train", self.tuning_queries, threads=1)
        tfidf = validator.scores(fitted(TfIdf(self.tfidf_view or self.view), task, {}))
        losses: dict[tuple[int, float], float] = {}
        for n in sorted(set(factors.dimensions.values())):
            lsi = validator.scores(fitted(Lsi(self.view, n), task, {"V": vectors[:, :n].copy()}))
            for alpha in self.alphas:
                mixed = np.float32(alpha) * lsi + np.float32(1 - alpha) * tfidf
                losses[n, alpha] = validator.rank_loss_of(mixed)
        n, alpha = min(losses, key=losses.__getitem__)
        facts = {
            "dimensions": n,
            "alpha": alpha,
            "residual": factors.residual,
            "training_rank_loss": losses[n, alpha],
        }
        arrays = {"V": vectors[:, :n].copy(), "alpha": np.array([alpha], np.float32)}
        return fitted(self, task, arrays, facts)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare V, and alpha."""
        return {
            "V": ArraySpec("float32", (sizes[f"document {self.view}"], "dimensions")),
            "alpha": ArraySpec("float32", (1,)),
        }

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Both parts, the weights on the query's side."""
        words = texts.matrix(self.tfidf_view or self.view)
        dense = unit(texts.matrix(self.view) @ fitted.arrays["V"])
        if side == "document":
            return Inner(words, dense)
        alpha = fitted.arrays["alpha"][0]
        return Inner(_scaled(words, 1 - alpha), alpha * dense)

    def dense_words(self, fitted: FittedModel, texts: Texts, side: Side) -> DenseWords:
        """Rows of the LSI part, times alpha on the query's side."""
        words = cosine_words(
            texts.matrix(self.view), fitted.arrays["V"], fitted.view(self.view, side)
        )
        if side == "document":
            return words
        alpha = fitted.arrays["alpha"][0]
        return words._replace(weights=_scaled(words.weights, alpha))

    def sparse_view(self, fitted: FittedModel, side: Side) -> View:
        """Words of the TF-IDF part."""
        return fitted.view(self.tfidf_view or self.view, side)

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of the factors; the scores of both parts are held whole, and mixed."""
        scores = 4 * 4 * self.tuning_queries * len(task.documents)
        return Cost(_memory(self, task) + scores, 0)


def _memory(model: Lsi | LsiMixture, task: Task) -> int:
    """Return the bytes that the factors and their choice take."""
    matrix, most = task.documents.matrix(model.view), max(grid(model.dimensions))
    factors = memory_of(matrix.shape, most)
    if isinstance(model, Lsi) and len(grid(model.dimensions)) == 1:
        return factors
    return factors + tuning_memory(task, model.view, most, model.tuning_queries)


def tuning_memory(task: Task, view: str, most: int, queries: int) -> int:
    """Return the bytes that the choice of up to ``most`` dimensions takes."""
    nonzeros = task.documents.matrix(view).nnz
    return ranking_memory(task, "train", queries=queries, dense=most, nonzeros=nonzeros)


def grid(dimensions: int | tuple[int, ...]) -> tuple[int, ...]:
    """Return the dimensions to try."""
    return (dimensions,) if isinstance(dimensions, int) else dimensions


def _scaled(matrix: TextMatrix, factor: np.float32) -> TextMatrix:
    return sparse.csr_array((factor * matrix.data, matrix.indices, matrix.indptr), matrix.shape)
