"""Verbs of retraining: freeze."""

from __future__ import annotations

from pathlib import Path

import click

from flows.command import Outcome, Verb
from flows.commands.data import FORCE, OUT, _store, artefact_outcome


@click.command(
    cls=Verb,
    examples=(
        "ssi freeze corpus --out frozen",
        "ssi freeze new-corpus --since corpus --out frozen-2 --queries 2000",
    ),
)
@click.argument("corpus", type=click.Path(path_type=Path))
@OUT
@click.option(
    "--since",
    type=click.Path(path_type=Path),
    help="Earlier state of the corpus: what it lacks is new, and has slices of its own.",
)
@click.option("--queries", type=click.IntRange(min=1), default=1000, show_default=True)
@click.option("--pool", type=click.IntRange(min=1), default=10_000, show_default=True)
@click.option("--split-seed", type=int, default=0, show_default=True)
@FORCE
def freeze(
    corpus: Path,
    out: Path | None,
    since: Path | None,
    queries: int,
    pool: int,
    split_seed: int,
    force: bool,
) -> Outcome:
    """Draw the evaluation set that champions are measured on.

    It holds raw text, titles and links on the test side of the split. Give it to 'ssi features'
    (--frozen) and 'ssi retrain': no link of it is ever trained on.
    """
    from ssi_core.features.frozen import freeze as draw

    said = {"queries": queries, "pool": pool, "split_seed": split_seed}
    inputs = [corpus] if since is None else [corpus, since]
    artefact = draw(
        corpus, out or _store("frozen", said, *inputs), since=since, **said, force=force
    )
    return artefact_outcome(artefact)
