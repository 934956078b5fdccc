"""The SSI family: ``f(q, d) = sum_i diag_i q_i d_i + phi(q)' W phi(d)`` (journal paper, section 2).

Trained on preferences (q, d+, d-) with the margin ranking loss
``max(0, margin - f(q, d+) + f(q, d-))``, one stochastic step per violated triple.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from ssi_core.kernels.adagrad import first_squares
from ssi_core.kernels.sparse import aligned_empty, padded
from ssi_core.kernels.structs import Parameters
from ssi_core.models.base import DenseWords, FittedModel, Side, UnfitStart, fitted
from ssi_core.models.bounds import Dimensions, Spread, Values
from ssi_core.models.term import Term, TermTraining, same_space
from ssi_core.training import fitting
from ssi_core.training.embedding import normal
from ssi_core.training.fitting import several
from ssi_core.training.sgd import Sgd
from ssi_core.types import BadInput, Inapplicable, Task, Texts, Vectors, View, Watch


@dataclass(frozen=True)
class Bilinear(Term):
    """One term: W of low rank or zero, a diagonal, and the two views they read.

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
    form : form of W
    tied : U is V, so that W is symmetric
    dimensions : N, the rank of W
    init_std : standard deviation of U and V at the start, or several to choose from
    adagrad : a rate for each word, which falls with its steps (`kernels.adagrad`); ``rates`` then
        are about the size of the first step of an entry of U and V
    learn_first : name of a further task (``task.also``) that ``U'V``, without a diagonal, learns
        first; U and V start from there. For tasks with few pairs
    learn_on : name of a further task, such as ``monolingual``, that is learnt in place of the task:
        its queries are in the language of the documents, as are translated ones
    others : see `Term`
    """

    name: ClassVar[str] = "bilinear"
    form: Literal["zero", "low_rank"] = "low_rank"
    tied: bool = False
    dimensions: Dimensions = 100
    init_std: Spread | Values[Spread] = 0.1
    adagrad: bool = False
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

    def views(self) -> set[str]:
        """View of W, unless W is zero, and of the diagonal, unless there is none."""
        return {self.diagonals_view} if self.form == "zero" else super().views()

    def fit(
        self,
        task: Task,
        rng: np.random.Generator,
        *,
        start: FittedModel | None = None,
        watch: Watch | None = None,
        threads: int = 1,
        checkpoint: Path | None = None,
    ) -> FittedModel:
        """Search the rate (alpha, margin, init std), then train with early stopping.

        ``start`` gives the first values of the rows of words that both vocabularies have; its
        training then needs no init std. One thread makes the same bits from the same ``rng``;
        several share the arrays without a lock and do not.
        """
        if self.learn_on is not None:
            if self.form != "zero":
                same_space(task, self.view, f"learn_on={self.learn_on!r}")
            found = replace(self, learn_on=None).fit(
                further(task, "learn_on", self.learn_on),
                rng,
                start=start,
                watch=watch,
                threads=threads,
                checkpoint=checkpoint,
            )
            return fitted(self, task, found.arrays, found.facts)
        self.check(task)
        first = None
        if start is None and self.learn_first is not None:
            start = first = self._first(self.learn_first, task, rng, threads)
        training = _Training(self, task, int(rng.integers(2**63)), start, threads)
        grid = {name: several(getattr(self, name)) for name in ("init_std", "alpha", "margin")}
        sgd, facts = fitting.fit(
            self, grid, training.begin, training.errors, watch=watch, checkpoint=checkpoint
        )
        facts["threads"] = threads
        if first is not None:
            facts["learned_first"] = first.facts
        if self.diagonal == "alpha":
            facts["alpha"] = float(sgd.parameters.diagonal[0])
        return fitted(self, task, self.arrays(sgd.parameters), facts)

    def _first(self, name: str, task: Task, rng: np.random.Generator, threads: int) -> FittedModel:
        """Learn ``U'V`` on the task to begin with."""
        plain = replace(self, diagonal="none", alpha=1.0, learn_first=None)
        return plain.fit(further(task, "learn_first", name), rng, threads=threads)

    def check(self, task: Task) -> None:
        """Refuse a task from which this cannot be learnt."""
        super().check(task)
        if self.form != "zero" and self.tied:
            same_space(task, self.view, "U'U")

    def parameter_bytes(self, task: Task) -> int:
        """Return the size of U and V."""
        if self.form == "zero":
            return 0
        sides = (task.queries,) if self.tied else (task.queries, task.documents)
        row = padded(self.dimensions) + int(self.adagrad)
        return 4 * row * sum(texts.width(self.view) for texts in sides)

    def arrays(self, parameters: Parameters) -> dict[str, Any]:
        """Arrays that are kept of the parameters: the padding of the rows is cut off."""
        arrays = super().arrays(parameters)
        if self.form == "low_rank":
            arrays["U"] = np.ascontiguousarray(parameters.U[:, : self.dimensions])
            if not self.tied:
                arrays["V"] = np.ascontiguousarray(parameters.V[:, : self.dimensions])
        return arrays

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """``U q`` and ``V d`` as the dense part; the diagonal's rows as the sparse part.

        The diagonal's weights are on the query's side.
        """
        dense = None
        if self.form == "low_rank":
            dense = np.asarray(texts.matrix(self.view) @ self._embedding(fitted, side), np.float32)
        return Vectors(self.diagonal_rows(fitted, texts, side), dense)

    def dense_words(self, fitted: FittedModel, texts: Texts, side: Side) -> DenseWords | None:
        """Rows of W's view and the side's embedding."""
        if self.form == "zero":
            return None
        embedding = self._embedding(fitted, side)
        return DenseWords(texts.matrix(self.view), embedding, fitted.view(self.view, side))

    def sparse_view(self, fitted: FittedModel, side: Side) -> View | None:
        """Words of the diagonal."""
        return None if self.diagonal == "none" else fitted.view(self.diagonals_view, side)

    def _embedding(self, fitted: FittedModel, side: Side) -> Any:
        return fitted.arrays["U" if side == "query" or self.tied else "V"]


