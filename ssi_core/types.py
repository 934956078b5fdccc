"""The central types: what every room passes to the next. No logic lives here.

Identifiers are strings outside and row numbers (int32) inside. Fractions are in 0..1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ssi_core.deferred import defer
from ssi_core.remedies import typed_call

if TYPE_CHECKING:
    import polars as pl
    from scipy import sparse

defer()

Float32: TypeAlias = NDArray[np.float32]
Float64: TypeAlias = NDArray[np.float64]
Int32: TypeAlias = NDArray[np.int32]
Int64: TypeAlias = NDArray[np.int64]

TextMatrix: TypeAlias = "sparse.csr_array"
"""A row per text: CSR, float32 data, sorted int32 indices. Arrays may be memory mapped."""

Watch: TypeAlias = Callable[[int, Mapping[str, float]], None]
"""``watch(step, metrics)``: how curves leave a training; ``step`` counts triples."""

Progress: TypeAlias = Callable[[float, str], None]
"""``progress(fraction, message)``: 0..1 of the stage that is done, and what is being done."""

Weights: TypeAlias = Literal["clicks", "relevance", "shown"]
"""Meanings of the weights of pairs, see `Pairs`."""


LONGEST_MESSAGE = 1500
"""Letters of a message; of a longer one the middle is left out."""


def _bounded(message: object) -> str:
    text = str(message)
    if len(text) > LONGEST_MESSAGE:
        text = f"{text[: LONGEST_MESSAGE - 500]} ... {text[-490:]}"
    return text


class BadInput(ValueError):
    """The input is wrong; the message names the file, the place and the remedy (exit code 3).

    What a message quotes of a file may be of any length: its beginning, which names the file, and
    its end, which has the remedy, are kept.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(_bounded(message))


class Inapplicable(BadInput):
    """A row has nothing to learn from on this task: a table goes on without it."""


