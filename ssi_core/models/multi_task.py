"""``U_F' V_E`` learnt beside retrieval within each of the two languages (journal paper, 2.4.2).

A step for a query in another language, ``f(q_F, d_E) = q_F' (U_F' V_E) d_E`` (equation 9), then a
step of each further objective, which shares an array with it by its name::

    f(q_E, d_E) = q_E' (V_E' V_E) d_E      equation 10, on the links of the documents
    f(q_E, d_E) = q_E' (U_E' V_E) d_E      its other form
    f(q_F, d_F) = q_F' (U_F' U_F) d_F      the same for U_F, on the links of the queries
    f(q_F, d_F) = q_F' (U_F' V_F) d_F      its other form

so that both languages have a good latent space although few queries are known with their answers.
Queries are ranked by the first; ``U_E`` and ``V_F`` are not kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from ssi_core.features.mates import MONOLINGUAL
from ssi_core.kernels.sparse import padded
from ssi_core.kernels.structs import Parameters
from ssi_core.models.base import FittedModel, fitted
from ssi_core.models.bilinear import Bilinear, further
from ssi_core.models.objectives import Maps, Objective, widths
from ssi_core.models.term import TermTraining
from ssi_core.resources import Cost
from ssi_core.training import fitting
from ssi_core.training.alternate import Alternating
from ssi_core.training.embedding import normal
from ssi_core.training.fitting import several
from ssi_core.training.sgd import Sgd, training_data
from ssi_core.types import Task, Watch

OWN = Objective("", Maps("U_F", "V_E"))
"""Equation 9, the objective that queries are ranked by."""


@dataclass(frozen=True)
class MultiTask(Bilinear):
    """``U_F' V_E`` and further objectives that share ``V_E``, ``U_F`` or both.

    Parameters
    ----------
    beside : the further objectives, each a step after that of the model's own: ``task``, the name
        of a further task (``task.also``); ``query`` and ``document``, the names of the maps of its
        term, where ``U_F`` and ``V_E`` are those of the model and any other name is a map that
        only these objectives share; ``weight``, its rate as a multiple of the first's, 1 unless
        said
    others : see `Bilinear`; ``pairs`` is a share of the model's own objective alone
    """

    name: ClassVar[str] = "multi_task"
    diagonal: Literal["none", "identity", "alpha", "learned"] = "none"
    beside: tuple[Mapping[str, Any], ...] = (
        {"task": MONOLINGUAL, "query": "V_E", "document": "V_E"},
    )

    def __post_init__(self) -> None:
        """Refuse what has no ``V_E`` of its own, and objectives that are none."""
        super().__post_init__()
        plain = (self.form, self.tied, self.diagonal) == ("low_rank", False, "none")
        if not plain or self.adagrad or self.learn_first or self.learn_on:
            raise ValueError(
                "multi_task has U and V and nothing else: form='low_rank', diagonal='none'; not "
                "tied, adagrad, learn_first or learn_on"
            )
        tasks = [objective.task for objective in self.objectives()]
        if len(tasks) < 2 or len(set(tasks)) < len(tasks):
            raise ValueError("beside: expected at least one objective, each on another task")

    def objectives(self) -> tuple[Objective, ...]:
        """Return all objectives, the model's own first."""
        return (OWN, *(Objective.of(one) for one in self.beside))

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of a training; texts of a further task may be copied rows of the task."""
        copies = 8 * max(side.matrix(self.view).nnz for side in (task.queries, task.documents))
        one = super().cost(task, threads)
        return Cost(one.memory + copies * len(self.beside), one.disk)

    def parameter_bytes(self, task: Task) -> int:
        """Return the size of all maps; a further task that is not there is refused by the fit."""
        words = {
            name: texts.width(self.view)
            for objective in self.objectives()
            for name, texts in objective.sides(task.also.get(objective.task, task))
        }
        return 4 * padded(self.dimensions) * sum(words.values())

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
        others = [further(task, "beside", one.task) for one in self.objectives()[1:]]
        for one in (task, *others):
            self.check(one)
        training = _Training(self, task, others, int(rng.integers(2**63)))
        grid = {name: several(getattr(self, name)) for name in ("init_std", "margin")}
        found, facts = fitting.fit(
            self, grid, training.begin, training.first_errors, watch=watch, checkpoint=checkpoint
        )
        facts["threads"] = 1
        return fitted(self, task, self.arrays(found.first.parameters), facts)


class _Training(TermTraining[MultiTask]):
    """One fit of all maps."""

    def __init__(self, model: MultiTask, task: Task, others: Sequence[Task], seed: int) -> None:
        super().__init__(model, task, seed, None, 1)
        self._others = others
        self._words = widths(model.objectives(), [task, *others], model.view)
        self._other_data = [training_data(one, model.view, model.view) for one in others]

    def begin(self, settings: Mapping[str, Any]) -> Alternating:
        """Return a training at its start."""
        rng, std = np.random.default_rng([self.seed, 1]), settings["init_std"]
        maps = {n: normal(w, self.model.dimensions, std, rng) for n, w in self._words.items()}

        def parameters(objective: Objective) -> Parameters:
            names = objective.term
            return Parameters(maps[names.query], maps[names.document], np.ones(1, np.float32))

        own, *beside = self.model.objectives()
        others = {
            objective.task: Sgd(
                self.sweep("low_rank", "none"),
                parameters(objective),
                data,
                self.numbers({**settings, "rate": settings["rate"] * objective.weight}),
                n_documents=len(task.documents),
                words=max(self._words.values()),
                seed=self.seed + number,
                threads=1,
                judge=self.valid,
            )
            for number, (objective, task, data) in enumerate(
                zip(beside, self._others, self._other_data, strict=True), 1
            )
        }
        return Alternating(self.sgd("low_rank", parameters(own), settings), others)

    def first_errors(self, training: Alternating) -> tuple[float, float]:
        """Training and validation rank loss of the model's own objective as it stands."""
        return self.errors(training.first)
