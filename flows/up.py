"""A worker that runs what is deployed, and the lock of the command that brings all of it up."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

from flows import environment
from flows.deployments import POOL
from flows.kept import start_kept
from ssi_core import locks
from ssi_core.types import Refused


@contextlib.contextmanager
def only_one() -> Iterator[None]:
    """Hold the root for one ``ssi up``.

    Raises
    ------
    Refused
        Another one holds it.
    """
    with locks.opened(environment.home() / "prefect" / "up.lock") as lock:
        if not locks.take(lock):
            raise Refused(
                f"ssi up of {environment.root()} runs already. One more worker for it: "
                f"python -m flows.environment prefect worker start --pool {POOL}"
            )
        yield


logger = logging.getLogger(__name__)


class Worker:
    """A worker of Prefect for the length of a ``with`` block; a server that it polls is ready.

    Parameters
    ----------
    name : str
        Its name in the pool.
    limit : int
        Runs at a time.
    patience : float
        Seconds that it may take to begin.
    """

    def __init__(self, name: str, limit: int, *, patience: float = 180.0) -> None:
        self.name, self._limit, self._patience = name, limit, patience
        self._inside = contextlib.ExitStack()
        self._began = datetime.now(UTC)
        self.address = f"takes runs of the pool {POOL}, {limit} at a time"
        self.log = environment.home() / "logs" / f"{name}.log"

    def __enter__(self) -> Worker:
        users = environment.home() / "logs" / f"{self.name}.users"
        self._inside.enter_context(locks.shared(users))
        start = ("-m", "prefect", "worker", "start", "--pool", POOL, "--type", "process")
        command = [
            *(sys.executable, *start, "--name", self.name, "--limit", str(self._limit)),
        ]
        variables = {
            # Its runs begin in the directory of prefect.yaml.
            "SSI_ROOT": str(environment.root()),
            environment.CONSOLE: "INFO",
        }
        self._process = start_kept(command, users, self.log, variables)
        return self

    def __exit__(self, *raised: object) -> None:
        import httpx
        from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

        from flows.prefect_runs import end

        runs = _runs_below(self._process.pid)
        self._inside.close()
        self._process.wait()
        try:
            # One that stays at work at the server keeps its place in the limit of its flow.
            with temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}):
                end(runs, f"{self.name} was ended")
        except httpx.HTTPError as error:
            logger.warning("runs of %s may stay at work at the server: %s", self.name, error)

    def wait(self) -> None:
        """Wait until it asks for work; RuntimeError if it does not."""
        end = time.monotonic() + self._patience
        while time.monotonic() < end and not self.is_over():
            if self._asks():
                return
            time.sleep(0.3)
        lines = self.log.read_text(errors="replace")[-500:]
        raise RuntimeError(f"the worker did not begin; {self.log} ends with:\n{lines}")

    def _asks(self) -> bool:
        from prefect.client.orchestration import get_client

        with get_client(sync_client=True) as client:
            return any(
                one.name == self.name
                and one.last_heartbeat_time is not None
                and one.last_heartbeat_time > self._began
                for one in client.read_workers_for_work_pool(POOL)
            )

    def is_over(self) -> bool:
        """Say whether it has ended by itself."""
        return self._process.poll() is not None


def _runs_below(pid: int) -> set[UUID]:
    """Return the runs of flows that processes below a process work on."""
    import psutil

    runs = set()
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                runs.add(process.environ().get("PREFECT__FLOW_RUN_ID", ""))
    return {UUID(run) for run in runs if run}
