"""Test collections by their name in the catalogue of the package ir_datasets.

MacAvaney et al. (2021), Simplified data wrangling with ir_datasets.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pydantic import Field

from ssi_core.corpus.source import LANGUAGE, Source
from ssi_core.types import BadInput

if TYPE_CHECKING:
    import polars as pl

    from ssi_core.store import Building
    from ssi_core.types import Progress

_SIDES = {"train": "train", "dev": "valid", "valid": "valid", "validation": "valid", "test": "test"}
"""Last part of the name of a part of a set -> side of the split that the publisher has fixed."""
_ROWS = 5000


class IrDatasets(Source):
    """Read a test collection by its name in ir_datasets: documents, queries, judgements.

    The package (pip install ir_datasets) and the data must be there; nothing is downloaded. NAME is
    such as cranfield or beir/scifact/test. Of a name without judgements, such as beir/scifact, the
    parts train, dev (or valid) and test are read, and their sides are kept for 'ssi data features
    --split given'. Grades are kept with what they mean. One below 0 is 0 where the collection says
    what it means; else nobody judged the pair.
    """

    examples = ("ssi data ingest ir-datasets beir/scifact --out corpus",)
    origin = "ir_datasets"

    name: str = Field(
        description="Name in the catalogue of ir_datasets",
        json_schema_extra={"argument": "NAME"},
    )
    language: str | None = LANGUAGE

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written."""
        return {"source": self.origin, "name": self.name, "language": self._language()}

    def parents(self, out: Path | None = None, progress: Progress | None = None) -> dict[str, str]:
        """Return the digest of all that is read."""
        with self._open() as (documents, parts):
            return {"content": _digest([documents, *parts.values()], list(parts))}

    def build(self, building: Building, progress: Progress | None = None) -> None:
        """Write documents, queries and judgements."""
        with self._open() as (documents, parts):
            _build(building, self.name, documents, parts, self._language(), progress)

    def _language(self) -> str | None:
        with self._open() as (documents, _):
            language: str | None = self.language or documents.docs_lang()
            return language

    @contextmanager
    def _open(self) -> Iterator[tuple[Any, dict[str, Any]]]:
        package = _package()
        with _offline(package, self.name):
            yield _parts(package, self.name)


def _package() -> ModuleType:
    try:
        return import_module("ir_datasets")
    except ImportError:
        raise BadInput(
            "the package ir_datasets is not installed. Install it: pip install ir_datasets. Or "
            "read the files of the collection: 'ssi data ingest beir', 'ssi data ingest trec'."
        ) from None


@contextmanager
def _offline(package: ModuleType, name: str) -> Iterator[None]:
    """Refuse each download of the package, and say what to do."""
    wanted = False

    def refuse() -> None:
        nonlocal wanted
        wanted = True
        raise OSError("nothing is downloaded")

    web, package.lazy_libs.requests = package.lazy_libs.requests, refuse
    try:
        yield
    except Exception as error:
        # The package wraps what a download raises, or tries another address.
        if not (wanted or isinstance(error, FileNotFoundError)):
            raise
        raise BadInput(
            f"{name}: its data are not in {package.util.home_path()}, and nothing is downloaded "
            f"here. Fetch them first: ir_datasets export {name} docs, then queries and qrels; or "
            "set IR_DATASETS_HOME to where they are."
        ) from None
    finally:
        package.lazy_libs.requests = web


def _parts(package: ModuleType, name: str) -> tuple[Any, dict[str, Any]]:
    """Return what has the documents, and what has judgements by its side ("": no split)."""
    known = _load(package, name)
    if known is not None and known.has_qrels() and known.has_queries():
        parts = {"": known}
    else:
        parts = {
            side: part
            for last, side in _SIDES.items()
            if (part := _load(package, f"{name}/{last}")) is not None and part.has_qrels()
        }
    if not parts:
        what = "is in its catalogue, and has no judgements" if known else "is not in its catalogue"
        raise BadInput(
            f"{name}: the name {what}, nor have {name}/train, dev or test. 'ir_datasets list' "
            "prints the names."
        )
    first = known if known is not None and known.has_docs() else next(iter(parts.values()))
    return first, parts


def _load(package: ModuleType, name: str) -> Any:
    try:
        return package.load(name)
    except KeyError:
        return None


def _digest(tables: list[Any], sides: list[str]) -> str:
    """Return the sha256 of all that is read."""
    digest = hashlib.sha256(repr(sides).encode())
    documents, *parts = tables
    for one in documents.docs_iter():
        digest.update(f"{one.doc_id}\0{_title(one)}\0{one.default_text()}\n".encode())
    for part in parts:
        for query in part.queries_iter():
            digest.update(f"{query.query_id}\0{query.default_text()}\n".encode())
        for one in part.qrels_iter():
            digest.update(f"{one.query_id}\0{one.doc_id}\0{one.relevance}\n".encode())
    return digest.hexdigest()


def _title(document: Any) -> str:
    return str(getattr(document, "title", None) or "")


def _build(
    building: Building,
    name: str,
    documents: Any,
    parts: Mapping[str, Any],
    language: str | None,
    progress: Any,
) -> None:
    import polars as pl

    from ssi_core.corpus.judged.judgements import write_judgements
    from ssi_core.corpus.user_texts import write_own

    where = Path(name)
    blocks = _documents(documents, progress)
    write_own(building, blocks, (), where=where, language=language, empty=True)
    texts = [
        {"id": query.query_id, "text": query.default_text()}
        for part in parts.values()
        for query in part.queries_iter()
    ]
    queries = pl.DataFrame(texts, schema={"id": pl.String, "text": pl.String}).unique(
        maintain_order=True
    )
    judged = pl.concat(_judgements(name, side, part) for side, part in parts.items())
    write_judgements(building, queries, judged if "" not in parts else judged.drop("side"), where)
    building.counts["grades"] = {
        str(grade): meaning
        for part in parts.values()
        for grade, meaning in sorted(part.qrels_defs().items())
    }


def _documents(table: Any, progress: Any) -> Iterator[pl.DataFrame]:
    import polars as pl

    schema = dict.fromkeys(("id", "title", "text"), pl.String)
    seen = 0
    documents = iter(table.docs_iter())
    while block := list(islice(documents, _ROWS)):
        rows = [(one.doc_id, _title(one), one.default_text()) for one in block]
        yield pl.DataFrame(rows, schema=schema, orient="row")
        seen += len(rows)
        if progress is not None:
            progress(0.0, f"{seen:,} documents")


def _judgements(name: str, side: str, part: Any) -> pl.DataFrame:
    import polars as pl

    rows, meanings = [], part.qrels_defs()
    for one in part.qrels_iter():
        if not math.isfinite(one.relevance):
            raise BadInput(
                f"{name}: query {one.query_id!r}, document {one.doc_id!r}: the grade is "
                f"{one.relevance}, expected a number. Repair the data."
            )
        grade = max(one.relevance, 0) if one.relevance in meanings else one.relevance
        rows.append((one.query_id, one.doc_id, grade, side))
    schema = {"query": pl.String, "document": pl.String, "grade": pl.Float32, "side": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")
