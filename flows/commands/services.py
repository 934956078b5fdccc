"""Verbs that serve and look after: serve, ui, up, deploy, doctor."""

from __future__ import annotations

import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flows import environment
from flows.servers import access
from flows.servers.addresses import shown
from ssi_core.command.hits import CONCEPTS
from ssi_core.command.models import directory_of, searchable
from ssi_core.command.search import APPROXIMATE, CANDIDATES, INDEX, RECALL, prepared
from ssi_core.command.verb import Outcome, Verb, settings

if TYPE_CHECKING:
    from flows.serve.service import Service
    from flows.servers.supervisor import Kept


@click.command(
    cls=Verb,
    examples=(
        "ssi serve models:/ssi@champion",
        "ssi serve models:/ssi@champion --beside runs/tfidf --port 8080",
        "ssi serve models:/ssi@champion --approximate --recall 0.98",
        "curl 'http://127.0.0.1:8000/search?q=automobile&k=3'",
    ),
)
@click.argument("model")
@click.option("--beside", metavar="MODEL", help="A second model, to be compared on the page.")
@click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True)
@INDEX
@click.option(
    "--documents",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File of the documents that are added and removed while it runs.",
)
@click.option(
    "--follow",
    type=click.FloatRange(min=0.1),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to look whether an alias means another model.",
)
@APPROXIMATE
@CANDIDATES
@RECALL
@CONCEPTS
def serve(
    model: str,
    beside: str | None,
    port: int,
    index: Path | None,
    documents: Path | None,
    follow: float,
    approximate: bool,
    recall: float,
    concepts: Path | None,
) -> Outcome:
    """Serve a model over HTTP, with a page for people, on this machine alone.

    An alias is followed: when it comes to mean another model, that one takes over, and no request
    is lost. Documents that are added (POST /documents) outlive the service. The page is at /, what
    can be asked in /openapi.json. With --concepts summaries match sentences by related pages of a
    wiki, beside words. Ctrl-C ends it.
    """
    from flows.serve.run import documents_of
    from flows.serve.run import serve as run

    def find(name: str) -> Path:
        return directory_of(name) if index and name == model else searchable(name)

    def ready(address: str, service: Service) -> None:
        for served in service.models if approximate else ():
            recall = served.searcher.recall
            how = "exact" if recall is None else f"approximate, recall {recall:.3f}"
            click.echo(f"{served.asked}: {how}", err=True)
        click.echo(f"ssi serve: {address}", err=True)

    service = run(
        [model, *([beside] if beside else [])],
        find,
        port=port,
        documents=documents or documents_of(model),
        index=index,
        prepare=prepared(approximate, recall),
        seconds=follow,
        threads=settings().threads,
        concepts=concepts,
        ready=ready,
    )
    value = {
        "models": [{"asked": s.asked, "directory": str(s.directory)} for s in service.models],
        "swaps": service.swaps,
    }
    return Outcome(value, lambda console: console.print("the service ended"))


_MLFLOW_PORT = click.option(
    "--mlflow-port", type=click.IntRange(1, 65535), default=5000, show_default=True
)
_PREFECT_PORT = click.option(
    "--prefect-port", type=click.IntRange(1, 65535), default=4200, show_default=True
)


@click.command(cls=Verb, examples=("ssi ui", "ssi ui --mlflow-port 5001 --prefect-port 4201"))
@_MLFLOW_PORT
@_PREFECT_PORT
def ui(mlflow_port: int, prefect_port: int) -> Outcome:
    """Start the pages of MLflow and Prefect.

    They are for this machine alone, and Prefect's asks for the secret of this root. Ctrl-C ends
    both. Commands of the same root that run meanwhile share the server of Prefect, whichever comes
    first.
    """
    from flows.servers.ui import answer, watch

    with ExitStack() as stack:
        servers = _Servers(stack, mlflow_port, prefect_port)
        with suppress(KeyboardInterrupt):
            answer(servers.pages, servers.tell)
            watch(servers.pages)
    ended = f"{len(servers.pages)} servers ended"
    return Outcome(servers.addresses, lambda console: console.print(ended))


