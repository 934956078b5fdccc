"""Base of the estimators: parameters in, ``fit`` on a task, arrays out."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ssi_core import strict
from ssi_core.face import progress
from ssi_core.face.show import card, count, facts_table, folded, html_table
from ssi_core.root import user_path

if TYPE_CHECKING:
    import polars as pl

    from ssi_core import types
    from ssi_core.face.documents import Documents
    from ssi_core.face.encoding import Encoded, TextsToEncode
    from ssi_core.face.frames import Texts
    from ssi_core.face.index import Index
    from ssi_core.face.results import Neighbours
    from ssi_core.face.task import Task
    from ssi_core.models.base import FittedModel, Model, Side
    from ssi_core.serving.index import Storage
    from ssi_core.types import Progress, Watch


_INSTEAD = {
    "predict": "search with model.index(docs).search(text)",
    "encode": "take model.encode_queries(texts) or model.encode_documents(texts)",
    "transform": "take model.encode_queries(texts) or model.encode_documents(texts)",
    "fit_transform": "take model.fit(task).encode_documents(texts)",
    "score": "compare on the test side with ssi.compare([model], task)",
    "search": "search with model.index(docs).search(text)",
}
"""Methods that other libraries have -> what does their work here."""


class Estimator:
    """Base of the estimators: parameters are the arguments of the constructor, and attributes.

    Attributes
    ----------
    fitted_ : FittedModel
        The trained model of the first fold; of `ssi_core.fit` on judged queries in folds the one
        that was fitted on all of them. Each of its arrays is an attribute, too, with an underscore
        behind its name: ``U_``, ``V_``, ``diagonal_``.
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
            kind = type(self).__name__
            raise ValueError(f"{kind}: no parameter {strict.instead(unknown[0], known)}")
        type(self)(**{**known, **parameters}).ranker()
        self.__init__(**{**known, **parameters})  # type: ignore[misc]
        return self

    def ranker(self) -> Model:
        """Return the hyper-parameters as `ssi_core.models` takes them."""
        raise TypeError(f"{type(self).__name__} does not say what it trains")

    def fit(
        self,
        task: Task | Documents,
        y: None = None,
        *,
        threads: int = 1,
        checkpoint: str | Path | None = None,
    ) -> Self:
        """Train on the training pairs of a task; of a task with folds, once for each.

        Parameters
        ----------
        task : Task or Documents
            What `Task.of` or `Task.open` returned; or documents, of which ``Task.of(documents)`` is
            made: ``task_``.
        y : None
            Not used; scikit-learn passes it.
        threads : int, optional
            Cores to train on. With 1 the same call gives the same bits; with more it is faster and
            a little different each time.
        checkpoint : str or Path, optional
            Directory for the state of the training: the same call goes on from there after a break.

        Raises
        ------
        TypeError
            It is no task; the message says how to make one.
        BadInput
            The task lacks a view that the model reads, or has nothing to learn from.
        Refused
            There is too little memory.
        """
        from ssi_core import resources
        from ssi_core.face.task import require_views, task_for

        ranker = self.ranker()
        task = task_for(task, ranker.views())
        require_views(task, ranker.views(), strict.cut(repr(self)))
        path = None if checkpoint is None else user_path(checkpoint)
        if path is not None:
            path.mkdir(parents=True, exist_ok=True)
        with resources.limited(threads), progress.shown("fit") as on_progress:
            curve: list[dict[str, float]] = []
            folds: list[FittedModel] = []
            self.reproducible_ = threads == 1 and ranker.repeats
            for number, fold in enumerate(task.divisions):
                cost = ranker.cost(fold, threads)
                resources.require("training", memory=cost.memory, remedy=resources.FEWER)
                most = ranker.most_triples(fold)
                watch = _watch(curve if number == 0 else [], on_progress, most)
                state = None if path is None else path / f"fold_{number}"
                folds.append(self._fit(ranker, fold, watch, threads, state))
        return self.take(task, folds, curve)

    def take(
        self, task: Task, folds: Sequence[FittedModel], curve: Sequence[Mapping[str, float]]
    ) -> Self:
        """Take over models that were trained on a task, one for each of its folds."""
        import polars as pl

        self.task_, self.folds_, self.fitted_ = task, list(folds), folds[0]
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
        import numpy as np

        # The seed as a row of a table has it, so that both draw alike.
        rng = np.random.default_rng([strict.whole("random_state", self.random_state, 0)])
        return ranker.fit(task, rng, watch=watch, threads=threads, checkpoint=checkpoint)

    def index(
        self,
        documents: Documents | Task | Texts,
        *,
        out: str | Path | None = None,
        storage: Storage = "float32",
    ) -> Index:
        """Return the index of documents under this model; it is made once and kept in the store.

        Parameters
        ----------
        documents : Documents or Task
            What `read` returned, or what it takes; or a task, whose documents are meant. They may
            be other documents than those of the task: they are read with the words that the model
            knows.
        out : str or Path, optional
            Directory to write; by default one of the store.
        storage : str, optional
            Numbers of the documents' vectors: "float32", or "float16" in half of the bytes.
        """
        from ssi_core.face.index import Index

        return Index.of(self._trained(), documents, out, vars(self).get("task_"), storage)

    def encode_queries(self, texts: TextsToEncode) -> Encoded:
        """Return queries as vectors, for an engine that ranks by inner products.

        Parameters
        ----------
        texts : sequence of str, or Documents
            Queries; documents that `read` returned are whole texts.

        Returns
        -------
        Encoded
            ``sparse``, a CSR matrix of scipy, and ``dense``, an array of float32: a row each.

        Raises
        ------
        BadInput
            The score of the model is no sum of inner products: a likelihood, a sum of ranks, or two
            stages.
        """
        return self._encoded(texts, "query")

    def encode_documents(self, texts: TextsToEncode) -> Encoded:
        """Return documents as vectors, whose inner products with those of queries are the scores.

        Parameters
        ----------
        texts : sequence of str, or Documents
            Texts; of documents that `read` returned all fields are read, as for an index.

        Returns
        -------
        Encoded
            ``sparse``, a CSR matrix of scipy, and ``dense``, an array of float32: a row each.

        Raises
        ------
        BadInput
            The score of the model is no sum of inner products: a likelihood, a sum of ranks, or two
            stages.
        """
        return self._encoded(texts, "document")

    def _encoded(self, texts: TextsToEncode, side: Side) -> Encoded:
        from ssi_core.face.encoding import encode

        return encode(self._trained(), texts, side)

    def neighbours(self, word: str | Sequence[str], k: int = 10) -> Neighbours:
        """Return the words that the model relates most to a word, or to several taken together.

        Parameters
        ----------
        word : str or sequence of str
            A word, or several.
        k : int, optional
            Number of words at most.

        Raises
        ------
        BadInput
            The model relates no words to others, or does not know this one.
        """
        from ssi_core.face.results import Neighbours

        return Neighbours.of(self._trained(), word, k)

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
        self._trained().save(directory)

    def _trained(self) -> FittedModel:
        if "fitted_" not in vars(self):
            raise ValueError(f"{self!r} is not fitted; call fit(task) first")
        return self.fitted_

    def __getattr__(self, name: str) -> Any:
        fitted = vars(self).get("fitted_")
        if name.endswith("_") and fitted is not None and name[:-1] in fitted.arrays:
            return fitted.arrays[name[:-1]]
        why = "" if fitted is not None or not name.endswith("_") else "; call fit(task) first"
        why = f"; {_INSTEAD[name]}" if name in _INSTEAD else why
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{why}")

    def _repr_html_(self) -> str:
        settings = [[name, repr(value)] for name, value in self.get_params().items()]
        parts = [folded("Settings", html_table(["setting", "value"], settings))]
        if "fitted_" not in vars(self):
            return card(repr(self), "not fitted: call fit(task)", *parts)
        facts = facts_table({k: v for k, v in self.fitted_.facts.items() if _is_plain(v)})
        if facts:
            parts.insert(0, folded("Training", html_table(["found", "value"], facts)))
        task = vars(self).get("task_")
        where = "fitted" if task is None else f"fitted on {task.path}"
        return card(repr(self), where, self._measured(), *parts)

    def _measured(self) -> str:
        """Write the measures on validation of what was kept."""
        curve = vars(self).get("curve_")
        columns = [] if curve is None else curve.columns
        names = [name for name in columns if name.startswith("val/")]
        best = self.fitted_.facts.get("best_at")
        if curve is None or not names or best is None:
            return ""
        curve = curve.filter(triples=best)
        kept = {name: curve[name][0] for name in names}
        values = dict(_validated(name, one) for name, one in kept.items() if one is not None)
        row = ["on validation", f"{curve['triples'][0]:,}"]
        return html_table(
            ["", "triples", *values], [[*row, *(f"{value:.4f}" for value in values.values())]]
        )

    def __repr__(self) -> str:
        defaults = _signature(type(self))
        shown = [f"{n}={v!r}" for n, v in self.get_params().items() if defaults.get(n, ...) != v]
        return f"{type(self).__name__}({', '.join(shown)})"


