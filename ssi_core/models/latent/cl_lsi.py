"""Cross-language latent semantic indexing (Dumais et al. 1997; journal paper, section 4.3).

Each pair of mates is one row of both sides' words side by side, ``[q | d]``; the rows are factored
``[Q | D] ~ P S [U' | V']``. A text is then folded in alone, by the words of its own side: ``q U``
or ``d V`` (N,).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from ssi_core.arrays import ArraySpec, ArraySpecs
from ssi_core.bounds import Count, Dimensions, Values
from ssi_core.estimator import Sizes
from ssi_core.models.base import FitOptions, FittedModel, Model, Side, fitted
from ssi_core.models.latent.lsi import grid, tuning_memory
from ssi_core.models.latent.projection import cosine_words, unit
from ssi_core.models.latent.svd import Factors, leading_vectors, memory_of
from ssi_core.resources import Cost
from ssi_core.scoring.vectors import DenseWords, Inner, Vectors
from ssi_core.tasks.translations import MATES
from ssi_core.types import BadInput, Float32, Int32, Task, Texts


def mates_of(task: Task) -> Int32:
    """Return the mates of training, (n, 2) rows: those of ``also["mates"]``, or all pairs."""
    return task.auxiliary.get(MATES, task).train.rows


def factored(
    task: Task, view: str, dimensions: int | tuple[int, ...], rng: np.random.Generator
) -> tuple[Float32, Float32, Factors]:
    """Factor the mates of training: U (words of queries, N), V (words of documents, N)."""
    rows = mates_of(task)
    if len(rows) == 0:
        raise BadInput(f"task {task.path}: no mates in training; nothing can be learnt from it.")
    queries, documents = task.queries.matrix(view), task.documents.matrix(view)
    joined: Any = sparse.hstack([queries[rows[:, 0]], documents[rows[:, 1]]], format="csr")
    factors = leading_vectors(joined, grid(dimensions), rng)
    width = queries.shape[1]
    return factors.vectors[:width], factors.vectors[width:], factors


def factoring_memory(task: Task, view: str, most: int) -> int:
    """Return the bytes that `factored` takes with up to ``most`` dimensions."""
    sides = task.queries, task.documents
    n = len(mates_of(task))
    longest = sum(int(8 * n * s.matrix(view).nnz / max(1, len(s))) for s in sides)
    words = sum(texts.width(view) for texts in sides)
    return 2 * longest + memory_of((n, words), most)


@dataclass(frozen=True)
class ClLsi(Model):
    """``f(q, d) = cos(q U, d V)`` or ``(q U)'(d V)``.

    Parameters
    ----------
    measure : str
        "cosine" or "dot".
    """

    name: ClassVar[str] = "cl_lsi"
    view: str = "raw"
    dimensions: Dimensions | Values[Dimensions] = 200
    measure: Literal["cosine", "dot"] = "cosine"
    tuning_queries: Count = 500

    def views(self) -> set[str]:
        """Return the one view that the model reads."""
        return {self.view}

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Factor once at the largest N; keep the N of the lowest training rank loss."""
        U, V, factors = factored(task, self.view, self.dimensions, rng)
        fits = {
            n: fitted(self, task, {"U": U[:, :n].copy(), "V": V[:, :n].copy()})
            for n in sorted(set(factors.dimensions.values()))
        }
        losses = {}
        if len(fits) > 1:
            validator = options.judge(task, "train", self.tuning_queries, threads=1)
            losses = {n: validator.rank_loss(fit) for n, fit in fits.items()}
        chosen = min(losses, key=losses.__getitem__) if losses else next(iter(fits))
        facts = {
            "dimensions": chosen,
            "mates": len(mates_of(task)),
            "residual": factors.residual,
            "training_rank_loss": {str(n): loss for n, loss in losses.items()},
        }
        return fitted(self, task, fits[chosen].arrays, facts)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the map of either side."""
        return {
            "U": ArraySpec("float32", (sizes[f"query {self.view}"], "dimensions")),
            "V": ArraySpec("float32", (sizes[f"document {self.view}"], "dimensions")),
        }

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Texts folded in by the words of their side, of unit length for the cosine."""
        rows = np.asarray(texts.matrix(self.view) @ self._embedding(fitted, side), np.float32)
        return Inner(None, unit(rows) if self.measure == "cosine" else rows)

    def dense_words(self, fitted: FittedModel, texts: Texts, side: Side) -> DenseWords:
        """Words of the side; for the cosine each divided by the length of its text."""
        words, view = texts.matrix(self.view), fitted.view(self.view, side)
        embedding = self._embedding(fitted, side)
        if self.measure == "dot":
            return DenseWords(words, embedding, view)
        return cosine_words(words, embedding, view)

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of the factors and of their choice."""
        most = max(grid(self.dimensions))
        factors = factoring_memory(task, self.view, most)
        return Cost(factors + tuning_memory(task, self.view, most, self.tuning_queries), 0)

    def _embedding(self, fitted: FittedModel, side: Side) -> Any:
        return fitted.arrays["U" if side == "query" else "V"]
