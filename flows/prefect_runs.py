"""What the Prefect server of a root knows of runs: whose they are, which were killed, all of it."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from flows.processes import is_over, own_name

if TYPE_CHECKING:
    from prefect.client.schemas.objects import FlowRun, TaskRun

    AnyRun = TypeVar("AnyRun", FlowRun, TaskRun)

logger = logging.getLogger(__name__)

_PROCESS = "process "
_GOING = {"state": {"type": {"any_": ["PENDING", "RUNNING", "CANCELLING"]}}}
_ENDED = {"state": {"type": {"any_": ["COMPLETED", "FAILED", "CRASHED", "CANCELLED"]}}}
_PAGE = 200


@contextlib.contextmanager
def named_runs() -> Iterator[None]:
    """Tag the runs of flows and tasks with this process, once those that were killed are ended."""
    from prefect import tags

    end_killed()
    with tags(_PROCESS + own_name()):
        yield


def end_killed() -> None:
    """Mark the runs of flows and of tasks whose process is over as crashed."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter, TaskRunFilter
    from prefect.client.schemas.objects import State
    from prefect.states import Crashed

    state: State[None] = Crashed(message="its process was killed")
    with get_client(sync_client=True) as client:
        flows = FlowRunFilter.model_validate(_GOING)
        for flow in _killed(lambda **page: client.read_flow_runs(flow_run_filter=flows, **page)):
            client.set_flow_run_state(flow.id, state, force=True)
        tasks = TaskRunFilter.model_validate(_GOING)
        for task in _killed(lambda **page: client.read_task_runs(task_run_filter=tasks, **page)):
            client.set_task_run_state(task.id, state, force=True)


def _killed(read: Callable[..., list[AnyRun]]) -> list[AnyRun]:
    """Return those runs, of all pages, that are tagged with a process that is over."""
    runs: list[AnyRun] = []
    while page := read(limit=_PAGE, offset=len(runs)):
        runs += page
    return [run for run in runs if any(map(is_over, _processes(run.tags)))]


def _processes(tags: list[str]) -> list[str]:
    return [tag.removeprefix(_PROCESS) for tag in tags if tag.startswith(_PROCESS)]


def settle(*, patience: float = 20.0) -> None:
    """Wait until the records of tasks, which are on their way for a while, have arrived."""
    from httpx import HTTPError
    from prefect.client.orchestration import get_client
    from prefect.events.worker import EventsWorker
    from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

    EventsWorker.drain_all(timeout=10)
    counts: list[int] = []
    end = time.monotonic() + patience
    with (
        temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}),
        get_client(sync_client=True) as client,
    ):
        while time.monotonic() < end and (len(counts) < 4 or len(set(counts[-4:])) > 1):
            try:
                answer = client.request("POST", "/task_runs/count", json={"task_runs": _ENDED})
            except HTTPError as error:
                logger.warning("the records of the tasks may be incomplete: %s", error)
                return
            counts.append(answer.json())
            time.sleep(0.4)
