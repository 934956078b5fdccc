"""A trained ranker, as evaluation and serving see it: two maps from texts to vectors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ssi_core.scoring.vectors import Vectors
from ssi_core.types import Task, Texts, View, Watch


class Fitted(Protocol):
    """A trained ranker: two maps from texts to `Vectors`, and a directory."""

    @property
    def model(self) -> Ranker:
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

    def save(self, directory: Path) -> None:
        """Write a directory from which it can be loaded."""
        ...


class Ranker(Protocol):
    """Hyper-parameters as a frozen dataclass: TOML keys are its fields are MLflow parameters."""

    def fit(
        self,
        task: Task,
        rng: np.random.Generator,
        *,
        start: Any = None,  # a fitted model of its own kind
        watch: Watch | None = None,
        threads: int = 1,
        checkpoint: Path | None = None,
    ) -> Fitted:
        """Train on the task's training pairs.

        Parameters
        ----------
        task : `Task`
            Task with training and validation pairs.
        rng : Generator
            Every random choice; the same state, the same arrays with one thread.
        start : object
            A fitted model whose values are the first ones.
        watch : callable or None
            Told the curves.
        threads : int
            1 is exact; more may share the parameters without a lock.
        checkpoint : Path or None
            Directory to save the state in and to go on from.
        """
        ...
