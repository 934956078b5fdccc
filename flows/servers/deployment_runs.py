"""Start runs of deployments on the server of this root, or the user's, and wait for their end."""

from __future__ import annotations

import contextlib
import copy
import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from flows.servers import access
from flows.servers.prefect_runs import prefect_client
from flows.servers.server import called, chosen_url
from ssi_core.strict import instead
from ssi_core.types import BadInput, Refused

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.objects import FlowRun
    from prefect.client.schemas.responses import DeploymentResponse

_SECONDS_BETWEEN_LOOKS = 1.0
_SETTINGS = "settings"
"""Parameter of the flows of this project: an object with the settings of a run."""


@contextlib.contextmanager
def server() -> Iterator[str]:
    """Use the server that runs, for the length of a block; give the address of its API.

    Raises
    ------
    Refused
        None runs.
    """
    chosen = chosen_url()
    ours = access.running(chosen)
    if ours is not None:
        with called(ours.url):
            yield ours.url
    elif chosen:
        yield chosen
    else:
        raise Refused("no Prefect server of this root runs. Start it, with a worker: ssi up")


def start(name: str, given: Mapping[str, str]) -> FlowRun:
    """Start a run of a deployment.

    Parameters
    ----------
    name : str
        Of the deployment; Prefect's ``FLOW/NAME`` will do.
    given : mapping
        Settings of this run in place of those of the deployment, as text: ``ingest.documents`` is
        a setting within a setting.

    Raises
    ------
    BadInput
        There is no such deployment or setting, or a value is wrong.
    """
    from prefect.exceptions import PrefectHTTPStatusError

    with prefect_client() as client:
        deployment = _named(client, name)
        parameters = _parameters(deployment, given)
        try:
            return client.create_flow_run_from_deployment(deployment.id, parameters=parameters)
        except PrefectHTTPStatusError as error:
            if error.response.status_code not in (409, 422):
                raise
            raise BadInput(f"{name}: {_detail(error)}") from error


def is_taken(run: FlowRun) -> bool:
    """Tell whether a worker takes runs of the pool of a run."""
    with prefect_client() as client:
        workers = client.read_workers_for_work_pool(str(run.work_pool_name))
    return any(str(worker.status) in ("ONLINE", "WorkerStatus.ONLINE") for worker in workers)


def wait(run: FlowRun, on_state: Callable[[str], None]) -> FlowRun:
    """Wait until a run has ended, and return it; ``on_state`` is told its state meanwhile."""
    with prefect_client() as client:
        while run.state is None or not run.state.is_final():
            time.sleep(_SECONDS_BETWEEN_LOOKS)
            run = client.read_flow_run(run.id)
            on_state(run.state_name or "")
    return run


def _named(client: SyncPrefectClient, name: str) -> DeploymentResponse:
    known = {one.name: one for one in client.read_deployments()}
    plain = name.rpartition("/")[2]
    if plain not in known:
        raise BadInput(f"no deployment {instead(plain, known)}")
    return known[plain]


def _parameters(deployment: DeploymentResponse, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters of a deployment with some settings in place of its own."""
    parameters = copy.deepcopy(dict(deployment.parameters or {}))
    schema = deployment.parameter_openapi_schema or {}
    known = schema.get("properties", {})
    target = parameters
    if _SETTINGS in known:
        target = parameters.setdefault(_SETTINGS, {})
        known = _properties(schema, known[_SETTINGS])
    for name, text in given.items():
        first, *_ = path = name.split(".")
        if first not in known:
            raise BadInput(f"deployment {deployment.name!r}: no setting {instead(first, known)}")
        inner = target
        for part in path[:-1]:
            inner = inner.setdefault(part, {})
        inner[path[-1]] = _value(text)
    return parameters


def _properties(schema: Mapping[str, Any], entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties of an object that a schema refers to."""
    refers = entry.get("$ref") or next((one["$ref"] for one in entry.get("allOf", ())), "")
    found = schema.get("definitions", {}).get(str(refers).rpartition("/")[2], entry)
    return dict(found.get("properties", {}))


def _value(text: str) -> Any:
    """Read a value as JSON; what is none is text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _detail(error: Any) -> str:
    """Return what a server says of a request that it refuses."""
    try:
        said = error.response.json()["detail"]
    except (ValueError, KeyError, TypeError):
        said = str(error)
    return said if isinstance(said, str) else json.dumps(said)
