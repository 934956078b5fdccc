"""The gate: does a challenger take over from the best champion so far? A rule on their reports.

At retraining n the challenger is promoted if both hold on the queries of one frozen set:

- superior: a one-sided paired t test of the primary measure has p below

      alpha_n = alpha * 6 / (pi^2 n^2),     sum over all n of alpha_n = alpha,

  so that models that are equal are promoted with probability alpha at most, however many
  retrainings there are (the union bound: retrainings need not be independent);
- non-inferior on every guard slice: it loses less than ``margin`` of the champion's mean there, by
  a one-sided paired t test with p below ``level``.

The t test, as its p-values go as low as alpha_n does; random signs would need 1 / alpha_n rounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from ssi_core.evaluation.measures import LOWER_IS_BETTER
from ssi_core.evaluation.significance import paired_t
from ssi_core.types import Float64, Report

PRIMARY = ("map", "rank_loss")
"""Measures that a gate may judge by."""
LANGUAGE = "language_"
"""What the names of slices by language begin with."""


@dataclass(frozen=True)
class Rule:
    """Conditions that a challenger must meet.

    Attributes
    ----------
    measure : str
        The primary one, which is also that of the slices: "map" or "rank_loss".
    alpha : float
        Probability that any of all retrainings promotes a model that is only equal.
    margin : float
        Share of the champion's mean that may be lost on a guard slice.
    level : float
        Significance level of each guard's test.
    guards : tuple of str
        Slices that must not get worse; those by language are guards, too.
    fewest : int
        Queries that a slice has at least to be judged; a smaller one is reported, not judged.
    """

    measure: str = "map"
    alpha: float = 0.05
    margin: float = 0.05
    level: float = 0.05
    guards: tuple[str, ...] = ("short_query", "new_document", "newest")
    fewest: int = 30

    def __post_init__(self) -> None:
        if self.measure not in PRIMARY:
            raise ValueError(f"measure={self.measure!r}, expected one of {', '.join(PRIMARY)}")
        for name in ("alpha", "margin", "level"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}, expected between 0 and 1")
        if self.fewest < 2:
            raise ValueError(f"fewest={self.fewest}, expected at least 2 queries")

    def alpha_of(self, retraining: int) -> float:
        """Return the level of retraining n: ``alpha * 6 / (pi^2 n^2)``."""
        if retraining < 1:
            raise ValueError(f"retraining={retraining}, expected a number from 1")
        return self.alpha * 6 / (math.pi * retraining) ** 2


@dataclass(frozen=True)
class Judgement:
    """A test of the gate and its result.

    Attributes
    ----------
    what : str
        "all queries", or the name of a slice.
    queries : int
        Queries of the test.
    champion, challenger : float
        Means.
    gain : float
        Mean improvement; positive is better, whatever the measure.
    margin : float or None
        What may be lost; None of the primary test.
    p, level : float
        p-value and level of the one-sided test of ``gain > -margin``.
    judged : bool
        False of a slice with too few queries.
    """

    what: str
    queries: int
    champion: float
    challenger: float
    gain: float
    margin: float | None
    p: float
    level: float
    judged: bool = True

    @property
    def passed(self) -> bool:
        """Tell whether the test allows a promotion."""
        return not self.judged or self.p < self.level


@dataclass(frozen=True)
class Decision:
    """Decision of the gate, with its numbers; ``primary`` is None where there was no champion."""

    promote: bool
    reason: str
    retraining: int
    rule: Rule
    primary: Judgement | None = None
    guards: tuple[Judgement, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return asdict(self)


def decide(
    challenger: Report, champion: Report | None, retraining: int, rule: Rule | None = None
) -> Decision:
    """Judge a challenger against the best champion so far.

    Parameters
    ----------
    challenger, champion : Report, Report or None
        Reports of one frozen set; None: there is no champion yet.
    retraining : int
        How many decisions there were on this frozen set, and this one.
    rule : Rule or None
        What is asked.

    Raises
    ------
    ValueError
        The reports are of different queries.
    """
    rule = rule or Rule()
    level = rule.alpha_of(retraining)
    if champion is None:
        return Decision(True, "there is no champion yet: this is the first", retraining, rule)
    new, old = _aligned(challenger.per_query, champion.per_query, rule.measure, "all queries")
    primary = _judge("all queries", new, old, None, level, rule)
    guards = tuple(_guards(challenger, champion, rule))
    failed = [guard for guard in guards if not guard.passed]
    reason = "; ".join([_said(primary, rule.measure), *(_said(g, rule.measure) for g in failed)])
    return Decision(primary.passed and not failed, reason, retraining, rule, primary, guards)


def best_so_far(champions: Mapping[str, Report], measure: str) -> str | None:
    """Return the name of the champion with the best mean; of equal ones the first, None of none.

    Against the last one alone, a slice could lose a margin at each retraining.
    """
    sign = -1 if measure in LOWER_IS_BETTER else 1
    return max(champions, key=lambda name: sign * champions[name].means[measure], default=None)


def _guards(challenger: Report, champion: Report, rule: Rule) -> list[Judgement]:
    if challenger.slices is None or champion.slices is None:
        return []
    slices = champion.slices["slice"].unique(maintain_order=True)
    names = [name for name in slices if name in rule.guards or name.startswith(LANGUAGE)]
    judgements = []
    for name in names:
        sides = challenger.slices.filter(slice=name), champion.slices.filter(slice=name)
        new, old = _aligned(*sides, rule.measure, name)
        judgements.append(_judge(name, new, old, rule.margin * float(old.mean()), rule.level, rule))
    return judgements


def _aligned(
    challenger: pl.DataFrame, champion: pl.DataFrame, measure: str, what: str
) -> tuple[Float64, Float64]:
    new, old = (frame.select("id", measure).sort("id") for frame in (challenger, champion))
    if not new["id"].equals(old["id"]):
        raise ValueError(f"{what}: reports of different queries, expected one frozen set")
    return new[measure].to_numpy(), old[measure].to_numpy()


def _judge(
    what: str, new: Float64, old: Float64, margin: float | None, level: float, rule: Rule
) -> Judgement:
    gain = old - new if rule.measure in LOWER_IS_BETTER else new - old
    guard = margin is not None
    # Where no query of a slice got worse there is nothing to prove.
    unharmed = guard and bool(np.all(gain >= 0))
    shifted = gain + (margin or 0.0)
    p = 0.0 if unharmed else paired_t(shifted, np.zeros(len(gain)), alternative="greater")
    means = float(old.mean()), float(new.mean()), float(gain.mean())
    return Judgement(
        what, len(gain), *means, margin, p, level, not guard or len(gain) >= rule.fewest
    )


def _said(found: Judgement, measure: str) -> str:
    numbers = f"{measure} {found.champion:.4f} -> {found.challenger:.4f}"
    compared = f"p = {found.p:.2g} {'<' if found.passed else '>='} {found.level:.2g}"
    if found.margin is None:
        verdict = "better" if found.passed else "not shown to be better"
    else:
        verdict = f"not shown to lose less than {found.margin:.4f}"
    return f"{found.what}: {verdict}, {numbers} ({compared}, {found.queries} queries)"
