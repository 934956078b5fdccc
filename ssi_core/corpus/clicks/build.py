"""From a click log to a ``clicks`` artefact: slates, pairs with weights, texts of both sides.

Beside the tables of `artefact`, the directory holds

- ``propensities.parquet``: with ``clicks = "weighted"``, see `propensity`
- ``quarantine.csv``: rows that were not believed, with the reason; none where all were

A slate is what one session was shown on one page. Slates without a click are dropped: whoever never
clicked may never have looked (journal paper, section 4.4). Whatever is left out is counted.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import polars as pl

from ssi_core import store
from ssi_core.corpus import inputs, tables
from ssi_core.corpus.clicks import (
    artefact,
    check,
    columns,
    log,
    propensity,
    shards,
    slates,
    texts,
)
from ssi_core.corpus.clicks.artefact import IMPRESSIONS, KIND, PAIRS
from ssi_core.corpus.clicks.check import alike, judged
from ssi_core.corpus.clicks.columns import LogMap
from ssi_core.corpus.clicks.log import read_log, text_bytes
from ssi_core.corpus.clicks.propensity import estimate_propensities
from ssi_core.corpus.clicks.rules import Rules
from ssi_core.corpus.clicks.shards import Shards
from ssi_core.corpus.clicks.slates import as_quarantined, slates_of, weighed
from ssi_core.corpus.clicks.texts import Gathered, Listed, finish_corpus, with_ids
from ssi_core.corpus.tables import PartWriter
from ssi_core.resources import require
from ssi_core.store import Artefact, Building
from ssi_core.types import BadInput, Progress

# Bytes of memory: of a block and of a shard of rows; of an id, if each line had a new one.
_BASE, _OF_TEXT, _MOST, _ID, _TEXT_OF_AN_ID = 150_000_000, 5, 800_000_000, 60, 200
_LEAST = 1000  # rows before a log is called broken as a whole


def ingest_clicks(
    logs: Sequence[Path],
    form: LogMap,
    out: Path,
    *,
    pages: Path | None = None,
    ads: Path | None = None,
    rules: Rules | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Artefact:
    """Make a ``clicks`` artefact of logs of one form.

    Memory: a block of the log, a shard of its rows, and the ids of all pages and ads; said before
    the work begins.

    Parameters
    ----------
    logs : files, one after the other
    form : `columns.load_map`
    out : directory; up to date when it bears the key of these files and settings
    pages, ads : corpus directory or table of the texts, where the log has only ids
    rules : `Rules`
    force : replace an artefact made from something else

    Raises
    ------
    BadInput
        A file is damaged, a column is missing, too many rows are broken, or no click is left.
    Refused
        ``out`` holds something else, or is being written; or memory or disk is too small.
    ValueError
        A rule is none.
    """
    rules = rules or Rules()
    logs, out = [Path(log) for log in logs], Path(out)
    if not logs:
        raise ValueError("logs: none is given, expected one or more")
    listed = {
        side: Listed(Path(path), texts_form, form.log)
        for side, path, texts_form in (("page", pages, form.pages), ("ad", ads, form.ads))
        if path is not None
    }
    _check_texts(form, set(listed))
    read = [*logs, *(one.path for one in listed.values() if one.path.is_file())]
    parents = inputs.digest_inputs(read, progress=progress)
    parents |= {
        f"{side} texts": key for side, one in listed.items() for key in one.parents.values()
    }
    said = {**vars(rules), "map": form.configuration()}
    rooms = (artefact, check, columns, log, propensity, shards, slates, texts, tables)
    code = store.digest_code(sys.modules[__name__], *rooms)
    key = store.key_of(KIND, said, parents, code)
    found = store.up_to_date(out, KIND, key, force=force)
    if found is not None:
        return found
    text = text_bytes(logs)
    require(
        "the ingestion of clicks",
        memory=int(_BASE + min(_OF_TEXT * text, _MOST) + _ID * text / _TEXT_OF_AN_ID),
        directory=out,
        disk=text // 2,
    )
    if rules.split == "time" and "time" not in form.columns:
        raise BadInput(f"{form.where}: split 'time' needs a time under [columns].")
    with store.create(out, kind=KIND, key=key, configuration=said, parents=parents) as building:
        _Ingestion(building, form, rules, listed, progress).run(logs)
    return store.read(out, KIND)


def _check_texts(form: LogMap, listed: set[str]) -> None:
    for side in ("page", "ad"):
        if side in listed and side not in form.columns:
            raise BadInput(
                f"{form.where}: [columns]: {side} missing: which column has the ids of --{side}s?"
            )
        if side not in listed and f"{side}_text" not in form.columns:
            raise BadInput(
                f"{form.where}: no text of {side}s: name its column ({side}_text under "
                f"[columns]), or give a table or a corpus of the texts (--{side}s)."
            )


class _Ingestion:
    """One pass over the logs into shards by session, and one over the shards."""

    def __init__(
        self,
        building: Building,
        form: LogMap,
        rules: Rules,
        listed: dict[str, Listed],
        progress: Progress | None,
    ) -> None:
        self._building, self._form, self._rules = building, form, rules
        self._listed, self._progress = listed, progress
        self._broken: Counter[str] = Counter()
        self._rows = 0
        self._first: dict[str, str] = {}
        self._hints: dict[str, list[str]] = {}

    def run(self, logs: Sequence[Path]) -> None:
        rows = Shards(self._building.path / "rows", text_bytes(logs))
        with ExitStack() as stack:
            writers = {side: _corpus_writer(self._building.path, side) for side in ("page", "ad")}
            for writer in writers.values():
                stack.enter_context(writer)
            forms = {"page": self._form.pages, "ad": self._form.ads}
            gathered = {
                side: Gathered(side, writers[side], forms[side].language)
                for side in writers
                if side not in self._listed
            }
            for number, path in enumerate(logs):
                self._read(path, number, rows, gathered)
            self._limit(logs[0], at_end=True)
            rows.flush()
            used = self._settle(rows, logs)
            if "page" in self._listed:
                self._listed["page"].write(writers["page"], used["page"])
            if "ad" in self._listed:
                self._listed["ad"].write(writers["ad"])
            counts = {f"{side}s": writer.rows for side, writer in writers.items()}
        for side in writers:
            finish_corpus(self._building, f"{side}s", counts[f"{side}s"])
        self._building.counts.update(counts)
        skipped = self._building.skipped
        skipped.update({f"row_{name}": n for name, n in sorted(self._broken.items())})
        for side, one in self._listed.items():
            skipped |= {f"{side}s_{name}": n for name, n in one.skipped.items() if n}
        rows.remove()

    # --- first pass: rows ---

    def _read(self, path: Path, number: int, rows: Shards, gathered: dict[str, Gathered]) -> None:
        names = list(self._form.columns.values())
        for block in read_log(path, names, self._form.log):
            believed, quarantined = judged(block, self._form, path.name)
            self._quarantine(quarantined)
            for side in ("page", "ad"):
                believed = with_ids(believed, side)
                believed = self._without(
                    believed, path.name, self._conflicts(believed, side, gathered)
                )
            self._rows += len(block)
            for category in self._broken:
                if category not in self._hints:
                    self._hints[category] = list(alike(block, self._form, category))
            rows.add(believed.drop("page_title", "page_text", "ad_title", "ad_text"), number)
            self._limit(path)
            if self._progress is not None:
                self._progress(0.0, f"{self._rows:,} rows of {path.name}")

    def _conflicts(
        self, rows: pl.DataFrame, side: str, gathered: dict[str, Gathered]
    ) -> pl.DataFrame:
        """Category and reason of the rows whose id has no text, or another one."""
        column = self._form.column(side)
        if side in self._listed:
            known = rows.select(pl.col(side).is_in(self._listed[side].known()["id"].implode()))
            wrong = ~known.to_series()
            told = pl.format(
                f"{column}: '{{}}' is no id of {self._listed[side].path.name}", pl.col(side)
            )
            category = f"{side}_unknown"
        else:
            line = gathered[side].add(rows)
            wrong = line.is_not_null()
            told = pl.format(
                f"{column}: '{{}}' has another text in line {{}}", pl.col(side), pl.lit(line)
            )
            category = f"{side}_other_text"
        return rows.select(
            category=pl.when(pl.lit(wrong)).then(pl.lit(category)),
            reason=pl.when(pl.lit(wrong)).then(told),
        )

    def _without(self, rows: pl.DataFrame, file: str, conflicts: pl.DataFrame) -> pl.DataFrame:
        wrong = conflicts["category"].is_not_null()
        if not wrong.any():
            return rows
        told = pl.concat([rows, conflicts], how="horizontal")
        self._quarantine(as_quarantined(told.filter(wrong), file))
        return rows.filter(~wrong)

    def _quarantine(self, rows: pl.DataFrame) -> None:
        if not len(rows):
            return
        with (self._building.path / "quarantine.csv").open("ab") as file:
            rows.write_csv(file, include_header=file.tell() == 0)
        for category, number in rows.group_by("category").len().rows():
            self._broken[category] += number
        for category, reason, name, line in rows.select(
            "category", "reason", "file", "line"
        ).rows():
            self._first.setdefault(category, f"{name}, line {line}: {reason}")

    def _limit(self, path: Path, *, at_end: bool = False) -> None:
        """Refuse a log of which more is broken than the rules let pass."""
        broken = self._broken.total()
        if broken <= self._rules.most_broken * self._rows or (self._rows < _LEAST and not at_end):
            return
        category, number = self._broken.most_common(1)[0]
        hints = self._hints.get(category, [])
        hint = ""
        if hints:
            other = " or ".join(repr(name) for name in hints)
            hint = f" The column {other} holds such values: are two columns swapped in the map?"
        raise BadInput(
            f"{path}: {broken:,} of {self._rows:,} rows are broken, {number:,} of them so: "
            f"{self._first[category]}.{hint} Repair the log or {self._form.where}; a larger share "
            "than --most-broken lets pass is taken for a wrong map."
        )

    # --- second pass: slates ---

    def _settle(self, rows: Shards, logs: Sequence[Path]) -> dict[str, pl.DataFrame]:
        """Write impressions and pairs; return the ids that are used."""
        counts: list[pl.DataFrame] = []
        totals: Counter[str] = Counter()
        files = [path.name for path in logs]
        for shard in rows:
            shown_once, repeated = slates_of(rows.read(shard))
            self._quarantine(as_quarantined(repeated, files))
            totals["merged"] += int(shown_once["merged"].sum())
            shown_once = shown_once.drop("merged")
            counts.append(
                shown_once.group_by("page", "ad", "position").agg(
                    shown=pl.len().cast(pl.Int64), clicks=pl.col("clicked").sum().cast(pl.Int64)
                )
            )
            rows.replace(shard, shown_once)
        self._limit(logs[0], at_end=True)
        shown = _summed(counts, ["page", "ad", "position"], ["shown", "clicks"])
        weights = self._weights(shown, logs[0])
        pairs = []
        with PartWriter(self._building.path / "impressions", IMPRESSIONS) as writer:
            for shard in rows:
                kept, dropped = weighed(rows.read_whole(shard), weights)
                for name, number in dropped.items():
                    totals[name] += number
                writer.write(
                    kept.with_columns(goal=pl.lit(None, pl.String)).select(IMPRESSIONS.keys())
                )
                totals["slates"] += kept.select("session", "page").n_unique()
                counted = kept.filter(pl.col("weight") > 0)
                pairs.append(counted.group_by("page", "ad").agg(pl.col("weight").sum()))
                totals["clicks"] += int(kept["clicked"].sum())
                totals["used"] += len(counted)
            totals["impressions"] = writer.rows
        found = self._pairs(pairs, shown)
        self._account(totals, found, logs[0])
        return {side: shown.select(id=pl.col(side)).unique() for side in ("page", "ad")}

    def _weights(self, shown: pl.DataFrame, where: Path) -> pl.DataFrame:
        """Weight of a click by its position."""
        positions = shown.group_by("position").agg(pl.col("shown", "clicks").sum()).sort("position")
        if self._rules.clicks == "all":
            return positions.select("position", weight=pl.lit(1.0))
        if self._rules.clicks == "first":
            return positions.select("position", weight=(pl.col("position") == 1).cast(pl.Float64))
        found = estimate_propensities(shown, str(where))
        found.write_parquet(self._building.path / "propensities.parquet")
        self._building.counts["propensities"] = {
            str(position): value
            for position, value in found.select("position", "propensity").rows()
        }
        self._building.counts["clicks_clipped"] = int(
            found.filter(1 / pl.col("propensity") > self._rules.clip)["clicks"].sum()
        )
        weight = (1 / pl.col("propensity")).clip(upper_bound=self._rules.clip)
        return found.select("position", weight=weight.fill_null(0.0))

    def _pairs(self, parts: list[pl.DataFrame], shown: pl.DataFrame) -> pl.DataFrame:
        could = shown.filter(pl.col("position") == 1) if self._rules.clicks == "first" else shown
        every = could.group_by("page", "ad").agg(pl.col("shown", "clicks").sum())
        found = _summed(parts, ["page", "ad"], ["weight"]).join(every, on=["page", "ad"])
        found = found.select(PAIRS.keys()).sort("page", "ad")
        found.write_parquet(self._building.path / "pairs.parquet")
        return found

    def _account(self, totals: Counter[str], pairs: pl.DataFrame, log: Path) -> None:
        if not len(pairs):
            raise BadInput(
                f"{log}: of {totals['clicks']:,} clicks none counts with --clicks "
                f"{self._rules.clicks}. Give a longer log, or count other clicks."
            )
        self._building.counts.update(
            rows=self._rows,
            impressions=totals["impressions"],
            slates=totals["slates"],
            clicks=totals["clicks"],
            clicks_used=totals["used"],
            pairs=len(pairs),
        )
        self._building.skipped.update(
            row_merged=totals["merged"],
            row_of_slate_without_click=totals["rows"],
            slate_without_click=totals["unclicked"],
            click_not_used=totals["clicks"] - totals["used"],
        )


def _summed(parts: list[pl.DataFrame], keys: list[str], values: list[str]) -> pl.DataFrame:
    return pl.concat(parts).group_by(keys).agg(pl.col(values).sum())


def _corpus_writer(path: Path, side: str) -> PartWriter:
    corpus = path / f"{side}s"
    corpus.mkdir()
    return tables.document_writer(corpus)
