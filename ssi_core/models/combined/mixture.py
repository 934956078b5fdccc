"""Two fitted models and the weight of the second: ``f = f_1 + beta f_2``.

The best row of the journal paper (Table 2, "CFH") is ``(U'V)_n + I`` for the frequent words and a
second model of low rank for the other words, hashed; each is trained alone (section 4.1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from scipy import sparse

from ssi_core.arrays import ArraySpec, ArraySpecs, side_by_side
from ssi_core.bounds import Count, Values, Weight
from ssi_core.estimator import Sizes
from ssi_core.models.base import FitOptions, FittedModel, Side, UnfitStart, fitted
from ssi_core.models.combined.parts import Parts, arrays_of, fitted_parts
from ssi_core.resources import Cost
from ssi_core.scoring.vectors import Columns, DenseWords, Inner, Projection, Vectors, Words
from ssi_core.types import Float32, Task, TextMatrix, Texts

PRIME = "′"
"""What words of the second model bear."""

# The scores of models that are trained alone may be of very different sizes.
_BETAS = (0.0, *(float(f"{m}e{e}") for e in range(-4, 2) for m in (1, 2, 5)))


@dataclass(frozen=True)
class Mixture(Parts):
    """Two models, each trained by itself, then added up.

    Parameters
    ----------
    betas : list of float
        Weights of the second model to choose from; 0 leaves it out.
    tune_on : str
        Pairs whose rank loss chooses: "valid" or "train".
    tuning_queries : int
        Queries whose rank loss chooses.
    """

    name: ClassVar[str] = "mixture"
    without: ClassVar[frozenset[str]] = frozenset(
        {"mixture", "best_of", "topic_model", "fusion", "reranked"}
    )
    betas: Values[Weight] = _BETAS
    tune_on: Literal["valid", "train"] = "valid"
    tuning_queries: Count = 500

    def __post_init__(self) -> None:
        """Refuse anything but two known models."""
        super().__post_init__()
        if len(self.parts) != 2:
            raise ValueError(f"parts: {len(self.parts)} models; a mixture has 2")

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of a fit: the parts learn in turn, their scores are held together."""
        costs = self.costs(task, threads)
        scores = 4 * 4 * self.tuning_queries * len(task.documents)
        memory = max(cost.memory for cost in costs) + scores
        return Cost(memory, sum(cost.disk for cost in costs))

    def vector_shape(self, task: Task) -> tuple[int, int]:
        """Return the sums over both parts."""
        dense, nonzeros = zip(*(model.vector_shape(task) for model in self.models()), strict=True)
        return sum(dense), sum(nonzeros)

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Train the parts one after the other; score each once and take the best sum."""
        starts = [None, None] if options.start is None else self._starts(options.start)
        fits = list(self.learn_parts(task, rng, options, starts))
        validator = options.judge(task, self.tune_on, self.tuning_queries)
        first, second = (validator.scores(fit) for fit in fits)
        losses = {
            beta: validator.rank_loss_of(first + np.float32(beta) * second)
            for beta in sorted(self.betas)
        }
        beta = min(losses, key=losses.__getitem__)
        mixed = self.sum_of(task, fits, beta)
        mixed.facts["rank_loss_by_beta"] = {str(b): loss for b, loss in losses.items()}
        return mixed

    def _starts(self, start: FittedModel) -> list[FittedModel]:
        if not isinstance(start.model, Mixture):
            raise UnfitStart(f"start={start.model}; expected a mixture")
        return fitted_parts(start)

    def sum_of(self, task: Task, fits: Sequence[FittedModel], beta: float) -> FittedModel:
        """Return the sum of two models that are trained, with a weight of the second."""
        arrays = arrays_of(fits) | {"beta": np.array([beta], np.float32)}
        facts = {
            "beta": beta,
            "triples": sum(fit.facts.get("triples", 0) for fit in fits),
            "parts": [fit.facts for fit in fits],
        }
        return fitted(self, task, arrays, facts)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the arrays of both parts, and the weight of the second."""
        beta = ArraySpec("float32", (1,), least=0)
        return {**super().array_specs(sizes), "beta": beta}

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Vectors of both side by side, those of the second times the root of beta."""
        both = [part.model.vectors(part, texts, side) for part in fitted_parts(fitted)]
        scale = _scales(fitted)
        rows = [_times(v.sparse, s) for v, s in zip(both, scale, strict=True)]
        dense = [v.dense * s for v, s in zip(both, scale, strict=True) if v.dense is not None]
        return Inner(
            _side_by_side([row for row in rows if row is not None]),
            np.hstack(dense) if dense else None,
            _joined_projection(both) if any(map(_projection, both)) else None,
        )

    def dense_words(self, fitted: FittedModel, texts: Texts, side: Side) -> DenseWords | None:
        """Words of both; one of the second model bears a prime."""
        parts = [part.dense_words(texts, side) for part in fitted_parts(fitted)]
        present = [(words, i) for i, words in enumerate(parts) if words is not None]
        if not present:
            return None
        scale = _scales(fitted)
        scaled = [_times(words.weights, scale[i]) for words, i in present]
        weights = _side_by_side([rows for rows in scaled if rows is not None])
        assert weights is not None
        embedding = _diagonal([words.embedding for words, _ in present])
        return DenseWords(weights, embedding, _columns([(words.view, i) for words, i in present]))

    def sparse_view(self, fitted: FittedModel, side: Side) -> Words | None:
        """Columns of both, named as in `dense_words`."""
        views = [(part.sparse_view(side), i) for i, part in enumerate(fitted_parts(fitted))]
        present = [(view, i) for view, i in views if view is not None]
        return _columns(present) if present else None

    def variants(self, fitted: FittedModel) -> Iterator[FittedModel]:
        """Yield the same two models with each beta."""
        for beta in sorted(self.betas):
            arrays = {**fitted.arrays, "beta": np.array([beta], np.float32)}
            yield replace(fitted, arrays=arrays, facts=fitted.facts | {"beta": beta})


@dataclass(frozen=True)
class _Joined:
    """Maps of two models, each on its own columns (implements `scoring.vectors.Projection`)."""

    queries: tuple[int, ...]
    maps: tuple[Projection | None, ...]

    @property
    def width(self) -> int:
        """Columns of the documents of both."""
        pairs = zip(self.queries, self.maps, strict=True)
        return sum(columns if one is None else one.width for columns, one in pairs)

    def __call__(self, rows: TextMatrix) -> TextMatrix:
        """Map the columns of each model by its own map."""
        blocks, first = [], 0
        for columns, one in zip(self.queries, self.maps, strict=True):
            part = rows[:, first : first + columns]
            blocks.append(part if one is None else one(part))
            first += columns
        joined: TextMatrix = sparse.hstack(blocks, format="csr")
        return joined


def _projection(vectors: Vectors) -> Projection | None:
    return vectors.projection if isinstance(vectors, Inner) else None


def _joined_projection(both: Sequence[Vectors]) -> _Joined:
    present = [v for v in both if v.sparse is not None]
    widths = tuple(v.sparse.shape[1] for v in present if v.sparse is not None)
    return _Joined(widths, tuple(map(_projection, present)))


def _scales(mixture: FittedModel) -> tuple[np.float32, np.float32]:
    return np.float32(1), np.sqrt(mixture.arrays["beta"][0])


def _times(matrix: TextMatrix | None, scale: np.float32) -> TextMatrix | None:
    if matrix is None or scale == 1:
        return matrix
    return sparse.csr_array((scale * matrix.data, matrix.indices, matrix.indptr), matrix.shape)


def _side_by_side(rows: Sequence[TextMatrix]) -> TextMatrix | None:
    if len(rows) < 2:
        return rows[0] if rows else None
    return side_by_side(*rows)


def _diagonal(embeddings: Sequence[Float32]) -> Float32:
    """Stack embeddings so that each has columns of its own."""
    if len(embeddings) == 1:
        return embeddings[0]
    joined = np.zeros(np.sum([e.shape for e in embeddings], axis=0), np.float32)
    row = column = 0
    for embedding in embeddings:
        rows, columns = embedding.shape
        joined[row : row + rows, column : column + columns] = embedding
        row, column = row + rows, column + columns
    return joined


def _columns(views: Sequence[tuple[Words, int]]) -> Words:
    """Columns of both models; a word may be in both, and that of the second bears a prime."""
    words = [f"{word}{PRIME * i}" for view, i in views for word in view.words]
    return Columns(" ".join(view.space for view, _ in views), words)