class Refused(RuntimeError):
    """The work is refused: memory, disk, a lock, another key in the way (exit code 4).

    The message is bounded as that of `BadInput` is.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(_bounded(message))


DERIVED_VIEWS = ("fields", "phrases")
"""Views that only documents have. They follow from the fields of a task: nobody asks for them."""


def requestable(names: Iterable[str]) -> list[str]:
    """Return the sorted names of views that a user can ask for.

    >>> requestable(["raw", "phrases", "counts", "fields"])
    ['counts', 'raw']
    """
    return sorted({*names} - {*DERIVED_VIEWS})


class View(Protocol):
    """A fitted transform from texts to a `TextMatrix`; saved in the task and in each model.

    ``space`` is a digest of what the columns mean: tokenizer, vocabulary, projection. Two views of
    equal width but different ``space`` must not meet in a diagonal or share an embedding.
    """

    @property
    def name(self) -> str:
        """Name by which rows of a table ask for it."""
        ...

    @property
    def space(self) -> str:
        """Digest of what the columns mean."""
        ...

    @property
    def words(self) -> Sequence[str]:
        """Words of the columns."""
        ...

    @property
    def language(self) -> str:
        """Code of the language of the texts that it reads."""
        ...

    def transform(self, texts: Sequence[str]) -> TextMatrix:
        """Rows of raw texts."""
        ...

    def save(self, directory: Path) -> None:
        """Write a directory from which it can be loaded."""
        ...


@dataclass(frozen=True)
class Texts:
    """Texts of one side of a task, with ids, titles and a matrix for each view.

    Attributes
    ----------
    ids, titles : polars Series of str
        Length n.
    matrices : mapping
        View name -> `TextMatrix` of n rows.
    views : mapping
        View name -> the `View` that made the matrix.
    test_only : int32
        Rows of texts that training is not given, ascending (`tasks.training_part`); `take` forgets
        them.
    """

    ids: pl.Series
    titles: pl.Series
    matrices: Mapping[str, TextMatrix]
    views: Mapping[str, View]
    test_only: Int32 = field(default_factory=lambda: np.empty(0, np.int32))

    def __len__(self) -> int:
        return len(self.ids)

    def matrix(self, view: str) -> TextMatrix:
        """Rows of one view; `BadInput` names the views there are."""
        if view not in self.matrices:
            known = sorted(self.matrices)
            raise BadInput(
                f"view={view!r} is not in this task; it has: {', '.join(known)}. Make a task that "
                f"has it: {typed_call('data features', views=requestable([*known, view]))}"
            )
        return self.matrices[view]

    def width(self, view: str) -> int:
        """Return the number of columns of one view."""
        return int(self.matrix(view).shape[1])

    def take(self, rows: Any) -> Texts:
        """Return the texts of some rows, in that order; a matrix is sliced when it is asked for."""
        return Texts(self.ids[rows], self.titles[rows], _Rows(self.matrices, rows), self.views)


class _Rows(Mapping[str, TextMatrix]):
    """Matrices seen through a choice of rows."""

    def __init__(self, whole: Mapping[str, TextMatrix], rows: Any) -> None:
        self._whole, self._rows = whole, rows

    def __getitem__(self, view: str) -> TextMatrix:
        rows: TextMatrix = self._whole[view][self._rows]
        return rows

    def __iter__(self) -> Any:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)


@dataclass(frozen=True)
class Judged:
    """Lists of documents for queries, each document with a grade: judged ones, or what was shown.

    Attributes
    ----------
    query : int32 (n,)
        Row of the query of each list, ascending; a query may have several lists, or none.
    start : int64 (n + 1,)
        The documents of list i are ``documents[start[i]:start[i + 1]]``.
    documents : int32
        Rows of documents.
    grade : float32
        Aligned to ``documents``: 0 for what is not relevant, or was shown and not clicked.
    """

    query: Int32 = field(default_factory=lambda: np.empty(0, np.int32))
    start: Int64 = field(default_factory=lambda: np.zeros(1, np.int64))
    documents: Int32 = field(default_factory=lambda: np.empty(0, np.int32))
    grade: Float32 = field(default_factory=lambda: np.empty(0, np.float32))

    def __len__(self) -> int:
        return len(self.query)

    @property
    def rows(self) -> Int32:
        """Query and document of each grade, int32 (grades, 2)."""
        owner = np.repeat(self.query, np.diff(self.start))
        return np.column_stack([owner, self.documents]).astype(np.int32)


@dataclass(frozen=True)
class Pairs:
    """Relevant pairs of one side of a split, and what else was judged or shown there.

    Attributes
    ----------
    rows : int32 (n, 2)
        Query row and document row, sorted by query, then document.
    weight, grade : float32 (n,)
        1 where nothing else is known. A grade is a level of relevance above 0, at most 4: the gain
        of a document is ``2^grade - 1``.
    not_relevant : int32 (m, 2)
        Pairs that were judged and are not relevant: candidates, and grade 0 in qrels.
    shown : Judged
        Documents beside which others were clicked. On a side to measure, a list for each event. In
        training, what d- may be drawn from: with weights "clicks" what was not clicked, as often as
        this happened; with "shown" all, as often as they were shown; with "relevance" all, each
        once.
    listed : bool
        A query ranks the documents that were judged for it, and no others.
    weighing : Weights
        What the weights are. "clicks": sums of clicks; "relevance": estimates of the pairs'
        relevance; "shown": relevance times showings. Documents come out in the order of ``weight /
        (how often a document is drawn as d-)``, which is that of the relevance.
    """

    rows: Int32
    weight: Float32
    grade: Float32
    not_relevant: Int32 = field(default_factory=lambda: np.empty((0, 2), np.int32))
    shown: Judged = field(default_factory=Judged)
    listed: bool = False
    weighing: Weights = "clicks"

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of(cls, rows: Any) -> Pairs:
        """Pairs of weight and grade 1 from (n, 2) row numbers, sorted, repeated pairs kept once."""
        unique = np.unique(np.asarray(rows, dtype=np.int32).reshape(-1, 2), axis=0)
        n = len(unique)
        return cls(unique, np.ones(n, np.float32), np.ones(n, np.float32))

    def take(self, kept: Any) -> Pairs:
        """Return the side with some of its relevant pairs."""
        rows, weight, grade = self.rows[kept], self.weight[kept], self.grade[kept]
        return replace(self, rows=rows, weight=weight, grade=grade)


@dataclass(frozen=True)
class Task:
    """A column of a paper's table: queries, documents, relevant pairs on three sides of a split.

    Attributes
    ----------
    queries, documents : Texts
        `Texts`; one and the same object when queries are documents and no view weighs them
        otherwise.
    train, valid, test : `Pairs`
        Relevant pairs of each side of the split.
    exclude : CSR bool (queries, documents)
        Never sampled and never candidates (the query itself, its mate, the source of a keyword
        query).
    pool : int32 array or None
        Document rows that are every query's candidates, ascending; None: all documents.
    valid_pool : int32 array or None
        The same for the validation queries.
    key : str
        Digest of configuration, parents and code.
    auxiliary : mapping
        Further tasks on the same documents, by name.
    folds : sequence of Task
        The same queries divided otherwise, each of which is tested in one fold; empty where there
        is one division only. The sides above are those of the first fold.
    subsets : mapping
        Name -> int32 (n, 2), pairs of a slice of its own; see `evaluation.slices`.
    """

    queries: Texts
    documents: Texts
    train: Pairs
    valid: Pairs
    test: Pairs
    exclude: sparse.csr_array
    key: str
    pool: Int32 | None = None
    valid_pool: Int32 | None = None
    auxiliary: Mapping[str, Task] = field(default_factory=dict)
    folds: Sequence[Task] = ()
    subsets: Mapping[str, Int32] = field(default_factory=dict)
    path: Path | None = None

    @property
    def same(self) -> bool:
        """Tell whether the queries are the documents, though a view may read both differently."""
        return self.queries.ids is self.documents.ids


@dataclass(frozen=True)
class Report:
    """Results of an evaluation.

    Attributes
    ----------
    per_query : polars frame
        ``query`` (row), ``id``, ``relevant`` (count), a column per measure.
    means, errors : mapping
        Measure -> mean, and its standard error.
    bounds : mapping
        Measure -> the largest value that a perfect ranking would reach.
    slices : DataFrame or None
        Polars frame of `evaluation.slices.measured`; None: no slice was measured.
    candidates : str or None
        The documents that a query was ranked over, in words; None: it is not known.
    """

    per_query: pl.DataFrame
    means: Mapping[str, float]
    errors: Mapping[str, float]
    bounds: Mapping[str, float]
    slices: pl.DataFrame | None = None
    candidates: str | None = None
