"""Settings of the models ``sum_i diag_i q_i d_i + phi(q)' W phi(d)``, whatever W is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from ssi_core.arrays import ArraySpec, ArraySpecs
from ssi_core.bounds import (
    Count,
    Part,
    Rate,
    RateOrNone,
    Share,
    Tries,
    Triples,
    Values,
    Weight,
)
from ssi_core.estimator import Sizes
from ssi_core.evaluation.candidates import ranking_memory
from ssi_core.kernels.sparse import padded
from ssi_core.kernels.training.structs import Parameters
from ssi_core.models.base import FittedModel, Model, Side, SideOfTask
from ssi_core.remedies import typed
from ssi_core.resources import Cost
from ssi_core.training.fitting import several
from ssi_core.training.hard import memory_of_lists
from ssi_core.training.sgd import memory_by_weight
from ssi_core.types import BadInput, Task, TextMatrix, Texts


@dataclass(frozen=True)
class Trained(Model):
    """Hyper-parameters of the diagonal and of the training.

    Parameters
    ----------
    diagonal : str
        "none"; "identity": equal words count 1; "alpha": they count alpha; "learned": each word has
        a weight, which starts at 1.
    alpha : float or list of float
        Value, or start, of alpha with the diagonal "alpha".
    alpha_rate : float
        Learning rate of alpha; 0 keeps it fixed.
    diagonal_rate : float
        With the diagonal "learned": its rate as a multiple of that of W.
    view : str
        Weighting of words that W reads.
    diagonal_view : str
        Weighting of words that the diagonal reads, by default ``view``.
    rates : list of float
        Learning rates; the one with the lowest rank loss after ``search_budget`` triples is taken.
    rate_by : str
        Rank loss that chooses the rate: "training" (the paper) or "validation".
    margin : float or list of float
        Margin of the hinge loss. With the identity, 1 / alpha is the same as alpha with a margin of
        1.
    negatives : int
        Documents d- that are tried for a pair until one violates the margin.
    against : str
        "random": d- is any document. "shown": one that was shown for the query, if the task knows
        them (`types.Pairs`); validation then ranks what was shown. Tasks whose weights are
        relevance times showings need it. "first_stage": a share of the d- comes from the head of
        the order by the diagonal before it learns (`training.hard`), without training pairs.
        Further tasks draw any document.
    hard_share : float or list of float
        With "first_stage": the share.
    hard_depth : int
        With "first_stage": the number of documents to draw from.
    negatives_power : float or list of float
        d- is drawn in proportion to ``(1 + n)^power``, where n training pairs lead to it; 0:
        uniformly. Documents with many links then have no advantage: the score learns ``P(d | q) /
        P(d)``. With "random" only.
    warp : bool
        Multiply a step by ``L(floor((Y - 1) / n))``, ``L(k) = 1 + 1/2 + ... + 1/k``, where trial n
        of Y documents violated the margin (`kernels.training.warp.rank_weight`).
    epoch : int or "passes"
        Triples between two validations. "passes": the number of training pairs, but 10,000 to
        50,000; the fact ``epoch`` reports it.
    validation_time : float or None
        Share of the time that validation may take: before the first validation, the clock chooses a
        multiple of ``epoch``, at most a tenth of the budget. Such a run is not reproducible; one
        with the ``epoch`` that its facts report, and no share, has the same bits.
    budget : int
        Maximum number of triples.
    patience : int or "passes"
        Validations without improvement before the rate falls (``decays``) or the training ends;
        half as many after a fall. "passes": five passes over the training pairs, at least 500,000
        triples; then a rank loss that falls by a hundredth is an improvement, too, and one that is
        half above the lowest counts as five validations. The fact ``patience`` reports it.
    search_budget : int
        Triples of each trial of a rate.
    pairs : float
        Share of the training pairs to learn from (`tasks.training_part`). The others are treated
        like test pairs: they may be drawn as negatives, and are irrelevant in the training rank
        loss. Validation and test do not change.
    curves : bool
        Also report ``curve/train_rank_loss``, of the pairs learnt from, and
        ``curve/test_rank_loss``, each of ``validation_queries`` queries. They do not influence the
        training.
    """

    gone: ClassVar[frozenset[str]] = frozenset({"hard_skip"})
    diagonal: Literal["none", "identity", "alpha", "learned"] = "identity"
    alpha: Weight | Values[Weight] = 1.0
    alpha_rate: RateOrNone = 0.0
    diagonal_rate: RateOrNone = 1.0
    view: str = "raw"
    diagonal_view: str | None = None
    rates: Values[Rate] = (0.3, 0.1, 0.03, 0.01, 0.003)
    rate_by: Literal["training", "validation"] = "training"
    margin: Weight | Values[Weight] = 1.0
    negatives: Tries = 1
    against: Literal["random", "shown", "first_stage"] = "random"
    hard_share: Share | Values[Share] = 0.5
    hard_depth: Count = 60
    negatives_power: Weight | Values[Weight] = 0.0
    warp: bool = False
    epoch: Triples | Literal["passes"] = 50_000
    validation_time: Part | None = None
    budget: Triples = 1_000_000
    patience: Count | Literal["passes"] = 5
    search_budget: Triples = 50_000
    validation_queries: Count = 500
    pairs: Part = 1.0
    curves: bool = False

    @property
    def repeats(self) -> bool:
        """Tell whether validation goes by triples, and not by the clock."""
        return self.validation_time is None

    def __post_init__(self) -> None:
        """Refuse a draw of d- that is not made."""
        super().__post_init__()
        if self.against != "random" and any(several(self.negatives_power)):
            raise ValueError(f"negatives_power={self.negatives_power}: expected against='random'")
        if self.against == HARD and self.diagonal == "none":
            raise ValueError(f"against={HARD!r} needs an order to begin with: a diagonal")

    def searched(self) -> dict[str, tuple[float, ...]]:
        """Return the values of each setting that validation chooses from."""
        names = ("alpha", "margin", POWER, *([SHARE] if self.against == HARD else []))
        return {name: several(getattr(self, name)) for name in names}

    def views(self) -> set[str]:
        """View of W, and of the diagonal, unless there is none."""
        return {self.view} | (set() if self.diagonal == "none" else {self.diagonals_view})

    @property
    def diagonals_view(self) -> str:
        """View that the diagonal reads."""
        return self.diagonal_view or self.view

    def check(self, task: Task) -> None:
        """Refuse a task from which this cannot be learnt."""
        self.check_pairs(task)
        if self.diagonal != "none":
            same_space(task, self.diagonals_view, "a diagonal")

    def check_pairs(self, task: Task) -> None:
        """Refuse a task whose pairs this cannot be learnt from."""
        if len(task.train) == 0:
            raise BadInput(f"task {task.path}: no training pair; nothing can be learnt from it.")
        if self.against == "shown" and not len(task.train.shown):
            raise BadInput(
                f"task {task.path}: against = 'shown' needs to know what was shown; a task of "
                "clicks does, others do not. Learn against 'random' documents."
            )
        if self.against != "shown" and task.train.weighing == "shown":
            raise BadInput(
                f"task {task.path}: its weights are relevance times showings ("
                f"{typed('clicks', 'inverse')}). "
                f"Against {self.against!r} documents they teach what was shown most. Learn against "
                f"'shown', or ingest the clicks with {typed('clicks', 'weighted')}."
            )

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of a training.

        Parameters are held twice, as they learn and as the best so far, or as the model keeps them.
        Both are in a checkpoint, with half as many changed rows at most; the next one is complete
        before files of the last one go.
        """
        diagonal = task.queries.width(self.diagonals_view) if self.diagonal == "learned" else 1
        size = self.parameter_bytes(task) + 4 * diagonal
        dense, nonzeros = self.vector_shape(task)
        sides = task.queries, task.documents
        words = sum(texts.width(view) for texts in sides for view in self.views())
        scratch = threads * 4 * (4 * words + 4 * padded(max(1, dense)))
        ranking = max(
            ranking_memory(
                task, side, queries=self.validation_queries, dense=dense, nonzeros=nonzeros
            )
            for side in _SIDES
        )
        scratch += memory_by_weight(task.train)
        if self.against == HARD:
            scratch += memory_of_lists(len(task.queries), self.hard_depth)
        return Cost(2 * size + scratch + (3 if self.curves else 2) * ranking, 5 * size)

    def parameter_bytes(self, task: Task) -> int:
        """Return the size of W, in whatever form."""
        raise TypeError(f"{type(self).__name__} does not say how large its W is")

    def arrays(self, parameters: Parameters, *, live: bool = False) -> dict[str, Any]:
        """Arrays that a fitted model keeps of the parameters.

        If ``live``, they are looked at before the parameters change, and maps are not copied: their
        rows may be padded.
        """
        learnt = self.diagonal in ("alpha", "learned")
        return {"diagonal": np.array(parameters.diagonal, copy=not live)} if learnt else {}

    def keeper(self, task: Task, *, live: bool = False) -> Callable[[Parameters], dict[str, Any]]:
        """Return what takes the arrays that a model of this task keeps from the parameters."""
        return partial(self.arrays, live=live)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the diagonal, where one is learnt."""
        words = sizes.get(f"query {self.diagonals_view}", 0)
        size = {"alpha": 1, "learned": words}.get(self.diagonal)
        return {} if size is None else {"diagonal": ArraySpec("float32", (size,))}

    def diagonal_rows(self, fitted: FittedModel, texts: Texts, side: Side) -> TextMatrix | None:
        """Rows of the diagonal's view, its weights on the query's side; None without a diagonal."""
        if self.diagonal == "none":
            return None
        rows = texts.matrix(self.diagonals_view)
        if side == "document" or self.diagonal == "identity":
            return rows
        weights = fitted.arrays["diagonal"]
        factor = weights[0] if self.diagonal == "alpha" else weights[rows.indices]
        data = (rows.data * factor).astype(np.float32)
        return sparse.csr_array((data, rows.indices, rows.indptr), rows.shape)


POWER, SHARE, HARD = "negatives_power", "hard_share", "first_stage"

_SIDES: tuple[SideOfTask, ...] = ("train", "valid", "test")


def same_space(task: Task, view: str, what: str) -> None:
    """Equal shapes prove nothing: two languages may have 30,000 words each."""
    query, document = task.queries.views[view], task.documents.views[view]
    if query.space != document.space:
        raise BadInput(
            f"task {task.path}: {what} needs the same words on both sides, but view {view!r} means "
            f"{query.space[:12]} for queries and {document.space[:12]} for documents. Use a model "
            "without a diagonal and with its own map for each side (U'V)."
        )
