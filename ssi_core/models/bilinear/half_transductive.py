"""Half-transductive ranking (Bai, Weston, Grangier, Collobert, Cortes, Mohri 2009).

``f(x, y_i) = (W phi(x))' v_i``: a query is mapped by its words, a known document is a free vector.
A second objective of weight gamma, ``g(x, y) = (W phi(x))' (W phi(y))`` on the same triples, draws
W towards a map that also serves documents; a document that is not known is scored with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ssi_core import resources
from ssi_core.arrays import ArraySpec, ArraySpecs
from ssi_core.bounds import Rate, Triples, Values, Weight
from ssi_core.estimator import Sizes
from ssi_core.kernels.training.structs import Parameters
from ssi_core.models.base import FitOptions, FittedModel, Side
from ssi_core.models.bilinear.low_rank import Before, LowRank, embedded
from ssi_core.models.bilinear.terms import Groups, Objective
from ssi_core.models.known import fingerprints, rows_of
from ssi_core.scoring.vectors import Columns, DenseWords, Inner, Vectors
from ssi_core.types import Task, Texts


@dataclass(frozen=True)
class HalfTransductive(LowRank):
    """A map of queries and a vector per document; see the module.

    A document is known by its id and title together. Its vector is a part that words do not make:
    an explanation takes it as one word.

    Parameters
    ----------
    diagonal : str
        Added to both scores; the paper has none.
    tied : bool
        Unknown documents have the map of queries, ``g(x, y) = (U x)' (U y)`` (the paper); if false,
        a map of their own, ``(U x)' (V y)``.
    gamma : float
        Weight of the functional objective; 0 leaves it out, which makes a step cheaper.
    initial : str
        "functional": the maps are those of ``U'U`` (with the diagonal) after ``functional_budget``
        triples, and ``v_i = U phi(y_i)``, so that documents that are rarely drawn have a useful
        vector. "normal": maps and v are random (the paper, with ``init_std`` 1).
    functional_budget : int
        Triples of that first phase.
    functional_rates : list of float
        Learning rates of that phase, by default ``rates``. It also chooses among several values of
        alpha, margin and init_std.
    init_std : float or list of float
        Standard deviation of the maps (and v) at the start.
    others
        See `LowRank`. From a start without vectors of documents, ``v_i = U phi(y_i)``.
    """

    name: ClassVar[str] = "half_transductive"
    diagonal: Literal["none", "identity", "alpha", "learned"] = "none"
    tied: bool = True
    gamma: Weight = 0.1
    initial: Literal["functional", "normal"] = "functional"
    functional_budget: Triples = 200_000
    functional_rates: Values[Rate] | None = None

    def groups(self) -> Groups:
        """Return both objectives, which share a triple, the map of queries and the diagonal."""
        functional = self.term("U", "V")
        known = functional._replace(document="v", form="per_document")
        return ((Objective("", known), Objective("", functional, self.gamma)),)

    def before(self, task: Task, rng: np.random.Generator, options: FitOptions) -> Before:
        """Learn the maps alone, with the settings that this chooses."""
        if self.initial == "normal":
            return super().before(task, rng, options)
        rates = self.functional_rates or self.rates
        functional = self.plain(rates=rates, budget=self.functional_budget)
        fit = functional.learn(task, rng, options)
        names = ("rate", "triples", "seconds", "trials")
        facts = {f"functional_{name}": fit.facts[name] for name in names}
        facts |= {name: fit.facts[name] for name in ("learned_first",) if name in fit.facts}
        chosen = {name: (fit.facts[name],) for name in ("init_std", *self.searched())}
        return Before(fit, facts, chosen, fit.facts["triples"])

    def check(self, task: Task) -> None:
        """Refuse a task from which this cannot be learnt, or that does not fit into memory."""
        super().check(task)
        # The parameters, the best of them, and what a validation looks at of the vectors.
        resources.require(
            "training of a half-transductive model",
            memory=3 * self.parameter_bytes(task),
            remedy=resources.FEWER,
        )

    def carry_over(self, start: FittedModel, task: Task, maps: Mapping[str, Any]) -> None:
        """Take what ``start`` has of words and documents; other documents begin at their words."""
        super().carry_over(start, task, maps)
        v = maps["v"]
        v[:] = task.documents.matrix(self.view) @ maps["U" if self.tied else "V"]
        if "v" in start.arrays:
            rows, known = rows_of(task.documents, start.arrays["known"])
            v[known, : self.dimensions] = start.arrays["v"][rows[known]]

    def keeper(self, task: Task, *, live: bool = False) -> Callable[[Parameters], dict[str, Any]]:
        """Return what takes the maps and the vectors, these by ascending fingerprint."""
        keys = fingerprints(task.documents)
        order = np.argsort(keys, kind="stable")

        def arrays(parameters: Parameters) -> dict[str, Any]:
            v = np.ascontiguousarray(parameters.V[order, : self.dimensions])
            maps = self.arrays(parameters._replace(V=parameters.second), live=live)
            return {**maps, "v": v, "known": keys[order]}

        return arrays

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the vectors of known documents, too, by their fingerprints."""
        return {
            **super().array_specs(sizes),
            "v": ArraySpec("float32", ("known", self.dimensions)),
            "known": ArraySpec("uint64", ("known",), order="ascending"),
        }

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Return vectors as `LowRank` does, but ``v_i`` for a document that is known."""
        if side == "query":
            return super().vectors(fitted, texts, side)
        rows, known = rows_of(texts, fitted.arrays["known"])
        dense = np.empty((len(texts), self.dimensions), np.float32)
        dense[known] = fitted.arrays["v"][rows[known]]
        if not known.all():
            unknown = texts.matrix(self.view)[~known]
            dense[~known] = embedded(unknown, self.embedding(fitted, side), self.dimensions)
        return Inner(self.diagonal_rows(fitted, texts, side), dense)

    def dense_words(self, fitted: FittedModel, texts: Texts, side: Side) -> DenseWords:
        """Rows of the view and the side's map; a known document is one word, its row ``v_i``."""
        W, view = self.embedding(fitted, side), fitted.view(self.view, side)
        rows, known = rows_of(texts, fitted.arrays["known"])
        if side == "query" or not known.any():
            return DenseWords(texts.matrix(self.view), W, view)
        known_rows, D = np.flatnonzero(known), len(view.words)
        words = texts.matrix(self.view).tolil()
        words[known_rows] = 0
        words.resize(len(texts), D + len(known_rows))
        words[known_rows, D + np.arange(len(known_rows))] = 1
        names = [f"(vector of {title})" for title in texts.titles.filter(known)]
        embedding = np.concatenate([W, fitted.arrays["v"][rows[known_rows]]])
        return DenseWords(words.tocsr(), embedding, Columns("", [*view.words, *names]))
