"""Flow ``retrain``: new data -> checks -> challenger -> gate -> the alias moved, or not.

A champion changes by evidence alone: the challenger must be better on a frozen set than the best
champion so far. A retraining is known by the key of all that it is made of, so that the same data
again cost seconds, and a retraining that was killed goes on where it stopped.
"""

from __future__ import annotations

import logging
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from prefect import flow, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE

from flows import tracking
from flows.features import features_of, make_task
from flows.ingest import ingest_source, settings_of_files
from flows.reporting.shipped_tables import find_table
from flows.servers.server import Server
from flows.settings import RetrainSettings
from flows.steps import begin
from flows.tracking import decisions, registry
from flows.tracking.database import written_alone
from flows.train import form_of
from flows.training.board import posted, row_name
from flows.training.checks import PROFILE, DataCheck, check_data
from flows.training.costs import require_rows
from flows.training.effort import Effort, effort_of
from flows.training.frozen_sets import draw, due, measured, sets_of
from flows.training.rows import run_row
from flows.training.workers import InProcess, Workers
from ssi_core import store
from ssi_core.collection import ANCHOR, CLICK, JUDGEMENT, open_collection
from ssi_core.experiment import Row, TaskSpec
from ssi_core.experiment.training import row_code
from ssi_core.guests.monitoring.gate import Decision, Rule, best_so_far, decide
from ssi_core.models.base import UnfitStart
from ssi_core.tasks.frozen import drawn_at
from ssi_core.types import BadInput

# By its own name: a deployment loads this file under another.
logger = logging.getLogger("flows.retrain")


_DEFAULTS = RetrainSettings()


@flow(name="retrain", flow_run_name="{settings.name}: {settings.row}")
def retrain(settings: RetrainSettings = _DEFAULTS) -> dict[str, Any]:
    """Train a challenger on what is new, and let it take over if it is better.

    Returns what was decided, and why; ``BadInput`` where the data are not fit for a training.
    """
    begin()
    tracking.ready()
    with written_alone(f"retrain-{settings.name}"):
        decided = decisions.retrainings(settings.name)
        _finish_last(decided, settings.name)
        before = next((one for one in decided if one.outcome != "stop"), None)
        corpus = _source(settings, before.corpus if before else "")
        spec = _spec(settings, corpus)
        frozen = sets_of(settings.name, settings.frozen)
        renewed = settings.renew or due(frozen, settings.renew_days)
        key = _key(settings, corpus, frozen)
        if not renewed and (earlier := _of_key(decided, key)):
            return _answer(settings, earlier, unchanged=True)
        seen = check(settings, corpus, before, key)
        if renewed:
            seed, relevant = spec.split_seed, spec.relevant
            drawn = draw(settings.name, frozen, corpus, split_seed=seed, relevant=relevant)
            frozen = [drawn, *frozen]
            key = _key(settings, corpus, frozen)
        effort = effort_of(settings, _row(settings), corpus, decided)
        run = train_challenger(settings, corpus, frozen, key, effort)
        decision = judge(settings, run, frozen[0], corpus)
        earlier = _record(settings, decision, run, corpus, frozen[0], key, seen, effort)
        _carry_out(earlier, settings.name)
        return _answer(settings, earlier, unchanged=False)


def _source(settings: RetrainSettings, before: str) -> str:
    """Return the directory of the data; of what the retraining before has read only the rest is."""
    if settings.corpus:
        return settings.corpus
    texts = settings_of_files(settings.texts) if settings.texts else settings.ingest
    return ingest_source(settings.clicks or settings.mates or texts, before)


def _spec(settings: RetrainSettings, corpus: str) -> TaskSpec:
    """Return how the row's task is made; `BadInput` if not of such data, or not by evidence."""
    table = find_table(settings.table, settings.budget)
    name = table.row(settings.row).task
    spec = table.tasks[name]
    known = open_collection(Path(corpus)).relevant
    if spec.relevant not in known or spec.relevant in (JUDGEMENT, ANCHOR):
        names = ", ".join(map(repr, known)) or "no relation"
        raise BadInput(
            f"{corpus}: it has {names}, and row {settings.row!r} of table {table.name!r} is "
            f"trained on {spec.relevant!r} pairs. Name another row, or give such a collection; "
            "rows of judgements and of names are not retrained."
        )
    goals = spec.queries == "goals"
    if spec.relevant == CLICK and (spec.division != "pairs" or goals):
        raise BadInput(
            f"row {settings.row!r} of table {table.name!r}: champions of clicks are judged by "
            f"pairs of a page and an ad that none has trained on, and task {name!r} is split by "
            f"{spec.division}{', with goals' if goals else ''}. Name a row whose task has split = "
            '"pairs" and no goals.'
        )
    return spec


