"""``U_F' V_E`` learnt beside retrieval in the documents' own language (journal paper, 2.4.2).

A step for a query in another language, ``f(q_F, d_E) = q_F' (U_F' V_E) d_E`` (equation 9), then a
step for a document as a query, which shares ``V_E``::

    f(q_E, d_E) = q_E' (V_E' V_E) d_E      equation 10
    f(q_E, d_E) = q_E' (U_E' V_E) d_E      its other form

so that the documents' latent space is a good one although few queries in the other language are
known. Queries are ranked by the first; ``U_E`` is not kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from ssi_core.features.mates import MONOLINGUAL
from ssi_core.kernels.forms import Parameters
from ssi_core.models.base import FittedModel, fitted
from ssi_core.models.bilinear import Bilinear, further
from ssi_core.models.bounds import Positive
from ssi_core.models.term import TermTraining
from ssi_core.training import fitting
from ssi_core.training.alternate import Alternating
from ssi_core.training.embedding import normal
from ssi_core.training.fitting import several
from ssi_core.training.sgd import Sgd, training_data
from ssi_core.types import Task, Watch


@dataclass(frozen=True)
class MultiTask(Bilinear):
    """``U_F' V_E`` and a second objective that shares ``V_E``.

    Parameters
    ----------
    beside : name of the further task (``task.also``) of the second objective
    symmetric : ``V_E' V_E`` for it; off, ``U_E' V_E``
    weight : of the second objective: its rate as a multiple of the first's
    others : see `Bilinear`; ``pairs`` is a share of the first objective's alone
    """

    name: ClassVar[str] = "multi_task"
    diagonal: Literal["none", "identity", "alpha", "learned"] = "none"
    beside: str = MONOLINGUAL
    symmetric: bool = True
    weight: Positive = 1.0

    def __post_init__(self) -> None:
        """Refuse what has no ``V_E`` of its own."""
        super().__post_init__()
        plain = (self.form, self.tied, self.diagonal) == ("low_rank", False, "none")
        if not plain or self.adagrad or self.learn_first or self.learn_on:
            raise ValueError(
                "multi_task has U and V and nothing else: form='low_rank', diagonal='none'; not "
                "tied, adagrad, learn_first or learn_on"
            )

    def fit(
        self,
        task: Task,
        rng: np.random.Generator,
        *,
        start: FittedModel | None = None,
        watch: Watch | None = None,
        threads: int = 1,
        checkpoint: Path | None = None,
    ) -> FittedModel:
        """Search the rate (margin, init std), then train with early stopping on the first task.

        Training is on one thread, and makes the same bits from the same ``rng``.
        """
        self.check(task)
        other = further(task, "beside", self.beside)
        self.check(other)
        training = _Training(self, task, other, int(rng.integers(2**63)))
        grid = {name: several(getattr(self, name)) for name in ("init_std", "margin")}
        found, facts = fitting.fit(
            self, grid, training.begin, training.both_errors, watch=watch, checkpoint=checkpoint
        )
        facts["threads"] = 1
        return fitted(self, task, self.arrays(found.first.parameters), facts)


class _Training(TermTraining[MultiTask]):
    """One fit of U_F and V_E, with U_E where there is one."""

    def __init__(self, model: MultiTask, task: Task, other: Task, seed: int) -> None:
        super().__init__(model, task, seed, None, 1)
        self._other = other
        self._other_data = training_data(other, model.view, model.view)

    def begin(self, settings: Mapping[str, Any]) -> Alternating:
        """Return a training at its start."""
        model, rng = self.model, np.random.default_rng([self.seed, 1])
        widths = [t.matrix(model.view).shape[1] for t in (self.task.queries, self.task.documents)]
        std = settings["init_std"]
        U, V = (normal(width, model.dimensions, std, rng) for width in widths)
        own = V if model.symmetric else normal(widths[1], model.dimensions, std, rng)
        first = self.sgd("low_rank", Parameters(U, V, np.ones(1, np.float32)), settings)
        second = Sgd(
            self.sweep("low_rank", "none"),
            Parameters(own, V, np.ones(1, np.float32)),
            self._other_data,
            self.numbers({**settings, "rate": settings["rate"] * model.weight}),
            n_documents=len(self._other.documents),
            words=self.words,
            seed=self.seed + 1,
            threads=1,
            judge=self.valid,
        )
        return Alternating(first, second)

    def both_errors(self, training: Alternating) -> tuple[float, float]:
        """Training and validation rank loss of the first task as it stands."""
        return self.errors(training.first)
