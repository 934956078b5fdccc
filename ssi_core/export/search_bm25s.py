"""Search what `ssi export --to bm25s` has written, with numpy alone.

    python encoder.py encoder.json "old automobile" | python search.py index 10

Each line of the standard input is a query; each line of the output a document: number of the query,
id, title, score.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np


class Search:
    """Search of a directory ``index``."""

    def __init__(self, index: str | Path) -> None:
        place = Path(index)
        self.data, self.rows, self.ends = (
            np.load(place / f"{name}.csc.index.npy", mmap_mode="r")
            for name in ("data", "indices", "indptr")
        )
        self.columns = json.loads((place / "vocab.index.json").read_text(encoding="utf-8"))
        lines = (place / "corpus.jsonl").read_text(encoding="utf-8").split("\n")
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
    search = Search(sys.argv[1])
    for number, line in enumerate(sys.stdin):
        for row, score in search.best(json.loads(line), int(sys.argv[2])):
            document = search.documents[row]
            print(number, document["id"], document["title"], f"{score:.6f}", sep="\t")
