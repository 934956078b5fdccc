"""Translation of words: IBM model 1 from documents to their queries.

Gao, Toutanova and Yih (2011), "Clickthrough-based latent semantic models for web search", (1) and
section 5.2, WTM_M1. A word w of a document is translated into a word i of a query with the chance
``t(i | w)``, learnt by EM from training pairs. A document is ranked by the likelihood of a query::

    P(q | d) = prod_i (background p_i + (1 - background) (unigram d_i / |d| + (1 - unigram)
               sum_w t(i | w) d_w / |d|)) ^ q_i

with counts ``q_i, d_i`` and the share ``p_i`` of word i in all documents. The score is its
logarithm, without what is the same for all documents: an inner product with the query's counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.arrays import ArraySpecs, csr_specs
from ssi_core.bounds import Count, Mixed, Share, Values
from ssi_core.estimator import Sizes
from ssi_core.evaluation.candidates import ranking_memory
from ssi_core.guests.clickthrough.kernels.translation import likelihoods, translate
from ssi_core.guests.clickthrough.passes import go_over, judge_of
from ssi_core.guests.clickthrough.unseen import Unseen, own_weights
from ssi_core.kernels.sparse import csr
from ssi_core.models.base import FitOptions, FittedModel, Judge, Model, Side, fitted
from ssi_core.models.language_model import WEIGHTS, share_spec, shares, weighed
from ssi_core.resources import Cost
from ssi_core.scoring.vectors import Inner, Vectors
from ssi_core.types import Float64, Int32, Int64, Task, TextMatrix, Texts, View

_VIEW = "counts"


@dataclass(frozen=True)
class TranslationModel(Model):
    """Rank by the likelihood of the query, its words translated from those of the document.

    Each training pair counts once, and a word of a document can only be translated into words of
    its queries. There is no empty word, whose part the collection has, and no weight of a word's
    translation into itself: to give it to all words is the same as to raise ``unigram``.

    A document's vector has every translation of every word of it, thousands for a long text: the
    model is made for titles. ``least`` leaves rare translations out.

    Parameters
    ----------
    passes : int
        Passes of EM over the training pairs; validation chooses the one to keep, then the two
        weights of the mixture.
    least : float
        Translations with a smaller probability are left out of the model; 0: none.
    unseen : str
        What a word of a document without translations is translated into: "nothing" or "itself".
    """

    name: ClassVar[str] = "translation_model"
    counts_queries: ClassVar[bool] = True
    earlier: ClassVar[Mapping[str, Any]] = {"unseen": "itself"}
    passes: Count = 20
    least: Share = 0.0001
    background: Values[Mixed] = (0.5,)
    unigram: Values[Share] = (0.0, 0.2, 0.4, 0.6, 0.8)
    unseen: Unseen = "nothing"
    validation_queries: Count = 500

    def views(self) -> set[str]:
        """Counts."""
        return {_VIEW}

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Train by EM; the pass and the mixture that are best on validation are kept."""
        judge = judge_of(task, self.validation_queries, options)
        training = Training(self, task, judge, options.threads)
        return go_over(training, len(task.train), self.passes, judge, options)

    def variants(self, fitted: FittedModel) -> Iterator[FittedModel]:
        """Yield the model with each choice of the weights of the mixture.

        Until the last one is asked for, texts that come again are translated once.
        """
        with _translated_once(fitted.arrays["chances"]):
            yield from weighed(fitted, self.background, self.unigram)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the table of translations, the shares and the weights."""
        words = sizes[f"document {_VIEW}"]
        return {
            **csr_specs(words, words, ("starts", "words", "chances"), "float32|float64"),
            "share": share_spec(words),
            "weights": WEIGHTS,
        }

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Counts of the query; logarithms of the chances of words of the document."""
        counts, arrays = texts.matrix(_VIEW), fitted.arrays
        if side == "query":
            return Inner(counts, None)
        background, unigram = arrays["weights"].tolist()
        length = np.repeat(np.asarray(counts.sum(axis=1)), np.diff(counts.indptr))
        shape, pattern = counts.shape, (counts.indices, counts.indptr)
        rows = sparse.csr_array((counts.data / length, *pattern), shape)
        starts = np.asarray(arrays["starts"])
        table = sparse.csr_array((arrays["chances"], arrays["words"], starts), 2 * shape[1:])
        itself = own_weights(np.diff(starts)[counts.indices] > 0, unigram, self.unseen)
        mixed = sparse.csr_array((itself * rows.data, *pattern), shape)
        if unigram < 1:
            # A sum has no entry that is zero.
            mixed += (1 - unigram) * _translated(arrays["chances"], rows, table)
            mixed.sort_indices()
        odds = (1 - background) / background / arrays["share"]
        data = np.log1p(odds[mixed.indices] * mixed.data).astype(np.float32)
        return Inner(sparse.csr_array((data, mixed.indices, mixed.indptr), shape), None)

    def sources(self, fitted: FittedModel, texts: Texts) -> tuple[Int32, TextMatrix]:
        """Return how much of the chance of each word comes from each word of one document."""
        counts, unigram = texts.matrix(_VIEW), float(fitted.arrays["weights"][1])
        starts = np.asarray(fitted.arrays["starts"])
        table = sparse.csr_array(
            (fitted.arrays["chances"], fitted.arrays["words"], starts), 2 * counts.shape[1:]
        )
        words, n = counts.indices, counts.nnz
        itself = own_weights(np.diff(starts)[words] > 0, unigram, self.unseen)
        kept = sparse.csr_array((itself, (np.arange(n), words)), (n, counts.shape[1]))
        parts = sparse.csr_array(kept + (1 - unigram) * table[words])
        parts = sparse.csr_array(sparse.diags_array(counts.data) @ parts)
        totals: Float64 = np.asarray(parts.sum(axis=0))
        parts.data = parts.data / totals[parts.indices]
        return words, parts

    def sparse_view(self, fitted: FittedModel, side: Side) -> View:
        """Columns are words; those of a document are what it is translated into."""
        return fitted.view(_VIEW, side)

    def vector_shape(self, task: Task) -> tuple[int, int]:
        """Return 0, and the words that the documents are translated into, all kept."""
        counts = task.documents.matrix(_VIEW)
        each = np.bincount(
            np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr)),
            1 + _translations(task)[counts.indices],
            minlength=counts.shape[0],
        )
        return 0, int(np.minimum(each, counts.shape[1]).sum())

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost at most, where all translations are kept.

        The table is held as it is trained, as the best so far and as it ranks, and the pairs by
        document and by word. A checkpoint has the first two chances of each translation; the next
        one is whole before the last one goes. What the words of documents are translated into is
        kept while the weights are chosen.
        """
        entries = int(_translations(task).sum())
        pairs = int(np.diff(task.queries.matrix(_VIEW).indptr)[task.train.rows[:, 0]].sum())
        texts = 16 * pairs + 16 * task.documents.matrix(_VIEW).nnz
        ranking = ranking_memory(
            task,
            "valid",
            queries=self.validation_queries,
            dense=0,
            nonzeros=self.vector_shape(task)[1],
        )
        scratch = 12 * threads * task.queries.width(_VIEW)
        kept = 12 * self.vector_shape(task)[1]
        return Cost(20 * entries + texts + scratch + ranking + kept, 16 * entries)


class Training:
    """Passes of EM over the training pairs (a `training.descend.Trainee`).

    The queries of a document are taken together, which is the same sum. Each thread sums what
    belongs to documents, then to words, of its own: the number of threads changes no bit.
    """

    def __init__(self, model: TranslationModel, task: Task, judge: Judge, threads: int) -> None:
        self._model, self._task, self._judge, self._threads = model, task, judge, threads
        self._share = shares(task.documents.matrix(_VIEW))
        rows, queries = task.train.rows, task.queries.matrix(_VIEW)
        documents, positions = np.unique(rows[:, 1], return_inverse=True)
        clicked = sparse.csr_array(
            (np.ones(len(rows), np.float32), (positions, rows[:, 0])),
            (len(documents), queries.shape[0]),
        )
        counts = task.documents.matrix(_VIEW)[documents]
        targets, by_word = clicked @ queries, counts.T.tocsr()
        lengths = np.maximum(counts.sum(axis=1), 1)
        self._lengths = np.repeat(lengths, np.diff(targets.indptr))
        self._targets, self._postings = csr(targets), csr(by_word)
        table = by_word @ targets
        self._table = table.indptr.astype(np.int64), table.indices, table.data
        self._passes = np.zeros(1, np.int64)
        self._width = queries.shape[1]
        table.data[:] = 1 / self._width
        work = np.diff(targets.indptr)[by_word.indices]
        self._work = np.concatenate([[0], np.cumsum(work)])[by_word.indptr]

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Live arrays: the table of translations."""
        return {"chances": self._table[2], "passes": self._passes}

    def reseed(self, triples: int) -> None:
        """Do nothing: nothing is drawn."""

    def sweep(self, triples: int) -> Mapping[str, float]:
        """Go over all pairs once; their log-likelihood before."""
        self._passes += 1
        sums = np.empty(len(self._targets.indices))
        self._each(likelihoods, self._targets.indptr, sums)
        sums[sums == 0] = 1  # of a document without words
        ratios = self._targets.data / sums
        self._each(translate, self._work, ratios)
        likelihood = float((self._targets.data * np.log(sums / self._lengths)).sum())
        return {"train/objective": likelihood / len(self._task.train)}

    def _each(self, kernel: Callable[..., None], work: Int64, sums: Float64) -> None:
        """Run a kernel on parts of about the same work, one for each thread."""
        cuts = np.searchsorted(work, np.linspace(0, work[-1], self._threads + 1))
        cuts[-1] = len(work) - 1
        data = self._table, tuple(self._postings), tuple(self._targets)
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(lambda part: kernel(*data, *part, self._width, sums), pairwise(cuts)))

    def fitted(self) -> FittedModel:
        """Return the model as it stands, with the first weights of the mixture."""
        starts, words, chances = self._table
        kept = chances >= self._model.least
        arrays: dict[str, NDArray[Any]] = {
            "starts": np.concatenate([[0], np.cumsum(kept)])[starts],
            "words": words[kept],
            "chances": chances[kept],
            "share": self._share,
            "weights": np.array([self._model.background[0], self._model.unigram[0]]),
        }
        return fitted(self._model, self._task, arrays, {"translations": len(arrays["chances"])})

    def error(self) -> float:
        """Validation rank loss now, with the first weights of the mixture; 1 for the start."""
        return self._judge.rank_loss(self.fitted()) if self._passes else 1.0

    def observed(self) -> Mapping[str, float]:
        """Return nothing more."""
        return {}


