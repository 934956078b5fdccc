"""Flow ``features``: a collection -> a task directory (views, splits)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from flows.steps import begin, progress, show_counts, worth_retrying
from ssi_core.experiment import Table
from ssi_core.parts import LOCAL
from ssi_core.tasks.settings import FeaturesSettings


@task(
    name="make the task",
    task_run_name="make the task: {settings.relevant}, split by {settings.split}",
    cache_policy=NO_CACHE,
    retries=1,
    retry_condition_fn=worth_retrying,
)
def build(settings: FeaturesSettings) -> str:
    """Count words, weigh them, split the pairs."""
    from ssi_core.tasks.task import build_task

    artefact = build_task(
        Path(settings.corpus),
        Path(settings.out) if settings.out else None,
        spec=settings.spec,
        translations=Path(settings.translations) if settings.translations else None,
        frozen=[Path(frozen) for frozen in settings.frozen],
        force=settings.force,
        progress=progress("features"),
        where=settings.where,
    )
    show_counts(artefact)
    return str(artefact.path)


def features_of(
    table: Table, name: str, corpus: str, frozen: Sequence[str] = (), where: str = LOCAL
) -> FeaturesSettings:
    """Return how a table's task is made, with every view that a row of it reads."""
    spec = table.tasks[name].with_views(table.views(name))
    return FeaturesSettings(corpus=corpus, frozen=list(frozen), where=where, **spec.model_dump())


def make_task(settings: FeaturesSettings) -> str:
    """Run `build` on a collection unless its result is there; call it inside a flow."""
    return build(settings)


@flow(name="features", flow_run_name="make the task: {settings.relevant}")
def features(settings: FeaturesSettings) -> str:
    """Turn a collection into a task: vocabulary, word matrices, three sides of a split.

    Returns the path of the task. What is already there is not made again.
    """
    begin()
    return make_task(settings)
