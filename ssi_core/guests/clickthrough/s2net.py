"""Siamese projection of queries and titles (Gao et al. 2011, section 4.2; Yih et al. 2011).

One V projects both. For a training pair (q, d+) and documents d- that are drawn once, before the
training begins, the loss is

    L = ln(1 + exp(-gamma Delta))        Delta = cos(V'q, V'd+) - cos(V'q, V'd-)

and its gradient is ``-gamma / (1 + exp(gamma Delta)) dDelta/dV``: in (31) the exponent is printed
with the other sign. V starts from `pca` and goes down by L-BFGS over all pairs at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.bounds import Count, Dimensions, Positive, Tries
from ssi_core.evaluation.candidates import ranking_memory
from ssi_core.guests.clickthrough.kernels.logistic import logistic_pairs
from ssi_core.guests.clickthrough.lbfgs import Lbfgs
from ssi_core.guests.clickthrough.paired import Paired, Rows, components_memory, paired_memory
from ssi_core.guests.clickthrough.pca import Pca
from ssi_core.models.base import FitOptions, FittedModel, fitted
from ssi_core.models.latent.projection import Projection
from ssi_core.resources import Cost
from ssi_core.training.descend import descend
from ssi_core.training.sgd import excluded
from ssi_core.types import BadInput, Float32, Int32, Task


@dataclass(frozen=True)
class S2Net(Projection):
    """``f(q, d) = cos(V'q, V'd)``, V learnt by telling clicked documents from others.

    Parameters
    ----------
    gamma : float
        Factor of the difference of cosines in the loss.
    negatives : int
        Documents d- of each pair, from other training pairs, none of them relevant to the query.
    memory : int
        Steps whose curvature L-BFGS remembers; each takes twice the memory of V.
    epoch : int
        Iterations, each over all pairs, between two validations.
    budget : int
        Maximum number of iterations.
    patience : int
        Validations without improvement before the training ends.
    """

    name: ClassVar[str] = "s2net"
    dimensions: Dimensions = 100
    gamma: Positive = 10.0
    negatives: Tries = 4
    memory: Count = 5
    epoch: Count = 1
    budget: Count = 100
    patience: Count = 5
    validation_queries: Count = 500

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Start from the principal components; train with early stopping."""
        start = Pca(self.view, "separate", self.dimensions).learn(task, rng, options)
        training = Training(self, task, start.arrays["V"], rng, options)
        progress = descend(
            training,
            epoch=self.epoch * training.triples,
            budget=self.budget * training.triples,
            patience=self.patience,
            watch=options.watch,
            checkpoint=options.checkpoint,
        )
        facts = {
            "iterations": progress.best_at // training.triples,
            "triples": progress.triples,
            "seconds": progress.seconds,
            "validation_rank_loss": progress.best,
            "threads": options.threads,
        }
        return replace(training.fitted(), facts=facts)

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of the start, or of the training, whose best state is held once more."""
        words, texts = task.queries.width(self.view), len(task.queries) + len(task.documents)
        V = 4 * self.dimensions * words
        state = (2 * self.memory + 2) * V
        examples = len(task.train) * (1 + self.negatives) * 40
        rows = 4 * self.dimensions * texts * 6
        ranking = ranking_memory(
            task, "valid", queries=self.validation_queries, dense=self.dimensions, nonzeros=0
        )
        training = paired_memory(task, self.view, 4) + 2 * state + 5 * V + examples + rows + ranking
        start = components_memory(task, self.view, self.dimensions)
        return Cost(max(start, training), 4 * state)


class CosineLoss:
    """Mean logistic loss of the triples as a function of V.

    Parameters
    ----------
    paired : Paired
        Texts of the training pairs.
    negatives : int32 array
        (pairs, k): rows of ``paired.documents`` that each pair's document is to be told from.
    gamma : float
        Steepness of the loss.
    threads : int
        The value and the gradient have the same bits with any number.
    """

    def __init__(self, paired: Paired, negatives: Int32, gamma: float, threads: int = 1) -> None:
        self._paired, self._gamma, self._threads = paired, gamma, threads
        self._left = paired.left.astype(np.int32)
        self._right = np.column_stack([paired.right, negatives]).astype(np.int32)
        self._shape = len(paired.query_rows), len(paired.document_rows)
        # Where the slope of each (pair, document) stands in the matrix that has documents as rows.
        self._order = np.argsort(self._right, axis=None, kind="stable")

    @property
    def triples(self) -> int:
        """Number of triples."""
        return int(self._right.size - len(self._right))

    def __call__(self, V: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        """Return the value and the gradient by V, in the precision of V."""
        sides = (
            (self._paired.queries, self._paired.words_of_queries),
            (self._paired.documents, self._paired.words_of_documents),
        )
        rows = [texts @ V for texts, _ in sides]
        lengths = [np.linalg.norm(x, axis=1, keepdims=True) for x in rows]
        units = [
            np.divide(x, length, out=np.zeros_like(x), where=length > 0)
            for x, length in zip(rows, lengths, strict=True)
        ]
        losses, slopes = np.empty(len(self._left)), np.empty(self._right.shape, V.dtype)
        bounds = np.linspace(0, len(self._left), self._threads + 1).astype(int).tolist()

        def part(bound: tuple[int, int]) -> None:
            some = slice(*bound)
            left, right = self._left[some], self._right[some]
            logistic_pairs(units[0], units[1], left, right, self._gamma, losses[some], slopes[some])

        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(part, pairwise(bounds)))
        slopes /= V.dtype.type(self.triples)
        by_query, by_document = self._slopes(slopes)
        gradient = np.zeros_like(V)
        outward = by_query @ units[1], by_document @ units[0]
        for (_, words), ahead, length, by in zip(sides, units, lengths, outward, strict=True):
            across = by - np.sum(by * ahead, axis=1, keepdims=True) * ahead
            gradient += words @ np.divide(across, length, out=np.zeros_like(by), where=length > 0)
        return float(losses.sum()) / self.triples, gradient

    def _slopes(self, slopes: NDArray[Any]) -> tuple[Rows, Rows]:
        """Slopes as matrices: queries as rows, and documents as rows."""
        queries, documents = self._shape
        each = self._right.shape[1]
        ends = np.concatenate([[0], np.cumsum(np.bincount(self._left, minlength=queries))]) * each
        by_query = (slopes.ravel(), self._right.ravel(), ends)
        counts = np.bincount(self._right.ravel(), minlength=documents)
        by_document = (
            slopes.ravel()[self._order],
            self._left[self._order // each],
            np.concatenate([[0], np.cumsum(counts)]),
        )
        return (
            Rows(sparse.csr_array(by_query, shape=(queries, documents)), self._threads),
            Rows(sparse.csr_array(by_document, shape=(documents, queries)), self._threads),
        )


class Training:
    """Iterations of L-BFGS over all triples (a `training.descend.Trainee`)."""

    def __init__(
        self, model: S2Net, task: Task, start: Any, rng: np.random.Generator, options: FitOptions
    ) -> None:
        self._model, self._task = model, task
        self._paired = Paired(task, model.view, np.float32, options.threads)
        negatives = drawn_negatives(task, self._paired, model.negatives, rng)
        loss = CosineLoss(self._paired, negatives, model.gamma, options.threads)
        self.triples = loss.triples
        self._descent = Lbfgs(loss, start[self._paired.words], model.memory)
        judge = options.judge(task, "valid", model.validation_queries)
        self._judge: Callable[[FittedModel], float] = judge.rank_loss

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Live arrays: V, and the state of L-BFGS."""
        return self._descent.arrays

    def fitted(self) -> FittedModel:
        """Return the model as it stands."""
        V: Float32 = self._paired.projection(self._descent.point)
        return fitted(self._model, self._task, {"V": V})

    def reseed(self, triples: int) -> None:
        """Do nothing: what is drawn is drawn before the training."""

    def sweep(self, triples: int) -> Mapping[str, float]:
        """Go over the triples as often as they are in the number; the loss, and evaluations."""
        evaluations = sum(self._descent.step() for _ in range(triples // self.triples))
        return {"train/logistic": self._descent.value, "train/evaluations": float(evaluations)}

    def error(self) -> float:
        """Validation rank loss now."""
        return self._judge(self.fitted())

    def observed(self) -> Mapping[str, float]:
        """Return nothing more."""
        return {}


def drawn_negatives(task: Task, paired: Paired, count: int, rng: np.random.Generator) -> Int32:
    """Draw documents of training pairs for each pair; none that its query may not be told from.

    Raises
    ------
    BadInput
        A query has no such document.
    """
    never = excluded(task)[paired.query_rows][:, paired.document_rows]
    free = never.shape[1] - np.diff(never.indptr)
    if free.min() < 1:
        query = task.queries.ids[int(paired.query_rows[np.argmin(free)])]
        raise BadInput(
            f"task {task.path}: query {query!r} has no document that it could be told from: every "
            "document of a training pair is relevant to it, or excluded."
        )
    never.sort_indices()
    chosen = rng.integers(0, free[paired.left][:, None], (len(paired), count))
    # The r-th document that is allowed comes after r others, and after those that are not allowed.
    rows = np.repeat(np.arange(never.shape[0]), np.diff(never.indptr))
    allowed_before = never.indices - (np.arange(never.nnz) - never.indptr[rows])
    keys = rows * never.shape[1] + allowed_before
    position = np.searchsorted(keys, paired.left[:, None] * never.shape[1] + chosen, side="right")
    return (chosen + position - never.indptr[paired.left][:, None]).astype(np.int32)
