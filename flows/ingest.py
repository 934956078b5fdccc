"""Flows ``ingest``, ``ingest-mates`` and ``ingest-clicks``: a source -> a collection.

Their forms have the settings of the sources that are registered for them (`corpus.sources`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from flows.sources import ClicksSettings, IngestSettings, MatesSettings, SourceSettings
from flows.steps import begin, progress, show_counts, worth_retrying
from ssi_core.corpus.source import Source
from ssi_core.corpus.sources import source_named, source_of
from ssi_core.parts import LOCAL


@task(
    name="fetch the files",
    task_run_name="fetch the files",
    cache_policy=NO_CACHE,
    retries=5,
    retry_delay_seconds=[10, 60, 300, 900, 3600],
    retry_condition_fn=worth_retrying,
)
def fetch(source: Source) -> Source:
    """Fetch or make the files of a source; an attempt goes on where the one before it stopped."""
    return source.fetched(progress("fetch"))


@task(
    name="read the source",
    task_run_name="read the source",
    cache_policy=NO_CACHE,
    retries=1,
    retry_condition_fn=worth_retrying,
)
def read_source(source: Source, out: str | None, force: bool) -> str:
    """Read the files of a source into a collection."""
    path = Path(out) if out else None
    artefact = source.read(out=path, force=force, progress=progress("ingest"))
    show_counts(artefact)
    return str(artefact.path)


def ingest_source(settings: SourceSettings, earlier: str = "") -> str:
    """Make the collection that the settings describe, unless it is there; call it inside a flow.

    Parameters
    ----------
    earlier : str
        A collection of the same source, of which only the rest is read.
    """
    source = settings.chosen()
    if type(source).fetched is not Source.fetched:
        source = fetch(source)
    if earlier:
        source = source.after(Path(earlier))
    return read_source(source, settings.out, settings.force)


def settings_of_files(
    paths: Sequence[str], processes: int | None = None, where: str = LOCAL
) -> IngestSettings:
    """Return the settings of the source that files look like, the first of them."""
    name = source_of(Path(paths[0]))
    fields = source_named(name).model_fields
    more = {"processes": processes, "where": where}
    return IngestSettings(
        source=name, paths=paths, **{key: value for key, value in more.items() if key in fields}
    )


_DOCUMENTS, _MATES = IngestSettings(), MatesSettings()


@flow(name="ingest", flow_run_name="read {settings.source}")
def ingest(settings: IngestSettings = _DOCUMENTS) -> str:
    """Turn dumps, or another source, into a corpus directory; every drop is counted.

    Returns the path of the corpus. What is already there is not made again.
    """
    begin()
    return ingest_source(settings)


@flow(name="ingest-mates", flow_run_name="read {settings.source}")
def ingest_mates(settings: MatesSettings = _MATES) -> str:
    """Find pairs of documents in two languages; every link that makes none is counted.

    Returns the path of the mates. What is already there is not made again.
    """
    begin()
    return ingest_source(settings)


@flow(name="ingest-clicks", flow_run_name="read {settings.source}")
def ingest_clicks(settings: ClicksSettings) -> str:
    """Turn click logs into slates, weighted pairs and the texts of both sides.

    Returns the path of the clicks, of which ``features`` makes a task. What is already there is not
    made again; rows that are not believed are in its quarantine.csv, and counted.
    """
    begin()
    return ingest_source(settings)
