"""The ranking of another system, as a file of TREC: a row beside others, and a part of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from ssi_core import files
from ssi_core.arrays import ArraySpec, ArraySpecs, csr_specs
from ssi_core.bounds import Values
from ssi_core.corpus import inputs
from ssi_core.estimator import Arrays, Sizes
from ssi_core.evaluation.trec import escape
from ssi_core.models.base import FitOptions, FittedModel, Model, Side, fitted
from ssi_core.scoring.vectors import Columns, Inner, Vectors
from ssi_core.store import digest_file
from ssi_core.tasks.layout import DOCUMENTS
from ssi_core.types import BadInput, Float32, Task, Texts
from ssi_core.views.names import COUNTS

_LINE = r"^\s*(?<query>\S+)\s+\S+\s+(?<document>\S+)\s+\S+\s+(?<score>\S+)\s+\S+\s*$"
_FORM = "expected 'QUERY Q0 DOCUMENT RANK SCORE NAME', with blanks between"
_REMEDY = (
    "Rank the texts of 'ssi lab export-trec RUN --with-texts', under the ids that they have there"
)


@dataclass(frozen=True)
class TrecRun(Model):
    """``f(q, d)`` is the score that a file has for q and d: nothing is learnt, nothing computed.

    A line of the file is ``QUERY Q0 DOCUMENT RANK SCORE NAME``; the score orders, and the rank is
    not read. Ids are those that ``ssi lab export-trec`` writes. The scores of a query are shifted,
    so that documents that are not listed stand after all others: with 0, as far below the last one
    as the listed ones are apart on average. Every query that is measured, and where weights are
    chosen every one of validation, must have a line.

    The row measures another system, such as a dense encoder, on the queries of the task, alone or
    as a part of a mixture (by its scores) or of a fusion (by its ranks). It knows no text.

    Parameters
    ----------
    runs : list of str
        Files that are read as one, such as those of test and validation; plain, gzip or zstd.
        Relative paths start where the command is run.
    """

    name: ClassVar[str] = "trec_run"
    runs: Values[str]

    def views(self) -> set[str]:
        """Return a view that every task has: the words of a query say that it has some."""
        return {COUNTS}

    @property
    def reads_text(self) -> bool:
        """Tell that there are scores for queries of the task alone."""
        return False

    def unserved(self) -> str:
        """Return why no text can be asked."""
        return "a run of TREC has the scores of some queries of a task, and of no other text"

    def vector_shape(self, task: Task) -> tuple[int, int]:
        """Return no dense part, and the lines of the files at most."""
        return 0, sum(Path(run).stat().st_size for run in self.runs if Path(run).exists()) // 16

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Read the files; every id in them must be one of the task."""
        _require_names(task)
        frames = [_read(Path(run)) for run in self.runs]
        for side in ("query", "document"):
            _require_known(frames, side, task)
        lines = pl.concat(frames)
        _require_once(lines)
        queries, query = _numbered(lines["query"])
        documents, document = _numbered(lines["document"])
        shape = (len(documents), len(queries))
        by_document = sparse.coo_array((_shifted(lines), (document, query)), shape).tocsr()
        arrays: Arrays = {
            "queries": queries,
            "documents": documents,
            "start": by_document.indptr.astype(np.int64),
            "query": by_document.indices.astype(np.int32),
            "score": by_document.data,
        }
        facts = {
            "lines": len(lines),
            "queries": len(queries),
            "documents": len(documents),
            "digests": {run: digest_file(Path(run)) for run in self.runs},
        }
        return fitted(self, task, arrays, facts)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the digests of queries and documents, and the scores."""
        return {
            "queries": ArraySpec("uint64", ("queries",), order="ascending"),
            "documents": ArraySpec("uint64", ("documents",), order="ascending"),
            **csr_specs("documents", "queries", ("start", "query", "score"), "float32"),
        }

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Return a column for each query: 1 for the query itself, the scores of a document.

        Raises
        ------
        BadInput
            The files have no line for a query.
        """
        arrays = fitted.arrays
        width = len(arrays["queries"])
        known = arrays["queries" if side == "query" else "documents"]
        offset = _positions(texts.ids, known)
        if side == "query":
            self._require_listed(texts, offset)
            rows = np.flatnonzero(offset >= 0)
            ones = np.ones(len(rows), np.float32)
            return Inner(sparse.csr_array((ones, (rows, offset[rows])), (len(texts), width)), None)
        parts = (arrays["score"], arrays["query"], arrays["start"])
        listed: Any = sparse.csr_array(parts, (len(known), width))
        nothing = sparse.csr_array((1, width), dtype=np.float32)
        # A document that is not listed has the last row, which is empty.
        return Inner(sparse.vstack([listed, nothing], format="csr")[offset], None)

    def _require_listed(self, texts: Texts, position: NDArray[np.intp]) -> None:
        missing = texts.ids.filter(pl.Series(position < 0) & (texts.ids != ""))
        if len(missing):
            # A run that was in memory has no file any more.
            files = [run for run in self.runs if Path(run).exists()] or ["the run"]
            raise BadInput(
                f"{', '.join(files)}: {len(missing):,} of {len(texts):,} queries that are "
                f"measured have no line, such as {escape(missing[0])!r}. {_REMEDY}."
            )

    def sparse_view(self, fitted: FittedModel, side: Side) -> Columns:
        """Name the columns by the numbers of the queries."""
        return Columns("trec-run", [f"(query {n})" for n in range(len(fitted.arrays["queries"]))])


