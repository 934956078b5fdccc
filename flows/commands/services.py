"""Verbs that serve and look after: serve, ui, up, deploy, doctor."""

from __future__ import annotations

import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flows import environment
from flows.servers import access, login
from flows.servers.addresses import shown
from ssi_core.command.fields import NEW_FILE, argument, option
from ssi_core.command.models import directory_of, searchable
from ssi_core.command.options import CONCEPTS, INDEX, ApproximateSettings
from ssi_core.command.search import prepared
from ssi_core.command.verb import Outcome, Verb, progress, settings, verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from flows.serve.service import Service
    from flows.servers.supervisor import Kept


class _Service(Verb):
    """A verb that goes on until it is ended."""

    ends = False


@dataclass(frozen=True, kw_only=True)
class ServeSettings(ApproximateSettings):
    """Settings of ``ssi serve``."""

    model: str = argument("MODEL")
    second: str | None = option(
        None, "Second model, to be compared on the page.", flag="--second-model", metavar="MODEL"
    )
    port: int = option(8000, "Port of the service.", ge=1, le=65535)
    index: Path | None = INDEX
    documents: Path | None = option(
        None,
        "File that keeps the documents that are added and removed while the service runs.",
        type=NEW_FILE,
    )
    follow: float = option(
        5.0,
        "Interval at which the service looks whether the alias means another model.",
        metavar="SECONDS",
        ge=0.1,
    )
    concepts: Path | None = CONCEPTS


@verb(
    ServeSettings,
    cls=_Service,
    examples=(
        "ssi serve models:/ssi@champion",
        "ssi serve models:/ssi@champion --second-model runs/tfidf --port 8080",
        "ssi serve models:/ssi@champion --approximate --recall 0.98",
        "curl 'http://127.0.0.1:8000/search?q=automobile&k=3'",
    ),
)
def serve(given: ServeSettings) -> Outcome:
    """Serve a model over HTTP, with a search page, on this machine.

    Only this machine can reach the service. The page is at /, and /openapi.json describes the
    requests. When an alias (models:/NAME@ALIAS) is moved to another model, the service switches to
    it without dropping requests. Documents that are added (POST /documents) are kept when the
    service ends. With --concepts, the sentences of summaries also match by related pages of a wiki.
    Ctrl-C ends the service.
    """
    from flows.serve.run import documents_of
    from flows.serve.run import serve as serving

    def find(name: str) -> Path:
        return directory_of(name) if given.index and name == given.model else searchable(name)

    def ready(address: str, service: Service) -> None:
        for served in service.models if given.approximate else ():
            share = served.searcher.recall
            how = "exact" if share is None else f"approximate, recall {share:.3f}"
            click.echo(f"{served.asked}: {how}", err=True)
        click.echo(f"ssi serve: {address}", err=True)

    service = serving(
        [given.model, *([given.second] if given.second else [])],
        find,
        port=given.port,
        documents=given.documents or documents_of(given.model),
        index=given.index,
        prepare=prepared(given.approximate, given.recall),
        seconds=given.follow,
        threads=settings().threads,
        concepts=given.concepts,
        ready=ready,
    )
    value = {
        "models": [{"asked": s.asked, "directory": str(s.directory)} for s in service.models],
        "swaps": service.swaps,
    }
    return Outcome(value, lambda console: console.print("the service ended"))


MLFLOW_PORT: Any = option(5000, "Port of MLflow.", ge=1, le=65535)
PREFECT_PORT: Any = option(4200, "Port of Prefect.", ge=1, le=65535)


@dataclass(frozen=True, kw_only=True)
class UiSettings:
    """Settings of ``ssi ops ui``."""

    mlflow_port: int = MLFLOW_PORT
    prefect_port: int = PREFECT_PORT


