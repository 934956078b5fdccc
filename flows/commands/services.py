"""Verbs about the machine: ui, doctor."""

from __future__ import annotations

from contextlib import ExitStack

import click

from flows import environment
from flows.command import Outcome, Verb


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
            "MLflow": MlflowServer(tracked, mlflow_port),
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
