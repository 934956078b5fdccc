"""Reuse of an earlier ingestion of own texts, where the bytes are the same.

A collection of own texts keeps, as ``read/``, a row for each page or line that was read: the digest
of its bytes and what they gave but for the text, which is that of the document. A page or line with
the same digest passes through no parser. Links are settled anew, as they depend on what else is
there; so the result is that of reading everything.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from ssi_core import collection, files, store
from ssi_core.collection import PartWriter
from ssi_core.store import Building
from ssi_core.types import BadInput

TABLE = "read"
_KEY = "read.json"
_REMEDY = "Ingest without it (no --since), or remove it."
_log = logging.getLogger(__name__)
_OWN: dict[str, pl.DataType] = {"digest": pl.Binary(), "id": pl.String()}


def digest_of(*parts: bytes) -> bytes:
    """Return the digest of the bytes of a page or a line, and of what else decides its reading."""
    return hashlib.blake2b(b"\0".join(parts), digest_size=16).digest()


class Kept:
    """Writer of the rows that were read, for the next ingestion.

    Parameters
    ----------
    path : Path
        Of the collection.
    columns : sequence of str
        What a page or line gives beside its id and its text; all are text.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        schema = {**_OWN, **dict.fromkeys(columns, pl.String())}
        self._path, self._writer = path, PartWriter(path / TABLE, schema)

    def write(self, rows: pl.DataFrame) -> None:
        """Keep some rows: ``digest``, ``id``, ``text`` and the columns.

        An id is kept of what can be a document; the first row with an id is that document.
        """
        name, words = (pl.col(column).str.strip_chars() for column in ("id", "text"))
        self._writer.write(rows.with_columns(id=pl.when((words != "") & (name != "")).then(name)))

    def finish(self, key: str) -> None:
        """Keep of what all this depends: the code that reads, and its settings."""
        self._writer.close()
        store.write_json(self._path / _KEY, {"key": key})


class Earlier:
    """A collection whose pages or lines may be taken over; see `open_earlier`.

    Memory holds the digests and the ids.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path = path
        read = [
            _frame(part, "digest", "id").with_columns(part=pl.lit(number, pl.Int32))
            for number, part in enumerate(files.parts_in(path / TABLE))
        ]
        self._documents = files.parts_in(path / "documents")
        texts = [
            _frame(part, "id").with_columns(texts=pl.lit(number, pl.Int32))
            for number, part in enumerate(self._documents)
        ]
        of_text = dict.fromkeys(("id", *columns, "text"), pl.String())
        self._nothing = pl.DataFrame(schema={"place": pl.Int64(), **of_text})
        marks = pl.concat(read).drop_nulls("id")
        self.marks = marks.unique("id", keep="first", maintain_order=True)
        known = self.marks.join(pl.concat(texts), on="id", how="inner", maintain_order="left")
        self._known = known.unique("digest", keep="first", maintain_order=True)

    def take(self, digests: Sequence[bytes]) -> pl.DataFrame:
        """Return what is known of some digests.

        Returns
        -------
        DataFrame
            Columns ``place`` (of the digest, from 0), ``id``, ``text`` and those that were kept.
        """
        schema = {"place": pl.Int64, "digest": pl.Binary}
        wanted = pl.DataFrame({"place": range(len(digests)), "digest": digests}, schema=schema)
        wanted = wanted.join(self._known, on="digest", how="inner", maintain_order="left")
        frames = []
        for (part, texts), rows in wanted.partition_by("part", "texts", as_dict=True).items():
            read = _frame(files.parts_in(self.path / TABLE)[part])
            words = _frame(self._documents[texts], "id", "text")
            rows = rows.select("place", "digest", "id").join(read, on=["digest", "id"], how="left")
            rows = rows.unique("place", keep="first", maintain_order=True).drop("digest")
            frames.append(rows.join(words, on="id", how="left"))
        return pl.concat([self._nothing, *frames])


def open_earlier(path: Path, source: str, columns: Sequence[str], key: str) -> Earlier | str:
    """Open a collection to take pages or lines from, or say why none can be taken.

    Parameters
    ----------
    source : str
        What the manifest must have as ``source``.
    columns : sequence of str
        As `Kept` has them.
    key : str
        Of how pages or lines are read, as `Kept.finish` has it.

    Raises
    ------
    BadInput
        There is no collection of that source, or it is damaged.
    """
    known = store.read(path, collection.KIND).configuration.get("source")
    if known != source:
        raise BadInput(
            f"{path}: its documents are of {known!r}, not of a {source}. Name a collection of an "
            f"earlier state of the same {source} (--since), or none."
        )
    if not (path / _KEY).exists():
        return "it was made by a version of ssi that kept nothing of what it read"
    if files.read_object(path / _KEY, _REMEDY).get("key") != key:
        return "another version of ssi read it, or other columns were read"
    return Earlier(path, columns)


def told(building: Building, earlier: Earlier | str | None, taken: int) -> None:
    """Say in the counts what was taken, or why nothing was.

    "kept", "changed" and "new" are documents, "gone" those that only the earlier collection has.
    """
    if isinstance(earlier, str):
        _log.warning(
            "everything is read anew, as the earlier collection cannot be used: %s", earlier
        )
        building.counts["since"] = {"not_used_because": earlier}
    elif earlier is not None:
        building.counts["since"] = {"taken": taken, **_compared(building.path, earlier)}


def _compared(now: Path, earlier: Earlier) -> dict[str, int]:
    parts = files.parts_in(now / TABLE)
    marks = pl.concat(_frame(part, "digest", "id") for part in parts).drop_nulls("id")
    here, before = marks.unique("id", keep="first", maintain_order=True), earlier.marks
    new = here.join(before, on="id", how="anti").height
    kept = here.join(before, on=["id", "digest"], how="semi").height
    gone = before.join(here, on="id", how="anti").height
    return {"kept": kept, "changed": here.height - kept - new, "new": new, "gone": gone}


def _frame(part: Path, *columns: str) -> pl.DataFrame:
    with files.reading(part, _REMEDY):
        return pl.read_parquet(part, columns=list(columns) or None, glob=False)
