"""A model that validation chooses: whether to learn at all, what to learn from, and how.

The queries of validation are divided into two halves. Trainings of many settings are begun and the
best third goes on with three times the triples (successive halving: Jamieson and Talwalkar 2016),
judged on the first half. The winner, alone or mixed with the best model that learns nothing from
pairs, is taken if it is better than that one on the second half, which had no part in the choice;
else the untrained one is. So a few pairs, from which nothing can be learnt, do no harm.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from ssi_core.evaluation.evaluate import Validator
from ssi_core.evaluation.measures import MEASURES
from ssi_core.evaluation.significance import paired_randomisation
from ssi_core.models.base import Course, FittedModel, Model, UnfitStart, parse
from ssi_core.models.bilinear import Bilinear
from ssi_core.models.bm25 import Bm25
from ssi_core.models.bounds import Count, Dimensions, Part, Rate, Triples, Values, Weight
from ssi_core.models.lsi import LsiMixture
from ssi_core.models.mixture import Mixture
from ssi_core.models.multi_task import MultiTask
from ssi_core.models.tfidf import TfIdf
from ssi_core.models.trained import same_space
from ssi_core.resources import Cost
from ssi_core.training.descend import Diverged
from ssi_core.types import Float64, Task

Settings: TypeAlias = Mapping[str, Any]

_SAME: Settings = {
    "init_std": 0.01,
    "diagonal_rate": 20.0,
    "negatives": 8,
    "epoch": 50_000,
    "patience": 10,
    "rate_by": "validation",
}
_OF_LSI, _DIMENSIONS_OF_LSI = "sublinear", (100, 300)
_BETAS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Auto(Model):
    """The best of many trainings, or of the models that need none, by validation.

    What is returned is the model that was chosen; its facts say what was tried.

    Parameters
    ----------
    measure : str
        Mean that chooses, over queries of validation.
    budget : int
        Triples of all trainings together, at most.
    configurations : int
        Settings that are begun with, or as many as the budget has for the first round.
    first : int
        Triples of each of them in the first round; in each further round a third is left, with
        three times the triples.
    level : float
        The trained model is taken if it is better on the second half of validation with a
        one-sided p below this level (paired randomisation).
    dimensions : int
        Rank of U and V.
    validation_queries : int
        Queries of validation that choose, both halves together.
    view, diagonal_view, alpha, margin, rates, negatives_power : list
        Values that trainings have, of all combinations of which a draw is tried; see `Bilinear`.
        The diagonal is a weight for each word or one of the alphas, and ``W = D`` is among them.
    """

    name: ClassVar[str] = "auto"
    measure: Literal["map", "ndcg_at_10", "mrr"] = "map"
    budget: Triples = 10_000_000
    configurations: Count = 27
    first: Triples = 50_000
    level: Part = 0.05
    dimensions: Dimensions = 100
    validation_queries: Count = 2_000
    view: Values[str] = ("sublinear:50", "sublinear:200")
    diagonal_view: Values[str] = ("sublinear", "bm25")
    alpha: Values[Weight] = (1.0, 3.0)
    margin: Values[Weight] = (0.1, 0.3, 0.03)
    rates: Values[Rate] = (0.03, 0.1, 0.01)
    negatives_power: Values[Weight] = (0.0, 0.5, 1.0)

    def untrained(self) -> tuple[Model, ...]:
        """Return the models that learn nothing from pairs, but for the numbers of a mixture."""
        words = dict.fromkeys([*self.diagonal_view, "raw"])
        return (
            Bm25(),
            *map(TfIdf, words),
            *(LsiMixture(_OF_LSI, view, _DIMENSIONS_OF_LSI) for view in self.diagonal_view),
        )

    def settings(self, task: Task, seed: int) -> list[Settings]:
        """Return the settings that are begun with: the first values of all, and a draw.

        Of a task that has other kinds of queries beside its own (`tasks.beside`), every second one
        learns these, too.
        """
        every = list(self._every())
        if task.train.weighing == "shown":  # no negative is drawn by a power of the in-degree
            power = self.negatives_power[0]
            every = [one for one in every if one.get("negatives_power", power) == power]
        rng = np.random.default_rng(seed)
        others = rng.permutation(np.arange(1, len(every)))[: self.configurations - 1]
        always: Settings = {}
        if task.train.weighing == "shown":
            always = {"against": "shown", "negatives_power": 0.0}
        places = (0, *others.tolist())
        chosen: list[Settings] = [{**every[place], **always} for place in places]
        beside: Settings = {"beside": tuple(sorted(task.auxiliary))}
        if not task.auxiliary:
            return chosen
        return [{**one, **(beside if n % 2 and "form" not in one else {})}
                for n, one in enumerate(chosen)]  # fmt: skip

    def _every(self) -> Iterator[Settings]:
        diagonals: list[Settings] = []
        for view in self.diagonal_view:
            diagonals.append({"diagonal": "learned", "diagonal_view": view})
        for view, alpha in product(self.diagonal_view, self.alpha):
            diagonals.append({"diagonal": "alpha", "diagonal_view": view, "alpha": alpha})
        views, margins, powers = (
            [{name: value} for value in getattr(self, name)]
            for name in ("view", "margin", "negatives_power")
        )
        rates: list[Settings] = [{"rates": (rate,)} for rate in self.rates]
        low_rank = product(diagonals, views, margins, rates, powers)
        yield _joined(next(low_rank))
        for parts in product(diagonals[: len(self.diagonal_view)], margins[:1], rates):
            yield {"form": "zero", **_joined(parts)}
        yield from map(_joined, low_rank)

    def trained(self, settings: Settings) -> Bilinear:
        """Return the model of some settings."""
        kind = MultiTask if "beside" in settings else Bilinear
        model = parse(kind, {**_SAME, "dimensions": self.dimensions, **settings})
        assert isinstance(model, Bilinear)
        return model

    def views(self) -> set[str]:
        """Views of all models that are tried."""
        trained = set(self.view) | set(self.diagonal_view)
        return trained.union(*(model.views() for model in self.untrained()))

    def kinds(self) -> tuple[type[Model], ...]:
        """Return its own class, and those of all that are tried."""
        tried = {type(model): None for model in self.untrained()}
        return (type(self), *tried, Bilinear, MultiTask, Mixture)

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of a fit: trainings go on from their checkpoints, one at a time."""
        trained = self.trained(next(self._every())).cost(task, threads)
        costs = [trained, *(model.cost(task, threads) for model in self.untrained())]
        memory = 2 * max(cost.memory for cost in costs)
        return Cost(memory, self.configurations * trained.disk)

    def vector_shape(self, task: Task) -> tuple[int, int]:
        """Return the largest of what may be chosen: a mixture."""
        trained = self.trained(next(self._every()))
        shapes = [model.vector_shape(task) for model in (trained, *self.untrained())]
        dense, nonzeros = zip(*shapes, strict=True)
        return 2 * max(dense), 2 * max(nonzeros)

    def learn(self, task: Task, rng: np.random.Generator, course: Course) -> FittedModel:
        """Choose as the head of this file says; ``start`` is refused, for it is of one model."""
        if course.start is not None:
            raise UnfitStart("start: 'auto' begins anew; retrain the model that it chose")
        same_space(task, "raw", "model 'auto'")
        judge = _Judge(task, self.measure, self.validation_queries, course.threads)
        seed = int(rng.integers(2**63))
        untrained = [model.learn(task, rng, replace(course, watch=None, checkpoint=None))
                     for model in self.untrained()]  # fmt: skip
        values = [judge.values(fit) for fit in untrained]
        best = int(np.argmax([value.mean() for value in values]))
        base, of_base = untrained[best], values[best]
        facts: dict[str, Any] = {
            "measure": self.measure,
            "queries": [len(judge.choosing), len(judge.keeping)],
            "untrained": [
                {"model": label(fit.model), "mean": float(value.mean())}
                for fit, value in zip(untrained, values, strict=True)
            ],
        }
        with tempfile.TemporaryDirectory(prefix="ssi-auto-") as place:
            kept = course.checkpoint or Path(place)
            tried, winner = self._halve(task, seed, replace(course, checkpoint=kept), judge)
        facts["trials"] = [one._asdict() for one in tried]
        facts["triples"] = sum(one.triples for one in tried)
        chosen, p, why = base, 1.0, "no training went well"
        if winner is not None:
            chosen, p = self._better(task, judge, winner, base, of_base)
            why = (
                f"better than the best untrained model on the second half of validation (p {p:.2g})"
                if chosen is not base
                else f"no trained model is better on the second half of validation (p {p:.2g})"
            )
        choice = label(chosen.model)
        chosen.facts.update(choice=choice, auto={**facts, "p": p, "reason": why})
        chosen.facts.setdefault("triples", 0)
        return chosen

    def _halve(
        self, task: Task, seed: int, course: Course, judge: _Judge
    ) -> tuple[list[Trial], FittedModel | None]:
        """Train by successive halving; return all trials and the model that is left."""
        assert course.checkpoint is not None
        settings = self.settings(task, seed)[: max(1, self.budget // self.first)]
        trials: list[Trial] = []
        left = list(range(len(settings)))
        spent = dict.fromkeys(left, 0)
        triples, round_, fits = self.first, 0, {}
        while left:
            last = len(left) == 1
            if last:
                triples = self.budget - sum(spent.values()) + spent[left[0]]
                if triples <= spent[left[0]]:
                    break
            scores: dict[int, float] = {}
            for number in left:
                model = self.trained({**settings[number], "budget": triples})
                at = course.checkpoint / f"configuration_{number}"
                watch = course.watch if last else None
                one = replace(course, checkpoint=at, watch=watch)
                try:
                    fits[number] = model.learn(task, np.random.default_rng(seed), one)
                except Diverged:
                    scores[number] = -np.inf
                    continue
                done = int(fits[number].facts["triples"])
                scores[number] = float(judge.values(fits[number])[judge.choosing].mean())
                trials.append(
                    Trial(round_, _as_json(settings[number]), done - spent[number],
                          scores[number])
                )  # fmt: skip
                spent[number] = done
            order = sorted(left, key=lambda number: -scores[number])
            left = [n for n in order if np.isfinite(scores[n])][: max(1, len(left) // 3)]
            for number in set(fits) - set(left):
                del fits[number]
            if last:
                break
            triples, round_ = 3 * triples, round_ + 1
            left = self._affordable(left, spent, triples)
        return trials, fits.get(left[0]) if left else None

    def _affordable(self, left: list[int], spent: Mapping[int, int], triples: int) -> list[int]:
        """Return those that can go on to so many triples within the budget; one always can."""
        room = self.budget - sum(spent.values())
        kept = left[:1]
        room -= triples - spent[left[0]] if left else 0
        for number in left[1:]:
            room -= triples - spent[number]
            if room < 0:
                break
            kept.append(number)
        return kept

    def _better(
        self, task: Task, judge: _Judge, winner: FittedModel, base: FittedModel, of_base: Float64
    ) -> tuple[FittedModel, float]:
        """Return what is better than the untrained model, or that, and p."""
        half, other = judge.choosing, judge.keeping
        best, values = winner, judge.values(winner)
        for mixed in _mixtures(task, winner, base):
            one = judge.values(mixed)
            if one[half].mean() > values[half].mean():
                best, values = mixed, one
        p = paired_randomisation(values[other], of_base[other], alternative="greater")
        taken = p < self.level and values[other].mean() > of_base[other].mean()
        return (best if taken else base), p


class Trial(NamedTuple):
    """A training in one round.

    Attributes
    ----------
    round : int
        From 0 on.
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


class _Judge:
    """A measure of the queries of validation, in two halves that do not depend on the models.

    Attributes
    ----------
    choosing, keeping : int64 array
        Places of the queries that choose among trainings, and of those that decide whether the
        choice is kept.
    """

    def __init__(self, task: Task, measure: str, queries: int, threads: int) -> None:
        self._validator = Validator(task, "valid", queries, threads=threads)
        self._measure = MEASURES[measure]
        order = np.random.default_rng(0).permutation(len(self._validator))
        self.choosing, self.keeping = np.array_split(order, 2)

    def values(self, fit: FittedModel) -> Float64:
        """Return the measure of each query."""
        return np.asarray(self._measure(self._validator.ranks(fit)), np.float64)


def _joined(parts: Sequence[Settings]) -> Settings:
    return {name: value for part in parts for name, value in part.items()}


def _as_json(settings: Settings) -> Settings:
    return {n: list(v) if isinstance(v, tuple) else v for n, v in settings.items()}


def _mixtures(task: Task, trained: FittedModel, other: FittedModel) -> Iterator[FittedModel]:
    """Yield the sums of a trained and an untrained model, with each weight of the second."""
    parts = tuple({"model": fit.model.name, **_parameters(fit.model)} for fit in (trained, other))
    mixture = Mixture(parts, betas=_BETAS)
    yield from (mixture.sum_of(task, (trained, other), beta) for beta in mixture.betas)


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
        if value != default[name] and name not in _SAME and name != "budget"
    )
    return " ".join([model.name, *differing])


def _parameters(model: Model) -> dict[str, Any]:
    return {field.name: getattr(model, field.name) for field in fields(model)}
