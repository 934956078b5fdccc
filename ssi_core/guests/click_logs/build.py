"""Ingestion of a click log: a collection of impressions, pairs with weights, texts of both sides.

Beside the tables of `tables`, the directory holds

- ``quarantine.csv``: rows that were not believed, with the reason; none where all were
- ``lines/``: what the lines of the logs gave, for the ingestion of the lines after them

A slate is what one session was shown for one query. Slates without a click are dropped: whoever
never clicked may never have looked (journal paper, section 4.4). What is left out is counted. Where
weights are by propensities they count as showings, and are kept in ``unclicked/``. Rows that tell
of pairs (counts, judgements) make no slates: see `pairs`.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ssi_core import collection, store
from ssi_core.collection import KIND, Side, open_collection, text_writer
from ssi_core.corpus.earlier import report_earlier
from ssi_core.corpus.language import name_languages, warn_unsplit
from ssi_core.corpus.tables.form import TableForm, said_of
from ssi_core.corpus.tables.lines import Place
from ssi_core.corpus.tables.reader import read_rows
from ssi_core.corpus.texts import as_listed
from ssi_core.guests.click_logs.before import LINES, Kept, Plan, plan_reading, read_part, rows_read
from ssi_core.guests.click_logs.check import alike, judged
from ssi_core.guests.click_logs.columns import OF_DOCUMENTS, LogMap
from ssi_core.guests.click_logs.guess import tell_late, tell_unread
from ssi_core.guests.click_logs.judged_log import Judged
from ssi_core.guests.click_logs.pairs import settle_pairs
from ssi_core.guests.click_logs.quarantine import Quarantine
from ssi_core.guests.click_logs.resolve import as_quarantined, resolve
from ssi_core.guests.click_logs.rules import Rules
from ssi_core.guests.click_logs.shards import ROWS, Shards
from ssi_core.guests.click_logs.texts import Gathered, Listed, with_ids
from ssi_core.remedies import typed
from ssi_core.resources import require
from ssi_core.store import Artefact, Building
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.guests.click_logs.source import Clicks

_TABLES: dict[str, Side] = {"query": "queries", "document": "documents"}
_GIVEN_BY = {"query": "queries", "document": "texts"}
# Bytes of memory: of a block and of a shard of rows; of an id, if each line had a new one.
_BASE, _OF_TEXT, _MOST, _ID, _TEXT_OF_AN_ID = 150_000_000, 5, 800_000_000, 60, 200


def read(source: Clicks, out: Path | None, force: bool, progress: Progress | None) -> Artefact:
    """Make a collection of click logs of one form.

    Where queries and documents have their texts in one collection, its documents are both, and its
    links come along. With ``since`` only lines that it has not read are read. The result, and its
    key, are those of reading all its logs, whether they are still there or not, and then the
    others. One that can't be used is not, if all its logs are given.

    Memory: a block of the log, a shard of its rows, and the ids of all texts; said before the work
    begins.

    Raises
    ------
    BadInput
        A file is damaged, a column is missing, too many rows are broken, or no click is left; or
        ``since`` can't be used and not all of its logs are given.
    Refused
        ``out`` holds something else, or is being written; or memory or disk is too small.
    """
    form, since = source.form, source.since
    listed = {
        side: Listed(path, texts_form, TableForm(each=form.log.each), _TABLES[side])
        for side, path, texts_form in (
            ("query", source.queries, form.queries),
            ("document", source.documents, form.documents),
        )
        if path is not None
    }
    _check_texts(form, set(listed))
    table = source.documents is not None and not source.documents.is_dir()
    if not table and (roles := [role for role in source.columns if role in OF_DOCUMENTS]):
        raise BadInput(
            f"{', '.join(roles)}: a column of a table of documents, and there is none. Name the "
            f"table ({typed('texts')}), or leave {typed('column', {roles[0]: 'NAME'})} out."
        )
    identity, parents = source.identity(), source.parents(out, progress)
    parents |= {
        f"{side} texts": key for side, one in listed.items() for key in one.parents.values()
    }
    code = store.code_of(_make)
    # A text in the log does not count on a line that the other side's table knows nothing of.
    texts_of = {side: one.parents or parents[one.path.name] for side, one in listed.items()}
    how = {
        "map": form.configuration(),
        "tables": texts_of if len(listed) == 1 else sorted(listed),
        "polars": pl.__version__,
    }
    reading = store.key_of("lines", how, {}, code["digest"])
    plan = plan_reading(source.paths, form.log, parents, since, reading)
    parents |= {log.name: log.digest for log in plan.logs}
    if since is not None:
        earlier = store.read(since, KIND)
        key = store.key_of(KIND, identity, parents, code["digest"])
        directory = store.path_of(KIND, key, out)
        if earlier.key == key and store.up_to_date(directory, KIND, key, force=force) is None:
            taken = {"rows_taken": rows_read(since), "rows_read": 0}
            return store.again(
                replace(earlier, counts={**earlier.counts, "since": taken}), directory
            )
    make = partial(
        _make, source=source, plan=plan, reading=reading, listed=listed, progress=progress
    )
    return store.open_or_make(KIND, identity, parents, make, out=out, force=force)


def _make(
    building: Building,
    source: Clicks,
    plan: Plan,
    reading: str,
    listed: dict[str, Listed],
    progress: Progress | None,
) -> None:
    text = plan.text
    require(
        "the ingestion of clicks",
        memory=int(_BASE + min(_OF_TEXT * text, _MOST) + _ID * text / _TEXT_OF_AN_ID),
        directory=building.path.parent,
        disk=3 * text // 4,
    )
    form = source.form
    if source.map is None:
        building.counts["columns"] = dict(form.columns)
        tell_unread(source.paths[0], form, source.columns)
    if written := said_of([path for path in source.paths if path.is_file()], form.log):
        building.counts["read_as"] = written
    judged = Judged(building, source.judgements, form) if source.judgements else None
    _Ingestion(building, form, source.rules, listed, judged, progress).run(plan, reading)


def _check_texts(form: LogMap, listed: set[str]) -> None:
    for side in ("query", "document"):
        if side in listed and side not in form.columns:
            raise BadInput(
                f"{form.where}: which column has the ids of the {_TABLES[side]}? Say so: "
                f"{typed('column', {side: 'NAME'})} (in a map {side} under [columns])."
            )
        if side not in listed and f"{side}_text" not in form.columns:
            raise BadInput(
                f"{form.where}: no text of {_TABLES[side]}: name its column "
                f"({typed('column', {f'{side}_text': 'NAME'})}; in a map {side}_text under "
                "[columns]), or give a table or a corpus of the texts "
                f"({typed(_GIVEN_BY[side])})."
            )


class _Ingestion:
    """An ingestion in two passes: over the lines, into shards by session; then over the shards."""

    def __init__(
        self,
        building: Building,
        form: LogMap,
        rules: Rules,
        listed: dict[str, Listed],
        judged: Judged | None,
        progress: Progress | None,
    ) -> None:
        self._building, self._form, self._rules = building, form, rules
        self._listed, self._judged, self._progress = listed, judged, progress
        self._kept = Kept(building.path)
        self._quarantine = Quarantine(building.path, self._kept.path, rules.most_broken, form.where)

    def run(self, plan: Plan, key: str) -> None:
        path = self._building.path
        rows = Shards(path / "rows", plan.text)
        with ExitStack() as stack:
            shared = _shared(self._listed)
            writers = {
                side: text_writer(path, _TABLES[side]) for side in ("query", "document")[shared:]
            }
            for writer in (*writers.values(), self._kept.writer):
                stack.enter_context(writer)
            forms = {"query": self._form.queries, "document": self._form.documents}
            gathered = {
                side: Gathered(side, writer, forms[side].language)
                for side, writer in writers.items()
                if side not in self._listed
            }
            if plan.before:
                self._take(plan, plan.before, rows, gathered)
            taken = self._quarantine.rows
            for number, log, begin in plan.reads:
                self._read(log, number, begin, plan, rows, gathered)
            where = plan.reads[0][1] if plan.reads else Path(plan.names[0])
            self._quarantine.limit(where, at_end=True)
            rows.flush()
            for one in gathered.values():
                one.keep(self._kept.path)
            summary = self._quarantine.rows, self._quarantine.known()
            self._kept.finish(key, plan.logs, *summary)
            used = self._settle(rows, plan, where)
            listed_queries = self._listed["query"].known() if "query" in self._listed else None
            if self._judged is not None:
                known = gathered["query"].known() if listed_queries is None else listed_queries
                self._judged.name_queries(known["id"], writers.get("query"))
            if listed_queries is not None and not shared:
                wanted = (
                    used["query"] if self._judged is None else self._judged.added(used["query"])
                )
                self._listed["query"].write(writers["query"], wanted)
            if "document" in self._listed:
                self._listed["document"].write(writers["document"])
            if self._judged is not None:
                self._judged.write()
            counts: dict[str, int] = {
                _TABLES[side]: writer.rows for side, writer in writers.items()
            }
            if shared:
                counts["links"] = self._take_links(self._listed["document"].path)
        self._name_language(path)
        for side in writers:
            if share := warn_unsplit(path / _TABLES[side], _TABLES[side]):
                self._building.counts[f"{_TABLES[side]}_not_split"] = share
        self._quarantine.finish()
        self._building.counts.update(counts)
        new = self._quarantine.rows - taken
        report_earlier(
            self._building,
            plan.before or plan.why or None,
            lambda: {"rows_taken": taken, "rows_read": new},
        )
        skipped = self._building.skipped
        broken = sorted(self._quarantine.broken.items())
        skipped.update({f"row_{name}": n for name, n in broken})
        for side, listed in self._listed.items():
            skipped |= {f"{_TABLES[side]}_{name}": n for name, n in listed.skipped.items() if n}
        rows.remove()

    def _take_links(self, path: Path) -> int:
        """Take over the links and names of the collection that has the texts; count the links."""
        given = open_collection(path)
        if collection.LINK not in given.relations:
            return 0
        with collection.relation_writer(self._building.path, collection.LINK) as writer:
            writer.link_all(given.relation(collection.LINK))
        collection.take_names(self._building.path, given)
        return writer.rows

    def _settle(self, rows: Shards, plan: Plan, where: Path) -> dict[str, pl.DataFrame]:
        """Write what the rows tell of pairs; return the ids that are used."""
        if self._form.of_pairs:
            read = self._quarantine.rows
            return settle_pairs(self._building, self._form.grades, rows, read, where)
        return resolve(self._building, self._rules, rows, plan.names, self._quarantine, where)

    def _name_language(self, path: Path) -> None:
        """Guess the language of the sides for which no language was given."""
        forms = {"query": self._form.queries, "document": self._form.documents}
        sides = [
            side
            for side, form in forms.items()
            if not form.language and not (side in self._listed and self._listed[side].parents)
        ]
        self._building.counts |= name_languages(path, [_TABLES[side] for side in sides])

    def _take(self, plan: Plan, before: Path, rows: Shards, gathered: dict[str, Gathered]) -> None:
        """Take over what earlier lines said; tables of texts may be others now."""
        for side, one in gathered.items():
            one.go_on(before / _TABLES[side], before / LINES)
        parts, manifest = self._kept.take(before)
        self._quarantine.go_on(manifest["rows"], before / LINES, manifest)
        for part in parts:
            rows.add(self._in_tables(read_part(part), plan))

    def _read(
        self,
        path: Path,
        number: int,
        after: Place,
        plan: Plan,
        rows: Shards,
        gathered: dict[str, Gathered],
    ) -> None:
        keys: set[str] = set()
        for block in read_rows(path, self._form.columns, self._form.log, after, keys):
            believed, quarantined = judged(block, self._form, path.name)
            self._quarantine.add(quarantined, of_lines=True)
            for side in ("query", "document"):
                believed = with_ids(believed, side)
                if side in self._listed:
                    ids = self._listed[side].known()["id"]
                    believed = believed.with_columns(as_listed(believed[side], ids))
            believed = believed.with_columns(file=pl.lit(number, pl.Int32))
            if self._form.of_pairs:
                believed = believed.with_columns(session=pl.col("query"))
            for side in ("query", "document"):
                if side in gathered:
                    believed = self._one_text_each(believed, gathered[side], plan)
                elif gathered:
                    believed = self._in_table(believed, side, plan, of_lines=True)
            believed = believed.select(pl.col(name).cast(of) for name, of in ROWS.items())
            self._kept.writer.write(believed)
            self._quarantine.rows += len(block)
            rows.add(self._in_tables(believed, plan))
            self._quarantine.hint(partial(alike, block, self._form))
            self._quarantine.limit(path)
            if self._progress is not None:
                self._progress(0.0, f"{self._quarantine.rows:,} rows of {path.name}")
        tell_late(path, self._form, keys)

    def _one_text_each(self, rows: pl.DataFrame, gathered: Gathered, plan: Plan) -> pl.DataFrame:
        """Rows whose id has no other text in a line before."""
        line, side = gathered.add(rows), gathered.side
        column = self._form.column(side)
        reason = pl.format(
            f"{column}: '{{}}' has another text in line {{}}", pl.col(side), pl.lit(line)
        )
        category = f"{side}_other_text"
        return self._without(rows, line.is_not_null(), category, reason, plan, of_lines=True)

    def _in_tables(self, rows: pl.DataFrame, plan: Plan) -> pl.DataFrame:
        """Rows whose ids are in the tables of today, where no text is in the log."""
        if len(self._listed) == 2:
            for side in ("query", "document"):
                rows = self._in_table(rows, side, plan)
        return rows

    def _in_table(
        self, rows: pl.DataFrame, side: str, plan: Plan, *, of_lines: bool = False
    ) -> pl.DataFrame:
        listed = self._listed[side]
        wrong = ~rows.select(pl.col(side).is_in(listed.known()["id"].implode())).to_series()
        reason = pl.format(
            f"{self._form.column(side)}: '{{}}' is no id of {listed.path.name}", pl.col(side)
        )
        return self._without(rows, wrong, f"{side}_unknown", reason, plan, of_lines=of_lines)

    def _without(
        self,
        rows: pl.DataFrame,
        wrong: pl.Series,
        category: str,
        reason: pl.Expr,
        plan: Plan,
        *,
        of_lines: bool = False,
    ) -> pl.DataFrame:
        if not wrong.any():
            return rows
        left_out = rows.with_columns(category=pl.lit(category), reason=reason).filter(wrong)
        self._quarantine.add(as_quarantined(left_out, plan.names), of_lines=of_lines)
        return rows.filter(~wrong)


def _shared(listed: dict[str, Listed]) -> bool:
    """Tell whether one collection has the texts of queries and of documents."""
    texts = [one.texts for one in listed.values()]
    return len(texts) == 2 and texts[0] == texts[1] is not None
