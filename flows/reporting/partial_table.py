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
    table : Table
        As it is declared.
    reports : mapping
        Label -> the reports of its seeds.
    """
    names = set.intersection(
        *(set(one.means) for reports_of_row in reports.values() for one in reports_of_row)
    )
    lacking = [name for name in table.measures if name not in names]
    claims = tuple(claim for claim in table.claims if claim.measure in names)
    if not lacking and claims == table.claims:
        return table
    lacking += sorted({claim.measure for claim in table.claims} - names - {*lacking})
    note = f"Not measured, for the tasks of the rows do not have it: {', '.join(lacking)}."
    return replace(
        table,
        measures=tuple(name for name in table.measures if name in names) or Table.measures,
        claims=claims,
        note=f"{table.note}\n{note}" if table.note else note,
    )
