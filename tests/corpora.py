"""Small corpora, written as an ingestion writes them."""

from pathlib import Path

import numpy as np
import polars as pl

from ssi_core import store
from ssi_core.corpus import mates
from ssi_core.corpus.mates import Mates
from tests.seals import reseal

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


def foreign(text: str) -> str:
    """A text in another language, whose words are those of English with a "ĵ" before them."""
    return " ".join(f"ĵ{word}" for word in text.replace(":", "").lower().split())


def write_mates(path: Path, documents: int = 200, *, dictionary: bool = True) -> Mates:
    """Mates of `topical` texts: "d{i}" and "d{i}", but for the last three queries, without a mate.

    A title of a query is in the text of what it links to: "d{i}" is "titulo{i}". The dictionary has
    the words of the subjects, and "ĵthe ĵboats1" as one term.
    """
    texts, links = topical(documents)
    mentioned = [[b for a, b in links if a == i] for i in range(documents)]
    asked = [
        f"{foreign(text)} " + " ".join(f"titulo{b}x" for b in mentioned[i])
        for i, text in enumerate(texts)
    ]
    queries = write_corpus(path.with_name(f"{path.name}-eo"), asked, links, language="eo")
    for part in (queries / "documents").iterdir():
        rows = pl.col("id").str.strip_prefix("d")
        titles = pl.concat_str(pl.lit("titulo"), rows, pl.lit("x"))
        pl.read_parquet(part).with_columns(title=titles).write_parquet(part)
    reseal(queries)
    english = write_corpus(path.with_name(f"{path.name}-en"), texts, links)
    ids = [f"d{i}" for i in range(documents - 3)]
    corpora = dict(zip(mates.SIDES, (queries, english), strict=True))
    with store.create(
        path,
        kind=mates.KIND,
        key=f"{documents} {dictionary}",
        configuration={},
        parents={side: store.read(corpus).key for side, corpus in corpora.items()},
    ) as building:
        mates.write_places(building.path, **corpora)
        mates.write_pairs(building.path, pl.DataFrame({"query": ids, "document": ids}))
        known = [f"{subject}{k}" for subject in SUBJECTS for k in range(25)]
        entries = [(foreign(word), word) for word in known] + [("ĵthe ĵboats1", "yacht harbour")]
        if dictionary:
            mates.write_dictionary(
                building.path, pl.DataFrame(entries, schema=["source", "target"], orient="row")
            )
    return mates.open_mates(path)
