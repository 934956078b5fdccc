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


def write_collection(path: Path, judgements: list[tuple[str, str, int]] | None = None) -> Path:
    """A corpus of `topical` texts with queries "q{i}" of two known words and one unknown.

    Relevant, with grades 1 to 3, are six documents of the query's subject; "q9" is not judged. The
    title of a document is its first three words.
    """
    texts, _ = topical()
    plain = write_corpus(path.with_name(path.name + "-texts"), texts, [])
    rng = np.random.default_rng(1)
    of = len(SUBJECTS)
    ids = [f"q{i}" for i in range(25)]
    asked = [
        f"{SUBJECTS[i % of]}{rng.integers(5)} {SUBJECTS[i % of]}{5 + rng.integers(5)} unknown{i}"
        for i in range(25)
    ]
    if judgements is None:
        judgements = [
            (name, f"d{d}", int(rng.integers(1, 4)))
            for i, name in enumerate(ids)
            if name != "q9"
            for d in rng.choice(np.arange(i % of, len(texts), of), 6, replace=False)
        ]
    said = {"judgements": judgements}
    key = store.key_of("corpus", said, {})
    with store.create(path, kind="corpus", key=key, configuration={}, parents={}) as building:
        for table in ("documents", "links"):
            (plain / table).rename(building.path / table)
        for part in (building.path / "documents").iterdir():
            beginning = pl.col("text").str.split(" ").list.head(3).list.join(" ")
            pl.read_parquet(part).with_columns(title=beginning).write_parquet(part)
        for table in ("queries", "judgements"):
            (building.path / table).mkdir()
        pl.DataFrame({"id": ids, "text": asked}).write_parquet(
            building.path / "queries" / "part-00000.parquet"
        )
        pl.DataFrame(
            judgements,
            schema={"query": pl.String, "document": pl.String, "grade": pl.Int8},
            orient="row",
        ).write_parquet(building.path / "judgements" / "part-00000.parquet")
    return path
