"""Reuse of an earlier reading: what did not change is taken from a collection, not parsed.

A collection keeps what its files gave before anything was resolved, and the key of all that decides
how they are read: the code and its settings. A collection of another key is not used, and the
counts say so. What depends on other rows (links, weights, repetitions) is resolved anew over
everything, so that the result is that of reading everything. There are three ways to find what did
not change, by what can change: of own texts, by the digest of a page or a line (`Earlier`, here);
of a dump, by the digests of the pages in a range of ids (`datasets.wikipedia.before`); of logs,
which only grow, by the place up to which each was read (`clicks.before`).
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ssi_core import collection, files, store
from ssi_core.collection import PartWriter
from ssi_core.remedies import typed
from ssi_core.store import Building
from ssi_core.types import BadInput

TABLE = "read"
_KEY = "read.json"
REMEDY = "Ingest without it, or remove it."
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


def kept_by(path: Path, source: str, name: str, key: str) -> dict[str, Any] | str:
    """Return what a collection says of its reading, or why that cannot be used.

    Parameters
    ----------
    source : str
        What the manifest must have as ``source``.
    name : str
        File of what it says.
    key : str
        Of how files are read now.

    Raises
    ------
    BadInput
        There is no collection of that source, or it is damaged.
    """
    known = store.read(path, collection.KIND).configuration.get("source")
    if known != source:
        raise BadInput(
            f"{path}: its documents are of {known!r}, not of a {source}. Name a collection of an "
            f"earlier state of the same {source} ({typed('since')}), or none."
        )
    manifest = files.read_object(path / name, REMEDY) if (path / name).exists() else {}
    if manifest.get("key") == key:
        return manifest
    reason = (
        "another version of ssi read it, or with other settings (columns, language, wiki)"
        if manifest
        else "it was made by a version of ssi that kept nothing of what it read"
    )
    _log.warning("%s: everything is read anew, as it cannot be used: %s", path, reason)
    return reason


def open_earlier(path: Path, source: str, columns: Sequence[str], key: str) -> Earlier | str:
    """Open a collection to take pages or lines from, or say why none can be taken.

    Parameters
    ----------
    source, key : str
        As for `kept_by`.
    columns : sequence of str
        As `Kept` has them.
    """
    manifest = kept_by(path, source, _KEY, key)
    return manifest if isinstance(manifest, str) else Earlier(path, columns)


def report_earlier(
    building: Building, earlier: object, taken: Callable[[], Mapping[str, int]]
) -> None:
    """Say in the counts what was taken, or why nothing was.

    Parameters
    ----------
    earlier : object
        None where there is no earlier collection, a str why it is not used.
    """
    if isinstance(earlier, str):
        building.counts["since"] = {"not_used_because": earlier}
    elif earlier is not None:
        building.counts["since"] = dict(taken())


def report_taken(building: Building, earlier: Earlier | str | None, taken: int) -> None:
    """Say what was taken of own texts: "taken" counts pages or lines, the others documents."""

    def counts() -> dict[str, int]:
        assert isinstance(earlier, Earlier)
        parts = files.parts_in(building.path / TABLE)
        marks = pl.concat(_frame(part, "digest", "id") for part in parts).drop_nulls("id")
        here = marks.unique("id", keep="first", maintain_order=True)
        return {"taken": taken, **compare(here, earlier.marks, "digest")}

    report_earlier(building, earlier, counts)


def compare(now: pl.DataFrame, before: pl.DataFrame, mark: str) -> dict[str, int]:
    """Count texts by what became of them, by their ids and the digests of their bytes.

    "kept", "changed" and "new" are there now; "gone" are those that only the earlier one has.
    """
    new = now.join(before, on="id", how="anti").height
    kept = now.join(before, on=["id", mark], how="semi").height
    gone = before.join(now, on="id", how="anti").height
    return {"kept": kept, "changed": now.height - kept - new, "new": new, "gone": gone}


def _frame(part: Path, *columns: str) -> pl.DataFrame:
    with files.reading(part, REMEDY):
        return pl.read_parquet(part, columns=list(columns) or None, glob=False)
