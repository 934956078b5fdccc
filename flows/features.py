"""Flow ``features``: a corpus directory -> a task directory (views, splits)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from prefect import flow, task
from pydantic import BaseModel, ConfigDict, Field

from flows import environment
from flows.steps import (
    artefact_key,
    begin,
    checked,
    progress,
    result_key,
    show_counts,
    worth_retrying,
)
from ssi_core import store


class FeaturesSettings(BaseModel):
    """How a task is made from a corpus."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    corpus: str = Field(description="Directory that 'ingest' wrote")
    words: Annotated[int, Field(ge=1)] | Literal["all"] = Field(
        default=30_000, description="Size of the vocabulary (the most frequent words), or all"
    )
    split: Literal["links", "documents", "queries"] = Field(
        default="links",
        description="links: each link is on a side by itself; documents: with its pages; "
        "queries: those of a collection are in five folds",
    )
    split_seed: int = Field(default=0, ge=0, description="Seed of the split")
    pool: int = Field(default=10_000, ge=1, description="Candidates of a query in a large corpus")
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
    views: list[str] = Field(
        default_factory=lambda: ["counts", "raw", "sublinear"],
        min_length=1,
        description="Weightings of words: counts, raw, sublinear, binary; raw:100 keeps a text's "
        "100 heaviest words, raw@30000 the 30,000 most frequent of all; "
        "cfh:k=5,words=30000,ngrams=1 hashes the words beyond 30,000",
    )
    out: str | None = Field(
        default=None, description="Directory to write; empty: one under .ssi/store"
    )
    force: bool = Field(
        default=False, description="Replace what that directory holds, if it differs"
    )


@task(persist_result=True, cache_key_fn=result_key, retries=1, retry_condition_fn=worth_retrying)
def build(settings: FeaturesSettings, out: str, key: str) -> str:
    """Count words, weigh them, split the links."""
    from ssi_core.features.task import build_task

    how = settings.model_dump(exclude={"corpus", "out"})
    how["words"] = None if settings.words == "all" else settings.words
    artefact = build_task(Path(settings.corpus), Path(out), **how, progress=progress("features"))
    show_counts(artefact)
    return str(artefact.path)


def make_task(settings: FeaturesSettings) -> str:
    """Run `build` on a corpus unless its result is there; call it inside a flow."""
    said = settings.model_dump(exclude={"corpus", "out", "force"})
    corpus = store.read(Path(settings.corpus), "corpus")
    key = artefact_key("task", said, {"corpus": corpus.key}, "features", "kernels")
    out = settings.out or str(environment.store_path("task", key))
    own_place = settings.out is None
    # In a place of its own only an earlier state of the same artefact can be in the way.
    settings = settings.model_copy(update={"force": settings.force or own_place})
    return checked(build, out, own_place=own_place)(settings, out, key)


@flow(name="features")
def features(settings: FeaturesSettings) -> str:
    """Turn a corpus into a task: vocabulary, word matrices, three sides of a split.

    Returns the path of the task. What is already there is not made again.
    """
    begin()
    return make_task(settings)
