"""Verdicts on claims of order: is one row above another, by a paired test over queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from ssi_core.evaluation.measures import LOWER_IS_BETTER
from ssi_core.evaluation.significance import holm, paired_randomisation, paired_t
from ssi_core.evaluation.slates import PER_QUERY
from ssi_core.types import Report

TestName: TypeAlias = Literal["randomisation", "t"]
Outcome: TypeAlias = Literal["holds", "reversed", "not decided"]


@dataclass(frozen=True)
class Claim:
    """Row ``above`` is better than row ``below`` in ``measure``; rows are named by their labels."""

    above: str
    below: str
    measure: str

    def __str__(self) -> str:
        return f"{self.above} above {self.below} in {self.measure}"


@dataclass(frozen=True)
class Verdict:
    """What a two-sided paired test says of a claim.

    Attributes
    ----------
    claim : `Claim`
    verdict : "holds" or "reversed" where the adjusted p is below the level, else "not decided"
    difference : mean of ``above`` minus mean of ``below``, in the measure's own sense: a rank loss
        that is lower, and so better, has a negative difference
    p, p_adjusted : of this test alone, and adjusted by Holm over all claims that were judged
    test : "randomisation" or "t"
    n : queries
    """

    claim: Claim
    verdict: Outcome
    difference: float
    p: float
    p_adjusted: float
    test: TestName
    n: int


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


def judge(
    claims: Sequence[Claim],
    rows: Mapping[str, Sequence[Report]],
    *,
    test: TestName = "randomisation",
    level: float = 0.05,
    seed: int = 0,
) -> list[Verdict]:
    """Judge all claims of a table.

    Values are averaged over the seeds of a row query by query, then tested, then adjusted by Holm
    over the claims given: give all claims of a table at once.

    Parameters
    ----------
    claims : `Claim`; their measure is one of `PER_QUERY`
    rows : label -> the reports of its seeds
    test : "randomisation" (10,000 rounds) or "t"
    level : of the adjusted p
    seed : of the randomisation

    Raises
    ------
    ValueError
        A claim names an unknown row or measure, or two rows have different queries.
    """
    means: dict[str, pl.DataFrame] = {}
    found = []
    for claim in claims:
        if claim.measure not in PER_QUERY:
            raise ValueError(f"measure={claim.measure!r}, expected one of {', '.join(PER_QUERY)}")
        for label in (claim.above, claim.below):
            if label not in rows:
                raise ValueError(f"{claim}: row {label!r} is not there; it has: {', '.join(rows)}")
            if label not in means:
                means[label] = average_seeds(rows[label])
        above, below = means[claim.above], means[claim.below]
        if not above["id"].equals(below["id"]):
            raise ValueError(f"{claim}: the rows have different queries, expected one task")
        a, b = (frame[claim.measure].to_numpy() for frame in (above, below))
        p = paired_t(a, b) if test == "t" else paired_randomisation(a, b, seed=seed)
        found.append((claim, float(np.mean(a - b)), p, len(a)))
    adjusted = holm([p for _, _, p, _ in found])
    return [
        Verdict(
            claim, _outcome(claim, difference, after, level), difference, p, float(after), test, n
        )
        for (claim, difference, p, n), after in zip(found, adjusted, strict=True)
    ]


def _outcome(claim: Claim, difference: float, p_adjusted: float, level: float) -> Outcome:
    if not p_adjusted < level:
        return "not decided"
    gain = -difference if claim.measure in LOWER_IS_BETTER else difference
    return "holds" if gain > 0 else "reversed"
