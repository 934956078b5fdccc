"""The rounds of `models.choice.auto`: what is begun, and how far what goes on, by its trials.

Nothing is trained here. `Rounds.steps` yields steps and is sent what became of them. Steps that are
yielded together do not depend on each other: they may be done in turn, or side by side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from ssi_core.selection.star import Factors, Point, Settings, best_of_each, joined
from ssi_core.types import Task

PLAIN: Settings = {"negatives": 16, "warp": False}
"""Steps without WARP."""
_POLISH = 4.0
"""Rate of the last steps, without WARP, as a multiple of the rate with it."""
JOINED = 2
"""Settings that join what is best of each thing, in two kinds."""
DIAGONAL = 2
"""Number of the factor that says which words the diagonal reads (`Auto.factors`)."""
KINDS = 2
"""Kinds of trainings, of each of which one is trained to its end (`_kind`)."""
_EPOCH = 50_000

Curve: TypeAlias = list[tuple[int, dict[str, float]]]
"""Triples of a training, and measures then by name."""


class Trial(NamedTuple):
    """A training in one round.

    Attributes
    ----------
    round : int
        0: all that are begun, 1: the best of them, 2: one of each of two kinds to its end, 3:
        without WARP.
    settings : dict
        Those that differ between the trainings.
    triples : int
        Of this round.
    mean : float
        Of the measure, on the first half of validation.
    """

    round: int
    settings: Mapping[str, Any]
    triples: int
    mean: float


@dataclass(frozen=True)
class Step:
    """A training that goes on until it has drawn some triples, or validation ends it.

    Attributes
    ----------
    number : int
        Of the training; its state is kept by it.
    round : int
        See `Trial`.
    settings : dict
        Of the training.
    before : int
        Triples that it has drawn.
    triples : int
        Triples that it has drawn at the end of the step, at most.
    epoch : int
        Triples between two validations.
    start : Step or None
        The step whose model it begins with.
    """

    number: int
    round: int
    settings: Settings
    before: int
    triples: int
    epoch: int
    start: Step | None = None


class TrialResult(NamedTuple):
    """Result of a step.

    Attributes
    ----------
    triples : int
        That the training has drawn.
    mean : float or None
        On the first half of validation; None: the training diverged.
    curve : Curve
        Of the step.
    """

    triples: int
    mean: float | None
    curve: Curve


class Steps(NamedTuple):
    """Steps to be done, and those that may be begun meanwhile: they are part of later ones."""

    now: Sequence[Step]
    ahead: Sequence[Step] = ()


Asking: TypeAlias = Generator[Steps, Sequence[TrialResult], list[Step]]
"""Is sent what became of the steps that are to be done; returns the last step of each finalist."""


class Plan(Protocol):
    """Budgets and settings of all trials; see `models.choice.auto.Auto`."""

    @property
    def first(self) -> int: ...  # noqa: D102
    def most_triples(self, task: Task) -> int: ...  # noqa: D102
    def factors(self, task: Task) -> Factors: ...  # noqa: D102
    def begun(self, task: Task) -> Sequence[tuple[Settings, Point | None]]: ...  # noqa: D102


class Rounds:
    """Trainings of many settings in rounds; one of each kind is trained to its end.

    Attributes
    ----------
    done : list of Trial
        Finished trainings.
    """

    def __init__(self, plan: Plan, task: Task) -> None:
        self._factors = plan.factors(task)
        begun = plan.begun(task)
        self._settings: list[Settings] = [settings for settings, _ in begun]
        self._points = {number: point for number, (_, point) in enumerate(begun) if point}
        pairs = len(task.train)
        self._budget = plan.most_triples(task)
        first = min(5 * pairs, max(plan.first, pairs // 10), self._budget)
        self._epoch = min(_EPOCH, first)
        # Rounds end with whole epochs: validations are where they are without a break.
        self._first = first - first % self._epoch
        self._drawn: Counter[int] = Counter()
        self._means: dict[int, float] = {}
        self._last: dict[int, Step] = {}
        self.done: list[Trial] = []

    def steps(self) -> Asking:
        """Yield the steps of all rounds; the last steps of the finalists, the best first."""
        begun = min(len(self._settings), max(1, self._budget // (3 * self._first)))
        left = yield from self._round(0, range(begun), self._first)
        third = left[: max(1, len(left) // 3)]
        going = dict.fromkeys([*third, *self._of_each_kind(left), *self._best_joined(left)])
        left = (yield from self._round(1, going, 3 * self._first)) or left
        finalists = self._of_each_kind(left)[:KINDS]
        for n, number in enumerate(finalists):
            room = self._room() // (len(finalists) - n)
            yield from self._finish(number, room, finalists[n + 1 :])
        finalists.sort(key=self._means.__getitem__, reverse=True)
        return [self._last[number] for number in finalists if number in self._last]

    def _room(self) -> int:
        """Triples of the budget that are not drawn."""
        return self._budget - self._drawn.total()

    def _round(
        self, number: int, trainings: Iterable[int], triples: int
    ) -> Generator[Steps, Sequence[TrialResult], list[int]]:
        """Train until each has drawn so many triples; those that went well, the best first."""
        room, steps = self._room(), []
        for training in trainings:
            more = triples - self._drawn[training]
            if more <= room:
                room -= more
                steps.append(self._step(training, number, triples))
        yield from self._do(steps)
        went = [step.number for step in steps if self._last.get(step.number) is step]
        return sorted(went, key=self._means.__getitem__, reverse=True)

    def _step(self, training: int, number: int, triples: int, start: Step | None = None) -> Step:
        settings, before = self._settings[training], self._drawn[training]
        return Step(training, number, settings, before, triples, self._epoch, start)

    def _do(
        self, steps: Sequence[Step], ahead: Sequence[Step] = ()
    ) -> Generator[Steps, Sequence[TrialResult], None]:
        if not steps:
            return
        for step, went in zip(steps, (yield Steps(steps, ahead)), strict=True):
            if went.mean is None:
                self._drawn[step.number] = step.triples
                self._last.pop(step.number, None)
                continue
            self._drawn[step.number], self._means[step.number] = went.triples, went.mean
            self._last[step.number] = step
            triples = went.triples - step.before
            self.done.append(Trial(step.round, _as_json(step.settings), triples, went.mean))

    def _of_each_kind(self, trainings: Sequence[int]) -> list[int]:
        """Return the first of each kind: early and late, not the same kind leads."""
        kinds: dict[str, int] = {}
        for training in trainings:
            kinds.setdefault(_kind(self._settings[training]), training)
        return list(kinds.values())

    def _best_joined(self, trainings: Sequence[int]) -> list[int]:
        """Add the settings that join the best value of each thing, in the two best kinds."""
        means = {self._points[n]: self._means[n] for n in trainings if n in self._points}
        first = self._points[next(iter(self._points))]
        if first not in means:
            return []
        best = best_of_each(means, {})
        others = {point[DIAGONAL] for point in means} - {best[DIAGONAL]}
        points = [best]
        if others:
            points.append(best_of_each(means, {DIAGONAL: list(others)}))
        added = []
        for point in points:
            if point not in self._points.values():
                added.append(len(self._settings))
                self._points[added[-1]] = point
                self._settings.append(joined(self._factors, point))
        return added

    def _finish(
        self, number: int, triples: int, later: Sequence[int]
    ) -> Generator[Steps, Sequence[TrialResult], None]:
        """Train until validation ends it; with WARP, for two thirds, and then without.

        WARP sees to the head of the lists alone; what is better stays. Those that are finished
        later have at least as much room, so that they may be begun.
        """
        before, most = self._drawn[number], self._most(number, triples)
        if most <= before:
            return
        ahead = [self._ahead(other, triples) for other in later]
        step = self._step(number, 2, most)
        yield from self._do([step], [one for one in ahead if one.triples > one.before])
        more = triples - (self._drawn[number] - before)
        settings = self._settings[number]
        if self._last.get(number) is not step or not settings.get("warp") or more <= 0:
            return
        rates = tuple(round(_POLISH * rate, 9) for rate in settings["rates"])
        polished = len(self._settings)
        self._settings.append({**settings, **PLAIN, "rates": rates})
        yield from self._do([self._step(polished, 3, more, start=step)])
        if polished in self._last and self._means[polished] > self._means[number]:
            self._last[number], self._means[number] = self._last[polished], self._means[polished]

    def _most(self, number: int, triples: int) -> int:
        """Return what a training has drawn after so many more, but for those without WARP."""
        share = triples * 2 // 3 if self._settings[number].get("warp") else triples
        return self._drawn[number] + share

    def _ahead(self, number: int, triples: int) -> Step:
        """Return a step of whole epochs, whose state any longer one goes on from."""
        most = self._most(number, triples) - self._drawn[number]
        return self._step(number, 2, self._drawn[number] + most - most % self._epoch)


def _kind(settings: Settings) -> str:
    """Return the words that a diagonal reads, or else the model: sums of two kinds are tried."""
    return str(settings.get("diagonal_view") or settings.get("model", ""))


def _as_json(settings: Settings) -> Settings:
    return {n: list(v) if isinstance(v, tuple) else v for n, v in settings.items()}
