"""A user's own documents and links as a corpus: every id once, every link accounted for."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from ssi_core import collection
from ssi_core.corpus.language import guess_language
from ssi_core.corpus.texts import as_listed
from ssi_core.remedies import typed
from ssi_core.store import Building
from ssi_core.text.wording import wording_of
from ssi_core.types import BadInput

_SAMPLE = 1000  # texts that the language is guessed from
_NOT_PLAIN = {
    r"(?i)</(p|div|span|a|b|strong|em|li|td|h[1-6])>": "have HTML tags, which are read as words. "
    "Give texts without tags, or a folder of HTML files.",
    r'^\{"': "are objects of JSON, whose keys are read as words. Bring their values up, such as by "
    "jq -c '. + .NAME', or of pandas df.to_json(orient='records', lines=True).",
}
_AT_ONCE = 1_000_000  # links of a part
_SOURCES = 100_000  # documents whose anchors are held at once
_SHOWN = 3
_NEEDED = ("id", "text")
_log = logging.getLogger(__name__)


def write_own(
    building: Building,
    documents: Iterable[pl.DataFrame],
    links: Iterable[pl.DataFrame],
    *,
    where: Path,
    language: str | None = None,
    labels: Sequence[str] = (),
    names: Sequence[str] = ("id",),
    empty: bool = False,
) -> None:
    """Write documents and links as they come; memory holds the ids and the pairs of row numbers.

    A document is kept where it has an id that no document before it has, and a text. A link is kept
    where both of its ends are documents, and not the same one; it counts once. The manifest
    accounts for the rest: ``documents`` + ``skipped[document_...]`` = ``documents_found``, and
    ``links`` + ``skipped[link_...]`` = ``links_found``. Where links have words, the weights of the
    anchors + ``skipped[anchor_...]`` = ``links`` + ``skipped["link_repeated"]``.

    Parameters
    ----------
    building : Building
        The corpus that is written.
    documents : iterable of DataFrame
        Columns id, title, text, language, timestamp, url and headings, of which all but id and
        text may be absent or null, and those of ``labels`` and ``names``; all text.
    links : iterable of DataFrame
        Columns ``source`` and ``target``: names of documents; perhaps ``text``, the words of the
        link, null or empty where it has none.
    where : Path
        What errors name.
    language : str, optional
        Code of the language of all texts; by default that of the column, else it is guessed from
        the script of the first texts.
    labels : sequence of str
        Columns that are kept as labels of a document.
    empty : bool
        Keep documents without a text, as a judged collection does: they are candidates.
    names : sequence of str
        Columns by which a link may name a document, the first one that does.

    Raises
    ------
    BadInput
        No document is left, or links were found and none is kept.
    """
    known = _write_documents(building, documents, where, language, labels, names, empty)
    _write_links(building, links, known, where)


def _write_documents(
    building: Building,
    documents: Iterable[pl.DataFrame],
    where: Path,
    language: str | None,
    labels: Sequence[str],
    names: Sequence[str],
    empty: bool,
) -> pl.DataFrame:
    """Write the documents; return the ``name`` of each by every column of ``names`` and its row."""
    skipped: Counter[str] = Counter()
    seen = pl.DataFrame(schema={"id": pl.String})
    named: list[list[pl.DataFrame]] = [[] for _ in names]
    texts: list[pl.Series] = []
    unread: list[pl.Series] = []
    first = next(blocks := iter(documents), None)
    if first is not None and not language and "language" not in first.columns:
        language = guess_language(first["text"].drop_nulls().head(_SAMPLE))
        building.counts["language"] = f"{language} (guessed from the script of the texts)"
    if first is not None:
        _say_markup(first["text"].drop_nulls().head(_SAMPLE), where)
    with collection.text_writer(building.path) as writer:
        labelled = _Labels(building.path, labels)
        for block in chain([] if first is None else [first], blocks):
            text = pl.col("text").fill_null("") if empty else pl.col("text")
            kept = _kept(block.with_columns(text), seen, skipped, ["id"] if empty else _NEEDED)
            seen = pl.concat([seen, kept.select("id")])
            texts.append(kept["text"].hash())
            for position, name in enumerate(names):
                row = pl.int_range(writer.rows, writer.rows + len(kept), dtype=pl.Int32)
                named[position].append(kept.select(name=pl.col(name), row=row))
            written = _documents(kept, language)
            if "timestamp" in kept.columns:
                times = kept["timestamp"].filter(written["timestamp"].is_null())
                unread.append(times.filter((times.str.strip_chars() != "").fill_null(False)))
            writer.write(written)
            labelled.write(kept)
        labelled.close()
    if not len(seen):
        if not skipped:
            raise BadInput(f"{where}: no document is in it. Give documents that have a text.")
        raise BadInput(
            f"{where}: no document has an id and a text ({_told(skipped)}). Give documents that "
            f"have some, or say which columns they are in: {typed('column', {'text': 'NAME'})}"
        )
    if unread and len(times := pl.concat(unread)):
        _log.warning(
            "%s: %d timestamps are left out, as they are no ISO 8601, such as %r",
            *(where.stem, len(times), times[0]),
        )
    building.counts["documents"] = len(seen)
    building.counts["documents_found"] = len(seen) + skipped.total()
    distinct = pl.concat(texts).n_unique()
    if distinct < len(seen):
        building.counts["documents_with_the_text_of_another"] = len(seen) - distinct
    building.skipped.update(sorted(skipped.items()))
    every = pl.concat(frame for frames in named for frame in frames)
    known = every.drop_nulls().unique("name", keep="first", maintain_order=True)
    return known.with_columns(id=seen["id"].gather(known["row"]))


def _say_markup(texts: pl.Series, where: Path) -> None:
    """Say in the log that texts are written in HTML or JSON, whose tags and keys are words here."""
    for written, said in _NOT_PLAIN.items():
        found = int(texts.str.contains(written).sum())
        if found > len(texts) / 2:
            _log.warning("%s: %d of the first %d texts %s", where.stem, found, len(texts), said)


def _kept(
    block: pl.DataFrame, seen: pl.DataFrame, skipped: Counter[str], needed: Sequence[str]
) -> pl.DataFrame:
    """Return the documents of a block that are kept, and count the others by the reason."""
    missing = block.with_columns(pl.col("id").str.strip_chars())
    for column in needed:
        whole = missing.filter((pl.col(column).str.strip_chars() != "").fill_null(False))
        skipped[f"document_without_{column}"] += len(missing) - len(whole)
        missing = whole
    once = missing.unique("id", keep="first", maintain_order=True)
    once = once.join(seen, on="id", how="anti", maintain_order="left")
    skipped["document_id_repeated"] += len(missing) - len(once)
    skipped += Counter()
    return once


def _moment(time: pl.Expr) -> pl.Expr:
    """Return what ISO 8601 says; without a zone it is UTC, without a time midnight."""
    time = time.str.strip_chars()
    zoned = time.str.to_datetime("%+", strict=False, time_unit="us", time_zone="UTC")
    plain = (
        time.str.to_datetime(form, strict=False, time_unit="us").dt.replace_time_zone("UTC")
        for form in ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f")
    )
    day = time.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us", "UTC"))
    return pl.coalesce(zoned, *plain, day)


def _documents(kept: pl.DataFrame, language: str | None) -> pl.DataFrame:
    title, time, url, headings = (
        pl.col(name) if name in kept.columns else pl.lit(None, pl.String)
        for name in ("title", "timestamp", "url", "headings")
    )
    beginning = collection.beginning(pl.col("text"))
    code = pl.lit(language) if language else pl.col("language").fill_null("")
    return collection.timeless(
        kept.select(
            "id",
            title=pl.coalesce(pl.when(title.str.strip_chars() != "").then(title), beginning),
            language=code,
            timestamp=_moment(time),
            url=pl.when(url.str.strip_chars() != "").then(url.str.strip_chars()),
            text=pl.col("text"),
            headings=pl.when(headings.str.strip_chars() != "").then(headings),
        )
    )


class _Labels:
    """Labels of documents, written as they come; no table where no column is named."""

    def __init__(self, corpus: Path, columns: Sequence[str]) -> None:
        self._columns = columns
        self._writer = collection.label_writer(corpus) if columns else None

    def write(self, documents: pl.DataFrame) -> None:
        if self._writer is not None:
            long = documents.unpivot(
                self._columns, index="id", variable_name="column", value_name="value"
            )
            self._writer.write(long.filter(pl.col("value").str.strip_chars() != ""))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _write_links(
    building: Building, links: Iterable[pl.DataFrame], known: pl.DataFrame, where: Path
) -> None:
    skipped: Counter[str] = Counter()
    missing: dict[str, None] = {}
    seen = 0
    pairs: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []
    n = int(building.counts["documents"])
    names = known.select("name", "row")
    ids = known.unique("row", keep="first", maintain_order=True).sort("row")["id"]
    worded = _Anchors(building, ids)
    for block in links:
        seen += len(block)
        rows = block
        for side in ("source", "target"):
            named = names.rename({"name": side, "row": f"{side}_row"})
            rows = rows.with_columns(as_listed(rows[side].str.strip_chars(), names["name"]))
            rows = rows.join(named, on=side, how="left", maintain_order="left")
            lost = rows[f"{side}_row"].is_null()
            skipped[f"link_{side}_is_no_document"] += int(lost.sum())
            if len(missing) < _SHOWN:
                missing |= dict.fromkeys(rows.filter(lost)[side].fill_null("").head(_SHOWN))
            rows = rows.filter(~lost)
        own_end = rows["source_row"] == rows["target_row"]
        skipped["link_to_itself"] += int(own_end.sum())
        rows = rows.filter(~own_end)
        worded.write(rows)
        codes = rows["source_row"].cast(pl.Int64) * n + rows["target_row"].cast(pl.Int64)
        pairs.append(codes.to_numpy())
    every = np.concatenate([np.empty(0, np.int64), *pairs])
    once = np.unique(every)
    skipped["link_repeated"] += len(every) - len(once)
    worded.close()
    with collection.relation_writer(building.path, collection.LINK) as writer:
        for part in _parts(once):
            ends = {"source": ids.gather(part // n), "target": ids.gather(part % n)}
            writer.write(pl.DataFrame(ends))
    shown = ", ".join(repr(name) for name in list(missing)[:_SHOWN])
    if seen and not len(once):
        raise BadInput(
            f"{where}: none of its {seen:,} links is between two documents ({_told(skipped)}"
            f"{'; such as ' + shown if shown else ''}). Links name documents by their id (such as "
            f"{', '.join(map(repr, ids.head(_SHOWN)))}), or else by URL or title. Say "
            "which columns have the two ends: "
            + typed("column", {"source": "NAME", "target": "NAME"})
        )
    if shown:
        ends_lost = skipped["link_source_is_no_document"] + skipped["link_target_is_no_document"]
        _log.warning("%s: %d links lead to no document, such as %s", where.stem, ends_lost, shown)
    building.counts["links"] = len(once)
    building.counts["links_found"] = seen
    building.skipped.update(sorted((skipped + Counter()).items()))


class _Anchors:
    """Anchors of links, in the order of the documents; no relation where no link has words.

    The links of a source may come in any frames: what these count is kept beside the artefact, and
    added up for some sources at a time.
    """

    def __init__(self, building: Building, ids: pl.Series) -> None:
        self._building, self._ids = building, ids
        self._counted: list[Path] = []
        self._unworded: Counter[str] = Counter()

    def write(self, links: pl.DataFrame) -> None:
        if "text" not in links.columns:
            return
        wordings = pl.Series([wording_of(text or "") for text in links["text"]], dtype=pl.String)
        rows = links.select(source="source_row", target="target_row", anchor=wordings, n=1)
        anchors, unworded = count_anchors(rows)
        self._counted.append(self._building.work("anchors") / f"{len(self._counted):05d}.parquet")
        anchors.write_parquet(self._counted[-1])
        self._unworded += unworded

    def close(self) -> None:
        if not self._counted:
            return
        counted = pl.scan_parquet(self._counted, glob=False)
        path, ends = self._building.path, ("source", "target")
        with collection.relation_writer(path, collection.ANCHOR, collection.COUNTED) as writer:
            for first in range(0, len(self._ids), _SOURCES):
                some = counted.filter(pl.col("source").is_between(first, first + _SOURCES - 1))
                each = some.group_by(*ends, "text").agg(pl.col("weight").sum())
                rows = each.sort(*ends, "text").collect(engine="streaming")
                writer.write(
                    rows.with_columns(self._ids.gather(rows[end]).alias(end) for end in ends)
                )
        self._building.counts["anchors"] = writer.rows
        self._building.skipped.update(sorted(self._unworded.items()))


def _parts(
    codes: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> Iterator[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    for begin in range(0, len(codes), _AT_ONCE):
        yield codes[begin : begin + _AT_ONCE]


def _told(skipped: Counter[str]) -> str:
    counts = [f"{n:,} {name.replace('_', ' ')}" for name, n in sorted(skipped.items()) if n]
    return ", ".join(counts)


def count_anchors(links: pl.DataFrame) -> tuple[pl.DataFrame, Counter[str]]:
    """Return how often each wording leads from a source to a target, and what has no wording.

    Parameters
    ----------
    links : DataFrame
        ``source``, ``target``, ``anchor`` (the words of the link) and ``n`` (how often).
    """
    long, wordless = pl.col("anchor").is_null(), pl.col("anchor") == ""
    unworded = links.select(
        anchor_too_long=pl.col("n").filter(long).sum(),
        anchor_without_words=pl.col("n").filter(wordless).sum(),
    )
    anchors = (
        links.filter(~long & ~wordless)
        .group_by("source", "target", text="anchor", maintain_order=True)
        .agg(weight=pl.col("n").sum().cast(pl.Float32))
    )
    return anchors, +Counter({name: int(n or 0) for name, n in unworded.row(0, named=True).items()})
