"""Estimate from a click log how often a new ranker would be clicked that never ran.

What is estimated is the expected number of clicks a visit,

    V(pi) = E_q sum_k sum_d pi(d, k | q) P(click | q, d, k),

if visitors come to the pages q as they did in the log, as many places are filled as were, and the
new ranker pi fills them. The log was written under another policy mu: mu(d, k | q) is the
probability that it shows ad d at position k of page q. A click is assumed to depend on page, ad and
position alone (item-position model); where ``theta`` appears, on their product
``theta_k gamma_qd``, examination times relevance (position-based model: Joachims, Swaminathan and
Schnabel 2017; Agarwal et al. 2019), so that V is a sum of relevance discounted by examination.

With ``w = pi(d, k | q) / mu(d, k | q)`` for each of the n visits i and its places k:

- ``ips`` (item-position model: Li, Abbasi-Yadkori, Kveton, Muthukrishnan, Vinay and Wen 2018):
  ``1/n sum_ik w_ik c_ik``
- ``snips`` (Swaminathan and Joachims 2015): the sum of w is known but for chance, and serves as a
  control variate. For each position k on its own, where L_k is the share of visits that have it:
  ``sum_k L_k (sum_i w_ik c_ik) / (sum_i w_ik)``
- ``dr`` (Dudik, Langford and Li 2011), doubly robust: what a model says of pi, plus what ips says
  of the model's errors, right if one of the two is. With ``m = theta_k g_qd``, where g is the
  estimated relevance of the pair (`kernels.ranking.examination`):
  ``1/n sum_i (sum_kd pi(d, k | q_i) m_kd + sum_k w_ik (c_ik - m_ik))``
- ``pbm`` (Li et al. 2018): a click counts wherever the pair was shown,
  ``1/n sum_ik c_ik sum_l pi(d, l | q) theta_l / sum_l mu(d, l | q) theta_l``

A policy that is not known is estimated by the log's frequencies, propensities that are not known by
`propensity`. `bootstrap` has the intervals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from ssi_core.guests.off_policy.click_log import ClickLog, Counts
from ssi_core.kernels.ranking.examination import estimate_relevance, fit_examination
from ssi_core.types import BadInput, Float64, Int64

ESTIMATORS = ("ips", "snips", "dr", "pbm")
_ROUNDS, _CLOSE = 1000, 1e-7
_SLACK = 1e-6


@dataclass(frozen=True)
class Support:
    """Support of a log for a ranker.

    Attributes
    ----------
    visits : float
        Effective sample size ``(sum w)^2 / sum w^2``, in visits.
    never_shown : float
        Share of the ranker's places that the log says nothing of.
    mean_weight : float
        Mean of w over its expectation: 1, but for chance, if the policy is right.
    """

    visits: float
    never_shown: float
    mean_weight: float


class Weighed(NamedTuple):
    """Places of the new ranker, as a log or one resample of it sees them; all float64 (slots,).

    Attributes
    ----------
    slots : float64 array
        Expected showings in all visits.
    weights : float64 array
        W, 0 where the log never shows the ad there.
    pair_weights : float64 array
        Weight of a click on the pair wherever it is shown, 0 where it never is.
    """

    slots: Float64
    weights: Float64
    pair_weights: Float64


class OffPolicy:
    """A log and a new ranker's rankings, joined.

    Parameters
    ----------
    log : ClickLog
        What was shown and clicked.
    ranking : DataFrame
        Columns query, document, position and share: of the new ranker's visits to a query that fill
        the position, the share in which it shows the document there; 1: a fixed order.
    propensities : DataFrame
        Columns position and propensity, the probability that a visitor examines the position; null
        where it is not known.
    policy : DataFrame or None
        Columns query, document, position and probability, that the policy of the log shows the
        document there, for each showing of the log. None: estimated by frequencies.
    known_propensities : bool
        Whether the propensities are known; else resamples estimate them anew, from these on.
    """

    def __init__(
        self,
        log: ClickLog,
        ranking: pl.DataFrame,
        propensities: pl.DataFrame,
        *,
        policy: pl.DataFrame | None = None,
        known_propensities: bool = False,
    ) -> None:
        self.log, self._known = log, known_propensities
        ends = log.cells.select("query", "document")
        pairs = ends.unique(maintain_order=True).with_row_index("pair")
        slots = log.cells.select("query", "position").unique().sort("query", "position")
        slots = slots.with_row_index("slot")
        theta = propensities.select("position", theta="propensity").drop_nulls().sort("position")
        theta = theta.with_row_index("k")
        pages = log.queries.to_frame("query").with_row_index("row")
        cells = _joined(log.cells.with_row_index("cell"), pairs, slots, theta)
        self._pair, self._slot, self._k = (_numbers(cells, x) for x in ("pair", "slot", "k"))
        numbered = cells.select("query", "document", "position", "cell")
        ranking = _joined(ranking, pages, pairs, slots, theta, numbered)
        if ranking["slot"].null_count():
            raise ValueError("ranking: it fills a place that no visit of the log had")
        columns = ("row", "slot", "cell", "pair", "k")
        self._of = {name: _numbers(ranking, name) for name in columns}
        self._position = np.unique(ranking["position"].to_numpy(), return_inverse=True)[1]
        self._share = np.array(ranking["share"], np.float64)
        self._theta = np.array(theta["theta"], np.float64)
        self._useful = _experiments(cells)
        self._policy = None if policy is None else _Known(policy, ranking, cells, theta)

    def estimate(self, counts: Counts) -> Mapping[str, float]:
        """Return the expected clicks a visit by each of `ESTIMATORS`, and ``logged``.

        Parameters
        ----------
        counts : Counts
            Counts of the log, or of a resample.
        """
        theta = self._examination(counts)
        weighed = self.weigh(counts, theta)
        visits = float(counts.visits.sum())
        clicks, shown = (_at(x, self._of["cell"]) for x in (counts.clicks, counts.shown))
        looked = _at(theta, self._of["k"])
        pair_clicks, relevance = self._pairs(counts, theta)
        modelled = looked * relevance
        weights = weighed.weights
        return {
            "ips": float(weights @ clicks / visits),
            "snips": self._normalised(weighed, clicks, shown) / visits,
            "dr": float(weighed.slots @ modelled + weights @ (clicks - shown * modelled)) / visits,
            "pbm": float(weighed.pair_weights @ pair_clicks / visits),
            "logged": float(counts.clicks.sum() / visits),
        }

    def weigh(self, counts: Counts, theta: Float64) -> Weighed:
        """Return what each place of the new ranker counts, by the known policy or by frequencies.

        The weight of a pair is its part of this place, ``pi theta_k``, over ``sum_l mu theta_l``.
        """
        looks = _at(theta, self._of["k"])
        if self._policy is None:
            slots = self._share * _sums(self._slot, counts.shown)[self._of["slot"]]
            shown = _at(counts.shown, self._of["cell"])
            of_pair = self._looks(counts.shown, theta)
            pair_looks = _at(of_pair, self._of["pair"])
        else:
            visits = counts.visits[self._of["row"]]
            slots = self._share * self._policy.filled * visits
            shown = self._policy.shown * visits
            pair_looks = self._policy.looks(theta) * visits
        return Weighed(slots, _over(slots, shown), _over(slots * looks, pair_looks))

    def _examination(self, counts: Counts) -> Float64:
        """Return theta, known or estimated."""
        theta = self._theta.copy()
        if not self._known:
            rows, start = self._useful
            cells = counts.shown[rows], counts.clicks[rows]
            k = self._k[rows].astype(np.int32)
            fit_examination(*cells, start, k, theta, _ROUNDS, _CLOSE)
        return theta

    def _pairs(self, counts: Counts, theta: Float64) -> tuple[Float64, Float64]:
        """Return the clicks and the relevance of each cell's pair."""
        looks = self._looks(counts.shown, theta)
        clicks = _sums(self._pair, counts.clicks * (self._k >= 0))
        mean = clicks.sum() / max(looks.sum(), 1e-300)
        if mean == 0:
            return np.zeros(len(self._share)), np.zeros(len(self._share))
        relevance = estimate_relevance(clicks, looks, mean)
        pair = self._of["pair"]
        return _at(clicks, pair), np.where(pair >= 0, _at(relevance, pair), mean)

    def _looks(self, shown: Float64, theta: Float64) -> Float64:
        """Return the looks at each pair, (pairs,)."""
        return _sums(self._pair, shown * _at(theta, self._k))

    def _normalised(self, weighed: Weighed, clicks: Float64, shown: Float64) -> float:
        """Return the clicks of all visits, normalised at each position by its weights."""
        sums = [
            _sums(self._position, x)
            for x in (weighed.slots, weighed.weights * clicks, weighed.weights * shown)
        ]
        return float(np.sum(sums[0] * _over(sums[1], sums[2])))

    # --- how far to trust it ---

    def facts(self, counts: Counts) -> dict[str, Support]:
        """Return how well the log supports each estimator, and ``logged``.

        ``dr`` has a model where the ad was shown at another position only.
        """
        theta = self._examination(counts)
        weighed = self.weigh(counts, theta)
        slots, total = weighed.slots, counts.visits.sum()
        supported, anywhere = weighed.weights > 0, weighed.pair_weights > 0
        never = [
            float(slots @ ~seen / slots.sum())
            for seen in (supported, supported | anywhere, anywhere)
        ]
        shown = _at(counts.shown, self._of["cell"])
        visits = _effective(weighed.weights, shown) * total / counts.shown.sum()
        mean = float(weighed.weights @ shown / slots.sum())
        looks, known = self._looks(counts.shown, theta), self._of["pair"] >= 0
        weight = _sums(self._of["pair"][known], weighed.pair_weights[known], len(looks))
        pair_visits = _effective(weight, looks) * total / looks.sum()
        pair_mean = float(weight @ looks / (slots @ _at(theta, self._of["k"])))
        return {
            "logged": Support(float(total), 0.0, 1.0),
            "ips": Support(visits, never[0], mean),
            "snips": Support(visits, never[0], mean),
            "dr": Support(visits, never[1], mean),
            "pbm": Support(pair_visits, never[2], pair_mean),
        }


