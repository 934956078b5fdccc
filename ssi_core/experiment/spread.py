"""Rows as parts, each of `auto` after its trials, which are parts too.

Trials that do not depend on each other are done by whichever processes are free. Each keeps what
came of it where the state of the row is kept, and the row, trained last, finds them as it would
have left them itself: it does not matter where they were done, or whether they were.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

from ssi_core import resources
from ssi_core.experiment import checkpoints
from ssi_core.experiment.training import (
    SEALED,
    RowPart,
    fold_state,
    generator,
    train_part,
)
from ssi_core.models.base import FitOptions
from ssi_core.models.choice.auto import Auto
from ssi_core.parts import Done
from ssi_core.resources import limited
from ssi_core.selection.rounds import Rounds, Step, TrialResult
from ssi_core.tasks.task import open_task
from ssi_core.tasks.training_part import training_part

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrialPart:
    """A step of a training of `auto`, which any machine does.

    Attributes
    ----------
    row : RowPart
        The row whose choice it is for.
    fold : int or None
        Number of the fold, from 0; None: the task has none.
    state : Path
        Directory of the trials of the row, in the fold.
    step : Step
        What is done.
    """

    row: RowPart
    fold: int | None
    state: Path
    step: Step


Part: TypeAlias = RowPart | TrialPart


def make(part: Part) -> TrialResult | None:
    """Do a trial, or train a row."""
    if isinstance(part, TrialPart):
        return _tried(part)
    train_part(part)
    return None


def _tried(part: TrialPart) -> TrialResult:
    opened, row, auto = open_task(part.row.task), part.row, cast(Auto, part.row.row.ranker())
    task = training_part(opened if part.fold is None else opened.folds[part.fold])
    resources.require(
        f"a trial of {row.label}",
        memory=auto.trained(part.step.settings).cost(task, row.threads).memory,
        remedy=resources.FEWER,
    )
    options = FitOptions(threads=row.threads, checkpoint=part.state)
    with limited(row.threads):
        result = auto.do(part.step, task, generator(row.seed), options)
    return result._replace(curve=[])  # its file has it


class Spread(Iterator[Part]):
    """Parts that can be made now; there may be more when one of them has ended.

    Parameters
    ----------
    rows : iterable of RowPart
        Rows to train and measure.
    trials_only : bool
        Leave out the rows.
    """

    def __init__(self, rows: Iterable[RowPart], *, trials_only: bool = False) -> None:
        self._trials: deque[TrialPart] = deque()
        self._rows: deque[RowPart] = deque()
        self._choices: dict[tuple[Path, int | None], _Choice] = {}
        self._trials_only = trials_only
        for row in rows:
            choices = _choices_of(row)
            for choice in choices:
                self._choices[row.path, choice.fold] = choice
                self._trials += choice.begin()
            if not choices:
                self._rows.append(row)

    def __next__(self) -> Part:
        """Return a trial, or else a row."""
        if self._trials:
            return self._trials.popleft()
        if self._rows and not self._trials_only:
            return self._rows.popleft()
        raise StopIteration

    def ended(self, done: Done[Part, Any]) -> None:
        """Take note of a trial that has ended."""
        assert isinstance(done.part, TrialPart)
        row, key = done.part.row, (done.part.row.path, done.part.fold)
        choice = self._choices[key]
        self._trials += choice.ended(done.part.step, done.outcome)
        if choice.open:
            return
        del self._choices[key]
        if not any(path == row.path for path, _ in self._choices):
            self._rows.append(row)


class _Choice:
    """Trials that the rounds of a choice ask for, and their results.

    Attributes
    ----------
    fold : int or None
        See `TrialPart`.
    open : bool
        Some trial has not ended.
    """

    def __init__(self, row: RowPart, fold: int | None, state: Path, rounds: Rounds) -> None:
        self.fold = fold
        self._row, self._state, self._asking = row, state, rounds.steps()
        self._now: Sequence[Step] = ()
        self._open = 0
        self._ends: dict[int, TrialResult | Exception] = {}

    @property
    def open(self) -> bool:
        return self._open > 0

    def begin(self) -> list[TrialPart]:
        """Return the first trials."""
        return self._asked(None)

    def ended(self, step: Step, outcome: TrialResult | Exception) -> list[TrialPart]:
        """Return the trials that can be done after the end of one."""
        self._ends[step.number] = outcome
        self._open -= 1
        if self._open:
            return []
        results = [self._ends[one.number] for one in self._now]
        for result in results:
            if isinstance(result, Exception):
                log.warning("%s: %s; the row does its trials itself", self._row.label, result)
                return []
        return self._asked(cast(list[TrialResult], results))

    def _asked(self, results: Any) -> list[TrialPart]:
        try:
            steps = self._asking.send(results)
        except StopIteration:
            return []
        self._now = steps.now
        parts = [
            TrialPart(self._row, self.fold, self._state, one) for one in (*steps.now, *steps.ahead)
        ]
        self._open = len(parts)
        return parts


def _choices_of(row: RowPart) -> list[_Choice]:
    """Return the choices of a row, one for each fold."""
    auto = row.row.ranker()
    if not isinstance(auto, Auto) or row.start is not None or (row.path / SEALED).is_file():
        return []
    try:
        task, state = open_task(row.task), checkpoints.begun(row.kept, row.row, row.threads).state
        folds = enumerate(task.folds) if task.folds else [(None, task)]
        return [
            _Choice(row, fold, fold_state(state, fold), Rounds(auto, training_part(one)))
            for fold, one in folds
        ]
    except Exception as error:
        log.debug("%s: %s; its row will say so", row.label, error)
        return []
