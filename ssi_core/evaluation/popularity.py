"""Measures of what a ranking owes to popular documents.

The in-degree ``n_d`` of a document is the number of training pairs that lead to it. Links prefer
popular pages, so that a model which knows nothing but in-degrees is far better than chance.

``hubness`` (`measures.hubness`) needs no links. The others are those of tasks whose queries are
documents and that have training pairs:

``popular_at_10``
    The share of a query's first ten that is among the 1 % most linked documents of the task, at
    least one. To compare it with: a model that ranks by the text alone.
``rank_loss_matched``
    The rank loss against negatives of the positive's own bin of in-degrees (`bins`): per positive
    the share of them that scores higher, a tie one half; the mean over the positives of a query
    that have a negative in their bin, one half where none has. In-degree alone has about one half.
``map_by_target``
    ``1 / |T| sum_{t in T} 1 / |Q_t| sum_{q in Q_t} P(q, t)`` over the distinct relevant documents
    T and the queries ``Q_t`` to which t is relevant, where ``P(q, t)`` is the precision of q's
    ranking at the rank of t. MAP is the mean of the same ``P`` over queries first: there a page to
    which half of the queries link is half of the measure, here it is one of many. It has no value
    for a single query; its error is the sd over targets by the root of their number.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ssi_core.evaluation.candidates import Candidates
from ssi_core.evaluation.measures import Ranks, hubness, precisions, standard_error
from ssi_core.kernels.ranking.best import top_k
from ssi_core.kernels.ranking.scores import rank_alike
from ssi_core.types import Float32, Float64, Int32, Int64, Task

PER_QUERY = ("popular_at_10", "rank_loss_matched")
"""Measures here that have a value for each query."""

_TOP = 10
_SHARE = 0.01
_FEWEST = 20  # documents in a bin of in-degrees


def in_degrees(task: Task) -> Int64:
    """Return the number of training pairs that lead to each document, int64 (documents,)."""
    return np.bincount(task.train.rows[:, 1], minlength=len(task.documents)).astype(np.int64)


def most_linked(links: Int64) -> NDArray[np.bool_]:
    """Tell which documents are the 1 % most linked, at least one; equal ones by ascending row."""
    count = max(1, round(_SHARE * len(links)))
    popular = np.zeros(len(links), np.bool_)
    popular[np.argsort(-links, kind="stable")[:count]] = True
    return popular & (links > 0)


def bins(links: Int64) -> Int64:
    """Divide documents into bins of about equal in-degree.

    A document is on the step ``floor(4 log2(1 + n))``, so that in-degrees of a step differ by a
    factor of about 1.2. From the most linked down, steps are joined until they hold 20 documents;
    bin 0 is that of the most linked.

    >>> links = np.array([0] * 30 + [1] * 20 + [6] * 19 + [300])
    >>> bins(links)[[0, 30, 50, 69]].tolist()
    [2, 1, 0, 0]
    """
    step = np.floor(4 * np.log2(1 + links)).astype(np.int64)
    sizes = np.bincount(step)
    number, current, held = np.zeros(len(sizes), np.int64), 0, 0
    for one in range(len(sizes) - 1, -1, -1):
        number[one] = current
        held += sizes[one]
        if held >= _FEWEST:
            current, held = current + 1, 0
    # What is left over at the lower end goes to the bin above it.
    joined: Int64 = np.minimum(number, max(current - 1, 0))[step]
    return joined


class Popularity:
    """Counts that are taken while blocks of scores are there, and the measures of them.

    Parameters
    ----------
    task : `Task`
        Task whose training links give the in-degrees.
    chosen : Candidates
        What is ranked for whom.
    """

    def __init__(self, task: Task, chosen: Candidates) -> None:
        self._chosen = chosen
        self._top = np.full((len(chosen.queries), _TOP), -1, np.int32)
        self._popular: NDArray[np.bool_] | None = None
        if task.same and len(task.train):
            links = in_degrees(task)
            self._popular = most_linked(links)[chosen.documents]
            self._bin = bins(links)[chosen.documents]
            self._lost = np.zeros(len(chosen.relevant.items))
            self._alike = np.zeros(len(chosen.relevant.items), np.int64)

    def inspecting(self, begin: int, part: Candidates) -> Callable[[int, Float32], None]:
        """Return what takes the counts of blocks of a part, whose `measures.count` is done.

        Parameters
        ----------
        begin : int
            The first query of the part.
        part : Candidates
            See `Candidates.parts`.
        """
        columns = np.searchsorted(self._chosen.documents, part.documents).astype(np.int32)
        if self._popular is not None:
            bin_of = self._bin[columns]
            members = np.argsort(bin_of, kind="stable").astype(np.int32)
            bounds = np.concatenate([[0], np.cumsum(np.bincount(bin_of))])

        def inspect(first: int, scores: Float32) -> None:
            top = np.full((len(scores), _TOP), -1, np.int32)
            top_k(scores, top, np.empty((len(scores), _TOP), np.float32))
            here = slice(begin + first, begin + first + len(scores))
            self._top[here] = np.where(top < 0, -1, columns[top])
            if self._popular is None:
                return
            start = self._chosen.relevant.start
            mine = slice(start[here.start], start[here.stop])
            relevant = part.relevant.part(first, first + len(scores))
            rank_alike(
                scores,
                bin_of,
                bounds,
                members,
                relevant.start,
                relevant.items,
                self._lost[mine],
                self._alike[mine],
            )

        return inspect

    def per_query(self) -> dict[str, Float64]:
        """Return the measures of `PER_QUERY`; nothing for a task that has none."""
        if self._popular is None:
            return {}
        filled = self._top >= 0
        share = np.sum(self._popular[self._top] & filled, axis=1) / np.maximum(
            1, filled.sum(axis=1)
        )
        return {"popular_at_10": share, "rank_loss_matched": self._matched()}

    def of_all(self, ranks: Ranks) -> tuple[dict[str, float], dict[str, float]]:
        """Return the measures that no single query has: means, and errors as far as there are."""
        shown = self._top[self._top >= 0]
        means = {"hubness": hubness(np.bincount(shown, minlength=len(self._chosen.documents)))}
        if self._popular is None:
            return means, {}
        values = by_target(ranks, self._chosen.relevant.items)
        means["map_by_target"] = float(values.mean())
        return means, {"map_by_target": standard_error(values)}

    def _matched(self) -> Float64:
        pairs = self._alike > 0
        queries = len(self._chosen.queries)
        owner = np.repeat(np.arange(queries), self._chosen.relevant.lengths)[pairs]
        lost = np.bincount(owner, self._lost[pairs] / self._alike[pairs], minlength=queries)
        count = np.bincount(owner, minlength=queries)
        mean: Float64 = np.divide(lost, count, out=np.full(queries, 0.5), where=count > 0)
        return mean


def by_target(ranks: Ranks, target: Int32) -> Float64:
    """Average the precisions at the relevant documents over the queries of each target.

    Parameters
    ----------
    ranks : Ranks
        Ranks of n relevant documents.
    target : int32 (n,)
        Which document each is.

    Returns
    -------
    float64, a value per distinct target, ascending
    """
    _, group = np.unique(target, return_inverse=True)
    mean: Float64 = np.bincount(group, precisions(ranks)) / np.bincount(group)
    return mean
