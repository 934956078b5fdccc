"""Choose settings of a row by validation alone: one training for each point of a grid.

The test side of the task is not opened. The best try has the lowest mean rank loss of all
validation queries; the winner is the first try, in the order of the grid, that is not worse than
the best by more than one standard error of their difference, paired by query. A grid that names
the plain and cheap values first thus keeps them until a dearer one is better.
"""

from __future__ import annotations

import itertools
import logging
import math
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from flows import environment, tracking
from flows.reporting.shipped_tables import find_table
from flows.training.board import posted, watched
from flows.training.view_check import require_views
from ssi_core import files, resources
from ssi_core.evaluation.evaluate import Validator
from ssi_core.evaluation.measures import MEASURES, standard_error
from ssi_core.experiment import Row, Table
from ssi_core.models import MODELS
from ssi_core.models.base import FittedModel
from ssi_core.tasks.task import open_task
from ssi_core.tasks.training_part import training_part
from ssi_core.threads import limited
from ssi_core.training.descend import Diverged
from ssi_core.types import BadInput, Float64, Task, Watch

log = logging.getLogger(__name__)

_ALL = 10**9
"""Queries: all that have a validation pair."""


@dataclass(frozen=True)
class Try:
    """A training of a search.

    Attributes
    ----------
    settings : Mapping
        Name of a setting -> value.
    rank_loss, map : float
        Means over all validation queries, 0..1; a training that diverged has a rank loss of inf.
    worse, error : float
        Rank loss above that of the best try, and the standard error of this difference.
    triples, seconds : float
        What the training took.
    run_id : str
        Its run of MLflow.
    """

    settings: Mapping[str, Any]
    rank_loss: float
    map: float
    worse: float
    error: float
    triples: float
    seconds: float
    run_id: str


@dataclass(frozen=True)
class Search:
    """Tries of a search in the order of the grid, and the number of the winner among them."""

    search_id: str
    tries: tuple[Try, ...]
    winner: int

    @property
    def chosen(self) -> Mapping[str, Any]:
        """Settings of the winner."""
        return self.tries[self.winner].settings


def tune(
    table: str,
    label: str,
    task: Path,
    grid: Mapping[str, Sequence[Any]],
    *,
    seed: int = 0,
    threads: int = 1,
    budget: int | None = None,
) -> Search:
    """Train a row with each combination of settings, and compare them on validation.

    Parameters
    ----------
    table : str
        Name or path of the table.
    label : str
        Label of the row.
    task : Path
        Task directory.
    grid : Mapping
        Name of a setting -> values to try, the plain ones first; ``parts.2.margin`` is one of the
        second part of a mixture.
    seed : int
        Seed of every training.
    threads : int
        Threads of a training; 1 repeats bit by bit.
    budget : int, optional
        Triples of a training at most; see `Table.limited`.

    Returns
    -------
    Search

    Raises
    ------
    BadInput
        A setting is unknown, the row starts from another one, or every training diverged.
    """
    declared = find_table(table, budget)
    row = declared.row(label)
    if row.start is not None:
        raise BadInput(
            f"row {label!r} starts from the model of {row.start!r}; its settings cannot be chosen "
            f"by themselves. Tune {row.start!r}."
        )
    points = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    rows = [_changed(row, point) for point in points]
    for one in rows:
        one.ranker()  # a value that no model takes is refused before the first training
    search_id = f"{declared.name}-search-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    opened = open_task(Path(task), tested=False)
    judge = _Judge(opened, threads)
    results = []
    with files.writing(environment.root()), limited(threads):
        for number, (one, point) in enumerate(zip(rows, points, strict=True), 1):
            name = f"try {number} of {len(rows)}: {_spelled(point)}"
            with posted(name), _run(declared, one, seed, search_id, Path(task), opened) as run:
                results.append(_train(one, judge, seed, threads, run, name))
            log.info("%s: rank loss %.5f", name, results[-1].mean("rank_loss"))
    return _compared(search_id, points, results)


@contextmanager
def _run(
    table: Table, row: Row, seed: int, search_id: str, place: Path, task: Task
) -> Iterator[tracking.RowRun]:
    with tracking.row_run(table, row, seed, search_id, place, kind="try") as run:
        require_views(table, row, task)
        cost = row.ranker().cost(task)
        resources.require(f"training of {row.label}", memory=cost.memory, remedy=resources.FEWER)
        yield run


