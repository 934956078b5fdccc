"""Collections in the format of BEIR: corpus.jsonl, queries.jsonl and qrels/*.tsv.

Thakur et al. (2021), BEIR: a heterogeneous benchmark for zero-shot evaluation of information
retrieval models. A line of the corpus has ``_id``, ``title`` and ``text``, one of the queries
``_id`` and ``text``; a line of the judgements a query, a document and a score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ssi_core.corpus.judged.judgements import write_judgements
from ssi_core.corpus.tables.reader import header_of, whole_rows
from ssi_core.corpus.user_texts import write_own
from ssi_core.remedies import typed_call
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.corpus.sources.judged import Beir
    from ssi_core.store import Building

SPLITS: Mapping[str, str] = {"train": "train", "dev": "valid", "valid": "valid", "test": "test"}
"""Name of a file of judgements -> side of the split that the publisher has fixed."""

_PACKED = ("", ".gz", ".bz2", ".xz", ".zst")
_JUDGED = {"query": "query-id", "document": "corpus-id", "grade": "score"}


def files_in(directory: Path) -> tuple[Path, Path, dict[str, Path]]:
    """Return documents, queries, and the judgements by the side of the split that they are of.

    Raises
    ------
    BadInput
        A file is missing.
    """
    documents, queries = (_file(directory / name) for name in ("corpus.jsonl", "queries.jsonl"))
    judged = {
        side: file
        for name, side in SPLITS.items()
        if (file := _found(directory / "qrels" / f"{name}.tsv")) is not None
    }
    if not judged:
        raise BadInput(
            f"{directory}: no judgements: qrels/ has none of {', '.join(SPLITS)} (.tsv). Move them "
            f"there, or name all: {typed_call('fit', documents, queries=queries, qrels='FILE')}"
        )
    return documents, queries, judged


def _found(path: Path) -> Path | None:
    return next((file for end in _PACKED if (file := Path(f"{path}{end}")).is_file()), None)


def _file(path: Path) -> Path:
    file = _found(path)
    if file is None:
        raise BadInput(f"{path}: there is no such file. Is {path.parent} in the format of BEIR?")
    return file


def build(building: Building, source: Beir, progress: Progress | None) -> None:
    """Write a corpus with queries and judgements.

    Documents and queries keep their ids, judgements their score as the grade, and the side of the
    file that they are in. The text of a document is its title and its text.
    """
    documents, queries, judged = files_in(*source.paths)
    write_own(
        building, _documents(documents), (), where=documents, language=source.language, empty=True
    )
    texts = pl.concat(whole_rows(queries, {"id": "_id", "text": "text"})).select("id", "text")
    write_judgements(
        building, texts, pl.concat(map(_judgements, judged, judged.values())), documents.parent
    )


def _documents(path: Path) -> Iterator[pl.DataFrame]:
    names = [name for name in ("title", "text") if name in header_of(path)]
    for block in whole_rows(path, {"id": "_id", **dict(zip(names, names, strict=True))}):
        text = pl.concat_str(names, separator="\n", ignore_nulls=True).str.strip_chars()
        title = pl.col("title") if "title" in names else pl.lit(None, pl.String)
        yield block.select("id", title=title, text=text)


def _judgements(side: str, path: Path) -> pl.DataFrame:
    rows = pl.concat(whole_rows(path, _JUDGED))
    grades = rows["grade"].str.strip_chars().cast(pl.Float32, strict=False)
    known = grades.is_finite().fill_null(False)
    if not known.all():
        line, score = rows.filter(~known).select("line", "grade").row(0)
        raise BadInput(
            f"{path}: line {line}: the score is {score!r}, expected a number. Restore the "
            "published file."
        )
    return rows.select("query", "document", grade=grades, side=pl.lit(side))
