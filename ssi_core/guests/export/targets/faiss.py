"""Plain vectors: an array of the latent numbers, for faiss or hnswlib, and words beside it.

Vector indexes know nothing of words. They give the first thousand documents by the latent part; the
words give their own first thousand; ``search.py`` scores both in full.
"""

from __future__ import annotations

from pathlib import Path

from scipy import sparse

from ssi_core.arrays import create_array
from ssi_core.guests.export.terms import Layout
from ssi_core.guests.export.writing import Material, Target, program, seal_files, text
from ssi_core.types import BadInput


def _write(path: Path, material: Material) -> None:
    """Write ``vectors/``: latent.npy, words.npz, documents.jsonl."""
    vectors = path / "vectors"
    vectors.mkdir()
    shape = (len(material.documents), material.layout.latent)
    latent = create_array(vectors / "latent.npy", "float32", shape)
    words, start = [], 0
    with (vectors / "documents.jsonl").open("w", encoding="utf-8") as file:
        for block in material.blocks():
            assert block.vectors.dense is not None
            latent[start : start + len(block.ids)] = block.vectors.dense
            start += len(block.ids)
            if block.vectors.sparse is not None:
                words.append(block.vectors.sparse)
            for name, title in zip(block.ids, block.titles, strict=True):
                file.write(f"{text({'id': name, 'title': title})}\n")
    latent.flush()
    if words:
        matrix = sparse.csr_array(sparse.vstack(words, format="csr"))
        sparse.save_npz(vectors / "words.npz", matrix, compressed=False)
    material.counts["bytes"] = sum(file.stat().st_size for file in vectors.iterdir())
    seal_files(vectors)


def _first(path: Path, layout: Layout) -> None:
    if not layout.latent:
        raise BadInput(
            "the model has no latent vectors, and faiss keeps nothing else. Export it to an engine "
            "of words, such as bm25s or lucene."
        )
    program("search_faiss.py", path / "search.py")


TARGET = Target({"query": {"vector": "$vector", "words": "$sparse_words"}}, _write, _first)