def _row(settings: RetrainSettings) -> Row:
    return find_table(settings.table).row(settings.row)


def _key(settings: RetrainSettings, corpus: str, frozen: list[str]) -> str:
    table = find_table(settings.table, settings.budget)
    settings_used = settings.model_dump(
        include={"row", "seed", "start", "measure", "alpha", "margin"}
    )
    parents = {"corpus": store.read(Path(corpus)).key}
    parents |= {f"frozen_{n}": store.read(Path(path)).key for n, path in enumerate(frozen)}
    code = row_code(table.row(settings.row))
    return store.key_of("retraining", {**settings_used, "table": table.to_dict()}, parents, code)


def _of_key(decided: list[decisions.Retraining], key: str) -> decisions.Retraining | None:
    """Return the retraining of a key that trained, if there is one."""
    return next((one for one in decided if one.key == key and one.outcome != "stop"), None)


@task(name="check the data", task_run_name="check the data", cache_policy=NO_CACHE)
def check(
    settings: RetrainSettings, corpus: str, before: decisions.Retraining | None, key: str
) -> DataCheck:
    """Look at the corpus beside the one before; `BadInput` says why it is not trained on."""
    champion = registry.champion(settings.name)
    model = f"models:/{settings.name}/{champion}" if champion else None
    directory = model and str(tracking.model_directory(model))
    same = before is not None and before.champion == (champion or "")
    limits = settings.all_limits()
    findings = check_data(corpus, before, directory, limits, same_model=same)
    if findings.problems:
        reason = f"{corpus} is not trained on: {'; '.join(findings.problems)}"
        report = f"## Stopped before the training\n\n{reason}\n"
        tags = {"name": settings.name, "key": key, "corpus_path": corpus, "retraining": "0"}
        tags |= {"champion": champion or ""}
        decisions.log("stop", reason, report, tags=tags, numbers=findings.numbers, files={})
        create_markdown_artifact(report, key=_artifact_key(settings))
        passed = re.findall(r"\(limit (\w+)\)", reason)
        options = " ".join(f"--data-limit {name}=NUMBER" for name in dict.fromkeys(passed))
        raise BadInput(
            f"{reason}. Look at the input; if it is right, move the limit: {options} (of a "
            f"deployment: {options.replace('--data-limit ', '-p limits.')})"
        )
    return findings


@task(
    name="train the challenger",
    task_run_name="train the challenger: {settings.row}",
    cache_policy=NO_CACHE,
)
def train_challenger(
    settings: RetrainSettings, corpus: str, frozen: list[str], key: str, effort: Effort
) -> str:
    """Train the row on the corpus, unless it is; return its run's id."""
    table = find_table(settings.table, effort.budget)
    row = table.row(settings.row)
    task_path = make_task(features_of(table, row.task, corpus, frozen))
    comparison = f"retrain-{settings.name}-{key[:12]}"
    if run_id := tracking.finished_run(table.name, comparison, row.label, settings.seed):
        return run_id
    require_rows([(row, Path(task_path))], workers=1, threads=settings.threads)
    with _worker(settings, effort) as worker:

        def train(start: str | None, budget: int | None) -> str:
            seed, threads = settings.seed, settings.threads
            arguments = (
                settings.table,
                row.label,
                Path(task_path),
                seed,
                comparison,
                threads,
                budget,
                start,
            )
            with posted(row_name(row.label, seed)):
                return str(worker.run(form_of(row), run_row, *arguments))

        try:
            return train(effort.model, effort.budget)
        except UnfitStart as error:
            # A retraining that nobody watches had better train afresh than not at all.
            logger.warning("%s is no start for %r: %s", effort.model, row.label, error)
            run = train(None, settings.budget)
            tracking.client().set_tag(run, _NO_START, f"{effort.model}: {error}"[:2000])
            return run


def _worker(settings: RetrainSettings, effort: Effort) -> Workers | InProcess:
    """Choose who trains: this process, where an earlier training goes on for a while."""
    return InProcess() if effort.model and effort.budget else Workers(1, settings.threads)


