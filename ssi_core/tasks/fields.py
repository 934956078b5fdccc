"""Fields of the documents of a task, and their phrases, without what its queries must not see.

Kept in the task as parts aligned with those of the texts: ``title``, ``headings``, ``url`` (its
words) and ``anchors``, the words of links that lead to it, a wording a line. A redirect is another
title. Left out are

- of a task whose queries are titles: the title of each document and what is equal to it, or to
  another name of the document (a redirect), as the tokenizer splits both: headings, anchors, words
  of the address;
- of every task: wordings of links that are held out, by the side of the wording;
- of a task of links: anchors of pairs that are held out.

No model that learns from pairs reads ``anchors``: it would be shown the very words that it is asked
(`views.counting`). BM25F reads them, for it learns nothing from pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from ssi_core import files
from ssi_core.collection import ANCHOR, REDIRECT
from ssi_core.tasks.kinds import ANCHORS, LINK, TITLES
from ssi_core.tasks.layout import FIELDS, MATRICES, PAIRS, PHRASE_VIEW
from ssi_core.tasks.reading import fields_in, language_of, lines_of, names_in, with_redirects
from ssi_core.tasks.split import TRAIN, side_of_documents
from ssi_core.tasks.task_builder import TaskBuilder
from ssi_core.text import fields as names
from ssi_core.text.tokenizer import tokenize
from ssi_core.views.counting import matrix_path
from ssi_core.views.csr_writer import CsrWriter
from ssi_core.views.names import PHRASES
from ssi_core.views.phrases import view_of
from ssi_core.views.text_view import TextView

_AT_ONCE = 10_000


def write_fields(builder: TaskBuilder) -> None:
    """Write the short fields of the documents of a task; the pairs of the task are written."""
    directory = builder.path / FIELDS
    directory.mkdir()
    anchors, redirects = (_names(builder, relation) for relation in (ANCHOR, REDIRECT))
    hidden = _Names(builder) if TITLES in (builder.spec.queries, *builder.spec.auxiliary) else None
    first = 0
    counts = dict.fromkeys(names.SHORT, 0)
    for part in builder.collection.parts("documents"):
        frame = fields_in(part)
        titles = with_redirects(frame[names.TITLE], redirects.slice(first, len(frame)))
        called = anchors.slice(first, len(frame)).alias(names.ANCHORS)
        frame, first = frame.with_columns(titles, called), first + len(frame)
        if hidden is not None:
            frame = hidden.left_out(frame)
        chosen = [name for name in names.SHORT if name in builder.spec.fields]
        nothing = [pl.lit("").alias(n) for n in names.SHORT if n not in chosen]
        frame = frame.select(*chosen, *nothing).select(names.SHORT)
        for name in names.SHORT:
            counts[name] += int((frame[name] != "").sum())
        frame.write_parquet(directory / part.name, compression="zstd", compression_level=1)
    builder.counts["documents_with"] = counts


def _names(builder: TaskBuilder, relation: str) -> pl.Series:
    """Return what each document is called, as far as it may be seen, a line each."""
    ids = builder.documents["id"]
    field = names.ANCHORS if relation == ANCHOR else names.TITLE
    if field not in builder.spec.fields:
        return pl.Series([""]).new_from_index(0, len(ids))
    called = _without_held_out(builder, names_in(builder.collection, relation), relation)
    return lines_of(called, ids)


def _without_held_out(builder: TaskBuilder, called: pl.DataFrame, relation: str) -> pl.DataFrame:
    """Leave out names whose wording, or whose link, is held out."""
    kept = called
    if _asks_wordings(builder):
        language, wordings = _language(builder), called["text"].unique()
        keys = pl.Series("key", [" ".join(tokenize(text, language)) for text in wordings])
        sides = side_of_documents(keys, seed=builder.spec.split_seed)
        seen = pl.DataFrame({"text": wordings}).filter(pl.Series(sides == TRAIN))
        kept = called.join(seen, on="text", how="semi", maintain_order="left")
    if builder.spec.relevant == LINK and relation == ANCHOR:
        rows = np.load(builder.path / PAIRS / "train.npy")
        ids = builder.documents["id"]
        pairs = pl.DataFrame({"source": ids.gather(rows[:, 0]), "target": ids.gather(rows[:, 1])})
        kept = kept.join(pairs, on=["source", "target"], how="semi", maintain_order="left")
    builder.skipped[f"{relation}_held_out"] = len(called) - len(kept)
    return kept


def _language(builder: TaskBuilder) -> str:
    return language_of(builder.collection.path, builder.documents["language"])


def _asks_wordings(builder: TaskBuilder) -> bool:
    """Tell whether wordings of links are queries, or are tested beside a task of links."""
    return builder.spec.relevant == LINK or ANCHORS in builder.spec.kinds


class _Names:
    """Names of the documents, which their fields must not repeat."""

    def __init__(self, builder: TaskBuilder) -> None:
        self._language = _language(builder)
        redirects = builder.collection.redirects.select("target", "text").collect()
        titles = builder.documents.select(target="id", text="title")
        named = pl.concat([titles, redirects]).group_by("target").agg("text")
        ids = builder.documents.select(target="id")
        self._names = ids.join(named, on="target", how="left", maintain_order="left")["text"]
        self._row = 0

    def left_out(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the fields of the next documents without their names."""
        rows = self._names.slice(self._row, len(frame)).to_list()
        self._row += len(frame)
        hidden = [{self._key(name) for name in several} for several in rows]
        columns = {
            name: [
                separator.join(self._others(text.split(separator), keys))
                for text, keys in zip(frame[name], hidden, strict=True)
            ]
            for name, separator in _ENTRIES.items()
        }
        return frame.with_columns(
            pl.lit("").alias(names.TITLE),
            *(pl.Series(name, values, dtype=pl.String) for name, values in columns.items()),
        )

    def _others(self, entries: Sequence[str], keys: set[str]) -> Iterator[str]:
        return (entry for entry in entries if self._key(entry) not in keys)

    def _key(self, name: str) -> str:
        return " ".join(tokenize(name, self._language))


_ENTRIES = {names.HEADINGS: "\n", names.ANCHORS: "\n", names.URL: "/"}
"""Fields that may repeat a name, and what stands between their entries."""


def names_of_task(task: Path) -> pl.DataFrame | None:
    """Return what the documents of a task are called, less what is held out.

    Columns are those of `reading.names_of`; None where the task reads texts alone.
    """
    parts = field_parts(task)
    return files.read_strings(parts, names.TITLE, names.ANCHORS) if parts else None


def field_parts(task: Path) -> list[Path]:
    """Return the files of the short fields of a task; none where it reads texts alone."""
    return files.parts_in(task / FIELDS)


def write_phrases(task: Path, base: TextView) -> int:
    """Write the view and its matrix, beside the fields of the documents; returns its columns."""
    view = view_of(base, _lines_of_names(task))
    view.save(task / PHRASE_VIEW)
    with CsrWriter(matrix_path(task / MATRICES, PHRASES), len(view.keys)) as writer:
        for lines in _lines_of_names(task):
            counts = view.count(lines)
            writer.append(counts.indptr, counts.indices, counts.data)
    return len(view.keys)


def _lines_of_names(task: Path) -> Iterator[Sequence[str]]:
    """Yield title and headings of the documents, a line each, in blocks of documents."""
    for part in field_parts(task):
        frame = files.read_strings([part], names.TITLE, names.HEADINGS)
        for block in frame.iter_slices(_AT_ONCE):
            yield [f"{title}\n{headings}" for title, headings in block.rows()]
