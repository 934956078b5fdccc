"""The SSI family: ``f(q, d) = sum_i diag_i q_i d_i + phi(q)' W phi(d)`` (journal paper, section 2).

Trained on preferences (q, d+, d-) with the margin ranking loss
``max(0, margin - f(q, d+) + f(q, d-))``, one stochastic step per violated triple.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from ssi_core.evaluation.evaluate import Validator
from ssi_core.kernels.forms import Parameters
from ssi_core.kernels.sparse import aligned_empty, padded
from ssi_core.kernels.sweep import Settings, sweep_of
from ssi_core.models.base import DenseWords, FittedModel, Model, Side, fitted
from ssi_core.training import fitting
from ssi_core.training.embedding import normal, shared_words
from ssi_core.training.fitting import several
from ssi_core.training.sgd import Sgd, training_data
from ssi_core.types import BadInput, Task, TextMatrix, Texts, Vectors, View, Watch


@dataclass(frozen=True)
class Bilinear(Model):
    """One term: a form of W, a diagonal, and the two views they read.

    ========================  ==========================================
    ``W = D``                 form "zero", diagonal "learned"
    ``U'U + I``               form "low_rank", tied, diagonal "identity"
    ``U'V + I``               form "low_rank", diagonal "identity"
    ``U'V + D``               form "low_rank", diagonal "learned"
    ``U'V``                   form "low_rank", diagonal "none"
    ``U'V + alpha I``         form "low_rank", diagonal "alpha"
    ========================  ==========================================

    Parameters
    ----------
    form : form of W
    tied : U is V, so that W is symmetric
    dimensions : N, the rank of W
    diagonal : "none", "identity", "alpha" (``alpha I``) or "learned" (a weight per word, from 1)
    alpha : with diagonal "alpha": its value, its start, or several values to choose from
    alpha_rate : learning rate of alpha; 0 keeps it fixed
    diagonal_rate : with diagonal "learned": rate of D as a multiple of W's rate
    view, diagonal_view : what W and the diagonal read; None: the same
    init_std : standard deviation of U and V at the start, or several to choose from
    rates : learning rates; the one with the lowest rank loss after ``search_budget`` triples is
        taken
    rate_by : "training" (the paper) or "validation" rank loss chooses the rate; alpha, margin and
        init_std, where there are several, are chosen by validation rank loss
    margin : of the hinge, or several to choose from; a margin of 1 / alpha with the identity is
        alpha with a margin of 1
    negatives : documents d- tried per positive until one violates
    epoch, budget, patience : triples between validations, triples at most, validations without
        improvement before the end
    search_budget : triples of each trial of the search
    validation_queries : queries of the validation rank loss
    """

    name: ClassVar[str] = "bilinear"
    form: Literal["zero", "low_rank"] = "low_rank"
    tied: bool = False
    dimensions: int = 100
    diagonal: Literal["none", "identity", "alpha", "learned"] = "identity"
    alpha: float | tuple[float, ...] = 1.0
    alpha_rate: float = 0.0
    diagonal_rate: float = 1.0
    view: str = "raw"
    diagonal_view: str | None = None
    init_std: float | tuple[float, ...] = 0.1
    rates: tuple[float, ...] = (0.3, 0.1, 0.03, 0.01, 0.003)
    rate_by: Literal["training", "validation"] = "training"
    margin: float | tuple[float, ...] = 1.0
    negatives: int = 1
    epoch: int = 50_000
    budget: int = 1_000_000
    patience: int = 5
    search_budget: int = 50_000
    validation_queries: int = 500

    def __post_init__(self) -> None:
        """Refuse values that no training could follow."""
        if self.form not in ("zero", "low_rank"):
            raise ValueError(f"form={self.form!r}; expected 'zero' or 'low_rank'")
        if self.diagonal not in ("none", "identity", "alpha", "learned"):
            raise ValueError(
                f"diagonal={self.diagonal!r}; expected 'none', 'identity', 'alpha' or 'learned'"
            )
        if self.form == "zero" and self.diagonal == "none":
            raise ValueError("form='zero' with diagonal='none' scores nothing")
        if self.rate_by not in ("training", "validation"):
            raise ValueError(f"rate_by={self.rate_by!r}; expected 'training' or 'validation'")
        for name in ("dimensions", "negatives", "epoch", "budget", "patience", "search_budget"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}; expected at least 1")
        if not self.rates or min(self.rates) <= 0:
            raise ValueError(f"rates={self.rates}; expected positive numbers")

    def views(self) -> set[str]:
        """View of W, unless W is zero, and of the diagonal, unless there is none."""
        used = set() if self.form == "zero" else {self.view}
        return used if self.diagonal == "none" else used | {self.diagonal_view or self.view}

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
        self._check(task)
        seed = int(rng.integers(2**63))
        training = _Training(self, task, seed, start, threads)
        grid = {name: several(getattr(self, name)) for name in ("init_std", "alpha", "margin")}
        sgd, facts = fitting.fit(
            self, grid, training.begin, training.errors, watch=watch, checkpoint=checkpoint
        )
        facts["threads"] = threads
        if self.diagonal == "alpha":
            facts["alpha"] = float(sgd.parameters.diagonal[0])
        return fitted(self, task, self.arrays(sgd.parameters), facts)

    def _check(self, task: Task) -> None:
        if len(task.train) == 0:
            raise BadInput(f"task {task.path}: no training pair; nothing can be learnt from it.")
        if self.diagonal != "none":
            same_space(task, self.diagonal_view or self.view, "a diagonal")
        if self.form != "zero" and self.tied:
            same_space(task, self.view, "U'U")

    def arrays(self, parameters: Parameters) -> dict[str, Any]:
        """Arrays that are kept of the parameters: the padding of the rows is cut off."""
        arrays: dict[str, Any] = {}
        if self.form == "low_rank":
            arrays["U"] = np.ascontiguousarray(parameters.U[:, : self.dimensions])
            if not self.tied:
                arrays["V"] = np.ascontiguousarray(parameters.V[:, : self.dimensions])
        if self.diagonal in ("alpha", "learned"):
            arrays["diagonal"] = np.array(parameters.diagonal)
        return arrays

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """``U q`` and ``V d`` as the dense part; the diagonal's rows as the sparse part.

        The diagonal's weights are on the query's side.
        """
        dense = sparse_part = None
        if self.form == "low_rank":
            dense = np.asarray(texts.matrix(self.view) @ self._embedding(fitted, side), np.float32)
        if self.diagonal != "none":
            sparse_part = texts.matrix(self.diagonal_view or self.view)
            if side == "query" and self.diagonal != "identity":
                weights = fitted.arrays["diagonal"]
                factor = weights[0] if self.diagonal == "alpha" else weights[sparse_part.indices]
                sparse_part = _with_data(sparse_part, sparse_part.data * factor)
        return Vectors(sparse_part, dense)

    def dense_words(self, fitted: FittedModel, texts: Texts, side: Side) -> DenseWords | None:
        """Rows of W's view and the side's embedding."""
        if self.form == "zero":
            return None
        embedding = self._embedding(fitted, side)
        return DenseWords(texts.matrix(self.view), embedding, fitted.view(self.view, side))

    def sparse_view(self, fitted: FittedModel, side: Side) -> View | None:
        """Words of the diagonal."""
        if self.diagonal == "none":
            return None
        return fitted.view(self.diagonal_view or self.view, side)

    def _embedding(self, fitted: FittedModel, side: Side) -> Any:
        return fitted.arrays["U" if side == "query" or self.tied else "V"]


class _Training:
    """One fit: the data, the validators, and trainings begun from the same start."""

    def __init__(
        self, model: Bilinear, task: Task, seed: int, start: FittedModel | None, threads: int
    ) -> None:
        self.model, self.task, self.seed, self.start = model, task, seed, start
        self.threads = threads
        shown = model.view if model.form != "zero" else (model.diagonal_view or model.view)
        diagonal = shown if model.diagonal == "none" else (model.diagonal_view or model.view)
        self.data = training_data(task, shown, diagonal)
        self.words = task.documents.matrix(diagonal).shape[1]
        self.valid = _Judge(model, task, "valid", threads)
        self.train = _Judge(model, task, "train", threads)

    def errors(self, sgd: Sgd) -> tuple[float, float]:
        """Training and validation rank loss as it stands."""
        return self.train(sgd.parameters), self.valid(sgd.parameters)

    def begin(self, settings: Mapping[str, Any]) -> Sgd:
        """Return a training at its start."""
        model, rate = self.model, np.float32(settings["rate"])
        diagonal_rate = {
            "alpha": np.float32(model.alpha_rate),
            "learned": rate * np.float32(model.diagonal_rate),
        }
        return Sgd(
            sweep_of(model.form, _KERNELS[model.diagonal]),
            self.initial(settings),
            self.data,
            Settings(
                np.float32(settings["margin"]),
                rate,
                diagonal_rate.get(model.diagonal, np.float32(0)),
                np.int64(model.negatives),
            ),
            n_documents=len(self.task.documents),
            words=self.words,
            seed=self.seed,
            threads=self.threads,
            judge=self.valid,
        )

    def initial(self, settings: Mapping[str, Any]) -> Parameters:
        """First values: normal U and V, alpha, D = 1; rows of known words from ``start``."""
        model, rng = self.model, np.random.default_rng([self.seed, 1])
        if model.form == "zero":
            U = V = aligned_empty(0, padded(1))
        else:
            shapes = [
                t.matrix(model.view).shape[1] for t in (self.task.queries, self.task.documents)
            ]
            U = normal(shapes[0], model.dimensions, settings["init_std"], rng)
            V = U if model.tied else normal(shapes[1], model.dimensions, settings["init_std"], rng)
        size = self.words if model.diagonal == "learned" else 1
        value = 1.0 if model.diagonal != "alpha" else settings["alpha"]
        parameters = Parameters(U, V, np.full(size, value, np.float32))
        if self.start is not None:
            warm_start(model, self.start, self.task, parameters)
        return parameters


class _Judge:
    """Rank loss of parameters on one side of the split."""

    def __init__(self, model: Bilinear, task: Task, side: Literal["train", "valid"], threads: int):
        self.model, self.task = model, task
        self.validator = Validator(task, side, model.validation_queries, threads=threads)

    def __call__(self, parameters: Parameters) -> float:
        return self.validator.rank_loss(
            fitted(self.model, self.task, self.model.arrays(parameters))
        )


def warm_start(model: Bilinear, start: FittedModel, task: Task, parameters: Parameters) -> None:
    """Write the values of a fitted model into parameters, row by word.

    Raises
    ------
    ValueError
        ``start`` is of another shape of model.
    """
    before = start.model
    if not isinstance(before, Bilinear) or (
        (before.form, before.tied, before.dimensions, before.diagonal)
        != (model.form, model.tied, model.dimensions, model.diagonal)
    ):
        raise ValueError(f"start={before}; expected a model with the form and diagonal of {model}")
    if model.form != "zero":
        for name, target, side, texts in (
            ("U", parameters.U, "query", task.queries),
            ("V", parameters.V, "document", task.documents),
        ):
            if name in start.arrays:
                old, new = shared_words(start.view(model.view, side), texts.views[model.view])  # type: ignore[arg-type]
                target[new, : model.dimensions] = start.arrays[name][old]
    if model.diagonal == "alpha":
        parameters.diagonal[0] = start.arrays["diagonal"][0]
    if model.diagonal == "learned":
        view = model.diagonal_view or model.view
        old, new = shared_words(start.view(view, "query"), task.queries.views[view])
        parameters.diagonal[new] = start.arrays["diagonal"][old]


# The identity is an alpha of 1 that is not learnt.
_KERNELS = {"none": "none", "identity": "alpha", "alpha": "alpha", "learned": "weights"}


def same_space(task: Task, view: str, what: str) -> None:
    """Equal shapes prove nothing: two languages may have 30,000 words each."""
    query, document = task.queries.views[view], task.documents.views[view]
    if query.space != document.space:
        raise BadInput(
            f"task {task.path}: {what} needs the same words on both sides, but view {view!r} means "
            f"{query.space[:12]} for queries and {document.space[:12]} for documents. Use a model "
            "without a diagonal and with its own map for each side (U'V)."
        )


def _with_data(matrix: TextMatrix, data: Any) -> TextMatrix:
    return sparse.csr_array((data.astype(np.float32), matrix.indices, matrix.indptr), matrix.shape)
