"""The texts of pages and ads: out of the log itself, or out of a table or a collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ssi_core import collection, files
from ssi_core.collection import Collection, PartWriter, Side, open_collection
from ssi_core.corpus.tables.form import TableForm
from ssi_core.corpus.tables.reader import header_of, read_rows
from ssi_core.corpus.tables.roles import DOCUMENTS, QUERIES, roles_of
from ssi_core.corpus.texts import PLACEHOLDER, id_of, title_or_beginning, write_texts
from ssi_core.types import BadInput

_AT_ONCE = 50_000


@dataclass(frozen=True)
class TextForm:
    """The sections ``[queries]`` and ``[documents]``: columns of a table of texts, their language.

    The language is also that of texts in the log; a corpus has its own. It is the code of a
    Wikipedia; "any" splits each script by a rule of its own; "" is guessed from the texts' script.
    """

    id: str = "id"
    title: str = ""
    text: str = "text"
    language: str = ""


def with_ids(rows: pl.DataFrame, side: str) -> pl.DataFrame:
    """Give rows without an id (``side`` "query" or "document") that of their text."""
    if rows[side].null_count() < len(rows):
        return rows
    texts = rows[f"{side}_text"].unique()
    ids = pl.DataFrame(
        {f"{side}_text": texts, side: [id_of(text) for text in texts]},
        schema={f"{side}_text": pl.String, side: pl.String},
    )
    return rows.drop(side).join(ids, on=f"{side}_text", how="left", maintain_order="left")


class Gathered:
    """Texts of one side as they come by in a log; each id is written once, with its first text."""

    def __init__(self, side: str, writer: PartWriter, language: str) -> None:
        self.side, self._writer, self._language = side, writer, language or PLACEHOLDER
        self._seen = pl.DataFrame(schema={"id": pl.String, "digest": pl.UInt64, "line": pl.Int64})

    def __len__(self) -> int:
        return len(self._seen)

    def known(self) -> pl.DataFrame:
        """Ids that have a text."""
        return self._seen.select("id")

    def add(self, rows: pl.DataFrame) -> pl.Series:
        """Take the texts of some rows; tell for each the line of another text of its id, or null.

        A row without a text is at peace with any.
        """
        side = self.side
        texts = rows.select(
            "line",
            id=pl.col(side),
            title=pl.col(f"{side}_title"),
            text=pl.col(f"{side}_text"),
            digest=pl.col(f"{side}_text").hash(),
        )
        new = (
            texts.filter(pl.col("text").is_not_null())
            .unique("id", keep="first", maintain_order=True)
            .join(self._seen, on="id", how="anti", maintain_order="left")
        )
        write_texts(self._writer, new, self._language)
        self._seen = pl.concat([self._seen, new.select("id", "digest", "line")])
        met = texts.join(self._seen, on="id", how="left", maintain_order="left", suffix="_first")
        other = pl.col("text").is_not_null() & (pl.col("digest") != pl.col("digest_first"))
        return met.select(pl.when(other).then("line_first").alias("line"))["line"]

    def go_on(self, documents: Path, kept: Path) -> None:
        """Take over the texts of an earlier ingestion, and what it kept of them."""
        with files.reading(kept / f"{self.side}.parquet"):
            self._seen = pl.read_parquet(kept / f"{self.side}.parquet", glob=False)
        for part in sorted(documents.glob("part-*.parquet")):
            with files.reading(part):
                ids = pl.read_parquet(part, columns=["id"], glob=False)["id"]
                of_log = ids.is_in(self._seen["id"].implode())
                # Queries that were only judged are no texts of the log.
                texts = None if of_log.all() else pl.read_parquet(part, glob=False)
            if texts is not None:
                self._writer.write(texts.filter(of_log))
            elif len(ids):
                self._writer.link(part, len(ids))

    def keep(self, kept: Path) -> None:
        """Keep which ids have a text, for the next ingestion."""
        self._seen.write_parquet(kept / f"{self.side}.parquet")


class Listed:
    """Documents of a collection, or texts of a table (CSV, TSV, JSON lines, parquet).

    Parameters
    ----------
    path : Path
        Of the collection or the table.
    form : TextForm
        Names of the table's columns; where there is no column of such a name, one that is known
        for the role (`tables.roles`).
    written : TableForm
        How the table is written, as far as it is declared.
    side : Side
        Of a collection: its queries, where it has some, or its documents.
    """

    def __init__(
        self, path: Path, form: TextForm, written: TableForm, side: Side = "documents"
    ) -> None:
        self.path, self._form, self._side, self._written = path, form, side, written
        self._collection: Collection | None = open_collection(path) if path.is_dir() else None
        self.skipped: Counter[str] = Counter()
        self._roles = {} if self._collection else self._columns()
        self._ids = self._known()

    @property
    def _table(self) -> Side:
        assert self._collection is not None
        return self._collection.table_of(self._side)

    @property
    def texts(self) -> tuple[str, str] | None:
        """Key and table of the collection that is read; None where it is a table."""
        return None if self._collection is None else (self._collection.key, self._table)

    @property
    def parents(self) -> dict[str, str]:
        """Key of the collection; a table is an input like the log."""
        return {} if self._collection is None else {self.path.name: self._collection.key}

    def known(self) -> pl.DataFrame:
        """Ids that have a text."""
        return self._ids

    def _columns(self) -> dict[str, str]:
        """Return the columns of id, text and title; a title alone is the text."""
        usual, header = vars(TextForm()), header_of(self.path, self._written)
        known = QUERIES if self._side == "queries" else DOCUMENTS
        names = {role: known.get(role, ()) for role in ("id", "title", "text")}
        declared = {
            role: name
            for role in names
            if (name := getattr(self._form, role)) and (name in header or name != usual[role])
        }
        remedy = "" if known is DOCUMENTS else "Say so in a map: [queries] {role} = NAME."
        form, needed = self._written, ("id", "text")
        return roles_of(self.path, names, declared, needed=needed, form=form, remedy=remedy)

    def _known(self) -> pl.DataFrame:
        seen: dict[str, int] = {}
        for frame in self._frames():
            entries = zip(frame["id"], frame["text"].hash(), frame["line"], strict=True)
            for name, digest, line in entries:
                if seen.setdefault(name, digest) != digest:
                    raise BadInput(
                        f"{self.path}: line {line}: the id {name!r} is there before with another "
                        "text. Remove one of the two."
                    )
        if not seen:
            raise BadInput(f"{self.path}: no row has an id and a text. Give a table that has some.")
        return pl.DataFrame({"id": list(seen)}, schema={"id": pl.String})

    def _frames(self) -> Iterator[pl.DataFrame]:
        """Frames of line, id, title and text; what is no text is counted."""
        if self._collection is not None:
            for part in self._collection.parts(self._table):
                names = ("id", "title", "text", "language")
                frame = files.read_strings([part], *names, remedy=collection.INGEST)
                for chunk in frame.with_row_index("line", 1).iter_slices(_AT_ONCE):
                    yield chunk.with_columns(pl.col("line").cast(pl.Int64))
            return
        self.skipped.clear()
        for block in read_rows(self.path, self._roles, self._written):
            title = pl.col("title") if "title" in self._roles else pl.lit(None, pl.String)
            rows = block.select(
                "line", "category", "text", id=pl.col("id").str.strip_chars(), title=title
            )
            has_text = (pl.col("id") != "") & (pl.col("text").str.strip_chars() != "")
            kept = rows.filter(pl.col("category").is_null() & has_text.fill_null(False))
            self.skipped["broken"] += len(rows) - len(kept)
            yield kept

    def table(self) -> pl.DataFrame:
        """Return id, title and text of all, each id once."""
        texts = pl.concat(list(self._frames())).unique("id", keep="first", maintain_order=True)
        return texts.select("id", title=title_or_beginning(), text=pl.col("text"))

    def write(self, writer: PartWriter, wanted: pl.DataFrame | None = None) -> None:
        """Write the texts of some ids (all: None) as documents, each once.

        All the texts of a collection are its own files under a second name, and take no room.
        """
        if self._collection is not None and wanted is None:
            writer.link_all(self._collection.parts(self._table))
            return
        done = pl.DataFrame(schema={"id": pl.String})
        for frame in self._frames():
            rows = frame.unique("id", keep="first", maintain_order=True)
            rows = rows.join(done, on="id", how="anti", maintain_order="left")
            if wanted is not None:
                rows = rows.join(wanted, on="id", how="semi", maintain_order="left")
            done = pl.concat([done, rows.select("id")])
            language = self._form.language or PLACEHOLDER
            write_texts(writer, rows, None if self._collection is not None else language)
