import contextlib
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from flows import environment
from flows.server import free_port, server_command

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]


def wait_for(found, seconds):
    """What ``found`` returns once it returns something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(httpx.HTTPError):
            if answer := found():
                return answer
        time.sleep(0.5)
    raise TimeoutError(f"nothing after {seconds} s")


class Machine:
    """A Prefect server, what is said to it, and a worker."""

    def __init__(self, root, port):
        self.api = f"http://127.0.0.1:{port}/api"
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SSI_", "PREFECT_"))}
        self.env = clean | {"SSI_ROOT": str(root), "PREFECT_API_URL": self.api}
        self.logs = root

    def start(self, name, *command):
        with (self.logs / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.env,
                cwd=REPOSITORY,
            )

    def prefect(self, *arguments):
        command = ["-m", "flows.environment", sys.executable, "-m", "prefect", *arguments]
        done = subprocess.run(
            [sys.executable, *command],
            env=self.env,
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ask(self, path, **said):
        return httpx.post(f"{self.api}/{path}", json=said).raise_for_status().json()


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    root, port = tmp_path_factory.mktemp("deployed"), free_port()
    there = Machine(root, port)
    run = ("-m", "flows.environment")
    server = there.start("server", *run, *server_command(port))
    worker = None
    try:
        wait_for(lambda: httpx.get(f"{there.api}/health").status_code == 200, 180)
        there.prefect("work-pool", "create", "local-process", "--type", "process", "--overwrite")
        there.prefect("--no-prompt", "deploy", "--all")
        pool = ("--pool", "local-process")
        worker = there.start(
            "worker", *run, sys.executable, "-m", "prefect", "worker", "start", *pool
        )
        yield there
    finally:
        for process in filter(None, (worker, server)):
            process.terminate()
            process.wait(30)


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
    (arrival,) = machine.ask("automations/filter")
    assert arrival["enabled"]
    assert arrival["trigger"]["expect"] == ["ssi.input.arrived"]
    assert arrival["actions"][0]["deployment_id"] == retrain["id"]
    assert retrain["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"

    scheduled = {
        "deployments": {"name": {"any_": ["pipeline"]}},
        "flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}},
    }
    runs = wait_for(lambda: machine.ask("flow_runs/filter", **scheduled), 120)
    starts = [datetime.fromisoformat(run["expected_start_time"]) for run in runs]
    assert all(
        start > datetime.now(UTC) and (start.hour, start.minute) == (2, 15) for start in starts
    )


def test_a_worker_runs_the_deployment(machine, dump, tiny):
    (pipeline,) = machine.ask("deployments/filter", deployments={"name": {"any_": ["pipeline"]}})
    settings = {"table": str(tiny), "dumps": [str(dump)]}
    run = machine.ask(
        f"deployments/{pipeline['id']}/create_flow_run",
        parameters={"settings": settings},
        state={"type": "SCHEDULED"},
    )

    def ended():
        state = httpx.get(f"{machine.api}/flow_runs/{run['id']}").json()["state"]
        return state if state["type"] in ("COMPLETED", "FAILED", "CRASHED") else None

    state = wait_for(ended, 400)
    assert state["type"] == "COMPLETED", state["message"]
    mine = {"flow_runs": {"id": {"any_": [run["id"]]}}}
    names = {task["name"].split("-")[0] for task in machine.ask("task_runs/filter", **mine)}
    assert {"TF", "U'V + I seed 0", "read_wikipedia", "build", "compare_rows"} <= names
    artifacts = machine.ask("artifacts/filter", **mine)
    assert {"progress", "table"} <= {artifact["type"] for artifact in artifacts}
    logged = machine.ask("logs/filter", logs={"flow_run_id": {"any_": [run["id"]]}})
    assert any("is done" in line["message"] for line in logged), json.dumps(logged)


def test_the_settings_are_those_of_the_command(machine):
    assert str(environment.home()) not in machine.prefect("config", "view")
    assert str(machine.logs / ".ssi" / "prefect") in machine.prefect("config", "view")
