"""The texts of a task: vocabulary, weights of words, and a matrix for each view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from ssi_core.arrays import load_csr
from ssi_core.collection import Side
from ssi_core.parts import LOCAL
from ssi_core.remedies import typed
from ssi_core.tasks.counted import counted_texts
from ssi_core.tasks.fields import field_parts
from ssi_core.tasks.layout import DOCUMENTS, MATRICES, VIEW
from ssi_core.tasks.names import without_titles
from ssi_core.tasks.queries import MATRICES as QUERY_MATRICES
from ssi_core.tasks.queries import QUERY_VIEW, TEXTS
from ssi_core.tasks.reading import language_of, texts_of
from ssi_core.tasks.task_builder import Mask, Reading, TaskBuilder
from ssi_core.text.fields import FIELDS
from ssi_core.text.tokenizer import stemmed
from ssi_core.types import BadInput, TextMatrix
from ssi_core.views.bags import Batch
from ssi_core.views.counting import BLOCK, matrix_path, row_blocks, write_counts, write_views
from ssi_core.views.csr_writer import CsrWriter
from ssi_core.views.names import COUNTS
from ssi_core.views.names import FIELDS as SHORT
from ssi_core.views.text_view import TextView
from ssi_core.views.weighting import Side as WeighedSide
from ssi_core.views.weighting import Weighting


def write_texts(builder: TaskBuilder, reading: Reading) -> tuple[TextView, TextView]:
    """Write the documents of a task, and its queries if they are texts of their own.

    Returns
    -------
    views of the queries and of the documents, of counts
    """
    builder.documents.select("id", "title").write_parquet(builder.path / DOCUMENTS)
    builder.counts["documents"] = len(builder.documents)
    vocabularies = builder.spec.vocabularies
    if builder.same or vocabularies == "documents":
        view = _write_side(builder, "documents", reading.documents, None, MATRICES, VIEW)
        return view, view
    queries = builder.queries
    queries = queries if reading.kept is None else queries.filter(reading.kept)
    queries.select("id", "title").write_parquet(builder.path / TEXTS)
    if vocabularies == "two":
        documents = _write_side(builder, "documents", reading.documents, None, MATRICES, VIEW)
        query_view = _write_side(
            builder, "queries", reading.queries, reading.kept, QUERY_MATRICES, QUERY_VIEW
        )
        return query_view, documents
    return (_write_as_one(builder, reading),) * 2


def _write_side(
    builder: TaskBuilder, side: Side, fitting: Mask, kept: Mask | None, matrices: str, view: str
) -> TextView:
    """Count and weigh the texts of one side."""
    counted, facts = _count(builder, builder.path / matrices, [side], fitting, kept, view)
    weightings = builder.spec.weightings
    nonzeros = write_views(
        builder.path / matrices,
        counted.statistics,
        weightings,
        builder.progress,
        side="document" if side == "documents" else "query",
    )
    facts |= {"nonzeros": {COUNTS: facts["nonzeros"], **nonzeros}}
    if view == VIEW:
        builder.counts.update(facts)
    else:
        builder.counts["query_texts"] = {"documents": len(fitting), **facts}
    return counted


def write_two_sided(builder: TaskBuilder, path: Path, view: TextView) -> None:
    """Write how documents are read as queries, where that differs.

    Parameters
    ----------
    path : Path
        Directory of the task, or of one beside it.
    """
    two_sided = [weighting for weighting in builder.spec.weightings if weighting.two_sided]
    if two_sided:
        write_views(
            path / QUERY_MATRICES,
            view.statistics,
            two_sided,
            builder.progress,
            side="query",
            counts=builder.path / MATRICES,
        )


def _write_as_one(builder: TaskBuilder, reading: Reading) -> TextView:
    """Count the texts of both sides together, and write the matrices of each."""
    both = builder.building.work("both") / "matrices"
    fitting = np.concatenate([reading.documents, reading.queries])
    view, facts = _count(builder, both, ["documents", "queries"], fitting, reading.kept, VIEW)
    whole = load_csr(matrix_path(both, COUNTS))
    if builder.spec.has_fields:
        short = load_csr(matrix_path(both, SHORT))
        _copy_rows(short, 0, len(reading.documents), matrix_path(builder.path / MATRICES, SHORT))
    begin = 0
    sides: tuple[tuple[str, int, WeighedSide], ...] = (
        (MATRICES, len(reading.documents), "document"),
        (QUERY_MATRICES, len(reading.queries), "query"),
    )
    for matrices, size, side in sides:
        directory = builder.path / matrices
        _copy_rows(whole, begin, begin + size, matrix_path(directory, COUNTS))
        write_views(
            directory, view.statistics, builder.spec.weightings, builder.progress, side=side
        )
        begin += size
    builder.counts.update(facts)
    return view


def _count(
    builder: TaskBuilder,
    matrices: Path,
    sides: Sequence[Side],
    fitting: Mask,
    kept: Mask | None,
    view: str,
) -> tuple[TextView, dict[str, object]]:
    """Count the texts of some sides; their view is kept in the task.

    Parameters
    ----------
    matrices : Path
        Directory of the counts, which may be one of work.
    kept : bool array or None
        Queries that are read.
    """
    where = builder.collection.path
    languages = [getattr(builder, side)["language"] for side in sides]
    language = language_of(where, pl.concat(languages))
    if builder.spec.stems:
        language = _of_stems(where, language)
    fields = len(FIELDS) if builder.spec.has_fields and sides[0] == "documents" else 1
    vocabulary, statistics, facts = write_counts(
        matrices,
        chain.from_iterable(
            _texts(builder, side, kept if side == "queries" else None, language, view)
            if side == sides[0] or fields == 1
            else _alone(texts_of(builder.collection, side, kept), fields)
            for side in sides
        ),
        language=language,
        fitting=fitting,
        words=builder.spec.most_words,
        work=builder.building.work(f"bags-{view}"),
        progress=builder.progress,
        documents=len(builder.documents) if sides[0] == "documents" else None,
        fields=fields,
    )
    if not (statistics.idf > 0).any():
        raise BadInput(
            f"{where}: its {' and '.join(sides)} have no word that is in some and not in all of "
            f"them ({len(vocabulary)} words), so nothing can be weighed. Take more words "
            f"({typed('words', 'all')}), or ingest more texts."
        )
    weighting, read = Weighting(COUNTS), builder.spec.fields
    counted = TextView(language, vocabulary, statistics, weighting, fields=tuple(read))
    counted.save(builder.path / view)
    return counted, dict(facts)


def _of_stems(where: Path, language: str) -> str:
    if (stems := stemmed(language)) is None:
        raise BadInput(
            f"{where}: its texts are in {language!r}, and only those in 'en' have stems. Take "
            f"words as they are (without {typed('stems')}), or name the language as texts are "
            "ingested."
        )
    return stems


def _texts(
    builder: TaskBuilder, side: Side, kept: Mask | None, language: str, view: str
) -> Iterator[Batch]:
    """Yield the texts of a side as the task reads them; on a cluster they are counted there."""
    short = field_parts(builder.path) if side == "documents" else ()
    if builder.spec.asks_titles and side == "documents":
        texts = texts_of(builder.collection, side, short=short)
        return without_titles(texts, builder.documents["title"], len(FIELDS) if short else 1)
    if builder.where != LOCAL:
        return counted_texts(builder, side, kept, language, view, short)
    return texts_of(builder.collection, side, kept, short)


def _alone(batches: Iterator[list[bytes]], fields: int) -> Iterator[list[bytes]]:
    """Yield texts that have no other fields as texts with fields."""
    nothing = [b""] * (fields - 1)
    for batch in batches:
        yield [part for text in batch for part in (text, *nothing)]


def _copy_rows(whole: TextMatrix, begin: int, end: int, out: Path) -> None:
    with CsrWriter(out, whole.shape[1]) as writer:
        for first, last in row_blocks(whole.indptr[begin : end + 1], BLOCK):
            rows = whole[begin + first : begin + last]
            writer.append(rows.indptr, rows.indices, rows.data)
