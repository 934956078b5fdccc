"""A worker that runs what is deployed, and the lock of the command that brings all of it up."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

from flows import environment
from flows.servers.deployments import POOL
from flows.servers.prefect_runs import prefect_client
from flows.servers.supervisor import Kept
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


class Worker(Kept):
    """A worker of Prefect for the length of a ``with`` block; a server that it polls is ready.

    Parameters
    ----------
    name : str
        Its name in the pool.
    limit : int
        Runs at a time.
    """

    def __init__(self, name: str, limit: int) -> None:
        self.name, self._limit = name, limit
        self._began = datetime.now(UTC)
        self.address = f"takes runs of the pool {POOL}, {limit} at a time"
        self.log = environment.home() / "logs" / f"{name}.log"

    def begin(self) -> None:
        """Start the worker, whose runs begin in the directory of prefect.yaml."""
        start = ("-m", "prefect", "worker", "start", "--pool", POOL, "--type", "process")
        self.start(
            [sys.executable, *start, "--name", self.name, "--limit", str(self._limit)],
            {"SSI_ROOT": str(environment.root()), environment.CONSOLE: "INFO"},
        )

    def __exit__(self, *raised: object) -> None:
        import httpx
        from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

        from flows.servers.prefect_runs import end

        runs = _runs_below(self.process.pid)
        super().__exit__(*raised)
        try:
            # One that stays at work at the server keeps its place in the limit of its flow.
            with temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}):
                end(runs, f"{self.name} was ended")
        except httpx.HTTPError as error:
            logger.warning("runs of %s may stay at work at the server: %s", self.name, error)

    def answers(self) -> bool:
        """Tell whether the worker asks for work."""
        with prefect_client() as client:
            return any(
                one.name == self.name
                and one.last_heartbeat_time is not None
                and one.last_heartbeat_time > self._began
                for one in client.read_workers_for_work_pool(POOL)
            )


def _runs_below(pid: int) -> set[UUID]:
    """Return the runs of flows that processes below a process work on."""
    import psutil

    runs = set()
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                runs.add(process.environ().get("PREFECT__FLOW_RUN_ID", ""))
    return {UUID(run) for run in runs if run}
