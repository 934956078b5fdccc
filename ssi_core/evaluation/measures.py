"""Measures of a ranking, from the ranks of the relevant documents alone.

Every measure is a fraction in 0..1 per query; where it is not defined it is 0, which the measure
says. Equal scores are ordered by ascending document row, except in the rank loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ssi_core.evaluation.candidates import Lists
from ssi_core.kernels.ranking.scores import rank_relevant
from ssi_core.registry import Registry
from ssi_core.strict import meant, measure_key
from ssi_core.types import BadInput, Float32, Float64, Int32, Int64


@dataclass(frozen=True)
class Ranks:
    """Ranks of the relevant documents of n queries.

    Attributes
    ----------
    start : int64 (n + 1,)
        The relevant documents of query i are ``start[i]:start[i + 1]``.
    rank : int64
        1 is the best; per relevant document, as are the next three.
    above, tied : int64
        Irrelevant candidates that score higher, and that score equal.
    grade : float32
        Grade of each relevant document.
    irrelevant : int64 (n,)
        Irrelevant candidates of each query.
    """

    start: Int64
    rank: Int64
    above: Int64
    tied: Int64
    grade: Float32
    irrelevant: Int64

    @property
    def relevant(self) -> Int64:
        """Relevant candidates of each query, int64 (n,)."""
        return np.diff(self.start)

    @property
    def owner(self) -> Int64:
        """The query of each relevant document."""
        return np.repeat(np.arange(len(self.irrelevant)), self.relevant)


def count(
    scores: Float32, outside: Int32, excluded: Lists, relevant: Lists, grade: Float32
) -> Ranks:
    """Count ranks in a block of scores; see `Candidates` for the columns.

    Parameters
    ----------
    scores : float32 (queries, columns)
        C order; overwritten. NaN ranks last.
    """
    total, rows = len(relevant.items), len(relevant)
    rank, above, tied = (np.empty(total, np.int64) for _ in range(3))
    irrelevant = np.empty(rows, np.int64)
    rank_relevant(
        scores,
        outside,
        excluded.start,
        excluded.items,
        relevant.start,
        relevant.items,
        rank,
        above,
        tied,
        irrelevant,
    )
    return Ranks(relevant.start, rank, above, tied, grade, irrelevant)


def rank_loss(ranks: Ranks) -> Float64:
    """Return the share of (relevant, irrelevant) pairs in the wrong order; a tie counts one half.

    1 - AUC. 0 where there is no pair.
    """
    wrong = _sum(ranks, ranks.above + 0.5 * ranks.tied)
    return _divide(wrong, ranks.relevant * ranks.irrelevant)


def precisions(ranks: Ranks) -> Float64:
    """Return the precision at the rank of each relevant document."""
    # Sorted by query, then rank, the k-th relevant document of its query has k at or above it.
    order = np.lexsort((ranks.rank, ranks.owner))
    values = np.empty(len(order))
    values[order] = (np.arange(1, len(order) + 1) - ranks.start[ranks.owner]) / ranks.rank[order]
    return values


def average_precision(ranks: Ranks) -> Float64:
    """Average the precision at the ranks of the relevant documents; 0 without any."""
    return _divide(_sum(ranks, precisions(ranks)), ranks.relevant)


def reciprocal_rank(ranks: Ranks) -> Float64:
    """Return 1 over the rank of the first relevant document; 0 where none is relevant."""
    best = np.zeros(len(ranks.irrelevant))
    np.maximum.at(best, ranks.owner, 1 / ranks.rank)
    return best


def precision_at(ranks: Ranks, k: int) -> Float64:
    """Return the relevant documents among the first k, divided by k."""
    return _sum(ranks, ranks.rank <= k) / k


def ndcg_at(ranks: Ranks, k: int) -> Float64:
    """Return the discounted gain of the first k, divided by the best possible.

    Gain ``2^grade - 1``, discount ``log2(1 + rank)`` (Burges et al. 2005); 0 where no document has
    a gain. With grades 0 and 1 it equals the linear gain of trec_eval.
    """
    gain = np.exp2(ranks.grade.astype(np.float64)) - 1
    got = _sum(ranks, np.where(ranks.rank <= k, gain / np.log2(1 + ranks.rank), 0))
    best_first = gain[np.lexsort((-gain, ranks.owner))]
    position = np.arange(1, len(gain) + 1) - ranks.start[ranks.owner]
    ideal = _sum(ranks, np.where(position <= k, best_first / np.log2(1 + position), 0))
    return _divide(got, ideal)


@dataclass(frozen=True)
class Measure:
    """A measure of rankings: all that tables, plots, tests and claims know of it.

    Attributes
    ----------
    name : str
        Key in reports, in TOML and in MLflow.
    title : str
        Heading of its column; empty: it has none.
    of : callable or None
        From `Ranks` to a value for each query, float64; None where it is made of something else.
    higher_is_better : bool
        False for losses.
    percent : bool
        Values are written in per cent.
    single : bool
        A query alone has a value.
    """

    name: str
    title: str
    of: Callable[[Ranks], Float64] | None = None
    higher_is_better: bool = True
    percent: bool = False
    single: bool = True

    def __call__(self, ranks: Ranks) -> Float64:
        """Return the value of each query."""
        assert self.of is not None
        return self.of(ranks)


_OURS = (
    Measure("rank_loss", "rank loss %", rank_loss, higher_is_better=False, percent=True),
    Measure("map", "MAP", average_precision),
    Measure("mrr", "MRR", reciprocal_rank),
    Measure("p_at_1", "P@1", lambda ranks: precision_at(ranks, 1)),
    Measure("p_at_10", "P@10", lambda ranks: precision_at(ranks, 10)),
    Measure("ndcg_at_1", "nDCG@1", lambda ranks: ndcg_at(ranks, 1)),
    Measure("ndcg_at_3", "nDCG@3", lambda ranks: ndcg_at(ranks, 3)),
    Measure("ndcg_at_10", "nDCG@10", lambda ranks: ndcg_at(ranks, 10)),
)
MEASURES = {one.name: one for one in _OURS}
"""Measures that follow from the ranks of the relevant documents."""

OTHERS = (
    Measure("rank_loss_tuples", "", None, False, percent=True, single=False),
    Measure("hubness", "hubness", None, False, single=False),
    Measure("popular_at_10", "popular@10", None, False),
    Measure("rank_loss_matched", "matched loss %", None, False, percent=True),
    Measure("map_by_target", "MAP by target", single=False),
    Measure("slate_rank_loss", "slate loss %", rank_loss, False, percent=True),
    Measure("slate_map", "slate MAP", average_precision),
    Measure("slate_p_at_1", "slate P@1", MEASURES["p_at_1"].of),
    Measure("slate_ndcg_at_10", "slate nDCG", MEASURES["ndcg_at_10"].of),
)
"""Measures of documents that are found often, of targets, and of slates."""


def every_measure() -> dict[str, Measure]:
    """Return all measures by their names, in the order of their columns."""
    return {**MEASURES, **{measure.name: measure for measure in OTHERS}}


LEADING = ("map", "ndcg_at_10", "mrr", "rank_loss")
"""Measures that stand first where all are shown."""


def in_order(names: Iterable[str]) -> list[str]:
    """Order measures for a page that shows all of them: `LEADING`, then as in their columns.

    >>> in_order(["hubness", "p_at_10", "rank_loss", "map"])
    ['map', 'rank_loss', 'p_at_10', 'hubness']
    """
    order = {name: n for n, name in enumerate(dict.fromkeys((*LEADING, *every_measure())))}
    return sorted(names, key=lambda name: order.get(name, len(order)))


# Last, for what is added may import all that stands above.
_ADDED: Registry[Measure] = Registry("measures", {})
MEASURES |= {name: one for name, one in _ADDED.items() if name not in MEASURES}
LOWER_IS_BETTER = frozenset(
    name for name, measure in every_measure().items() if not measure.higher_is_better
)
"""Names of measures of which a lower value is better."""
TITLES = {name: measure.title for name, measure in every_measure().items() if measure.title}
"""Name of a measure -> heading of its column."""
PERCENT = frozenset(name for name, measure in every_measure().items() if measure.percent)
"""Names of measures that are written in per cent."""
OF_ALL_QUERIES = tuple(one.name for one in OTHERS if one.title and not one.single)
"""Measures of tables that have no value for a single query."""


def measure_named(name: str, known: Iterable[str], where: str = "") -> str:
    """Return the key of a measure by its key or by its heading, such as "nDCG@10" or "MAP".

    Raises
    ------
    BadInput
        There is no such measure; the message begins with ``where`` and names the nearest.
    """
    known = list(known)
    key: str = name if name in known else measure_key(name)
    if key not in known:
        near = meant(key, known)
        raise BadInput(f"{where}no measure {str(name)!r}.{near} Known: {', '.join(known)}.")
    return key


def hubness(found: NDArray[np.integer]) -> float:
    """Return the skewness ``S_Nk`` of how many queries rank each document among the first k = 10.

    With ``N_k(x)`` the number of queries that have the candidate x among their first k, mean mu and
    standard deviation sigma of it over all candidates, ``S_Nk = mean((N_k - mu)^3) / sigma^3``, its
    standardized third moment (Radovanovic and Ivanovic, Workshop on Feature Generation and
    Selection for Information Retrieval 2010; Radovanovic, Nanopoulos and Ivanovic 2010). There the
    lists are of the nearest neighbours of other points, here of the best candidates of queries:
    what is no candidate of a query, such as itself and its training links, is not in its list.
    Near 0 where documents are found alike, large where a few *hubs* are found for most queries. 0
    where all are found alike.

    >>> hubness(np.array([0, 0, 0, 4]))
    1.1547005383792515
    """
    apart = found - found.mean() if len(found) else np.zeros(1)
    spread = float(np.mean(apart**2))
    return float(np.mean(apart**3)) / spread**1.5 if spread > 0 else 0.0


def standard_error(values: Float64) -> float:
    """Return sd / sqrt(n) with n - 1 degrees of freedom; NaN for fewer than two values."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def clustered_error(values: Float64, cluster: NDArray[np.integer]) -> float:
    """Return the standard error of the mean of values that depend on each other in a cluster.

    ``sqrt(G / (G - 1) * sum_g (sum_{i in g} (x_i - mean))^2) / n`` over G clusters, the sandwich
    of a regression on a constant; NaN for fewer than two clusters.
    """
    _, group = np.unique(cluster, return_inverse=True)
    sums = np.bincount(group, values - values.mean()) if len(values) else np.zeros(0)
    groups = len(sums)
    if groups < 2:
        return np.nan
    return float(np.sqrt(groups / (groups - 1) * np.sum(sums**2)) / len(values))


def _sum(ranks: Ranks, values: NDArray[np.generic]) -> Float64:
    return np.bincount(ranks.owner, values, minlength=len(ranks.irrelevant)).astype(np.float64)


def _divide(values: Float64, by: Int64 | Float64) -> Float64:
    return np.divide(values, by, out=np.zeros(len(values)), where=by > 0)
