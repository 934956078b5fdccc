"""Rows of a table on Dask workers of this machine: 1 and 2 of them, and one that is killed.

Ten rows are trained in this process, by one worker and by two in turn, and by two of which one is
killed in the middle of a row; workers are started, and have compiled, before the clock runs. All
models must have the same bits, and of all rows only the killed one is begun twice.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import psutil

from benchmarks.timing import Row, peer
from ssi_core.experiment import parse_table
from ssi_core.experiment.training import RowPart, kinds_of, train_part
from ssi_core.parts import LOCAL, Stage, run_parts
from ssi_core.sample.encyclopedia import write_sample
from ssi_core.tasks.task import build_task
from tests.parts.machines import running, waited
from tests.sources import ingest

ROWS = 10
ROUNDS = 3
BUDGET = int(os.environ.get("SSI_BENCH_TRIPLES", "400000"))
KILLED = 4
TABLE = {
    "name": "cluster",
    "title": "One row, ten seeds",
    "seeds": ROWS,
    "rows": [
        {
            "label": "U'V + I",
            "model": "bilinear",
            "dimensions": 50,
            "rates": [0.1],
            "epoch": BUDGET // 8,
            "budget": BUDGET,
        }
    ],
}


def begun(part: RowPart, notes: Path) -> None:
    """Train a row, and note the process that began it."""
    (notes / f"{part.seed}-{secrets.token_hex(4)}").write_text(str(os.getpid()))
    train_part(part)


def rows() -> Iterator[Row]:
    """Time the stage on one worker and on two, in turn, and once with a kill."""
    peer("distributed")
    with tempfile.TemporaryDirectory(prefix="ssi-cluster-") as directory, ExitStack() as started:
        path = Path(directory)
        task = _task(path)
        local = _Stage(path / "local", task)
        alone = local.timed(LOCAL)
        yield Row(f"{ROWS} rows in this process", "rows/s", ROWS / alone, note=local.note())
        where = {}
        for workers in (1, 2):
            scratch = path / f"dask-{workers}"
            scratch.mkdir()
            where[workers] = started.enter_context(running(scratch, workers)).where
            _Stage(scratch / "compiled", task, rows=2 * workers).timed(where[workers])
        stages: dict[int, list[_Stage]] = {1: [], 2: []}
        for number in range(ROUNDS):
            for workers, stage_list in stages.items():
                stage = _Stage(path / f"{workers}-{number}", task)
                stage_list.append(stage)
                stage.timed(where[workers])
        ratios = [one.seconds / two.seconds for one, two in zip(*stages.values(), strict=True)]
        yield Row(
            f"2 workers / 1, {ROUNDS} rounds in turn, wall clock",
            "rows/s",
            *(ROWS / median(one.seconds for one in stages[workers]) for workers in (2, 1)),
            median(ratios),
            note=f"ratios {', '.join(f'{one:.2f}' for one in ratios)}; "
            + "; ".join(one.note(local) for both in stages.values() for one in both[-1:]),
        )
        stage = _Stage(path / "killed", task)
        thread = threading.Thread(target=stage.kill)
        thread.start()
        stage.timed(where[2])
        thread.join()
        yield Row("2 workers, one killed", "rows/s", ROWS / stage.seconds, note=stage.note(local))


class _Stage:
    """The rows of a stage, below a directory of its own."""

    def __init__(self, path: Path, task: Path, rows: int = ROWS) -> None:
        self.place, self.notes = path, path / "notes"
        self.notes.mkdir(parents=True)
        table = parse_table(TABLE)
        part = RowPart(table, table.rows[0].label, task, 0, 1, path, path)
        self.parts = [
            replace(part, seed=n, place=path / f"row-{n}", kept=path / f"kept-{n}")
            for n in range(rows)
        ]
        self.cpu = self.seconds = 0.0

    def timed(self, where: str) -> float:
        """Return the seconds of the wall clock that all parts take."""
        make = partial(begun, notes=self.notes)
        code = [*kinds_of(self.parts[0].row)]
        stage: Stage[RowPart, None] = Stage("rows", make, self.place, code=code)
        before, start = _cpu(), time.perf_counter()
        with run_parts(stage, self.parts, where) as ended:
            for done in ended:
                done.result()
        self.cpu = _cpu() - before
        self.seconds = time.perf_counter() - start
        return self.seconds

    def kill(self) -> None:
        """Kill the worker that has begun the row, half a second after that."""
        (note,) = waited(lambda: list(self.notes.glob(f"{KILLED}-*")), 600)
        process = int(waited(note.read_text))
        time.sleep(0.5)
        os.kill(process, signal.SIGKILL)

    def bits(self) -> dict[str, bytes]:
        """Return the arrays and reports that the rows have written."""
        files = sorted(self.place.glob("row-*/**/*"))
        kept = [file for file in files if file.suffix in (".npy", ".parquet")]
        return {str(file.relative_to(self.place)): file.read_bytes() for file in kept}

    def note(self, other: _Stage | None = None) -> str:
        """Say whether another stage has the same bits, and which rows were begun twice."""
        names = [file.name.split("-")[0] for file in self.notes.iterdir()]
        twice = sorted({name for name in names if names.count(name) > 1})
        load = os.getloadavg()[0]
        again = f"begun twice: row {', '.join(twice)}" if twice else "each begun once"
        same = (
            ""
            if other is None
            else "same bits; "
            if self.bits() == other.bits()
            else "OTHER BITS; "
        )
        # That of a process that was killed is not known.
        cpu = f"{self.cpu:.1f} CPU s; " if self.cpu > 0 else ""
        return f"{same}{again}; {cpu}load {load:.1f}"


def _task(path: Path) -> Path:
    write_sample(path / "sample", documents=2000, seed=0)
    dump = path / "sample" / "enwiki-sample-pages-articles.xml.bz2"
    corpus = ingest("wikipedia", [dump], path / "corpus", processes=1)
    build_task(corpus.path, path / "task")
    shutil.rmtree(path / "sample")
    return path / "task"


def _cpu() -> float:
    """CPU seconds of this process and of all below it, those that have ended among them."""
    total = 0.0
    this = psutil.Process()
    for process in (this, *this.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total + this.cpu_times().children_user + this.cpu_times().children_system