class _Translated:
    """What words of texts are translated into by one table; weights do not change it."""

    def __init__(self, chances: NDArray[Any]) -> None:
        self.chances = chances
        self._last: tuple[tuple[NDArray[Any], ...], TextMatrix] | None = None

    def __call__(self, rows: TextMatrix, table: TextMatrix) -> TextMatrix:
        """Return the product, that of the call before where the rows are the same."""
        last, parts = self._last, (rows.indptr, rows.indices, rows.data)
        if last is None or not all(map(np.array_equal, last[0], parts)):
            product = rows @ table
            product.sort_indices()
            last = self._last = parts, product
        return last[1]


_ONCE: list[_Translated] = []
"""Tables whose variants are being asked for."""


@contextmanager
def _translated_once(chances: NDArray[Any]) -> Iterator[None]:
    """Keep what one table translates texts into, for the length of a block."""
    kept = _Translated(chances)
    _ONCE.append(kept)
    try:
        yield
    finally:
        _ONCE.remove(kept)


def _translated(chances: NDArray[Any], rows: TextMatrix, table: TextMatrix) -> TextMatrix:
    """Return the words of texts times the table, computed once in a block that keeps it."""
    of_table = (one for one in tuple(_ONCE) if one.chances is chances)
    return next(of_table, _Translated(chances))(rows, table)


def _translations(task: Task) -> Float64:
    """Return how many words at most each word of documents is translated into."""
    queries, documents = task.queries.matrix(_VIEW), task.documents.matrix(_VIEW)
    rows, lengths = task.train.rows, np.diff(queries.indptr)
    met = np.bincount(rows[:, 1], lengths[rows[:, 0]], minlength=documents.shape[0])
    each = np.repeat(met, np.diff(documents.indptr))
    words = np.bincount(documents.indices, each, minlength=documents.shape[1])
    return np.minimum(words, queries.shape[1])
