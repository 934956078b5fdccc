"""The collection: texts and relations between them, the one format that every source writes.

A directory with

- ``documents/``: `DOCUMENTS`
- ``queries/``: `DOCUMENTS`, too; a collection without them has documents that are queries
- ``relations/NAME/``: `ENDS` and further columns, the ids of what belongs together
- ``labels/``, ``query_labels/``: `LABELS`, what a source says of a text beside the text
- ``impressions/``: what was shown to whom (`corpus.click_tables`)
- ``dictionary.parquet``: `ENDS`, a word of the queries' language and one of the documents'

Tables are parts of parquet, ``part-00000.parquet``, ``part-00001.parquet``, ...; the order of the
parts and of their rows is the order of the texts.

=============  ==========================  ==================================
relation       source                      target
=============  ==========================  ==================================
`LINK`         document                    document that it links to
`QUERY_LINK`   query                       query that it links to
`TRANSLATION`  query                       document on the same subject
`JUDGEMENT`    query                       document; ``grade``, perhaps ``side``
`CLICK`        query                       document; ``weight``, ``clicks``, ...
`SHOWN`        query                       document that is always shown there
`ANCHOR`       document                    document that it links to; ``text``
`REDIRECT`     page that is no document    document that it stands for; ``text``
=============  ==========================  ==================================

An anchor is a link with its words: ``text`` is their wording (`text.wording`), ``weight`` how often
the source links to the target in these words. A redirect is another name of a document: ``text`` is
a title as it is written, ``source`` the id of the page that bears it, which has no text here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl

from ssi_core import files, store
from ssi_core.store import Artefact
from ssi_core.types import BadInput

KIND = "collection"
INGEST = "Remove the collection and ingest it again."

LINK, QUERY_LINK, TRANSLATION = "link", "query_link", "translation"
JUDGEMENT, CLICK, SHOWN = "judgement", "click", "shown"
ANCHOR, REDIRECT = "anchor", "redirect"

Side: TypeAlias = Literal["queries", "documents"]
SIDES: tuple[Side, Side] = ("queries", "documents")

DOCUMENTS: Mapping[str, pl.DataType] = {
    "id": pl.String(),
    "title": pl.String(),
    "language": pl.String(),
    "revision": pl.Int64(),
    "timestamp": pl.Datetime("us", "UTC"),
    "url": pl.String(),
    "text": pl.String(),
    "headings": pl.String(),
}
"""Schema of documents and queries; ``text`` is plain words, ``headings`` those of its parts, one a
line; what is not known is null."""
ENDS: Mapping[str, pl.DataType] = {"source": pl.String(), "target": pl.String()}
"""Columns that every relation has: distinct pairs of ids, no id with itself."""
NAMED: Mapping[str, pl.DataType] = {"text": pl.String()}
"""Further column of `REDIRECT` and of `ANCHOR`, whose pairs are distinct together with it."""
COUNTED: Mapping[str, pl.DataType] = {**NAMED, "weight": pl.Float32()}
"""Further columns of `ANCHOR`."""
JUDGED: Mapping[str, pl.DataType] = {"grade": pl.Float32()}
"""Further column of `JUDGEMENT`: higher for the better, 0 for what is not relevant. The manifest
declares the level from 0 to 4 of each grade of the publisher (``counts["gains"]``)."""
GIVEN: Mapping[str, pl.DataType] = {"side": pl.String()}
"""Further column of `JUDGEMENT` where the publisher has fixed a split: train, valid or test."""
LABELS: Mapping[str, pl.DataType] = {
    "id": pl.String(),
    "column": pl.String(),
    "value": pl.String(),
}
"""Schema of labels, such as the category of a document, which may have several."""

TITLE = 60
"""Characters of a text that stand for a title."""

_RELATIONS, _DICTIONARY = "relations", "dictionary.parquet"
_LABELS: Mapping[Side, str] = {"documents": "labels", "queries": "query_labels"}


@dataclass(frozen=True)
class Collection:
    """An open collection; nothing is read before it is asked for.

    Attributes
    ----------
    path : Path
        Its directory.
    artefact : Artefact
        Its manifest.
    """

    path: Path
    artefact: Artefact

    @property
    def key(self) -> str:
        """Key of the artefact."""
        return self.artefact.key

    @property
    def has_queries(self) -> bool:
        """Tell whether queries are other texts than the documents."""
        return bool(files.parts_in(self.path / "queries"))

    @property
    def sides(self) -> tuple[Side, ...]:
        """The tables of texts that there are."""
        return ("queries", "documents") if self.has_queries else ("documents",)

    @property
    def relations(self) -> tuple[str, ...]:
        """Names of the relations, by the alphabet."""
        return tuple(sorted(path.name for path in (self.path / _RELATIONS).glob("*")))

    @property
    def relevant(self) -> tuple[str, ...]:
        """Name what may be relevant to a query here, in the words of `tasks.spec.TaskSpec`.

        A relation without a pair is not among them.
        """
        kinds = (CLICK, JUDGEMENT, TRANSLATION, LINK, ANCHOR)
        names = [name for name in kinds if name in self.relations and self._has_pairs(name)]
        both = TRANSLATION in names and LINK in names
        return (*names, f"{TRANSLATION} > {LINK}") if both else tuple(names)

    def _has_pairs(self, name: str) -> bool:
        first = pl.scan_parquet(self.relation(name), glob=False).head(1)
        with files.reading(self.path / _RELATIONS / name, INGEST):
            return bool(first.select(pl.len()).collect().item())

    @property
    def dictionary(self) -> Path | None:
        """File of the dictionary; None where there is none."""
        path = self.path / _DICTIONARY
        return path if path.exists() else None

    @property
    def documents(self) -> pl.LazyFrame:
        """Documents, lazily."""
        return pl.scan_parquet(self.parts("documents"), glob=False)

    @property
    def links(self) -> pl.LazyFrame:
        """Links between documents, lazily; none where the source has no links."""
        if LINK not in self.relations:
            return pl.LazyFrame(schema=dict(ENDS))
        return pl.scan_parquet(self.relation(LINK), glob=False)

    @property
    def redirects(self) -> pl.LazyFrame:
        """Other names of documents, lazily: source, target, text; there may be none."""
        if REDIRECT not in self.relations:
            return pl.LazyFrame(schema={**ENDS, **NAMED})
        return pl.scan_parquet(self.relation(REDIRECT), glob=False)

    def table_of(self, side: Side) -> Side:
        """Return the table that has the texts of a side: documents, where these are queries."""
        return side if side in self.sides else "documents"

    def parts(self, table: str) -> list[Path]:
        """Return the files of a table; `BadInput` where there is none."""
        parts = files.parts_in(self.path / table)
        if not parts:
            raise BadInput(f"{self.path / table}: no part-*.parquet in it. {INGEST}")
        return parts

    def relation(self, name: str) -> list[Path]:
        """Return the files of a relation."""
        return self.parts(f"{_RELATIONS}/{name}")

    def ends(self, name: str) -> Iterator[pl.DataFrame]:
        """Yield source and target of a relation; one part is held at a time."""
        for part in self.relation(name):
            yield files.read_strings([part], "source", "target", remedy=INGEST)

    def names(self, side: Side) -> pl.DataFrame:
        """Read id, title and language of the texts of a side."""
        parts = self.parts(self.table_of(side))
        return files.read_strings(parts, "id", "title", "language", remedy=INGEST)

    def labels(self, side: Side) -> list[Path]:
        """Return the files of the labels of a side; it may have none."""
        return files.parts_in(self.path / _LABELS[self.table_of(side)])

    def frame(self, table: str) -> pl.DataFrame:
        """Read all of a table: a relation, or impressions."""
        table_path = self.path / table
        with files.reading(table_path, INGEST):
            return pl.read_parquet(self.parts(table), glob=False)


def open_collection(path: str | Path) -> Collection:
    """Open the directory of a collection; `BadInput` when it is none."""
    artefact = store.read(path, KIND)
    return Collection(artefact.path, artefact)


def relation_at(name: str) -> str:
    """Return the place of a relation inside a collection."""
    return f"{_RELATIONS}/{name}"


class PartWriter:
    """Writes frames as ``part-00000.parquet``, ``part-00001.parquet``, ... of one schema.

    Empty frames make no part, but a table without a row has one, so that it can be read.

    >>> import tempfile
    >>> directory = Path(tempfile.mkdtemp())
    >>> with PartWriter(directory / "link", ENDS) as links:
    ...     links.write(pl.DataFrame({"source": ["1"], "target": ["2"]}))
    >>> links.rows, pl.read_parquet(directory / "link" / "*.parquet").rows()
    (1, [('1', '2')])
    """

    def __init__(self, directory: Path, schema: Mapping[str, pl.DataType]) -> None:
        self._directory, self._schema = directory, schema
        self.parts = self.rows = 0
        directory.mkdir(parents=True)

    def write(self, frame: pl.DataFrame) -> None:
        """Append a part; columns are put into the schema's order and types."""
        if frame.height:
            self._write(frame.select(pl.col(n).cast(t) for n, t in self._schema.items()))

    def link(self, part: Path, rows: int) -> None:
        """Append a finished parquet file of the right schema by giving it a second name."""
        store.link(part, self._next())
        self._count(rows)

    def link_all(self, parts: list[Path]) -> None:
        """Append finished parquet files of the right schema, in their order."""
        for part in parts:
            self.link(part, pl.scan_parquet(part, glob=False).select(pl.len()).collect().item())

    def close(self) -> None:
        """Write a part without a row where there is none."""
        if not self.parts:
            self._write(pl.DataFrame(schema=self._schema))

    def _write(self, frame: pl.DataFrame) -> None:
        frame.write_parquet(self._next(), compression="zstd", compression_level=1)
        self._count(frame.height)

    def _count(self, rows: int) -> None:
        self.parts += 1
        self.rows += rows

    def _next(self) -> Path:
        return self._directory / f"part-{self.parts:05d}.parquet"

    def __enter__(self) -> PartWriter:
        return self

    def __exit__(self, kind: object, *raised: object) -> None:
        if kind is None:
            self.close()


