"""`ssi up`: everything that runs the flows, from one command, and nothing of it is left behind."""

import base64
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from flows.servers import deployments
from flows.servers.server import free_port
from ssi_core.types import BadInput
from tests.flows.machine import wait_for

REPOSITORY = Path(__file__).parents[3]

WORK = """
import os, time
from pathlib import Path
from prefect import flow, task

@task
def wait():
    Path("pid").write_text(str(os.getpid()))
    while not Path("go").exists():
        time.sleep(0.2)

@flow(name="work")
def work():
    wait()
"""
FLOWS = """
pull:
  - prefect.deployments.steps.set_working_directory: {{directory: "{place}"}}
deployments:
  - {{name: {name}, entrypoint: "work.py:work", work_pool: {{name: local-process}}}}
"""


@pytest.fixture
def project(tmp_path):
    """A directory with a flow that waits for a file."""
    (tmp_path / "work.py").write_text(WORK)
    (tmp_path / "prefect.yaml").write_text(FLOWS.format(place=tmp_path, name="first"))
    return tmp_path


def variables():
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SSI_", "PREFECT_"))}
    clean.pop("MLFLOW_TRACKING_URI", None)
    return {**clean, "PYTHONPATH": str(REPOSITORY), "PREFECT_WORKER_QUERY_SECONDS": "1"}


def run(project, *command):
    """Code and all that a command says."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=project, env=variables(), capture_output=True, text=True, check=False, timeout=180,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def prefect(project, *arguments):
    code, text = run(project, "flows.environment", "prefect", *arguments)
    assert code == 0, text
    return text


@contextlib.contextmanager
def up(project):
    """A running `ssi up`, and what it has said until all of it ran."""
    ports = ("--prefect-port", str(free_port()), "--mlflow-port", str(free_port()))
    with subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "up", *ports, "--json"],
        cwd=project, env=variables(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        lines = []
        try:
            while not lines or "all of it runs" not in lines[-1]:
                lines.append(process.stderr.readline())
                assert lines[-1], lines
            yield process, "".join(lines)
        finally:
            process.kill()


def left(project):
    """Processes that work in the project, or for it."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid != os.getpid() and (
                process.environ().get("PWD") == str(project)
                or str(project) in " ".join([*process.cmdline(), process.cwd()])
            ):
                found.append(process)
    return found


def states(project):
    """State of every run of a flow, and of a task."""
    with contextlib.closing(sqlite3.connect(project / ".ssi" / "prefect" / "prefect.db")) as data:
        asked = "select state_type from flow_run union all select state_type from task_run"
        return [state for (state,) in data.execute(asked)]


@pytest.mark.slow
def test_it_runs_what_is_deployed_and_its_end_is_the_end_of_all(project):
    with up(project) as (process, text):
        assert f"flows of {project}/prefect.yaml: first" in text
        code, refused = run(project, "flows.cli", "up")
        assert code == 4
        assert f"ssi up of {project} runs already" in refused

        # No address, no secret: commands of Prefect find the server of the root.
        assert "work/first" in prefect(project, "deployment", "ls")
        (project / "go").touch()
        code, said = run(project, "flows.cli", "ops", "run", "first", "--wait")
        assert code == 0, said
        assert "of first: Completed" in said
        code, said = run(project, "flows.cli", "ops", "run", "frist")
        assert code == 3
        assert "no deployment 'frist'. Did you mean 'first'?" in said
        # Prefect keeps the state of a task a while after the task has it.
        wait_for(lambda: states(project) == ["COMPLETED"] * 2, 60)

        (project / "go").unlink()
        (project / "pid").unlink()
        (project / "prefect.yaml").write_text(FLOWS.format(place=project, name="second"))
        assert run(project, "flows.cli", "ops", "deploy")[0] == 0
        code, said = run(project, "flows.cli", "ops", "run", "work/second", "--json")
        assert code == 0, said
        assert '"state": "Scheduled"' in said
        worker = psutil.Process(int(wait_for(lambda: pid_of(project), 120)))
        wait_for(lambda: states(project) == ["COMPLETED", "RUNNING"] * 2, 60)

        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert not worker.is_running()
        assert left(project) == []
    value = json.loads(out)
    assert value["deployments"] == ["first"]
    assert states(project) == ["COMPLETED", "CRASHED"] * 2
    only_its_file_has_the_secret(project, text + out + err)


def pid_of(project):
    """Number of the process that waits; '' if none does yet."""
    file = project / "pid"
    return file.read_text() if file.exists() else ""


def only_its_file_has_the_secret(project, text):
    file = project / ".ssi" / "prefect" / "secret"
    secret = file.read_bytes()
    words = (secret.split(b":")[1], base64.b64encode(secret))
    holding = {
        path
        for path in project.rglob("*")
        if path.is_file() and any(word in path.read_bytes() for word in words)
    }
    assert holding == {file}
    assert not any(word.decode() in text for word in words)


@pytest.mark.slow
def test_nothing_is_left_where_it_is_killed(project):
    with up(project) as (process, _):
        prefect(project, "deployment", "run", "work/first")
        wait_for(lambda: pid_of(project), 120)
        assert len(left(project)) > 4
        process.kill()
        process.wait(60)
        wait_for(lambda: not left(project), 60)


def test_the_project_is_the_root_or_the_nearest_above_or_the_checkout(project, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(project))
    assert deployments.project() == project
    below, other = project / "a" / "b", project / "other"
    below.mkdir(parents=True)
    monkeypatch.setenv("SSI_ROOT", str(other))
    monkeypatch.chdir(below)
    assert deployments.project() == project
    (project / "prefect.yaml").unlink()
    assert deployments.project() == REPOSITORY
    monkeypatch.setattr(
        deployments, "__file__", str(other / "flows" / "servers" / "deployments.py")
    )
    with pytest.raises(BadInput, match=r"has prefect\.yaml, which names the flows"):
        deployments.project()


def test_a_damaged_file_of_flows_is_bad_input(project):
    for text in ("deployments: [", "deployments: 1", "- 1", ""):
        (project / "prefect.yaml").write_text(text)
        with pytest.raises(BadInput, match=r"prefect\.yaml: "):
            deployments.deploy(project)
