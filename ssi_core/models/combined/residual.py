"""An order by words, and a latent part that learns what this order lacks: ``f = f_1 + w f_2``.

The first part is not changed by the training, and stays in every score at which the margin is
tested, so that the latent part learns where it errs; d- come from its head (`training.hard`). So do
Gao et al. (2021, "Complement lexical retrieval model with semantic residual embeddings"). The
latent vectors of all documents then get one length, and validation chooses the weight w. What is
returned is a `Mixture` of the two parts, so that a fitted model is never a `Residual`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ssi_core.bounds import Count, Mean, Values, Weight
from ssi_core.estimator import parse
from ssi_core.evaluation.measures import MEASURES
from ssi_core.evaluation.significance import is_clearly_higher
from ssi_core.models.base import FitOptions, FittedModel, UnfitStart, fitted
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bilinear.lengths import with_one_length
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.combined.own_words import OwnWords, with_titles, without_own, wordings
from ssi_core.models.combined.parts import Parts
from ssi_core.resources import Cost
from ssi_core.scoring.scorer import Scorer
from ssi_core.scoring.vectors import Columns, Inner
from ssi_core.types import BadInput, Task, Texts
from ssi_core.views.names import FIELDS

EXACT = "exact"
"""Name of the view that holds the vectors of the first part while the second one learns."""


@dataclass(frozen=True)
class Residual(Parts):
    """A model of words and a latent part beside it, of one length, whose weight validation chooses.

    The first part is fitted. Its scores are scaled so that the highest score of a training query
    is 1 on average, and take the place of the diagonal in the training of the second::

        max(0, margin - f(q, d+) + f(q, d-)),   f(q, d) = scale f_1(q, d) + (U q)'(V d)

    Parameters
    ----------
    parts : list of two tables
        A model whose score is an inner product of words, such as "bm25f" or "tfidf", and a
        "bilinear" one, whose diagonal and length are set here.
    weights : list of float
        Weights of the second part; 1 is the one that it learned with, 0 leaves the first part
        alone. The first one is taken, unless another has a mean on validation that is higher by
        more than the standard error of the difference.
    titles : bool
        Where queries are words of links, learn from titles, too.
    tuning_queries : int
        Queries of validation that choose the weight.
    """

    name: ClassVar[str] = "residual"
    without: ClassVar[frozenset[str]] = Mixture.without | {"residual", "auto", "untrained"}
    weights: Values[Weight] = (0.5,)
    titles: bool = True
    measure: Mean = "map"
    tuning_queries: Count = 2_000

    def __post_init__(self) -> None:
        """Refuse other parts than an order of words and a bilinear model."""
        super().__post_init__()
        if len(self.parts) != 2 or not isinstance(self.models()[1], Bilinear):
            raise ValueError("parts: expected two, the second of the model 'bilinear'")

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of a fit: the vectors of the first part are held as a view."""
        costs = self.costs(task, threads)
        vectors = 16 * (task.queries.matrix("counts").nnz + task.documents.matrix("counts").nnz)
        return Cost(sum(cost.memory for cost in costs) + vectors, sum(cost.disk for cost in costs))

    def vector_shape(self, task: Task) -> tuple[int, int]:
        """Return the sums over both parts."""
        dense, nonzeros = zip(*(model.vector_shape(task) for model in self.models()), strict=True)
        return sum(dense), sum(nonzeros)

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Fit the first part, train the second beside it, and choose its weight."""
        if options.start is not None:
            raise UnfitStart(f"start: {self.name!r} begins anew; retrain the mixture that it makes")
        exact = self.models()[0].learn(task, rng, replace(options, watch=None, checkpoint=None))
        return self.beside(task, exact, rng, options)

    def beside(
        self, task: Task, exact: FittedModel, rng: np.random.Generator, options: FitOptions
    ) -> FittedModel:
        """Train the second part beside the first, which is fitted, and choose its weight."""
        first, second = self.parts
        asked, own = task, []
        if exact.model.reads_fields and FIELDS in task.documents.matrices:
            own = [one for one in [wordings(task)] if len(one.rows)]
        if own and self.titles:
            asked, titles = with_titles(task)
            own.append(titles)
        known, scale = with_exact(asked, exact, own, options.threads)
        model = parse(Bilinear, {n: value for n, value in second.items() if n != "model"})
        live = replace(model, diagonal="identity", diagonal_view=EXACT, length=None)
        fit = live.learn(known, rng, options)
        alone = replace(live, diagonal="none", diagonal_view=None, against="random", length=1.0)
        maps = {name: fit.arrays[name] for name in ("U", "V") if name in fit.arrays}
        latent = with_one_length(
            fitted(alone, task, maps, fit.facts), task.documents, [1.0], lambda fit: 0.0
        )
        betas = [weight / scale for weight in self.weights]
        validator = options.judge(task, "valid", self.tuning_queries)
        ranks = validator.ranks_of_sums(exact, latent, [(1.0, beta) for beta in betas])
        values = [np.asarray(MEASURES[self.measure](one), np.float64) for one in ranks]
        means = [float(one.mean()) for one in values]
        best = int(np.argmax(means))
        best = best if is_clearly_higher(values[best], values[0]) else 0
        tables = (first, {"model": alone.name, **vars(alone)})
        mixed = Mixture(tables, betas=tuple(betas)).sum_of(task, (exact, latent), betas[best])
        by_weight = dict(zip(map(str, self.weights), means, strict=True))
        mixed.facts.update(weight=self.weights[best], by_weight=by_weight)
        return mixed


def with_exact(
    task: Task, exact: FittedModel, own: Sequence[OwnWords] = (), threads: int = 1
) -> tuple[Task, float]:
    """Return a task with the vectors of a model as a view, and the scale of its scores there.

    Training pairs are scored without what their query itself adds to a field (`own_words`).

    Raises
    ------
    BadInput
        The score of the model is no inner product of words alone.
    """
    queries, documents = exact.embed_queries(task.queries), exact.embed_documents(task.documents)
    words = isinstance(queries, Inner) and queries.dense is None and queries.projection is None
    if not words or queries.sparse is None or documents.sparse is None:
        raise BadInput(
            f"model {exact.model.name!r}: its score is no inner product of words. Take another "
            "first part, such as 'bm25f' or 'tfidf'."
        )
    rows = queries.sparse, documents.sparse
    if own:
        rows = without_own(rows, exact, task, own)
    asked = np.unique(task.train.rows[:, 0])
    best = Scorer(Inner(rows[1]), threads=threads).best(Inner(rows[0][asked]), 1)[1]
    found = best[np.isfinite(best)]  # nothing, if no query has a word that a document has
    scale = np.float32(1 / max(1e-9, float(found.mean()))) if len(found) else np.float32(1)
    view: Any = Columns(EXACT, ())

    def added(texts: Texts, rows: Any) -> Texts:
        matrices = {**texts.matrices, EXACT: rows}
        return replace(texts, matrices=matrices, views={**texts.views, EXACT: view})

    known = replace(
        task,
        queries=added(task.queries, rows[0] * scale),
        documents=added(task.documents, rows[1]),
    )
    return known, float(scale)