class _Judge:
    """Losses of a row's models on all validation queries; their candidates are fixed once."""

    def __init__(self, task: Task, threads: int) -> None:
        self.parts = [training_part(fold) for fold in task.folds or (task,)]
        self._validators = [Validator(part, queries=_ALL, threads=threads) for part in self.parts]

    def __call__(self, models: Sequence[FittedModel]) -> dict[str, Float64]:
        """Return the rank loss and average precision of each query; a model for each fold."""
        ranks = [one.ranks(model) for one, model in zip(self._validators, models, strict=True)]
        return {
            name: np.concatenate([MEASURES[name](one) for one in ranks])
            for name in ("rank_loss", "map")
        }


def _train(
    row: Row, judge: _Judge, seed: int, threads: int, run: tracking.RowRun, name: str
) -> _Result:
    """Train in each fold and measure on validation; no values of a training that diverges."""
    watch: Watch = watched(run.watch, name, getattr(row.ranker(), "budget", None))
    models: list[FittedModel] = []
    try:
        for number, part in enumerate(judge.parts):
            rng = np.random.default_rng([seed])
            watcher = watch if number == 0 else None
            models.append(row.ranker().fit(part, rng, watch=watcher, threads=threads))
    except Diverged as error:
        log.warning("%s: %s", name, error)
        return _Result(run.run_id, None)
    run.facts(models[0].facts)
    values = judge(models)
    run.validated({measure: float(one.mean()) for measure, one in values.items()})
    took = (sum(float(model.facts.get(key, 0)) for model in models) for key in _TOOK)
    return _Result(run.run_id, values, *took)


_TOOK = ("triples", "seconds")


@dataclass(frozen=True)
class _Result:
    run_id: str
    values: Mapping[str, Float64] | None
    triples: float = 0.0
    seconds: float = 0.0

    def mean(self, measure: str) -> float:
        return math.inf if self.values is None else float(self.values[measure].mean())


def _compared(
    search_id: str, points: Sequence[Mapping[str, Any]], results: Sequence[_Result]
) -> Search:
    losses = [None if one.values is None else one.values["rank_loss"] for one in results]
    differences, winner = choose(losses)
    tries = tuple(
        Try(
            settings=point,
            rank_loss=one.mean("rank_loss"),
            map=one.mean("map"),
            worse=worse,
            error=error,
            triples=one.triples,
            seconds=one.seconds,
            run_id=one.run_id,
        )
        for point, one, (worse, error) in zip(points, results, differences, strict=True)
    )
    return Search(search_id, tries, winner)


def choose(losses: Sequence[Float64 | None]) -> tuple[list[tuple[float, float]], int]:
    """Choose the first try that is as good as the best.

    Parameters
    ----------
    losses : Sequence
        Losses of each try, float64 (queries,), in the order of the grid; None: it diverged.

    Returns
    -------
    differences : list of (float, float)
        Mean loss above the best try's, and its standard error; inf and 0 of one that diverged.
    winner : int
        The first try whose difference is at most its standard error.

    >>> choose([np.array([0.3, 0.2]), np.array([0.1, 0.2]), np.array([0.1, 0.1])])[1]
    1
    """
    means = [math.inf if one is None else float(one.mean()) for one in losses]
    best = losses[int(np.argmin(means))]
    if best is None:
        raise BadInput("Every training diverged; try lower rates.")
    differences = [
        (math.inf, 0.0) if one is None else (float((one - best).mean()), standard_error(one - best))
        for one in losses
    ]
    winner = next(i for i, (worse, error) in enumerate(differences) if worse == 0 or worse <= error)
    return differences, winner


def _changed(row: Row, point: Mapping[str, Any]) -> Row:
    """Return the row with other settings; its curves of the test side are not drawn."""
    parameters = dict(row.parameters)
    for name, value in point.items():
        parameters = _with(row.model, parameters, name, value, row.where)
    if parameters.get("curves"):
        parameters["curves"] = False
    return replace(row, parameters=parameters)


def _with(
    model: str, parameters: Mapping[str, Any], name: str, value: Any, where: str
) -> dict[str, Any]:
    if name.startswith("parts."):
        _, number, inner = [*name.split(".", 2), ""][:3]
        parts = [dict(part) for part in parameters.get("parts", ())]
        if not number.isdecimal() or not 1 <= int(number) <= len(parts) or not inner:
            raise BadInput(f"{where}: no setting {name!r}; the row has {len(parts)} parts.")
        part = parts[int(number) - 1]
        parts[int(number) - 1] = _with(str(part.get("model")), part, inner, value, where)
        return {**parameters, "parts": tuple(parts)}
    lists = {f.name for f in fields(MODELS[model]) if isinstance(f.default, tuple)}
    # A list of values is a choice that the training makes itself; a try has one.
    return {**parameters, name: [value] if name in lists and not _is_list(value) else value}


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _spelled(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in point.items())
