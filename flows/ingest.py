"""Flows ``ingest`` and ``ingest_mates``.

Dumps, or another source of documents and links -> a corpus directory. Two corpora and the links
between their languages, or a data set of translations -> a directory of mates.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from prefect import flow, task
from pydantic import BaseModel, ConfigDict, Field

from flows import environment
from flows.steps import (
    artefact_key,
    begin,
    checked,
    file_key,
    place_of,
    progress,
    result_key,
    show_counts,
    worth_retrying,
)
from ssi_core import store
from ssi_core.types import BadInput, Progress


class IngestSettings(BaseModel):
    """Where documents come from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Literal["sample", "wikipedia", "wikispeedia", "collection"] = Field(
        default="sample",
        description="sample: a made-up encyclopedia; wikipedia: pages-articles dumps; "
        "wikispeedia, collection: the directory of that data set, or of Cranfield, CISI or CACM",
    )
    paths: list[str] = Field(
        default_factory=list, description="Dumps, or the directory of a data set"
    )
    download: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9_\-]+$",
        description="Fetch the dump of this wiki first, such as simplewiki",
    )
    date: str = Field(
        default="latest",
        pattern=r"^(latest|\d{8})$",
        description="Date of that dump: YYYYMMDD or latest",
    )
    language: str | None = Field(
        default=None, description="Language code; empty: what the dump says"
    )
    since: str | None = Field(
        default=None,
        description="Corpus of an earlier dump of the wiki: only pages that changed are parsed",
    )
    documents: int = Field(default=2000, ge=20, le=1_000_000, description="Pages of the sample")
    seed: int = Field(default=0, ge=0, description="Seed of the sample")
    processes: int | None = Field(
        default=None, ge=1, le=1024, description="Decoders; empty: one per core"
    )
    out: str | None = Field(
        default=None, description="Directory to write; empty: one under .ssi/store"
    )
    force: bool = Field(
        default=False, description="Replace what that directory holds, if it differs"
    )


def sample_place(documents: int, seed: int) -> tuple[str, str]:
    """Return the directory of a sample, and its key."""
    key = artefact_key("sample", {"documents": documents, "seed": seed}, {}, "corpus")
    return str(environment.store_path("sample", key)), key


def make_sample(documents: int, seed: int, tell: Progress | None = None) -> str:
    """Write the sample encyclopedia unless it is there; no Prefect here."""
    from ssi_core.corpus.sample import write_sample

    out, key = sample_place(documents, seed)
    if store.up_to_date(Path(out), "sample", key) is None:
        how = {"documents": documents, "seed": seed}
        with store.create(Path(out), kind="sample", key=key, configuration=how, parents={}) as made:
            made.counts |= write_sample(made.path, **how, progress=tell)
    return out


@task(persist_result=True, cache_key_fn=result_key, retries=1, retry_condition_fn=worth_retrying)
def generate_sample(documents: int, seed: int, out: str, key: str) -> str:
    """Write the sample encyclopedia."""
    return make_sample(documents, seed, progress("sample"))


@task(retries=5, retry_delay_seconds=[10, 60, 300, 900, 3600], retry_condition_fn=worth_retrying)
def download(wiki: str, date: str, directory: str) -> str:
    """Fetch a dump; an attempt goes on where the one before it stopped."""
    from ssi_core.corpus.download import download_dump

    tell = progress(f"download {wiki}")
    return str(download_dump(wiki, Path(directory), date=date, progress=tell))


@task(persist_result=True, cache_key_fn=result_key, retries=1, retry_condition_fn=worth_retrying)
def read_wikipedia(
    dumps: list[str],
    out: str,
    key: str,
    language: str | None,
    since: str | None,
    processes: int | None,
    force: bool,
) -> str:
    """Turn dumps of MediaWiki into a corpus."""
    from ssi_core.corpus.mediawiki import ingest_wikipedia

    how: dict[str, Any] = {"language": language, "processes": processes, "force": force}
    how["since"] = Path(since) if since else None
    paths = [Path(dump) for dump in dumps]
    artefact = ingest_wikipedia(paths, Path(out), **how, progress=progress("ingest"))
    show_counts(artefact)
    return str(artefact.path)


