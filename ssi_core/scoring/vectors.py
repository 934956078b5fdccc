"""Texts as a model sees them. The class of the queries says by which formula documents score.

=============  ==================================================================================
queries        ``f(q, d)``
=============  ==================================================================================
`Inner`        ``<sparse_q, sparse_d> + <dense_q, dense_d>``
`Likelihood`   ``sum_i sparse_qi ln(1 + sparse_di + <topics_i, dense_d>)``
`RankSum`      ``sum_i 1 / (constant + rank_i(q, d))`` over the ranks that several models give
`TwoStage`     what a ranker of pairs says of the first documents of one of several models
=============  ==================================================================================

Documents are `Inner`, or `Several` where several models see them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ssi_core.types import BadInput, Float32, Float64, TextMatrix, Texts, View


class Projection(Protocol):
    """A map from sparse rows of queries to rows over the columns of documents."""

    @property
    def width(self) -> int:
        """Columns of the documents."""
        ...

    def __call__(self, rows: TextMatrix) -> TextMatrix:
        """Map rows; what comes out may have an entry in every column."""
        ...


class SecondStage(Protocol):
    """A ranker of the first documents of another model, by numbers that are known of each."""

    @property
    def depth(self) -> int:
        """Documents of a query that it puts into another order."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """Names of the features that it reads."""
        ...

    def __call__(self, values: Float64) -> Float64:
        """Return a score for each row of features."""
        ...


@dataclass(frozen=True)
class Vectors:
    """Texts, a row each: a sparse part, a dense part, or both.

    Attributes
    ----------
    sparse : CSR float32 (n, columns) or None
        Weights of words; None: there is no sparse part.
    dense : float32 (n, dimensions)
        C order, or None; of an index it may be float16 (`scoring.half`).
    """

    sparse: TextMatrix | None = None
    dense: Float32 | None = None

    def __len__(self) -> int:
        """Return the number of texts; ValueError where there is no part, or the parts differ."""
        lengths = {p.shape[0] for p in (self.sparse, self.dense) if p is not None}
        if len(lengths) != 1:
            raise ValueError(
                f"vectors: parts of {sorted(lengths)} rows, expected one number of rows"
            )
        return int(lengths.pop())

    def take(self, rows: Any) -> Self:
        """Return some rows, in that order; ``rows`` is a slice or row numbers."""
        return replace(
            self,
            sparse=None if self.sparse is None else self.sparse[rows],
            dense=None if self.dense is None else wide(self.dense[rows]),
        )

    def arrays(self) -> Iterator[NDArray[Any]]:
        """Yield the numbers of all parts."""
        if self.sparse is not None:
            yield self.sparse.data
        if self.dense is not None:
            yield self.dense

    def check(self, documents: Vectors) -> None:
        """Raise ValueError where documents have other parts, or parts of another width."""
        raise ValueError(f"{type(self).__name__}: documents, which no formula compares with others")


@dataclass(frozen=True)
class Inner(Vectors):
    """Queries or documents of a score that is a sum of two inner products.

    Attributes
    ----------
    projection : Projection or None
        Makes ``sparse_q`` a few rows at a time, as ``projection(sparse)``, for queries whose sparse
        rows are too large to hold.
    """

    projection: Projection | None = None

    def check(self, documents: Vectors) -> None:
        """Raise ValueError where documents have other parts, or parts of another width."""
        _same_parts(documents, "none", ())
        widths = _widths(self)
        if self.projection is not None:
            widths["sparse"] = self.projection.width
        for (name, came), expected in zip(widths.items(), _widths(documents).values(), strict=True):
            if came != expected:
                raise ValueError(
                    f"queries: {name} width {came}, expected {expected}, the documents'"
                )


@dataclass(frozen=True)
class Likelihood(Vectors):
    """Queries of a score that is the logarithm of a likelihood, less what all documents share.

    Attributes
    ----------
    topics : float32 (columns, dimensions)
        A row for each column of ``sparse``, the counts of words.
    """

    topics: Float32 | None = None

    def arrays(self) -> Iterator[NDArray[Any]]:
        """Yield the numbers of all parts."""
        yield from super().arrays()
        if self.topics is not None:
            yield self.topics

    def check(self, documents: Vectors) -> None:
        """Raise ValueError where documents have other parts, or parts of another width."""
        self.parts(documents)

    def parts(self, documents: Vectors) -> tuple[TextMatrix, Float32, Float32]:
        """Return counts of the queries, topics of the words, and topic weights of documents.

        Raises
        ------
        ValueError
            A part is missing, or its width is another one.
        """
        counts, topics, weights = self.sparse, self.topics, documents.dense
        if counts is None or topics is None or weights is None:
            raise ValueError("queries need sparse rows and topics, and documents dense rows")
        if topics.shape != (counts.shape[1], weights.shape[1]):
            expected = (counts.shape[1], weights.shape[1])
            raise ValueError(f"topics: shape {topics.shape}, expected {expected}")
        if documents.sparse is not None and documents.sparse.shape[1] != counts.shape[1]:
            came = documents.sparse.shape[1]
            raise ValueError(f"documents: sparse width {came}, expected {counts.shape[1]}")
        return counts, topics, weights


@dataclass(frozen=True)
class Several(Vectors):
    """Texts as each of several models sees them; they have no other part.

    Attributes
    ----------
    parts : tuple of Vectors
        Vectors of each model; at least one.
    """

    parts: tuple[Vectors, ...] = ()

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.parts[0])

    def take(self, rows: Any) -> Self:
        """Return some rows, in that order; ``rows`` is a slice or row numbers."""
        return replace(self, parts=tuple(part.take(rows) for part in self.parts))

    def arrays(self) -> Iterator[NDArray[Any]]:
        """Yield the numbers of all parts, model after model."""
        for part in self.parts:
            yield from part.arrays()

    def check(self, documents: Vectors) -> None:
        """Raise ValueError where documents have other parts, or parts of another width."""
        _same_parts(documents, str(len(self.parts)), self.parts)
        assert isinstance(documents, Several)
        for one, other in zip(self.parts, documents.parts, strict=True):
            one.check(other)


@dataclass(frozen=True)
class RankSum(Several):
    """Queries of a score that adds up reciprocal ranks of several models.

    Attributes
    ----------
    constant : float
        Added to each rank.
    """

    constant: float = 0.0


@dataclass(frozen=True)
class TwoStage(Several):
    """Queries whose first part ranks, and whose ranker puts the first documents into another order.

    All parts, and `1 / rank` under the first, are features of the ranker.

    Attributes
    ----------
    ranker : SecondStage
        Orders the first documents by their features.
    """

    ranker: SecondStage | None = None

    @property
    def second(self) -> SecondStage:
        """Return the ranker."""
        assert self.ranker is not None
        return self.ranker


def first_part(vectors: Vectors) -> Vectors:
    """Return the part by which the first stage ranks: the vectors themselves, or the first part."""
    return vectors.parts[0] if isinstance(vectors, Several) else vectors


def wide(rows: NDArray[Any]) -> Float32:
    """Return rows that are float16 as float32, others as they are."""
    return rows.astype(np.float32) if rows.dtype == np.float16 else rows


def refuse_nan(vectors: Vectors, what: str) -> Vectors:
    """Return vectors that are all finite; `BadInput` for others, whose order means nothing."""
    if not all(map(_finite, vectors.arrays())):
        raise BadInput(
            f"{what}: the model gives vectors that hold NaN or infinity, so that nothing can be "
            "ranked by them. Train the model again, with a smaller rate."
        )
    return vectors


def _finite(array: NDArray[Any]) -> bool:
    """Tell whether an array has neither NaN nor infinity, without a copy."""
    # The sum of finite float32 is finite in float64.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(array, dtype=np.float64)))


def _widths(vectors: Vectors) -> dict[str, int | None]:
    parts = {"sparse": vectors.sparse, "dense": vectors.dense}
    return {name: None if part is None else int(part.shape[1]) for name, part in parts.items()}


def _same_parts(documents: Vectors, came: str, parts: tuple[Vectors, ...]) -> None:
    of_documents = documents.parts if isinstance(documents, Several) else ()
    if len(of_documents) != len(parts):
        expected = len(of_documents) or "none"
        raise ValueError(f"queries: {came} parts, expected {expected}, the documents'")


class Fitted(Protocol):
    """A fitted model, as evaluation sees it: two maps from texts to `Vectors`."""

    @property
    def model(self) -> Any:
        """Hyper-parameters."""
        ...

    @property
    def query_views(self) -> Mapping[str, View]:
        """Views that queries are read through."""
        ...

    @property
    def document_views(self) -> Mapping[str, View]:
        """Views that documents are read through."""
        ...

    def embed_queries(self, queries: Texts) -> Vectors:
        """Convert queries to vectors."""
        ...

    def embed_documents(self, documents: Texts) -> Vectors:
        """Convert documents to vectors."""
        ...


class Words(Protocol):
    """Meaning of columns, as a `View` and `Columns` give it."""

    @property
    def space(self) -> str:
        """Digest of what the columns mean."""
        ...

    @property
    def words(self) -> Sequence[str]:
        """Words of the columns."""
        ...


class Columns(NamedTuple):
    """Columns that no view makes."""

    space: str
    words: Sequence[str]


class DenseWords(NamedTuple):
    """The dense part of vectors, taken apart: ``dense = weights @ embedding``.

    ``weights`` CSR (n, D) with every factor of the text in it, ``embedding`` float32 (D, N), and
    the ``view`` whose words the D columns are.
    """

    weights: TextMatrix
    embedding: Float32
    view: Words
