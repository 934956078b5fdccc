"""A model that validation chooses: whether to learn at all, what to learn from, and how.

The queries of validation are divided into two halves. Trainings of many settings are begun and the
best third goes on with three times the triples (`models.halving`), judged on the first half, where
they are validated, too. The winner, alone or mixed with the best model that learns nothing from
pairs, is taken if it is better than that one on the second half, which had no part in the choice;
else the untrained one is. So a few pairs, from which nothing can be learnt, do no harm.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from ssi_core.models.base import Course, FittedModel, Model, UnfitStart, parse
from ssi_core.models.bilinear import Bilinear
from ssi_core.models.bm25 import Bm25
from ssi_core.models.bounds import Count, Dimensions, Part, Rate, Triples, Values, Weight
from ssi_core.models.cl_lsi import ClLsi
from ssi_core.models.halves import Halves
from ssi_core.models.halving import halve
from ssi_core.models.lsi import Lsi, LsiMixture
from ssi_core.models.mixture import Mixture
from ssi_core.models.multi_task import MultiTask
from ssi_core.models.softmax import Softmax
from ssi_core.models.tfidf import TfIdf
from ssi_core.models.untrained import DIMENSIONS, LSI_VIEW, is_shared, untrained
from ssi_core.resources import Cost
from ssi_core.training.descend import Diverged
from ssi_core.types import Task

Settings: TypeAlias = Mapping[str, Any]

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
_EPOCH = 50_000
_SCHEDULE = ("budget", "epoch", "validation_queries", "stop_by")
_BETAS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_OF_MATES: tuple[Settings, ...] = tuple(
    {"model": "softmax", "view": LSI_VIEW, "temperature": temperature, "rates": (rate,)}
    for temperature, rate in product((0.1, 0.05), (0.003, 0.001))
)
"""Settings that are begun with where the two sides have no word in common."""


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
    visits : int
        The same for each training pair: a task with few pairs has a smaller budget.
    configurations : int
        Settings that are begun with, or as many as a third of the budget has for the first round.
    first : int
        Triples of each of them in the first round, or a tenth of the pairs, if that is more; of few
        pairs, five for each. In each further round a third is left, with three times the triples.
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
        Of a task with two vocabularies `Softmax` is tried first, and the diagonal reads translated
        words, where the task has such a view.
    """

    name: ClassVar[str] = "auto"
    measure: Literal["map", "ndcg_at_10", "mrr"] = "map"
    budget: Triples = 10_000_000
    visits: Count = 100
    configurations: Count = 12
    first: Triples = 50_000
    level: Part = 0.05
    dimensions: Dimensions = 100
    validation_queries: Count = 2_000
    view: Values[str] = ("sublinear:200", "sublinear:50")
    diagonal_view: Values[str] = ("raw", "sublinear", "bm25")
    alpha: Values[Weight] = (1.0, 3.0)
    margin: Values[Weight] = (0.03, 0.1, 0.3)
    rates: Values[Rate] = (0.05, 0.02)
    negatives_power: Values[Weight] = (0.0, 0.5)

    def settings(self, task: Task, seed: int) -> list[Settings]:
        """Return the settings that are begun with: the first values of all, `KNOWN`, and a draw.

        Of a task that has other kinds of queries beside its own (`tasks.beside`), every second one
        learns these, too.
        """
        every = list(self._every(self.words(task)))
        if task.train.weighing == "shown":  # no negative is drawn by a power of the in-degree
            power = self.negatives_power[0]
            every = [one for one in every if one.get("negatives_power", power) == power]
        rng = np.random.default_rng(seed)
        places = [n for n, one in enumerate(every) if n == 0 or one == KNOWN]
        places += [n for n in rng.permutation(len(every)).tolist() if n not in places]
        always: Settings = {"stop_by": self.measure}
        if task.train.weighing == "shown":
            always = {"against": "shown", "negatives_power": 0.0}
        chosen: list[Settings] = [
            {**every[place], **always} for place in places[: self.configurations]
        ]
        if not is_shared(task, LSI_VIEW):
            return [*_OF_MATES, *chosen]
        beside: Settings = {"beside": tuple(sorted(task.auxiliary))}
        if not task.auxiliary:
            return chosen
        return [{**one, **(beside if n % 2 and "form" not in one else {})}
                for n, one in enumerate(chosen)]  # fmt: skip

    def _every(self, words: Sequence[str]) -> Iterator[Settings]:
        learned: list[Settings] = [{"diagonal": "learned", "diagonal_view": view} for view in words]
        diagonals = learned + [
            {"diagonal": "alpha", "diagonal_view": view, "alpha": alpha}
            for view, alpha in product(words, self.alpha)
        ]
        views, margins, powers = (
            [{name: value} for value in getattr(self, name)]
            for name in ("view", "margin", "negatives_power")
        )
        rates = [
            {**loss, "rates": (round(rate * share, 9),)}
            for rate in self.rates
            for loss, share in ((_WARP, _OF_WARP), (_PLAIN, 1.0))
        ]
        low_rank = product(diagonals or [{"diagonal": "none"}], views, margins, rates, powers)
        yield _joined(next(low_rank))
        for parts in product(learned, margins[:1], rates):
            yield {"form": "zero", **_joined(parts)}
        yield from map(_joined, low_rank)

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
        return Cost(memory, self.configurations * costs[0].disk)

    def vector_shape(self, task: Task) -> tuple[int, int]:
        """Return the largest of what may be chosen: a mixture."""
        shapes = [model.vector_shape(task) for model in self._largest(task)]
        dense, nonzeros = zip(*shapes, strict=True)
        return 2 * max(dense), 2 * max(nonzeros)

    def _largest(self, task: Task) -> tuple[Model, ...]:
        """Return a training, and the untrained model that takes most."""
        trained = self.trained(self.settings(task, 0)[0])
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
            winner = trials.run()
        facts["trials"] = [one._asdict() for one in trials.done]
        facts["triples"] = sum(one.triples for one in trials.done)
        chosen, p, why = base, 1.0, "no training went well"
        if winner is not None:
            best = self._mixed(task, halves, winner, base)
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
        self, task: Task, halves: Halves, winner: FittedModel, base: FittedModel
    ) -> FittedModel:
        """Return the winner, or its sum with the untrained model where that is better."""
        weights = [(1.0, beta) for beta in (0.0, *_BETAS)]
        means = halves.means_of_sums(winner, base, weights, learned=True)
        best = int(np.argmax(means))
        if best == 0:
            return winner
        parts = tuple({"model": fit.model.name, **_parameters(fit.model)} for fit in (winner, base))
        return Mixture(parts, betas=_BETAS).sum_of(task, (winner, base), weights[best][1])


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


