"""Digests of what is read back of a run: MLflow's database and its files have none."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from mlflow.entities import Run

from flows.tracking.database import client
from flows.tracking.origin import HIDDEN
from ssi_core.types import BadInput

_VALUES, _TABLE = "digest", "table_digest"
_READ = ("row", "seed", "task", "corpus", "comparison_id")
"""Tags that are read with the values of a run."""


def seal_values(run_id: str) -> None:
    """Write down the digest of a run's metrics, parameters and tags, which change no more."""
    client().set_tag(run_id, HIDDEN + _VALUES, _digest(_values(client().get_run(run_id))))


def check_values(run: Run) -> None:
    """Compare the values of a run with its digest; one of an earlier version has none.

    Raises
    ------
    BadInput
        They are not those that were written.
    """
    _compare(run, _VALUES, _values(run), "what MLflow's database says of it")


def seal_table(run_id: str, table: dict[str, Any]) -> None:
    """Write down the digest of the table that a run is a row of."""
    client().set_tag(run_id, HIDDEN + _TABLE, _digest(table))


def check_table(run: Run, table: dict[str, Any]) -> None:
    """Compare a table with its digest, as `check_values` does."""
    _compare(run, _TABLE, table, "its table.json")


def tag_of(run: Run, name: str) -> str:
    """Return a tag that every run of a row has.

    Raises
    ------
    BadInput
        It has lost it.
    """
    value = run.data.tags.get(name)
    if value is None:
        raise BadInput(f"run {run.info.run_id}: its tag {name!r} is lost. {_REMEDY}")
    return str(value)


def _values(run: Run) -> list[Any]:
    tags = {name: run.data.tags.get(name) for name in _READ}
    return [dict(run.data.metrics), dict(run.data.params), tags]


def _compare(run: Run, tag: str, found: Any, what: str) -> None:
    written = run.data.tags.get(HIDDEN + tag)
    if written is not None and written != _digest(found):
        raise BadInput(f"run {run.info.run_id}: {what} was changed after it was written. {_REMEDY}")


_REMEDY = (
    "Restore a backup (ssi ops restore), or delete the run in MLflow: its row is trained again."
)


def _digest(facts: Any) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]
