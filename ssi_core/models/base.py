"""Base of all models: the fitted class, the directory format, how words make vectors.

A model is a frozen dataclass of hyper-parameters with pure functions of its arrays; a
`FittedModel` holds both, with copies of the views, so that its directory ranks raw text alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np
import polars as pl

from ssi_core.estimator import Arrays, Contents, Estimator, Fitted, Format, Saved
from ssi_core.resources import Cost
from ssi_core.scoring.vectors import DenseWords, Vectors, Words
from ssi_core.types import BadInput, Float32, Int32, Task, TextMatrix, Texts, View, Watch

if TYPE_CHECKING:
    from ssi_core.evaluation.ranking import Validator
    from ssi_core.evaluation.slates import SlateValidator

_log = logging.getLogger(__name__)
_START_STAYED = "the start stayed the best: the rate may be too large, or the budget small"

Side: TypeAlias = Literal["query", "document"]
SideOfTask: TypeAlias = Literal["train", "valid", "test"]

FORM = Format("model", "model.json", "Train the model again.", version=2, names="model")


class UnfitStart(BadInput):
    """A model cannot go on from the values of another; the message says of which it could."""


class Judge(Protocol):
    """Measures models on queries of one side of a task."""

    def rank_loss(self, fitted: FittedModel) -> float:
        """Return the rank loss."""
        ...


def _validator(task: Task, side: SideOfTask, queries: int, threads: int) -> Validator:
    from ssi_core.evaluation.ranking import Validator

    return Validator(task, side, queries, threads=threads)


def _slate_validator(task: Task, side: SideOfTask, queries: int, threads: int) -> SlateValidator:
    from ssi_core.evaluation.slates import SlateValidator

    return SlateValidator(task, side, queries, threads=threads)


@dataclass(frozen=True)
class FitOptions:
    """Settings of one training: its start, its watch, its threads, its checkpoint, its judge.

    Attributes
    ----------
    start : FittedModel or None
        A fitted model whose values are the first ones.
    watch : Watch or None
        Told the curves.
    threads : int
        1 is exact; more may share the parameters without a lock.
    checkpoint : Path or None
        Directory to save the state in and to go on from.
    observe : callable or None
        For curves alone: of a number of test queries, what measures the rank loss of a model on
        them. Nothing is chosen by it.
    validator, slate_validator : callable
        Make what measures models while they learn; see `judge` and `judge_of_slates`.
    """

    start: FittedModel | None = None
    watch: Watch | None = None
    threads: int = 1
    checkpoint: Path | None = None
    observe: Callable[[int], Callable[[FittedModel], float]] | None = None
    validator: Callable[[Task, SideOfTask, int, int], Validator] = _validator
    slate_validator: Callable[[Task, SideOfTask, int, int], Judge] = _slate_validator

    def judge(
        self, task: Task, side: SideOfTask, queries: int, threads: int | None = None
    ) -> Validator:
        """Return what measures models on queries of a side, with the threads of the training."""
        return self.validator(task, side, queries, self.threads if threads is None else threads)

    def judge_of_slates(self, task: Task, side: SideOfTask, queries: int) -> Judge:
        """Return what measures models on slates of a side; on all documents where it has none."""
        if not len(getattr(task, side).shown):
            return self.judge(task, side, queries)
        return self.slate_validator(task, side, queries, self.threads)


@dataclass(frozen=True)
class Model(Estimator):
    """Base of the hyper-parameter dataclasses.

    A subclass gives ``learn``, ``views``, ``array_specs``, and ``vectors`` (texts to `Vectors`, a
    pure function of the arrays); it overrides
    ``cost`` where a fit takes memory of its own, and ``dense_words`` and ``sparse_view`` as far as
    its score can be explained by words. Sizes of ``array_specs`` are the numbers of words of each
    view on either side: "query raw", "document counts". A subclass that has one of the parameters
    below describes it only if it means something else.

    Parameters
    ----------
    view : str
        Weighting of words, such as "raw" or "sublinear:100".
    dimensions : int or list of int
        N, the rank of the maps; of several values the rank loss on training pairs chooses.
    parts : list of tables
        Models that it is made of (two of a mixture): ``model`` (a name) and its hyper-parameters,
        in TOML ``[[rows.parts]]``.
    background : list of float
        Weights of the collection (lambda_1), between 0 and 1, larger for long queries; validation
        chooses.
    unigram : list of float
        Weights of the document's own words (lambda_2), 0 for none; validation chooses.
    measure : str
        Mean on validation that chooses: "map", "mrr" or "ndcg_at_10".
    validation_queries : int
        Queries of validation that choose settings, or when a training ends.
    tuning_queries : int
        Training queries whose rank loss chooses settings.
    """

    noun: ClassVar[str] = "model"
    counts_queries: ClassVar[bool] = False
    """Whether the vector of a query is how often it has each word, as the view "counts" says."""

    @property
    def reads_text(self) -> bool:
        """Tell whether the model ranks for a text that is no query of a task."""
        return True

    def views(self) -> set[str]:
        """Names of the views that the model reads."""
        raise TypeError(f"{type(self).__name__} does not say which views it reads")

    @property
    def reads_fields(self) -> bool:
        """Tell whether the short fields of documents are read each by itself (`views.fields`)."""
        return False

    @property
    def reads_phrases(self) -> bool:
        """Tell whether words are read that stand near each other in a name (`views.phrases`)."""
        return False

    def unserved(self) -> str | None:
        """Return why no index ranks typed text by the model; None where one does."""
        return None

    @property
    def repeats(self) -> bool:
        """Tell whether one thread and the same seed give the same bits, whatever the clock says."""
        return True

    def kinds(self) -> tuple[type[Model], ...]:
        """Return the classes whose code makes the model: its own, and those of its parts."""
        return (type(self),)

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return what fitting takes; nothing where the task is only read."""
        return Cost(0, 0)

    def most_triples(self, task: Task) -> int | None:
        """Return how many triples a fit draws at most; None where it counts none."""
        return getattr(self, "budget", None)

    def vector_shape(self, task: Task) -> tuple[int, int]:
        """Return the width of the dense part, and the non-zeros of the documents' sparse part.

        Upper bounds: not every view that a model reads is in its vectors.
        """
        dimensions = getattr(self, "dimensions", 0)
        dense = dimensions if isinstance(dimensions, int) else max(dimensions)
        return dense, sum(int(task.documents.matrix(view).nnz) for view in self.views())

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
        """Train on the task's training pairs.

        The model is given the `training_part` of the task alone: no test pair, no cold document.
        """
        from ssi_core.tasks.training_part import training_part, without_cold

        def observe(queries: int) -> Callable[[FittedModel], float]:
            return options.judge(without_cold(task), "test", queries).rank_loss

        options = FitOptions(start, watch, threads, checkpoint, observe)
        learnt = self.learn(training_part(task), rng, options)
        # Measures say what a model is worth; why one is worth nothing is for those who look for it.
        if learnt.facts.get("triples") and learnt.facts.get("best_at") == 0:
            _log.debug(_START_STAYED)
        return learnt

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Train on what `fit` gives: the training part of a task.

        Parameters
        ----------
        task : Task
            Training and validation pairs; without test pairs and cold documents.
        rng : Generator
            Every random choice.
        options : FitOptions
            How the training goes.
        """
        raise TypeError(f"{type(self).__name__} cannot be fitted")

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Texts of one side as vectors whose inner products are the scores."""
        raise TypeError(f"{type(self).__name__} makes no vectors")

    def dense_words(self, fitted: FittedModel, texts: Texts, side: Side) -> DenseWords | None:
        """Take the dense part apart into words; None where there is no dense part."""
        return None

    def sparse_view(self, fitted: FittedModel, side: Side) -> Words | None:
        """View whose words are the columns of the sparse part; None where there is none."""
        return None

    def topic_words(self, fitted: FittedModel, texts: Texts) -> tuple[TextMatrix, Float32]:
        """Take the topics of one document apart: its words, and a row of topics for each.

        Only of a model whose queries are a `Likelihood`. The rows add up to the dense part of
        the document, but for what no word gives.
        """
        raise TypeError(f"{type(self).__name__} has no topics")

    def sources(self, fitted: FittedModel, texts: Texts) -> tuple[Int32, TextMatrix] | None:
        """Take the sparse part of one document apart: its words, and their shares in each column.

        Columns of the words, and CSR (words, columns), where what a column has adds up to 1; None
        where a column is the word itself.
        """
        return None

    def field_weights(self, fitted: FittedModel, texts: Texts) -> Mapping[str, TextMatrix] | None:
        """Take the weights of words in documents apart into what each field adds to them.

        Name of a field -> CSR (texts, words of the sparse part), in proportion; None where the
        model does not tell fields apart.
        """
        return None

    def variants(self, fitted: FittedModel) -> Iterator[FittedModel]:
        """Yield what a second choice chooses from: the model as it is."""
        yield fitted


