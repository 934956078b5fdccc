"""User Behavior Insights (UBI 1.x): queries and events of a search engine, as indices hold them.

A query has ``query_id``, ``user_query`` and perhaps ``query_response_hit_ids``; an event has
``action_name``, ``query_id``, perhaps ``user_query``, and in ``event_attributes`` an
``object.object_id`` with its ``position.ordinal``. Both may be in one file, in any order.

The events of one query_id with one wording are a slate. It shows the objects of its impressions,
or, where it has none, those of the response; what was clicked was shown.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from ssi_core import collection, files, store
from ssi_core.collection import KIND
from ssi_core.corpus import inputs
from ssi_core.corpus.clicks.check import QUARANTINE, time
from ssi_core.corpus.clicks.columns import LogForm, LogMap, TextForm
from ssi_core.corpus.clicks.language import name_language
from ssi_core.corpus.clicks.lines import PROBLEMS, Place, decoded_lines
from ssi_core.corpus.clicks.log import kind_of, read_log, text_bytes
from ssi_core.corpus.clicks.quarantine import Quarantine
from ssi_core.corpus.clicks.rules import Rules
from ssi_core.corpus.clicks.settle import settle
from ssi_core.corpus.clicks.shards import ROWS, Shards
from ssi_core.corpus.clicks.slates import as_quarantined
from ssi_core.corpus.clicks.texts import PLACEHOLDER, Listed, id_of, write_texts
from ssi_core.corpus.table import header_of
from ssi_core.resources import require
from ssi_core.store import Artefact, Building
from ssi_core.types import BadInput, Progress

CLICK, IMPRESSION = "click", "impression"
"""Names of the actions that UBI gives to a click and to a showing."""

_FORM = LogMap({"session": "query_id", "position": "ordinal", "clicked": "action", "time": "time"})
_WRAPPED = "_source"  # of an exported hit of a search
_ACTIONS = ({"index"}, {"create"})  # keys of the lines between the documents of a bulk request
_NUMBER = 1 << 31
_BASE, _OF_TEXT, _MOST = 150_000_000, 5, 800_000_000  # bytes of memory, as of other logs
_ROW: dict[str, Any] = {
    "file": pl.Int32, "line": pl.Int64, "session": pl.String, "kind": pl.String,
    "text": pl.String, "ad": pl.String, "position": pl.Int64, "user": pl.String,
    "time": pl.String, "application": pl.String, "hits": pl.List(pl.String),
}  # fmt: skip
_KEYS = ["session", "text", "ad"]


def ingest_ubi(
    paths: Sequence[Path],
    out: Path | None = None,
    *,
    ads: Path | None = None,
    clicks: Sequence[str] = (CLICK,),
    impressions: Sequence[str] = (IMPRESSION,),
    language: str | None = None,
    rules: Rules | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Artefact:
    """Make a collection of UBI queries and events: wordings are queries, objects documents.

    Memory: a shard of the events, the wordings, and the ids of the objects.

    Parameters
    ----------
    paths : sequence of Path
        Files of queries and events (JSON lines, CSV, TSV or parquet, plain or packed), or
        directories of such files.
    out : Path, optional
        Directory of the collection; by default one of the store.
    ads : Path, optional
        Collection or table of the objects' texts, by ``object_id``; by default the text of an
        object is its ``description`` in an event.
    clicks, impressions : sequence of str
        Names of the actions that count as a click, and as a showing.
    language : str, optional
        Code of the texts' language; by default guessed from their script.
    rules : Rules, optional
        Which clicks count; by default all.

    Raises
    ------
    BadInput
        A file is missing or damaged, too many lines are broken, or no click is left.
    Refused
        ``out`` holds something else, or is being written.
    """
    rules = (rules or Rules("all")).of(_FORM)
    exports = [file for path in paths for file in _files(Path(path))]
    listed = None
    if ads is not None:
        listed = Listed(Path(ads), TextForm(language=language or ""), LogForm())
    tables = [listed.path] if listed is not None and not listed.parents else []
    parents = inputs.digest_inputs([*exports, *tables], progress=progress)
    if listed is not None:
        parents |= {f"ads {name}": key for name, key in listed.parents.items()}
    settings = {
        "source": "ubi",
        **vars(rules),
        "actions": {"clicks": sorted(clicks), "impressions": sorted(impressions)},
        "ads": None if listed is None else listed.path.name,
        "language": language,
    }
    kinds = dict.fromkeys(impressions, IMPRESSION) | dict.fromkeys(clicks, CLICK)
    make = partial(
        _build,
        paths=exports,
        listed=listed,
        kinds=kinds,
        language=language,
        rules=rules,
        progress=progress,
    )
    return store.open_or_make(KIND, settings, parents, make, out=out, force=force)


def _files(path: Path) -> list[Path]:
    """Return a file, or the files of a directory that are of a known format."""
    if not path.is_dir():
        return [path]
    exports = sorted(one for one in path.iterdir() if one.is_file() and kind_of(one, LogForm()))
    if not exports:
        raise BadInput(f"{path}: no file there is .ndjson, .jsonl, .csv, .tsv or .parquet.")
    return exports


@dataclass
class _Reading:
    """Totals over all lines.

    Attributes
    ----------
    skipped : Counter
        Events and queries that are left out, by reason.
    others : Counter
        Events that are neither a click nor a showing, by their action.
    first : dict
        Smallest ordinal of an impression, by application: 0 where positions begin with 0.
    texts : dict
        Description of an object, by its id.
    """

    kinds: Mapping[str, str]
    totals: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def row(self, file: int, line: int, one: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Return the row of a query, or of an event that tells of an object; else count it."""
        action = one.get("action_name")
        if action is None and "user_query" not in one:
            self.skipped["neither_query_nor_event"] += 1
            return None
        name = "query" if action is None else "event"
        self.totals[name] += 1
        kind = name if action is None else self.kinds.get(str(action))
        session, text = _word(one.get("query_id")), _word(one.get("user_query"))
        if kind is None:
            self.others[str(action)] += 1
        elif session is None:
            self.skipped[f"{name}_without_query_id"] += 1
        elif kind == name and text is None:
            self.skipped["query_without_text"] += 1
        else:
            return self._row(file, line, one, (session, kind, text))
        return None

    def _row(
        self, file: int, line: int, one: Mapping[str, Any], known: tuple[str, str, str | None]
    ) -> tuple[Any, ...] | None:
        about = _inner(one, "event_attributes")
        shown, place = _inner(about, "object"), _inner(about, "position").get("ordinal")
        ad, application = _word(shown.get("object_id")), _word(one.get("application")) or ""
        if known[1] != "query" and ad is None:
            self.skipped["event_without_object_id"] += 1
            return None
        position = _number(place)
        if known[1] == IMPRESSION and position is not None:
            self.first[application] = min(position, self.first.get(application, position))
        if ad and (words := _word(shown.get("description"))):
            self.texts.setdefault(ad, words)
        user = _word(one.get("user_id")) or _word(one.get("client_id"))
        hits = _hits(one.get("query_response_hit_ids"))
        when = _word(one.get("timestamp"))
        return (file, line, *known, ad, position, user, when, application, hits)


