"""Estimators in the manner of scikit-learn: parameters in, ``fit`` on a task, arrays out."""

from __future__ import annotations

import inspect
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import polars as pl

from ssi_core import files, resources, types
from ssi_core.face import progress
from ssi_core.face.task import Task, require_views
from ssi_core.models import MODELS, load_model
from ssi_core.models.base import FittedModel, Model, parse
from ssi_core.serving.searcher import model_in
from ssi_core.threads import limited
from ssi_core.types import Refused, Watch

if TYPE_CHECKING:
    from ssi_core.face.index import Index


class Estimator:
    """Base of the estimators: parameters are the arguments of the constructor, and attributes.

    Attributes
    ----------
    fitted_ : FittedModel
        The trained model of the first fold. Each of its arrays is an attribute, too, with an
        underscore behind its name: ``U_``, ``V_``, ``diagonal_``.
    folds_ : list of FittedModel
        The trained models of all folds; one model where a task has no folds.
    task_ : Task
        The task that the model was fitted on; a model that was loaded has none.
    curve_ : DataFrame
        A row for each validation: triples so far, and the measures.
    reproducible_ : bool
        Whether the same call gives the same bits.
    """

    random_state: int = 0
    fitted_: FittedModel
    folds_: list[FittedModel]
    task_: Task
    curve_: pl.DataFrame
    reproducible_: bool

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by their names."""
        return {name: getattr(self, name) for name in _signature(type(self))}

    def set_params(self, **parameters: Any) -> Self:
        """Set some parameters.

        Raises
        ------
        ValueError
            A parameter is unknown, or its value is not allowed.
        """
        known = self.get_params()
        if unknown := sorted(set(parameters) - set(known)):
            raise ValueError(
                f"{', '.join(unknown)}: no parameters of {type(self).__name__}; it has: "
                f"{', '.join(known)}"
            )
        type(self)(**{**known, **parameters}).ranker()
        self.__init__(**{**known, **parameters})  # type: ignore[misc]
        return self

    def ranker(self) -> Model:
        """Return the hyper-parameters as `ssi_core.models` takes them."""
        raise TypeError(f"{type(self).__name__} does not say what it trains")

    def fit(self, task: Task, y: None = None, *, threads: int = 1) -> Self:
        """Train on the training pairs of a task; of a task with folds, once for each.

        Parameters
        ----------
        task : Task
            What `Task.of` or `Task.open` returned.
        y : None
            Not used; scikit-learn passes it.
        threads : int, optional
            Cores to train on. With 1 the same call gives the same bits; with more it is faster and
            a little different each time.

        Raises
        ------
        BadInput
            The task lacks a view that the model reads, or has nothing to learn from.
        Refused
            There is too little memory.
        """
        ranker = self.ranker()
        require_views(task, ranker.views(), repr(self))
        with limited(threads), progress.shown("fit") as tell:
            curve: list[dict[str, float]] = []
            self.folds_, self.reproducible_ = [], threads == 1
            for number, fold in enumerate(task.divisions):
                cost = ranker.cost(fold, threads)
                resources.require("training", memory=cost.memory, remedy=resources.FEWER)
                watch = _watch(curve if number == 0 else [], tell, getattr(ranker, "budget", None))
                self.folds_.append(self._fit(ranker, fold, watch, threads))
        self.task_, self.fitted_ = task, self.folds_[0]
        self.curve_ = pl.DataFrame(curve, infer_schema_length=None)
        return self

    def _fit(
        self,
        ranker: Model,
        task: types.Task,
        watch: Watch,
        threads: int,
        checkpoint: Path | None = None,
    ) -> FittedModel:
        # The seed as a row of a table has it, so that both draw alike.
        rng = np.random.default_rng([self.random_state])
        return ranker.fit(task, rng, watch=watch, threads=threads, checkpoint=checkpoint)

    def index(self, documents: Any, *, out: str | Path | None = None) -> Index:
        """Return the index of documents under this model; it is made once and kept in the store.

        Parameters
        ----------
        documents : Documents
            What `read` returned, or what it takes. They may be other documents than those of the
            task: they are read with the words that the model knows.
        out : str or Path, optional
            Directory to write; by default one of the store.
        """
        from ssi_core.face.index import Index

        return Index.of(self._trained(), documents, out, vars(self).get("task_"))

    def save(self, directory: str | Path) -> None:
        """Write the model (of the first fold) to a directory, which every command takes as a MODEL.

        Parameters
        ----------
        directory : str or Path
            Directory to write; a model that is there is replaced.

        Raises
        ------
        Refused
            The directory holds something else.
        """
        place, fitted = Path(directory), self._trained()
        occupied = place.exists() and (not place.is_dir() or any(place.iterdir()))
        if occupied and not (place / "model.json").is_file():
            raise Refused(f"{place} is there and holds no model; it is left alone. Name another.")
        with files.writing(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            beside = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
            try:
                fitted.save(beside / "new")
                if place.exists():
                    place.rename(beside / "old")
                (beside / "new").rename(place)
            finally:
                shutil.rmtree(beside, ignore_errors=True)

    def _trained(self) -> FittedModel:
        if "fitted_" not in vars(self):
            raise ValueError(f"{self!r} is not fitted; call fit(task) first")
        return self.fitted_

    def __getattr__(self, name: str) -> Any:
        fitted = vars(self).get("fitted_")
        if name.endswith("_") and fitted is not None and name[:-1] in fitted.arrays:
            return fitted.arrays[name[:-1]]
        why = "" if fitted is not None or not name.endswith("_") else "; call fit(task) first"
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{why}")

    def __repr__(self) -> str:
        defaults = _signature(type(self))
        shown = [f"{n}={v!r}" for n, v in self.get_params().items() if defaults.get(n, ...) != v]
        return f"{type(self).__name__}({', '.join(shown)})"


class Ranker(Estimator):
    """A model of `ssi_core.models.MODELS` by its name.

    Parameters
    ----------
    model : str
        Name, as in a table: ``"lsi_mixture"``, ``"query_expansion"``, ``"word_pairs"``, ...
    random_state : int, optional
        Seed of every random choice; on one thread the same seed gives the same bits.
    **parameters
        Hyper-parameters of the model, as in a table; the others have the model's defaults.

    Examples
    --------
    >>> import ssi_core as ssi
    >>> ssi.Ranker("lsi_mixture", view="sublinear")
    Ranker(model='lsi_mixture', view='sublinear')
    >>> ssi.Ranker("bm25").set_params(k1=2.0).get_params()["k1"]
    2.0
    """

    def __init__(self, model: str, *, random_state: int = 0, **parameters: Any) -> None:
        self.model, self.random_state, self.parameters = model, random_state, parameters
        self.ranker()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by their names, those of the model with its defaults."""
        parameters = {"model": self.model, "random_state": self.random_state}
        return {**parameters, **vars(self.ranker()), **self.parameters}

    def ranker(self) -> Model:
        """Return the hyper-parameters as `ssi_core.models` takes them."""
        if self.model not in MODELS:
            raise ValueError(f"model={self.model!r}: expected one of {', '.join(sorted(MODELS))}")
        return parse(MODELS[self.model], self.parameters)

    def __repr__(self) -> str:
        known = {field.name: field.default for field in fields(MODELS[self.model])}
        known["random_state"] = 0
        shown = [f"{n}={v!r}" for n, v in self.get_params().items() if known.get(n, ...) != v]
        return f"Ranker({', '.join(shown)})"


