"""The format of bm25s: weights of terms by documents, a column for each term, as arrays on disk.

`bm25s.BM25.load` opens it. Queries of that library have no weights, so that ``search.py`` beside
it adds the columns up with those of the encoder; it needs numpy alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from ssi_core import store
from ssi_core.guests.export.terms import Layout
from ssi_core.guests.export.writing import Material, Target, program, seal_files, text

PARAMETERS = {
    # What bm25s would compute weights by; those of the model are there already.
    "k1": 1.5,
    "b": 0.75,
    "delta": 0.5,
    "method": "lucene",
    "idf_method": "lucene",
    "dtype": "float32",
    "int_dtype": "int32",
    "backend": "numpy",
}


def _write(path: Path, material: Material) -> None:
    """Write ``index/``, with the whole matrix in memory twice."""
    index = path / "index"
    index.mkdir()
    rows = [terms for _, terms in material.terms()]
    matrix = sparse.csc_array(sparse.vstack(rows, format="csr"))
    del rows
    for name, array in (
        ("data", matrix.data.astype(np.float32)),
        ("indices", matrix.indices.astype(np.int32)),
        ("indptr", matrix.indptr.astype(np.int64)),
    ):
        np.save(index / f"{name}.csc.index.npy", array, allow_pickle=False)
    vocabulary = {name: column for column, name in enumerate(material.layout.names)}
    store.write_json(index / "vocab.index.json", vocabulary)
    store.write_json(
        index / "params.index.json", {**PARAMETERS, "num_docs": len(material.documents)}
    )
    with (index / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for name, title in zip(material.documents.ids, material.documents.titles, strict=True):
            file.write(f"{text({'id': name, 'title': title})}\n")
    material.counts["bytes"] = sum(file.stat().st_size for file in index.iterdir())
    seal_files(index)


def _first(path: Path, layout: Layout) -> None:
    program("search_bm25s.py", path / "search.py")


TARGET = Target({"query": "$terms"}, _write, _first)
