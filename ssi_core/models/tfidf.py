"""TF-IDF cosine: ``W = I`` with nothing learnt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ssi_core.models.base import FitOptions, FittedModel, Model, Side, fitted
from ssi_core.scoring.vectors import Inner, Vectors
from ssi_core.types import Task, Texts, View


@dataclass(frozen=True)
class TfIdf(Model):
    """``f(q, d) = q'd`` on unit rows of one view: the cosine."""

    name: ClassVar[str] = "tfidf"
    view: str = "raw"

    def views(self) -> set[str]:
        """Return the one view that the model reads."""
        return {self.view}

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Take the view; there is nothing to fit."""
        return fitted(self, task, {})

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Rows of the view."""
        return Inner(texts.matrix(self.view), None)

    def sparse_view(self, fitted: FittedModel, side: Side) -> View:
        """Columns are the view's words."""
        return fitted.view(self.view, side)
