"""Training of the models ``sum_i diag_i q_i d_i + phi(q)' W phi(d)``, and of those with maps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core.kernels.sparse import aligned_empty, halved, padded, read_only
from ssi_core.kernels.training.adagrad import first_squares
from ssi_core.kernels.training.structs import Data, Parameters, Settings, Squares
from ssi_core.kernels.training.sweep import Group as Kernels
from ssi_core.kernels.training.sweep import draw_hard, draw_negative, draw_shown, draw_weighted
from ssi_core.models.base import FitOptions, FittedModel, Judge, Side, SideOfTask, fitted
from ssi_core.models.bilinear.terms import Groups, Objective
from ssi_core.models.bilinear.trained import HARD, POWER, SHARE, Trained
from ssi_core.tasks.linked import number_of
from ssi_core.tasks.training_part import share_of_pairs
from ssi_core.training.fitting import several
from ssi_core.training.hard import with_hard, with_share
from ssi_core.training.sgd import Group, Sgd, by_in_degree, held_out_hits, in_runs, training_data
from ssi_core.types import BadInput, Float32, Task, View

if TYPE_CHECKING:
    from ssi_core.models.bilinear.low_rank import LowRank


T = TypeVar("T", bound=Trained)


class Training(Generic[T]):
    """Fit of a model: the data, the validators, and trainings begun from the same start."""

    def __init__(self, model: T, task: Task, seed: int, options: FitOptions) -> None:
        self.model, self.task, self.seed, self.start = model, task, seed, options.start
        self._options, self._threads = options, options.threads
        views = sorted(model.views())
        shown = model.view if model.view in views else views[0]
        diagonal = shown if model.diagonal == "none" else model.diagonals_view
        known = share_of_pairs(task, model.pairs)
        self.pairs = len(known.train)
        self.data = training_data(known, shown, diagonal)
        self.words = task.documents.matrix(diagonal).shape[1]
        sides = (task.queries, task.documents)
        self.width = max(self.words, *(texts.matrix(shown).shape[1] for texts in sides))
        self.arrays, live = model.keeper(task), model.keeper(task, live=True)

        # A closure without self: what judges a training is then freed as soon as the training is.
        def fit(parameters: Parameters) -> FittedModel:
            return fitted(model, task, live(parameters))

        self._fitted = fit
        self._hard: Data | None = None
        self._observe: dict[str, Callable[[Parameters], float]] = {}
        self.valid = self._judge(task, "valid", on_slates=model.against == "shown")
        self.train = self._judge(known, "train")
        if model.curves:
            self._observe["curve/train_rank_loss"] = self.train
            if options.observe is not None:
                test = options.observe(model.validation_queries)
                self._observe["curve/test_rank_loss"] = lambda p: test(fit(p))

    def _judge(
        self, task: Task, side: SideOfTask, *, on_slates: bool = False
    ) -> Callable[[Parameters], float]:
        """Rank loss of parameters on one side of the split; on its slates where there are some."""
        options = self._options
        judge: Callable[..., Judge] = options.judge_of_slates if on_slates else options.judge
        validator, fit = judge(task, side, self.model.validation_queries), self._fitted
        return lambda p: validator.rank_loss(fit(p))

    def errors(self, sgd: Sgd) -> tuple[float, float]:
        """Training and validation rank loss as it stands."""
        return self.train(sgd.parameters), self.valid(sgd.parameters)

    def sgd(
        self,
        form: str,
        parameters: Parameters,
        settings: Mapping[str, Any],
        seed: int | None = None,
    ) -> Sgd:
        """Return a training of the model's own objective, from given parameters.

        Parameters
        ----------
        form : str
            Key of `kernels.training.forms.FORMS`.
        seed : int or None
            Of the sampler; None: the fit's own.
        """
        group = Group(
            self.kernels(form, KERNELS[self.model.diagonal]),
            parameters,
            self.drawn(self.task, self.data, settings),
            self.numbers(settings),
            len(self.task.documents),
            self.seed if seed is None else seed,
        )
        return self.trainee({"": group})

    def trainee(self, groups: Mapping[str, Group]) -> Sgd:
        """Return a training of groups of objectives, the first of which is judged."""
        return Sgd(
            groups,
            words=self.width,
            threads=self._threads,
            judge=self.valid,
            observe=self._observe,
        )

    def kernels(self, form: str, diagonal: str) -> Kernels:
        """Return the kernels of a form of W and a kind of diagonal."""
        draw: Callable[..., Any] = draw_negative
        if any(several(self.model.negatives_power)):
            draw = draw_weighted
        elif self.model.against == "shown":
            draw = draw_shown
        elif self.model.against == HARD:
            draw = draw_hard
        return Kernels(form, diagonal, draw)

    def drawn(self, task: Task, data: Data, settings: Mapping[str, Any]) -> Data:
        """Return the data of a task with the documents that d- is drawn from, unless uniformly."""
        model = self.model
        if model.against == HARD:
            if task is not self.task:
                return with_share(data, 0)
            if self._hard is None:
                self._hard = with_hard(
                    data, self.words, depth=model.hard_depth, threads=self._threads
                )
            return with_share(self._hard, settings[SHARE])
        if not any(several(self.model.negatives_power)):
            return data
        return data._replace(candidates=read_only(by_in_degree(task, settings[POWER])))

    def hits(self, settings: Mapping[str, Any]) -> dict[str, float]:
        """Return how often d- was a held-out pair, where it was not drawn uniformly."""
        if not any(several(self.model.negatives_power)):
            return {}
        powers = {"held_out_hits": settings[POWER], "held_out_hits_uniform": 0.0}
        return {name: held_out_hits(self.task, power) for name, power in powers.items()}

    def numbers(self, settings: Mapping[str, Any]) -> Settings:
        """Return the numbers of the sweep."""
        model, rate = self.model, np.float32(settings["rate"])
        diagonal_rate = {
            "alpha": np.float32(model.alpha_rate),
            "learned": rate * np.float32(model.diagonal_rate),
        }
        return Settings(
            np.float32(settings["margin"]),
            rate,
            diagonal_rate.get(model.diagonal, np.float32(0)),
            np.int64(model.negatives),
            bool(model.warp),
        )

    def first_diagonal(self, settings: Mapping[str, Any]) -> Float32:
        """The diagonal at first: that of ``start``, alpha, or ones."""
        model, start = self.model, self.start
        if start is not None and "diagonal" not in start.arrays:
            start = None
        size = self.words if model.diagonal == "learned" else 1
        value = 1.0 if model.diagonal != "alpha" else settings["alpha"]
        diagonal = np.full(size, value, np.float32)
        if start is not None and model.diagonal == "alpha":
            diagonal[0] = start.arrays["diagonal"][0]
        if start is not None and model.diagonal == "learned":
            view = model.diagonals_view
            old, new = shared_words(start.view(view, "query"), self.task.queries.views[view])
            diagonal[new] = start.arrays["diagonal"][old]
        return diagonal

    def same_words(self, side: Side) -> tuple[Any, Any]:
        """Numbers of the words of W's view that both ``start`` and the task know."""
        assert self.start is not None
        texts = self.task.queries if side == "query" else self.task.documents
        new: View = texts.views[self.model.view]
        return shared_words(self.start.view(self.model.view, side), new)


