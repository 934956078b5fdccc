"""Verbs that serve and look after: serve, ui, doctor."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flows import environment
from flows.command import Outcome, Verb, settings
from flows.commands.search import (
    APPROXIMATE,
    INDEX,
    RECALL,
    directory_of,
    prepared,
    searchable,
)

if TYPE_CHECKING:
    from flows.serve.service import Service


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
@RECALL
def serve(
    model: str,
    beside: str | None,
    port: int,
    index: Path | None,
    documents: Path | None,
    follow: float,
    approximate: bool,
    recall: float,
) -> Outcome:
    """Serve a model over HTTP, with a page for people, on this machine alone.

    An alias is followed: when it comes to mean another model, that one takes over, and no request
    is lost. Documents that are added (POST /documents) outlive the service. The page is at /, what
    can be asked in /openapi.json. Ctrl-C ends it.
    """
    from flows.serve.run import documents_of
    from flows.serve.run import serve as run

    def find(name: str) -> Path:
        return directory_of(name) if index and name == model else searchable(name)

    def ready(address: str, service: Service) -> None:
        for served in service.models if approximate else ():
            found = served.searcher.recall
            how = "exact" if found is None else f"approximate, recall {found:.3f}"
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
        ready=ready,
    )
    value = {
        "models": [{"asked": s.asked, "directory": str(s.directory)} for s in service.models],
        "swaps": service.swaps,
    }
    return Outcome(value, lambda console: console.print("the service ended"))


@click.command(cls=Verb, examples=("ssi ui", "ssi ui --mlflow-port 5001 --prefect-port 4201"))
@click.option("--mlflow-port", type=click.IntRange(1, 65535), default=5000, show_default=True)
@click.option("--prefect-port", type=click.IntRange(1, 65535), default=4200, show_default=True)
def ui(mlflow_port: int, prefect_port: int) -> Outcome:
    """Start the pages of MLflow and Prefect.

    They are for this machine alone. Ctrl-C ends both. Commands of the same root that run meanwhile
    share the server of Prefect, whichever comes first.
    """
    from flows import tracking
    from flows.server import Server, chosen_url
    from flows.tracking.page import first_address
    from flows.ui import MlflowServer, Page, serve

    tracked = tracking.tracking_uri()
    # A server of the user's own is not started a second time.
    own = {"MLflow": tracked if tracked.startswith("http") else "", "Prefect": chosen_url()}
    for name, address in own.items():
        if address:
            click.echo(f"{name}: {address} (yours; it is left alone)", err=True)
    tracking.ready()

    def ready(page: Page) -> None:
        click.echo(f"{page.name}: {page.address}", err=True)

    with ExitStack() as stack:
        every: dict[str, MlflowServer | Server] = {
            "MLflow": MlflowServer(tracked, mlflow_port, first_address()),
            "Prefect": Server(prefect_port),
        }
        servers: list[Page] = []
        for name, page in every.items():
            if not own[name]:
                stack.enter_context(page)
                servers.append(page)
        value = {name.lower(): own[name] or page.address for name, page in every.items()}
        if servers:
            serve(servers, ready)
    return Outcome(value, lambda console: console.print(f"{len(servers)} servers ended"))


@click.command(cls=Verb, examples=("ssi doctor", "ssi doctor --json"))
def doctor() -> Outcome:
    """Say what this machine has, and what is missing."""
    from flows.doctor import examine, show

    found = examine(environment.root(), environment.home())
    return Outcome(found, lambda console: show(found, console))