@task(persist_result=True, cache_key_fn=result_key, retries=1, retry_condition_fn=worth_retrying)
def read_wikispeedia(directory: str, out: str, key: str, force: bool) -> str:
    """Turn the Wikispeedia data set into a corpus."""
    from ssi_core.corpus.wikispeedia import ingest_wikispeedia

    tell = progress("ingest")
    artefact = ingest_wikispeedia(Path(directory), Path(out), force=force, progress=tell)
    show_counts(artefact)
    return str(artefact.path)


@task(persist_result=True, cache_key_fn=result_key, retries=1, retry_condition_fn=worth_retrying)
def read_collection(directory: str, out: str, key: str, force: bool) -> str:
    """Turn a test collection into a corpus with queries and judgements."""
    from ssi_core.corpus.collections import ingest_collection

    tell = progress("ingest")
    artefact = ingest_collection(Path(directory), Path(out), force=force, progress=tell)
    show_counts(artefact)
    return str(artefact.path)


def ingest_source(settings: IngestSettings) -> str:
    """Make the corpus that the settings describe, unless it is there; call it inside a flow."""
    paths = _inputs(settings)
    parents = {place_of(Path(path)): file_key(Path(path)) for path in paths}
    # A corpus is the same with 'since' and without.
    said = {"source": settings.source, "language": settings.language}
    key = artefact_key("corpus", said, parents, "corpus")
    out = settings.out or str(environment.store_path("corpus", key))
    own_place = settings.out is None
    # In a place of its own only an earlier state of the same artefact can be in the way.
    force = settings.force or own_place
    directories = {"wikispeedia": read_wikispeedia, "collection": read_collection}
    if settings.source in directories:
        read = checked(directories[settings.source], out, own_place=own_place)
        return read(paths[0], out, key, force)
    read_dumps = checked(read_wikipedia, out, own_place=own_place)
    how = (settings.language, settings.since, settings.processes)
    return read_dumps(paths, out, key, *how, force)


def since_corpus(settings: IngestSettings, before: str) -> IngestSettings:
    """Return the settings with an earlier corpus as ``since``, where both are of dumps."""
    if settings.since or settings.source not in ("wikipedia", "sample"):
        return settings
    if not (Path(before) / store.MANIFEST).is_file():
        return settings
    if store.read(Path(before)).configuration.get("source") != "wikipedia":
        return settings
    return settings.model_copy(update={"since": before})


def _inputs(settings: IngestSettings) -> list[str]:
    """Return the files to read, made or fetched where the settings say so."""
    if settings.source == "sample":
        return [_sample_dump(settings.documents, settings.seed)]
    if settings.source == "wikipedia" and settings.download:
        there = str(environment.home() / "dumps")
        return [*settings.paths, download(settings.download, settings.date, there)]
    if not settings.paths:
        raise BadInput(f"source {settings.source!r}: which files? 'paths' is empty.")
    return settings.paths


def _sample_dump(documents: int, seed: int) -> str:
    out, key = sample_place(documents, seed)
    directory = checked(generate_sample, out, own_place=True)(documents, seed, out, key)
    return str(english_dump(Path(directory)))


def english_dump(sample: Path) -> Path:
    """Return the English dump of a sample; `BadInput` if there is none."""
    return _of_sample(sample, "enwiki*-pages-articles.xml.bz2")


def _of_sample(sample: Path, pattern: str) -> Path:
    found = sorted(sample.glob(pattern))
    if not found:
        raise BadInput(f"{sample} holds no {pattern}; see 'ssi sample'.")
    return found[0]


_DEFAULTS = IngestSettings()


@flow(name="ingest")
def ingest(settings: IngestSettings = _DEFAULTS) -> str:
    """Turn dumps, or another source, into a corpus directory; every drop is counted.

    Returns the path of the corpus. What is already there is not made again.
    """
    begin()
    return ingest_source(settings)


