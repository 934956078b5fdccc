"""Search what `ssi export --to faiss` has written: faiss for the latent part, scipy for words.

    python encoder.py encoder.json "old automobile" | python search.py vectors 10

Each line of the standard input is a query; each line of the output a document: number of the query,
id, title, score.
"""

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from scipy import sparse

CANDIDATES = 1000
"""Documents of each part that are scored in full."""
SUMS = "SHA256SUMS"


def checked(path: Path) -> Path:
    """Return a directory of which every file is as it was written; see its ``SHA256SUMS``."""
    listed, sums = "", None
    try:
        listed = (path / SUMS).read_text(encoding="utf-8")
        names = [line.partition("  ")[2] for line in listed.splitlines()]
        sums = "".join(f"{_digest(path / name)}  {name}\n" for name in names)
    except (OSError, ValueError):
        pass
    if not listed or sums != listed:
        raise ValueError(
            f"{path}: it was changed after it was written. Copy it from the export again, or "
            "export the model anew (ssi export)."
        )
    return path


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Search:
    """Search of a directory ``vectors``; `ValueError` where it is not as it was written."""

    def __init__(self, vectors: str | Path) -> None:
        path = checked(Path(vectors))
        self.latent = np.load(path / "latent.npy", mmap_mode="r")
        self.index = faiss.IndexFlatIP(self.latent.shape[1])
        self.index.add(np.ascontiguousarray(self.latent))
        has_words = (path / "words.npz").exists()
        self.words = sparse.csc_array(sparse.load_npz(path / "words.npz")) if has_words else None
        lines = (path / "documents.jsonl").read_text(encoding="utf-8").split("\n")
        self.documents = [json.loads(line) for line in lines if line]

    def best(self, query: Mapping[str, Any], k: int = 10) -> list[tuple[int, float]]:
        """Return the rows and scores of the ``k`` best documents for a query of the encoder."""
        vector = np.array([query["vector"]], np.float32)
        rows = self.index.search(vector, min(CANDIDATES, len(self.documents)))[1][0]
        scores = np.zeros(len(self.documents))
        if self.words is not None:
            weights = np.array(query["words"]["values"])
            scores = self.words[:, query["words"]["indices"]] @ weights
            rows = np.union1d(rows, np.argsort(-scores, kind="stable")[:CANDIDATES])
        full = scores[rows] + self.latent[rows] @ vector[0]
        order = np.argsort(-full, kind="stable")[:k]
        return list(zip(rows[order].tolist(), full[order].tolist(), strict=True))


if __name__ == "__main__":
    try:
        search = Search(sys.argv[1])
    except ValueError as error:
        sys.exit(str(error))
    for number, line in enumerate(sys.stdin):
        for row, score in search.best(json.loads(line), int(sys.argv[2])):
            document = search.documents[row]
            print(number, document["id"], document["title"], f"{score:.6f}", sep="\t")