class _Trials:
    """Trainings of many settings, by successive halving; the last one has what the budget leaves.

    Attributes
    ----------
    done : list of Trial
    """

    def __init__(self, auto: Auto, halves: Halves, seed: int, course: Course) -> None:
        task = halves.learning
        self._auto, self._halves, self._seed, self._course = auto, halves, seed, course
        self._settings = auto.settings(task, seed)
        pairs = len(task.train)
        self._budget = min(auto.budget, auto.visits * pairs)
        self._first = min(5 * pairs, max(auto.first, pairs // 10), self._budget)
        self._fits: dict[int, FittedModel] = {}
        self._drawn: dict[int, int] = {}
        self._rounds: Counter[int] = Counter()
        self.done: list[Trial] = []

    def run(self) -> FittedModel | None:
        """Return the winner, or None where no training went well."""
        begun = min(len(self._settings), self._budget // (3 * self._first))
        best, drawn = halve(begun, self._train, first=self._first, budget=self._budget)
        if best is None:
            return None
        more = self._budget - drawn
        if more > 0:
            warp = self._settings[best].get("warp", False)
            self._train(best, self._drawn[best] + (more * 2 // 3 if warp else more), last=True)
            more = self._budget - sum(self._drawn.values())
            if warp and more > 0 and best in self._fits:
                self._polish(best, more)
        return self._fits.get(best)

    def _polish(self, number: int, triples: int) -> None:
        """Go on without WARP, which sees to the head of the lists alone; keep what is better."""
        fit, mean = self._fits[number], self.done[-1].mean
        rates = tuple(round(_POLISH * rate, 9) for rate in self._settings[number]["rates"])
        self._settings.append({**self._settings[number], **_PLAIN, "rates": rates})
        self._rounds[len(self._settings) - 1] = self._rounds[number]
        if self._train(len(self._settings) - 1, triples, start=fit)[0] > mean:
            self._fits[number] = self._fits[len(self._settings) - 1]

    def _train(
        self, number: int, triples: int, *, last: bool = False, start: FittedModel | None = None
    ) -> tuple[float, int]:
        assert self._course.checkpoint is not None
        course = replace(
            self._course,
            start=start,
            checkpoint=self._course.checkpoint / f"configuration_{number}",
            watch=self._course.watch if last else None,
        )
        settings, before = self._settings[number], self._drawn.get(number, 0)
        schedule = {
            "budget": triples,
            "epoch": min(_EPOCH, self._first),
            "validation_queries": self._halves.sizes[0],
        }
        model = self._auto.trained({**settings, **schedule})
        try:
            fit = model.learn(self._halves.learning, np.random.default_rng(self._seed), course)
        except Diverged:
            self._fits.pop(number, None)
            self._drawn[number] = triples
            return -np.inf, triples
        self._fits[number] = fit
        self._drawn[number] = drawn = int(fit.facts["triples"])
        mean = self._halves.mean(fit)
        self.done.append(Trial(self._rounds[number], _as_json(settings), drawn - before, mean))
        self._rounds[number] += 1
        return mean, drawn


def _joined(parts: Sequence[Settings]) -> Settings:
    return {name: value for part in parts for name, value in part.items()}


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
