"""``kill -9`` of trainer, worker, Prefect's server and MLflow's, while a worker retrains a model.

``SSI_KILLS`` kills in all (default 1); ``SSI_KILLS_SEED`` draws when, and is printed, as is
a line for each kill. What is killed is started again at once, as a supervisor does.
"""

import contextlib
import os
import random
import time
from itertools import count

import psutil
import pytest

from flows import tracking
from flows.tracking import registry
from tests.flows.machine import ENDED, WORKERS, kill_tree, wait_for

KILLS = int(os.environ.get("SSI_KILLS", "1"))
SEED = int(os.environ.get("SSI_KILLS_SEED", "1"))
VICTIMS = ("mlflow", "prefect", "trainer", "worker", "worker and trainer")

pytestmark = [pytest.mark.slow, pytest.mark.kill]


@pytest.fixture
def opened(machine, monkeypatch):
    """This process beside the others, by MLflow's server."""
    monkeypatch.setenv("SSI_ROOT", str(machine.root))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", machine.mlflow)
    return machine


def test_a_kill_anywhere_loses_nothing_and_the_next_run_succeeds(opened, retraining, capsys):
    began = time.monotonic()
    assert (
        opened.ended(opened.submit("retrain", **retraining("undisturbed")))["type"] == "COMPLETED"
    )
    seconds = time.monotonic() - began
    assert_whole("undisturbed", "1")
    draw = random.Random(SEED)
    names = []
    # Longer than a heartbeat, so that what lives is left alone.
    with opened.impatient(45):
        for n in range(KILLS):
            for attempt in count():
                name = f"killed-{n}-{attempt}"
                run = opened.submit("retrain", **retraining(name))
                moment = seconds * draw.uniform(0.05, 1.0)
                time.sleep(moment)
                before = opened.run(run)["state"]
                if before["type"] not in ENDED:
                    break
                seconds *= 0.8
            killed = kill(opened, VICTIMS[n % len(VICTIMS)], run, draw)
            opened.revive()
            after = opened.ended(run)["name"]
            let_end(opened, run)
            found = assert_whole(name)

            again = opened.ended(opened.submit("retrain", **retraining(name)))
            with capsys.disabled():
                print(
                    f"\nseed {SEED}: {killed} killed at {moment:.1f} of {seconds:.1f} s, "
                    f"{before['name']}: {after}, champion {found}; the next run: {again['name']}"
                )
            assert again["type"] == "COMPLETED", again["message"]
            assert_whole(name, "1")
            assert_nobody_works(name)
            names.append(name)
    for name in names:
        assert_whole(name, "1")


def kill(machine, victim, run, draw):
    """Kill, as far as it is there; say whom."""
    process = machine.process(run)
    worker = draw.choice(WORKERS)
    if process is not None and process.is_running():
        with contextlib.suppress(psutil.NoSuchProcess, ValueError):
            worker = machine.owner(process)
    killed = []
    if "worker" in victim:
        machine.kill(worker)
        killed.append(worker)
    if "trainer" in victim and process is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            if draw.random() < 0.5:
                process.kill()
            else:
                kill_tree(process)
        killed.append("trainer")
    if victim in machine.commands:
        machine.kill(victim)
        killed.append(f"{victim}'s server")
    return " and ".join(killed) or "nobody, as the trainer had not begun,"


def let_end(machine, run):
    """Wait for a process whose run was given up before it ended."""
    process = machine.process(run)
    if process is not None:
        wait_for(lambda: not process.is_running(), 900)


def assert_whole(name, champion=None):
    """Versions have all their tags, and the alias is where its history says; return it."""
    found = registry.champion(name)
    changes = registry.history(name)
    assert [(change.version, change.done) for change in changes if change.done] == [
        (found, True) for _ in range(found is not None)
    ]
    for version in tracking.client().search_model_versions(f"name = '{name}'"):
        assert version.status == "READY"
        assert {"task", "corpus", "code", "split_seed", "run", "retraining"} <= version.tags.keys()
        assert tracking.client().get_run(version.run_id).info.status == "FINISHED"
    if champion is not None:
        assert found == champion
    return found


def assert_nobody_works(name):
    """No run of the model's experiment, nor of decisions, is told to be at work."""
    for experiment in (name, "retrain"):
        where = tracking.experiment_id(experiment)
        runs = tracking.client().search_runs([where], "attributes.status = 'RUNNING'")
        assert [run.info.run_name for run in runs] == []
