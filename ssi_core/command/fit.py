"""The verb ``fit``: from texts, or a log, to a measured model and the files of an engine."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssi_core.command.fields import pairs_of
from ssi_core.command.verb import Outcome, Verb, settings
from ssi_core.export.targets import TARGETS

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.face.fit import Fit

_PATH = click.Path(path_type=Path, exists=True)
_STEMS: Mapping[str, bool | None] = {"no": False, "yes": True, "auto": None}


def _kind(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    from ssi_core.tasks.spec import fields_of

    try:
        if value is not None:
            fields_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, option) from None
    return value


@click.command(
    cls=Verb,
    examples=(
        "ssi fit articles.jsonl --links links.csv --out model",
        "ssi fit site/ --out model --export opensearch to-opensearch",
        "ssi fit ubi/ --texts products.jsonl --out model --export opensearch to-opensearch",
        "ssi fit log.csv --source clicks --set map=map.toml --texts ads.tsv --out model",
        "ssi fit site/ --queries queries.tsv --qrels qrels.tsv --out model",
        "ssi fit corpus --ask words:3 --beside titles,anchors --measure mrr --out model",
        "ssi fit task --defaults --budget 200000 --out model",
    ),
)
@click.argument("path", type=_PATH)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Directory of the model, and in it the index of the documents; a model there is replaced.",
)
@click.option(
    "--links", type=_PATH, help="Links between the documents (CSV, TSV, JSON lines or parquet)."
)
@click.option(
    "--texts", type=_PATH, help="Documents that a log refers to: a table or a collection."
)
@click.option("--queries", type=_PATH, help="Judged queries: a table of id and text.")
@click.option(
    "--qrels", type=_PATH, help="Their judgements: query, document and grade, or TREC's qrels."
)
@click.option("--source", help="How PATH is read: a verb of 'ssi ingest'. By default guessed.")
@click.option(
    "--set",
    "set_",
    multiple=True,
    metavar="NAME=VALUE",
    callback=pairs_of,
    help="A setting of that source, as Python has it: clicks=weighted; may be repeated.",
)
@click.option(
    "--ask",
    metavar="KIND",
    callback=_kind,
    help="Kind of queries to train and test on: link, link:N, words:N, titles, anchors, click, "
    "judgement. [default: clicks or judgements, else both what people type and links]",
)
@click.option("--beside", metavar="KINDS", help="Further kinds to learn from: titles,words:3.")
@click.option(
    "--split",
    type=click.Choice(["pairs", "documents", "users", "time", "queries", "given"]),
    help="What is on one side of the split; see 'ssi features --help'.",
)
@click.option(
    "--judged", is_flag=True, help="Of clicks with judgements: test on the judged queries."
)
@click.option(
    "--stems",
    type=click.Choice(list(_STEMS)),
    default="no",
    show_default=True,
    help="Read stems of English words; auto: if BM25F is clearly better with them on validation.",
)
@click.option(
    "--auto/--defaults",
    default=True,
    show_default=True,
    help="Choose settings on validation, and whether to learn at all; or take the documented ones.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    metavar="TRIPLES",
    help="Maximum number of training triples over all trials (per fold). [default: 20,000,000]",
)
@click.option(
    "--measure",
    type=click.Choice(["map", "ndcg_at_10", "mrr"]),
    default="map",
    show_default=True,
    help="Mean that chooses, and the first that is shown.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option(
    "--export",
    "exports",
    type=(click.Choice(tuple(TARGETS)), click.Path(path_type=Path, file_okay=False)),
    multiple=True,
    metavar="TARGET DIR",
    help="Write the documents for an engine, too, as 'ssi export' does; may be repeated.",
)
@click.option("--force", is_flag=True, help="Replace other exports in these directories.")
def fit(
    path: Path,
    out: Path,
    exports: Sequence[tuple[str, Path]],
    force: bool,
    beside: str | None,
    stems: str,
    seed: int,
    set_: Mapping[str, Any],
    **fields: Any,
) -> Outcome:
    """Read texts or a log, fit a model, measure it, and write it for your engine.

    PATH is a table, a folder of texts, a dump, a log of OpenSearch's UBI, a collection of 'ssi
    ingest' or a task of 'ssi features'. Documents and their links give two models: one for a search
    box, tested on held-out words of links (or on titles, where there are few), and one that finds
    related documents. Judged queries (--queries, --qrels) take the place of words of links; they
    are divided into five folds. Clicks or --ask give one model.

    The pairs are divided into three sides: a model learns from the first, the second chooses its
    settings, the third measures it beside the strongest model that learns nothing, such as BM25F.
    Where nothing can be learned, the choice is that one, and the output says so.

    Finished steps are kept in the store, so that the same command goes on where it stopped. 'ssi
    search MODEL TEXT' searches with the result. Of judged queries in folds, MODEL is fitted once
    more, on all of them. In Python: ssi.fit(PATH, ...).save(MODEL).
    """
    from ssi_core.face.fit import fit as fit_and_compare
    from ssi_core.types import BadInput

    if options := set_.keys() & ({*inspect.signature(fit_and_compare).parameters} - {"qrels"}):
        raise click.UsageError(f"--set {min(options)}: no setting of a source.")
    given = {name: value for name, value in fields.items() if value is not None}
    kinds = beside.split(",") if beside else ()
    try:
        fitted = fit_and_compare(
            path,
            **given,
            **set_,
            stems=_STEMS[stems],
            beside=kinds,
            random_state=seed,
            threads=settings().threads or 1,
        )
    except ValueError as error:
        raise BadInput(str(error)) from error
    index = fitted.save(out)
    written = [index.export(target, place, force=force) for target, place in exports]
    value = _value(fitted, out) | {
        "exports": [{"path": str(one.path), "counts": dict(one.counts)} for one in written]
    }
    return Outcome(value, _shown(fitted, out, [*map(repr, written)]))


def _value(fitted: Fit, out: Path) -> dict[str, Any]:
    from ssi_core.face.fit import RELATED

    documents = fitted.documents
    return {
        "model": str(out),
        "index": str(out / "index"),
        "collection": None if documents is None else str(documents.path),
        "task": str(fitted.task.path),
        "label": fitted.label,
        "verdict": fitted.verdict,
        "choices": fitted.choices,
        "reason": fitted.reason,
        "auto": dict(fitted.facts),
        "measures": fitted.comparison.frame.to_dicts(),
        "candidates": next(iter(fitted.comparison.reports.values()))[0].candidates,
        "cpu_seconds": dict(fitted.cpu_seconds),
        "related": None if fitted.related is None else _value(fitted.related, out / RELATED),
    }


def _shown(fitted: Fit, out: Path, exports: Sequence[str]) -> Callable[[Console], None]:
    def show(console: Console) -> None:
        for line in (*str(fitted).splitlines(), f"Model {out}, with its index.", *exports):
            console.print(line, soft_wrap=True)

    return show
