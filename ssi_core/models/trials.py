"""The rounds of `models.auto`: trainings that are begun, the best that go on, two to their end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ssi_core.models.base import Course, FittedModel
from ssi_core.models.halves import Halves
from ssi_core.models.star import Settings, best_of_each, joined
from ssi_core.training.descend import Diverged

if TYPE_CHECKING:
    from ssi_core.models.auto import Auto

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


class Trials:
    """Trainings of many settings in rounds; one of each kind is trained to its end.

    Attributes
    ----------
    done : list of Trial
    """

    def __init__(self, auto: Auto, halves: Halves, seed: int, course: Course) -> None:
        task = halves.learning
        self._auto, self._halves, self._seed, self._course = auto, halves, seed, course
        self._factors = auto.factors(task)
        begun = auto.begun(task)
        self._settings: list[Settings] = [settings for settings, _ in begun]
        self._places = {number: place for number, (_, place) in enumerate(begun) if place}
        pairs = len(task.train)
        self._budget = min(auto.budget, auto.visits * pairs)
        self._first = min(5 * pairs, max(auto.first, pairs // 10), self._budget)
        self._fits: dict[int, FittedModel] = {}
        self._drawn: Counter[int] = Counter()
        self._means: dict[int, float] = {}
        self.done: list[Trial] = []

    def run(self) -> list[FittedModel]:
        """Return one training of each kind, the best first; none where no training went well."""
        begun = min(len(self._settings), max(1, self._budget // (3 * self._first)))
        left = self._round(0, range(begun), self._first)
        third = left[: max(1, len(left) // 3)]
        going = dict.fromkeys([*third, *self._of_each_kind(left), *self._best_joined(left)])
        left = self._round(1, going, 3 * self._first) or left
        finalists = self._of_each_kind(left)[:KINDS]
        for n, number in enumerate(finalists):
            room = self._budget - self._drawn.total()
            self._finish(number, room // (len(finalists) - n))
        finalists.sort(key=self._means.__getitem__, reverse=True)
        finalists = [number for number in finalists if number in self._fits]
        return [self._fits[number] for number in finalists]

    def _round(self, number: int, trainings: Iterable[int], triples: int) -> list[int]:
        """Train until each has drawn so many triples; return those that went well, best first."""
        went: list[int] = []
        for training in trainings:
            if triples - self._drawn[training] > self._budget - self._drawn.total():
                continue
            if self._train(training, triples, number):
                went.append(training)
            went.sort(key=self._means.__getitem__, reverse=True)
            for other in self._fits.keys() - self._of_each_kind(went):
                del self._fits[other]  # its checkpoint stays
        return went

    def _of_each_kind(self, trainings: Sequence[int]) -> list[int]:
        """Return the first of each kind: early and late, not the same kind leads."""
        kinds: dict[str, int] = {}
        for training in trainings:
            kinds.setdefault(_kind(self._settings[training]), training)
        return list(kinds.values())

    def _best_joined(self, trainings: Sequence[int]) -> list[int]:
        """Add the settings that join the best value of each thing, in the two best kinds."""
        means = {self._places[n]: self._means[n] for n in trainings if n in self._places}
        first = self._places[next(iter(self._places))]
        if first not in means:
            return []
        best = best_of_each(means, {})
        others = {place[DIAGONAL] for place in means} - {best[DIAGONAL]}
        places = [best]
        if others:
            places.append(best_of_each(means, {DIAGONAL: list(others)}))
        added = []
        for place in places:
            if place not in self._places.values():
                added.append(len(self._settings))
                self._places[added[-1]] = place
                self._settings.append(joined(self._factors, place))
        return added

    def _finish(self, number: int, triples: int) -> None:
        """Train until validation ends it; with WARP, for two thirds, and then without.

        WARP sees to the head of the lists alone; what is better stays.
        """
        before, warp = self._drawn[number], self._settings[number].get("warp", False)
        most = before + (triples * 2 // 3 if warp else triples)
        if most <= before or not self._train(number, most, 2):
            return
        more = triples - (self._drawn[number] - before)
        if not warp or more <= 0:
            return
        fit, mean = self._fits[number], self._means[number]
        rates = tuple(round(_POLISH * rate, 9) for rate in self._settings[number]["rates"])
        polished = len(self._settings)
        self._settings.append({**self._settings[number], **PLAIN, "rates": rates})
        if self._train(polished, more, 3, start=fit) and self._means[polished] > mean:
            self._fits[number], self._means[number] = self._fits[polished], self._means[polished]

    def _train(
        self, number: int, triples: int, round_: int, start: FittedModel | None = None
    ) -> bool:
        """Go on with a training until it has drawn so many triples; tell whether it went well."""
        assert self._course.checkpoint is not None
        settings, before = self._settings[number], self._drawn[number]
        others = self._drawn.total() - before

        def watch(step: int, metrics: Mapping[str, float]) -> None:
            if self._course.watch is not None and step > before:
                self._course.watch(others + step, metrics)

        checkpoint = self._course.checkpoint / f"configuration_{number}"
        course = replace(self._course, start=start, checkpoint=checkpoint, watch=watch)
        schedule = {
            "budget": triples,
            "epoch": min(_EPOCH, self._first),
            "validation_queries": self._halves.sizes[0],
        }
        model = self._auto.trained({**settings, **schedule})
        self._fits.pop(number, None)
        try:
            fit = model.learn(self._halves.learning, np.random.default_rng(self._seed), course)
        except Diverged:
            self._drawn[number] = triples
            return False
        self._fits[number] = fit
        self._drawn[number] = int(fit.facts["triples"])
        mean = self._means[number] = self._halves.mean(fit)
        self.done.append(Trial(round_, _as_json(settings), self._drawn[number] - before, mean))
        return True


def _kind(settings: Settings) -> str:
    """Return the words that a diagonal reads, or else the model: sums of two kinds are tried."""
    return str(settings.get("diagonal_view") or settings.get("model", ""))


def _as_json(settings: Settings) -> Settings:
    return {n: list(v) if isinstance(v, tuple) else v for n, v in settings.items()}
