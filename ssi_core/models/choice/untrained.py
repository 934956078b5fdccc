"""Models that learn no weights of words from pairs: what every training has to be better than."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ssi_core.bounds import Count, Mean, Values
from ssi_core.models.base import FitOptions, FittedModel, Model, UnfitStart, fitted
from ssi_core.models.bm25 import Bm25
from ssi_core.models.bm25f import Bm25F
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.in_degree import InDegree
from ssi_core.models.language_model import LanguageModel
from ssi_core.models.latent.cl_lsi import ClLsi, factored
from ssi_core.models.latent.lsi import Lsi, LsiMixture
from ssi_core.models.latent.svd import leading_vectors
from ssi_core.models.rm3 import Rm3
from ssi_core.models.tfidf import TfIdf
from ssi_core.resources import Cost
from ssi_core.selection.validation_halves import ValidationHalves
from ssi_core.types import Float32, Task
from ssi_core.views.names import COUNTS, FIELDS

LSI_VIEW = "sublinear"
DIMENSIONS = (100, 300)
_BACKGROUNDS = (0.1, 0.3, 0.5, 0.7, 0.9)
_POPULARITY = (0.003, 0.01, 0.03, 0.1)
_BESIDE_BM25 = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
_OF_LSI = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
_ALPHAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class Untrained(Model):
    """The best on validation of the models that learn nothing from pairs but their settings.

    Cosines of words, tuned BM25 (of the fields, where documents have them), a language model, RM3
    where queries are no documents, LSI with words, and for links the number of links to a document:
    see `untrained`. What is returned is the model that was chosen.

    Parameters
    ----------
    view : list of str
        Weightings of words of the cosines.
    """

    name: ClassVar[str] = "untrained"
    measure: Mean = "map"
    validation_queries: Count = 2_000
    view: Values[str] = ("raw-sublinear", "bm25", "sublinear")

    def views(self) -> set[str]:
        """Views of all models that are tried."""
        return {*self.view, LSI_VIEW, COUNTS}

    @property
    def reads_fields(self) -> bool:
        """Tell that BM25 of the fields is among them."""
        return True

    def kinds(self) -> tuple[type[Model], ...]:
        """Return its own class, and those of all that are tried."""
        words = Bm25, Bm25F, TfIdf, LanguageModel, Rm3, InDegree
        return type(self), *words, Lsi, LsiMixture, ClLsi, Mixture

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of a fit: that of LSI, which takes most."""
        return self._largest(task).cost(task, threads)

    def vector_shape(self, task: Task) -> tuple[int, int]:
        """Return the largest of what may be chosen: a mixture with LSI."""
        return self._largest(task).vector_shape(task)

    def _largest(self, task: Task) -> Model:
        if is_shared(task, LSI_VIEW):
            return LsiMixture(LSI_VIEW, self.view[0], DIMENSIONS)
        return ClLsi(LSI_VIEW, DIMENSIONS)

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Choose by the mean over queries of validation; ``start`` is refused, as of `Auto`."""
        if options.start is not None:
            raise UnfitStart("start: 'untrained' chooses anew; there is nothing to go on from")
        halves = ValidationHalves(task, self.measure, self.validation_queries, options.threads)
        views = [view for view in self.view if is_shared(task, view)]
        views = views or [view for view in sorted(task.queries.views) if is_shared(task, view)]
        chosen, several = strongest(task, views, halves, rng)
        means = [{"model": title(fit.model), "mean": mean} for fit, mean in several]
        chosen.facts.update(choice=title(chosen.model), untrained=means)
        return chosen


def title(model: Model) -> str:
    """Return what people call a model: "BM25F", "LSI + BM25", "SSI".

    >>> title(LsiMixture(LSI_VIEW, "bm25", dimensions=100))
    'LSI + BM25'
    >>> title(Mixture(({"model": "bm25f"}, {"model": "in_degree"})))
    'BM25F + in-degree'
    """
    if isinstance(model, Mixture):
        return " + ".join(dict.fromkeys(map(title, model.models())))
    if isinstance(model, LsiMixture):
        return f"LSI + {title(TfIdf(model.tfidf_view or model.view))}"
    if isinstance(model, TfIdf) and model.view.startswith("bm25"):
        return _TITLES[Bm25.name]
    if isinstance(model, Bm25F) and model.combine == "scores":
        return "sum of the fields' BM25"
    if isinstance(model, Rm3):
        return f"{title(model.models()[0])} + RM3"
    return _TITLES.get(model.name, LEARNED)


def learns(called: str) -> bool:
    """Tell by its title whether a model has learned from pairs.

    >>> learns("SSI + BM25F"), learns("LSI + BM25")
    (True, False)
    """
    return LEARNED in called.split(" + ")


LEARNED = "SSI"
"""Title of a model that has learned from pairs."""


_TITLES = {
    Bm25.name: "BM25",
    Bm25F.name: "BM25F",
    TfIdf.name: "TF-IDF",
    LanguageModel.name: "language model",
    InDegree.name: "in-degree",
    Lsi.name: "LSI",
    ClLsi.name: "CL-LSI",
}
"""Names of models that learn nothing from pairs."""


def untrained(
    task: Task, views: Iterable[str], halves: ValidationHalves, rng: np.random.Generator
) -> Iterator[tuple[FittedModel, float]]:
    """Yield models with their means, by `ValidationHalves.mean_unlearned`.

    Of one vocabulary: the cosine of words in each view, BM25 with the settings that are best, a
    language model, and the mixture of each cosine with LSI, by the weight and the rank that are
    best. Where documents have fields, BM25 is `Bm25F`, alone and with LSI. Where documents are
    queries, the best cosine and BM25 of the text are there with the number of links to a document;
    where they are not, the first documents of BM25 give further words to a query (`Rm3`). Of two:
    the cosine of words that are translated, and LSI on the training pairs (`ClLsi`).

    Parameters
    ----------
    task : `Task`
        Task to fit the models on.
    views : iterable of str
        Weightings of words, the same on both sides.
    halves : `ValidationHalves`
        Measure that chooses weights and ranks.
    rng : Generator
        Start of the factors.
    """
    cosines = [fitted(TfIdf(view), task, {}) for view in views]
    for fit in cosines:
        yield fit, halves.mean_unlearned(fit)
    vectors = None
    if is_shared(task, LSI_VIEW):
        vectors = leading_vectors(task.documents.matrix(LSI_VIEW), DIMENSIONS, rng).vectors
    if is_shared(task, COUNTS) or FIELDS in task.documents.views:
        yield from _of_words(task, cosines, vectors, halves, rng)
    if vectors is not None:
        yield from _with_lsi(task, cosines, vectors, halves)
    else:
        yield from _of_mates(task, halves, rng)


def strongest(
    task: Task, views: Iterable[str], halves: ValidationHalves, rng: np.random.Generator
) -> tuple[FittedModel, list[tuple[FittedModel, float]]]:
    """Return the model of the highest mean, the first of equal ones, and all with their means."""
    several = _remembered.measured(task, tuple(views), halves, rng)
    return max(several, key=lambda one: one[1])[0], several


def best_of_words(
    several: Sequence[tuple[FittedModel, float]], task: Task, halves: ValidationHalves
) -> FittedModel:
    """Return the model that a choice falls back on: the one of the highest mean.

    Where people type, it is `Bm25F` unless another is clearly higher: few queries tell little, and
    of most other models titles are words of the text. What a model is compared with is the
    `strongest`, however little it is above the others.
    """
    best = max(several, key=lambda one: one[1])[0]
    of_fields = [fit for fit, _ in several if isinstance(fit.model, Bm25F)]
    if task.same or not of_fields or best is of_fields[0]:
        return best
    return best if halves.is_clearly_above(best, of_fields[0]) else of_fields[0]


class _Remembered:
    """Models of `untrained` of the last task, which `Auto` leaves to what it is compared with."""

    def __init__(self) -> None:
        self._last: tuple[list[Callable[[], object]], object, list[tuple[FittedModel, float]]]
        self._last = [], None, []

    def measured(
        self, task: Task, views: tuple[str, ...], halves: ValidationHalves, rng: np.random.Generator
    ) -> list[tuple[FittedModel, float]]:
        read = task.queries, task.documents, task.train, task.valid
        asked = views, halves.measure, halves.queries, rng.bit_generator.state
        parts, before, several = self._last
        if before != asked or any(of() is not one for of, one in zip(parts, read, strict=True)):
            several = list(untrained(task, views, halves, rng))
            self._last = [weakref.ref(one) for one in read], asked, several
        else:
            self._last = [], None, []  # no third one asks, and factors of words are large
        return [(replace(fit, facts={**fit.facts}), mean) for fit, mean in several]


_remembered = _Remembered()


def _of_words(
    task: Task,
    cosines: Iterable[FittedModel],
    vectors: Float32 | None,
    halves: ValidationHalves,
    rng: np.random.Generator,
) -> Iterator[tuple[FittedModel, float]]:
    options = FitOptions(threads=halves.threads)
    with_fields = FIELDS in task.documents.views
    of_text, measure = Bm25(tuned=True, measure=halves.measure), halves.measure
    words = (Bm25F.tuned(measure=measure) if with_fields else of_text).learn(task, rng, options)
    yield words, halves.mean_unlearned(words)
    language = LanguageModel(background=_BACKGROUNDS).learn(task, rng, options)
    yield language, halves.mean_unlearned(language)
    if not task.same:  # a document that asks is long, and its expansion longer
        first = {"model": words.model.name, **vars(words.model)}
        feedback = Rm3.tuned(parts=(first,), measure=measure).behind(task, words, options)
        yield feedback, halves.mean_unlearned(feedback)
    else:
        read = InDegree.view if is_shared(task, InDegree.view) else COUNTS
        links = InDegree(read).learn(task, rng, options)
        cosine = max(cosines, key=halves.mean_unlearned)
        asked = of_text.learn(task, rng, options) if with_fields else words
        for alone, betas in ((cosine, _POPULARITY), (asked, _BESIDE_BM25)):
            popular, mean = _sum(task, alone, links, betas, halves, learned=True)
            # Training queries know these links: what they add is measured on validation alone.
            yield popular, halves.mean_unlearned(alone) + mean - halves.mean(alone)
    if with_fields and vectors is not None:
        n = min(DIMENSIONS[0], vectors.shape[1])
        lsi = fitted(Lsi(LSI_VIEW, n), task, {"V": np.ascontiguousarray(vectors[:, :n])})
        yield _sum(task, words, lsi, _OF_LSI, halves, learned=False)


def _sum(
    task: Task,
    first: FittedModel,
    second: FittedModel,
    betas: tuple[float, ...],
    halves: ValidationHalves,
    *,
    learned: bool,
) -> tuple[FittedModel, float]:
    """Return the best sum of two models, and its mean."""
    means = halves.means_of_sums(first, second, [(1.0, beta) for beta in betas], learned=learned)
    n = int(np.argmax(means))
    parts = tuple({"model": fit.model.name, **vars(fit.model)} for fit in (first, second))
    return Mixture(parts, betas=betas).sum_of(task, (first, second), betas[n]), means[n]


def is_shared(task: Task, view: str) -> bool:
    """Tell whether a task has a view, of the same words on both sides."""
    sides = task.queries.views, task.documents.views
    return all(view in side for side in sides) and len({side[view].space for side in sides}) == 1


def _with_lsi(
    task: Task, cosines: Iterable[FittedModel], vectors: Float32, halves: ValidationHalves
) -> Iterator[tuple[FittedModel, float]]:
    ranks = sorted({min(n, vectors.shape[1]) for n in DIMENSIONS})
    parts = [
        fitted(Lsi(LSI_VIEW, n), task, {"V": np.ascontiguousarray(vectors[:, :n])}) for n in ranks
    ]
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
    task: Task, halves: ValidationHalves, rng: np.random.Generator
) -> Iterator[tuple[FittedModel, float]]:
    U, V, factors = factored(task, LSI_VIEW, DIMENSIONS, rng)
    for n in sorted(set(factors.dimensions.values())):
        model = ClLsi(LSI_VIEW, n)
        fit = fitted(model, task, {"U": U[:, :n].copy(), "V": V[:, :n].copy()}, {"dimensions": n})
        yield fit, halves.mean(fit)
