"""The page of an experiment in MLflow: its kind, a description, and a view of the measures.

MLflow keeps the columns that a person has chosen in that person's browser, and shows no measure
until one is chosen. A saved view is a tag of the experiment: it stands in the menu "Views" of the
page, and has an address of its own (`view_of`).
"""

from __future__ import annotations

import json
import time

from flows.tracking.database import client
from ssi_core.evaluation.measures import LOWER_IS_BETTER
from ssi_core.experiment import Table

VIEW = "measures"
"""Name of the view, and its key in the address."""

_TAG = f"mlflow.sharedViewState.{VIEW}"


def describe(experiment: str, table: Table) -> None:
    """Write the tags of the page of a table's experiment, where they differ from those there.

    Parameters
    ----------
    experiment : str
        Id of the experiment.
    table : Table
        Its title, source and measures are shown.
    """
    known = client().get_experiment(experiment).tags
    wanted = {
        # Else the page asks what kind of experiment it is, and offers traces and prompts.
        "mlflow.experimentKind": "custom_model_development",
        "mlflow.note.content": _note(table),
    }
    if _columns_in(known.get(_TAG, "")) != _columns(table):
        wanted[_TAG] = _view(table)
    for name, value in wanted.items():
        if known.get(name) != value:
            client().set_experiment_tag(experiment, name, value)


def view_of(experiment: str) -> str:
    """Return the address of the view on MLflow's server, from the root of that server."""
    return f"/#/experiments/{experiment}/runs?viewStateShareKey={VIEW}"


def _note(table: Table) -> str:
    better = ", ".join(sorted(set(table.measures) & set(LOWER_IS_BETTER)))
    lines = [
        f"**{table.title}**",
        table.source and f"After {table.source}.",
        table.note,
        f"A run for each row and seed, and a summary of each comparison. The view *{VIEW}* (menu "
        "*Views*) shows the measures on the test side; the summary has tests, claims and pictures.",
        better and f"Lower is better: {better}.",
    ]
    return "\n\n".join(line for line in lines if line)


def _columns(table: Table) -> list[str]:
    measures = [f"metrics.`test/{name}`" for name in table.measures]
    return [*measures, "metrics.`usage/row_seconds`", "params.`seed`", "tags.`comparison_id`"]


def _columns_in(view: str) -> list[str]:
    try:
        state = json.loads(json.loads(view)["state"])
        return list(state["selectedColumns"])
    except (ValueError, KeyError, TypeError):
        return []


def _view(table: Table) -> str:
    # The form in which MLflow 3.17 saves a view.
    now = int(1000 * time.time())
    state = {"selectedColumns": _columns(table)}
    return json.dumps(
        {"name": VIEW, "createdAt": now, "updatedAt": now, "state": json.dumps(state)}
    )
