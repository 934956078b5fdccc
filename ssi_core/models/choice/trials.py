"""The trainings of `models.choice.auto`, step by step; what became of a step is kept in a file.

A step that was done is found, by whichever process it was done: trials may be done side by side
before the choice is made, and a choice that was interrupted finds those that were whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ssi_core import integrity, locks
from ssi_core.models.base import FitOptions, FittedModel
from ssi_core.selection.rounds import Curve, Rounds, Step, Trial, TrialResult
from ssi_core.selection.validation_halves import ValidationHalves
from ssi_core.training.descend import Diverged
from ssi_core.types import Watch

if TYPE_CHECKING:
    from ssi_core.models.choice.auto import Auto


def found(path: Path, step: Step) -> TrialResult | None:
    """Return what became of a step, by its file; None where it is not done."""
    trials, name = path / _TRIALS, _name(step)
    if not (trials / name).is_file():
        return None
    kept = integrity.read_manifest(trials, name, f"Remove {path}, and the trials begin anew.")
    curve = [(int(n), metrics) for n, metrics in kept["curve"]]
    return TrialResult(kept["triples"], kept["mean"], curve)


_TRIALS = "trials"


def _name(step: Step) -> str:
    return f"{step.number}-{step.triples}.json"


class Trials:
    """Trainings of many settings on a task.

    Parameters
    ----------
    auto : Auto
        Makes the models of settings.
    halves : ValidationHalves
        Task to learn from, and the measure.
    seed : int
        Of every training.
    options : FitOptions
        Its checkpoint is the directory that holds the state of all trainings.

    Attributes
    ----------
    done : list of Trial
        Filled by `run`.
    """

    def __init__(
        self, auto: Auto, halves: ValidationHalves, seed: int, options: FitOptions
    ) -> None:
        assert options.checkpoint is not None
        self._auto, self._halves, self._seed, self._options = auto, halves, seed, options
        self._directory = options.checkpoint
        self._fits: dict[int, FittedModel] = {}
        self.done: list[Trial] = []

    def run(self) -> list[FittedModel]:
        """Do all steps in turn; one training of each kind, the best first.

        None where no training went well.
        """
        rounds, drawn = Rounds(self._auto, self._halves.learning), Counter[int]()
        asking = rounds.steps()
        steps = next(asking)
        while True:
            wents = []
            for step in steps.now:
                drawn[step.number] = 0
                went = self.do(step, drawn.total())
                drawn[step.number] = went.triples
                wents.append(went)
            try:
                steps = asking.send(wents)
            except StopIteration as end:
                self.done = rounds.done
                return [self._fit(step) for step in end.value]

    def do(self, step: Step, others: int = 0) -> TrialResult:
        """Train for a step, measure the model, and keep what became of it, unless that is done.

        Parameters
        ----------
        step : Step
            What is done.
        others : int
            Triples that other trainings have drawn: a curve has all, one after the other.
        """
        # Where another process does it now, its end is waited for.
        with locks.turn(self._directory / f"{step.number}.lock"):
            went = found(self._directory, step)
            if went is None:
                return self._done(step, others)
        for n, metrics in went.curve:
            if self._options.watch is not None:
                self._options.watch(others + n, metrics)
        return went

    def _done(self, step: Step, others: int) -> TrialResult:
        curve: Curve = []

        def note(n: int, metrics: Mapping[str, float]) -> None:
            if n > step.before:
                curve.append((n, {name: float(value) for name, value in metrics.items()}))
                if self._options.watch is not None:
                    self._options.watch(others + n, metrics)

        try:
            fit = self._learnt(step, note)
        except Diverged:
            went = TrialResult(step.triples, None, curve)
        else:
            went = TrialResult(int(fit.facts["triples"]), self._halves.mean(fit), curve)
            if step.round > 1:
                self._fits[step.number] = fit  # a checkpoint has all others
        trials = self._directory / _TRIALS
        trials.mkdir(parents=True, exist_ok=True)
        facts = {"files": {}, **went._asdict()}
        integrity.write_manifest(trials, _name(step), facts, durable=False)
        return went

    def _fit(self, step: Step) -> FittedModel:
        """Return the model of a step that was done: by its checkpoint, if not here."""
        fit = self._fits.get(step.number)
        return self._learnt(step) if fit is None else fit

    def _learnt(self, step: Step, watch: Watch | None = None) -> FittedModel:
        schedule = {
            "budget": step.triples,
            "epoch": step.epoch,
            "validation_queries": self._halves.sizes[0],
        }
        model = self._auto.trained({**step.settings, **schedule})
        start = None if step.start is None else self._fit(step.start)
        checkpoint = self._directory / f"configuration_{step.number}"
        options = replace(self._options, start=start, checkpoint=checkpoint, watch=watch)
        return model.learn(self._halves.learning, np.random.default_rng(self._seed), options)
