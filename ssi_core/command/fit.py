"""The verb ``fit``: from texts, or a log, to a measured model and the files of an engine."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ssi_core.command.fields import EXISTING, NEW_DIRECTORY, argument, option
from ssi_core.command.measures import Words
from ssi_core.command.options import SEED
from ssi_core.command.verb import Outcome, settings, verb
from ssi_core.registry import TARGETS

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.face.fit_result import Fit

_STEMS: Mapping[str, bool | None] = {"no": False, "yes": True, "auto": None}
_APART = ("path", "out", "set_", "auxiliary", "stems", "seed", "exports", "force")
"""Settings that are no argument of `ssi.fit` by their own name."""


def _kind(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    from ssi_core.tasks.kinds import fields_of

    try:
        if value is not None:
            fields_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, option) from None
    return value


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """Settings of ``ssi fit``."""

    path: Path = argument("PATH", type=EXISTING)
    out: Path = option(
        ...,
        "Directory to write the model into, with the index of the documents. A model that is "
        "already there is replaced.",
        type=NEW_DIRECTORY,
    )
    links: Path | None = option(
        None, "Links between the documents (CSV, TSV, JSON lines or parquet).", type=EXISTING
    )
    texts: Path | None = option(
        None, "Documents that a log refers to: a table or a collection.", type=EXISTING
    )
    columns: dict[str, str] = option(
        {},
        "Name of the column of a role, if the guess is wrong; without a name the role has none. "
        "Can be repeated.",
        flag="--column",
        metavar="ROLE=[NAME]",
    )
    queries: Path | None = option(
        None, "Judged queries: a table with the columns id and text.", type=EXISTING
    )
    qrels: Path | None = option(
        None,
        "Judgements of these queries: a table of query, document and grade, or TREC's qrels.",
        type=EXISTING,
    )
    source: str | None = option(
        None,
        "How to read PATH: a name that 'ssi data ingest --help' lists. "
        "[default: guessed from PATH]",
    )
    set_: dict[str, str] = option(
        {},
        "Setting of that source, as in Python: clicks=weighted. Can be repeated.",
        flag="--set",
        metavar="NAME=VALUE",
    )
    ask: str | None = option(
        None,
        "Kind of queries to train and test on: link, link:N, words:N, titles, anchors, click, "
        "judgement. [default: clicks or judgements, else both what people type and links]",
        flag="--query-type",
        metavar="KIND",
        callback=_kind,
    )
    auxiliary: tuple[str, ...] = option(
        (),
        "Further kinds of queries to learn from, such as titles,words:3.",
        metavar="KIND,KIND",
        separator=",",
    )
    split: Literal["pairs", "documents", "users", "time", "queries", "given"] | None = option(
        None,
        "Unit that the split into training, validation and test keeps whole; see "
        "'ssi data features --help'.",
    )
    judged: bool = option(False, "Test on the judged queries. Only for clicks with judgements.")
    stems: Literal["no", "yes", "auto"] = option(
        "no",
        "Read English words as their stems. auto: only if BM25F is clearly better with them on "
        "validation.",
    )
    auto: bool = option(
        True,
        "Choose the settings, and whether to learn at all, on validation; or take the documented "
        "settings, beside BM25F where people type. [default: --auto]",
        flag="--auto/--defaults",
    )
    budget: int | None = option(
        None,
        "Maximum number of training triples over all trials (per fold). [default: 2e7]",
        metavar="TRIPLES",
        ge=1,
    )
    measure: Literal["map", "ndcg_at_10", "mrr"] = option(
        "map", "Measure that chooses the settings, and that is shown first."
    )
    seed: int = SEED
    exports: tuple[tuple[str, Path], ...] = option(
        (),
        "Also write the documents for an engine, as 'ssi export' does. Can be repeated.",
        flag="--export",
        metavar="TARGET DIR",
        type=(Words(tuple(TARGETS)), NEW_DIRECTORY),
    )
    force: bool = option(False, "Overwrite other exports in the directories of --export.")


@verb(
    FitSettings,
    examples=(
        "ssi fit articles.jsonl --links links.csv --out model",
        "ssi fit site/ --out model --export opensearch to-opensearch",
        "ssi fit ubi/ --texts products.jsonl --out model --export opensearch to-opensearch",
        "ssi fit clicks.csv --texts articles.jsonl --out model",
        "ssi fit log.csv --texts ads.tsv --column document=ad --out model",
        "ssi fit site/ --queries queries.tsv --qrels qrels.tsv --out model",
        "ssi fit corpus --query-type words:3 --auxiliary titles,anchors --measure mrr --out model",
        "ssi fit task --defaults --budget 200000 --out model",
    ),
)
def fit(given: FitSettings) -> Outcome:
    """Read texts or a log, fit a model, measure it, and export it.

    PATH is a table, a folder of texts, a dump, a log of OpenSearch's UBI, a collection of 'ssi data
    ingest' or a task of 'ssi data features'. Documents with links give two models: one for a search
    box, tested on held-out words of links, and one that finds related documents. If few links have
    words, the search box is BM25F over all fields, and nothing is learned for it. Judged queries
    (--queries, --qrels) replace the words of links; they are divided into five folds. Clicks, and
    --query-type, give one model.

    The pairs are split into training, validation and test. The model learns from the first part,
    the second part chooses its settings, and the third part measures it beside the strongest model
    that learns nothing, such as BM25F. If there is nothing to be learned, that one is chosen, and
    the output says so.

    Finished steps are kept in the store, so that the same command continues where it stopped. 'ssi
    search MODEL TEXT' searches with the result. For judged queries in folds, MODEL is fitted once
    more, on all of them. In Python: ssi.fit(PATH, ...).save(MODEL).
    """
    from ssi_core.face.fit import fit as fit_and_compare
    from ssi_core.types import BadInput, Refused

    _require_places(given)
    if options := given.set_.keys() & (
        {*inspect.signature(fit_and_compare).parameters} - {"qrels"}
    ):
        raise click.UsageError(f"--set {min(options)}: no setting of a source.")
    settings_: dict[str, Any] = given.set_
    chosen: dict[str, Any] = {
        name: value
        for name, value in vars(given).items()
        if name not in _APART and value not in (None, {})
    }
    try:
        fitted = fit_and_compare(
            given.path,
            **chosen,
            **settings_,
            stems=_STEMS[given.stems],
            auxiliary=given.auxiliary,
            random_state=given.seed,
            threads=settings().threads or 1,
        )
    except BadInput as error:
        raise BadInput(_as_typed(str(error), given.path)) from error
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    index = fitted.save(given.out)
    try:
        written = [index.export(target, path, force=given.force) for target, path in given.exports]
    except (BadInput, Refused) as error:
        kind = Refused if isinstance(error, Refused) else BadInput
        raise kind(f"{error} The model is in {given.out} already.") from error
    value = _value(fitted, given.out) | {
        "exports": [{"path": str(one.path), "counts": dict(one.counts)} for one in written]
    }
    return Outcome(value, _shown(fitted, given.out, [*map(repr, written)]))


def _as_typed(message: str, path: Path) -> str:
    """Name the path that was given where a message names the collection that was made of it."""
    from ssi_core.root import store_path

    place = str(store_path("collection", ""))
    made = re.search(rf"{re.escape(place)}/([0-9a-f]{{24}})", message)
    if made is None:
        return message
    return message.replace(made[0], str(path)).replace(made[1], path.name)


def _require_places(given: FitSettings) -> None:
    """Refuse before a training what would be in the way of the model or of an export after it."""
    from ssi_core import store
    from ssi_core.files import require_replaceable
    from ssi_core.held import article
    from ssi_core.types import Refused

    places = [given.out, *(path for _, path in given.exports)]
    if len({path.resolve() for path in places}) < len(places):
        raise click.UsageError("The model and each export need a directory of their own.")
    require_replaceable(given.out, "model.json", "model")
    for target, path in given.exports:
        if not (path / store.MANIFEST).is_file():
            store.up_to_date(path, "export", "")
        elif not given.force:
            held = store.read(path)
            if (held.kind, held.configuration.get("to")) != ("export", target):
                raise Refused(
                    f"{path} holds {article(held.kind)}, and none to {target}. Type --force to "
                    "replace it, or name another directory."
                )


def _value(fitted: Fit, out: Path) -> dict[str, Any]:
    from ssi_core.face.fit_result import RELATED

    documents = fitted.documents
    return {
        "model": str(out),
        "index": str(out / "index"),
        "collection": None if documents is None else str(documents.path),
        "read": None if documents is None else dict(documents.counts),
        "skipped": None if documents is None else dict(documents.skipped),
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
