"""Base of the models with maps ``U`` and ``V``: their settings, their arrays and their training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ssi_core.arrays import ArraySpec, ArraySpecs
from ssi_core.bounds import Dimensions, MeanOrLoss, Spread, Times, Values
from ssi_core.estimator import Sizes
from ssi_core.kernels.sparse import csr, floats, padded, product, read_only
from ssi_core.kernels.training.structs import Parameters
from ssi_core.kernels.vectors import converts_float16
from ssi_core.models import MODELS
from ssi_core.models.base import FitOptions, FittedModel, Side, UnfitStart, fitted
from ssi_core.models.bilinear.lengths import LENGTH, brought, brought_words, with_one_length
from ssi_core.models.bilinear.terms import Groups, Objective, Term
from ssi_core.models.bilinear.trained import Trained, same_space
from ssi_core.models.bilinear.training import KERNELS, MapTraining, flat, rows_of_maps, shared_words
from ssi_core.remedies import typed
from ssi_core.resources import Cost
from ssi_core.scoring.vectors import DenseWords, Inner, Vectors
from ssi_core.training import fitting
from ssi_core.training.descend import later
from ssi_core.training.fitting import several
from ssi_core.training.sgd import Sgd, memory_by_weight
from ssi_core.types import BadInput, Float32, Inapplicable, Task, TextMatrix, Texts, View


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


@dataclass(frozen=True)
class LowRank(Trained):
    """Models whose W is a product of maps, learnt by the objectives of `groups`.

    Parameters
    ----------
    tied : bool
        U is V, so that W is symmetric.
    init_std : float or list of float
        Standard deviation of U and V at the start.
    decays : int
        How often the training, instead of ending, goes on from its best with a third of the rate.
    stop_by : str
        Mean on validation that ends the training and chooses the parameters to keep: "rank_loss",
        "map", "mrr" or "ndcg_at_10".
    learn_first : str
        Further task (``task.auxiliary``) that ``U'V``, without a diagonal, learns first, as a
        start. It helps tasks with few pairs.
    learn_on : str
        Further task, such as "monolingual", to learn instead: its queries are in the language of
        the documents, like translated queries.
    others
        See `Trained`.
    """

    tied: bool = False
    dimensions: Dimensions = 100
    init_std: Spread | Values[Spread] = 0.1
    decays: Times = 0
    stop_by: MeanOrLoss = "rank_loss"
    learn_first: str | None = None
    learn_on: str | None = None
    # Settings of some of the models; see `Bilinear`.
    form = "low_rank"
    length = cast("float | tuple[float, ...] | None", None)
    storage = "float32"
    adagrad = False
    step = "triple"
    lsi_weight = cast("float | str", 0.0)

    def __post_init__(self) -> None:
        """Refuse values that no training could follow."""
        super().__post_init__()
        if self.against == "shown" and self.stop_by != "rank_loss":
            raise ValueError(f"stop_by={self.stop_by!r}: expected 'rank_loss' with against='shown'")

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
            changes: dict[str, Any] = {"learn_on": None, "curves": False}
            if self.length is not None:
                changes["length"] = None
            model = replace(self, **changes)
            fit = model.learn(other, rng, options)
            return self._brought(fitted(self, task, fit.arrays, fit.facts), task, options)
        self.check(task)
        further_tasks = {
            one.task: further(task, "auxiliary", one.task)
            for one in flat(self.groups())
            if one.task
        }
        for one in further_tasks.values():
            self.check_pairs(one)
        before, checkpoint = Before(options.start), options.checkpoint
        if options.start is None:
            first = None if checkpoint is None else checkpoint.with_name(f"{checkpoint.name}-first")
            before = self.before(task, rng, replace(options, checkpoint=first))
        seed = int(rng.integers(2**63))
        training = self.training(task, further_tasks, seed, replace(options, start=before.start))
        searched = {"init_std": several(self.init_std), **self.searched()}
        grid = {name: before.chosen.get(name) or values for name, values in searched.items()}
        sgd, facts = fitting.fit(
            self,
            grid,
            training.begin,
            training.errors,
            training.pairs,
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
    ) -> MapTraining:
        """Return what begins trainings of a task, with further ones by their names."""
        if options.start is not None:
            self._check_start(options.start)
        return MapTraining(self, task, others, seed, options)

    def before(self, task: Task, rng: np.random.Generator, options: FitOptions) -> Before:
        """Learn what the training starts from: ``U'V`` on the task to begin with, or nothing."""
        if self.learn_first is None:
            return Before()
        plain = self.plain(diagonal="none", alpha=1.0, learn_first=None, length=None)
        first = further(task, "learn_first", self.learn_first)
        plain = replace(plain, curves=False)
        fit = plain.learn(first, rng, replace(options, watch=None))
        return Before(fit, {"learned_first": fit.facts})

    def plain(self, **changes: Any) -> LowRank:
        """Return the model "bilinear" that has these settings, but for some."""
        kind = cast("type[LowRank]", MODELS["bilinear"])
        return kind(**{f.name: getattr(self, f.name) for f in fields(kind)} | changes)

    def groups(self) -> Groups:
        """Return the objectives; queries are ranked by the term of the first."""
        return ((Objective("", self.term("U", "V")),),)

    def term(self, query: str, document: str) -> Term:
        """Return the term that queries are ranked by, whose maps have these names."""
        form = "low_rank_adagrad" if self.adagrad else self.form
        return Term(query, query if self.tied else document, form, KERNELS[self.diagonal])

    def _check_start(self, start: FittedModel) -> None:
        """Refuse the first values of another shape of model; `UnfitStart` says so.

        U and V that were learnt without a diagonal can be joined by any.
        """
        before = start.model
        if not isinstance(before, LowRank):
            raise UnfitStart(f"start: it is a model {before.name!r}; expected {self.name!r}")
        joined = before.diagonal == "none" != self.diagonal
        for name in ("form", "tied", "dimensions", "view", *([] if joined else ["diagonal"])):
            old, new = getattr(before, name), getattr(self, name)
            if old != new:
                raise UnfitStart(f"start: it has {name}={old!r}; expected {name}={new!r}")

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
            if side == "document" and LENGTH in fitted.arrays:
                dense = brought(dense, fitted)
        return Inner(self.diagonal_rows(fitted, texts, side), dense)

    def dense_words(self, fitted: FittedModel, texts: Texts, side: Side) -> DenseWords | None:
        """Rows of W's view and the side's embedding."""
        if self.form == "zero":
            return None
        embedding = np.asarray(self.embedding(fitted, side), np.float32)
        words = DenseWords(texts.matrix(self.view), embedding, fitted.view(self.view, side))
        scaled = side == "document" and LENGTH in fitted.arrays
        return brought_words(words, fitted) if scaled else words

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
            f"own: {known}. Make the task with it: {typed('auxiliary', name)}."
        )
    other = task.auxiliary[name]
    if not len(other.train) or not len(other.valid):
        raise Inapplicable(
            f"task {task.path}: {argument}={name!r}: it has {len(other.train)} pairs to learn from "
            f"and {len(other.valid)} to validate on, and needs both. Give more documents {name}, "
            "or leave the row out."
        )
    return other


def embedded(matrix: TextMatrix, embedding: NDArray[Any], dimensions: int) -> Float32:
    """Return ``matrix @ embedding[:, :dimensions]``, bit by bit what scipy gives, without a copy.

    Parameters
    ----------
    matrix : CSR float32 (n, words)
        Weights of words.
    embedding : float32 or float16 (words, dimensions or more)
        C order; what is longer is padding. Float16 may have the type uint16 (`sparse.halved`).
    dimensions : int
        Columns of the result.
    """
    dense = np.empty((matrix.shape[0], dimensions), np.float32)
    if embedding.dtype == np.float16 and converts_float16():
        embedding = embedding.view(np.uint16)
    elif embedding.dtype != np.uint16:
        embedding = np.asarray(embedding, np.float32)
    product(csr(matrix), read_only(np.ascontiguousarray(embedding)), dense)
    return dense
