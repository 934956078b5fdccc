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

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core import files
from ssi_core.arrays import ArraySpec, ArraySpecs
from ssi_core.bounds import Count, Dimensions, Mixed, Prior, Share, Values
from ssi_core.estimator import Sizes
from ssi_core.evaluation.candidates import ranking_memory
from ssi_core.guests.clickthrough.kernels.topics import em_pass, fold_in
from ssi_core.guests.clickthrough.passes import go_over, judge_of
from ssi_core.guests.clickthrough.unseen import Unseen, own_weights
from ssi_core.kernels.sparse import Csr, csr, read_only
from ssi_core.models.base import FitOptions, FittedModel, Judge, Model, Side, fitted
from ssi_core.models.language_model import WEIGHTS, share_spec, shares, weighed
from ssi_core.resources import Cost, memory_available
from ssi_core.scoring.vectors import Inner, Likelihood, Vectors
from ssi_core.types import Float32, Float64, Int32, Int64, Task, TextMatrix, Texts, View

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

    The topic weights of the pairs are in memory where they take at most half of what is free. Else
    they lie in a file, beside the checkpoint or where temporary files lie (``TMPDIR``), and a pass
    waits for the disk. The bits are the same.

    Parameters
    ----------
    texts : str
        Training texts: "pairs" (queries and documents) or "documents".
    projected : bool
        Project the topics of a pair's words so that both texts have the same expected shares. The
        cost grows with the cube of the distinct words of a pair: for titles.
    merged : bool
        Queries and documents share the words of a topic.
    topics : int
        T, the number of topics.
    passes : int
        Passes of EM over the training pairs.
    folding : int
        Passes of EM that give a document its topics.
    alpha, beta : float
        Dirichlet priors, above 1: of topics in a text, and of words in a topic.
    unseen : str
        What a word of a document without training pairs becomes in a query: "nothing", or "itself",
        and the topics explain the other words.
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
    unseen: Unseen = "nothing"
    validation_queries: Count = 500

    def __post_init__(self) -> None:
        """Refuse values that mean nothing together."""
        super().__post_init__()
        if self.texts == "documents" and (self.projected or self.merged):
            raise ValueError("texts='documents' has one text in a pair: not projected, not merged")

    def views(self) -> set[str]:
        """Counts."""
        return {_VIEW}

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Train by EM; the pass and the mixture that are best on validation are kept."""
        judge = judge_of(task, self.validation_queries, options)
        path = options.checkpoint.parent if options.checkpoint else None
        training = Training(self, task, int(rng.integers(2**63)), judge, options.threads, path)
        return go_over(training, training.pairs, self.passes, judge, options)

    def variants(self, fitted: FittedModel) -> Iterator[FittedModel]:
        """Yield the model with each choice of the weights of the mixture."""
        return weighed(fitted, self.background, self.unigram)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the words of the topics on either side, the shares and the weights."""
        queries, documents = (sizes[f"{side} {_VIEW}"] for side in ("query", "document"))
        return {
            "topics": ArraySpec("float32", (queries, self.topics), least=0),
            "words": ArraySpec("float32", (documents, self.topics), least=0, most=1),
            "share": share_spec(documents),
            "weights": WEIGHTS,
        }

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Counts and topics of words; own words and topic weights of documents."""
        counts, arrays = texts.matrix(_VIEW), fitted.arrays
        if side == "query":
            return Likelihood(counts, topics=np.asarray(arrays["topics"]))
        background, unigram = arrays["weights"].tolist()
        odds = (1 - background) / background
        seen = self._seen(fitted, counts)
        theta = self._folded(fitted, counts, seen)
        theta *= np.float32((1 - unigram) * odds)
        if not unigram and self.unseen == "nothing":
            return Inner(None, theta)
        share = odds / arrays["share"][counts.indices] * own_weights(seen, unigram, self.unseen)
        length = np.asarray(counts.sum(axis=1), np.float64)
        data = counts.data * share / np.repeat(length, np.diff(counts.indptr))
        rows = (data.astype(np.float32), counts.indices, counts.indptr)
        return Inner(sparse.csr_array(rows, shape=counts.shape), theta)

    def _seen(self, fitted: FittedModel, counts: TextMatrix) -> NDArray[np.bool_]:
        """Tell which words of texts the topics explain: all that have a chance in them."""
        return np.asarray(fitted.arrays["words"][counts.indices, 0] > 0)

    def _folded(self, fitted: FittedModel, counts: TextMatrix, seen: NDArray[np.bool_]) -> Float32:
        """Return the topic weights of texts, whose sum is the share of the words that are seen."""
        words = read_only(fitted.arrays["words"])
        theta = np.empty((counts.shape[0], words.shape[1]), np.float32)
        starts = np.concatenate([[0], np.cumsum(seen)])[counts.indptr]
        rows = (counts.data[seen], counts.indices[seen], starts)
        known = sparse.csr_array(rows, shape=counts.shape)
        fold_in(csr(known), words, self.alpha, self.folding, theta)
        if not seen.all():
            theta *= (known.sum(axis=1) / np.maximum(counts.sum(axis=1), 1))[:, None]
        return theta

    def sparse_view(self, fitted: FittedModel, side: Side) -> View:
        """Columns are words."""
        return fitted.view(_VIEW, side)

    def topic_words(self, fitted: FittedModel, texts: Texts) -> tuple[TextMatrix, Float32]:
        """Share the topic weights of a document among its words, by their posteriors (5)."""
        counts, (background, unigram) = texts.matrix(_VIEW), fitted.arrays["weights"]
        seen = self._seen(fitted, counts)
        joint = fitted.arrays["words"][counts.indices] * self._folded(fitted, counts, seen)
        joint *= (counts.data / np.where(seen, joint.sum(axis=1), 1))[:, None]
        known = counts.data[seen].sum()
        joint *= np.float32((1 - unigram) * (1 - background) / background)
        joint *= known / max(counts.data.sum(), 1)
        return counts, joint / (known + joint.shape[1] * (self.alpha - 1))

    def vector_shape(self, task: Task) -> tuple[int, int]:
        """Return the number of topics, and the words of the documents."""
        return self.topics, int(task.documents.matrix(_VIEW).nnz)

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost: topics of words, four times, and sums for each thread; topics of pairs.

        A checkpoint has the topics of the pairs once, and those of the words twice; the next one is
        whole before the last one goes.
        """
        words = 2 * task.queries.width(_VIEW) * self.topics
        pairs = 4 * self.topics * len(task.train)
        ranking = ranking_memory(
            task, "valid", queries=self.validation_queries, dense=self.topics, nonzeros=0
        )
        held, mapped = (pairs, 0) if _has_room(pairs) else (0, pairs)
        memory = 16 * words + 8 * words * threads + held + ranking
        return Cost(memory, 2 * (8 * words + pairs) + mapped)