_NO_START = "start_refused"


def _start_of(effort: Effort, run: str) -> str:
    """Say what a challenger started from."""
    refused = tracking.client().get_run(run).data.tags.get(_NO_START)
    return f"scratch, as the champion does not fit. {refused}" if refused else effort.reason


@task(
    name="compare with the champion",
    task_run_name="compare with the champion of {settings.name}",
    cache_policy=NO_CACHE,
)
def judge(settings: RetrainSettings, run: str, frozen: str, corpus: str) -> Decision:
    """Measure challenger and champions on the frozen set, and ask the gate."""
    good = registry.champions(registry.history(settings.name))
    reports = {v: measured(registry.run_of(v, settings.name), frozen, corpus) for v in good}
    best = best_so_far(reports, settings.measure)
    retraining = 1 + decisions.count(settings.name, store.read(Path(frozen)).key)
    rule = Rule(measure=settings.measure, alpha=settings.alpha, margin=settings.margin)
    challenger = measured(run, frozen, corpus)
    decision = decide(challenger, reports[best] if best else None, retraining, rule)
    logger.info("retraining %d, against version %s: %s", retraining, best, decision.reason)
    return decision


def _record(
    settings: RetrainSettings,
    decision: Decision,
    run: str,
    corpus: str,
    frozen: str,
    key: str,
    seen: DataCheck,
    effort: Effort,
) -> decisions.Retraining:
    tags = {
        "name": settings.name,
        "row": settings.row,
        "key": key,
        "retraining": str(decision.retraining),
        "challenger": run,
        "champion": registry.champion(settings.name) or "",
        "frozen": store.read(Path(frozen)).key,
        "corpus": store.read(Path(corpus)).key,
        "corpus_path": str(Path(corpus).resolve()),
        "frozen_path": str(Path(frozen).resolve()),
        "frozen_drawn": drawn_at(store.read(Path(frozen))).isoformat(timespec="seconds"),
        "start": _start_of(effort, run),
    }
    names = ("retraining", "challenger", "champion", "start")
    facts = {name: tags[name] or "none" for name in names}
    facts["frozen set"] = f"{tags['frozen'][:12]}, drawn {tags['frozen_drawn']}"
    facts["collection"] = tags["corpus"][:12]  # as `ssi data store list` shows it
    report = decisions.markdown(decision, facts)
    return decisions.log(
        "promote" if decision.promote else "refuse",
        decision.reason,
        report,
        tags=tags,
        numbers={**seen.numbers, **decisions.numbers_of(decision)},
        files={"decision.json": decision.to_dict(), PROFILE: seen.seen.to_dict()},
    )


def _finish_last(decided: list[decisions.Retraining], name: str) -> None:
    """Carry out the last decision, if the process that made it was killed before it could."""
    # If the champion is another one by now, somebody has decided otherwise.
    if decided and (registry.champion(name) or "") == decided[0].champion:
        _carry_out(decided[0], name)


def _carry_out(retraining: decisions.Retraining, name: str) -> None:
    if retraining.outcome != "promote":
        return
    version = registry.version_of(retraining.challenger, name)
    done = {change.version for change in registry.history(name) if change.done}
    # What was taken back since stays back.
    if version is None or version not in done:
        tags = {"retraining": str(retraining.number), "decision": retraining.run_id}
        registry.promote(retraining.challenger, retraining.reason, name, tags=tags)


def _answer(
    settings: RetrainSettings, retraining: decisions.Retraining, *, unchanged: bool
) -> dict[str, Any]:
    report = tracking.client().get_run(retraining.run_id).data.tags["mlflow.note.content"]
    heading = "Nothing is new since this decision.\n\n" if unchanged else ""
    create_markdown_artifact(heading + report, key=_artifact_key(settings))
    return {
        **asdict(retraining),
        "unchanged": unchanged,
        "name": settings.name,
        "version": registry.champion(settings.name),
        "report": report,
    }


def _artifact_key(settings: RetrainSettings) -> str:
    return f"retrain-{settings.name.lower().replace('_', '-')}"


def run_retrain(**settings: Any) -> dict[str, Any]:
    """Run the flow with a Prefect server for its length, unless the user has one.

    Parameters
    ----------
    **settings : object
        Fields of `RetrainSettings`.
    """
    checked = RetrainSettings(**settings)
    with Server() as server:
        with posted("Prefect", "its server starts"):
            server.ready()
        return retrain(checked)
