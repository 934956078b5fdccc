"""The deployments on two workers: schedules, races, events, and what ends the runs of the dead."""

from datetime import UTC, datetime

import pytest

from flows import environment
from tests.flows.machine import AUTOMATIONS, WORKERS, kill_tree, wait_for

pytestmark = pytest.mark.slow


def test_every_flow_is_deployed_and_the_main_one_is_scheduled(machine):
    deployed = machine.ask("deployments/filter")
    assert {d["name"] for d in deployed} == {
        "ingest",
        "ingest-mates",
        "ingest-clicks",
        "features",
        "train",
        "evaluate",
        "pipeline",
        "retrain",
        "sensor",
    }
    (nightly,) = next(d for d in deployed if d["name"] == "pipeline")["schedules"]
    assert nightly["active"]
    retrain = next(d for d in deployed if d["name"] == "retrain")
    assert [schedule["active"] for schedule in retrain["schedules"]] == [True]
    assert retrain["global_concurrency_limit"]["limit"] == 1
    assert retrain["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"
    arrival = next(a for a in machine.ask("automations/filter") if "arrived" in a["name"])
    assert arrival["enabled"]
    assert arrival["trigger"]["expect"] == ["ssi.input.arrived"]
    assert arrival["actions"][0]["deployment_id"] == retrain["id"]

    scheduled = {
        "deployments": {"name": {"any_": ["pipeline"]}},
        "flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}},
    }
    runs = wait_for(lambda: machine.ask("flow_runs/filter", **scheduled), 120)
    starts = [datetime.fromisoformat(run["expected_start_time"]) for run in runs]
    assert all(
        start > datetime.now(UTC) and (start.hour, start.minute) == (2, 15) for start in starts
    )


def test_the_set_up_may_be_run_again(machine):
    names = [automation["name"] for automation in AUTOMATIONS]

    def ids():
        return {a["id"] for a in machine.ask("automations/filter") if a["name"] in names}

    before = ids()
    machine.set_up()
    # What is in the file counts, not what was made of it some day.
    assert len(ids()) == len(before) == len(names)
    assert not ids() & before


def test_the_settings_are_those_of_the_command(machine):
    said = machine.prefect("config", "view")
    assert str(environment.home()) not in said
    assert str(machine.root / ".ssi" / "prefect") in said


def test_of_two_nights_of_one_model_one_is_cancelled_and_other_flows_go_on(
    machine, retraining, dump, tiny
):
    both = [machine.submit("retrain", **retraining("raced")) for _ in range(2)]
    wait_for(lambda: "CANCELLED" in map(machine.state, both), 300)
    pipeline = machine.submit("pipeline", table=str(tiny), texts=[str(dump)])
    (kept,) = [run for run in both if machine.state(run) != "CANCELLED"]

    # Each worker takes one run at a time, so that these two are on two.
    assert wait_for(lambda: owners_of(machine, (kept, pipeline)), 300) == set(WORKERS)

    assert [machine.ended(run)["type"] for run in (kept, pipeline)] == ["COMPLETED"] * 2
    states = {machine.state(run): machine.run(run)["state"] for run in both}
    assert states.keys() == {"COMPLETED", "CANCELLED"}
    assert "concurrency limit reached" in states["CANCELLED"]["message"]
    changes = machine.ssi("ops", "champions", "--name", "raced")["changes"]
    assert [(change["version"], change["done"]) for change in changes] == [("1", True)]
    what_the_pipeline_leaves(machine, pipeline)


def owners_of(machine, runs):
    """Workers of runs that work at this moment; empty: not all of them do."""
    found = [machine.process(run) for run in runs]
    return {machine.owner(process) for process in found} if all(found) else set()


def what_the_pipeline_leaves(machine, run):
    mine = {"flow_runs": {"id": {"any_": [run]}}}
    rows = {"TF-IDF seed 0", "U'V + I seed 0"}

    def tasks():
        """Name of a task -> names of those before it; empty until all are recorded."""
        runs = {task["id"]: task for task in machine.ask("task_runs/filter", **mine)}
        names = {one: runs[one]["name"] for one in runs}
        before = {
            task["name"]: {
                names.get(one["id"])
                for inputs in task["task_inputs"].values()
                for one in inputs
                if one["input_type"] == "task_run"
            }
            for task in runs.values()
        }
        begun = any(name.startswith("compare the rows") for name in before)
        return before if begun and None not in set().union(*before.values()) else {}

    # Records of tasks, and lines of the log, arrive after the end of their flow.
    before = wait_for(tasks, 120)
    (compared,) = (name for name in before if name.startswith("compare the rows"))
    (made,) = (name for name in before if name.startswith("make the task"))
    assert rows <= before[compared]
    assert all(before[row] == {made} for row in rows)
    assert {name.split("-")[0] for name in before[made]} == {"fetch the files", "read the source"}
    artifacts = machine.ask("artifacts/filter", **mine)
    assert {"progress", "table"} <= {artifact["type"] for artifact in artifacts}

    def done():
        lines = machine.ask("logs/filter", logs={"flow_run_id": {"any_": [run]}})
        return any("is done" in line["message"] for line in lines)

    wait_for(done, 120)


def test_what_a_sensor_sees_starts_a_night(machine, retraining):
    settings = retraining("arrived")
    retrain = machine.deployment("retrain")
    # What a person writes into prefect.yaml.
    changed = {"parameters": {"settings": settings}}
    machine.ask(f"deployments/{retrain['id']}", method="PATCH", **changed)
    mine = {
        "flow_runs": {
            "deployment_id": {"any_": [retrain["id"]]},
            "state": {"type": {"not_any_": ["SCHEDULED"]}},
        },
        "sort": "START_TIME_DESC",
    }

    def started():
        runs = machine.ask("flow_runs/filter", **mine)
        return [run["id"] for run in runs if (run["created_by"] or {}).get("type") == "AUTOMATION"]

    assert started() == []
    looked = machine.submit("sensor", paths=[settings["corpus"]])
    assert machine.ended(looked)["type"] == "COMPLETED"
    (run,) = wait_for(started, 300)
    assert machine.ended(run)["type"] == "COMPLETED"
    assert machine.run(run)["parameters"]["settings"]["name"] == "arrived"
    assert machine.ssi("ops", "champions", "--name", "arrived")["champion"] == "1"


def test_the_run_of_a_dead_worker_crashes_and_the_next_one_is_let_in(machine, retraining):
    # Prefect allows no quicker heartbeat than 30 s; the first one is at the start.
    with machine.impatient(10):
        run = machine.submit("retrain", **retraining("orphaned"))
        process = wait_for(lambda: machine.state(run) == "RUNNING" and machine.process(run), 300)
        worker = machine.owner(process)
        machine.kill(worker)
        kill_tree(process)
        assert machine.state(run) == "RUNNING"
        state = machine.ended(run, 300)
        assert (state["type"], "heartbeat stopped" in state["message"]) == ("CRASHED", True)
    machine.start(worker)
    again = machine.submit("retrain", **retraining("orphaned"))
    assert machine.ended(again)["type"] == "COMPLETED"
    assert machine.ssi("ops", "champions", "--name", "orphaned")["champion"] == "1"
