"""Half-transductive ranking (Bai, Weston, Grangier, Collobert, Cortes, Mohri 2009).

``f(x, y_i) = (W phi(x))' v_i``: a query is mapped by its words, a known document is a free vector.
A second objective of weight gamma, ``g(x, y) = (W phi(x))' (W phi(y))`` on the same triples, draws
W towards a map that also serves documents; a document that is not known is scored with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from ssi_core import resources
from ssi_core.kernels.half_transductive import Settings, sweep_of
from ssi_core.kernels.sparse import padded
from ssi_core.kernels.structs import Parameters
from ssi_core.models.base import Columns, DenseWords, FittedModel, Side, UnfitStart, fitted
from ssi_core.models.bilinear import Bilinear
from ssi_core.models.bounds import Dimensions, Rate, Spread, Triples, Values, Weight
from ssi_core.models.known import fingerprints, places_of
from ssi_core.models.term import Term, TermTraining, same_space
from ssi_core.training import fitting
from ssi_core.training.embedding import normal
from ssi_core.training.fitting import several
from ssi_core.training.sgd import Sgd
from ssi_core.types import Task, Texts, Vectors, View, Watch


@dataclass(frozen=True)
class HalfTransductive(Term):
    """A map of queries and a vector per document; see the module.

    A document is known by its id and title together. Its vector is a part that words do not make:
    an explanation takes it as one word.

    Parameters
    ----------
    diagonal : as in `Term`, added to both scores; the paper has none
    dimensions : N
    gamma : weight of the functional objective; 0: none, which makes a step cheaper
    initial : "functional": W is that of ``U'U`` (with the diagonal) after ``functional_budget``
        triples and ``v_i = W phi(y_i)``, so that documents that are hardly ever drawn have a vector
        that means something. "normal": W and v are normal (the paper, with an ``init_std`` of 1)
    functional_budget, functional_rates : triples and learning rates of that phase; None: the same
        rates. It also chooses alpha, margin and init_std where there are several
    init_std : standard deviation of W (and v) at the start, or several to choose from
    others : see `Term`
    """

    name: ClassVar[str] = "half_transductive"
    diagonal: Literal["none", "identity", "alpha", "learned"] = "none"
    dimensions: Dimensions = 100
    gamma: Weight = 0.1
    initial: Literal["functional", "normal"] = "functional"
    functional_budget: Triples = 200_000
    functional_rates: Values[Rate] | None = None
    init_std: Spread | Values[Spread] = 0.1

    def __post_init__(self) -> None:
        """Refuse values that no training could follow."""
        super().__post_init__()
        if self.against != "random":
            raise ValueError(f"against={self.against!r}; it draws any document: expected 'random'")
        if self.warp:
            raise ValueError("warp=True; its two hinges have no weight by rank: expected False")

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
        """Functional phase, search of the rate, training with early stopping.

        ``start`` stands in place of the functional phase: a half-transductive model (vectors of
        documents that both know; others start at ``W phi(y)``) or a bilinear ``U'U``, with words
        matched by spelling. ``watch`` is told the triples of both phases, one after the other.
        """
        self.check(task)
        facts: dict[str, Any] = {}
        grid = {name: several(getattr(self, name)) for name in ("init_std", "alpha", "margin")}
        told = watch
        if start is None and self.initial == "functional":
            inner = None if checkpoint is None else checkpoint / "functional"
            first = functional_phase(self)
            start = first.fit(task, rng, watch=watch, threads=threads, checkpoint=inner)
            said = start.facts
            facts = {f"functional_{name}": said[name] for name in ("rate", "triples", "seconds")}
            facts["functional_trials"] = said["trials"]
            grid = {name: (said[name],) for name in grid}
            told = _after(watch, said["triples"])
        training = _Training(self, task, int(rng.integers(2**63)), start, threads)
        inner = None if checkpoint is None else checkpoint / "free"
        sgd, found = fitting.fit(
            self, grid, training.begin, training.errors, watch=told, checkpoint=inner
        )
        facts |= found | {"threads": threads}
        if self.diagonal == "alpha":
            facts["alpha"] = float(sgd.parameters.diagonal[0])
        return fitted(self, task, training.arrays(sgd.parameters), facts)

    def check(self, task: Task) -> None:
        """Refuse a task from which this cannot be learnt, or that does not fit into memory."""
        super().check(task)
        same_space(task, self.view, "a half-transductive model")
        words, documents = task.documents.matrix(self.view).shape[1], len(task.documents)
        # The parameters, the best of them, and what a validation looks at.
        resources.require(
            "training of a half-transductive model",
            memory=3 * 4 * (words + documents) * padded(self.dimensions),
            remedy="Take fewer dimensions or fewer words.",
        )

    def parameter_bytes(self, task: Task) -> int:
        """Return the size of W and of the vectors of documents."""
        return 4 * padded(self.dimensions) * (task.documents.width(self.view) + len(task.documents))

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """``W q`` and ``v_i``, or ``W d`` where there is no ``v_i``; the diagonal's rows.

        alpha is on the query's side.
        """
        W = fitted.arrays["W"]
        if side == "query":
            dense = np.asarray(texts.matrix(self.view) @ W, np.float32)
        else:
            rows, known = places_of(texts, fitted.arrays["known"])
            dense = np.empty((len(texts), W.shape[1]), np.float32)
            dense[known] = fitted.arrays["v"][rows[known]]
            if not known.all():
                dense[~known] = texts.matrix(self.view)[~known] @ W
        return Vectors(self.diagonal_rows(fitted, texts, side), dense)

    def dense_words(self, fitted: FittedModel, texts: Texts, side: Side) -> DenseWords:
        """Rows of W's view and W; a known document is one word, whose embedding is ``v_i``."""
        W, view = fitted.arrays["W"], fitted.view(self.view, side)
        rows, known = places_of(texts, fitted.arrays["known"])
        if side == "query" or not known.any():
            return DenseWords(texts.matrix(self.view), W, view)
        own, D = np.flatnonzero(known), len(view.words)
        words = texts.matrix(self.view).tolil()
        words[own] = 0
        words.resize(len(texts), D + len(own))
        words[own, D + np.arange(len(own))] = 1
        names = [f"(vector of {title})" for title in texts.titles.filter(known)]
        embedding = np.concatenate([W, fitted.arrays["v"][rows[own]]])
        return DenseWords(words.tocsr(), embedding, Columns("", [*view.words, *names]))

    def sparse_view(self, fitted: FittedModel, side: Side) -> View | None:
        """Words of the diagonal."""
        return None if self.diagonal == "none" else fitted.view(self.diagonals_view, side)