class _Known:
    """The known policy of a log, at the places of a ranking.

    Attributes
    ----------
    shown : float64 (slots,)
        mu of the ad at the place.
    filled : float64 (slots,)
        Probability that the place is filled.
    """

    def __init__(
        self,
        policy: pl.DataFrame,
        ranking: pl.DataFrame,
        cells: pl.DataFrame,
        theta: pl.DataFrame,
    ) -> None:
        keys = ["query", "document", "position"]
        policy = policy.filter(pl.col("probability") > 0).select(*keys, "probability")
        _check_policy(policy, cells.join(policy, on=keys, how="anti"))
        filled = policy.group_by("query", "position").agg(filled=pl.col("probability").sum())
        joined = _joined(ranking, policy, filled)
        self.shown, self.filled = (
            np.array(joined[name].fill_null(0), np.float64) for name in ("probability", "filled")
        )
        ranked = ranking.select("query", "document").with_row_index("row")
        joined = _joined(ranked.join(policy, on=["query", "document"]), theta)
        self._row, self._k = _numbers(joined, "row"), _numbers(joined, "k")
        self._probability = np.array(joined["probability"], np.float64)

    def looks(self, theta: Float64) -> Float64:
        """Return ``sum_l mu(d, l | q) theta_l`` of the pair of each place."""
        looked = self._probability * _at(theta, self._k)
        return _sums(self._row, looked, len(self.shown))


