"""Search what `ssi export --to bm25s` has written, with numpy alone.

    python encoder.py encoder.json "old automobile" | python search.py index 10

Each line of the standard input is a query; each line of the output a document: number of the query,
id, title, score.
"""

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

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
    """Search of a directory ``index``; `ValueError` where it is not as it was written."""

    def __init__(self, index: str | Path) -> None:
        path = checked(Path(index))
        self.data, self.rows, self.ends = (
            np.load(path / f"{name}.csc.index.npy", mmap_mode="r")
            for name in ("data", "indices", "indptr")
        )
        self.columns = json.loads((path / "vocab.index.json").read_text(encoding="utf-8"))
        lines = (path / "corpus.jsonl").read_text(encoding="utf-8").split("\n")
        self.documents = [json.loads(line) for line in lines if line]

    def best(self, terms: Mapping[str, float], k: int = 10) -> list[tuple[int, float]]:
        """Return the rows and scores of the ``k`` best documents for the terms of a query."""
        scores = np.zeros(len(self.documents))
        for term, weight in terms.items():
            if term in self.columns:
                column = self.columns[term]
                entries = slice(self.ends[column], self.ends[column + 1])
                scores[self.rows[entries]] += weight * self.data[entries]
        order = np.argsort(-scores, kind="stable")[:k]
        return list(zip(order.tolist(), scores[order].tolist(), strict=True))


if __name__ == "__main__":
    try:
        search = Search(sys.argv[1])
    except ValueError as error:
        sys.exit(str(error))
    for number, line in enumerate(sys.stdin):
        for row, score in search.best(json.loads(line), int(sys.argv[2])):
            document = search.documents[row]
            print(number, document["id"], document["title"], f"{score:.6f}", sep="\t")
