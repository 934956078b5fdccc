"""The page of an experiment in MLflow: a description, and a view with the measures as columns.

MLflow keeps the columns that a person has chosen in that person's browser, and shows no measure
until one is chosen; there is no setting for all. But a saved view is a tag of the experiment: it
stands in the menu "Views" of the page, and has an address of its own (`address_of`).
"""

from __future__ import annotations

import json
import time

from mlflow.entities import Experiment

from flows.tracking.database import client
from ssi_core.evaluation.measures import LOWER_IS_BETTER, every_measure, in_order
from ssi_core.experiment import Table

VIEW = "measures"
"""Name of the view, and its key in the address."""

_TAG = f"mlflow.sharedViewState.{VIEW}"


def describe(experiment: Experiment, table: Table) -> None:
    """Write the tags of the page of a table's experiment, where they differ from those there.

    Parameters
    ----------
    experiment : Experiment
        With the tags that it has.
    table : Table
        Its title, source and measures are shown.
    """
    known = experiment.tags
    wanted = {"mlflow.note.content": _note(table)}
    if _state_in(known.get(_TAG, "")) != _state(table):
        wanted[_TAG] = _view(table)
    for name, value in wanted.items():
        if known.get(name) != value:
            client().set_experiment_tag(experiment.experiment_id, name, value)


# Without it, the page is that of traces and prompts; before the "#", it has no effect.
_KIND = "workflowType=machine_learning"

EXPERIMENTS = f"/#/experiments?{_KIND}"
"""Address of the list of experiments, from the root of MLflow's server."""


def address_of(experiment: str) -> str:
    """Return the address of an experiment's view, from the root of MLflow's server."""
    return f"/#/experiments/{experiment}/runs?viewStateShareKey={VIEW}&{_KIND}"


def first_address() -> str:
    """Return the address that a person is told: the view of the row that began last, if any."""
    experiments = [experiment.experiment_id for experiment in client().search_experiments()]
    runs = client().search_runs(
        experiments, 'tags.kind = "row"', max_results=1, order_by=["attributes.start_time DESC"]
    )
    return address_of(runs[0].info.experiment_id) if runs else EXPERIMENTS


def _note(table: Table) -> str:
    better = ", ".join(sorted(set(table.measures) & set(LOWER_IS_BETTER)))
    lines = [
        table.title,  # the list of experiments shows it, without its Markdown
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


def _state(table: Table) -> dict[str, object]:
    return {"selectedColumns": _columns(table), **_charts()}


def _state_in(view: str) -> object:
    try:
        return json.loads(json.loads(view)["state"])
    except (ValueError, KeyError, TypeError):
        return None


_SECTION = "test"


def _charts() -> dict[str, object]:
    """Return the first section of charts; left to itself, MLflow orders all by their names.

    A chart of a measure that no run has is not drawn.
    """
    section = {"uuid": _SECTION, "name": _SECTION, "display": True, "isReordered": True}
    charts = [
        {
            "uuid": f"{_SECTION}/{name}",
            "type": "BAR",
            "metricKey": f"{_SECTION}/{name}",
            "metricSectionId": _SECTION,
            "runsCountToCompare": 10,
            "isGenerated": True,
            "deleted": False,
        }
        for name in in_order(every_measure())
    ]
    flags = {"deleted": False, "isGenerated": True}
    return {
        "compareRunCharts": charts,
        "compareRunSections": [section | flags],
        "isAccordionReordered": True,
    }


def _view(table: Table) -> str:
    # The form in which MLflow 3.17 saves a view.
    now = int(1000 * time.time())
    state = json.dumps(_state(table))
    return json.dumps({"name": VIEW, "createdAt": now, "updatedAt": now, "state": state})
