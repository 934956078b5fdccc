"""The card of a model: what it was made of, how it was split and measured, where it came from."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mlflow.artifacts
from mlflow.entities import Run

from flows.reporting import slices
from flows.tracking.database import client
from ssi_core import store
from ssi_core.types import BadInput

_KEPT = ("table", "row", "seed", "model", "task", "corpus", "code", "start_version")


def facts_of(run: Run) -> dict[str, str]:
    """Return the keys of a run's data and code, for the tags of its version."""
    tags = run.data.tags
    facts = {name: tags[name] for name in _KEPT if name in tags}
    seed = str(_task(tags).get("split_seed", ""))
    return facts | {"split_seed": seed, "run": str(run.info.run_id)}


def card_of(run: Run, why: str) -> str:
    """Write the card of a run's model in Markdown."""
    run_id, data = str(run.info.run_id), run.data
    task = _task(data.tags)
    parts = [
        f"# {data.tags.get('row', 'model')}",
        why,
        "## Data",
        _table(
            ("what", "key or value"),
            [(name, data.tags[name]) for name in ("corpus", "task", "code") if name in data.tags]
            + [(name, task[name]) for name in ("split", "split_seed", "words", "cold")
               if name in task],
        ),
        "## Lineage",
        _table(
            ("what", "value"),
            [("run", run_id)]
            + [(name, data.tags[name]) for name in ("table", "row", "seed", "start_version")
               if name in data.tags],
        ),
        "## Measures on the test links",
        _table(("measure", "mean", "s.e."), _measures(data.metrics)),
        "## Slices",
        _slices(run_id),
        "## Parameters",
        _table(("parameter", "value"), sorted(data.params.items())),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _task(tags: dict[str, str]) -> dict[str, Any]:
    # The directory may be gone, or on another machine; its key is in the tags.
    with contextlib.suppress(BadInput):
        return dict(store.read(Path(tags.get("task_path", "")), "task").configuration)
    return {}


def _measures(metrics: dict[str, float]) -> list[tuple[str, str, str]]:
    names = [name.removeprefix("test/") for name in sorted(metrics) if name.startswith("test/")]
    return [
        (name, f"{metrics[f'test/{name}']:.4f}", _number(metrics.get(f"test_se/{name}")))
        for name in names
    ]


def _slices(run_id: str) -> str:
    if slices.FILE not in {file.path for file in client().list_artifacts(run_id)}:
        return "none were measured"
    table = mlflow.artifacts.load_dict(f"runs:/{run_id}/{slices.FILE}")
    return _table(table["columns"], [[_number(cell) for cell in row] for row in table["data"]])


def _number(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else f"{value:.4f}".removesuffix(".0000")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines: list[Sequence[str]] = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
