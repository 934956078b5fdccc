"""An index: the documents of a corpus as one model sees them, ready to be searched.

A directory (artefact of kind "index") that grows with the corpus and is never held in memory:

- ``documents.parquet``: ``id``, ``title``, a row per document
- ``sparse/``, ``dense.npy``: the documents' `Vectors`, memory mapped
- ``words/VIEW/``: the documents' rows in the model's own views, which explanations read
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core import store
from ssi_core.types import BadInput, Fitted, Progress, Texts, Vectors, View

KIND = "index"


class ArrayWriter:
    """A ``.npy`` file that is written in blocks; its length is known when it is closed.

    numpy leaves room in the header for a first axis of any length, so the header can be written
    again in place.
    """

    def __init__(self, path: Path, dtype: Any, width: int | None = None) -> None:
        self._dtype = np.dtype(dtype)
        self._tail = () if width is None else (width,)
        self._rows = 0
        self._file: BinaryIO = path.open("w+b")
        self._header()

    def _header(self) -> None:
        self._file.seek(0)
        np.lib.format.write_array_header_1_0(
            self._file,
            {
                "descr": np.lib.format.dtype_to_descr(self._dtype),
                "fortran_order": False,
                "shape": (self._rows, *self._tail),
            },
        )

    def append(self, block: NDArray[Any]) -> None:
        """Add rows; ValueError when their width is another than that of the file."""
        if block.shape[1:] != self._tail:
            raise ValueError(f"block has rows of shape {block.shape[1:]}, expected {self._tail}")
        self._rows += len(block)
        self._file.write(np.ascontiguousarray(block, dtype=self._dtype).tobytes())

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._header()
        self._file.close()


class MatrixWriter:
    """A CSR matrix in the layout of `store.save_csr`, written in blocks of rows."""

    def __init__(self, directory: Path, columns: int) -> None:
        directory.mkdir(parents=True)
        self._directory, self._columns = directory, columns
        self._lengths: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        self._indices = ArrayWriter(directory / "indices.npy", np.int32)
        self._data = ArrayWriter(directory / "data.npy", np.float32)

    def append(self, block: Any) -> None:
        """Add the rows of a CSR matrix; ValueError when it has another number of columns."""
        if block.shape[1] != self._columns:
            raise ValueError(f"block has {block.shape[1]} columns, expected {self._columns}")
        self._lengths.append(np.diff(block.indptr).astype(np.int64))
        self._indices.append(block.indices)
        self._data.append(block.data)

    def __enter__(self) -> MatrixWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._indices.__exit__(kind, error, trace)
        self._data.__exit__(kind, error, trace)
        indptr = np.cumsum(np.concatenate(self._lengths))
        narrow = np.int32 if indptr[-1] <= np.iinfo(np.int32).max else np.int64
        np.save(self._directory / "indptr.npy", indptr.astype(narrow), allow_pickle=False)
        store.write_json(self._directory / "shape.json", [len(indptr) - 1, self._columns])


@dataclass(frozen=True)
class Index:
    """An open index; everything that grows with the corpus is memory mapped.

    Attributes
    ----------
    ids, titles : polars Series of str, a row per document
    vectors : the documents' `Vectors` under the model
    words : view name -> `TextMatrix`; empty when the index was built without them
    """

    path: Path
    artefact: store.Artefact
    ids: pl.Series
    titles: pl.Series
    vectors: Vectors
    words: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, document: str) -> int:
        """Return the row of a document by id or title; `BadInput` when no document bears it."""
        for column in (self.ids, self.titles):
            rows = (column == document).arg_true()
            if len(rows):
                return int(rows[0])
        close = self.titles.filter(
            self.titles.str.to_lowercase().str.starts_with(document.lower()[:4])
        )
        hint = f" Titles that begin alike: {', '.join(close.head(5))}." if len(close) else ""
        raise BadInput(
            f"{self.path}: no document has the title or id {document!r}.{hint} "
            "Titles are compared letter by letter."
        )

    def check(self, views: Mapping[str, View]) -> None:
        """Refuse a model whose words are not those that the index was made with."""
        made = self.artefact.configuration["spaces"]
        for name, view in views.items():
            if made.get(name) != view.space:
                raise BadInput(
                    f"{self.path} was made with other words (view {name!r}) than this model's. "
                    "Build the index with this model."
                )


def build_index(
    fitted: Fitted,
    documents: Texts,
    out: Path,
    *,
    parents: Mapping[str, str],
    words: bool = True,
    block: int = 16_384,
    force: bool = False,
    progress: Progress | None = None,
) -> store.Artefact:
    """Write the index of some documents under a model, ``block`` rows at a time.

    Parameters
    ----------
    documents : a task's ``documents``, or any `Texts` with the model's document views
    parents : keys of what it is made of, such as ``{"task": task.key, "model": run_id}``
    words : keep the documents' words, which explanations need; off, the index is smaller

    Raises
    ------
    Refused
        ``out`` holds an index of other parents and ``force`` is off.
    """
    configuration = {
        "words": words,
        "model": type(fitted.model).__name__,
        "spaces": {name: view.space for name, view in sorted(fitted.document_views.items())},
    }
    key = store.key_of(KIND, configuration, parents)
    if found := store.up_to_date(Path(out), KIND, key, force=force):
        return found
    with store.create(
        Path(out), kind=KIND, key=key, configuration=configuration, parents=parents
    ) as building:
        pl.DataFrame({"id": documents.ids, "title": documents.titles}).write_parquet(
            building.path / "documents.parquet"
        )
        _write_vectors(building.path, fitted, documents, block, progress)
        for name in fitted.document_views if words else ():
            _write_words(building.path / _words_of(name), documents.matrix(name), block)
        building.counts["documents"] = len(documents)
    return store.read(Path(out), KIND)


def open_index(path: Path) -> Index:
    """Open an index directory; `BadInput` when it is none."""
    path = Path(path)
    artefact = store.read(path, KIND)
    frame = pl.read_parquet(path / "documents.parquet")
    sparse = store.load_csr(path / "sparse") if (path / "sparse").exists() else None
    dense = store.load_array(path / "dense.npy") if (path / "dense.npy").exists() else None
    kept = artefact.configuration["spaces"] if artefact.configuration["words"] else ()
    words = {name: store.load_csr(path / _words_of(name)) for name in kept}
    return Index(path, artefact, frame["id"], frame["title"], Vectors(sparse, dense), words)


def _words_of(view: str) -> str:
    # "sublinear:100" would not be a portable name of a directory.
    return f"words/{view.replace(':', '-')}"


def _blocks(rows: int, block: int) -> Iterator[slice]:
    # One empty block for an empty corpus, so that widths and headers are written all the same.
    for start in range(0, max(rows, 1), block):
        yield slice(start, min(start + block, rows))


def _write_vectors(
    path: Path, fitted: Fitted, documents: Texts, block: int, progress: Progress | None
) -> None:
    sparse: MatrixWriter | None = None
    dense: ArrayWriter | None = None
    with ExitStack() as files:
        for rows in _blocks(len(documents), block):
            vectors = fitted.embed_documents(documents.take(rows))
            if vectors.sparse is not None:
                if sparse is None:
                    writer = MatrixWriter(path / "sparse", vectors.sparse.shape[1])
                    sparse = files.enter_context(writer)
                sparse.append(vectors.sparse)
            if vectors.dense is not None:
                if dense is None:
                    width = vectors.dense.shape[1]
                    dense = files.enter_context(ArrayWriter(path / "dense.npy", np.float32, width))
                dense.append(vectors.dense)
            if progress is not None:
                progress(rows.stop / max(len(documents), 1), f"{rows.stop} documents indexed")


def _write_words(path: Path, matrix: Any, block: int) -> None:
    with MatrixWriter(path, matrix.shape[1]) as writer:
        for rows in _blocks(matrix.shape[0], block):
            writer.append(matrix[rows])
