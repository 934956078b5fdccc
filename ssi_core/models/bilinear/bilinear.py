"""The SSI family: ``f(q, d) = sum_i diag_i q_i d_i + phi(q)' W phi(d)`` (journal paper, section 2).

Trained on preferences (q, d+, d-) with the margin ranking loss
``max(0, margin - f(q, d+) + f(q, d-))``, one stochastic step per violated triple.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ssi_core.arrays import ArraySpec, ArraySpecs
from ssi_core.bounds import Dimensions, Positive, Spread, Times, Tries, Values
from ssi_core.estimator import Sizes
from ssi_core.evaluation.evaluate import Validator
from ssi_core.kernels.sparse import aligned_empty, floats, halved, padded
from ssi_core.kernels.training.adagrad import first_squares
from ssi_core.kernels.training.structs import Parameters, Squares
from ssi_core.kernels.vectors import converts_float16
from ssi_core.models.base import (
    DenseWords,
    FitOptions,
    FittedModel,
    Side,
    UnfitStart,
    fitted,
)
from ssi_core.models.bilinear.lengths import LENGTH, brought, brought_words, with_one_length
from ssi_core.models.bilinear.terms import Groups, Objective, Term, flat, rows_of_maps
from ssi_core.models.bilinear.trained import KERNELS, Trained, Training, same_space
from ssi_core.resources import Cost
from ssi_core.scoring.vectors import Inner, Vectors
from ssi_core.training import fitting
from ssi_core.training.descend import later
from ssi_core.training.embedding import embedded, normal, shared_words
from ssi_core.training.fitting import several
from ssi_core.training.sgd import Group, Sgd, memory_by_weight, training_data
from ssi_core.types import BadInput, Inapplicable, Task, Texts, View


@dataclass(frozen=True)
class Bilinear(Trained):
    """Bilinear model with one term: W of low rank or zero, a diagonal, and the two views they read.

    ========================  ==========================================
    ``W = D``                 form "zero", diagonal "learned"
    ``U'U + I``               form "low_rank", tied, diagonal "identity"
    ``U'V + I``               form "low_rank", diagonal "identity"
    ``(U'V)_n + I``           the same, view "raw@n", diagonal_view "raw"
    ``U'V + D``               form "low_rank", diagonal "learned"
    ``U'V``                   form "low_rank", diagonal "none"
    ``U'V + alpha I``         form "low_rank", diagonal "alpha"
    ========================  ==========================================

    Parameters
    ----------
    form : str
        Form of W: "low_rank", or "zero" for a diagonal alone.
    tied : bool
        U is V, so that W is symmetric.
    dimensions : int
        N, the rank of W.
    init_std : float or list of float
        Standard deviation of U and V at the start; of several values validation chooses.
    length : float or list of float or None
        Length of the latent vector ``V phi(d)`` of every document once the training is over, as a
        multiple of their mean length: a document is then no better for all queries alike. Of
        several values validation chooses, by ``stop_by``. None: the lengths that were learnt.
    storage : str
        Numbers of U and V while they learn and in the model: "float32", or "float16", rounded to
        nearest after each step, in half of the memory and of the disk, and 1.2 to 1.5 times the
        triples a second. All sums are float32. Choose it where memory or time ends a training: the
        same triples gave the same rank loss or a slightly higher one.
    negatives_per_positive : int
        Documents d- that are drawn for a pair (q, d+) and stepped against together, by the sum of
        their hinges: ``U q`` and ``V d+`` are computed and changed once for all of them. Each is a
        triple of the budget. Not with ``negatives``, which tries several for one triple.
    adagrad : bool
        A rate for each word, which falls with its steps (`kernels.training.adagrad`); ``rates`` are
        then about the size of the first step of an entry of U and V.
    decays : int
        How often the rate falls to a third where the training would end; it goes on from its best.
    stop_by : str
        Mean on validation that ends the training and says which of its parameters are kept:
        "rank_loss", or "map", "mrr", "ndcg_at_10", which look at the head of a list.
    learn_first : str
        Name of a further task (``task.auxiliary``) that ``U'V``, without a diagonal, learns first;
        U and V start from there. It helps on tasks with few pairs.
    learn_on : str
        Name of a further task, such as "monolingual", that is learnt in place of the task: its
        queries are in the language of the documents, as translated queries are.
    others
        See `Trained`.
    """

    name: ClassVar[str] = "bilinear"
    form: Literal["zero", "low_rank"] = "low_rank"
    tied: bool = False
    dimensions: Dimensions = 100
    init_std: Spread | Values[Spread] = 0.1
    length: Positive | Values[Positive] | None = None
    storage: Literal["float32", "float16"] = "float32"
    negatives_per_positive: Tries = 1
    adagrad: bool = False
    decays: Times = 0
    stop_by: Literal["rank_loss", "map", "mrr", "ndcg_at_10"] = "rank_loss"
    learn_first: str | None = None
    learn_on: str | None = None

    def __post_init__(self) -> None:
        """Refuse values that no training could follow."""
        super().__post_init__()
        if self.form == "zero" and self.diagonal == "none":
            raise ValueError("form='zero' with diagonal='none' scores nothing")
        if self.form == "zero" and self.learn_first is not None:
            raise ValueError(f"learn_first={self.learn_first!r} needs U and V: form='low_rank'")
        if self.form == "zero" and self.adagrad:
            raise ValueError("adagrad=True needs U and V: form='low_rank'")
        if self.form == "zero" and self.storage != "float32":
            raise ValueError(f"storage={self.storage!r} needs U and V: form='low_rank'")
        if self.form == "zero" and self.length is not None:
            raise ValueError(f"length={self.length!r} needs U and V: form='low_rank'")
        if self.negatives_per_positive > 1:
            self._check_several()
        if self.against == "shown" and self.stop_by != "rank_loss":
            raise ValueError(f"stop_by={self.stop_by!r}: expected 'rank_loss' with against='shown'")

    def _check_several(self) -> None:
        """Refuse what several d- of a pair are not stepped against together with."""
        refused = {"negatives": 1, "warp": False, "adagrad": False, "form": "low_rank"}
        for name, expected in refused.items():
            if (came := getattr(self, name)) != expected:
                raise ValueError(
                    f"negatives_per_positive={self.negatives_per_positive} with {name}={came!r}: "
                    f"expected {name}={expected!r}, or negatives_per_positive=1"
                )
        if sum(map(len, self.groups())) > 1:
            raise ValueError(
                f"negatives_per_positive={self.negatives_per_positive}: expected 1 with several "
                f"objectives, as {self.name!r} has"
            )

    def views(self) -> set[str]:
        """View of W, unless W is zero, and of the diagonal, unless there is none."""
        return {self.diagonals_view} if self.form == "zero" else super().views()

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Search the rate (alpha, margin, init std), then train with early stopping.

        ``start`` gives the first values of the rows of words that both vocabularies have; its
        training then needs no init std. One thread makes the same bits from the same ``rng``;
        several share the arrays without a lock and do not.
        """
        if self.learn_on is not None:
            if self.form != "zero":
                same_space(task, self.view, f"learn_on={self.learn_on!r}")
            other = further(task, "learn_on", self.learn_on)
            model = replace(self, learn_on=None, curves=False, length=None)
            fit = model.learn(other, rng, options)
            return self._brought(fitted(self, task, fit.arrays, fit.facts), task, options)
        self.check(task)
        further_tasks = {
            one.task: further(task, "beside", one.task) for one in flat(self.groups()) if one.task
        }
        for one in further_tasks.values():
            self.check_pairs(one)
        before, checkpoint = Before(options.start), options.checkpoint
        if options.start is None:
            place = None if checkpoint is None else checkpoint.with_name(f"{checkpoint.name}-first")
            before = self.before(task, rng, replace(options, checkpoint=place))
        seed = int(rng.integers(2**63))
        training = self.training(task, further_tasks, seed, replace(options, start=before.start))
        searched = {"init_std": several(self.init_std), **self.searched()}
        grid = {name: before.chosen.get(name) or values for name, values in searched.items()}
        sgd, facts = fitting.fit(
            self,
            grid,
            training.begin,
            training.errors,
            decays=self.decays,
            slow=Sgd.slow,
            measure="rank_loss" if self.stop_by == "rank_loss" else f"{self.stop_by}_error",
            validation_time=self.validation_time,
            watch=later(options.watch, before.triples),
            checkpoint=checkpoint,
        )
        facts = {**before.facts, **facts, **training.hits(facts), "threads": options.threads}
        if self.diagonal == "alpha":
            facts["alpha"] = float(sgd.parameters.diagonal[0])
        fit = fitted(self, task, training.arrays(sgd.parameters), facts)
        return self._brought(fit, task, options)

    def _brought(self, fit: FittedModel, task: Task, options: FitOptions) -> FittedModel:
        """Give the documents one length, if they are to have one."""
        if self.length is None:
            return fit
        validator = options.judge(task, "valid", self.validation_queries)

        def error(fit: FittedModel) -> float:
            return validator.error(fit, self.stop_by)

        return with_one_length(fit, task.documents, several(self.length), error)

    def training(
        self, task: Task, others: Mapping[str, Task], seed: int, options: FitOptions
    ) -> _Training:
        """Return what begins trainings of a task, with further ones by their names."""
        return _Training(self, task, others, seed, options)

    def before(self, task: Task, rng: np.random.Generator, options: FitOptions) -> Before:
        """Learn what the training starts from: ``U'V`` on the task to begin with, or nothing."""
        if self.learn_first is None:
            return Before()
        plain = self.plain(diagonal="none", alpha=1.0, learn_first=None, length=None)
        first = further(task, "learn_first", self.learn_first)
        plain = replace(plain, curves=False)
        fit = plain.learn(first, rng, replace(options, watch=None))
        return Before(fit, {"learned_first": fit.facts})

    def plain(self, **changes: Any) -> Bilinear:
        """Return the bilinear model that has these settings, but for some."""
        return Bilinear(**{f.name: getattr(self, f.name) for f in fields(Bilinear)} | changes)

    def groups(self) -> Groups:
        """Return the objectives; queries are ranked by the term of the first."""
        return ((Objective("", self.term("U", "V")),),)

    def term(self, query: str, document: str) -> Term:
        """Return the term that queries are ranked by, whose maps have these names."""
        form = "low_rank_adagrad" if self.adagrad else self.form
        return Term(query, query if self.tied else document, form, KERNELS[self.diagonal])

    def check(self, task: Task) -> None:
        """Refuse a task from which this cannot be learnt."""
        super().check(task)
        if self.storage == "float16" and not converts_float16():
            raise BadInput(
                "storage='float16': the processor that kernels are compiled for does not convert "
                "float16 (F16C). Learn with storage='float32'."
            )
        if self.form != "zero" and self.tied:
            same_space(task, self.view, "U'U")

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of a training; texts of a further task may be copied rows of the task."""
        one = super().cost(task, threads)
        if not (others := self.groups()[1:]):
            return one
        copies = max(side.matrix(self.view).nnz for side in (task.queries, task.documents))
        known = (task.auxiliary.get(objective.task) for (objective,) in others)
        pairs = sum(memory_by_weight(other.train) for other in known if other is not None)
        return Cost(one.memory + 8 * copies * len(others) + pairs, one.disk)

    def carry_over(self, start: FittedModel, task: Task, maps: Mapping[str, Any]) -> None:
        """Take the rows of the words that ``start`` and the task both have."""
        term = self.groups()[0][-1].term
        sides: tuple[tuple[str, str, Side, Texts], ...]
        sides = (
            ("U", term.query, "query", task.queries),
            ("V", term.document, "document", task.documents),
        )
        for name, target, side, texts in sides:
            if name in start.arrays:
                old, new = shared_words(start.view(self.view, side), texts.views[self.view])
                maps[target][new, : self.dimensions] = start.arrays[name][old]

    def parameter_bytes(self, task: Task) -> int:
        """Return the size of all maps; a further task that is not there is refused by the fit."""
        tasks = {one.task: task.auxiliary.get(one.task, task) for one in flat(self.groups())}
        rows = rows_of_maps(self.groups(), tasks, self.view)
        size = 2 if self.storage == "float16" else 4
        return (size * padded(self.dimensions) + 4 * int(self.adagrad)) * sum(rows.values())

    def arrays(self, parameters: Parameters, *, live: bool = False) -> dict[str, Any]:
        """Arrays that are kept of the parameters: the padding of the rows is cut off."""
        arrays = super().arrays(parameters, live=live)
        if self.form == "low_rank":
            maps = {"U": parameters.U} if self.tied else {"U": parameters.U, "V": parameters.V}
            maps = {name: floats(one) for name, one in maps.items()}
            if not live:
                maps = {n: np.ascontiguousarray(m[:, : self.dimensions]) for n, m in maps.items()}
            arrays |= maps
        return arrays

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the maps, the diagonal, and the one length of documents."""
        specs = dict(super().array_specs(sizes))
        if self.form == "low_rank":
            for name, side in {"U": "query", "V": "document"}.items():
                if name == "U" or not self.tied:
                    shape = (sizes[f"{side} {self.view}"], self.dimensions)
                    specs[name] = ArraySpec(self.storage, shape)
        if self.length is not None:
            specs[LENGTH] = ArraySpec("float32", (1,), least=0)
        return specs

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """``U q`` and ``V d`` as the dense part; the diagonal's rows as the sparse part.

        The diagonal's weights are on the query's side.
        """
        dense = None
        if self.form == "low_rank":
            embedding = self.embedding(fitted, side)
            dense = embedded(texts.matrix(self.view), embedding, self.dimensions)
            if side == "document":
                dense = brought(dense, fitted)
        return Inner(self.diagonal_rows(fitted, texts, side), dense)

    def dense_words(self, fitted: FittedModel, texts: Texts, side: Side) -> DenseWords | None:
        """Rows of W's view and the side's embedding."""
        if self.form == "zero":
            return None
        embedding = np.asarray(self.embedding(fitted, side), np.float32)
        words = DenseWords(texts.matrix(self.view), embedding, fitted.view(self.view, side))
        return brought_words(words, fitted) if side == "document" else words

    def sparse_view(self, fitted: FittedModel, side: Side) -> View | None:
        """Words of the diagonal."""
        return None if self.diagonal == "none" else fitted.view(self.diagonals_view, side)

    def embedding(self, fitted: FittedModel, side: Side) -> Any:
        """Return the map of the words of a side."""
        return fitted.arrays["U" if side == "query" or self.tied else "V"]


def further(task: Task, argument: str, name: str) -> Task:
    """Return a further task by its name; `BadInput` names those there are.

    Raises
    ------
    Inapplicable
        The further task has no pair to learn from.
    """
    if name not in task.auxiliary:
        known = ", ".join(sorted(task.auxiliary)) or "none"
        raise BadInput(
            f"task {task.path}: {argument}={name!r} is not among the tasks that it has beside its "
            f"own: {known}. Make the task with it (--beside), or name one that it has."
        )
    other = task.auxiliary[name]
    if not len(other.train) or not len(other.valid):
        raise Inapplicable(
            f"task {task.path}: {argument}={name!r}: it has {len(other.train)} pairs to learn from "
            f"and {len(other.valid)} to validate on, and needs both. Give more documents {name}, "
            "or leave the row out."
        )
    return other


class Before(NamedTuple):
    """Starting point of a training.

    Attributes
    ----------
    start : FittedModel or None
        Its first values.
    facts : mapping
        To be kept.
    chosen : mapping
        Settings that are not to be searched again.
    triples : int
        That ``watch`` was told of.
    """

    start: FittedModel | None = None
    facts: Mapping[str, Any] = {}
    chosen: Mapping[str, tuple[float, ...]] = {}
    triples: int = 0


class _Training(Training[Bilinear]):
    """Fit of all maps that the objectives name."""

    def __init__(
        self,
        model: Bilinear,
        task: Task,
        others: Mapping[str, Task],
        seed: int,
        options: FitOptions,
    ) -> None:
        if options.start is not None:
            _check_start(model, options.start)
        super().__init__(model, task, seed, options)
        if model.stop_by != "rank_loss":
            self._observe["val/rank_loss"] = self.valid
            validator = Validator(task, "valid", model.validation_queries, threads=self._threads)
            self.valid = lambda p: validator.error(self._fitted(p), model.stop_by)
        self._tasks = {"": task, **others}
        self._rows = rows_of_maps(model.groups(), self._tasks, model.view)
        # Of other words than those of the diagonal a further task is learnt without it.
        self._bare = {name for name, one in others.items() if not self._in_its_words(one)}
        views = {
            name: model.view if name in self._bare else model.diagonals_view for name in others
        }
        read = {name: training_data(one, model.view, views[name]) for name, one in others.items()}
        self._read = {"": self.data, **read}
        sides = (side for one in others.values() for side in (one.queries, one.documents))
        self.width = max([self.width, *(side.width(model.view) for side in sides)])

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
                self.kernels(form, diagonal)._replace(second=bool(second), several=several_at_once),
                parameters,
                self.drawn(self._tasks[first.task], self._read[first.task], settings),
                numbers,
                len(self._tasks[first.task].documents),
                self.seed + number,
            )
        return self.trainee(groups)


def _check_start(model: Bilinear, start: FittedModel) -> None:
    """Refuse the first values of another shape of model; `UnfitStart` says so.

    U and V that were learnt without a diagonal can be joined by any.
    """
    before = start.model
    shape = ("form", "tied", "dimensions", "view")
    if (
        not isinstance(before, Bilinear)
        or any(getattr(before, name) != getattr(model, name) for name in shape)
        or before.diagonal not in (model.diagonal, "none")
    ):
        raise UnfitStart(f"start={before}; expected a model with the form and diagonal of {model}")
