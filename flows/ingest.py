"""Flows ``ingest`` and ``ingest_mates``.

Dumps, or another source of documents and links -> a corpus directory. Two corpora and the links
between their languages, or a data set of translations -> a directory of mates.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from pydantic import BaseModel, ConfigDict, Field

from flows import environment
from flows.steps import begin, progress, show_counts, worth_retrying
from ssi_core import store
from ssi_core.types import BadInput


class IngestSettings(BaseModel):
    """Where documents come from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Literal[
        "sample", "wikipedia", "wikispeedia", "collection", "table", "folder", "beir", "trec"
    ] = Field(
        default="sample",
        description="sample: a made-up encyclopedia; wikipedia: pages-articles dumps; "
        "wikispeedia, collection: the directory of that data set, or of Cranfield, CISI or CACM; "
        "table, folder: your own documents; beir, trec: a collection in that format",
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
    links: list[str] = Field(default_factory=list, description="Of a table: tables of links")
    columns: dict[str, str] = Field(
        default_factory=dict, description="Of a table: column by role, such as text: body"
    )
    topics: str | None = Field(default=None, description="Of trec: file of the queries")
    qrels: str | None = Field(default=None, description="Of trec: file of the judgements")
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


@task(cache_policy=NO_CACHE, retries=1, retry_condition_fn=worth_retrying)
def generate_sample(documents: int, seed: int) -> str:
    """Write the sample encyclopedia."""
    from ssi_core.corpus.sample import make_sample

    return str(make_sample(documents, seed, progress=progress("sample")).path)


@task(
    cache_policy=NO_CACHE,
    retries=5,
    retry_delay_seconds=[10, 60, 300, 900, 3600],
    retry_condition_fn=worth_retrying,
)
def download(wiki: str, date: str, directory: str) -> str:
    """Fetch a dump; an attempt goes on where the one before it stopped."""
    from ssi_core.corpus.download import download_dump

    tell = progress(f"download {wiki}")
    return str(download_dump(wiki, Path(directory), date=date, progress=tell))


@task(cache_policy=NO_CACHE, retries=1, retry_condition_fn=worth_retrying)
def read_source(settings: IngestSettings, paths: list[str]) -> str:
    """Turn dumps, or a data set, into a corpus."""
    inputs = [Path(path) for path in paths]
    how: dict[str, Any] = {"out": _place(settings.out), "force": settings.force}
    how["progress"] = progress("ingest")
    if settings.source == "wikispeedia":
        from ssi_core.corpus.wikispeedia import ingest_wikispeedia

        artefact = ingest_wikispeedia(inputs[0], **how)
    elif settings.source == "collection":
        from ssi_core.corpus.collections import ingest_collection

        artefact = ingest_collection(inputs[0], **how)
    elif settings.source in _OWN:
        artefact = _OWN[settings.source](settings, inputs, how | {"language": settings.language})
    else:
        from ssi_core.corpus.mediawiki import ingest_wikipedia

        how |= {"language": settings.language, "processes": settings.processes}
        artefact = ingest_wikipedia(inputs, since=_place(settings.since), **how)
    show_counts(artefact)
    return str(artefact.path)


def _table(settings: IngestSettings, paths: list[Path], how: dict[str, Any]) -> store.Artefact:
    from ssi_core.corpus.table import ingest_table

    links = [Path(path) for path in settings.links]
    return ingest_table(paths, links=links, columns=settings.columns, **how)


def _folder(settings: IngestSettings, paths: list[Path], how: dict[str, Any]) -> store.Artefact:
    from ssi_core.corpus.folder import ingest_folder

    return ingest_folder(paths[0], **how)


def _beir(settings: IngestSettings, paths: list[Path], how: dict[str, Any]) -> store.Artefact:
    from ssi_core.corpus.beir import ingest_beir

    return ingest_beir(paths[0], **how)


def _trec(settings: IngestSettings, paths: list[Path], how: dict[str, Any]) -> store.Artefact:
    from ssi_core.corpus.trec import ingest_trec

    if not (settings.topics and settings.qrels):
        raise BadInput("source 'trec': name 'topics' and 'qrels' beside the documents in 'paths'.")
    return ingest_trec(paths, Path(settings.topics), Path(settings.qrels), **how)


_OWN = {"table": _table, "folder": _folder, "beir": _beir, "trec": _trec}


def _place(path: str | None) -> Path | None:
    return Path(path) if path else None


def ingest_source(settings: IngestSettings) -> str:
    """Make the corpus that the settings describe, unless it is there; call it inside a flow."""
    return read_source(settings, _inputs(settings))


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
    return str(english_dump(Path(generate_sample(documents, seed))))


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


@task(cache_policy=NO_CACHE, retries=1, retry_condition_fn=worth_retrying)
def find_mates(
    settings: MatesSettings, source: str, path: str, corpora: list[str], dictionary: str | None
) -> str:
    """Find the mates of two corpora by the links between their languages, or read a data set."""
    how: dict[str, Any] = {"out": _place(settings.out), "force": settings.force}
    how["progress"] = progress("mates")
    if source == "kyoto":
        from ssi_core.corpus.kyoto import ingest_kyoto

        artefact = ingest_kyoto(Path(path), **how)
    else:
        from ssi_core.corpus.pairing import ingest_mates as find

        how |= {"dictionary": _place(dictionary), "processes": settings.processes}
        artefact = find(source, Path(path), *map(Path, corpora), **how)
    show_counts(artefact)
    return str(artefact.path)


def mates_source(settings: MatesSettings) -> str:
    """Make the mates that the settings describe, unless they are there; call it inside a flow."""
    return find_mates(settings, *_mates_inputs(settings))


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
