"""Verbs of retraining: freeze, retrain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flows.commands.flow_verb import FlowVerb
from flows.commands.registry import NAME
from ssi_core.command.data import ABSOLUTE, FORCE, OUT, artefact_outcome, table_file
from ssi_core.command.verb import Outcome, Verb, settings

if TYPE_CHECKING:
    from rich.console import Console


@click.command(
    cls=Verb,
    examples=(
        "ssi freeze corpus --out frozen",
        "ssi freeze new-corpus --since corpus --out frozen-2 --queries 2000",
        "ssi freeze clicks --out frozen",
        "ssi freeze kyoto --relevant translation --out frozen",
    ),
)
@click.argument("corpus", type=click.Path(path_type=Path))
@OUT
@click.option(
    "--since",
    type=click.Path(path_type=Path),
    help="Earlier state of the corpus: what it lacks is new, and has slices of its own.",
)
@click.option(
    "--relevant",
    type=click.Choice(["click", "translation > link", "translation", "link"]),
    help="What answers a query; else the first of these that CORPUS has.",
)
@click.option("--queries", type=click.IntRange(min=1), default=1000, show_default=True)
@click.option("--pool", type=click.IntRange(min=1), default=10_000, show_default=True)
@click.option("--split-seed", type=int, default=0, show_default=True)
@FORCE
def freeze(
    corpus: Path,
    out: Path | None,
    since: Path | None,
    relevant: str | None,
    queries: int,
    pool: int,
    split_seed: int,
    force: bool,
) -> Outcome:
    """Draw the evaluation set that champions are measured on.

    It holds raw text, titles and links on the test side of the split. Give it to 'ssi features'
    (--frozen) and 'ssi retrain': no link of it is ever trained on.

    CORPUS is a collection: documents ask, and what they link to answers; or pages, and what was
    clicked on them; or texts in another language.
    """
    from ssi_core.tasks.frozen import freeze as draw

    chosen: dict[str, Any] = {"queries": queries, "pool": pool, "split_seed": split_seed}
    return artefact_outcome(
        draw(corpus, out, since=since, relevant=relevant, **chosen, force=force)
    )


def _limits(
    context: click.Context, option: click.Parameter, value: tuple[str, ...]
) -> dict[str, float]:
    limits = {}
    for limit in value:
        name, equals, number = limit.partition("=")
        try:
            limits[name] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise click.BadParameter(f"{limit!r} is not NAME=NUMBER", context, option)
    return limits


@click.command(
    cls=FlowVerb,
    examples=(
        "ssi retrain --texts enwiki-pages-articles.xml.bz2",
        'ssi retrain wikispeedia-table1 --corpus corpus --row "U\'V + I" --frozen frozen --warm',
        'ssi retrain ssi2010-table11 --corpus clicks --row "(U\'V)_10k + I" --name ads',
        'ssi retrain sample-table9 --corpus kyoto --row "SSI Japanese-English" --name ja --renew',
    ),
)
@click.argument("table", default="demo", callback=table_file)
@click.option("--row", metavar="LABEL", default="U'V + I", show_default=True)
@click.option("--corpus", type=ABSOLUTE, help="Directory of a collection.")
@click.option(
    "--texts",
    type=ABSOLUTE,
    multiple=True,
    help="What is ingested first: dumps, tables (may be repeated), or a folder.",
)
@click.option(
    "--frozen",
    type=ABSOLUTE,
    multiple=True,
    help="Sets of 'ssi freeze', beside those that retrainings draw: the newest judges, none is "
    "trained on.",
)
@click.option(
    "--renew-days",
    type=click.IntRange(min=0),
    default=91,
    show_default=True,
    help="Days after which a retraining draws a new frozen set; 0: never.",
)
@click.option("--renew", is_flag=True, help="Draw a new frozen set tonight.")
@click.option("--warm", is_flag=True, help="Start from the champion's values, word by word.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--measure", type=click.Choice(["map", "rank_loss"], case_sensitive=False), default="map"
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Probability of ever promoting a model that is only equal.",
)
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Share of its mean that a guard slice may lose.",
)
@click.option(
    "--size",
    type=click.FloatRange(0, 1),
    default=0.7,
    show_default=True,
    help="Share of the documents, and of the links, before that there must be.",
)
@click.option(
    "--limit",
    "limits",
    metavar="NAME=NUMBER",
    multiple=True,
    callback=_limits,
    help="What may change from one retraining to the next, such as words=3 or map=0.4; see the "
    "guide.",
)
@NAME
def retrain(
    table: str,
    row: str,
    corpus: Path | None,
    texts: tuple[Path, ...],
    frozen: tuple[Path, ...],
    warm: bool,
    **said: Any,
) -> Outcome:
    """Train a challenger of the champion, and let it take over if it is better.

    The data are looked at first: half as many documents as before stop it (exit code 3). The
    challenger must be better on the frozen set than the best champion so far, and not worse on
    short queries, new documents and new links. The same data again cost seconds.

    A row that is trained on clicks, or across languages, takes --clicks or --mates.
    """
    from flows.retrain import run_retrain
    from flows.training.bars import shown_board
    from ssi_core.corpus.sources import source_of

    if (corpus is None) == (not texts):
        raise click.UsageError("Give a collection (--corpus) or what to ingest (--texts).")
    if texts:
        said["ingest"] = {"source": source_of(texts[0]), "paths": [str(path) for path in texts]}
    with shown_board():
        decision = run_retrain(
            table=table,
            row=row,
            corpus=str(corpus) if corpus else None,
            frozen=[str(path) for path in frozen],
            start="champion" if warm else "scratch",
            threads=settings().threads or 1,
            **said,
        )

    def show(console: Console) -> None:
        if decision["unchanged"]:
            console.print("nothing is new since this decision")
        console.print(decision["report"])
        champion = decision["version"] or "none"
        console.print(f"the champion of {decision['name']} is version {champion}")

    return Outcome(decision, show)