class TfIdf(Estimator):
    """The cosine of weighted words: nothing is learnt.

    Parameters
    ----------
    view : str, optional
        Weighting of words, such as "raw" or "sublinear".
    """

    def __init__(self, *, view: str = "raw") -> None:
        self.view = view

    def ranker(self) -> Model:
        """Return the hyper-parameters as `ssi_core.models` takes them."""
        return parse(MODELS["tfidf"], self.get_params())


class BM25(Estimator):
    """Word counts that saturate (Robertson and Zaragoza 2009): nothing is learnt.

    Parameters
    ----------
    k1 : float, optional
        Saturation of a document's counts.
    b : float, optional
        Share of the length normalisation, 0..1.
    k3 : float, optional
        Saturation of the query's counts; it matters where queries are documents.
    """

    def __init__(self, *, k1: float = 1.2, b: float = 0.75, k3: float = 8.0) -> None:
        self.k1, self.b, self.k3 = k1, b, k3

    def ranker(self) -> Model:
        """Return the hyper-parameters as `ssi_core.models` takes them."""
        return parse(MODELS["bm25"], self.get_params())


class SSI(Estimator):
    """Supervised Semantic Indexing: ``f(q, d) = q' (U'V + D) d``, learnt from relevant pairs.

    The defaults are those of row ``U'V + D`` of the table ``new-corpus``, and of each of its grids
    the value in the middle. No test side was looked at.

    Parameters
    ----------
    auto : bool, optional
        Choose margin, rate and both views on validation, from the grids of that table; values that
        are given for them are then ignored. It takes about ten times as long.
    diagonal : str, optional
        "learned": a weight for each word (D). "identity": the same weight for all words, as in
        ``U'V + I``. "none": no diagonal.
    dimensions : int, optional
        Rank of U and V.
    margin : float, optional
        Margin of the hinge loss ``max(0, margin - f(q, d+) + f(q, d-))``.
    rate : float, optional
        Learning rate of U and V.
    diagonal_rate : float, optional
        Rate of D, as a multiple of ``rate``.
    init_std : float, optional
        Standard deviation of U and V at the start.
    view : str, optional
        Weighting of words that U and V read.
    diagonal_view : str, optional
        Weighting of words that D reads.
    negatives : int, optional
        Documents d- that are tried for a pair until one violates the margin.
    epoch : int, optional
        Triples between two validations.
    patience : int, optional
        Validations without improvement before the training ends.
    budget : int, optional
        Triples (q, d+, d-) at most.
    seconds : float, optional
        End the training at the first validation after so many seconds. How many triples that gives
        depends on the machine, so the result is not reproducible (``reproducible_`` is False);
        ``fitted_.model.budget`` is the budget in triples that repeats it.
    random_state : int, optional
        Seed of the start and of the sampling; on one thread the same seed gives the same bits.

    Examples
    --------
    >>> import ssi_core as ssi
    >>> ssi.SSI(dimensions=100, random_state=1)
    SSI(dimensions=100, random_state=1)
    """

    def __init__(
        self,
        *,
        auto: bool = False,
        diagonal: Literal["learned", "identity", "none"] = "learned",
        dimensions: int = 50,
        margin: float = 0.1,
        rate: float = 0.03,
        diagonal_rate: float = 20.0,
        init_std: float = 0.01,
        view: str = "sublinear:50",
        diagonal_view: str = "sublinear",
        negatives: int = 8,
        epoch: int = 20_000,
        patience: int = 5,
        budget: int = 20_000_000,
        seconds: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.auto, self.seconds, self.random_state = auto, seconds, random_state
        self.diagonal, self.dimensions, self.init_std = diagonal, dimensions, init_std
        self.margin, self.rate, self.diagonal_rate = margin, rate, diagonal_rate
        self.view, self.diagonal_view, self.negatives = view, diagonal_view, negatives
        self.epoch, self.patience, self.budget = epoch, patience, budget

    def ranker(self) -> Model:
        """Return the hyper-parameters as `ssi_core.models` takes them.

        Raises
        ------
        ValueError
            A value is out of bounds, or ``auto`` and ``seconds`` meet: a choice needs trainings of
            a fixed length.
        """
        settings = self.get_params()
        auto, seconds, _ = (settings.pop(name) for name in ("auto", "seconds", "random_state"))
        if seconds is not None and (auto or not seconds > 0):
            raise ValueError(f"seconds={seconds!r}: expected a number above 0, without auto=True")
        # What trials compare is the rank loss on validation, after an epoch.
        settings |= {"rate_by": "validation", "search_budget": self.epoch}
        settings["rates"] = (settings.pop("rate"),)
        if not auto:
            return parse(MODELS["bilinear"], settings)
        parts = [{"model": "bilinear", **settings, **GRID, **views} for views in GRID_OF_VIEWS]
        return parse(MODELS["best_of"], {"parts": parts})

    def _fit(
        self,
        ranker: Model,
        task: types.Task,
        watch: Watch,
        threads: int,
        checkpoint: Path | None = None,
    ) -> FittedModel:
        if self.seconds is None:
            return super()._fit(ranker, task, watch, threads)
        end = time.monotonic() + self.seconds

        def until(step: int, metrics: Mapping[str, float]) -> None:
            watch(step, metrics)
            if step and time.monotonic() > end:
                raise _TimeIsOver(step)

        with tempfile.TemporaryDirectory(prefix="ssi-") as folder:
            state = Path(folder) / "state"
            try:
                return super()._fit(ranker, task, until, threads, state)
            except _TimeIsOver as over:
                self.reproducible_ = False
                enough: Any = replace(ranker, budget=over.triples)  # type: ignore[call-arg]
            # From the last checkpoint to its end, which is now the budget.
            return super()._fit(enough, task, lambda step, metrics: None, threads, state)


GRID: Mapping[str, Any] = {"margin": (0.3, 0.1, 0.03), "rates": (0.1, 0.03, 0.01)}
GRID_OF_VIEWS: Sequence[Mapping[str, str]] = (
    {"view": "sublinear:50", "diagonal_view": "raw"},
    {"view": "sublinear:50", "diagonal_view": "sublinear"},
    {"view": "sublinear:200", "diagonal_view": "raw"},
)
"""Values that `SSI` with ``auto`` chooses from, as in the table ``new-corpus``."""


class _TimeIsOver(Exception):
    """The seconds of a training are spent."""

    def __init__(self, triples: int) -> None:
        super().__init__(triples)
        self.triples = triples


def load(directory: str | Path) -> Ranker:
    """Read a model that ``save``, or a run of MLflow, has written.

    Parameters
    ----------
    directory : str or Path
        Directory of the model.

    Raises
    ------
    BadInput
        The directory holds no model, or one that was changed after it was written.
    """
    fitted = load_model(model_in(Path(directory)))
    ranker = Ranker(fitted.model.name, **vars(fitted.model))
    ranker.fitted_, ranker.folds_ = fitted, [fitted]
    return ranker


def _signature(kind: type[Estimator]) -> dict[str, Any]:
    """Return the parameters of a constructor and their defaults."""
    parameters = inspect.signature(kind).parameters.values()
    return {one.name: one.default for one in parameters}


def _watch(curve: list[dict[str, float]], tell: Any, budget: int | None) -> Watch:
    """Return what keeps the curve of a training and shows how far it is."""

    def watch(step: int, metrics: Mapping[str, float]) -> None:
        curve.append({"triples": step, **metrics})
        if tell is not None and budget:
            loss = metrics.get("val/rank_loss", float("nan"))
            tell(min(1.0, step / budget), f"{step:,} triples, validation rank loss {loss:.4f}")

    return watch
