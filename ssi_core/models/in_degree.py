"""Popularity baseline: documents with many links come first, whatever the query is.

Nothing of the query or of the text takes part. The model is a baseline: what it reaches alone is
what a measure pays for popularity, and what it adds to a model of the text (`mixture`) is what
that model does not know of popularity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from ssi_core.arrays import ArraySpec, ArraySpecs
from ssi_core.estimator import Arrays, Sizes
from ssi_core.models.base import FitOptions, FittedModel, Model, Side, fitted
from ssi_core.models.known import fingerprints, rows_of
from ssi_core.scoring.vectors import Columns, Inner, Vectors
from ssi_core.types import Task, Texts

WORD = "(in-degree)"
"""Name of the one column of the vectors."""


@dataclass(frozen=True)
class InDegree(Model):
    """``f(q, d) = ln(1 + n_d)``, where ``n_d`` training pairs lead to the document d.

    Pairs of validation and test count nowhere. A document is known by its id and title together;
    one that training never saw has in-degree 0. In an explanation the score is one word.

    Parameters
    ----------
    view : str
        Weighting of words that texts are read with; the score does not use it.
    """

    name: ClassVar[str] = "in_degree"
    view: str = "raw"

    def views(self) -> set[str]:
        """Return one view: an index, and a mixture, need the words of a model."""
        return {self.view}

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Count the training pairs of each document; documents without one are not kept."""
        links = np.bincount(task.train.rows[:, 1], minlength=len(task.documents))
        linked = np.flatnonzero(links)
        keys = fingerprints(task.documents.take(linked))
        order = np.argsort(keys, kind="stable")
        arrays: Arrays = {"known": keys[order], "links": links[linked][order].astype(np.int32)}
        facts = {"linked": len(linked), "most_links": int(links.max(initial=0))}
        return fitted(self, task, arrays, facts)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the fingerprints of the linked documents, and their links."""
        return {
            "known": ArraySpec("uint64", ("known",), order="ascending"),
            "links": ArraySpec("int32", ("known",), least=1),
        }

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Return one column: 1 for a query, ``ln(1 + n_d)`` for a document."""
        values = np.ones(len(texts), np.float32)
        if side == "document":
            rows, known = rows_of(texts, fitted.arrays["known"])
            values = np.zeros(len(texts), np.float32)
            values[known] = np.log1p(fitted.arrays["links"][rows[known]])
        return Inner(sparse.csr_array(values[:, None]), None)

    def sparse_view(self, fitted: FittedModel, side: Side) -> Columns:
        """Name the one column."""
        return Columns("in-degree", [WORD])
