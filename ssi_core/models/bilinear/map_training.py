"""Training of all maps that the objectives of a model name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ssi_core.kernels.sparse import aligned_empty, halved, padded
from ssi_core.kernels.training.adagrad import first_squares
from ssi_core.kernels.training.structs import Parameters, Squares
from ssi_core.models.base import FitOptions
from ssi_core.models.bilinear.terms import rows_of_maps
from ssi_core.models.bilinear.training import Training
from ssi_core.training.embedding import normal
from ssi_core.training.sgd import Group, Sgd, in_runs, training_data
from ssi_core.types import Task

if TYPE_CHECKING:
    from ssi_core.models.bilinear.low_rank import LowRank


class MapTraining(Training["LowRank"]):
    """Fit of all maps that the objectives name."""

    def __init__(
        self,
        model: LowRank,
        task: Task,
        others: Mapping[str, Task],
        seed: int,
        options: FitOptions,
    ) -> None:
        super().__init__(model, task, seed, options)
        if model.stop_by != "rank_loss":
            self._judge_by(model.stop_by)
        self._tasks = {"": task, **others}
        self._rows = rows_of_maps(model.groups(), self._tasks, model.view)
        # Of other words than those of the diagonal a further task is learnt without it.
        self._bare = {name for name, one in others.items() if not self._in_its_words(one)}
        views = {
            name: model.view if name in self._bare else model.diagonals_view for name in others
        }
        read = {name: training_data(one, model.view, views[name]) for name, one in others.items()}
        self._read = {"": self.data, **read}
        if model.step == "block":
            self._read[""] = in_runs(self.data)
        sides = (side for one in others.values() for side in (one.queries, one.documents))
        self.width = max([self.width, *(side.width(model.view) for side in sides)])

    def _judge_by(self, measure: str) -> None:
        """Validate by a mean, and observe the rank loss of the same ranking."""
        validator = self._options.judge(self.task, "valid", self.model.validation_queries)
        means: dict[str, float] = {}

        def error(parameters: Parameters) -> float:
            means.update(validator.measures(self._fitted(parameters)))
            return 1 - means[measure]

        self.valid = error
        self._observe["val/rank_loss"] = lambda parameters: means["rank_loss"]

    def _in_its_words(self, other: Task) -> bool:
        """Tell whether queries and documents of a further task are in the diagonal's words."""
        if self.model.diagonal == "none":
            return False
        sides = (other.queries, other.documents, self.task.documents)
        return len({texts.views[self.model.diagonals_view].space for texts in sides}) == 1

    def begin(self, settings: Mapping[str, Any]) -> Sgd:
        """Return a training at its start: normal maps, or the rows of ``start``; alpha, D = 1."""
        model, rng = self.model, np.random.default_rng([self.seed, 1])
        N, std = model.dimensions, settings["init_std"]
        maps = {name: normal(rows, N, std, rng) for name, rows in self._rows.items()}
        if self.start is not None:
            model.carry_over(self.start, self.task, maps)
        if model.storage == "float16":
            maps = {name: halved(one) for name, one in maps.items()}
        squares = {}
        if model.adagrad:
            squares = {name: first_squares(rows) for name, rows in self._rows.items()}
        nothing, shared = aligned_empty(0, padded(1)), self.first_diagonal(settings)
        groups = {}
        for number, (first, *second) in enumerate(model.groups()):
            query, document, form, diagonal = first.term
            diagonal = "none" if first.task in self._bare else diagonal
            parameters = Parameters(
                maps.get(query, nothing),
                maps.get(document, nothing),
                np.ones(1, np.float32) if diagonal == "none" else shared,
            )
            if model.adagrad:
                both = Squares(squares[query], squares[document], np.float32(N))
                parameters = parameters._replace(squares=both)
            numbers = self.numbers({**settings, "rate": settings["rate"] * first.weight})
            several_at_once = model.negatives_per_positive > 1
            if several_at_once:
                numbers = numbers._replace(negatives=np.int64(model.negatives_per_positive))
            if diagonal == "alpha":
                of_alpha = np.float32(numbers.diagonal_rate * np.float32(first.weight))
                numbers = numbers._replace(diagonal_rate=of_alpha)
            for one in second:
                parameters = parameters._replace(second=maps[one.term.document])
                numbers = numbers._replace(second=np.float32(one.weight))
            groups[first.task] = Group(
                self.kernels(form, diagonal)._replace(
                    second=bool(second), several=several_at_once, block=model.step == "block"
                ),
                parameters,
                self.drawn(self._tasks[first.task], self._read[first.task], settings),
                numbers,
                len(self._tasks[first.task].documents),
                self.seed + number,
            )
        return self.trainee(groups)
