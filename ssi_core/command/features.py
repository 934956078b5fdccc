"""The verb ``features``: a task of a corpus, of mates, or of clicks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssi_core.command.data import FORCE, OUT, artefact_outcome
from ssi_core.command.verb import Outcome, Verb, progress

if TYPE_CHECKING:
    from ssi_core.store import Artefact


def _words(context: click.Context, option: click.Parameter, value: str) -> int | None:
    if value == "all":
        return None
    if not value.isdigit() or int(value) == 0:
        raise click.BadParameter(f"{value!r} is neither a number nor 'all'", context, option)
    return int(value)


def _views(context: click.Context, option: click.Parameter, value: str) -> list[str]:
    from ssi_core.features.hashing import parse_view

    names = re.split(r",(?!\w+=)", value)
    try:
        for name in names:
            parse_view(name)
    except ValueError as error:
        raise click.BadParameter(str(error), context, option) from None
    return names


@click.command(
    cls=Verb,
    examples=(
        "ssi features corpus --out task",
        "ssi features corpus --out task --words all --split documents",
        "ssi features corpus --out task --views counts,raw,sublinear:100",
        "ssi features corpus --out task --query-words 10",
        "ssi features cranfield --out task --split queries --words all",
        "ssi features cranfield --out task --split queries --pool 10000",
        "ssi features corpus --words all --views raw,cfh:k=5,words=30000,ngrams=1",
        "ssi features mates --relevant link --views sublinear,dictionary.raw",
        "ssi features clicks --split sessions --vocabularies two",
    ),
)
@click.argument("corpus", type=click.Path(path_type=Path))
@OUT
@click.option(
    "--split",
    type=click.Choice(["links", "documents", "queries", "given", "pairs", "sessions", "time"]),
    default="links",
    help="By link, by document; the judged queries of a collection in five folds, or on the "
    "sides given with them; of clicks by "
    "pair, by user (else session) or by time, if not as they were ingested for.",
)
@click.option("--words", default="30000", callback=_words, help="A number, or all.")
@click.option(
    "--views",
    default="counts,raw,sublinear",
    callback=_views,
    help="Names, with commas; see below.",
)
@click.option("--split-seed", type=int, default=0, show_default=True)
@click.option(
    "--pool",
    type=click.IntRange(min=0),
    help="Documents drawn as candidates of every query, beside its own relevant ones; 0: all. "
    "Else 10,000 as in the paper, and all for judgements (--split queries).",
)
@click.option(
    "--cold",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    show_default=True,
    help="Share of the documents that training never sees.",
)
@click.option(
    "--query-words",
    type=click.IntRange(min=1),
    help="Queries are so many random words of documents; else whole documents.",
)
@click.option(
    "--query-draws",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="With --query-words: queries drawn of a document for training.",
)
@click.option(
    "--held-out",
    type=click.Choice(["split", "both"]),
    default="split",
    help="Tested is what the split holds out, or what a split by links and one by documents both "
    "hold out: the same queries, candidates and answers for both.",
)
@click.option(
    "--relevant",
    type=click.Choice(["link", "mate"]),
    help="CORPUS is of mates: answers are what the mate links to, or the mate.",
)
@click.option(
    "--translated",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="With --relevant: queries in the documents' language, parquet of id and text.",
)
@click.option(
    "--vocabularies",
    type=click.Choice(["one", "two"]),
    default="one",
    help="CORPUS is of clicks: pages and ads share their words, or each side has its own.",
)
@click.option(
    "--frozen",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A frozen evaluation set, whose links are not trained on; may be repeated.",
)
@click.option("--goal", is_flag=True, help="Of clicks: a query is a page and its visitor's goal.")
@FORCE
def features(
    corpus: Path,
    out: Path | None,
    split: str,
    words: int | None,
    views: list[str],
    split_seed: int,
    pool: int | None,
    cold: float,
    query_words: int | None,
    query_draws: int,
    held_out: str,
    relevant: str | None,
    translated: Path | None,
    vocabularies: str,
    frozen: tuple[Path, ...],
    goal: bool,
    force: bool,
) -> Outcome:
    """Turn a corpus into a task: word matrices and splits.

    The vocabulary and the weights of words come from the corpus.

    A view is a weighting of words (counts, raw, sublinear, binary; raw:100 keeps a text's 100
    heaviest, raw@30000 the 30,000 most frequent of all words), or correlated feature hashing:
    cfh:k=5,words=30000,ngrams=1 puts a word beyond the 30,000 most frequent, or with ngrams=2 a
    run of two words, in the place of the 5 frequent words that it goes with.

    With --relevant, CORPUS is a directory of mates, queries are in one language and documents in
    another, and articles are on a side of the split. dictionary.raw then reads queries that are
    translated word by word, translated.raw those of --translated, and untitled.raw queries without
    the titles in them.

    A query of a judged collection is ranked over all documents. Otherwise the paper draws 10,000
    documents of a larger corpus, once for all queries; --pool N draws N, --pool 0 takes all.

    CORPUS may be of clicks: pages are queries, and what was clicked on them is relevant.
    """
    pooled = {} if pool is None else {"pool": pool}
    if _is_of_clicks(corpus):
        _refuse(
            "a directory of clicks", "cold", "query_words", "query_draws", "held_out",
            "relevant", "translated",
        )  # fmt: skip
        said: dict[str, Any] = {"words": words, "views": views, "split_seed": split_seed}
        said |= pooled
        said |= {"vocabularies": vocabularies, "goal": goal}
        said |= {"split": None if _is_default("split") else split}
        return artefact_outcome(_clicks_task(corpus, out, said, frozen, force))
    _refuse("a corpus without clicks", "vocabularies", "goal")
    if relevant or translated:
        _refuse_settings_of_a_corpus(relevant)
        own = {"relevant": relevant, "words": words, "views": views, "split_seed": split_seed}
        own |= pooled
        return artefact_outcome(_mates_task(corpus, out, translated, own, frozen, force))
    from ssi_core.features.task import build_task

    said = {
        "words": words,
        "split": split,
        "views": views,
        "split_seed": split_seed,
        "cold": cold,
        "query_words": query_words,
        "query_draws": query_draws,
        "held_out": held_out,
        **pooled,
    }
    with progress("features") as tell:
        artefact = build_task(
            corpus,
            out,
            **said,
            frozen=frozen,
            force=force,
            progress=tell,
        )
    return artefact_outcome(artefact)


def _refuse_settings_of_a_corpus(relevant: str | None) -> None:
    """Refuse options that a task of mates has no place for."""
    if relevant is None:
        raise click.UsageError("--translated needs --relevant.")
    _refuse("--relevant", "split", "cold", "query_words", "query_draws", "held_out")


def _refuse(what: str, *names: str) -> None:
    """Refuse options that exclude something else."""
    for name in names:
        if not _is_default(name):
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} and {what} exclude each other.")


def _is_default(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.DEFAULT


def _is_of_clicks(corpus: Path) -> bool:
    from ssi_core.store import MANIFEST, read

    return (corpus / MANIFEST).is_file() and read(corpus).kind == "clicks"


def _clicks_task(
    clicks: Path, out: Path | None, said: dict[str, Any], frozen: tuple[Path, ...], force: bool
) -> Artefact:
    from ssi_core.features.task import build_clicks_task

    with progress("features") as tell:
        return build_clicks_task(clicks, out, **said, frozen=frozen, force=force, progress=tell)


def _mates_task(
    mates: Path,
    out: Path | None,
    translated: Path | None,
    said: dict[str, Any],
    frozen: tuple[Path, ...],
    force: bool,
) -> Artefact:
    from ssi_core.corpus.mates import open_mates
    from ssi_core.features.task import build_mates_task

    with progress("features") as tell:
        return build_mates_task(
            open_mates(mates),
            out,
            translated=translated,
            **said,
            frozen=frozen,
            force=force,
            progress=tell,
        )