def _word(value: Any) -> str | None:
    """Return a value as text on one line; None for nothing."""
    return " ".join(str(value).split()) or None if value is not None else None


def _number(value: Any) -> int | None:
    """Return a whole number from 0; None for what is none.

    >>> _number(3), _number("3"), _number(-1), _number("x"), _number(None)
    (3, 3, None, None, None)
    """
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 <= number < _NUMBER else None


def _inner(one: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object in another; of a table it is a cell of JSON, or columns with dots."""
    value = one.get(name)
    if isinstance(value, str):
        value = _object(value)
    if isinstance(value, Mapping):
        return value
    start = f"{name}."
    return {key.removeprefix(start): part for key, part in one.items() if key.startswith(start)}


def _hits(value: Any) -> list[str]:
    """Return the ids of a response: a list, or in a table its JSON, or names with | between."""
    if isinstance(value, str):
        value = _list(value) if value.startswith("[") else value.split("|")
    words = (_word(one) for one in value) if isinstance(value, list) else ()
    return [word for word in words if word]


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _list(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return []


def _documents(path: Path) -> Iterator[tuple[list[tuple[int, dict[str, Any]]], list[_Broken]]]:
    """Yield blocks of the documents of a file with their lines, and the lines that are none."""
    kind = kind_of(path, LogForm())
    if not kind:
        raise BadInput(
            f"{path}: its name does not say what it is. Name it .ndjson, .jsonl, .csv, .tsv or "
            ".parquet."
        )
    with files.reading(path, "Restore the file, or export it anew."):
        if kind == "parquet":
            yield from _of_parquet(path)
        elif kind == "jsonl":
            yield from _of_json(path)
        else:
            yield from _of_cells(path)


_Broken = tuple[int, str, str, str]
"""Line, category, reason and text of a line that is no document."""


def _of_parquet(path: Path) -> Iterator[tuple[list[tuple[int, dict[str, Any]]], list[_Broken]]]:
    line = 1
    for batch in pl.scan_parquet(path, glob=False).collect_batches(maintain_order=True):
        yield list(enumerate(batch.iter_rows(named=True), line)), []
        line += len(batch)


def _of_cells(path: Path) -> Iterator[tuple[list[tuple[int, dict[str, Any]]], list[_Broken]]]:
    names = header_of(path)
    for block in read_log(path, names, LogForm()):
        wrong = block.filter(pl.col("category").is_not_null())
        rows = block.filter(pl.col("category").is_null())
        documents = [
            (line, {name: cell for name, cell in row.items() if cell})
            for line, row in zip(
                rows["line"], rows.select(names).iter_rows(named=True), strict=True
            )
        ]
        yield documents, wrong.select("line", "category", "problem", "raw").rows()


def _of_json(path: Path) -> Iterator[tuple[list[tuple[int, dict[str, Any]]], list[_Broken]]]:
    for first, lines, wrong in decoded_lines(path, "utf-8", Place()):
        documents, broken = [], []
        for line, text in enumerate(lines, first):
            one = _object(text) if line - first not in wrong else None
            category = wrong.get(line - first, "json")
            if one is not None and one.keys() not in _ACTIONS:
                documents.append((line, one.get(_WRAPPED, one)))
            elif one is None and text.strip():
                problem = PROBLEMS[category].format(encoding="utf-8")
                broken.append((line, category, problem, text[:200]))
        yield documents, broken


def _build(
    building: Building,
    paths: Sequence[Path],
    listed: Listed | None,
    kinds: Mapping[str, str],
    language: str | None,
    rules: Rules,
    progress: Progress | None,
) -> None:
    reading = _Reading(kinds)
    names = [path.name for path in paths]
    quarantine = Quarantine(
        building.path, building.path, rules.most_broken, "the texts of its objects (--ads)"
    )
    size = text_bytes(paths)
    memory = _BASE + min(_OF_TEXT * size, _MOST)
    require("the ingestion of UBI", memory=memory, directory=building.path.parent, disk=size)
    events = Shards(building.path / "events", size)
    for number, path in enumerate(paths):
        for documents, broken in _documents(path):
            read = [reading.row(number, line, one) for line, one in documents]
            events.add(pl.DataFrame([row for row in read if row], schema=_ROW, orient="row"))
            lines = [(path.name, *one) for one in broken]
            quarantine.add(pl.DataFrame(lines, schema=dict(QUARANTINE), orient="row"))
            quarantine.rows += len(documents) + len(broken)
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
            shown = shown.with_columns(page=pl.col("text").replace_strict(ids))
            slates.add(_with_text(shown, known, listed, quarantine, names))
    slates.flush()
    events.remove()
    if not any(len(slates.read(shard)) for shard in slates):
        left_out = {
            **reading.skipped,
            **{f"action {name!r}": n for name, n in reading.others.items()},
        }
        raise BadInput(
            f"{paths[0]}: no click and no impression of a query is left "
            f"({', '.join(f'{n:,} {name}' for name, n in left_out.items()) or 'it has none'}). "
            "Give the queries beside the events; name the actions (--action, --shown-by)."
        )
    used = settle(building, rules, slates, names, quarantine, paths[0])
    slates.remove()
    _write_texts(building, words, used, listed, reading.texts, language)
    quarantine.finish()
    building.counts.update(
        queries_found=reading.totals["query"],
        events_found=reading.totals["event"],
        shown_by_response=reading.totals["by_response"],
        position_repeated=reading.totals["position_repeated"],
    )
    building.skipped.update(sorted(reading.skipped.items()))
    building.skipped["event_of_other_action"] = dict(sorted(reading.others.items()))
    broken_rows = sorted(quarantine.broken.items())
    building.skipped.update({f"row_{name}": n for name, n in broken_rows})


def _slates(rows: pl.DataFrame, reading: _Reading) -> pl.DataFrame:
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
    place = pl.col("position") + pl.when(first == 0).then(1).otherwise(0)
    events = events.with_columns(pl.when(place > 0).then(place).alias("position"))
    shown = events.filter(pl.col("kind") == IMPRESSION)
    clicked = events.filter(pl.col("kind") == CLICK)
    reading.skipped["impression_repeated"] += len(shown) - shown.select(_KEYS).n_unique()
    slates = shown.select("session", "text").unique()
    hits = (
        queries.sort(pl.col("hits").list.len(), descending=True, maintain_order=True)
        .unique(["session", "text"], keep="first", maintain_order=True)
        .join(slates, on=["session", "text"], how="anti", maintain_order="left")
        .with_columns(ad=pl.col("hits"), position=pl.int_ranges(1, pl.col("hits").list.len() + 1))
        .explode("ad", "position", empty_as_null=False)
        .filter(pl.col("ad").is_not_null())
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
        pl.col("clicked").fill_null(False), pl.col("position").cast(pl.Int32), time=time(_FORM)
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
    has_text = pl.col("ad").is_in(known.implode())
    where = f"is no id of {listed.path.name}" if listed else "has no description, and no --ads"
    textless = rows.filter(~has_text).with_columns(
        category=pl.lit("ad_unknown"), reason=pl.format(f"object_id: '{{}}' {where}", "ad")
    )
    if len(textless):
        quarantine.add(as_quarantined(textless, names))
    return rows.filter(has_text).select(pl.col(name).cast(of) for name, of in ROWS.items())


def _write_texts(
    building: Building,
    words: Mapping[str, str],
    used: Mapping[str, pl.DataFrame],
    listed: Listed | None,
    texts: Mapping[str, str],
    language: str | None,
) -> None:
    tables = {"queries": (words, used["page"]), "documents": (texts, used["ad"])}
    guessed = []
    for side in collection.SIDES:
        with collection.text_writer(building.path, side) as writer:
            if side == "documents" and listed is not None:
                listed.write(writer)
            else:
                table, ids = tables[side]
                rows = pl.DataFrame({"id": sorted(ids["id"])}, schema={"id": pl.String})
                rows = rows.with_columns(
                    title=pl.lit(None, pl.String), text=pl.col("id").replace_strict(table)
                )
                write_texts(writer, rows, language or PLACEHOLDER)
            if not (side == "documents" and listed is not None and listed.parents):
                guessed.append(building.path / side)
        building.counts[side] = writer.rows
    if language is None:
        building.counts["language"] = name_language(guessed)
