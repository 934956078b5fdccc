"""Estimators in the manner of scikit-learn: `SSI`, and each model by its name."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ssi_core.face.estimator import Estimator
from ssi_core.models import MODELS, load_model
from ssi_core.root import user_path
from ssi_core.strict import instead, named
from ssi_core.types import BadInput

if TYPE_CHECKING:
    from ssi_core import types
    from ssi_core.models.base import FittedModel, Model
    from ssi_core.types import Watch


class Ranker(Estimator):
    """A model by its name, or a model of your own.

    Parameters
    ----------
    model : str or Model
        Name, as in a table: ``"lsi_mixture"``, ``"query_expansion"``, ``"word_pairs"``, ...; or an
        instance of a subclass of `ssi_core.models.base.Model`. To load such a model again its class
        must be registered by an entry point (`ssi_core.registry`).
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

    def __init__(self, model: str | Model, *, random_state: int = 0, **parameters: Any) -> None:
        self.model, self.random_state, self.parameters = model, random_state, parameters
        self.ranker()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by their names, those of the model with its defaults."""
        from ssi_core.models.base import Model

        parameters = {"model": self.model, "random_state": self.random_state}
        if isinstance(self.model, Model):
            return parameters
        return {**parameters, **vars(self.ranker()), **self.parameters}

    def ranker(self) -> Model:
        """Return the hyper-parameters as `ssi_core.models` takes them."""
        from ssi_core.estimator import parse
        from ssi_core.models.base import Model

        if isinstance(self.model, Model):
            if self.parameters:
                raise ValueError(f"parameters beside a model: {', '.join(self.parameters)}")
            return self.model
        if self.model not in MODELS:
            raise BadInput(f"Ranker: no model {instead(self.model, sorted(MODELS))}")
        return parse(MODELS[self.model], self.parameters)

    def __repr__(self) -> str:
        known = {field.name: field.default for field in fields(self.ranker())}
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

    @named
    def __init__(self, *, view: str = "raw") -> None:
        self.view = view

    def ranker(self) -> Model:
        """Return the hyper-parameters as `ssi_core.models` takes them."""
        from ssi_core.models.tfidf import TfIdf

        return TfIdf(**self.get_params())


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
    tuned : bool, optional
        Let other values take the place of these where they are clearly better on validation.
    """

    @named
    def __init__(
        self, *, k1: float = 1.2, b: float = 0.75, k3: float = 8.0, tuned: bool = False
    ) -> None:
        self.k1, self.b, self.k3, self.tuned = k1, b, k3, tuned

    def ranker(self) -> Model:
        """Return the hyper-parameters as `ssi_core.models` takes them."""
        from ssi_core.models.bm25 import Bm25

        return Bm25(**self.get_params())


class SSI(Estimator):
    """Supervised Semantic Indexing: ``f(q, d) = q' (U'V + D) d``, learnt from relevant pairs.

    The defaults are those of row ``U'V + D`` of the table ``new-corpus``, and of each of its grids
    the value in the middle, but for these: U and V read the 200 heaviest of the 30,000 most
    frequent words, D reads raw counts, and training begins with LSI where people type; it goes on
    for as long as passes over its pairs improve ``measure``, at a rate that falls where they do
    not, in blocks of pairs (`Bilinear`). All were chosen on validation.

    Parameters
    ----------
    auto : bool, optional
        Choose on validation whether to learn at all, and margin, rate, views, the diagonal and how
        d- is drawn (model "auto"); values that are given for them are then ignored.
        ``budget`` is then that of all trials together, and the model may be one that learns
        nothing, where that is best: ``fitted_.facts["choice"]`` says which.
    measure : str, optional
        Mean on validation that ends the training, and with ``auto`` the one that chooses: "map",
        "ndcg_at_10" or "mrr".
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
    lsi_weight : float or "typed", optional
        Weight of LSI at the start, from which U and V then learn; 0 begins with random ones, as a
        task of two vocabularies does. "typed": 2 where queries are no documents, or else 0.
    view : str, optional
        Weighting of words that U and V read.
    diagonal_view : str, optional
        Weighting of words that D reads: raw counts of documents, sublinear ones of queries.
    negatives : int, optional
        Documents d- that are tried for a pair until one violates the margin.
    epoch : int or "passes", optional
        Triples between two validations. "passes": a pass over the training pairs, at least 10,000
        and at most 50,000.
    patience : int or "passes", optional
        Validations without improvement before the rate falls, or the training ends; half as many
        once it has fallen. "passes": those of five passes, at least of 500,000 triples.
    decays : int, optional
        How often the rate falls to a third before the training ends; it goes on from its best.
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

    @named
    def __init__(
        self,
        *,
        auto: bool = False,
        measure: str = "map",
        diagonal: Literal["learned", "identity", "none"] = "learned",
        dimensions: int = 50,
        margin: float = 0.1,
        rate: float = 0.03,
        diagonal_rate: float = 20.0,
        init_std: float = 0.01,
        lsi_weight: float | Literal["typed"] = "typed",
        view: str = "sublinear:200@30000",
        diagonal_view: str = "raw-sublinear",
        negatives: int = 8,
        epoch: int | Literal["passes"] = "passes",
        patience: int | Literal["passes"] = "passes",
        decays: int = 2,
        budget: int = 20_000_000,
        seconds: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.auto, self.measure = auto, measure
        self.seconds, self.random_state = seconds, random_state
        self.diagonal, self.dimensions = diagonal, dimensions
        self.init_std, self.lsi_weight = init_std, lsi_weight
        self.margin, self.rate, self.diagonal_rate = margin, rate, diagonal_rate
        self.view, self.diagonal_view, self.negatives = view, diagonal_view, negatives
        self.epoch, self.patience, self.decays, self.budget = epoch, patience, decays, budget

    def ranker(self) -> Model:
        """Return the hyper-parameters as `ssi_core.models` takes them.

        Raises
        ------
        ValueError
            A value is out of bounds, or ``auto`` meets ``seconds``, for a choice needs trainings of
            a fixed length.
        """
        auto, measure, seconds = self.auto, self.measure, self.seconds
        if seconds is not None and (auto or not seconds > 0):
            raise ValueError(f"seconds={seconds!r}: expected a number above 0, without auto=True")
        if auto:
            from ssi_core.face.task import LATENT
            from ssi_core.models.choice.auto import Auto

            given: dict[str, Any] = {"budget": self.budget, "measure": measure, "view": LATENT}
            given["dimensions"] = self.dimensions
            documented = SSI(measure=measure, budget=self.budget)
            return Auto(**given, documented=documented._settings())
        from ssi_core.models.bilinear.bilinear import Bilinear

        return Bilinear(**self._settings())

    def _settings(self) -> dict[str, Any]:
        """Return the hyper-parameters of a training."""
        settings = self.get_params()
        for name in ("auto", "seconds", "random_state"):
            del settings[name]
        settings["stop_by"] = settings.pop("measure")
        settings["rates"] = (settings.pop("rate"),)
        return {**settings, "step": "block"}

    def _fit(
        self,
        ranker: Model,
        task: types.Task,
        watch: Watch,
        threads: int,
        checkpoint: Path | None = None,
    ) -> FittedModel:
        if self.seconds is None:
            return super()._fit(ranker, task, watch, threads, checkpoint)
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
    from ssi_core.serving.searcher import model_in

    fitted = load_model(model_in(user_path(directory)))
    ranker = Ranker(fitted.model.name, **vars(fitted.model))
    ranker.fitted_, ranker.folds_ = fitted, [fitted]
    return ranker
