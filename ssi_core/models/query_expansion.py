"""Query expansion, or blind relevance feedback (journal paper, section 4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.arrays import CSR_PARTS, ArraySpec, ArraySpecs, csr_specs
from ssi_core.bounds import Count, Tries, Values, Weight
from ssi_core.estimator import Sizes
from ssi_core.kernels.ranking.best import top_k
from ssi_core.models.base import FitOptions, FittedModel, Model, Side, fitted
from ssi_core.scoring.scorer import Scorer
from ssi_core.scoring.vectors import Inner, Vectors
from ssi_core.types import Task, TextMatrix, Texts, View

_BLOCK = 128  # queries scored against the whole collection at a time


@dataclass(frozen=True)
class QueryExpansion(Model):
    """``f(q, d) = (q + beta / E sum_i d_{r_i})' d``, the sum over the top E documents for q.

    The print lacks the 1/E of its mean. Only documents that share a word with q are averaged; a
    query that is itself a document of the collection is not among its own top documents. beta and
    E have the lowest rank loss on training pairs. The collection is part of the model: expansion
    needs it.

    Parameters
    ----------
    expansions : list of int
        Values of E to choose from.
    betas : list of float
        Values of beta to choose from.
    """

    name: ClassVar[str] = "query_expansion"
    view: str = "raw"
    expansions: Values[Tries] = (5, 10, 20)
    betas: Values[Weight] = (0.1, 0.3, 1.0)
    tuning_queries: Count = 300

    def views(self) -> set[str]:
        """Return the one view that the model reads."""
        return {self.view}

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Try every (E, beta) on training pairs; scores are linear in beta: only E costs."""
        collection = task.documents.matrix(self.view)
        arrays = {
            "indptr": np.asarray(collection.indptr),
            "indices": np.asarray(collection.indices),
            "data": np.asarray(collection.data),
            "ids": np.array(task.documents.ids.to_list(), dtype=np.str_),
        }
        validator = options.judge(task, "train", self.tuning_queries, threads=1)
        plain = validator.scores(_with(self, task, arrays, 0, 0.0))
        losses: dict[tuple[int, float], float] = {(0, 0.0): validator.rank_loss_of(plain)}
        for expansion in self.expansions:
            added = validator.scores(_with(self, task, arrays, expansion, 1.0)) - plain
            for beta in self.betas:
                loss = validator.rank_loss_of(plain + np.float32(beta) * added)
                losses[expansion, beta] = loss
        expansion, beta = min(losses, key=losses.__getitem__)
        facts = {
            "expansion": expansion,
            "beta": beta,
            "training_rank_loss": losses[expansion, beta],
        }
        return replace(_with(self, task, arrays, expansion, beta), facts=facts)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the collection, its ids, and what was chosen."""
        return {
            **csr_specs(
                "documents",
                sizes[f"document {self.view}"],
                CSR_PARTS,
                "float32",
            ),
            "ids": ArraySpec("str", ("documents",)),
            "expansion": ArraySpec("int64", (1,), least=0, most=max(self.expansions)),
            "beta": ArraySpec("float32", (1,), least=0, most=max(self.betas)),
        }

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Queries with the mean of their top documents added; documents as they are."""
        queries = texts.matrix(self.view)
        expansion, beta = int(fitted.arrays["expansion"][0]), fitted.arrays["beta"][0]
        if side == "document" or expansion == 0 or beta == 0:
            return Inner(queries, None)
        collection = _collection(fitted, queries.shape[1])
        rows = {document: row for row, document in enumerate(fitted.arrays["ids"].tolist())}
        itself = np.array([rows.get(query, -1) for query in texts.ids.to_list()])
        top = top_documents(queries, collection, itself, expansion)
        expanded = sparse.csr_array(queries + beta * _mean(top) @ collection, dtype=np.float32)
        expanded.sort_indices()
        return Inner(expanded, None)

    def sparse_view(self, fitted: FittedModel, side: Side) -> View:
        """Columns are words; the query's are those of the expanded query."""
        return fitted.view(self.view, side)


def top_documents(
    queries: TextMatrix, collection: Any, itself: NDArray[Any], count: int
) -> TextMatrix:
    """Find the best documents for each query by inner product.

    Parameters
    ----------
    collection : CSR or CSC (documents, words)
        Weights of the documents' words.
    itself : int array
        Row of the document that a query is, which is left out; -1: it is none.

    Returns
    -------
    CSR float32 (queries, documents)
        Scores: at most ``count`` a row, all positive, the highest first.
    """
    scorer = Scorer(Inner(collection, None))
    top = np.empty((queries.shape[0], count), np.int32)
    value = np.empty(top.shape, np.float32)
    for low in range(0, queries.shape[0], _BLOCK):
        block = slice(low, low + _BLOCK)
        scores = scorer.score(Inner(queries[block], None))
        for i, row in enumerate(itself[block]):
            if row >= 0:
                scores[i, row] = -np.inf
        top_k(scores, top[block], value[block])
    matched = value > 0
    ends = np.concatenate([[0], np.cumsum(matched.sum(axis=1))])
    return sparse.csr_array(
        (value[matched], top[matched], ends), shape=(queries.shape[0], collection.shape[0])
    )


def _mean(top: TextMatrix) -> TextMatrix:
    """Weights that average the documents found for each query."""
    lengths = np.diff(top.indptr)
    data = np.repeat(1 / np.maximum(lengths, 1), lengths).astype(np.float32)
    return sparse.csr_array((data, top.indices, top.indptr), shape=top.shape)


def _with(
    model: QueryExpansion, task: Task, arrays: dict[str, np.ndarray], expansion: int, beta: float
) -> FittedModel:
    chosen = {"expansion": np.array([expansion]), "beta": np.array([beta], np.float32)}
    return fitted(model, task, arrays | chosen)


def _collection(fitted: FittedModel, words: int) -> TextMatrix:
    parts = tuple(fitted.arrays[name] for name in ("data", "indices", "indptr"))
    return sparse.csr_array(parts, shape=(len(parts[2]) - 1, words), copy=False)
