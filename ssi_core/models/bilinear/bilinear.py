"""The SSI family: ``f(q, d) = sum_i diag_i q_i d_i + phi(q)' W phi(d)`` (journal paper, section 2).

Trained on preferences (q, d+, d-) with the margin ranking loss
``max(0, margin - f(q, d+) + f(q, d-))``, one stochastic step per violated triple.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ssi_core.bounds import Positive, Values, Weight
from ssi_core.kernels.sparse import padded
from ssi_core.kernels.training.pooled import pool_bytes
from ssi_core.models.base import FitOptions, fitted
from ssi_core.models.bilinear.low_rank import Before, LowRank
from ssi_core.models.latent.svd import leading_vectors, memory_of
from ssi_core.resources import Cost
from ssi_core.training.fitting import several
from ssi_core.training.sgd import sorted_pairs_bytes
from ssi_core.types import Task

_TYPED = 2.0
"""Weight of LSI at the start where people type; of 0.5 to 16 one of the best on validation."""


@dataclass(frozen=True)
class Bilinear(LowRank):
    """Bilinear model with one term: W of low rank or zero, a diagonal, and the two views they read.

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
    form : str
        Form of W: "low_rank", or "zero" for a diagonal alone.
    length : float or list of float or None
        After the training, scale the latent vector ``V phi(d)`` of each document to this multiple
        of their mean length: no document is then better for all queries. ``stop_by`` chooses among
        several.
    storage : str
        "float32", or "float16" (rounded after each step): half of the memory and disk, 1.2 to 1.5
        times the triples a second, and the same rank loss or a slightly higher one. Sums are
        float32.
    adagrad : bool
        A rate for each word, which falls with its steps (`kernels.training.adagrad`); ``rates`` are
        then about the first step of an entry of U and V.
    step : str
        "triple": each pair draws its own d-. "block": 64 pairs share 64 of them (more if
        ``negatives`` needs more), whose ``V d-`` is computed once; a triple of the budget is a pair
        and what it tries. 2 to 12 times as many triples a second, most with many negatives; choose
        the rates anew. With ``against="random"`` alone; for ``validation_time``, use an ``epoch``
        in thousands.
    lsi_weight : float or "typed"
        Start from LSI: U and V are ``sqrt(lsi_weight) V_N``, the N leading right singular vectors
        of the documents in ``view``. 0: random maps, as always with two vocabularies. "typed": 2
        where queries are not documents, else 0.
    others
        See `LowRank`.
    """

    name: ClassVar[str] = "bilinear"
    gone: ClassVar[frozenset[str]] = LowRank.gone | {"negatives_per_positive"}
    form: Literal["zero", "low_rank"] = "low_rank"
    length: Positive | Values[Positive] | None = None
    storage: Literal["float32", "float16"] = "float32"
    adagrad: bool = False
    step: Literal["triple", "block"] = "triple"
    lsi_weight: Weight | Literal["typed"] = 0.0

    def __post_init__(self) -> None:
        """Refuse values that no training could follow."""
        super().__post_init__()
        if self.form == "zero" and self.diagonal == "none":
            raise ValueError("form='zero' with diagonal='none' scores nothing")
        if self.form == "zero" and self.learn_first is not None:
            raise ValueError(f"learn_first={self.learn_first!r} needs U and V: form='low_rank'")
        if self.form == "zero" and self.adagrad:
            raise ValueError("adagrad=True needs U and V: form='low_rank'")
        if self.form == "zero" and self.storage != "float32":
            raise ValueError(f"storage={self.storage!r} needs U and V: form='low_rank'")
        if self.form == "zero" and self.length is not None:
            raise ValueError(f"length={self.length!r} needs U and V: form='low_rank'")
        if self.form == "zero" and self.lsi_weight:
            raise ValueError(f"lsi_weight={self.lsi_weight!r} needs U and V: form='low_rank'")
        if self.learn_first is not None and self.lsi_weight:
            raise ValueError(
                f"learn_first={self.learn_first!r} with lsi_weight={self.lsi_weight!r}: a training "
                "has one start; expected lsi_weight=0"
            )
        shared = {"against": "random", "adagrad": False, "form": "low_rank"}
        for name, expected in shared.items() if self.step == "block" else ():
            if (came := getattr(self, name)) != expected:
                raise ValueError(
                    f"step='block' with {name}={came!r}: "
                    f"expected {name}={expected!r}, or step='triple'"
                )

    def before(self, task: Task, rng: np.random.Generator, options: FitOptions) -> Before:
        """Return LSI as the start, where it is asked for and both sides have the same words."""
        weight = self._weight_of_lsi(task)
        if not weight:
            return super().before(task, rng, options)
        words, N = task.documents.matrix(self.view), self.dimensions
        factors = leading_vectors(words, (N,), rng, threads=options.threads)
        n = factors.dimensions[N]
        maps = {}
        for name in ("U",) if self.tied else ("U", "V"):
            rows = rng.normal(0, several(self.init_std)[0], (words.shape[1], N))
            rows[:, :n] = np.sqrt(weight) * factors.vectors[:, :n]
            maps[name] = rows.astype(np.float32)
        return Before(fitted(self, task, maps), {"lsi_residual": factors.residual})

    def _weight_of_lsi(self, task: Task) -> float:
        """Return the weight at the start on a task, 0 where LSI has no place there."""
        weight = _TYPED * (not task.same) if self.lsi_weight == "typed" else self.lsi_weight
        sides = (task.queries, task.documents) if weight else ()
        return weight if len({one.views[self.view].space for one in sides}) == 1 else 0.0

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of a training: its start, and the documents d- that blocks share."""
        one = super().cost(task, threads)
        if self._weight_of_lsi(task):
            shape = task.documents.matrix(self.view).shape
            maps = 4 * shape[1] * self.dimensions * (1 if self.tied else 2)
            most = max(one.memory, memory_of(shape, self.dimensions) + maps)
            one = Cost(most + maps, one.disk)
        if self.step == "triple":
            return one
        rows = task.documents.matrix(self.view if self.diagonal == "none" else self.diagonals_view)
        longest = int(np.diff(rows.indptr).max(initial=0))
        pool = pool_bytes(self.negatives, padded(self.dimensions), rows.shape[1], longest)
        # Pairs are sorted, and a product is kept of each.
        pairs = sorted_pairs_bytes(task.train)
        return Cost(one.memory + threads * pool + pairs, one.disk)
