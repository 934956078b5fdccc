"""Mark runs with their process in Prefect's server, and end those whose process was killed."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from flows.servers.processes import is_over, own_name

if TYPE_CHECKING:
    from uuid import UUID

    from prefect.client.orchestration import SyncPrefectClient
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
    with prefect_client() as client:
        flows = [run.id for run in _flows(client) if _is_killed(run.tags)]
        tasks = [run.id for run in _tasks(client) if _is_killed(run.tags)]
        _end(client, flows, tasks, "its process was killed")


def end(flows: Collection[UUID], message: str) -> None:
    """Mark runs of flows, and what they had not finished, as crashed."""
    with prefect_client() as client:
        going = [run.id for run in _flows(client) if run.id in flows]
        tasks = [run.id for run in _tasks(client) if run.flow_run_id in flows]
        _end(client, going, tasks, message)


def prefect_client() -> SyncPrefectClient:
    """Return a client of the server that is used now."""
    from prefect.client.orchestration import get_client

    return get_client(sync_client=True)


def _end(
    client: SyncPrefectClient, flows: Collection[UUID], tasks: Collection[UUID], message: str
) -> None:
    from prefect.client.schemas.objects import State
    from prefect.states import Crashed

    state: State[None] = Crashed(message=message)
    for flow in flows:
        client.set_flow_run_state(flow, state, force=True)
    for task in tasks:
        client.set_task_run_state(task, state, force=True)


def _flows(client: SyncPrefectClient) -> list[FlowRun]:
    from prefect.client.schemas.filters import FlowRunFilter

    going = FlowRunFilter.model_validate(_GOING)
    return _pages(partial(client.read_flow_runs, flow_run_filter=going))


def _tasks(client: SyncPrefectClient) -> list[TaskRun]:
    from prefect.client.schemas.filters import TaskRunFilter

    going = TaskRunFilter.model_validate(_GOING)
    return _pages(partial(client.read_task_runs, task_run_filter=going))


def _pages(read: Callable[..., list[AnyRun]]) -> list[AnyRun]:
    runs: list[AnyRun] = []
    while page := read(limit=_PAGE, offset=len(runs)):
        runs += page
    return runs


def _is_killed(tags: Collection[str]) -> bool:
    names = [tag.removeprefix(_PROCESS) for tag in tags if tag.startswith(_PROCESS)]
    return any(map(is_over, names))


def settle(*, patience: float = 20.0) -> None:
    """Wait until the records of tasks, which are on their way for a while, have arrived."""
    from httpx import HTTPError
    from prefect.events.worker import EventsWorker
    from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

    EventsWorker.drain_all(timeout=10)
    counts: list[int] = []
    end = time.monotonic() + patience
    with (
        temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}),
        prefect_client() as client,
    ):
        while time.monotonic() < end and (len(counts) < 4 or len(set(counts[-4:])) > 1):
            try:
                answer = client.request("POST", "/task_runs/count", json={"task_runs": _ENDED})
            except HTTPError as error:
                logger.warning("the records of the tasks may be incomplete: %s", error)
                return
            counts.append(answer.json())
            time.sleep(0.4)