# The identity is an alpha of 1 that is not learnt.
KERNELS = {"none": "none", "identity": "alpha", "alpha": "alpha", "learned": "weights"}


class MapTraining(Training["LowRank"]):
    """Fit of all maps that the objectives name."""

    def __init__(
        self,
        model: LowRank,
        task: Task,
        others: Mapping[str, Task],
        seed: int,
        options: FitOptions,
    ) -> None:
        super().__init__(model, task, seed, options)
        if model.stop_by != "rank_loss":
            self._judge_by(model.stop_by)
        self._tasks = {"": task, **others}
        self._rows = rows_of_maps(model.groups(), self._tasks, model.view)
        # Of other words than those of the diagonal a further task is learnt without it.
        self._bare = {name for name, one in others.items() if not self._in_its_words(one)}
        views = {
            name: model.view if name in self._bare else model.diagonals_view for name in others
        }
        read = {name: training_data(one, model.view, views[name]) for name, one in others.items()}
        self._read = {"": self.data, **read}
        if model.step == "block":
            self._read[""] = in_runs(self.data)
        sides = (side for one in others.values() for side in (one.queries, one.documents))
        self.width = max([self.width, *(side.width(model.view) for side in sides)])

    def _judge_by(self, measure: str) -> None:
        """Validate by a mean, and observe the rank loss of the same ranking."""
        validator = self._options.judge(self.task, "valid", self.model.validation_queries)
        means: dict[str, float] = {}
        fit = self._fitted

        def error(parameters: Parameters) -> float:
            means.update(validator.measures(fit(parameters)))
            return 1 - means[measure]

        self.valid = error
        self._observe["val/rank_loss"] = lambda parameters: means["rank_loss"]

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
        squares = {}
        if model.adagrad:
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
            if diagonal == "alpha":
                of_alpha = np.float32(numbers.diagonal_rate * np.float32(first.weight))
                numbers = numbers._replace(diagonal_rate=of_alpha)
            for one in second:
                parameters = parameters._replace(second=maps[one.term.document])
                numbers = numbers._replace(second=np.float32(one.weight))
            groups[first.task] = Group(
                self.kernels(form, diagonal)._replace(
                    second=bool(second), block=model.step == "block"
                ),
                parameters,
                self.drawn(self._tasks[first.task], self._read[first.task], settings),
                numbers,
                len(self._tasks[first.task].documents),
                self.seed + number,
            )
        return self.trainee(groups)


