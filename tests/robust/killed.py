"""What a killed command may not change, and what it may not leave."""

from __future__ import annotations

import io
import json
import os
import re
import sqlite3
import tarfile
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil

from tests.killing import contents

_RUNS = "select run_uuid from runs where status = 'FINISHED' and lifecycle_stage = 'active'"
_ROWS = f"""
select t.value, m.key, m.step, m.value from metrics m
join tags t on t.run_uuid = m.run_uuid and t.key = 'row' where m.run_uuid in ({_RUNS})
and (m.key like 'val/%' or m.key like 'test/%' or m.key like 'curve/%') order by 1, 2, 3, 4
"""
_ARRAYS = f"""
select t.value, l.artifact_location from logged_models l
join tags t on t.run_uuid = l.source_run_id and t.key = 'row' where l.source_run_id in ({_RUNS})
"""
_ALIASES = "select name, alias, version from registered_model_aliases"
_VERSIONS = "select name, version, run_id, status from model_versions"


_TIMED = ("model.json", "artefact.json", "new")
"""Files that tell how long something took, or from which checkpoint it went on."""
_TIME = re.compile(
    rb'\s*"(?:[a-z_]*seconds|[a-z_]*per_second|peak_memory_mib|cpu_ms|resumed_at|drawn|digest)"'
    rb": ?[^,}\n]+,?"
)


def timeless(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same files without what they tell of time."""
    return {
        name: _TIME.sub(b"", data) if Path(name).name in _TIMED else data
        for name, data in found.items()
    }


def ask(database: Path, question: str) -> list[tuple[Any, ...]]:
    """Return the answer of a database; nothing where there is none."""
    if not database.exists():
        return []
    with closing(sqlite3.connect(database, timeout=60)) as connection:
        return connection.execute(question).fetchall()


def acknowledged(here: Path) -> set[tuple[Any, ...]]:
    """Return what the root has said to be finished: runs, versions, aliases, files."""
    database = here / "root" / "mlruns" / "mlflow.db"
    found = {row for question in (_RUNS, _VERSIONS, _ALIASES) for row in ask(database, question)}
    for directory in ("root/data", "clicks", "visits", "reranker"):
        found |= set(contents(here / directory).items())
    return found


def outcome(here: Path) -> dict[str, Any]:
    """Return what must be equal, bit by bit: the output, and what finished rows measured."""
    new, database = here / "new", here / "root" / "mlruns" / "mlflow.db"
    found: dict[str, Any] = contents(new) if new.is_dir() else {}
    if new.is_file():
        found["new"] = new.read_bytes()
    if (archive := here / "new.tar").exists():
        found |= members(archive)
    found = timeless(found)
    found["metrics"] = sorted(set(ask(database, _ROWS)))
    for row, place in ask(database, _ARRAYS):
        for file in Path(place.removeprefix("file://"), "artifacts", "model").rglob("*.npy"):
            found[f"{row} {file.name}"] = file.read_bytes()
    found["aliases"] = sorted(row[:2] for row in ask(database, _ALIASES))
    return found


def members(archive: Path) -> dict[str, object]:
    """Return the members of a backup, of a database what it holds; not the list of digests."""
    found: dict[str, object] = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            data = (tar.extractfile(member) or io.BytesIO()).read()
            if member.name.endswith(".db"):
                with closing(sqlite3.connect(":memory:")) as connection:
                    connection.deserialize(data)
                    data = "\n".join(connection.iterdump()).encode()
            found[member.name] = data
    found.pop("ssi-backup.json")
    return found


def left_over(here: Path) -> list[str]:
    """Return what is there and should not be."""
    found = [str(path) for path in here.rglob("*") if _is_left_over(path)]
    for below in ("tmp", "checkpoints"):
        found += [str(path) for path in (here / "root" / ".ssi" / below).glob("*")]
    going = "select name from runs where status = 'RUNNING' and lifecycle_stage = 'active'"
    found += map(str, ask(here / "root" / "mlruns" / "mlflow.db", going))
    going = "select name from flow_run where state_type in ('RUNNING', 'PENDING', 'SCHEDULED')"
    found += map(str, ask(here / "root" / ".ssi" / "prefect" / "prefect.db", going))
    return found + processes(here)


def _is_left_over(path: Path) -> bool:
    if path.suffix in (".partial", ".work", ".old", ".new", ".tmp"):
        return True
    # This one is no leftover: commands wait at it for their turn with the database.
    return path.suffix == ".lock" and path.parts[-2:] != ("mlruns", ".lock")


def processes(here: Path, patience: float = 30) -> list[str]:
    """Return the processes that work below a directory and do not end by themselves."""
    end = time.monotonic() + patience
    while (found := _processes(here)) and time.monotonic() < end:
        time.sleep(0.1)
    return found


def _processes(here: Path) -> list[str]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get("FAULTS_BELOW") == str(here):
                found.append(" ".join(process.cmdline()) or str(process))
        except psutil.Error:
            continue
    return found


def answer(printed: str) -> Any:
    """Return the object that a command has printed last."""
    return json.loads(printed.strip().splitlines()[-1])