@dataclass(frozen=True)
class FittedModel(Fitted[Model]):
    """A trained model: hyper-parameters, arrays, copies of the views, and what training found.

    Attributes
    ----------
    model : Model
        Hyper-parameters.
    arrays : Arrays
        Name -> array (float32 unless the model says otherwise).
    query_views, document_views : mapping
        View name -> View; the same mapping when the sides share it.
    facts : dict
        What the fit chose and measured (JSON values): rate, triples, seconds, ...
    """

    model: Model
    arrays: Arrays
    query_views: Mapping[str, View]
    document_views: Mapping[str, View]
    facts: dict[str, Any] = field(default_factory=dict)
    form: ClassVar[Format] = FORM

    @property
    def languages(self) -> list[str]:
        """Languages that the views of both sides read, sorted."""
        from ssi_core.text.tokenizer import spoken

        views = (*self.query_views.values(), *self.document_views.values())
        return sorted({spoken(view.language) for view in views})

    def embed_queries(self, queries: Texts) -> Vectors:
        """Return queries as `Vectors`; `BadInput` where they were read with other words."""
        _require_words(queries, self.query_views, "queries")
        return self.model.vectors(self, queries, "query")

    def embed_documents(self, documents: Texts) -> Vectors:
        """Return documents as `Vectors`; `BadInput` where they were read with other words."""
        _require_words(documents, self.document_views, "documents")
        return self.model.vectors(self, documents, "document")

    def dense_words(self, texts: Texts, side: Side) -> DenseWords | None:
        """Dense part of the vectors of texts, by words."""
        return self.model.dense_words(self, texts, side)

    def sparse_view(self, side: Side) -> Words | None:
        """View of the sparse part's columns."""
        return self.model.sparse_view(self, side)

    def view(self, name: str, side: Side) -> View:
        """Return one of the model's own views."""
        return (self.query_views if side == "query" else self.document_views)[name]

    def contents(self) -> Contents[Model]:
        """Return what a directory holds beside the views."""
        shared = self.query_views is self.document_views
        facts = {
            "query_views": sorted(self.query_views),
            "document_views": None if shared else sorted(self.document_views),
            "facts": self.facts,
        }
        return Contents(self.model, self.arrays, facts)

    def write(self, directory: Path) -> None:
        """Write ``model.json``, ``arrays/*.npy`` and ``views/`` into a directory."""
        shared = self.query_views is self.document_views
        for side, views in (("query", self.query_views), ("document", self.document_views)):
            if side == "query" or not shared:
                for name, view in views.items():
                    view.save(_view_path(directory, side, name))
        super().write(directory)

    @classmethod
    def restored(cls, saved: Saved[Model]) -> FittedModel:
        """Read the views, and what they and the settings say of the arrays."""
        from ssi_core.views.hashing import load_view
        from ssi_core.views.text_view import share_lexicons

        model, facts = saved.settings, saved.facts

        def views_of(side: Side) -> Mapping[str, View]:
            names = facts[f"{side}_views"]
            return {name: load_view(_view_path(saved.directory, side, name)) for name in names}

        queries = views_of("query")
        documents = queries if facts["document_views"] is None else views_of("document")
        share_lexicons([*queries.values(), *documents.values()])
        texts = {"query": _no_text(queries), "document": _no_text(documents)}
        sizes = {f"{side} {v}": none.width(v) for side, none in texts.items() for v in none.views}
        arrays = saved.arrays(model.array_specs(sizes))
        restored = cls(model, arrays, queries, documents, facts["facts"])
        # What facts say of the arrays shows at once, and not with the first query.
        restored.embed_queries(texts["query"])
        restored.embed_documents(texts["document"])
        return restored


