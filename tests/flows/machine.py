"""Servers and workers as a deployment has them; each can be killed, and started again."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil
import yaml

from flows.servers.access import HOST
from flows.servers.server import free_port, server_command

REPOSITORY = Path(__file__).parents[2]
ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
WORKERS = ("worker-1", "worker-2")
AUTOMATIONS = yaml.safe_load((REPOSITORY / "deploy" / "automations.yaml").read_text())[
    "automations"
]

ROW = """[[rows]]
label = "U'V + I"
model = "bilinear"
dimensions = 8
rates = [0.1]
budget = 1000
epoch = 500
search_budget = 100
"""
TABLE = f"""
name = "{{name}}"
title = "One row"

{ROW}"""


def wait_for(found, seconds):
    """What ``found`` returns once it returns something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(httpx.HTTPError):
            if answer := found():
                return answer
        time.sleep(0.2)
    raise TimeoutError(f"nothing after {seconds} s")


class Machine:
    """A root, a Prefect server, an MLflow server and two workers.

    ``databases`` says where the servers keep what they know: a function from the name of a database
    to its address, or None for SQLite files under the root.
    """

    def __init__(self, root, databases=None):
        self.root, self.processes = root, {}
        ports = {"prefect": free_port(), "mlflow": free_port()}
        self.api = f"http://{HOST}:{ports['prefect']}/api"
        self.mlflow = f"http://{HOST}:{ports['mlflow']}"
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SSI_", "PREFECT_", "MLFLOW_"))
        }
        self.env = clean | {
            "SSI_ROOT": str(root),
            "PREFECT_API_URL": self.api,
            "MLFLOW_TRACKING_URI": self.mlflow,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            # Compiling takes longer than these trainings.
            "NUMBA_DISABLE_JIT": "1",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
        }
        self.stores = {"MLFLOW_BACKEND_STORE_URI": f"sqlite:///{root}/served.db"}
        if databases is not None:
            prefect = databases("prefect").replace("postgresql:", "postgresql+asyncpg:", 1)
            self.stores = {
                "MLFLOW_BACKEND_STORE_URI": databases("mlflow"),
                "PREFECT_SERVER_DATABASE_CONNECTION_URL": prefect,
            }
        mlflow = ("-m", "mlflow", "server", "--host", HOST, "--port", str(ports["mlflow"]))
        worker = ("-m", "prefect", "worker", "start", "--pool", "local-process", "--limit", "1")
        python = sys.executable
        self.commands = {
            "prefect": server_command(ports["prefect"]),
            "mlflow": [python, *mlflow, "--workers", "1",
                       "--artifacts-destination", str(root / "artifacts")],
            **{name: [python, *worker, "--name", name] for name in WORKERS},
        }  # fmt: skip

    def start(self, *names):
        """Start servers or workers; see `answering`."""
        for name in names:
            with (self.root / f"{name}.log").open("ab") as log:
                self.processes[name] = subprocess.Popen(
                    [sys.executable, "-m", "flows.environment", *self.commands[name]],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=self.env | (self.stores if name not in WORKERS else {}),
                    cwd=REPOSITORY,
                    # A server is several processes, which are killed together.
                    start_new_session=True,
                )

    def answering(self):
        """Wait until both servers answer."""
        for address in (self.api, self.mlflow):
            wait_for(lambda at=address: httpx.get(f"{at}/health").status_code == 200, 900)

    def kill(self, *names):
        """``kill -9``; a worker alone, a server with all its processes."""
        for name in names:
            process = self.processes.pop(name)
            if name in WORKERS:
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def revive(self):
        """Start what has ended, as a supervisor does, and wait for the servers."""
        over = [name for name, process in self.processes.items() if process.poll() is not None]
        self.start(*over, *(name for name in self.commands if name not in self.processes))
        self.answering()

    def end(self):
        """End all that was started."""
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in self.processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def set_up(self):
        """Tell Prefect what there is, as a person does."""
        return self.ssi("ops", "deploy")

    def prefect(self, *arguments):
        """Say something to Prefect as a person does."""
        return self._said(
            "python", "-m", "flows.environment", "python", "-m", "prefect", *arguments
        )

    def ssi(self, *arguments):
        """Run a command of ssi; return its answer."""
        return json.loads(self._said("python", "-m", "flows.cli", *map(str, arguments), "--json"))

    def _said(self, *command):
        done = subprocess.run(
            command,
            env=self.env,
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ask(self, path, *, method="POST", **said):
        """Ask Prefect's API, as a client that knows the secret of the root."""
        from prefect.client.orchestration import get_client
        from prefect.settings import (
            PREFECT_API_AUTH_STRING,
            PREFECT_API_URL,
            PREFECT_CLIENT_MAX_RETRIES,
            temporary_settings,
        )

        settings = {
            PREFECT_API_URL: self.api,
            PREFECT_API_AUTH_STRING: (self.root / ".ssi" / "prefect" / "secret").read_text(),
            # Who asks tries again by himself.
            PREFECT_CLIENT_MAX_RETRIES: 0,
        }
        once = {"timeout": 60}
        with (
            temporary_settings(settings),
            get_client(sync_client=True, httpx_settings=once) as client,
        ):
            answer = client.request(method, f"/{path}", **({"json": said} if said else {}))
            return answer.json() if answer.content else None

    def deployment(self, name):
        """What Prefect knows of a deployment."""
        (found,) = self.ask("deployments/filter", deployments={"name": {"any_": [name]}})
        return found

    def submit(self, flow, /, **settings):
        """Ask for a run of a deployment now; return its id."""
        asked = {"parameters": {"settings": settings}, "state": {"type": "SCHEDULED"}}
        return self.ask(f"deployments/{self.deployment(flow)['id']}/create_flow_run", **asked)["id"]

    def run(self, run):
        """What Prefect knows of a run."""
        return self.ask(f"flow_runs/{run}", method="GET")

    def state(self, run):
        """Type of the state of a run."""
        return self.run(run)["state"]["type"]

    def ended(self, run, seconds=900):
        """State of a run once it has ended."""
        wait_for(lambda: self.state(run) in ENDED, seconds)
        return self.run(run)["state"]

    def process(self, run):
        """The process of a run; None: it has none yet, or no more."""
        found = self.run(run)["infrastructure_pid"]
        if found:
            with contextlib.suppress(psutil.NoSuchProcess):
                return psutil.Process(int(found.rpartition(":")[2]))
        return None

    def owner(self, process):
        """The worker that started a process."""
        above = {parent.pid for parent in process.parents()}
        (found,) = (name for name in WORKERS if self.processes[name].pid in above)
        return found

    @contextlib.contextmanager
    def impatient(self, silent, unbegun=90):
        """Let the automations end runs after so many seconds; what works longer is ended, too."""
        made = []
        for automation, seconds in zip(AUTOMATIONS, (silent, unbegun), strict=True):
            trigger = automation["trigger"] | {"within": seconds}
            copy = automation | {"name": f"soon, {automation['name']}", "trigger": trigger}
            made.append(self.ask("automations/", **copy)["id"])
        try:
            yield
        finally:
            for one in made:
                self.ask(f"automations/{one}", method="DELETE")


def kill_tree(process):
    """``kill -9`` of a process and all that it started."""
    for one in (*process.children(recursive=True), process):
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