def _read(path: Path) -> pl.DataFrame:
    """Read the lines of a file: query, document, score, and where they stand."""
    remedy = "Name a run of TREC."
    content = inputs.read_input(path, remedy, most=inputs.LARGEST_SHARE)
    with files.reading(path, remedy):
        lines = pl.read_lines(content, name="text", row_index_name="line", row_index_offset=1)
    lines = lines.filter(pl.col("text").str.strip_chars() != "")
    fields = lines["text"].str.extract_groups(_LINE).struct.unnest()
    read = lines.hstack(fields).with_columns(
        score=pl.col("score").cast(pl.Float64, strict=False), file=pl.lit(str(path))
    )
    wrong = read.filter(~pl.col("score").is_finite().fill_null(False))
    if len(wrong):
        line, text = wrong.row(0)[:2]
        raise BadInput(
            f"{path}, line {line}: {text[:80]!r}: {_FORM}, and a score that is a number."
        )
    if read.is_empty():
        raise BadInput(f"{path}: it has no line: {_FORM}.")
    return read.select("file", "line", "query", "document", "score")


def _require_names(task: Task) -> None:
    if task.queries.ids.n_unique() < len(task.queries):
        raise BadInput(
            f"{task.path}: several queries have one id, as the words of one document do, so that "
            "no run can name them. Take queries with ids of their own."
        )


def _require_known(frames: Iterable[pl.DataFrame], side: Side, task: Task) -> None:
    """Refuse ids that are none of the task, whose cold documents training does not see."""
    texts = task.queries if side == "query" else task.documents
    known = {escape(id_) for id_ in texts.ids}
    for lines in frames:
        unknown = set(lines[side].unique()) - known
        if unknown and task.path is not None and (side == "document" or task.same):
            whole = files.read_strings([task.path / DOCUMENTS], "id")["id"]
            unknown -= {escape(id_) for id_ in whole}
        if unknown:
            file, line, *_ = lines.filter(pl.col(side).is_in(list(unknown))).row(0)
            name = lines.filter(pl.col("line") == line)[side][0]
            raise BadInput(f"{file}, line {line}: the task has no {side} {name!r}. {_REMEDY}.")


def _require_once(lines: pl.DataFrame) -> None:
    twice = lines.filter(~pl.struct("query", "document").is_first_distinct())
    if len(twice):
        file, line, query, document, _ = twice.row(0)
        raise BadInput(
            f"{file}, line {line}: query {query!r} has document {document!r} already. Keep one of "
            "the lines."
        )


def _shifted(lines: pl.DataFrame) -> Float32:
    """Return scores above 0, each query's in their order and at their distances."""
    score, lowest = pl.col("score"), pl.col("score").min().over("query")
    span = score.max().over("query") - lowest
    gap = pl.when(span > 0).then(span / pl.len().over("query")).otherwise(1.0)
    return lines.select((score - lowest + gap).cast(pl.Float32))["score"].to_numpy()


def _numbered(ids: pl.Series) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
    """Return the digests of distinct ids, ascending, and the place of each id among them."""
    distinct = ids.unique()
    digests = _digests(distinct)
    order = np.argsort(digests, kind="stable")
    positions = pl.DataFrame({"id": distinct.gather(order), "place": np.arange(len(order))})
    joined = pl.DataFrame({"id": ids}).join(positions, on="id", maintain_order="left")
    return digests[order], joined["place"].to_numpy()


def _positions(ids: pl.Series, known: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Return the place of each id among ascending digests, -1 where it is not there."""
    digests = _digests(pl.Series([escape(id_) for id_ in ids], dtype=pl.String))
    position = np.searchsorted(known, digests).clip(max=len(known) - 1)
    return np.where(known[position] == digests, position, -1)


def _digests(ids: pl.Series) -> NDArray[np.uint64]:
    """Return 64 bits of each id, uint64 (n,)."""
    digests = b"".join(hashlib.blake2b(id_.encode(), digest_size=8).digest() for id_ in ids)
    return np.frombuffer(digests, "<u8").astype(np.uint64)