def normal(rows: int, dimensions: int, std: float, rng: np.random.Generator) -> Any:
    """Normal entries in rows padded with zeros, which stay zero through every step."""
    embedding = aligned_empty(rows, padded(dimensions))
    embedding[:, dimensions:] = 0
    embedding[:, :dimensions] = rng.standard_normal((rows, dimensions), np.float32) * np.float32(
        std
    )
    return embedding


def shared_words(old: View, new: View) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the words that both views have, in the one and in the other."""
    rows = number_of(*(pl.Series(list(view.words), dtype=pl.String) for view in (new, old)))
    both = np.flatnonzero(rows >= 0)
    return rows[both], both


def rows_of_maps(groups: Groups, tasks: Mapping[str, Task], view: str) -> dict[str, int]:
    """Return how many rows each map has, in the order in which the objectives name them.

    Parameters
    ----------
    groups : Groups
        Of objectives.
    tasks : mapping
        By the names in the objectives.
    view : str
        That all maps read.

    Raises
    ------
    BadInput
        A map would read texts whose columns mean different words.
    """
    rows: dict[str, int] = {}
    spaces: dict[str, str] = {}
    for objective in flat(groups):
        task, term = tasks[objective.task], objective.term
        if term.form == "zero":
            continue
        words = [(term.query, task.queries), (term.document, task.documents)]
        if term.form == "per_document":
            rows |= {term.query: 0, term.document: len(task.documents)}
            words.pop()
        for name, texts in words:
            space = texts.views[view].space
            if spaces.setdefault(name, space) != space:
                raise BadInput(
                    f"task {task.path}: the objective on {objective.task!r} lets {name!r} read "
                    f"other words than an objective before it: view {view!r} means {space[:12]} "
                    f"there and {spaces[name][:12]} here. Give it a map of its own."
                )
            rows[name] = texts.width(view)
    return rows


def flat(groups: Groups) -> Iterable[Objective]:
    """Return the objectives of all groups."""
    return (objective for group in groups for objective in group)
