"""Models that learn no weights of words from pairs: what every training has to be better than."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ssi_core.models.base import Course, FittedModel, Model, fitted
from ssi_core.models.bm25 import Bm25
from ssi_core.models.cl_lsi import ClLsi, factored
from ssi_core.models.halves import Halves
from ssi_core.models.lsi import Lsi, LsiMixture
from ssi_core.models.svd import leading_vectors
from ssi_core.models.tfidf import TfIdf
from ssi_core.types import Task

LSI_VIEW = "sublinear"
DIMENSIONS = (100, 300)
_ALPHAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def untrained(
    task: Task, views: Iterable[str], halves: Halves, rng: np.random.Generator
) -> Iterator[tuple[FittedModel, float]]:
    """Yield models with their means, by `Halves.mean_unlearned`.

    Of one vocabulary: the cosine of words in each view, BM25, and the mixture of each cosine with
    LSI, by the weight and the rank that are best. Of two: the cosine of words that are translated,
    and LSI on the training pairs (`ClLsi`).

    Parameters
    ----------
    task : `Task`
    views : iterable of str
        Weightings of words, the same on both sides.
    halves : `Halves`
        Measure that chooses weights and ranks.
    rng : Generator
        Start of the factors.
    """
    cosines = [fitted(TfIdf(view), task, {}) for view in views]
    for fit in cosines:
        yield fit, halves.mean_unlearned(fit)
    if is_shared(task, "counts"):
        fit = Bm25().learn(task, rng, Course())
        yield fit, halves.mean_unlearned(fit)
    if is_shared(task, LSI_VIEW):
        yield from _with_lsi(task, cosines, halves, rng)
    else:
        yield from _of_mates(task, halves, rng)


def is_shared(task: Task, view: str) -> bool:
    """Tell whether a task has a view, of the same words on both sides."""
    sides = task.queries.views, task.documents.views
    return all(view in side for side in sides) and len({side[view].space for side in sides}) == 1


def _with_lsi(
    task: Task, cosines: Iterable[FittedModel], halves: Halves, rng: np.random.Generator
) -> Iterator[tuple[FittedModel, float]]:
    vectors = leading_vectors(task.documents.matrix(LSI_VIEW), DIMENSIONS, rng).vectors
    ranks = sorted({min(n, vectors.shape[1]) for n in DIMENSIONS})
    parts = [fitted(Lsi(LSI_VIEW, n), task, {"V": vectors[:, :n].copy()}) for n in ranks]
    weights = [(1 - alpha, alpha) for alpha in _ALPHAS]
    for words in cosines:
        means = [
            (mean, lsi, alpha)
            for lsi in parts
            for mean, alpha in zip(
                halves.means_of_sums(words, lsi, weights, learned=False), _ALPHAS, strict=True
            )
        ]
        mean, lsi, alpha = max(means, key=lambda one: one[0])
        yield _mixture(task, words, lsi, alpha), mean


def _mixture(task: Task, words: FittedModel, lsi: FittedModel, alpha: float) -> FittedModel:
    n, view = lsi.arrays["V"].shape[1], next(iter(words.model.views()))
    model: Model = LsiMixture(LSI_VIEW, view, dimensions=n, alphas=(alpha,))
    arrays = {"V": lsi.arrays["V"], "alpha": np.array([alpha], np.float32)}
    return fitted(model, task, arrays, {"dimensions": n, "alpha": alpha})


def _of_mates(
    task: Task, halves: Halves, rng: np.random.Generator
) -> Iterator[tuple[FittedModel, float]]:
    U, V, factors = factored(task, LSI_VIEW, DIMENSIONS, rng)
    for n in sorted(set(factors.dimensions.values())):
        model = ClLsi(LSI_VIEW, n)
        fit = fitted(model, task, {"U": U[:, :n].copy(), "V": V[:, :n].copy()}, {"dimensions": n})
        yield fit, halves.mean(fit)
