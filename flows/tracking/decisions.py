"""Decisions of the gate in MLflow: a run each, with the numbers, a readable report and the keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import mlflow.artifacts
from mlflow.entities import Metric, Run

from flows.tracking.database import client, experiment_id, plain, search
from flows.tracking.origin import origin, process_tag
from flows.tracking.rows import end_abandoned
from ssi_core.guests.monitoring.gate import Decision, Judgement

EXPERIMENT = "retrain"

Outcome: TypeAlias = Literal["promote", "refuse", "stop"]


@dataclass(frozen=True)
class Retraining:
    """A decision that was made.

    Attributes
    ----------
    run_id : str
        Of the decision.
    outcome : Outcome
        "stop" where the data were not fit for a training.
    reason : str
        In words.
    key : str
        Of all that it was made of.
    challenger : str
        Id of the run that trained it; empty where there was none.
    champion : str
        Version that bore the alias then; empty: none.
    corpus, corpus_key : str
        Directory of the data, and their key; no key of a stop.
    number : int
        1, 2, ... on its frozen set; 0 of a stop.
    row : str
        Label of the row that was trained; empty of a stop.
    gain : float or None
        By how much the challenger measured better than the best champion; None: not compared.
    start : str
        What the challenger started from, in words; "scratch" comes first where it was none.
    at : datetime
        When it was decided.
    """

    run_id: str
    outcome: Outcome
    reason: str
    key: str
    challenger: str
    champion: str
    corpus: str
    corpus_key: str
    number: int
    row: str
    gain: float | None
    start: str
    at: datetime

    @property
    def from_scratch(self) -> bool:
        """Tell whether the challenger was trained from random values."""
        return self.start.startswith("scratch")

    @property
    def is_no_worse(self) -> bool:
        """Tell whether the challenger measured at least as well as the best champion."""
        return self.gain is not None and self.gain >= 0


def retrainings(model: str) -> list[Retraining]:
    """Return the decisions about a registered model, the newest first."""
    where = experiment_id(EXPERIMENT)
    end_abandoned(where)
    condition = (
        f'tags.kind = "decision" and tags.name = "{model}" and attributes.status = "FINISHED"'
    )
    return [_retraining(run) for run in search(where, condition)]


def count(model: str, frozen: str) -> int:
    """Return how many challengers were tested on a frozen set, by its key."""
    return len(
        search(
            experiment_id(EXPERIMENT),
            f'tags.kind = "decision" and tags.name = "{model}" and tags.frozen = "{frozen}" '
            'and tags.outcome != "stop" and attributes.status = "FINISHED"',
        )
    )


def log(
    outcome: Outcome,
    reason: str,
    report: str,
    *,
    tags: Mapping[str, str],
    numbers: Mapping[str, float],
    files: Mapping[str, Any],
) -> Retraining:
    """Write a decision; it counts once it is whole.

    Parameters
    ----------
    report : str
        In Markdown.
    tags : mapping
        Name, key, challenger, champion, frozen, corpus_path, retraining, ...
    numbers : mapping
        Metrics.
    files : mapping
        Name -> JSON.
    """
    run_tags = {
        "kind": "decision",
        "outcome": outcome,
        "reason": reason[:4000],
        **process_tag(),
        "mlflow.source.name": "ssi",
        "mlflow.note.content": report,
        **origin(),
        **tags,
    }
    run = client().create_run(
        experiment_id(EXPERIMENT), run_name=f"{tags['name']}: {outcome}", tags=run_tags
    )
    run_id = str(run.info.run_id)
    metrics = [Metric(plain(k), v, run.info.start_time, 0) for k, v in numbers.items()]
    client().log_batch(run_id, metrics=metrics)
    client().log_text(run_id, report, "report.md")
    for name, value in files.items():
        client().log_text(run_id, json.dumps(value, indent=1), name)
    client().set_terminated(run_id, "FINISHED")
    return _retraining(client().get_run(run_id))


def _retraining(run: Run) -> Retraining:
    tags = run.data.tags
    outcome: Any = tags["outcome"]
    return Retraining(
        run.info.run_id,
        outcome,
        tags["reason"],
        tags["key"],
        tags.get("challenger", ""),
        tags.get("champion", ""),
        tags["corpus_path"],
        tags.get("corpus", ""),
        int(tags["retraining"]),
        tags.get("row", ""),
        run.data.metrics.get("gate/gain"),
        tags.get("start", ""),
        datetime.fromtimestamp(run.info.start_time / 1000, UTC),
    )


def noted(retraining: Retraining, name: str) -> Any:
    """Return a file of a decision that was written with it; None if it has none of this name."""
    if name not in {file.path for file in client().list_artifacts(retraining.run_id)}:
        return None
    return mlflow.artifacts.load_dict(f"runs:/{retraining.run_id}/{name}")


def numbers_of(decision: Decision) -> dict[str, float]:
    """Return the numbers of a decision as metrics."""
    numbers: dict[str, float] = {"gate/level": decision.rule.alpha_of(decision.retraining)}
    for test in (decision.primary, *decision.guards):
        if test is not None:
            name = "gate" if test is decision.primary else f"gate_{test.what}"
            for what in ("champion", "challenger", "gain", "p", "queries"):
                numbers[f"{name}/{what}"] = float(getattr(test, what))
    return numbers


def markdown(decision: Decision, facts: Mapping[str, str]) -> str:
    """Write the report of a decision: what is said, every test, and where it came from."""
    measure = decision.rule.measure
    head = ("test", "queries", f"champion {measure}", "challenger", "gain", "may lose", "p",
            "below", "")  # fmt: skip
    tests = [test for test in (decision.primary, *decision.guards) if test is not None]
    lines = [head, tuple("---" for _ in head), *(_cells(test) for test in tests)]
    table = ["| " + " | ".join(line) + " |" for line in lines]
    verdict = "takes over" if decision.promote else "does not take over"
    parts = [
        f"## The challenger {verdict}",
        decision.reason,
        "\n".join(table) if tests else "",
        "\n".join(f"- {name}: {value}" for name, value in facts.items()),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _cells(test: Judgement) -> tuple[str, ...]:
    lost = "" if test.margin is None else f"{test.margin:.4f}"
    verdict = "too few queries" if not test.judged else ("passed" if test.passed else "failed")
    means = (f"{test.champion:.4f}", f"{test.challenger:.4f}", f"{test.gain:+.4f}")
    return test.what, str(test.queries), *means, lost, f"{test.p:.2g}", f"{test.level:.2g}", verdict