class Training:
    """Passes of EM over the training pairs (a `training.descend.Trainee`)."""

    def __init__(
        self,
        model: TopicModel,
        task: Task,
        seed: int,
        judge: Judge,
        threads: int,
        path: Path | None = None,
    ) -> None:
        self._model, self._task, self._judge, self._threads = model, task, judge, threads
        self._rows, self._left = _texts_of(model, task)
        self._right = csr(task.documents.matrix(_VIEW))
        self._share = shares(task.documents.matrix(_VIEW))
        self._seen = _seen(model, task, self._rows)
        rng, width = np.random.default_rng(seed), task.queries.width(_VIEW)
        self._passes = np.zeros(1, np.int64)
        self._theta = _rows((len(self._rows), model.topics), path)
        self._theta[:] = 1 / model.topics
        # From equal words EM would never leave them.
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
            counts = parts[0][1][n]
            for _, sums, _ in parts[1:]:
                counts += sums[n]
            counts += self._model.beta - 1
            counts /= counts.sum(axis=0)
            one[:] = counts
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
        """Return the objective of some pairs, the counts of their words, and the evaluations."""
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

    def fitted(self) -> FittedModel:
        """Return the model as it stands, with the first weights of the mixture."""
        words = self._documents.copy()
        if self._model.unseen == "itself":
            words[~self._seen] = 0
        arrays: dict[str, NDArray[Any]] = {
            "topics": (self._queries / self._share[:, None]).astype(np.float32),
            "words": words,
            "share": self._share,
            "weights": np.array([self._model.background[0], self._model.unigram[0]]),
        }
        return fitted(self._model, self._task, arrays)

    def error(self) -> float:
        """Validation rank loss now, with the first weights of the mixture; 1 for the noise."""
        return self._judge.rank_loss(self.fitted()) if self._passes else 1.0

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


def _seen(model: TopicModel, task: Task, rows: Int32) -> NDArray[np.bool_]:
    """Tell which words the texts have from which the words of documents in topics are learnt."""
    seen = np.zeros(task.documents.width(_VIEW), bool)
    seen[task.documents.matrix(_VIEW)[np.unique(rows[:, 1])].indices] = True
    if model.merged:
        seen[task.queries.matrix(_VIEW)[np.unique(rows[:, 0])].indices] = True
    return seen


def _has_room(size: int) -> bool:
    """Tell whether the topic weights of the pairs are held in memory."""
    return size <= memory_available() // 2


def _rows(shape: tuple[int, int], path: Path | None) -> Float32:
    """Make a matrix: in memory, or in a file that has no name and goes with the process."""
    size = 4 * shape[0] * shape[1]
    if _has_room(size):
        return np.empty(shape, np.float32)
    directory = path or Path(gettempdir())
    directory.mkdir(parents=True, exist_ok=True)
    with files.writing(directory), TemporaryFile(dir=directory) as file:
        # A full disk is found here, and not by a write into the mapping.
        os.posix_fallocate(file.fileno(), 0, size)
        return np.asarray(np.memmap(file, np.float32, "r+", shape=shape))


def _noise(rng: np.random.Generator, words: int, topics: int) -> Float32:
    """Nearly equal chances of words in each topic."""
    chances = rng.uniform(0.5, 1.5, (words, topics)).astype(np.float32)
    chances /= chances.sum(axis=0)
    return chances
