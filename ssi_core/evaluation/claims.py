"""Verdicts on claims: is one row above another, or no different, by a paired test over queries.

Rows with the same values on every query are one system: a query expansion that chose to add nothing
is TF-IDF. Claims about the same two systems are one test, and one member of the family that Holm
corrects for. A claim of a row against its own twin is no question, and is counted apart; so is one
that the caller marks as not like with like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from ssi_core.evaluation.measures import LOWER_IS_BETTER
from ssi_core.evaluation.significance import (
    at_floor,
    holm,
    paired_beyond,
    paired_equivalence,
    paired_randomisation,
    paired_t,
    rounds_of,
    smallest_detectable,
)
from ssi_core.evaluation.slates import PER_QUERY
from ssi_core.types import Report

TestName: TypeAlias = Literal["randomisation", "t"]
Outcome: TypeAlias = Literal[
    "holds", "reversed", "not decided", "same system", "not like with like"
]

APART: tuple[Outcome, ...] = ("same system", "not like with like")
"""Outcomes of claims that are counted neither for nor against a table."""


@dataclass(frozen=True)
class Claim:
    """Row ``above`` is better than row ``below`` in ``measure``; rows are named by their labels.

    With a ``margin`` the claim is that of no difference.

    Attributes
    ----------
    above : str
        Label of the better row.
    below : str
        Label of the other row.
    measure : str
        Name of the measure.
    margin : float
        The means of the two rows differ by less than the margin, which is in the unit of the
        measure and is fixed before anything is measured.
    """

    above: str
    below: str
    measure: str
    margin: float | None = None

    def __post_init__(self) -> None:
        """Refuse a margin that is none."""
        if self.margin is not None and not 0 < self.margin < np.inf:
            raise ValueError(f"margin={self.margin}, expected a number above 0")

    @property
    def rows(self) -> tuple[str, str]:
        """Labels of both rows."""
        return self.above, self.below

    def __str__(self) -> str:
        if self.margin is not None:
            within = f"within {self.margin:g} in {self.measure}"
            return f"{self.above} no different from {self.below} {within}"
        return f"{self.above} above {self.below} in {self.measure}"


@dataclass(frozen=True)
class Verdict:
    """Result of testing a claim, by a two-sided paired test or by one of no difference.

    Attributes
    ----------
    claim : `Claim`
        Claim that was tested.
    verdict : Outcome
        "holds" or "reversed" where the adjusted p is below the level, else "not decided"; the two
        of `APART` for claims that are counted apart. A claim of no difference is reversed where the
        difference is larger than its margin.
    difference : float
        Mean of ``above`` minus mean of ``below``, in the measure's own sense: a rank loss that is
        lower, and so better, has a negative difference.
    p : float
        p-value of this test alone.
    p_adjusted : float or None
        By Holm over the distinct claims of the table; None for a claim that is apart.
    bound : bool
        p is the smallest that the randomisation gives, so that both are upper bounds.
    test : TestName or "tost"
        "randomisation" or "t"; of no difference "tost", two one-sided t tests, or the opposite of
        them where the difference is not below the margin.
    n : int
        Queries.
    detectable : float or None
        Difference that a test of these two rows finds with a power of 80 %, see
        `significance.smallest_detectable`; None with one query.
    p_t : float or None
        Of a claim of order p of the paired t test alone, by which most papers have tested.
    rows : tuple of str
        Labels of the rows that were tested; `judge` tests those of the claim.
    systems : tuple of str
        Labels of the first rows with their values.
    reason : str
        Why the claim is apart; "" if it is not.
    """

    claim: Claim
    verdict: Outcome
    difference: float
    p: float
    p_adjusted: float | None
    bound: bool
    test: TestName | Literal["tost"]
    n: int
    detectable: float | None
    p_t: float | None
    rows: tuple[str, str]
    systems: tuple[str, str]
    reason: str = ""


def average_seeds(reports: Sequence[Report]) -> pl.DataFrame:
    """Average the measures of each query over reports that differ in the model's seed.

    Returns
    -------
    frame with the columns id and the measures, ordered by id

    Raises
    ------
    ValueError
        There is no report, or they are of different queries.
    """
    if not reports:
        raise ValueError("reports: none came, expected one a seed")
    names = [name for name in PER_QUERY if name in reports[0].per_query.columns]
    frames = [report.per_query.select("id", *names).sort("id") for report in reports]
    if any(not frame["id"].equals(frames[0]["id"]) for frame in frames):
        raise ValueError("reports: of different queries, expected the same task, side and seed")
    mean = {name: np.mean([frame[name].to_numpy() for frame in frames], axis=0) for name in names}
    return frames[0].select("id").with_columns(**{n: pl.Series(v) for n, v in mean.items()})


def twins(means: Mapping[str, pl.DataFrame]) -> dict[str, str]:
    """Return label -> first label with the same values on every query; itself where none has.

    Parameters
    ----------
    means : mapping
        Label -> frame of `average_seeds`.
    """
    first: dict[str, str] = {}
    for label, frame in means.items():
        same = (other for other in dict.fromkeys(first.values()) if _same(means[other], frame))
        first[label] = next(same, label)
    return first


def _same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    if one.columns != other.columns or not one["id"].equals(other["id"]):
        return False
    left, right = (frame.drop("id").to_numpy() for frame in (one, other))
    # Means over seeds are rounded; a step of a measure is far larger.
    return np.allclose(left, right, rtol=0, atol=1e-12, equal_nan=True)


def judge(
    claims: Sequence[Claim],
    rows: Mapping[str, Sequence[Report]],
    *,
    unlike: Mapping[tuple[str, str], str] | None = None,
    test: TestName = "randomisation",
    level: float = 0.05,
) -> list[Verdict]:
    """Judge all claims of a table.

    Values are averaged over the seeds of a row query by query, then tested, then adjusted by Holm
    over the distinct claims given: give all claims of a table at once.

    Parameters
    ----------
    claims : sequence of Claim
        `Claim`; their measure is one of `PER_QUERY`.
    rows : mapping
        Label -> the reports of its seeds.
    unlike : mapping or None
        (above, below) -> why a claim about these rows is not like with like.
    test : TestName
        Test of claims of order: "randomisation" (of `rounds_of` the family rounds) or "t".
    level : float
        Significance level for the adjusted p.

    Raises
    ------
    ValueError
        A claim names an unknown row or measure, or two rows have different queries.
    """
    unlike = unlike or {}
    means = _means(claims, rows)
    first = twins(means)
    systems = {c: (first[c.above], first[c.below]) for c in claims}
    reasons = {c: _apart(c, systems[c], unlike) for c in claims}
    keys = {c: (*systems[c], c.measure, c.margin) for c in claims}
    family = list(dict.fromkeys(keys[c] for c in claims if not reasons[c]))
    rounds = rounds_of(len(family))

    def p_of(above: str, below: str, measure: str, margin: float | None) -> float:
        a, b = (means[label][measure].to_numpy() for label in (above, below))
        if margin is not None:
            near = abs(float(np.mean(a - b))) < margin
            return paired_equivalence(a, b, margin) if near else paired_beyond(a, b, margin)
        return paired_t(a, b) if test == "t" else paired_randomisation(a, b, rounds=rounds)

    alone = {key: p_of(*key) for key in dict.fromkeys(keys.values())}
    adjusted = dict(zip(family, holm([alone[key] for key in family]).tolist(), strict=True))
    verdicts = []
    for claim in claims:
        key = keys[claim]
        by: TestName | Literal["tost"] = test if claim.margin is None else "tost"
        above, below = (means[label][claim.measure].to_numpy() for label in systems[claim])
        difference = float(np.mean(above - below))
        outcome, reason = reasons[claim] or (
            outcome_of(claim, difference, adjusted[key], level),
            "",
        )
        verdicts.append(
            Verdict(
                claim,
                outcome,
                difference,
                alone[key],
                None if reason else adjusted[key],
                by == "randomisation" and at_floor(alone[key], rounds),
                by,
                len(above),
                smallest_detectable(above, below) if len(above) > 1 else None,
                paired_t(above, below) if claim.margin is None else None,
                (claim.above, claim.below),
                systems[claim],
                reason,
            )
        )
    return verdicts


def _means(
    claims: Sequence[Claim], rows: Mapping[str, Sequence[Report]]
) -> dict[str, pl.DataFrame]:
    """Return the means of the rows that claims name."""
    named = {label for claim in claims for label in claim.rows}
    means = {label: average_seeds(reports) for label, reports in rows.items() if label in named}
    for claim in claims:
        if claim.measure not in PER_QUERY:
            raise ValueError(f"measure={claim.measure!r}, expected one of {', '.join(PER_QUERY)}")
        for label in claim.rows:
            if label not in rows:
                raise ValueError(f"{claim}: row {label!r} is not there; it has: {', '.join(rows)}")
        if not means[claim.above]["id"].equals(means[claim.below]["id"]):
            raise ValueError(f"{claim}: the rows have different queries, expected one task")
    return means


def _apart(
    claim: Claim, systems: tuple[str, str], unlike: Mapping[tuple[str, str], str]
) -> tuple[Outcome, str] | None:
    """Return outcome and reason of a claim that is counted apart, else None."""
    if systems[0] == systems[1]:
        return "same system", "both rows have the same values on every query"
    if reason := unlike.get(claim.rows):
        return "not like with like", reason
    return None


def outcome_of(claim: Claim, difference: float, p_adjusted: float, level: float) -> Outcome:
    """Return the outcome of a claim: decided where p is below the level, then by the sign."""
    if not p_adjusted < level:
        return "not decided"
    if claim.margin is not None:
        return "holds" if abs(difference) < claim.margin else "reversed"
    gain = -difference if claim.measure in LOWER_IS_BETTER else difference
    return "holds" if gain > 0 else "reversed"
