"""Verbs of retraining: freeze, retrain."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from flows.commands.flow_verb import FlowVerb
from ssi_core.command.data import artefact_outcome
from ssi_core.command.fields import PATH, argument, option
from ssi_core.command.options import FORCE, OUT
from ssi_core.command.verb import Outcome, verb

if TYPE_CHECKING:
    from rich.console import Console

    from flows.settings import RetrainSettings


@dataclass(frozen=True, kw_only=True)
class FreezeSettings:
    """Settings of ``ssi ops freeze``."""

    corpus: Path = argument("CORPUS", type=PATH)
    out: Path | None = OUT
    since: Path | None = option(
        None,
        "Earlier state of the collection. What is new since then gets slices of its own.",
        type=PATH,
    )
    relevant: Literal["click", "translation > link", "translation", "link"] | None = option(
        None, "Relation that answers a query. [default: the first of these that CORPUS has]"
    )
    queries: int = option(
        1000,
        "Maximum number of queries, drawn at random; with --since, as many new ones are added.",
        flag="--max-queries",
        ge=1,
    )
    pool: int = option(10_000, "Number of candidates of each query.", ge=1)
    split_seed: int = option(0, "Random seed of the split.")
    force: bool = FORCE


@verb(
    FreezeSettings,
    examples=(
        "ssi ops freeze corpus --out frozen",
        "ssi ops freeze new-corpus --since corpus --out frozen-2 --max-queries 2000",
        "ssi ops freeze clicks --out frozen",
        "ssi ops freeze kyoto --relevant translation --out frozen",
    ),
)
def freeze(given: FreezeSettings) -> Outcome:
    """Draw an evaluation set to measure champions on.

    The set has queries and their answers from the test part of CORPUS, as raw text, so that models
    with different vocabularies rank the same texts. 'ssi retrain' and 'ssi data features' (both
    with --frozen) keep its pairs out of the training. 'ssi retrain' also draws sets by itself.

    CORPUS is a collection. Queries are its documents, answered by what they link to; or pages,
    answered by what was clicked on them; or texts with a translation (--relevant).
    """
    from ssi_core.tasks.frozen import freeze as draw

    chosen: dict[str, Any] = {
        "queries": given.queries,
        "pool": given.pool,
        "split_seed": given.split_seed,
    }
    return artefact_outcome(
        draw(
            given.corpus,
            given.out,
            since=given.since,
            relevant=given.relevant,
            **chosen,
            force=given.force,
        )
    )


@verb(
    "flows.settings:RetrainSettings",
    examples=(
        "ssi retrain --texts enwiki-pages-articles.xml.bz2",
        "ssi retrain wikispeedia-table1 --corpus corpus --frozen frozen --start champion",
        'ssi retrain ssi2010-table11 --corpus clicks --row "(U\'V)_10k + I" --name ads',
        'ssi retrain sample-table9 --corpus kyoto --row "SSI Japanese-English" --name ja --renew',
    ),
    cls=FlowVerb,
)
def retrain(given: RetrainSettings) -> Outcome:
    """Train on new data; a better model becomes the champion.

    The champion is the version of the registered model (--name) that is served. First the data is
    compared with that of the last retraining, which stops it (exit code 3) if, for example, half of
    the documents are missing. Then a row of TABLE is trained. The new model becomes champion if it
    is significantly better than the best champion so far on the frozen evaluation set, and not
    worse on short queries, new documents and new links. Otherwise the champion stays.

    Retraining on the same data again takes seconds, and gives the same decision. A row that learns
    from clicks or translations needs a collection of such data (--corpus).
    """
    from flows.retrain import run_retrain
    from flows.training.bars import shown_board

    if (given.corpus is None) == (not given.texts):
        raise click.UsageError("Give a collection (--corpus) or what to ingest (--texts).")
    with shown_board():
        decision = run_retrain(**{name: getattr(given, name) for name in given.model_fields_set})

    def show(console: Console) -> None:
        if decision["unchanged"]:
            console.print("nothing is new since this decision")
        console.print(decision["report"])
        champion = decision["version"] or "none"
        console.print(f"the champion of {decision['name']} is version {champion}")

    return Outcome(decision, show)
