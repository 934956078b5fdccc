"""Flow ``features``: a corpus, mates or clicks -> a task directory (views, splits)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from pydantic import BaseModel, ConfigDict, Field

from flows.steps import begin, progress, show_counts, worth_retrying
from ssi_core import store
from ssi_core.experiment import Table
from ssi_core.types import Progress


class FeaturesSettings(BaseModel):
    """How a task is made from a corpus."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    corpus: str = Field(
        description="Directory that 'ingest' wrote; with 'relevant', of mates; split by pairs, "
        "sessions or time, of clicks"
    )
    words: Annotated[int, Field(ge=1)] | Literal["all"] = Field(
        default=30_000, description="Size of the vocabulary (the most frequent words), or all"
    )
    split: Literal["links", "documents", "queries", "given", "pairs", "sessions", "time"] = Field(
        default="links",
        description="links: each link is on a side by itself; documents: with its pages; "
        "queries: those of a collection are in five folds; given: on the sides that their "
        "publisher has fixed; of clicks: pairs, sessions (users, if "
        "they are known), time",
    )
    split_seed: int = Field(default=0, ge=0, description="Seed of the split")
    pool: int | None = Field(
        default=None,
        ge=0,
        description="Documents drawn as candidates of every query, 0: all; empty: 10,000 for "
        "links, mates and clicks, all for judgements",
    )
    cold: float = Field(
        default=0.0, ge=0, lt=1, description="Share of the documents that training never sees"
    )
    query_words: int | None = Field(
        default=None,
        ge=1,
        description="Queries are so many random words of documents; empty: the documents",
    )
    query_draws: int = Field(
        default=20, ge=1, description="Such queries of each document for training"
    )
    relevant: Literal["link", "mate"] | None = Field(
        default=None,
        description="Of mates: the answers are what a query's mate links to, or the mate",
    )
    translated: str | None = Field(
        default=None,
        description="Of mates: parquet file (id, text) of queries in the documents' language",
    )
    vocabularies: Literal["one", "two"] = Field(
        default="one", description="Of clicks: pages and ads share their words, or do not"
    )
    goal: bool = Field(
        default=False, description="Of clicks: a query is a page and what its visitor looks for"
    )
    held_out: Literal["split", "both"] = Field(
        default="split",
        description="both: tested are links that a split by links and one by documents hold out, "
        "so that models of the two splits answer the same queries",
    )
    views: list[str] = Field(
        default_factory=lambda: ["counts", "raw", "sublinear"],
        min_length=1,
        description="Weightings of words: counts, raw, sublinear, binary; raw:100 keeps a text's "
        "100 heaviest words, raw@30000 the 30,000 most frequent of all; "
        "cfh:k=5,words=30000,ngrams=1 hashes the words beyond 30,000; of mates: dictionary.raw "
        "reads queries translated word by word, translated.raw those that are given, untitled.raw "
        "those without titles",
    )
    frozen: list[str] = Field(
        default_factory=list,
        description="Frozen evaluation sets of the same kind: what they ask is not trained on",
    )
    out: str | None = Field(
        default=None, description="Directory to write; empty: one under .ssi/store"
    )
    force: bool = Field(
        default=False, description="Replace what that directory holds, if it differs"
    )


@task(cache_policy=NO_CACHE, retries=1, retry_condition_fn=worth_retrying)
def build(settings: FeaturesSettings) -> str:
    """Count words, weigh them, split the links."""
    tell = progress("features")
    make = {"mates": _of_mates, "clicks": _of_clicks, "corpus": _of_corpus}[kind_of(settings)]
    artefact = make(settings, Path(settings.out) if settings.out else None, tell)
    show_counts(artefact)
    return str(artefact.path)


def kind_of(settings: FeaturesSettings) -> str:
    """Return the kind of the artefact that a task is made of."""
    if settings.relevant:
        return "mates"
    return "clicks" if settings.split in ("pairs", "sessions", "time") else "corpus"


def _of_clicks(settings: FeaturesSettings, out: Path | None, tell: Progress) -> store.Artefact:
    from ssi_core.features.task import build_clicks_task

    names = {"split", "views", "split_seed", "pool", "vocabularies", "goal", "force"}
    words = None if settings.words == "all" else settings.words
    how = settings.model_dump(include=names)
    how["frozen"] = [Path(frozen) for frozen in settings.frozen]
    return build_clicks_task(Path(settings.corpus), out, words=words, **how, progress=tell)


def _of_corpus(settings: FeaturesSettings, out: Path | None, tell: Progress) -> store.Artefact:
    from ssi_core.features.task import build_task

    how = settings.model_dump(exclude={"corpus", "out", *_OF_OTHERS})
    how["frozen"] = [Path(frozen) for frozen in settings.frozen]
    how["words"] = None if settings.words == "all" else settings.words
    return build_task(Path(settings.corpus), out, **how, progress=tell)


_OF_OTHERS = ("relevant", "translated", "vocabularies", "goal")


def _of_mates(settings: FeaturesSettings, out: Path | None, tell: Progress) -> store.Artefact:
    from ssi_core.corpus.mates import open_mates
    from ssi_core.features.task import build_mates_task

    return build_mates_task(
        open_mates(Path(settings.corpus)),
        out,
        relevant=str(settings.relevant),
        words=None if settings.words == "all" else settings.words,
        views=settings.views,
        split_seed=settings.split_seed,
        pool=settings.pool,
        translated=Path(settings.translated) if settings.translated else None,
        frozen=[Path(frozen) for frozen in settings.frozen],
        force=settings.force,
        progress=tell,
    )


def features_of(
    table: Table, name: str, corpus: str, frozen: Sequence[str] = ()
) -> FeaturesSettings:
    """Return how a table's task is made, with every view that a row of it reads."""
    views = ["counts", *table.views(name)]
    return FeaturesSettings(
        corpus=corpus, views=views, frozen=list(frozen), **asdict(table.tasks[name])
    )


def make_task(settings: FeaturesSettings) -> str:
    """Run `build` on a corpus unless its result is there; call it inside a flow."""
    return build(settings)


@flow(name="features")
def features(settings: FeaturesSettings) -> str:
    """Turn a corpus into a task: vocabulary, word matrices, three sides of a split.

    Returns the path of the task. What is already there is not made again.
    """
    begin()
    return make_task(settings)
