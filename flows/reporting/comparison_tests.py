"""Tests of a comparison: every row against its baseline, and the claims of its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import polars as pl

from ssi_core.evaluation.claims import TestName, Verdict, judge
from ssi_core.evaluation.comparison import paired_tests
from ssi_core.evaluation.slates import PER_QUERY
from ssi_core.experiment import Row, Table
from ssi_core.types import Report


def judged(table: Table, reports: Mapping[str, Sequence[Report]], test: TestName) -> list[Verdict]:
    """Judge the claims of a table on rows that are there, like with like where it has such rows.

    `likeness.compared` chooses them, and `claims.judge` says what can go wrong.
    """
    if not table.claims:
        return []
    from flows.reporting.likeness import compared, unlikeness  # loads the models

    rows = [row for row in table.rows if row.label in reports]
    pairs = {pair: compared(*pair, rows) for pair in {claim.rows for claim in table.claims}}
    tested = {
        claim: replace(claim, above=pair[0].label, below=pair[1].label)
        for claim in table.claims
        if (pair := pairs[claim.rows])
    }
    reasons = {(a.label, b.label): unlikeness(a, b) for a, b in filter(None, pairs.values())}
    verdicts = judge(list(tested.values()), reports, unlike=reasons, test=test)
    return [replace(verdict, claim=claim) for claim, verdict in zip(tested, verdicts, strict=True)]


def baseline_of(table: Table, rows: Sequence[Row], row: Row) -> Row:
    """Return the row that a row is tested against: the table's baseline, or its task's first."""
    same_task = [other for other in rows if other.task == row.task]
    named = [other for other in same_task if other.label == table.baseline]
    return (named or same_task)[0]


def against_baseline(
    table: Table,
    rows: Sequence[Row],
    means: Mapping[str, pl.DataFrame],
    same: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Test every row against its baseline; a family is a measure.

    Parameters
    ----------
    rows : sequence of Row
        Those of the table that are finished.
    means : mapping
        Label -> frame of id and measures, averaged over seeds.
    same : mapping
        Label -> first row with the same values; see `claims.twins`.
    """
    pairs = [
        (row.label, base.label)
        for row in rows
        if (base := baseline_of(table, rows, row)).label != row.label
    ]
    measures = [name for name in table.measures if name in PER_QUERY]
    tests: tuple[TestName, ...] = ("randomisation", "t")
    families = ((measure, test) for test in tests for measure in measures)
    return [one for family in families for one in paired_tests(pairs, means, same, *family)]


def test_of(verdict: Verdict) -> dict[str, Any]:
    """Return the test of a claim as a JSON object."""
    return {
        "a": verdict.rows[0],
        "b": verdict.rows[1],
        "metric": f"test/{verdict.claim.measure}",
        "difference": verdict.difference,
        "p": verdict.p,
        "p_adjusted": verdict.p_adjusted,
        "bound": verdict.bound,
        "test": verdict.test,
        "n": verdict.n,
        "family": "claims",
    }


def object_of(verdict: Verdict) -> dict[str, Any]:
    """Return a claim with its verdict as a JSON object."""
    return {
        "claim": str(verdict.claim),
        "verdict": verdict.verdict,
        "difference": verdict.difference,
        "p": verdict.p,
        "p_adjusted": verdict.p_adjusted,
        "bound": verdict.bound,
        "detectable": verdict.detectable,
        "p_t": verdict.p_t,
        "rows": list(verdict.rows),
        "systems": list(verdict.systems),
        "reason": verdict.reason,
        **asdict(verdict.claim),
    }