def further(task: Task, argument: str, name: str) -> Task:
    """Return a further task by its name; `BadInput` names those there are.

    Raises
    ------
    Inapplicable
        The further task has no pair to learn from.
    """
    if name not in task.also:
        known = ", ".join(sorted(task.also)) or "none"
        raise BadInput(
            f"task {task.path}: {argument}={name!r} is not among the tasks that it has beside its "
            f"own: {known}."
        )
    other = task.also[name]
    if not len(other.train) or not len(other.valid):
        raise Inapplicable(
            f"task {task.path}: {argument}={name!r}: it has {len(other.train)} pairs to learn from "
            f"and {len(other.valid)} to validate on, and needs both. Give more documents {name}, "
            "or leave the row out."
        )
    return other


class _Training(TermTraining[Bilinear]):
    """One fit of U and V."""

    def begin(self, settings: Mapping[str, Any]) -> Sgd:
        """Return a training at its start."""
        form = "low_rank_adagrad" if self.model.adagrad else self.model.form
        return self.sgd(form, self._initial(settings), settings)

    def _initial(self, settings: Mapping[str, Any]) -> Parameters:
        """First values: normal U and V, alpha, D = 1; rows of known words from ``start``."""
        model, rng = self.model, np.random.default_rng([self.seed, 1])
        if self.start is not None:
            _check_start(model, self.start)
        if model.form == "zero":
            U = V = aligned_empty(0, padded(1))
        else:
            shapes = [
                t.matrix(model.view).shape[1] for t in (self.task.queries, self.task.documents)
            ]
            U = normal(shapes[0], model.dimensions, settings["init_std"], rng)
            V = U if model.tied else normal(shapes[1], model.dimensions, settings["init_std"], rng)
            self._carry_over(U, V)
        squares = first_squares(U, V, model.dimensions) if model.adagrad else None
        return Parameters(U, V, self.first_diagonal(settings), squares=squares)

    def _carry_over(self, U: Any, V: Any) -> None:
        """Take the rows of ``start``, word by word."""
        if self.start is None:
            return
        sides: tuple[tuple[str, Any, Side], ...] = (("U", U, "query"), ("V", V, "document"))
        for name, target, side in sides:
            if name in self.start.arrays:
                old, new = self.same_words(side)
                target[new, : self.model.dimensions] = self.start.arrays[name][old]


def _check_start(model: Bilinear, start: FittedModel) -> None:
    """Refuse the first values of another shape of model; `UnfitStart` says so.

    U and V that were learnt without a diagonal can be joined by any.
    """
    before = start.model
    if (
        not isinstance(before, Bilinear)
        or (before.form, before.tied, before.dimensions)
        != (model.form, model.tied, model.dimensions)
        or before.diagonal not in (model.diagonal, "none")
    ):
        raise UnfitStart(f"start={before}; expected a model with the form and diagonal of {model}")