def functional_phase(model: HalfTransductive) -> Bilinear:
    """Return ``U'U`` with the diagonal and the training of a half-transductive model."""
    names = [f.name for f in fields(Term)] + ["dimensions", "init_std"]
    said = {name: getattr(model, name) for name in names}
    rates = model.rates if model.functional_rates is None else model.functional_rates
    return Bilinear(**said | {"tied": True, "rates": rates, "budget": model.functional_budget})


def _after(watch: Watch | None, triples: int) -> Watch | None:
    return None if watch is None else lambda step, metrics: watch(triples + step, metrics)


class _Training(TermTraining[HalfTransductive]):
    """One fit of W and v, which are U and V of `Parameters`."""

    def __init__(self, model: HalfTransductive, task: Task, *others: Any) -> None:
        keys = fingerprints(task.documents)
        self._order = np.argsort(keys, kind="stable")
        self._known = keys[self._order]
        super().__init__(model, task, *others)

    def begin(self, settings: Mapping[str, Any]) -> Sgd:
        """Return a training at its start."""
        return self.sgd(self.model.name, self._initial(settings), settings)

    def sweep(self, form: str, diagonal: str) -> Callable[..., Any]:
        """Return the half-transductive sweep."""
        return sweep_of(diagonal)

    def numbers(self, settings: Mapping[str, Any]) -> Settings:
        """Add gamma to the numbers of the sweep."""
        n = super().numbers(settings)
        gamma = np.float32(self.model.gamma)
        return Settings(n.margin, n.rate, n.diagonal_rate, n.negatives, gamma)

    def arrays(self, parameters: Parameters) -> dict[str, Any]:
        """Return W, the vectors by ascending fingerprint, the diagonal; padding is cut off."""
        n = self.model.dimensions
        return self.model.arrays(parameters) | {
            "W": np.ascontiguousarray(parameters.U[:, :n]),
            "v": np.ascontiguousarray(parameters.V[self._order, :n]),
            "known": self._known,
        }

    def _initial(self, settings: Mapping[str, Any]) -> Parameters:
        """First values: noise, or ``start``'s, with ``v_i = W phi(y_i)`` where it has no v."""
        model, rng = self.model, np.random.default_rng([self.seed, 1])
        texts = self.task.documents.matrix(model.view)
        W = normal(texts.shape[1], model.dimensions, settings["init_std"], rng)
        v = normal(texts.shape[0], model.dimensions, settings["init_std"], rng)
        if self.start is not None:
            own = _is_half_transductive(model, self.start)
            old, new = self.same_words("query")
            W[new, : model.dimensions] = self.start.arrays["W" if own else "U"][old]
            v[:] = texts @ W
            if own:
                rows, known = places_of(self.task.documents, self.start.arrays["known"])
                v[known, : model.dimensions] = self.start.arrays["v"][rows[known]]
        return Parameters(W, v, self.first_diagonal(settings))


def _is_half_transductive(model: HalfTransductive, start: FittedModel) -> bool:
    """Tell the two kinds of start from each other; `UnfitStart` for any other."""
    before = start.model
    own = isinstance(before, HalfTransductive)
    tied = isinstance(before, Bilinear) and before.form == "low_rank" and before.tied
    shape = ("dimensions", "diagonal", "view")
    if (own or tied) and all(getattr(before, n) == getattr(model, n) for n in shape):
        return own
    raise UnfitStart(
        f"start={before}; expected a half-transductive model, or a bilinear one of tied low rank, "
        f"with {', '.join(f'{n}={getattr(model, n)!r}' for n in shape)}"
    )
