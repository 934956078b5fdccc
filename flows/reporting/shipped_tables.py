"""Tables of experiments that come with the project, by their names; neither MLflow nor Prefect."""

from __future__ import annotations

from pathlib import Path

from ssi_core.experiment import Table, load_table

TABLES = Path(__file__).parents[1] / "tables"


def find_table(name_or_path: str, budget: int | None = None) -> Table:
    """Read a shipped table by its name, or any table by its path; see `Table.limited`."""
    table = load_table(name_or_path, TABLES)
    return table if budget is None else table.limited(budget)


def shipped_tables() -> list[str]:
    """Names of the shipped tables."""
    return sorted(path.stem for path in TABLES.glob("*.toml"))


NEW_DATA = {"link": "new-corpus", "click": "new-clicks", "judgement": "collections"}
"""Tables whose settings are chosen on validation, so that they suit data that nobody has seen."""