def _validated(name: str, value: float) -> tuple[str, float]:
    """Return the title and the mean of a measure; ``val/map_error`` is 1 - MAP."""
    from ssi_core.evaluation.measures import TITLES

    measure = name.removeprefix("val/")
    if measure.endswith("_error"):
        measure, value = measure.removesuffix("_error"), 1 - value
    return TITLES.get(measure, measure), value


def _is_plain(value: Any) -> bool:
    return isinstance(value, int | float | str | bool)


def _signature(kind: type[Estimator]) -> dict[str, Any]:
    """Return the parameters of a constructor and their defaults."""
    parameters = inspect.signature(kind).parameters.values()
    return {one.name: one.default for one in parameters}


def _watch(curve: list[dict[str, float]], on_progress: Progress | None, most: int | None) -> Watch:
    """Return what keeps the curve of a training and shows how far and how fast it is."""
    began: tuple[int, float] | None = None

    def watch(step: int, metrics: Mapping[str, float]) -> None:
        nonlocal began
        curve.append({"triples": step, **metrics})
        if on_progress is not None and most:
            first, then = began = began or (step, time.monotonic())
            rate = (step - first) / max(time.monotonic() - then, 1e-9)
            errors = (
                f", validation {name.removeprefix('val/').replace('_', ' ')} {value:.4f}"
                for name, value in metrics.items()
                if name.startswith("val/")
            )
            speed = f" ({count(rate)}/s)" if step > first else ""
            on_progress(min(1.0, step / most), f"{count(step)} triples{speed}{next(errors, '')}")

    return watch
