"""Topics and translations in one likelihood of the query.

Gao, Toutanova and Yih (2011), section 5.2, try to combine WTM_M1 with BLTM-PR, and do not print
how. Here the chance ``P`` of a word in (16) is a mixture of both, each of which is learnt alone::

    P(q | d) = prod_i (background p_i + (1 - background) (unigram d_i / |d| + (1 - unigram) P_id))
                      ^ q_i
    P_id     = (1 - translated) sum_z phi_iz theta_dz + translated sum_w t(i | w) d_w / |d|
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

import numpy as np
from scipy import sparse

from ssi_core.arrays import ArraySpec, ArraySpecs
from ssi_core.bounds import Count, Mixed, Share, Values
from ssi_core.estimator import Sizes
from ssi_core.models.base import FitOptions, FittedModel, Side, UnfitStart, fitted
from ssi_core.models.combined.parts import Parts, arrays_of, fitted_parts
from ssi_core.resources import Cost
from ssi_core.scoring.vectors import Inner, Vectors
from ssi_core.types import Float32, Task, TextMatrix, Texts, View

_PARTS = ["topic_model", "translation_model"]


@dataclass(frozen=True)
class TopicsAndTranslations(Parts):
    """Rank by the likelihood of the query, whose words come from topics and from translations.

    Parameters
    ----------
    parts : list of two tables
        A ``topic_model`` and a ``translation_model``; their own weights of the mixture are not
        used.
    translated : list of float
        Weights of the translations beside the topics; the best on validation is taken.
    """

    name: ClassVar[str] = "topics_and_translations"
    without: ClassVar[frozenset[str]] = frozenset()
    translated: Values[Share] = (0.25, 0.5, 0.75)
    background: Values[Mixed] = (0.5,)
    unigram: Values[Share] = (0.0, 0.2, 0.4, 0.6, 0.8)
    validation_queries: Count = 500

    def __post_init__(self) -> None:
        """Refuse anything but a topic model and a translation model."""
        super().__post_init__()
        if (names := [model.name for model in self.models()]) != _PARTS:
            raise ValueError(f"parts: {', '.join(names)}; expected {' and '.join(_PARTS)}")

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of a fit: the parts learn in turn."""
        costs = self.costs(task, threads)
        return Cost(sum(cost.memory for cost in costs), sum(cost.disk for cost in costs))

    def vector_shape(self, task: Task) -> tuple[int, int]:
        """Return the topics, and the words that the documents are translated into."""
        topics, translations = (model.vector_shape(task) for model in self.models())
        return topics[0], translations[1]

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Train both, one after the other; the mixture that is best on validation is kept."""
        if options.start is not None and options.start.model != self:
            raise UnfitStart(f"start={options.start.model}; expected {self}")
        starts = [None, None] if options.start is None else fitted_parts(options.start)
        fits = list(self.learn_parts(task, rng, options, starts))
        weights = np.array([self.background[0], self.unigram[0], self.translated[0]])
        plain = fitted(
            self,
            task,
            arrays_of(fits) | {"mixed": weights},
            {"parts": [fit.facts for fit in fits]},
        )
        judge = options.judge(task, "valid", self.validation_queries)
        return min(self.variants(plain), key=judge.rank_loss)

    def variants(self, fitted: FittedModel) -> Iterator[FittedModel]:
        """Yield the model with each choice of the three weights of the mixture."""
        names = ("background", "unigram", "translated")
        for weights in product(self.background, self.unigram, self.translated):
            facts = fitted.facts | dict(zip(names, weights, strict=True))
            yield replace(fitted, arrays={**fitted.arrays, "mixed": np.array(weights)}, facts=facts)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the arrays of both, and the weights."""
        weights = ArraySpec("float64", (3,), least=0, most=1)
        return {**super().array_specs(sizes), "mixed": weights}

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Counts and topics of words; of documents what is added in the logarithm."""
        topics, translations = _parts(fitted)
        of_topics = topics.model.vectors(topics, texts, side)
        if side == "query":
            return of_topics
        translated = float(fitted.arrays["mixed"][2])
        words = translations.model.vectors(translations, texts, side).sparse
        assert words is not None
        rows = (translated * np.expm1(words.data, dtype=np.float64), words.indices, words.indptr)
        mixed: TextMatrix = sparse.csr_array(rows, shape=words.shape)
        if of_topics.sparse is not None:
            mixed = mixed + (1 - translated) * of_topics.sparse
            mixed.sort_indices()
        assert of_topics.dense is not None
        return Inner(mixed.astype(np.float32), of_topics.dense * np.float32(1 - translated))

    def sparse_view(self, fitted: FittedModel, side: Side) -> View:
        """Columns are words; those of a document are its own and what they are translated into."""
        return fitted.view("counts", side)

    def topic_words(self, fitted: FittedModel, texts: Texts) -> tuple[TextMatrix, Float32]:
        """Share the topic weights of a document among its words."""
        topics, _ = _parts(fitted)
        counts, given = topics.model.topic_words(topics, texts)
        return counts, given * np.float32(1 - fitted.arrays["mixed"][2])


def _parts(fitted: FittedModel) -> list[FittedModel]:
    """Return the topics and the translations, each with the weights of the mixture."""
    weights = {"weights": np.asarray(fitted.arrays["mixed"][:2])}
    return [replace(part, arrays={**part.arrays, **weights}) for part in fitted_parts(fitted)]