@verb(
    UiSettings,
    cls=_Service,
    examples=("ssi ops ui", "ssi ops ui --mlflow-port 5001 --prefect-port 4201"),
)
def ui(given: UiSettings) -> Outcome:
    """Start the pages of MLflow and Prefect.

    Only this machine can reach them, and Prefect asks for the secret of this root. Ctrl-C ends
    both. Commands of the same root that run at the same time share the Prefect server, whichever of
    them started it.
    """
    from flows.servers.ui import watch

    with ExitStack() as stack:
        servers = _Servers(stack, given.mlflow_port, given.prefect_port)
        with suppress(KeyboardInterrupt):
            servers.wait(servers.pages)
            watch(servers.pages)
    ended = f"{len(servers.pages)} servers ended"
    return Outcome(servers.addresses, lambda console: console.print(ended))


@dataclass(frozen=True, kw_only=True)
class UpSettings(UiSettings):
    """Settings of ``ssi up``."""

    worker: str = option("worker-1", "Name of the worker.", metavar="NAME")
    limit: int = option(2, "Maximum number of runs at a time.", ge=1)


@verb(
    UpSettings,
    cls=_Service,
    examples=(
        "ssi up",
        "ssi up --limit 4 --prefect-port 4201 --mlflow-port 5001",
        "ssi ops run pipeline",
        "python -m flows.environment prefect worker start --pool local-process --name worker-2",
    ),
)
def up(given: UpSettings) -> Outcome:
    """Start the servers, the deployments and a worker for the flows.

    This starts the pages of MLflow and Prefect (as 'ssi ops ui' does), the work pool, the flows and
    schedules of prefect.yaml, the automations, and one worker that takes their runs. Ctrl-C or
    SIGTERM ends all of it, with the runs that are at work. It can be started again at any time, and
    then reads the files again. In another terminal, 'ssi ops deploy' registers changes of
    prefect.yaml.
    """
    from flows.servers.deployments import deploy as deploy_all
    from flows.servers.deployments import project
    from flows.servers.ui import watch
    from flows.servers.up import Worker, only_one

    path = project()
    with ExitStack() as stack:
        stack.enter_context(only_one())
        servers = _Servers(stack, given.mlflow_port, given.prefect_port)
        servers.wait(servers.pages)
        with progress("registering the flows"):
            servers.prefect.ready()
            names = deploy_all(path)
        click.echo(f"flows of {path / 'prefect.yaml'}: {', '.join(names)}", err=True)
        one = stack.enter_context(Worker(given.worker, given.limit))
        servers.wait([one])
        click.echo("ssi up: all of it runs; Ctrl-C ends it", err=True)
        watch([*servers.pages, one])
    value = {**servers.addresses, "deployments": names, "worker": given.worker}
    return Outcome(value, lambda console: console.print("servers and worker ended"))


