"""An index: the documents of a corpus as one model sees them, ready to be searched.

A directory (artefact of kind "index") that grows with the corpus and is never held in memory:

- ``documents.parquet``: ``id``, ``title``, a row per document
- ``sparse/``, ``dense.npy`` (float32 or float16): the documents' `Vectors`, memory mapped; those of
  a model that is made of several lie in ``fused/0/``, ``fused/1/``, ...
- ``words/VIEW/``: the documents' rows in the model's own views, which explanations read; a view
  whose rows are those of ``sparse/`` is not kept again, but named in ``words.json``
- ``passages/``: fields and addresses of the documents, which results show
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core import files, store
from ssi_core.arrays import (
    CSR_PARTS,
    ArraySpec,
    check_arrays,
    create_array,
    csr_specs,
    load_array,
    load_csr,
)
from ssi_core.models.base import FittedModel, require_served
from ssi_core.scoring.vectors import Inner, Several, Vectors, refuse_nan
from ssi_core.serving.passages import Passages, write_passages
from ssi_core.types import BadInput, Progress, TextMatrix, Texts
from ssi_core.views.csr_writer import CsrWriter
from ssi_core.views.text_view import rows_in_views

KIND = "index"

Storage: TypeAlias = Literal["float32", "float16"]
"""Numbers of the dense part."""

_PASSAGES, _SHARED, _FUSED = "passages", "words.json", "fused"
"""Directory of texts; file that lists the views whose rows are those of ``sparse/``; directory of
the vectors of several models."""


@dataclass(frozen=True)
class Index:
    """An open index; everything that grows with the corpus is memory mapped.

    Attributes
    ----------
    ids, titles : polars Series of str
        A row per document.
    vectors : Vectors
        The documents' `Vectors` under the model.
    words : mapping
        View name -> `TextMatrix`; empty when the index was built without them.
    passages : Passages or None
        Fields and addresses by row; None when the index was built without them.
    """

    path: Path
    artefact: store.Artefact
    ids: pl.Series
    titles: pl.Series
    vectors: Vectors
    words: Mapping[str, TextMatrix]
    passages: Passages | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def check(self, fitted: FittedModel) -> None:
        """Refuse a model with other words or vectors than the index has."""
        views, spaces = fitted.document_views, self.artefact.configuration["spaces"]
        for name, view in views.items():
            if spaces.get(name) != view.space:
                raise BadInput(
                    f"{self.path} was made with other words (view {name!r}) than this model's. "
                    "Build the index with this model."
                )
        nothing = pl.Series([""])
        rows = rows_in_views(views, [""])
        vectors = fitted.embed_documents(Texts(nothing, nothing, rows, views))
        wanted = {name: part.shape[1] for name, part in _parts_of(vectors).items()}
        kept = {name: part.shape[1] for name, part in _parts_of(self.vectors).items()}
        if self.artefact.configuration["words"]:
            wanted |= {_words_of(name): matrix.shape[1] for name, matrix in rows.items()}
        kept |= {_words_of(name): matrix.shape[1] for name, matrix in self.words.items()}
        if kept != wanted:
            raise BadInput(
                f"{self.path}: its vectors have other widths ({_listed(kept)}) than this model's "
                f"({_listed(wanted)}). Build the index with this model."
            )


def _listed(widths: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {width}" for name, width in widths.items())


def build_index(
    fitted: FittedModel,
    documents: Texts,
    out: Path,
    *,
    parents: Mapping[str, str],
    words: bool = True,
    texts: Sequence[Path] = (),
    names: pl.DataFrame | None = None,
    storage: Storage = "float32",
    block: int = 16_384,
    force: bool = False,
    progress: Progress | None = None,
) -> store.Artefact:
    """Write the index of some documents under a model, ``block`` rows at a time.

    Parameters
    ----------
    documents : Texts
        A task's ``documents``, or any `Texts` with the model's document views.
    parents : mapping
        Keys of what it is made of, such as ``{"task": task.key, "model": run_id}``.
    words : bool
        Keep the documents' words, which explanations need; off, the index is smaller.
    texts : sequence of Path
        Files of the documents of a collection, in its order: what results show of them.
    names : DataFrame or None
        What the documents are called (`tasks.reading.names_of`), which results name as a field.
    storage : str
        Numbers of the dense part: "float32", or "float16" in half of its bytes. Scores are sums in
        float32 of either.

    Raises
    ------
    Refused
        ``out`` holds an index of other parents and ``force`` is off.
    BadInput
        No index can hold the model, there are no documents, their vectors are not finite, or are
        too large for the storage, or the texts are of others.
    """
    require_served(fitted.model, "index")
    if not len(documents):
        raise BadInput(f"{out}: there are no documents to index. Ingest a corpus that has some.")
    configuration = {
        "words": words,
        "texts": bool(texts),
        "model": type(fitted.model).__name__,
        "spaces": {name: view.space for name, view in sorted(fitted.document_views.items())},
        **stored(storage),
    }

    def make(building: store.Building) -> None:
        pl.DataFrame({"id": documents.ids, "title": documents.titles}).write_parquet(
            building.path / "documents.parquet"
        )
        _write_vectors(building.path, fitted, documents, storage, block, progress)
        if words:
            shared = _write_words(building.path, documents, tuple(fitted.document_views), block)
            store.write_json(building.path / _SHARED, {"in_sparse": shared})
        if texts and write_passages(building.path / _PASSAGES, texts, names) != len(documents):
            raise BadInput(
                f"{texts[0].parent}: its texts do not belong to the {len(documents)} documents "
                "of the index. Make the task again."
            )
        building.counts["documents"] = len(documents)

    return store.open_or_make(KIND, configuration, parents, make, data=True, out=out, force=force)


def stored(storage: Storage) -> dict[str, Any]:
    """Return what the configuration of an index says of its files.

    It says nothing of float32; ``fields`` tells an index whose passages have all of them from older
    ones.
    """
    return {"fields": "whole"} | ({} if storage == "float32" else {"storage": storage})


def open_index(path: Path) -> Index:
    """Open an index directory; `BadInput` when it is none."""
    path = Path(path)
    artefact = store.read(path, KIND)
    frame = files.read_strings([path / "documents.parquet"], "id", "title")
    vectors = _open_vectors(path)
    sparse = vectors.sparse
    with files.reading(path / store.MANIFEST):
        spaces = dict(artefact.configuration["spaces"])
        kept = spaces if artefact.configuration["words"] else ()
        shown = bool(artefact.configuration.get("texts"))
        shared = files.read_object(path / _SHARED)["in_sparse"] if kept else ()
        words = {
            name: sparse
            if sparse is not None and name in shared
            else load_csr(path / _words_of(name))
            for name in kept
        }
    parts = {_words_of(name): matrix for name, matrix in words.items() if matrix is not sparse}
    _check_parts(path, {**_parts_of(vectors), **parts}, len(frame))
    passages = Passages(path / _PASSAGES, len(frame)) if shown else None
    return Index(path, artefact, frame["id"], frame["title"], vectors, words, passages)


def _open_vectors(path: Path) -> Vectors:
    if (path / _FUSED).exists():
        count = sum(1 for _ in (path / _FUSED).iterdir())
        parts = tuple(_open_vectors(path / _FUSED / str(number)) for number in range(count))
        return Several(parts=parts)
    sparse = load_csr(path / "sparse") if (path / "sparse").exists() else None
    dense = load_array(path / "dense.npy") if (path / "dense.npy").exists() else None
    return Inner(sparse, dense)


def _several(vectors: Vectors) -> tuple[Vectors, ...]:
    return vectors.parts if isinstance(vectors, Several) else ()


def _parts_of(vectors: Vectors, below: str = "") -> dict[str, Any]:
    """Return the parts of vectors by their paths in the directory."""
    parts = {f"{below}sparse": vectors.sparse, f"{below}dense": vectors.dense}
    for number, one in enumerate(_several(vectors)):
        parts |= _parts_of(one, f"{_FUSED}/{number}/")
    return {name: part for name, part in parts.items() if part is not None}


def _check_parts(path: Path, parts: Mapping[str, Any], documents: int) -> None:
    """Refuse arrays of another number of documents."""
    if not any(name.endswith(("sparse", "dense")) for name in parts):
        raise BadInput(f"{path}: it has no vectors. {files.MAKE_AGAIN}")
    specs: dict[str, ArraySpec] = {}
    arrays: dict[str, NDArray[Any]] = {}
    for name, part in parts.items():
        if isinstance(part, np.ndarray):
            arrays[name], specs[name] = part, ArraySpec("float32|float16", (documents, name))
            continue
        names = [f"{name}/{one}" for one in CSR_PARTS]
        arrays |= zip(names, (part.indptr, part.indices, part.data), strict=True)
        # Reading every column at each opening would take as long as a search in all documents.
        specs |= csr_specs(documents, None, names, "float32")
    check_arrays(specs, arrays, path, files.MAKE_AGAIN)


def _words_of(view: str) -> str:
    # "sublinear:100" would not be a portable name of a directory.
    return f"words/{view.replace(':', '-')}"


def _blocks(rows: int, block: int) -> Iterator[slice]:
    for start in range(0, rows, block):
        yield slice(start, min(start + block, rows))


def _write_vectors(
    path: Path,
    fitted: FittedModel,
    documents: Texts,
    storage: Storage,
    block: int,
    progress: Progress | None,
) -> None:
    writers: dict[Path, _VectorWriter] = {}
    with ExitStack() as files:
        for rows in _blocks(len(documents), block):
            vectors = refuse_nan(fitted.embed_documents(documents.take(rows)), str(path))
            several = _several(vectors)
            directories = [path / _FUSED / str(number) for number in range(len(several))] or [path]
            for offset, part in zip(directories, several or (vectors,), strict=True):
                if offset not in writers:
                    writers[offset] = _VectorWriter(offset, part, len(documents), storage, files)
                writers[offset].write(rows, part)
            if progress is not None:
                progress(rows.stop / len(documents), f"{rows.stop} documents indexed")


class _VectorWriter:
    """Writes a sparse and a dense part into a directory, some rows at a time."""

    def __init__(
        self, path: Path, first: Vectors, documents: int, storage: Storage, files: ExitStack
    ) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._sparse: CsrWriter | None = None
        self._dense: NDArray[Any] | None = None
        if first.sparse is not None:
            width = first.sparse.shape[1]
            self._sparse = files.enter_context(CsrWriter(path / "sparse", width))
        if first.dense is not None:
            shape = (documents, first.dense.shape[1])
            self._dense = create_array(path / "dense.npy", storage, shape)

    def write(self, rows: slice, vectors: Vectors) -> None:
        """Write the vectors of some rows."""
        if self._sparse is not None and vectors.sparse is not None:
            _append(self._sparse, vectors.sparse)
        if self._dense is not None and vectors.dense is not None:
            if self._dense.dtype == np.float16 and np.abs(vectors.dense).max(initial=0) > _LARGEST:
                raise BadInput(
                    f"{self._path}: the model gives numbers above {_LARGEST:g}, which float16 does "
                    "not have. Store the index as float32."
                )
            self._dense[rows] = vectors.dense


_LARGEST = float(np.finfo(np.float16).max)


def _write_words(path: Path, documents: Texts, names: Sequence[str], block: int) -> list[str]:
    """Write the rows of views; return the views that ``sparse/`` already holds."""
    sparse = load_csr(path / "sparse") if (path / "sparse").exists() else None
    shared = []
    for name in names:
        matrix = documents.matrix(name)
        if sparse is not None and _equal(matrix, sparse, block):
            shared.append(name)
            continue
        with CsrWriter(path / _words_of(name), matrix.shape[1]) as writer:
            for rows in _blocks(matrix.shape[0], block):
                _append(writer, matrix[rows])
    return shared


def _equal(one: TextMatrix, other: TextMatrix, block: int) -> bool:
    """Tell whether two matrices have equal entries, in blocks."""
    if (one.shape, one.nnz, one.dtype) != (other.shape, other.nnz, other.dtype):
        return False
    return all(
        np.array_equal(getattr(one[rows], part), getattr(other[rows], part))
        for rows in _blocks(one.shape[0], block)
        for part in ("indptr", "indices", "data")
    )


def _append(writer: CsrWriter, rows: TextMatrix) -> None:
    writer.append(rows.indptr, rows.indices, rows.data)
