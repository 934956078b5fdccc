"""Flow ``evaluate``: a saved model on a task -> its measures."""

from __future__ import annotations

from pathlib import Path

from prefect import flow, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE

from flows.settings import EvaluateSettings
from flows.steps import begin, progress


@task(name="rank and measure", task_run_name="measure {settings.model}", cache_policy=NO_CACHE)
def measure(settings: EvaluateSettings) -> dict[str, float]:
    """Rank the candidates of the queries and measure; ``NAME`` and ``NAME_se``."""
    from flows.tracking import model_directory
    from ssi_core.evaluation.evaluate import evaluate as evaluate_model
    from ssi_core.evaluation.folds import fold_of
    from ssi_core.models import load_model
    from ssi_core.models.measuring import require_evaluation
    from ssi_core.tasks.task import open_task

    how = settings.model_dump(exclude={"model", "task", "fold"})
    fitted = load_model(model_directory(settings.model))
    task = fold_of(open_task(Path(settings.task)), settings.fold)
    require_evaluation(fitted.model, task, settings.queries)
    report = evaluate_model(fitted, task, **how, progress=progress("evaluate"))
    return {**report.means, **{f"{name}_se": error for name, error in report.errors.items()}}


@flow(name="evaluate", flow_run_name="measure {settings.model}")
def evaluate(settings: EvaluateSettings) -> dict[str, float]:
    """Measure a saved model on a task; the table of measures is on the page of the run."""
    begin()
    report = measure(settings)
    rows = [
        {"measure": name, "mean": value, "error": report.get(f"{name}_se")}
        for name, value in report.items()
        if not name.endswith("_se")
    ]
    create_table_artifact(rows, key="measures", description=f"{settings.model}, {settings.side}")
    return report