def _check_policy(policy: pl.DataFrame, unknown: pl.DataFrame) -> None:
    if len(unknown):
        query, document, position = unknown.select("query", "document", "position").row(0)
        raise BadInput(
            f"policy: {len(unknown)} of the showings in the log have no probability; the first is "
            f"document {document} at position {position} of query {query}. Add every document "
            "that the policy may show, or leave it out to estimate it from the log."
        )
    for columns in (["query", "position"], ["query", "document"]):
        most = policy.group_by(columns).agg(pl.col("probability").sum())["probability"].max()
        if isinstance(most, float) and most > 1 + _SLACK:
            raise BadInput(
                f"policy: probabilities of one {' and '.join(columns)} add up to {most:.4f}, above "
                "1. They are of a document at a position, for each visit to the query."
            )


def _joined(frame: pl.DataFrame, *others: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of other frames by their common columns, null if absent."""
    for other in others:
        keys = [name for name in other.columns if name in frame.columns]
        frame = frame.join(other, on=keys, how="left", maintain_order="left")
    return frame


def _numbers(frame: pl.DataFrame, name: str) -> Int64:
    return np.array(
        frame[name].fill_null(-1) if frame[name].null_count() else frame[name], np.int64
    )


def _at(values: Float64, index: Int64) -> Float64:
    """Return values at an index, 0 for index -1."""
    return np.where(index >= 0, values[index], 0.0) if len(values) else np.zeros(len(index))


def _sums(index: Int64, values: Float64, size: int = 0) -> Float64:
    return np.bincount(index, values, size).astype(np.float64, copy=False)


def _over(part: Float64, whole: Float64) -> Float64:
    """Divide; 0 where ``whole`` is 0."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _effective(weights: Float64, number: Float64) -> float:
    """Return ``(sum w)^2 / sum w^2``, where ``number`` showings have each weight."""
    squares = float(weights**2 @ number)
    return float(weights @ number) ** 2 / squares if squares else 0.0


def _experiments(cells: pl.DataFrame) -> tuple[Int64, Int64]:
    """Return the cells of pairs shown at several known positions, and each pair's start."""
    known = pl.col("k").is_not_null()
    useful = cells.filter(known).filter(pl.len().over("pair") > 1)
    pair = _numbers(useful, "pair")
    first = np.flatnonzero(np.diff(pair, prepend=-1))
    return _numbers(useful, "cell"), np.append(first, len(pair)).astype(np.int64)
