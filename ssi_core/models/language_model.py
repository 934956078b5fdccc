"""Unigram language model with Jelinek-Mercer smoothing (Zhai and Lafferty 2004)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

import numpy as np
from scipy import sparse

from ssi_core.arrays import POSITIVE, ArraySpec, ArraySpecs, Size
from ssi_core.bounds import Count, Mixed, Values
from ssi_core.estimator import Sizes
from ssi_core.models.base import FitOptions, FittedModel, Model, Side, fitted
from ssi_core.scoring.vectors import Inner, Vectors
from ssi_core.types import Float64, Task, TextMatrix, Texts, View
from ssi_core.views.statistics import share_of


@dataclass(frozen=True)
class LanguageModel(Model):
    """Score by the likelihood of the query in a document's mixture with the collection.

    ``ln P(q | d) = sum_i q_i ln((1 - background) d_i / |d| + background p_i)`` with counts
    ``q_i, d_i`` and ``p_i`` the share of word i in all documents. What does not depend on d is left
    out, which changes no ranking, and leaves a sum over the words that both have:

    ``f(q, d) = sum_i q_i ln(1 + (1 - background) / background * d_i / (|d| p_i))``

    A word of the vocabulary that no document has (of a training side, say) is taken as occurring
    once; a query's unknown words are the same for every document.
    """

    name: ClassVar[str] = "language_model"
    counts_queries: ClassVar[bool] = True
    background: Values[Mixed] = (0.5,)
    validation_queries: Count = 500

    def views(self) -> set[str]:
        """Counts."""
        return {"counts"}

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Count the words of the task's documents, and choose the weight of the collection."""
        share = {"share": shares(task.documents.matrix("counts"))}
        variants = list(self.variants(fitted(self, task, share)))
        if len(variants) == 1:
            return variants[0]
        judge = options.judge(task, "valid", self.validation_queries)
        return min(variants, key=judge.rank_loss)

    def variants(self, fitted: FittedModel) -> Iterator[FittedModel]:
        """Yield the model with each weight of the collection."""
        for weight in self.background:
            arrays = {**fitted.arrays, "background": np.array([weight])}
            yield replace(fitted, arrays=arrays, facts={"background": weight})

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the share of each word, and the weight that was chosen."""
        return {
            "share": share_spec(sizes["document counts"]),
            "background": ArraySpec("float64", (1,), least=POSITIVE, most=1),
        }

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Counts of the query; logarithms of the document."""
        counts = texts.matrix("counts")
        if side == "query":
            return Inner(counts, None)
        length = np.asarray(counts.sum(axis=1), np.float64)
        lengths = np.repeat(length, np.diff(counts.indptr))
        background = fitted.arrays["background"][0]
        odds = (1 - background) / background
        data = np.log1p(odds * counts.data / (lengths * fitted.arrays["share"][counts.indices]))
        return Inner(
            sparse.csr_array(
                (data.astype(np.float32), counts.indices, counts.indptr), shape=counts.shape
            ),
            None,
        )

    def sparse_view(self, fitted: FittedModel, side: Side) -> View:
        """Columns are words."""
        return fitted.view("counts", side)


def shares(counts: TextMatrix) -> Float64:
    """Return the share of each word in all texts; a word in no text counts once."""
    return share_of(np.bincount(counts.indices, counts.data, minlength=counts.shape[1]))


def share_spec(words: Size) -> ArraySpec:
    """Declare what `shares` returns."""
    return ArraySpec("float64", (words,), least=POSITIVE, most=1)


WEIGHTS = ArraySpec("float64", (2,), least=(POSITIVE, 0), most=1)
"""Declaration of the weights of `weighed`."""


def weighed(
    fitted: FittedModel, background: Iterable[float], unigram: Iterable[float]
) -> Iterator[FittedModel]:
    """Yield a model with each choice of two weights of a mixture, which it has as an array.

    Parameters
    ----------
    fitted : FittedModel
        A model whose ``arrays["weights"]`` are one of each.
    background : iterable of float
        Weights of the collection.
    unigram : iterable of float
        Weights of the document's own words in the rest.
    """
    for weights in product(background, unigram):
        facts = fitted.facts | dict(zip(("background", "unigram"), weights, strict=True))
        yield replace(fitted, arrays={**fitted.arrays, "weights": np.array(weights)}, facts=facts)