@verb(examples=("ssi ops deploy", "ssi ops deploy --json"))
def deploy() -> Outcome:
    """Tell Prefect what prefect.yaml and the automations say now.

    This registers the work pool, every flow with its parameters and schedules, and the automations
    of deploy/automations.yaml. The server is that of 'ssi up', or yours at PREFECT_API_URL; if none
    is running, the changes are kept for the next one.
    """
    from flows.servers.deployments import deploy as deploy_all
    from flows.servers.deployments import project
    from flows.servers.server import Server

    path = project()
    with Server() as server:
        server.ready()
        names = deploy_all(path)
    value = {"project": str(path), "deployments": names}
    return Outcome(value, lambda console: console.print(f"deployed: {', '.join(names)}"))


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Settings of ``ssi ops run``."""

    deployment: str = argument("DEPLOYMENT")
    given: dict[str, str] = option(
        {},
        "Setting of the flow for this run; others stay as prefect.yaml says. Can be repeated.",
        flag="-p --set",
        metavar="NAME=VALUE",
    )
    wait: bool = option(False, "Wait until the run has ended; it fails if the run does.")


@verb(
    RunSettings,
    examples=(
        "ssi ops run ingest --wait",
        "ssi ops run pipeline -p table=demo -p sample=500",
        "ssi ops run retrain -p ingest.documents=5000 --json",
    ),
)
def run(given: RunSettings) -> Outcome:
    """Start a run of a deployment, by the server of 'ssi up'.

    DEPLOYMENT is a name of prefect.yaml. Values of settings are JSON, or text; a point leads to a
    setting within another. The worker of 'ssi up' takes the run; Ctrl-C ends the waiting and not
    the run.
    """
    from flows.servers import deployment_runs

    with deployment_runs.server() as url:
        run = deployment_runs.start(given.deployment, given.given)
        page = f"{url.removesuffix('/api')}/runs/flow-run/{run.id}"
        if not deployment_runs.is_taken(run):
            click.echo("no worker takes the run yet; one starts with: ssi up", err=True)
        if given.wait:
            with progress("run") as on_progress:
                run = deployment_runs.wait(
                    run, lambda state: on_progress(0.0, state) if on_progress else None
                )
    state = run.state_name or ""
    if run.state is not None and run.state.is_final() and not run.state.is_completed():
        why = f": {run.state.message.rstrip('.')}" if run.state.message else ""
        raise click.ClickException(f"run {run.name!r} ended as {state}{why}. See {page}")
    value = {"deployment": given.deployment, "run": str(run.id), "name": run.name, "state": state}

    def show(console: Console) -> None:
        console.print(f"run {run.name!r} of {given.deployment}: {state}")
        console.print(page, soft_wrap=True)

    return Outcome({**value, "page": page}, show)


class _Servers:
    """The servers of MLflow and Prefect, entered into a stack; those of the user are left alone."""

    def __init__(self, stack: ExitStack, mlflow_port: int, prefect_port: int) -> None:
        from flows import tracking
        from flows.servers.server import Server
        from flows.servers.ui import MlflowServer
        from flows.tracking.page import first_address

        click.echo("the servers of MLflow and Prefect are starting", err=True)
        uri = tracking.tracking_uri()
        with progress("preparing the database"):
            tracking.ready()
        self.pages: list[Kept] = []
        self.addresses: dict[str, str] = {}
        if uri.startswith("http"):
            self._leave("MLflow", uri)
        else:
            self._take(stack.enter_context(MlflowServer(uri, mlflow_port, first_address())))
        with progress("starting Prefect"):
            self.prefect = stack.enter_context(Server(prefect_port))
        if self.prefect.is_own:
            self._take(self.prefect)
        else:
            self._leave("Prefect", self.prefect.url)

    def _take(self, page: Kept) -> None:
        self.pages.append(page)
        self.addresses[page.name.lower()] = page.address

    def _leave(self, name: str, address: str) -> None:
        self.addresses[name.lower()] = shown(address)
        click.echo(f"{name}: {shown(address)} (yours; it is left alone)", err=True)

    def wait(self, begun: Sequence[Kept]) -> None:
        """Wait until each server answers, and say where; RuntimeError if one does not."""
        for server in begun:
            with progress(f"starting {server.name}"):
                server.wait()
            self._announce(server)

    def _announce(self, page: Kept) -> None:
        """Say where a page is, and how to get in."""
        address = page.address
        if page is self.prefect:
            # A log, or a pipe, must not have the secret.
            link = login.link(address) if sys.stderr.isatty() else None
            if link is None:
                where = f"what {access.secret_file()} says"
                click.echo(f"{page.name}: log in with {where}", err=True)
            address = link or address
        click.echo(f"{page.name}: {address}", err=True)


@verb(examples=("ssi ops doctor", "ssi ops doctor --json"))
def doctor() -> Outcome:
    """Say what this machine has, and what is missing."""
    from flows.doctor import examine, show

    findings = examine(environment.root(), environment.home())
    return Outcome(findings, lambda console: show(findings, console))