class MatesSettings(BaseModel):
    """Where mates come from: pairs of documents in two languages on one subject."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Literal["sample", "kyoto", "langlinks", "wikidata", "wikitext"] = Field(
        default="sample",
        description="sample: both editions of the made-up encyclopedia; kyoto: the directory of "
        "that data set; langlinks, wikidata, wikitext: a dump with links between languages",
    )
    path: str | None = Field(default=None, description="That directory or dump")
    queries: str | None = Field(default=None, description="Corpus of the queries, such as Japanese")
    documents: str | None = Field(default=None, description="Corpus of the documents")
    dictionary: str | None = Field(
        default=None,
        description="File of a term, a tab and a translation a line; sample and kyoto have one",
    )
    pages: int = Field(default=2000, ge=20, le=1_000_000, description="Pages of the sample")
    seed: int = Field(default=0, ge=0, description="Seed of the sample")
    processes: int | None = Field(
        default=None, ge=1, le=1024, description="Decoders of dumps; empty: one per core"
    )
    out: str | None = Field(
        default=None, description="Directory to write; empty: one under .ssi/store"
    )
    force: bool = Field(
        default=False, description="Replace what that directory holds, if it differs"
    )


@task(persist_result=True, cache_key_fn=result_key, retries=1, retry_condition_fn=worth_retrying)
def read_kyoto(directory: str, out: str, key: str, force: bool) -> str:
    """Turn the Kyoto articles into mates, with both corpora."""
    from ssi_core.corpus.kyoto import ingest_kyoto

    tell = progress("mates")
    artefact = ingest_kyoto(Path(directory), Path(out), force=force, progress=tell)
    show_counts(artefact)
    return str(artefact.path)


@task(persist_result=True, cache_key_fn=result_key, retries=1, retry_condition_fn=worth_retrying)
def find_mates(
    source: str,
    path: str,
    corpora: list[str],
    dictionary: str | None,
    out: str,
    key: str,
    processes: int | None,
    force: bool,
) -> str:
    """Find the mates of two corpora by the links between their languages."""
    from ssi_core.corpus.pairing import ingest_mates as find

    queries, documents = map(Path, corpora)
    artefact = find(
        source,
        Path(path),
        queries,
        documents,
        Path(out),
        dictionary=Path(dictionary) if dictionary else None,
        processes=processes,
        force=force,
        progress=progress("mates"),
    )
    show_counts(artefact)
    return str(artefact.path)


def mates_source(settings: MatesSettings) -> str:
    """Make the mates that the settings describe, unless they are there; call it inside a flow."""
    source, path, corpora, dictionary = _mates_inputs(settings)
    given = [Path(name) for name in (path, dictionary) if name]
    parents = {place_of(name): file_key(name) for name in given}
    parents |= {place_of(Path(corpus)): store.read(Path(corpus)).key for corpus in corpora}
    key = artefact_key("mates", {"source": source}, parents, "corpus")
    out = settings.out or str(environment.store_path("mates", key))
    own_place = settings.out is None
    force = settings.force or own_place
    if source == "kyoto":
        return checked(read_kyoto, out, own_place=own_place)(path, out, key, force)
    find = checked(find_mates, out, own_place=own_place)
    return find(source, path, corpora, dictionary, out, key, settings.processes, force)


def _mates_inputs(settings: MatesSettings) -> tuple[str, str, list[str], str | None]:
    """Return source, path, corpora and dictionary; a sample is made, both editions ingested."""
    if settings.source == "sample":
        sample = Path(_sample_dump(settings.pages, settings.seed)).parent
        dumps = [_of_sample(sample, "jawiki*-pages-articles.xml.bz2"), english_dump(sample)]
        how: dict[str, Any] = {"source": "wikipedia", "processes": settings.processes}
        corpora = [ingest_source(IngestSettings(paths=[str(dump)], **how)) for dump in dumps]
        links = str(_of_sample(sample, "enwiki*-langlinks.sql.gz"))
        dictionary = settings.dictionary or str(_of_sample(sample, "dictionary.tsv"))
        return "langlinks", links, corpora, dictionary
    if not settings.path:
        raise BadInput(f"source {settings.source!r}: which file? 'path' is empty.")
    given = [corpus for corpus in (settings.queries, settings.documents) if corpus]
    if len(given) != (0 if settings.source == "kyoto" else 2):
        raise BadInput(
            f"source {settings.source!r}: {len(given)} corpora in 'queries' and 'documents'. Give "
            "none for kyoto, which has its own, and both for the others."
        )
    if settings.source == "kyoto" and settings.dictionary:
        raise BadInput("source 'kyoto': it has a dictionary of its own. Give no 'dictionary'.")
    return settings.source, settings.path, given, settings.dictionary


_MATES_DEFAULTS = MatesSettings()


@flow(name="ingest-mates")
def ingest_mates(settings: MatesSettings = _MATES_DEFAULTS) -> str:
    """Find pairs of documents in two languages; every link that makes none is counted.

    Returns the path of the mates, which name their two corpora. What is already there is not made
    again.
    """
    begin()
    return mates_source(settings)
