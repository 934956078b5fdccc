"""Small corpora, written as an ingestion writes them."""

from pathlib import Path

import numpy as np
import polars as pl

from ssi_core import store

SUBJECTS = ("boats", "birds", "music", "metal", "cheese", "stars", "trains", "plants")
DOCUMENTS_SCHEMA = {
    "id": pl.String,
    "title": pl.String,
    "language": pl.String,
    "revision": pl.Int64,
    "timestamp": pl.Datetime("us", "UTC"),
    "text": pl.String,
}


def write_corpus(
    path: Path, texts: list[str], links: list[tuple[int, int]], *, language: str = "en"
) -> Path:
    """A corpus directory of texts; the document in row i is "d{i}", its title "Page {i}"."""
    n = len(texts)
    documents = pl.DataFrame(
        {
            "id": [f"d{i}" for i in range(n)],
            "title": [f"Page {i}" for i in range(n)],
            "language": [language] * n,
            "revision": [None] * n,
            "timestamp": [None] * n,
            "text": texts,
        },
        schema=DOCUMENTS_SCHEMA,
    )
    ends = {"source": [f"d{a}" for a, _ in links], "target": [f"d{b}" for _, b in links]}
    configuration = {"texts": texts, "links": links, "language": language}
    with store.create(
        path,
        kind="corpus",
        key=store.key_of("corpus", configuration, {}),
        configuration={},
        parents={},
    ) as building:
        (building.path / "documents").mkdir()
        (building.path / "links").mkdir()
        # Two parts, so that the order of rows is that of the parts.
        documents[: n // 2].write_parquet(building.path / "documents" / "part-00000.parquet")
        documents[n // 2 :].write_parquet(building.path / "documents" / "part-00001.parquet")
        pl.DataFrame(ends, schema={"source": pl.String, "target": pl.String}).write_parquet(
            building.path / "links" / "part-00000.parquet"
        )
        building.counts.update(documents=n, links=len(links))
    return path


def topical(documents: int = 200, seed: int = 0) -> tuple[list[str], list[tuple[int, int]]]:
    """Texts on eight subjects with words of their own, and links within a subject."""
    rng = np.random.default_rng(seed)
    common = [f"common{i}" for i in range(30)]
    texts = []
    for i in range(documents):
        subject = SUBJECTS[i % len(SUBJECTS)]
        own = rng.choice([f"{subject}{k}" for k in range(25)], 25)
        texts.append(f"{subject.title()}: " + " ".join([*own, *rng.choice(common, 25), "the"]))
    links = {
        (i, int(j))
        for i in range(documents)
        for j in rng.choice(np.arange(i % len(SUBJECTS), documents, len(SUBJECTS)), 8)
        if i != j
    }
    return texts, sorted(links)