@click.command(
    cls=Verb,
    examples=(
        "ssi up",
        "ssi up --limit 4 --prefect-port 4201 --mlflow-port 5001",
        "python -m flows.environment prefect deployment run pipeline/pipeline",
        "python -m flows.environment prefect worker start --pool local-process --name worker-2",
    ),
)
@_MLFLOW_PORT
@_PREFECT_PORT
@click.option(
    "--worker", metavar="NAME", default="worker-1", show_default=True, help="Name of the worker."
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=2, show_default=True, help="Runs at a time."
)
def up(mlflow_port: int, prefect_port: int, worker: str, limit: int) -> Outcome:
    """Bring up all that runs the flows by itself: servers, deployments, a worker.

    The pages of MLflow and Prefect (as ssi ui), the work pool, the flows and schedules of
    prefect.yaml, the automations, and one worker that takes their runs. Ctrl-C or SIGTERM ends all
    of it, and the runs that work. It may be started again at any time; what the files say then
    counts. In another terminal, "ssi deploy" tells it what has changed in prefect.yaml.
    """
    from flows.servers.deployments import deploy as tell
    from flows.servers.deployments import project
    from flows.servers.ui import answer, watch
    from flows.servers.up import Worker, only_one

    place = project()
    with ExitStack() as stack:
        stack.enter_context(only_one())
        servers = _Servers(stack, mlflow_port, prefect_port)
        answer(servers.pages, servers.tell)
        servers.prefect.ready()
        names = tell(place)
        click.echo(f"flows of {place / 'prefect.yaml'}: {', '.join(names)}", err=True)
        one = stack.enter_context(Worker(worker, limit))
        answer([one], servers.tell)
        click.echo("ssi up: all of it runs; Ctrl-C ends it", err=True)
        watch([*servers.pages, one])
    value = {**servers.addresses, "deployments": names, "worker": worker}
    return Outcome(value, lambda console: console.print("servers and worker ended"))


@click.command(cls=Verb, examples=("ssi deploy", "ssi deploy --json"))
def deploy() -> Outcome:
    """Tell Prefect what prefect.yaml and the automations say now.

    The work pool, every flow with its parameters and schedules, and the automations of
    deploy/automations.yaml. The server is that of "ssi up", or yours at PREFECT_API_URL; where none
    runs, what is told is kept for the next.
    """
    from flows.servers.deployments import deploy as tell
    from flows.servers.deployments import project
    from flows.servers.server import Server

    place = project()
    with Server() as server:
        server.ready()
        names = tell(place)
    value = {"project": str(place), "deployments": names}
    return Outcome(value, lambda console: console.print(f"deployed: {', '.join(names)}"))


class _Servers:
    """The servers of MLflow and Prefect, entered into a stack; those of the user are left alone."""

    def __init__(self, stack: ExitStack, mlflow_port: int, prefect_port: int) -> None:
        from flows import tracking
        from flows.servers.server import Server
        from flows.servers.ui import MlflowServer
        from flows.tracking.page import first_address

        uri = tracking.tracking_uri()
        tracking.ready()
        self.pages: list[Kept] = []
        self.addresses: dict[str, str] = {}
        if uri.startswith("http"):
            self._leave("MLflow", uri)
        else:
            self._take(stack.enter_context(MlflowServer(uri, mlflow_port, first_address())))
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

    def tell(self, page: Kept) -> None:
        """Say where a page is, and how to get in."""
        click.echo(f"{page.name}: {page.address}", err=True)
        if page is self.prefect:
            # A log, or a pipe, must not have it.
            secret = access.secret() if sys.stderr.isatty() else f"what {access.secret_file()} says"
            click.echo(f"{page.name}: log in with {secret}", err=True)


@click.command(cls=Verb, examples=("ssi doctor", "ssi doctor --json"))
def doctor() -> Outcome:
    """Say what this machine has, and what is missing."""
    from flows.doctor import examine, show

    findings = examine(environment.root(), environment.home())
    return Outcome(findings, lambda console: show(findings, console))
