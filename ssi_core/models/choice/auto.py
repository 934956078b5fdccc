"""A model that validation chooses: whether to learn at all, what to learn from, and how.

The queries of validation are divided into two halves. Trainings are begun that differ in one thing
each (`selection.star`). The best third, and what joins the best value of each thing, goes on with
three times the triples. The best, and the best whose diagonal reads other weights, are trained to
their end: what leads early need not lead late, and two such models have a better sum. The first
half judges, and validates the trainings, too. The winner, alone or in a sum with the other or with
the best model that learns nothing from pairs, goes to the final, and so does a model of documented
settings, where some are given; alone, where the second half, which did not choose the winner, does
not have it clearly above, or where fields show the training queries, of which no trial is aware
(`combined.own_words`). What is expected to gain most over the best untrained model is taken,
by the differences on both halves and by what other collections gained with as many pairs
(`selection.expectation`); that one, if nothing is. Where neither the number of pairs nor that of
the queries lets expect a gain, no training is begun. Whether what is taken is better than the
untrained model is tested on the second half, and said; the test decides nothing, for few queries
tell nothing apart.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ssi_core.bounds import Count, Dimensions, Mean, Part, Rate, Share, Triples, Values, Weight
from ssi_core.estimator import parse
from ssi_core.models.base import FitOptions, FittedModel, Model, UnfitStart
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bilinear.multi_task import MultiTask
from ssi_core.models.bilinear.trained import HARD
from ssi_core.models.bm25 import Bm25
from ssi_core.models.bm25f import Bm25F
from ssi_core.models.choice.beside_words import ONE_BY_ONE, learn_documented
from ssi_core.models.choice.sums import best_sum, kind_of, parameters
from ssi_core.models.choice.trials import Trials
from ssi_core.models.choice.untrained import (
    DIMENSIONS,
    LSI_VIEW,
    best_of_words,
    is_shared,
    strongest,
)
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.combined.own_words import wordings
from ssi_core.models.in_degree import InDegree
from ssi_core.models.language_model import LanguageModel
from ssi_core.models.latent.cl_lsi import ClLsi
from ssi_core.models.latent.lsi import Lsi, LsiMixture
from ssi_core.models.latent.softmax import Softmax
from ssi_core.models.rm3 import Rm3
from ssi_core.models.tfidf import TfIdf
from ssi_core.resources import Cost
from ssi_core.selection.expectation import LEAST, Prior, expected, prior, worth
from ssi_core.selection.rounds import JOINED, KINDS, PLAIN, Step, TrialResult
from ssi_core.selection.star import Factors, Point, Settings, joined, star
from ssi_core.selection.validation_halves import ValidationHalves
from ssi_core.types import Task

_SAME: Settings = {
    "init_std": 0.01,
    "diagonal_rate": 20.0,
    "patience": 6,
    "decays": 2,
    "rate_by": "validation",
}
_WARP: Settings = {"negatives": 50, "warp": True}
_OF_WARP = 0.1
"""Its rates as a share of the plain ones: a step is up to ``1 + 1/2 + ...`` times as long."""
KNOWN: Settings = {
    "diagonal": "learned",
    "diagonal_view": "raw-sublinear",
    "view": "sublinear:50",
    "margin": 0.1,
    **PLAIN,
    "rates": (0.05,),
    "negatives_power": 0.0,
}
"""Settings that are begun with wherever they are among the values."""
_LISTED = ("diagonal_view", "view", "margin", "rates", "negatives_power")
_NO_DIAGONAL: Settings = {"diagonal": "none"}
_SCHEDULE = ("budget", "epoch", "validation_queries", "stop_by")
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
    The diagonal is a weight for each word or one of the alphas, and ``W = D`` is among them. Of a
    task with two vocabularies `Softmax` is tried first, and the diagonal reads translated words,
    where the task has such a view.

    Parameters
    ----------
    budget : int
        Maximum number of triples of all trainings together.
    visits : int
        Maximum for each training pair: tasks with few pairs have a smaller budget.
    first : int
        Triples of each training in the first round, or a tenth of the pairs if that is more (five
        for each of few pairs). A third of the budget sets how many trainings begin.
    level : float
        One-sided p (paired randomisation) below which a trained model is called better than the
        best untrained one.
    documented : mapping
        Settings of a ``bilinear`` model that is always trained; where queries seek one document,
        its latent part beside BM25F (``residual``). Empty: none.
    hard_share : list of float
        Shares of d- from the head of the diagonal's first order to try, beside none, where queries
        are not documents; 0: none.
    view, diagonal_view, alpha, margin, rates, negatives_power : list
        Values to try, as in ``bilinear``.
    """

    name: ClassVar[str] = "auto"
    measure: Mean = "map"
    budget: Triples = 10_000_000
    visits: Count = 200
    first: Triples = 50_000
    level: Part = 0.05
    documented: Mapping[str, Any] = field(default_factory=dict)
    dimensions: Dimensions = 100
    validation_queries: Count = 2_000
    view: Values[str] = ("sublinear:50", "sublinear:200")
    diagonal_view: Values[str] = ("raw-sublinear", "bm25", "sublinear")
    alpha: Values[Weight] = (1.0, 3.0)
    margin: Values[Weight] = (0.03, 0.1, 0.3)
    rates: Values[Rate] = (0.05, 0.02)
    negatives_power: Values[Weight] = (0.0, 0.5)
    hard_share: Values[Share] = (0.5,)

    def factors(self, task: Task) -> Factors:
        """Return the values of each thing that is tried on a task, the most important first.

        On a task with auxiliary kinds of queries (`tasks.auxiliary`) one of them learns these, too.
        """
        words = self.words(task)
        shown = task.train.weighing == "shown"  # no negative is drawn by a power of the in-degree
        # Of whole documents hard d- lead early, and are behind in the end.
        hard = () if shown or task.same or not words else self.hard_share
        negatives: list[Settings] = [
            *({"negatives_power": power} for power in ((0.0,) if shown else self.negatives_power)),
            *(
                {"negatives_power": 0.0, "against": HARD, "hard_share": share, **ONE_BY_ONE}
                for share in filter(None, hard)
            ),
        ]
        steps: list[Settings] = [
            {**loss, "rates": (round(rate * share, 9),)}
            for rate in self.rates
            for loss, share in ((_WARP, _OF_WARP), (PLAIN, 1.0))
        ]
        alphas: list[Settings] = [{"diagonal": "alpha", "alpha": alpha} for alpha in self.alpha]
        kinds: list[Settings] = [{"diagonal": "learned"}, *alphas] if words else [_NO_DIAGONAL]
        objectives: list[Settings] = [{}]
        if task.auxiliary and is_shared(task, LSI_VIEW):
            objectives.append({"auxiliary": tuple(sorted(task.auxiliary))})
        return (
            [{"against": "shown"} if shown else {"step": "block", "stop_by": self.measure}],
            steps,
            [{"diagonal_view": view} for view in words] or [{}],
            objectives,
            *([{name: value} for value in getattr(self, name)] for name in ("margin", "view")),
            negatives,
            kinds,
        )

    def begun(self, task: Task) -> list[tuple[Settings, Point | None]]:
        """Return the settings that are begun with, the most important first, and their points.

        The first values of all; each other one in the place of a first (`selection.star`); `KNOWN`
        and ``W = D``, if words have weights. Of two vocabularies `Softmax` comes first.
        """
        factors = self.factors(task)
        points = star([len(factor) for factor in factors])
        several = sum(1 for factor in factors if len(factor) > 1)
        begun: list[tuple[Settings, Point | None]] = [(joined(factors, p), p) for p in points]
        if words := self.words(task):
            plain = {**begun[0][0], **PLAIN, "rates": (self.rates[0],)}
            more: list[Settings] = [{**plain, **ONE_BY_ONE, "form": "zero"}]
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
        several = "auxiliary" in settings  # which learns triple by triple
        own = {n: value for n, value in settings.items() if not several or n != "step"}
        return parse(
            MultiTask if several else Bilinear, {**_SAME, "dimensions": self.dimensions, **own}
        )

    def words(self, task: Task) -> list[str]:
        """Return the views of the diagonal that a task has, or else those of translated words."""
        views = [view for view in self.diagonal_view if is_shared(task, view)]
        return views or [view for view in sorted(task.queries.views) if is_shared(task, view)]

    def views(self) -> set[str]:
        """Views of all models that are tried."""
        named = (self.documented.get(name) for name in ("view", "diagonal_view"))
        return {*self.view, *self.diagonal_view, *filter(None, named), LSI_VIEW, "counts"}

    def kinds(self) -> tuple[type[Model], ...]:
        """Return its own class, and those of all that are tried."""
        learnt = Bilinear, MultiTask, Softmax, Mixture
        words = Bm25, Bm25F, TfIdf, LanguageModel, Rm3, InDegree
        return type(self), *words, Lsi, LsiMixture, ClLsi, *learnt

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of a fit: trainings go on from their checkpoints, one at a time."""
        costs = [model.cost(task, threads) for model in self._largest(task)]
        memory = 2 * max(cost.memory for cost in costs)
        return Cost(memory, (len(self.begun(task)) + JOINED + KINDS) * costs[0].disk)

    def most_triples(self, task: Task) -> int:
        """Return the triples of all trials together: few pairs have a smaller budget."""
        return min(self.budget, self.visits * len(task.train))

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

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Choose as the head of this file says; ``start`` is refused, for it is of one model."""
        if options.start is not None:
            raise UnfitStart("start: 'auto' begins anew; retrain the model that it chose")
        halves = self._halves(task, options)
        as_alone = deepcopy(rng)  # the state in which the untrained models are chosen elsewhere
        seed = _seed(rng)
        _, unlearned = strongest(task, self.words(task), halves, as_alone)
        base = best_of_words(unlearned, task, halves)
        facts: dict[str, Any] = {
            "measure": self.measure,
            "queries": list(halves.sizes),
            "untrained": [{"model": label(fit.model), "mean": mean} for fit, mean in unlearned],
        }
        before = prior(kind_of(task), len(task.train))
        finalists: list[FittedModel] = []
        facts |= {"trials": [], "triples": 0}
        if worth(before, sum(halves.sizes)) >= LEAST:
            finalists = self._finalists(halves, seed, unlearned, options, facts)
        chosen, p, why = self._final(halves, base, finalists, before)
        choice = label(chosen.model)
        chosen.facts.update(choice=choice, auto={**facts, "p": p, "reason": why})
        chosen.facts.setdefault("triples", 0)
        return chosen

    def _finalists(
        self,
        halves: ValidationHalves,
        seed: int,
        unlearned: Sequence[tuple[FittedModel, float]],
        options: FitOptions,
        facts: dict[str, Any],
    ) -> list[FittedModel]:
        """Return the best of the trials, or a sum, and the documented settings; add facts."""
        task = halves.learning
        # A sum has no sums among its parts, and asks for one ranking of a query.
        single = [one for one in unlearned if not isinstance(one[0].model, Mixture | Rm3)]
        words = best_of_words(single, task, halves)
        documented: list[FittedModel] = []
        if self.documented and is_shared(task, LSI_VIEW):
            documented += [learn_documented(self.documented, halves, words, seed, options)]
        facts["triples"] = sum(one.facts["triples"] for one in documented)
        others = [fit for fit in documented if not isinstance(fit.model, Mixture)]
        if documented != others and len(wordings(task).rows):
            return documented
        with tempfile.TemporaryDirectory(prefix="ssi-auto-") as path:
            kept = options.checkpoint or Path(path)
            trials = Trials(self, halves, seed, replace(options, checkpoint=kept))
            trained = trials.run()
        facts["trials"] = [one._asdict() for one in trials.done]
        facts["triples"] += sum(one.triples for one in trials.done)
        if not trained:
            return documented
        best = best_sum(task, halves, [*trained, *others], words)
        # The first half chose the best of many, whose mean there is high by luck, too.
        if all(halves.is_clearly_higher(best, one) for one in documented):
            return [best, *documented]
        return documented

    def _final(
        self,
        halves: ValidationHalves,
        base: FittedModel,
        finalists: Sequence[FittedModel],
        before: Prior,
    ) -> tuple[FittedModel, float, str]:
        """Return the finalist of the highest expected gain, or the untrained model; p, and why."""
        if not finalists:
            queries = sum(halves.sizes)
            why = (
                f"no training went well, or is expected to: {queries} queries of validation "
                f"tell little, and so many pairs gain {before.mean:+.3f} on other collections"
            )
            return base, 1.0, why
        least = halves.values_of_both(base)
        values = [halves.values_of_both(fit) for fit in finalists]
        gains = [expected(before, one - least) for one in values]
        n = int(np.argmax(gains))
        best = finalists[n]
        better, p = halves.test(best, base, self.level)
        figures = (
            f"{values[n].mean():.3f} beside {least.mean():.3f} on validation, and "
            f"{before.mean:+.3f} on other collections with so many pairs: {gains[n]:+.3f} expected"
        )
        if gains[n] <= 0:
            return base, p, f"no trained model is expected to be better ({figures})"
        how = "better than" if better else "not told apart from, but expected to be better than,"
        on = "on the half of the queries that had no part in the choice"
        return best, p, f"{how} the best untrained model ({figures}; p {p:.2g} {on})"

    def do(
        self, step: Step, task: Task, rng: np.random.Generator, options: FitOptions
    ) -> TrialResult:
        """Do a step before the choice is made, which then finds it.

        Parameters
        ----------
        step : Step
            Of `Rounds`.
        task, rng, options : object
            As of `learn`, with a checkpoint.
        """
        return Trials(self, self._halves(task, options), _seed(rng), options).do(step)

    def _halves(self, task: Task, options: FitOptions) -> ValidationHalves:
        return ValidationHalves(task, self.measure, self.validation_queries, options.threads)


def label(model: Model) -> str:
    """Return a model in words: its name, and what is not as it is by default.

    >>> label(TfIdf("sublinear"))
    'tfidf view=sublinear'
    """
    if isinstance(model, Bm25F | Rm3):
        return model.name  # its settings are chosen, and stand in the facts
    if isinstance(model, Mixture):
        return " + ".join(label(part) for part in model.models())
    default = {one.name: one.default for one in fields(model)}
    differing = (
        f"{name}={value}"
        for name, value in parameters(model).items()
        if value != default[name] and name not in {*_SAME, *_SCHEDULE}
    )
    return " ".join([model.name, *differing])


def _seed(rng: np.random.Generator) -> int:
    """Return the seed of all trainings: the first that is drawn."""
    return int(rng.integers(2**63))
