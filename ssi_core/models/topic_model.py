"""Topics of pairs of texts: PLSA, the bilingual topic model, and its posterior regularisation.

Gao, Toutanova and Yih (2011), "Clickthrough-based latent semantic models for web search", (2)-(17).
A query and its document share the topic weights theta; each topic z has words of queries and words
of documents. A document is ranked by the likelihood of the query::

    P(q | d) = prod_i (background p_i + (1 - background) (unigram d_i / |d| + (1 - unigram)
               sum_z phi_iz theta_dz)) ^ q_i

with counts ``q_i, d_i``, the share ``p_i`` of word i in all documents, and theta of a document by
EM with the words of the topics held fixed. The score is its logarithm, without what is the same for
all documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.evaluation.evaluate import Validator
from ssi_core.evaluation.memory import ranking_memory
from ssi_core.kernels.sparse import Csr, csr
from ssi_core.kernels.structs import read_only
from ssi_core.kernels.topics import em_pass, fold_in
from ssi_core.models.base import Course, FittedModel, Model, Side, fitted
from ssi_core.models.bounds import Count, Dimensions, Mixed, Prior, Share, Values
from ssi_core.models.language_model import shares
from ssi_core.models.trained import same_space
from ssi_core.resources import Cost
from ssi_core.training.descend import descend
from ssi_core.types import (
    BadInput,
    Float32,
    Float64,
    Int32,
    Int64,
    Task,
    TextMatrix,
    Texts,
    Vectors,
    View,
)

_VIEW = "counts"


@dataclass(frozen=True)
class TopicModel(Model):
    """Rank by the likelihood of the query, its words drawn from the topics of the document.

    ============  ==========================================================
    PLSA          texts "documents"
    BLTM          texts "pairs"
    BLTM-PR       texts "pairs", projected
    BLTM-PR-1V    texts "pairs", projected, merged
    ============  ==========================================================

    Each training pair counts once. Training goes over all pairs ``passes`` times; the pass with the
    lowest rank loss on validation is kept, and then the two weights of the mixture with the lowest.

    Parameters
    ----------
    texts : str
        "pairs": queries and documents of the training pairs; "documents": the documents alone.
    projected : bool
        Project the topics of each pair's words so that both texts have the same expected shares.
        Its cost grows with the cube of the distinct words of a pair: for titles.
    merged : bool
        Queries and documents have the same words in a topic.
    topics : int
        T, the number of topics.
    passes : int
        Passes of EM over the training pairs.
    folding : int
        Passes of EM that give a document its topics.
    alpha, beta : float
        Dirichlet priors of topics in a text, and of words in a topic, above 1.
    background : list of float
        Weights of the collection, lambda_1; the best on validation is taken.
    unigram : list of float
        Weights of the document's own words, lambda_2; 0: topics alone.
    validation_queries : int
        Queries of the rank loss on validation.
    """

    name: ClassVar[str] = "topic_model"
    texts: Literal["pairs", "documents"] = "pairs"
    projected: bool = False
    merged: bool = False
    topics: Dimensions = 100
    passes: Count = 20
    folding: Count = 20
    alpha: Prior = 1.1
    beta: Prior = 1.01
    background: Values[Mixed] = (0.5,)
    unigram: Values[Share] = (0.0, 0.2, 0.4, 0.6, 0.8)
    validation_queries: Count = 500

    def __post_init__(self) -> None:
        """Refuse values that mean nothing together."""
        super().__post_init__()
        if self.texts == "documents" and (self.projected or self.merged):
            raise ValueError("texts='documents' has one text in a pair: not projected, not merged")

    def views(self) -> set[str]:
        """Counts."""
        return {_VIEW}

    def learn(self, task: Task, rng: np.random.Generator, course: Course) -> FittedModel:
        """Train by EM; the pass and the mixture that are best on validation are kept."""
        if len(task.train) == 0:
            raise BadInput(f"task {task.path}: no training pair; nothing can be learnt from it.")
        same_space(task, _VIEW, "the words of queries and documents")
        judge = Validator(task, "valid", self.validation_queries, threads=course.threads)
        training = Training(self, task, int(rng.integers(2**63)), judge, course.threads)
        progress = descend(
            training,
            epoch=training.pairs,
            budget=self.passes * training.pairs,
            patience=self.passes,
            watch=course.watch,
            checkpoint=course.checkpoint,
        )
        losses = {
            weights: judge.rank_loss(training.fitted(*weights))
            for weights in product(self.background, self.unigram)
        }
        chosen = min(losses, key=losses.__getitem__)
        facts = {
            "background": chosen[0],
            "unigram": chosen[1],
            "passes": progress.best_at // training.pairs,
            "pairs": training.pairs,
            "seconds": progress.seconds,
            "validation_rank_loss": losses[chosen],
            "threads": course.threads,
        }
        return replace(training.fitted(*chosen), facts=facts)

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Counts and topics of words; own words and topic weights of documents."""
        counts, arrays = texts.matrix(_VIEW), fitted.arrays
        if side == "query":
            return Vectors(counts, None, topics=np.asarray(arrays["topics"]))
        theta = np.empty((counts.shape[0], arrays["words"].shape[1]), np.float32)
        fold_in(csr(counts), read_only(arrays["words"]), self.alpha, self.folding, theta)
        odds = arrays["odds"]
        if not odds.any():
            return Vectors(None, theta)
        length = np.asarray(counts.sum(axis=1), np.float64)
        data = counts.data * odds[counts.indices] / np.repeat(length, np.diff(counts.indptr))
        rows = (data.astype(np.float32), counts.indices, counts.indptr)
        return Vectors(sparse.csr_array(rows, shape=counts.shape), theta)

    def sparse_view(self, fitted: FittedModel, side: Side) -> View:
        """Columns are words."""
        return fitted.view(_VIEW, side)

    def topic_words(self, fitted: FittedModel, texts: Texts) -> tuple[TextMatrix, Float32]:
        """Share the topic weights of a document among its words, by their posteriors (5)."""
        counts, theta = texts.matrix(_VIEW), self.vectors(fitted, texts, "document").dense
        joint = fitted.arrays["words"][counts.indices] * theta
        joint *= (counts.data / joint.sum(axis=1))[:, None]
        return counts, joint / (counts.data.sum() + joint.shape[1] * (self.alpha - 1))

    def vector_shape(self, task: Task) -> tuple[int, int]:
        """Return the number of topics, and the words of the documents."""
        return self.topics, int(task.documents.matrix(_VIEW).nnz)

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost: topics of pairs and words, held twice, and sums for each thread."""
        words = 2 * task.queries.width(_VIEW) * self.topics
        pairs = 4 * self.topics * len(task.train)
        ranking = ranking_memory(
            task, "valid", queries=self.validation_queries, dense=self.topics, nonzeros=0
        )
        return Cost(2 * (4 * words + pairs) + 8 * words * threads + ranking, 8 * words + 2 * pairs)


class Training:
    """Passes of EM over the training pairs (a `training.descend.Trainee`)."""

    def __init__(
        self, model: TopicModel, task: Task, seed: int, judge: Validator, threads: int
    ) -> None:
        self._model, self._task, self._judge, self._threads = model, task, judge, threads
        self._rows, self._left = _texts_of(model, task)
        self._right = csr(task.documents.matrix(_VIEW))
        self._share = shares(task.documents.matrix(_VIEW))
        rng, width = np.random.default_rng(seed), task.queries.width(_VIEW)
        self._passes = np.zeros(1, np.int64)
        # From equal weights EM would never leave them.
        self._theta = np.full((len(self._rows), model.topics), 1 / model.topics, np.float32)
        self._documents = _noise(rng, width, model.topics)
        one = model.merged or model.texts == "documents"
        self._queries = self._documents if one else _noise(rng, width, model.topics)

    @property
    def pairs(self) -> int:
        """Number of pairs in a pass."""
        return len(self._rows)

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Live arrays: the topics of the pairs, and the words of the topics."""
        arrays: dict[str, NDArray[Any]] = {
            "theta": self._theta,
            "documents": self._documents,
            "passes": self._passes,
        }
        return arrays if self._queries is self._documents else arrays | {"queries": self._queries}

    def reseed(self, triples: int) -> None:
        """Do nothing: after the start nothing is drawn."""

    def sweep(self, triples: int) -> Mapping[str, float]:
        """Go over all pairs once; the objective before, and what the projection cost."""
        phi = self._queries, self._documents
        self._passes += 1
        prior = (self._model.beta - 1) * sum(
            float(np.log(one, dtype=np.float64).sum()) for one in self._distinct()
        )
        bounds = np.linspace(0, self.pairs, self._threads + 1).astype(int).tolist()
        with ThreadPoolExecutor(self._threads) as pool:
            parts = list(pool.map(lambda part: self._part(phi, *part), pairwise(bounds)))
        for n, one in enumerate(self._distinct()):
            counts = self._model.beta - 1 + np.sum([sums[n] for _, sums, _ in parts], axis=0)
            one[:] = counts / counts.sum(axis=0)
        objective = prior + sum(value for value, _, _ in parts)
        metrics = {"train/objective": objective / self.pairs}
        if self._model.projected:
            evaluations = np.sum([counted for _, _, counted in parts], axis=0) / self.pairs
            names = ("train/evaluations", "train/gradients")
            metrics |= dict(zip(names, evaluations.tolist(), strict=True))
        return metrics

    def _part(
        self, phi: tuple[Float32, Float32], first: int, last: int
    ) -> tuple[float, list[Float64], Int64]:
        """Do a part of the pairs: its objective, the counts of words, evaluations."""
        sums = [np.zeros(one.shape) for one in self._distinct()]
        evaluations = np.zeros(2, np.int64)
        likelihood, prior = em_pass(
            self._left,
            self._right,
            read_only(self._rows[first:last]),
            self._theta[first:last],
            phi,
            (sums[-1], sums[0]),
            self._model.alpha,
            self._model.projected,
            evaluations,
        )
        return likelihood + prior, sums, evaluations

    def _distinct(self) -> list[Float32]:
        one = self._queries is self._documents
        return [self._documents] if one else [self._documents, self._queries]

    def fitted(self, background: float, unigram: float) -> FittedModel:
        """Return the model as it stands, with weights of the mixture."""
        odds = (1 - background) / background / self._share
        arrays: dict[str, NDArray[Any]] = {
            "topics": ((1 - unigram) * odds[:, None] * self._queries).astype(np.float32),
            "words": self._documents.copy(),
            "odds": unigram * odds,
        }
        return fitted(self._model, self._task, arrays)

    def error(self) -> float:
        """Validation rank loss now, with the first weights of the mixture; 1 for the noise."""
        if not self._passes:
            return 1.0
        model = self._model
        return self._judge.rank_loss(self.fitted(model.background[0], model.unigram[0]))

    def observed(self) -> Mapping[str, float]:
        """Return nothing more."""
        return {}


def _texts_of(model: TopicModel, task: Task) -> tuple[Int32, Csr]:
    """Return the pairs of rows, and the texts of their left side."""
    if model.texts == "pairs":
        return task.train.rows, csr(task.queries.matrix(_VIEW))
    documents = np.unique(task.train.rows[:, 1])
    nothing = sparse.csr_array((1, task.documents.width(_VIEW)), dtype=np.float32)
    return np.stack([np.zeros_like(documents), documents], axis=1), csr(nothing)


def _noise(rng: np.random.Generator, words: int, topics: int) -> Float32:
    """Nearly equal chances of words in each topic."""
    chances = rng.uniform(0.5, 1.5, (words, topics)).astype(np.float32)
    chances /= chances.sum(axis=0)
    return chances
