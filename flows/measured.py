"""The part of a table that its rows have measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ssi_core.experiment import Table
from ssi_core.types import Report


def measured(table: Table, reports: Mapping[str, Sequence[Report]]) -> Table:
    """Return a table without the measures that its rows lack; its note names them.

    A task has measures on slates only where a slate shows several documents. A table of which
    no measure is left shows those that every table has.

    Parameters
    ----------
    table : as it is declared
    reports : label -> the reports of its seeds
    """
    there = set.intersection(*(set(one.means) for own in reports.values() for one in own))
    lacking = [name for name in table.measures if name not in there]
    claims = tuple(claim for claim in table.claims if claim.measure in there)
    if not lacking and claims == table.claims:
        return table
    lacking += sorted({claim.measure for claim in table.claims} - there - {*lacking})
    note = f"Not measured, for the tasks of the rows do not have it: {', '.join(lacking)}."
    return replace(
        table,
        measures=tuple(name for name in table.measures if name in there) or Table.measures,
        claims=claims,
        note=f"{table.note}\n{note}" if table.note else note,
    )
