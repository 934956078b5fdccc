"""A model that validation chooses: whether to learn at all, what to learn from, and how.

The queries of validation are divided into two halves. Trainings are begun that differ in one thing
each (`models.star`). The best third, and what joins the best value of each thing, goes on with
three times the triples. The best, and the best whose diagonal reads other weights, are trained to
their end: what leads early need not lead late, and two such models have a better sum. The first
half judges, and validates the trainings, too. The winner, alone or in a sum with the other or with
the best model that learns nothing from pairs, is taken if it is better than that model on the
second half, which had no part in the choice; else the untrained one is. So a few pairs, from which
nothing can be learnt, do no harm.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ssi_core.models.base import Course, FittedModel, Model, UnfitStart, parse
from ssi_core.models.bilinear import Bilinear
from ssi_core.models.bm25 import Bm25
from ssi_core.models.bounds import Count, Dimensions, Part, Rate, Triples, Values, Weight
from ssi_core.models.cl_lsi import ClLsi
from ssi_core.models.halves import Halves
from ssi_core.models.lsi import Lsi, LsiMixture
from ssi_core.models.mixture import Mixture
from ssi_core.models.multi_task import MultiTask
from ssi_core.models.softmax import Softmax
from ssi_core.models.star import Factors, Place, Settings, best_of_each, joined, star
from ssi_core.models.tfidf import TfIdf
from ssi_core.models.untrained import DIMENSIONS, LSI_VIEW, is_shared, untrained
from ssi_core.resources import Cost
from ssi_core.training.descend import Diverged
from ssi_core.types import Task

_SAME: Settings = {
    "init_std": 0.01,
    "diagonal_rate": 20.0,
    "patience": 6,
    "decays": 2,
    "rate_by": "validation",
}
_PLAIN: Settings = {"negatives": 16, "warp": False}
_WARP: Settings = {"negatives": 50, "warp": True}
_OF_WARP = 0.1
"""Its rates as a share of the plain ones: a step is up to ``1 + 1/2 + ...`` times as long."""
_POLISH = 4.0
"""Rate of the last steps, without WARP, as a multiple of the rate with it."""
KNOWN: Settings = {
    "diagonal": "learned",
    "diagonal_view": "sublinear",
    "view": "sublinear:50",
    "margin": 0.1,
    **_PLAIN,
    "rates": (0.05,),
    "negatives_power": 0.0,
}
"""Settings that are begun with wherever they are among the values: about those of `SSI()`."""
_LISTED = ("diagonal_view", "view", "margin", "rates", "negatives_power")
_NO_DIAGONAL: Settings = {"diagonal": "none"}
_JOINED = 2
"""Settings that join what is best of each thing, in two kinds."""
_DIAGONAL = 2
"""Number of the factor that says which words the diagonal reads (`Auto.factors`)."""
_KINDS = 2
"""Kinds of trainings, of each of which one is trained to its end (`_kind`)."""
_EPOCH = 50_000
_SCHEDULE = ("budget", "epoch", "validation_queries", "stop_by")
_BETAS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_OF_MATES: tuple[Settings, ...] = tuple(
    {"model": "softmax", "view": LSI_VIEW, "temperature": temperature, "rates": (rate,)}
    for temperature in (0.1, 0.05)
    for rate in (0.003, 0.001)
)
"""Settings that are begun with where the two sides have no word in common."""


@dataclass(frozen=True)
class Auto(Model):
    """The best of many trainings, or of the models that need none, by validation.

    What is returned is the model that was chosen; its facts say what was tried. A curve has all
    trainings, one after the other.

    Parameters
    ----------
    measure : str
        Mean that chooses, over queries of validation.
    budget : int
        Triples of all trainings together, at most.
    visits : int
        The same for each training pair: a task with few pairs has a smaller budget.
    first : int
        Triples of each training in the first round, or a tenth of the pairs, if that is more; of
        few pairs, five for each. As many are begun as a third of the budget has room for.
    level : float
        The trained model is taken if it is better on the second half of validation with a
        one-sided p below this level (paired randomisation).
    dimensions : int
        Rank of U and V.
    validation_queries : int
        Queries of validation that choose, both halves together.
    view, diagonal_view, alpha, margin, rates, negatives_power : list
        Values that are tried; see `Bilinear`. A training is begun with the first ones, and one with
        each other value in the place of a first. The diagonal is a weight for each word or one of
        the alphas, and ``W = D`` is among them. Of a task with two vocabularies `Softmax` is tried
        first, and the diagonal reads translated words, where the task has such a view.
    """

    name: ClassVar[str] = "auto"
    measure: Literal["map", "ndcg_at_10", "mrr"] = "map"
    budget: Triples = 10_000_000
    visits: Count = 200
    first: Triples = 50_000
    level: Part = 0.05
    dimensions: Dimensions = 100
    validation_queries: Count = 2_000
    view: Values[str] = ("sublinear:50", "sublinear:200")
    diagonal_view: Values[str] = ("raw", "bm25", "sublinear")
    alpha: Values[Weight] = (1.0, 3.0)
    margin: Values[Weight] = (0.03, 0.1, 0.3)
    rates: Values[Rate] = (0.05, 0.02)
    negatives_power: Values[Weight] = (0.0, 0.5)

    def factors(self, task: Task) -> Factors:
        """Return the values of each thing that is tried on a task, the most important first.

        Of a task that has other kinds of queries beside its own (`tasks.beside`), to learn these,
        too, is one of them.
        """
        words = self.words(task)
        shown = task.train.weighing == "shown"  # no negative is drawn by a power of the in-degree
        steps: list[Settings] = [
            {**loss, "rates": (round(rate * share, 9),)}
            for rate in self.rates
            for loss, share in ((_WARP, _OF_WARP), (_PLAIN, 1.0))
        ]
        alphas: list[Settings] = [{"diagonal": "alpha", "alpha": alpha} for alpha in self.alpha]
        kinds: list[Settings] = [{"diagonal": "learned"}, *alphas] if words else [_NO_DIAGONAL]
        beside: list[Settings] = [{}]
        if task.auxiliary and is_shared(task, LSI_VIEW):
            beside.append({"beside": tuple(sorted(task.auxiliary))})
        return (
            [{"against": "shown"} if shown else {"stop_by": self.measure}],
            steps,
            [{"diagonal_view": view} for view in words] or [{}],
            beside,
            *([{name: value} for value in getattr(self, name)] for name in ("margin", "view")),
            [{"negatives_power": power} for power in ((0.0,) if shown else self.negatives_power)],
            kinds,
        )

    def begun(self, task: Task) -> list[tuple[Settings, Place | None]]:
        """Return the settings that are begun with, the most important first, and their places.

        The first values of all; each other one in the place of a first (`models.star`); `KNOWN`
        and ``W = D``, if words have weights. Of two vocabularies `Softmax` comes first.
        """
        factors = self.factors(task)
        places = star([len(factor) for factor in factors])
        several = sum(1 for factor in factors if len(factor) > 1)
        begun: list[tuple[Settings, Place | None]] = [(joined(factors, p), p) for p in places]
        if words := self.words(task):
            plain = {**begun[0][0], **_PLAIN, "rates": (self.rates[0],)}
            more: list[Settings] = [{**plain, "form": "zero"}]
            if KNOWN["diagonal_view"] in words and self._has(KNOWN):
                more.insert(0, {**plain, **KNOWN})
            begun[several + 1 : several + 1] = [(settings, None) for settings in more]
        if not is_shared(task, LSI_VIEW):
            begun[:0] = [(settings, None) for settings in _OF_MATES]
        return begun

    def _has(self, settings: Settings) -> bool:
        named = {name: value for name, value in settings.items() if name in _LISTED}
        return all(
            set(value if isinstance(value, tuple) else (value,)) <= set(getattr(self, name))
            for name, value in named.items()
        )

    def trained(self, settings: Settings) -> Model:
        """Return the model of some settings."""
        if settings.get("model") == Softmax.name:
            values = {name: value for name, value in settings.items() if name != "model"}
            return parse(Softmax, values)
        kind = MultiTask if "beside" in settings else Bilinear
        return parse(kind, {**_SAME, "dimensions": self.dimensions, **settings})

    def words(self, task: Task) -> list[str]:
        """Return the views of the diagonal that a task has, or else those of translated words."""
        views = [view for view in self.diagonal_view if is_shared(task, view)]
        return views or [view for view in sorted(task.queries.views) if is_shared(task, view)]

    def views(self) -> set[str]:
        """Views of all models that are tried."""
        return {*self.view, *self.diagonal_view, LSI_VIEW, "counts"}

    def kinds(self) -> tuple[type[Model], ...]:
        """Return its own class, and those of all that are tried."""
        learnt = Bilinear, MultiTask, Softmax, Mixture
        return type(self), Bm25, TfIdf, Lsi, LsiMixture, ClLsi, *learnt

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of a fit: trainings go on from their checkpoints, one at a time."""
        costs = [model.cost(task, threads) for model in self._largest(task)]
        memory = 2 * max(cost.memory for cost in costs)
        return Cost(memory, (len(self.begun(task)) + _JOINED + _KINDS) * costs[0].disk)

    def vector_shape(self, task: Task) -> tuple[int, int]:
        """Return the largest of what may be chosen: a mixture."""
        shapes = [model.vector_shape(task) for model in self._largest(task)]
        dense, nonzeros = zip(*shapes, strict=True)
        return 2 * max(dense), 2 * max(nonzeros)

    def _largest(self, task: Task) -> tuple[Model, ...]:
        """Return a training, and the untrained model that takes most."""
        trained = self.trained(self.begun(task)[0][0])
        if is_shared(task, LSI_VIEW):
            return trained, LsiMixture(LSI_VIEW, self.words(task)[0], DIMENSIONS)
        return trained, ClLsi(LSI_VIEW, DIMENSIONS)

    def learn(self, task: Task, rng: np.random.Generator, course: Course) -> FittedModel:
        """Choose as the head of this file says; ``start`` is refused, for it is of one model."""
        if course.start is not None:
            raise UnfitStart("start: 'auto' begins anew; retrain the model that it chose")
        halves = Halves(task, self.measure, self.validation_queries, course.threads)
        seed = int(rng.integers(2**63))
        unlearned = list(untrained(task, self.words(task), halves, rng))
        base, _ = max(unlearned, key=lambda one: one[1])
        facts: dict[str, Any] = {
            "measure": self.measure,
            "queries": list(halves.sizes),
            "untrained": [{"model": label(fit.model), "mean": mean} for fit, mean in unlearned],
        }
        with tempfile.TemporaryDirectory(prefix="ssi-auto-") as place:
            kept = course.checkpoint or Path(place)
            trials = _Trials(self, halves, seed, replace(course, checkpoint=kept))
            trained = trials.run()
        facts["trials"] = [one._asdict() for one in trials.done]
        facts["triples"] = sum(one.triples for one in trials.done)
        chosen, p, why = base, 1.0, "no training went well"
        if trained:
            best = self._mixed(task, halves, trained, base)
            better, p = halves.test(best, base, self.level)
            chosen = best if better else base
            why = (
                f"better than the best untrained model on the second half of validation (p {p:.2g})"
                if better
                else f"no trained model is better on the second half of validation (p {p:.2g})"
            )
        choice = label(chosen.model)
        chosen.facts.update(choice=choice, auto={**facts, "p": p, "reason": why})
        chosen.facts.setdefault("triples", 0)
        return chosen

    def _mixed(
        self, task: Task, halves: Halves, trained: Sequence[FittedModel], base: FittedModel
    ) -> FittedModel:
        """Return the best training, or its sum with another model where that is better.

        The other one is the untrained model, or a training of another kind.
        """
        winner, best, sum_ = trained[0], halves.mean(trained[0]), None
        weights = [(1.0, beta) for beta in _BETAS]
        for other in (base, *trained[1:]):
            means = halves.means_of_sums(winner, other, weights, learned=True)
            n = int(np.argmax(means))
            if means[n] > best:
                best, sum_ = means[n], (other, weights[n][1])
        if sum_ is None:
            return winner
        other, beta = sum_
        parts = tuple(
            {"model": fit.model.name, **_parameters(fit.model)} for fit in (winner, other)
        )
        return Mixture(parts, betas=_BETAS).sum_of(task, (winner, other), beta)


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


class _Trials:
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
        finalists = self._of_each_kind(left)[:_KINDS]
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
        others = {place[_DIAGONAL] for place in means} - {best[_DIAGONAL]}
        places = [best]
        if others:
            places.append(best_of_each(means, {_DIAGONAL: list(others)}))
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
        self._settings.append({**self._settings[number], **_PLAIN, "rates": rates})
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


def label(model: Model) -> str:
    """Return a model in words: its name, and what is not as it is by default.

    >>> label(TfIdf("sublinear"))
    'tfidf view=sublinear'
    """
    if isinstance(model, Mixture):
        return " + ".join(label(part) for part in model.models())
    default = {field.name: field.default for field in fields(model)}
    differing = (
        f"{name}={value}"
        for name, value in _parameters(model).items()
        if value != default[name] and name not in {*_SAME, *_SCHEDULE}
    )
    return " ".join([model.name, *differing])


def _parameters(model: Model) -> dict[str, Any]:
    return {field.name: getattr(model, field.name) for field in fields(model)}
