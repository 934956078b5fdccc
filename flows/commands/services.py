"""Verbs about the machine: ui, doctor."""

from __future__ import annotations

import click

from flows import environment
from flows.command import Outcome, Verb


@click.command(cls=Verb, examples=("ssi ui", "ssi ui --mlflow-port 5001 --prefect-port 4201"))
@click.option("--mlflow-port", type=click.IntRange(1, 65535), default=5000, show_default=True)
@click.option("--prefect-port", type=click.IntRange(1, 65535), default=4200, show_default=True)
def ui(mlflow_port: int, prefect_port: int) -> Outcome:
    """Start the pages of MLflow and Prefect.

    They are for this machine alone. Ctrl-C ends both.
    """
    from flows import tracking
    from flows.server import chosen_url
    from flows.ui import Page, pages, serve

    root, tracked = environment.root(), tracking.tracking_uri()
    # A server of the user's own is not started a second time.
    own = {"MLflow": tracked if tracked.startswith("http") else "", "Prefect": chosen_url()}
    for name, address in own.items():
        if address:
            click.echo(f"{name}: {address} (yours; it is left alone)", err=True)
    tracking.ready()
    every = pages(root, tracked, mlflow_port=mlflow_port, prefect_port=prefect_port)
    servers = [page for page in every if not own[page.name]]

    def ready(page: Page) -> None:
        click.echo(f"{page.name}: {page.address}", err=True)

    if servers:
        serve(servers, ready, environment=environment.variables(), logs=environment.home() / "logs")
    value = {page.name.lower(): own[page.name] or page.address for page in every}
    return Outcome(value, lambda console: console.print(f"{len(servers)} servers ended"))


@click.command(cls=Verb, examples=("ssi doctor", "ssi doctor --json"))
def doctor() -> Outcome:
    """Say what this machine has, and what is missing."""
    from flows.doctor import examine, show

    found = examine(environment.root(), environment.home())
    return Outcome(found, lambda console: show(found, console))
