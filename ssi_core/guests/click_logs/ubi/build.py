"""User Behavior Insights (UBI 1.x): queries and events of a search engine, as indices hold them.

A query has ``query_id``, ``user_query`` and perhaps ``query_response_hit_ids``; an event has
``action_name``, ``query_id``, perhaps ``user_query``, and in ``event_attributes`` an
``object.object_id`` with its ``position.ordinal``. Both may be in one file, in any order.

The events of one query_id with one wording are a slate. It shows the objects of its impressions,
or, where it has none, those of the response; what was clicked was shown. Judgement lists and query
sets (`judged`) may be among the files; their queries are those of the same wording.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ssi_core import collection
from ssi_core.corpus.language import name_languages
from ssi_core.corpus.tables.form import TableForm, kind_of, text_bytes
from ssi_core.corpus.texts import PLACEHOLDER, id_of, write_texts
from ssi_core.corpus.tree import walk
from ssi_core.guests.click_logs.check import QUARANTINE, time
from ssi_core.guests.click_logs.columns import LogMap
from ssi_core.guests.click_logs.quarantine import Quarantine
from ssi_core.guests.click_logs.resolve import as_quarantined, resolve
from ssi_core.guests.click_logs.rules import Rules
from ssi_core.guests.click_logs.shards import ROWS, Shards
from ssi_core.guests.click_logs.texts import Listed, TextForm
from ssi_core.guests.click_logs.ubi.lines import CLICK, IMPRESSION, ROW, UbiLines, documents_of
from ssi_core.remedies import typed
from ssi_core.resources import require
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.guests.click_logs.ubi.source import Ubi
    from ssi_core.store import Building

_FORM = LogMap(
    {"session": "query_id", "position": "ordinal", "clicked": "action", "timestamp": "time"}
)
_BASE, _OF_TEXT, _MOST = 150_000_000, 5, 800_000_000  # bytes of memory, as of other logs
_KEYS = ["session", "text", "document"]


def rules_of(source: Ubi) -> Rules:
    """Return which clicks count."""
    return Rules(source.clicks, source.clip, source.most_broken).of(_FORM)


def exports_of(paths: Sequence[Path], skipped: Counter[str]) -> list[Path]:
    """Return the files, and those of directories that are of a known format."""
    return [file for path in paths for file in _files(path, skipped)]


def _files(path: Path, skipped: Counter[str]) -> list[Path]:
    if not path.is_dir():
        return [path]
    exports = [file for file in walk(path, skipped, deep=False) if kind_of(file)]
    if not exports:
        raise BadInput(f"{path}: no file there is .ndjson, .jsonl, .csv, .tsv or .parquet.")
    return exports


def build(building: Building, source: Ubi, progress: Progress | None) -> None:
    """Write a collection of queries and events: wordings are queries, objects documents.

    Memory: a shard of the events, the wordings, and the ids of the objects.

    Raises
    ------
    BadInput
        A file is damaged, too many lines are broken, or no click and no judgement is left.
    """
    rules, language = rules_of(source), source.language
    skipped: Counter[str] = Counter()
    paths = exports_of(source.paths, skipped)
    listed = None
    if source.documents is not None:
        listed = Listed(
            source.documents,
            TextForm(**source.columns, language=language or ""),
            TableForm(**source.written),
        )
    kinds = dict.fromkeys(source.shown_by, IMPRESSION) | dict.fromkeys(source.actions, CLICK)
    reading = UbiLines(kinds)
    names = [path.name for path in paths]
    quarantine = Quarantine(
        building.path,
        building.path,
        rules.most_broken,
        f"the texts of its objects ({typed('texts')})",
    )
    size = text_bytes(paths)
    memory = _BASE + min(_OF_TEXT * size, _MOST)
    require("the ingestion of UBI", memory=memory, directory=building.path.parent, disk=size)
    events = Shards(building.path / "events", size)
    for number, path in enumerate(paths):
        for taken, broken in documents_of(path, partial(reading.row, number)):
            events.add(pl.DataFrame([row for row in taken if row], schema=ROW, orient="row"))
            wrong = [(path.name, *one) for one in broken]
            quarantine.add(pl.DataFrame(wrong, schema=dict(QUARANTINE), orient="row"))
            quarantine.rows += len(taken) + len(broken)
            quarantine.limit(path)
            if progress is not None:
                progress(0.0, f"{quarantine.rows:,} lines of {path.name}")
    events.flush()
    known = listed.known()["id"] if listed is not None else pl.Series(list(reading.texts))
    slates = Shards(building.path / "rows", size)
    words: dict[str, str] = {}
    for shard in events:
        if len(rows := events.read(shard)):
            shown = _slates(rows, reading)
            wordings = shown["text"].unique().to_list()
            words |= {id_of(text): text for text in wordings}
            ids = {text: id_of(text) for text in wordings}
            shown = shown.with_columns(query=pl.col("text").replace_strict(ids))
            slates.add(_with_text(shown, known, listed, quarantine, names))
    slates.flush()
    events.remove()
    used = {side: pl.DataFrame(schema={"id": pl.String}) for side in ("query", "document")}
    if has_clicks := any(len(slates.read(shard)) for shard in slates):
        used = resolve(building, rules, slates, names, quarantine, paths[0])
    slates.remove()
    queries = {id: words[id] for id in used["query"]["id"]}
    described = {id: reading.texts[id] for id in used["document"]["id"]} if listed is None else {}
    _write_texts(building, queries | reading.judged.words, described, listed, language)
    has_judgements = reading.judged.write(building)
    if not has_clicks and not has_judgements:
        raise BadInput(
            f"{paths[0]}: no click, no impression and no judgement of a query is left "
            f"({_left_out(reading)}). Give the queries beside the events; name the actions "
            f"({typed('action')}, {typed('shown-by')}) and the texts ({typed('texts')})."
        )
    quarantine.finish()
    building.counts.update(
        queries_found=reading.totals["query"],
        events_found=reading.totals["event"],
        shown_by_response=reading.totals["by_response"],
        position_repeated=reading.totals["position_repeated"],
    )
    building.skipped.update(sorted({**skipped, **reading.skipped}.items()))
    building.skipped["event_of_other_action"] = dict(sorted(reading.others.items()))
    broken_rows = sorted(quarantine.broken.items())
    building.skipped.update({f"row_{name}": n for name, n in broken_rows})


def _slates(rows: pl.DataFrame, reading: UbiLines) -> pl.DataFrame:
    """Return what the queries of a shard showed, each object of a wording once."""
    rows = rows.sort("file", "line")
    queries = rows.filter(pl.col("kind") == "query")
    events = rows.filter(pl.col("kind") != "query")
    only = queries.group_by("session").agg(own=pl.col("text").first(), n=pl.col("text").n_unique())
    events = events.join(only, on="session", how="left", maintain_order="left")
    described = pl.col("text").is_not_null()
    reading.skipped["event_of_unknown_query"] += len(
        events.filter(~described & pl.col("n").is_null())
    )
    reading.skipped["event_of_several_wordings"] += len(
        events.filter(~described & (pl.col("n") > 1))
    )
    one = pl.when(pl.col("n") == 1).then("own")
    events = events.with_columns(text=pl.coalesce("text", one)).filter(described).drop("own", "n")
    first = pl.col("application").replace_strict(reading.first, default=1, return_dtype=pl.Int64)
    position = pl.col("position") + pl.when(first == 0).then(1).otherwise(0)
    events = events.with_columns(pl.when(position > 0).then(position).alias("position"))
    shown = events.filter(pl.col("kind") == IMPRESSION)
    clicked = events.filter(pl.col("kind") == CLICK)
    reading.skipped["impression_repeated"] += len(shown) - shown.select(_KEYS).n_unique()
    slates = shown.select("session", "text").unique()
    hits = (
        queries.sort(pl.col("hits").list.len(), descending=True, maintain_order=True)
        .unique(["session", "text"], keep="first", maintain_order=True)
        .join(slates, on=["session", "text"], how="anti", maintain_order="left")
        .with_columns(
            document=pl.col("hits"), position=pl.int_ranges(1, pl.col("hits").list.len() + 1)
        )
        .explode("document", "position", empty_as_null=False)
        .filter(pl.col("document").is_not_null())
    )
    reading.totals["by_response"] += len(hits)
    every = pl.concat([shown, hits.select(shown.columns), clicked])
    every = every.unique(_KEYS, keep="first", maintain_order=True)
    # The places of a second page of results, or of a second response, may begin anew.
    new = pl.struct("session", "text", "position").is_first_distinct()
    known = pl.col("position").is_not_null()
    reading.totals["position_repeated"] += len(every.filter(known & ~new))
    every = every.with_columns(position=pl.when(new).then("position"))
    clicks = clicked.select(_KEYS).unique().with_columns(clicked=pl.lit(True))
    every = every.join(clicks, on=_KEYS, how="left", maintain_order="left")
    return every.with_columns(
        pl.col("clicked").fill_null(False), pl.col("position").cast(pl.Int32), timestamp=time(_FORM)
    )


def _with_text(
    shown: pl.DataFrame,
    known: pl.Series,
    listed: Listed | None,
    quarantine: Quarantine,
    names: Sequence[str],
) -> pl.DataFrame:
    """Return the rows whose object has a text, in the schema of `shards.ROWS`."""
    nothing = {name: pl.lit(None, pl.Int64) for name in ("shown", "clicks")}
    rows = shown.with_columns(**nothing, grade=pl.lit(None, pl.Float64))
    has_text = pl.col("document").is_in(known.implode())
    where = (
        f"is no id of {listed.path.name}"
        if listed
        else "has no description, and no texts are given"
    )
    textless = rows.filter(~has_text).with_columns(
        category=pl.lit("document_unknown"),
        reason=pl.format(f"object_id: '{{}}' {where}", "document"),
    )
    if len(textless):
        quarantine.add(as_quarantined(textless, names))
    return rows.filter(has_text).select(pl.col(name).cast(of) for name, of in ROWS.items())


def _left_out(reading: UbiLines) -> str:
    actions = {f"action {name!r}": n for name, n in reading.others.items()}
    left_out = {**reading.skipped, **actions, **reading.judged.skipped}
    return ", ".join(f"{n:,} {name}" for name, n in left_out.items()) or "it has none"


def _write_texts(
    building: Building,
    queries: Mapping[str, str],
    described: Mapping[str, str],
    listed: Listed | None,
    language: str | None,
) -> None:
    guessed: list[collection.Side] = []
    for side, texts in zip(collection.SIDES, (queries, described), strict=True):
        with collection.text_writer(building.path, side) as writer:
            if side == "documents" and listed is not None:
                listed.write(writer)
            else:
                ids = sorted(texts)
                schema = {"id": pl.String, "title": pl.String, "text": pl.String}
                columns = [ids, [None] * len(ids), [texts[id] for id in ids]]
                rows = pl.DataFrame(columns, schema=schema)
                write_texts(writer, rows, language or PLACEHOLDER)
            if not (side == "documents" and listed is not None and listed.parents):
                guessed.append(side)
        building.counts[side] = writer.rows
    if language is None:
        building.counts |= name_languages(building.path, guessed)
