"""A root with all that knows its own path: runs, champions, a frozen set."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from flows import environment, sensor, tracking
from flows.tracking import registry
from flows.training.frozen_sets import draw
from ssi_core import store
from ssi_core.experiment import parse_table
from ssi_core.tasks.task import open_task
from tests.flows import comparisons, project


def make(root: Path, monkeypatch) -> dict[str, str]:
    """Fill a root; return the ids of two runs whose models were champions."""
    monkeypatch.setattr(sensor, "emit_event", lambda *_, **__: None)
    project.make(root / "data")
    comparisons.write(root / "data" / "task")
    runs = {}
    for version in ("1", "2"):
        runs[version] = train(root / "data" / "task", root / "data" / "tfidf", int(version))
        registry.promote(runs[version], f"run {version}")
    draw("ssi", [], str(root / "data" / "corpus"), split_seed=0, relevant=None)
    sensor.sensor.fn(sensor.SensorSettings(paths=[str(root / "data" / "dump.xml.bz2")]))
    _write_prefect()
    (root / ".ssi" / "checkpoints" / "one").mkdir(parents=True)
    store.write_json(root / ".ssi" / "checkpoints" / "one" / "progress.json", {"triples": 1})
    return runs


def train(task: Path, model: Path, seed: int) -> str:
    table = dataclasses.replace(parse_table(comparisons.TABLE), name="trained")
    fitted = table.row("TF-IDF").ranker().fit(open_task(task), np.random.default_rng(0))
    with tracking.row_run(table, table.row("TF-IDF"), seed, "c", task) as run:
        run.finish_model(fitted.facts, fitted.languages, model)
        run.report(comparisons.report(0.1 * seed, seed))
    return run.run_id


def _write_prefect() -> None:
    """Write files of Prefect, which no backup holds."""
    path = environment.home() / "prefect"
    path.mkdir(parents=True)
    for name in ("prefect.db", "secret", "logging.yml", "profiles.toml"):
        (path / name).touch()


def mentions(root: Path, path: str) -> list[str]:
    """Return the places in the databases and JSON files of a root that name a path."""
    written = {path, json.dumps(path)[1:-1]}
    paths = [
        str(file)
        for file in [*root.rglob("*.json"), *root.rglob("MLmodel"), *root.rglob("*.yaml")]
        if any(one in file.read_text(encoding="utf-8") for one in written)
    ]
    # Not Prefect's: what is in it is made anew.
    for database in {*root.rglob("*.db")} - {*root.rglob("prefect/*.db")}:
        with closing(sqlite3.connect(database)) as connection:
            paths += [
                f"{database.name}: {line[:300]}"
                for line in connection.iterdump()
                if any(one in line for one in written)
            ]
    return paths
