"""Flow ``ingest-clicks``: a click log, or a data set of clicks -> a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from pydantic import BaseModel, ConfigDict, Field

from flows.steps import begin, progress, show_counts, worth_retrying
from ssi_core import store
from ssi_core.corpus.clicks.before import LINES
from ssi_core.types import BadInput


class ClicksSettings(BaseModel):
    """Where clicks come from, and which of them count."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Literal["log", "wikispeedia", "farm-ads"] = Field(
        default="log",
        description="log: click logs; wikispeedia, farm-ads: the directory of that data set",
    )
    paths: list[str] = Field(
        min_length=1,
        description="Logs (a pattern such as logs/*.csv: all that match, by name), or the "
        "directory of the data set",
    )
    since: str | None = Field(
        default=None,
        description="Of logs: clicks of earlier ones; only lines that they have not read are read",
    )
    columns: str | None = Field(
        default=None, description="Of logs: TOML file that names the columns"
    )
    pages: str | None = Field(default=None, description="Collection or table of the pages' texts")
    ads: str | None = Field(default=None, description="Collection or table of the ads' texts")
    language: str | None = Field(
        default=None,
        description="Of the texts of logs and tables, the code of a Wikipedia; empty: what the map "
        "says, else a guess from their script",
    )
    clicks: Literal["first", "all", "weighted", "inverse"] | None = Field(
        default=None,
        description="Clicks that count; empty: first, or all where the log has no positions. "
        "first: of position 1; all: all alike; weighted: a pair weighs its clicks over its looks; "
        "inverse: each click by one over the propensity of its position, for rows with "
        "against = 'shown'",
    )
    clip: float = Field(default=10.0, ge=1, description="Of inverse: the largest weight of a click")
    most_broken: float = Field(
        default=0.05, ge=0, le=1, description="Share of rows that may go into quarantine"
    )
    out: str | None = Field(
        default=None, description="Directory to write; empty: one under .ssi/store"
    )
    force: bool = Field(
        default=False, description="Replace what that directory holds, if it differs"
    )


@task(cache_policy=NO_CACHE, retries=1, retry_condition_fn=worth_retrying)
def read_clicks(settings: ClicksSettings) -> str:
    """Check the rows, keep slates with a click, weigh pairs."""
    tell: dict[str, Any] = {"force": settings.force, "progress": progress("clicks")}
    tell["out"] = Path(settings.out) if settings.out else None
    paths = [Path(path) for path in settings.paths]
    if settings.source == "wikispeedia":
        from ssi_core.corpus.clicks.wikispeedia import ingest_wikispeedia_clicks

        artefact = ingest_wikispeedia_clicks(paths[0], **tell)
    elif settings.source == "farm-ads":
        from ssi_core.corpus.clicks.farm_ads import ingest_farm_ads

        artefact = ingest_farm_ads(paths[0], **tell)
    else:
        from ssi_core.corpus.clicks.build import ingest_clicks as read
        from ssi_core.corpus.clicks.columns import load_map
        from ssi_core.corpus.clicks.rules import Rules

        rules = Rules(settings.clicks, settings.clip, settings.most_broken)
        form = load_map(Path(settings.columns or ""))
        if settings.language:
            form = form.in_language(settings.language)
        pages, ads = (Path(place) if place else None for place in (settings.pages, settings.ads))
        tell["since"] = Path(settings.since) if settings.since else None
        artefact = read(paths, form, pages=pages, ads=ads, rules=rules, **tell)
    show_counts(artefact)
    return str(artefact.path)


def clicks_source(settings: ClicksSettings) -> str:
    """Make the clicks that the settings describe, unless they are there; call it inside a flow."""
    if settings.source == "log" and not settings.columns:
        raise BadInput("source 'log': which column is which? 'columns' names no TOML file.")
    settings = settings.model_copy(
        update={"paths": [found for path in settings.paths for found in _matching(path)]}
    )
    return read_clicks(settings)


def since_clicks(settings: ClicksSettings, before: str) -> ClicksSettings:
    """Return the settings with earlier clicks as ``since``, where both are of logs."""
    if settings.since or settings.source != "log" or not (Path(before) / store.MANIFEST).is_file():
        return settings
    if not (Path(before) / LINES).exists():
        return settings
    return settings.model_copy(update={"since": before})


def _matching(path: str) -> list[str]:
    """Return the files whose names match, by name; the path itself where there are none."""
    one = Path(path)
    return [path] if one.exists() else sorted(map(str, one.parent.glob(one.name))) or [path]


@flow(name="ingest-clicks")
def ingest_clicks(settings: ClicksSettings) -> str:
    """Turn click logs into slates, weighted pairs and the texts of both sides.

    Returns the path of the clicks, of which ``features`` makes a task. What is already there is not
    made again; rows that are not believed are in its quarantine.csv, and counted.
    """
    begin()
    return clicks_source(settings)
