"""A Dask scheduler and its workers, as processes of this machine."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

from tests.flows.pages import REPOSITORY


def waited(reached, seconds=600):
    end = time.monotonic() + seconds
    while not (value := reached()):
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)
    return value


class Cluster:
    """Processes of ``dask``; each is ended, with all that it has started, at the end."""

    def __init__(self, path):
        self.place, self.processes = path, []
        self.file = path / "scheduler.json"

    def start(self, *words):
        log = self.place / f"{len(self.processes)}-{words[0]}.log"
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "PYTHONWARNINGS": "ignore"}
        with log.open("w") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *words],
                cwd=self.place, env=environment, stdout=file, stderr=file, start_new_session=True,
            )  # fmt: skip
        self.processes.append(process)
        return process

    def scheduler(self, protocol="tcp"):
        how = (
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--dashboard-address",
            "127.0.0.1:0",
            "--no-show",
        )
        process = self.start("scheduler", *how, "--scheduler-file", str(self.file))
        waited(self.file.exists)
        self.address = waited(lambda: json.loads(self.file.read_text() or "{}").get("address"))
        return process

    def workers(self, number):
        how = ("--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard", "--memory-limit", "0")
        how += ("--local-directory", str(self.place), "--nworkers", str(number))
        return self.start("worker", self.address, *how)

    @property
    def where(self):
        return f"dask:{self.address}"

    def end(self):
        """Kill every process, and those that it has started: they share its session."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def running(place, workers, protocol="tcp"):
    cluster = Cluster(place)
    try:
        cluster.scheduler(protocol)
        cluster.workers(workers)
        yield cluster
    finally:
        cluster.end()
