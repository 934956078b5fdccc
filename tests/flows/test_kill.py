"""``kill -9`` at random moments of the work, then the same command again.

``SSI_KILLS`` kills in all (default 3), spread over the stages; ``SSI_KILLS_SEED`` draws the moments
and is printed, as is a line for each kill.
"""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psutil
import pytest

REPOSITORY = Path(__file__).parents[2]
KILLS = int(os.environ.get("SSI_KILLS", "3"))
SEED = int(os.environ.get("SSI_KILLS_SEED", "1"))
STAGES = ("ingest", "features", "pipeline")
EPOCH = 20_000

TABLE = f"""
name = "killed"
title = "Two rows"

[[rows]]
label = "TF-IDF"
model = "tfidf"
seeds = 1

[[rows]]
label = "U'V + I"
model = "bilinear"
dimensions = 20
rates = [0.1]
budget = {60 * EPOCH}
epoch = {EPOCH}
patience = 100
search_budget = 100
"""

pytestmark = [pytest.mark.slow, pytest.mark.kill]


@dataclass
class Trial:
    """A directory with what a command needs, and the command."""

    place: Path
    stage: str

    @property
    def root(self):
        return self.place / "root"

    @property
    def working(self):
        """What is there while the stage works."""
        below, pattern = {
            "ingest": (self.place, ".out.partial"),
            "features": (self.place, ".out.partial"),
            "pipeline": (self.root / ".ssi" / "checkpoints", "*/*/state/progress.json"),
        }[self.stage]
        return any(below.glob(pattern))

    def start(self, inputs):
        (self.place / "tmp").mkdir(parents=True, exist_ok=True)
        words = {
            "ingest": ["ingest", "wikipedia", inputs / "dump.xml.bz2", "--processes", "2"],
            "features": ["features", inputs / "corpus"],
            "pipeline": ["pipeline", inputs / "killed.toml", "--task", inputs / "task"],
        }[self.stage]
        out = [] if self.stage == "pipeline" else ["--out", self.place / "out"]
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SSI_", "PREFECT_"))}
        with (self.place / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "flows.cli", *map(str, words), *map(str, out)],
                cwd=REPOSITORY,
                env=clean | {"SSI_ROOT": str(self.root), "TMPDIR": str(self.place / "tmp")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def until_working(self, process):
        began = time.monotonic()
        while not self.working and process.poll() is None:
            time.sleep(0.005)
        return time.monotonic() - began

    def finish(self, process):
        assert process.wait(900) == 0, (self.place / "log").read_text()[-2000:]

    def results(self):
        """What must be equal, bit by bit."""
        if self.stage != "pipeline":
            out = self.place / "out"
            return {str(f.relative_to(out)): f.read_bytes() for f in files(out)}
        found = {}
        for label, (_, report, arrays) in self.finished().items():
            for kind, there in (("report", report), ("model", arrays)):
                for file in files(there):
                    if file.suffix in (".parquet", ".npy"):
                        found[f"{label} {kind} {file.name}"] = file.read_bytes()
        assert len(found) >= 4
        return found

    def finished(self):
        """Row -> run, directory of its report, directory of its arrays."""
        asked = (
            "select t.value, r.run_uuid, r.artifact_uri, m.artifact_location from runs r "
            "join tags t on t.run_uuid = r.run_uuid and t.key = 'row' "
            "join logged_models m on m.source_run_id = r.run_uuid "
            "where r.status = 'FINISHED' and r.lifecycle_stage = 'active'"
        )
        return {
            label: (run, Path(uri) / "report", Path(model) / "artifacts" / "model" / "arrays")
            for label, run, uri, model in self.ask("mlruns/mlflow.db", asked)
        }

    def ask(self, database, question):
        if not (self.root / database).exists():
            return []
        with sqlite3.connect(self.root / database, timeout=60) as connection:
            found = connection.execute(question).fetchall()
        connection.close()
        return found

    def steps(self):
        """Run -> triples at its validations, of the row that is trained."""
        found = {}
        asked = "select run_uuid, step from metrics where key = 'val/rank_loss'"
        for run, step in self.ask("mlruns/mlflow.db", asked):
            found.setdefault(run, []).append(step)
        return {run: sorted(steps) for run, steps in found.items()}

    def saved(self):
        """Triples of the checkpoint, if there is one."""
        for file in (self.root / ".ssi" / "checkpoints").glob("*/*/state/progress.json"):
            return json.loads(file.read_text())["triples"]
        return None

    def processes(self):
        """Processes that the trial started and that are still there."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("SSI_ROOT") == str(self.root):
                    found.append(" ".join(process.cmdline()) or str(process))
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def left_over(self):
        """What is there and should not be."""
        found = [str(p) for p in self.place.rglob("*") if is_left_over(p)]
        found += [str(p) for p in (self.place / "tmp").iterdir()]
        for below in ("tmp", "checkpoints"):
            found += [str(p) for p in (self.root / ".ssi" / below).glob("*")]
        going = "select name from runs where status = 'RUNNING' and lifecycle_stage = 'active'"
        found += self.ask("mlruns/mlflow.db", going)
        going = "select name from flow_run where state_type in ('RUNNING', 'PENDING', 'SCHEDULED')"
        found += self.ask(".ssi/prefect/prefect.db", going)
        end = time.monotonic() + 30
        while (there := self.processes()) and time.monotonic() < end:
            time.sleep(0.2)
        return found + there


def files(directory):
    return sorted(f for f in directory.rglob("*") if f.is_file())


def is_left_over(path):
    if path.suffix in (".partial", ".work", ".old", ".new", ".tmp"):
        return True
    # This one is no leftover: commands wait at it for their turn with the database.
    return path.suffix == ".lock" and path.parts[-2:] != ("mlruns", ".lock")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Dump, corpus, task and table that the commands read."""
    from ssi_core.corpus.mediawiki import ingest_wikipedia
    from ssi_core.sample.encyclopedia import write_sample
    from ssi_core.tasks.task import build_task

    place = tmp_path_factory.mktemp("inputs")
    write_sample(place / "sample", documents=1000)
    dump = place / "dump.xml.bz2"
    next((place / "sample").glob("enwiki*.bz2")).rename(dump)
    ingest_wikipedia([dump], place / "corpus", processes=1)
    build_task(place / "corpus", place / "task")
    (place / "killed.toml").write_text(TABLE)
    return place


@pytest.fixture(scope="module")
def undisturbed(inputs, tmp_path_factory):
    """Stage -> results without a kill, and seconds that the stage worked."""
    known = {}

    def run(stage):
        if stage not in known:
            trial = Trial(tmp_path_factory.mktemp(stage), stage)
            process = trial.start(inputs)
            trial.until_working(process)
            began = time.monotonic()
            trial.finish(process)
            known[stage] = trial.results(), time.monotonic() - began
            assert trial.left_over() == []
        return known[stage]

    return run


@pytest.mark.parametrize("number", range(KILLS))
def test_the_same_command_again_makes_the_same(number, inputs, undisturbed, tmp_path, capsys):
    stage = STAGES[number % len(STAGES)]
    draw = random.Random(f"{SEED} {number}")
    expected, seconds = undisturbed(stage)
    for attempt in count():
        trial = Trial(tmp_path / str(attempt), stage)
        process = trial.start(inputs)
        before = trial.until_working(process)
        # A table trains for a part of its time; reports and models are written after that.
        moment = draw.uniform(0, (0.12 if stage == "pipeline" else 0.95) * seconds)
        whole_group = draw.random() < 0.5
        time.sleep(moment)
        if process.poll() is None:
            break
        seconds *= 0.8
    if whole_group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
    at, saved = trial.steps(), trial.saved()

    trial.finish(trial.start(inputs))

    assert trial.left_over() == []
    found = trial.results()
    assert found.keys() == expected.keys()
    assert [name for name in expected if found[name] != expected[name]] == []
    went_on = went_on_from(trial, at, saved) if stage == "pipeline" else ""
    with capsys.disabled():
        whom = "group" if whole_group else "process"
        print(
            f"\nseed {SEED}: {stage}, {moment:.2f} s of {seconds:.2f} s after {before:.1f} s, "
            f"{whom} killed: equal{went_on}"
        )


def went_on_from(trial, at, saved):
    """Check that training went on from its checkpoint, and that its curve is whole; say so."""
    run, *_ = trial.finished()["U'V + I"]
    steps = trial.steps()
    assert steps[run] == [EPOCH * n for n in range(61)]
    if run in at or saved is None:
        return ", the row was finished" if run in at else ", nothing was saved"
    asked = f"select value from metrics where key = 'train/resumed_at' and run_uuid = '{run}'"
    [(resumed,)] = trial.ask("mlruns/mlflow.db", asked)
    # A worker whose command is killed can save once more before it ends.
    assert saved <= resumed <= saved + EPOCH
    return f", {saved} triples saved, went on at {resumed:.0f}"