def require_served(model: Model, what: str) -> None:
    """Refuse a model that ranks no typed text; ``what`` is in its way."""
    if reason := model.unserved():
        raise BadInput(f"model {model.name!r}: no {what}: {reason}.")


def _require_words(texts: Texts, views: Mapping[str, View], side: str) -> None:
    """Refuse texts whose columns do not mean what the model's columns mean."""
    for name, view in views.items():
        other = texts.views.get(name, view)
        if other is not view and other.space != view.space:
            raise BadInput(
                f"the {side} were read with other words (view {name!r}) than this model has, so "
                "that its numbers would mean nothing there. 'ssi lab evaluate MODEL --on "
                "DIRECTORY' reads raw texts with the model's own words."
            )


def fitted(
    model: Model, task: Task, arrays: Arrays, facts: dict[str, Any] | None = None
) -> FittedModel:
    """Put a fitted model together with the views of the task that it reads."""
    from ssi_core.views.names import FIELDS, PHRASES

    names = sorted(model.views())
    queries = {name: task.queries.views[name] for name in names}
    documents = {name: task.documents.views[name] for name in names}
    for name, reads in ((FIELDS, model.reads_fields), (PHRASES, model.reads_phrases)):
        if reads and name in task.documents.views:
            documents[name] = task.documents.views[name]
    if all(queries.get(name) is view for name, view in documents.items()):
        documents = queries
    return FittedModel(model, arrays, queries, documents, facts or {})


def _no_text(views: Mapping[str, View]) -> Texts:
    nothing = pl.Series(dtype=pl.String)
    return Texts(nothing, nothing, {n: view.transform([]) for n, view in views.items()}, views)


def _view_path(directory: Path, side: str, name: str) -> Path:
    return directory / "views" / side / name.replace(":", "-")
