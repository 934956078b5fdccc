"""State of a task that is being written: its collection, its spec, intermediate results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core.collection import Collection
from ssi_core.store import Building
from ssi_core.tasks.layout import POOL, VALID_POOL
from ssi_core.tasks.pairs import candidates
from ssi_core.tasks.spec import TaskSpec
from ssi_core.tasks.split import TEST, Splits
from ssi_core.types import Int32, Progress

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class TaskBuilder:
    """Inputs that every step of a task reads.

    Attributes
    ----------
    collection : Collection
        What the task is made of.
    spec : TaskSpec
        What the task is.
    frozen : sequence of Path
        Frozen sets, whose answers are not trained on.
    building : Building
        The artefact.
    progress : Progress
        Told how far the work is.
    documents, queries : DataFrame
        id, title, language; one and the same object where documents are queries.
    where : str
        Where words are counted, see `ssi_core.parts`.
    """

    collection: Collection
    spec: TaskSpec
    frozen: Sequence[Path]
    building: Building
    progress: Progress
    documents: pl.DataFrame
    queries: pl.DataFrame
    where: str

    @property
    def path(self) -> Path:
        """Directory of the task."""
        return self.building.path

    @property
    def counts(self) -> dict[str, Any]:
        """Counts of the manifest."""
        return self.building.counts

    @property
    def skipped(self) -> dict[str, Any]:
        """Counts of what was left out, by reason."""
        return self.building.skipped

    @property
    def same(self) -> bool:
        """Tell whether documents are the queries."""
        return self.queries is self.documents

    def write_pools(self, test: Int32 | None = None, valid: Int32 | None = None) -> None:
        """Write the candidates of the test and of validation; None: of all documents."""
        every = np.arange(len(self.documents), dtype=np.int32)
        for name, rows in ((POOL, test), (VALID_POOL, valid)):
            drawn = candidates(
                every if rows is None else rows,
                self.spec.candidates,
                len(every),
                seed=self.spec.split_seed,
            )
            if drawn is not None:
                np.save(self.path / name, drawn)


@dataclass(frozen=True)
class Names:
    """Names of documents that are queries.

    Attributes
    ----------
    keys : Series
        Series of str Their words, one blank between two; sorted and distinct.
    texts : Series
        Series of str The same as they are written.
    """

    keys: pl.Series
    texts: pl.Series


@dataclass(frozen=True)
class Reading:
    """Texts that a task reads, and those of them that the vocabulary and its weights come from.

    Attributes
    ----------
    documents, queries : bool arrays
        The texts that vocabulary and document frequencies come from. Of the queries that are kept.
    kept : bool array or None
        Queries of the collection that are queries of the task; None: all.
    goals : int32 (n, 2) or None
        Rows of a page and of its visitor's goal, of which queries are made; None: of none.
    names : Names or None
        Names of documents, which are the queries; None: these are others.
    """

    documents: Mask
    queries: Mask
    kept: Mask | None = None
    goals: Int32 | None = None
    names: Names | None = None

    @classmethod
    def of_all(cls, builder: TaskBuilder) -> Reading:
        """Return the reading of all texts."""
        return cls(
            np.ones(len(builder.documents), np.bool_), np.ones(len(builder.queries), np.bool_)
        )

    @classmethod
    def of_sides(cls, sides: Splits) -> Reading:
        """Return the reading of documents that are queries, without those of the test."""
        return cls(sides != TEST, sides != TEST)