def text_writer(path: Path, side: Side = "documents") -> PartWriter:
    """Return the writer of a collection's documents or queries."""
    return PartWriter(path / side, DOCUMENTS)


def relation_writer(
    path: Path, name: str, further: Mapping[str, pl.DataType] | None = None
) -> PartWriter:
    """Return the writer of a relation.

    Parameters
    ----------
    further : mapping
        Columns beside `ENDS`.
    """
    return PartWriter(path / _RELATIONS / name, {**ENDS, **(further or {})})


def label_writer(path: Path, side: Side = "documents") -> PartWriter:
    """Return the writer of the labels of a side."""
    return PartWriter(path / _LABELS[side], LABELS)


def write_dictionary(path: Path, entries: pl.DataFrame) -> None:
    """Write the dictionary of a collection: source and target, distinct."""
    columns = [pl.col(name).cast(kind) for name, kind in ENDS.items()]
    entries.select(columns).write_parquet(path / _DICTIONARY, compression="zstd")


def beginning(text: pl.Expr) -> pl.Expr:
    """Return how a text begins, which stands for the title where there is none."""
    return text.str.strip_chars().str.slice(0, TITLE).str.replace_all(r"\s+", " ")


def has_title() -> pl.Expr:
    """Tell of documents (id, title, text) whether they were given a title.

    One that was given none has the beginning of its text for a title, or a number that is its id.
    """
    title = pl.col("title")
    number = (title == pl.col("id")) & title.str.contains(r"^\d+$")
    return (title != beginning(pl.col("text"))) & ~number


def take_names(path: Path, texts: Collection) -> None:
    """Take over what the documents of another collection are called: anchors and redirects."""
    for name, further in ((ANCHOR, COUNTED), (REDIRECT, NAMED)):
        if name in texts.relations:
            with relation_writer(path, name, further) as writer:
                writer.link_all(texts.relation(name))


def timeless(texts: pl.DataFrame) -> pl.DataFrame:
    """Return texts (id, title, language, text) in the schema of documents, without the rest."""
    nothing = {n: pl.lit(None, t) for n, t in DOCUMENTS.items() if n not in texts.columns}
    return texts.with_columns(**nothing).select(DOCUMENTS.keys())
