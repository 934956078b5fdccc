"""Claims of a table: those that are written out, and those that its printed numbers make."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from math import hypot
from typing import Any

from ssi_core.evaluation.claims import Claim
from ssi_core.evaluation.measures import LOWER_IS_BETTER, MEASURES
from ssi_core.experiment.tables import Row
from ssi_core.strict import read, tables
from ssi_core.types import BadInput

PRINTED = "printed"
"""Word for every order that the print makes, alone or as a member of the list of claims."""


def read_claims(said: Any, rows: Sequence[Row], where: str) -> tuple[Claim, ...]:
    """Read the claims of a table as TOML gives them.

    Parameters
    ----------
    said : object
        `PRINTED`, or a list of claims that may hold it.
    rows : sequence of Row
        Those of the table.
    where : str
        Begins every error message.
    """
    print_too, others = _divided(said)
    claims = tuple(
        read(Claim, one, f"{where}: claim {n}")
        for n, claim in enumerate(tables(others, f"{where}: [[claims]]"), 1)
        for one in _each_measure(_of_two(claim, f"{where}: claim {n}"))
    )
    return (*printed_claims(rows), *claims) if print_too else claims


def without(said: Any, labels: Collection[str], where: str) -> Any:
    """Return claims as TOML gives them, less those about rows of these labels."""
    print_too, others = _divided(said)
    kept = [
        claim
        for claim in tables(others, f"{where}: [[claims]]")
        if not {str(_of_two(claim, where).get(end)) for end in ("above", "below")} & {*labels}
    ]
    return [PRINTED, *kept] if print_too else kept


def _divided(said: Any) -> tuple[bool, Any]:
    """Separate "printed" from the claims that are written out."""
    if said == PRINTED:
        return True, []
    if isinstance(said, list) and PRINTED in said:
        return True, [claim for claim in said if claim != PRINTED]
    return False, said


def printed_claims(rows: Sequence[Row]) -> tuple[Claim, ...]:
    """Return every order that the printed numbers claim: ``claims = "printed"``.

    Two rows of one task differ where their values do by more than two combined standard errors
    (one that is not printed is taken from the other row, or is the largest of the task where that
    has none), or, where none is printed for the task, as with rank loss, by more than 5 % of the
    smaller value.
    """
    claims = []
    for measure in MEASURES:
        largest = _largest_errors(rows, measure)
        for first, second in combinations(rows, 2):
            values = first.paper.measure(measure), second.paper.measure(measure)
            if first.task != second.task or None in values:
                continue
            if not _differ(first, second, measure, largest.get(first.task)):
                continue
            lower_first = values[0] < values[1]  # type: ignore[operator]
            better = lower_first == (measure in LOWER_IS_BETTER)
            above, below = (first, second) if better else (second, first)
            claims.append(Claim(above.label, below.label, measure))
    return tuple(claims)


def _largest_errors(rows: Sequence[Row], measure: str) -> dict[str, float]:
    """Return the largest printed standard error of a measure by task."""
    largest: dict[str, float] = {}
    for row in rows:
        if (error := row.paper.measure(f"{measure}_se")) is not None:
            largest[row.task] = max(error, largest.get(row.task, 0.0))
    return largest


def _differ(first: Row, second: Row, measure: str, largest: float | None) -> bool:
    a, b = (row.paper.measure(measure) or 0.0 for row in (first, second))
    if largest is None:
        return abs(a - b) > 0.05 * min(a, b)
    one, other = (row.paper.measure(f"{measure}_se") for row in (first, second))
    one, other = one or other or largest, other or one or largest
    return abs(a - b) > 2 * hypot(one, other)


def _of_two(claim: Mapping[str, Any], where: str) -> dict[str, Any]:
    # equal = [one, other] with a margin is a claim of no difference.
    if ("equal" in claim) != ("margin" in claim):
        raise BadInput(f"{where}: a claim of no difference needs equal = [ROW, ROW] and a margin.")
    if "equal" not in claim:
        return dict(claim)
    values = dict(claim)
    rows = values.pop("equal")
    if not isinstance(rows, list) or len(rows) != 2:
        raise BadInput(f"{where}: equal: {rows!r} is of the wrong kind, expected two labels.")
    return {"above": rows[0], "below": rows[1], **values}


def _each_measure(claim: Mapping[str, Any]) -> list[dict[str, Any]]:
    # measure = ["map", "p_at_10"] is short for two claims.
    measures = claim.get("measure")
    each = measures if isinstance(measures, list) else [measures]
    return [{**claim, "measure": measure} for measure in each]
