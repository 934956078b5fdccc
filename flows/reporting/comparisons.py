"""The comparisons that there are: tables, rows that were trained one by one, retrainings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from mlflow.entities import Run

from flows.tracking import client
from flows.tracking.database import known_experiment, search
from ssi_core.types import BadInput

TAG = "comparison_id"
RETRAINING = "retrain-"
"""Begin of the comparison of a retraining, whose one row stands in the experiment of its table."""


@dataclass(frozen=True)
class Comparison:
    """Rows of one table that are compared with each other.

    Attributes
    ----------
    table : str
        Experiment, and name of the table.
    comparison : str
        Its id.
    when : str
        Start of its last row, UTC.
    rows : int
        Finished runs of rows.
    what : str
        "table" has been compared as a whole; "rows" were trained one by one, or are of a table that
        is not finished; "retraining" is the row of one retraining run.
    """

    table: str
    comparison: str
    when: str
    rows: int
    what: Literal["table", "rows", "retraining"]


def listed(experiment: str | None = None) -> list[Comparison]:
    """Return the comparisons of an experiment, or of all, the newest first.

    Raises
    ------
    BadInput
        There is no such experiment.
    """
    if experiment is not None:
        known_experiment(experiment)
    comparisons = [
        one
        for each in client().search_experiments()
        if experiment in (None, each.name)
        for one in _of(each.name, search(each.experiment_id, 'tags.kind != "decision"'))
    ]
    return sorted(comparisons, key=lambda one: one.when, reverse=True)


def latest(experiment: str) -> str:
    """Return the id of the newest comparison of a table that is finished; else of rows of it.

    A retraining is none of the table: it is taken only by its id.

    Raises
    ------
    BadInput
        There is none.
    """
    finished = [one for one in listed(experiment) if one.rows]
    for what in ("table", "rows"):
        ids = [one.comparison for one in finished if one.what == what]
        if ids:
            return ids[0]
    more = ", only of retrainings ('ssi compare --list')" if finished else ""
    raise BadInput(
        f"experiment {experiment!r} has no finished rows of its table{more}. Run 'ssi lab "
        "pipeline' first, or name a comparison (--comparison ID)."
    )


def _of(experiment: str, runs: Sequence[Run]) -> list[Comparison]:
    summaries = {run.data.tags.get(TAG) for run in runs if run.data.tags["kind"] == "summary"}
    rows: dict[str, list[Run]] = {}
    for run in runs:
        if run.data.tags["kind"] == "row" and TAG in run.data.tags:
            rows.setdefault(run.data.tags[TAG], []).append(run)
    return [
        Comparison(
            experiment,
            comparison,
            _time(max(run.info.start_time for run in rows_of_comparison)),
            len({_row_of(run) for run in rows_of_comparison if run.info.status == "FINISHED"}),
            "table" if comparison in summaries else _what(comparison, experiment),
        )
        for comparison, rows_of_comparison in rows.items()
    ]


def _what(comparison: str, experiment: str) -> Literal["rows", "retraining"]:
    if comparison.startswith(RETRAINING) and not comparison.startswith(f"{experiment}-"):
        return "retraining"
    return "rows"


def _row_of(run: Run) -> tuple[str, str]:
    return run.data.tags["row"], run.data.tags["seed"]


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
