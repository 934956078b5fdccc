"""The frozen evaluation set: raw text, titles and links, which every model reads in its own views.

It is drawn once from a corpus and kept, so that models of different days, with vocabularies of
their own, are measured on the same texts. Its links are those of the test side of the keyed hash;
a task that is built with it trains on none of them, whatever its own split (`barred_links`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from ssi_core import files, store
from ssi_core.features.pairs import link_rows
from ssi_core.features.reading import INGEST, parts_of
from ssi_core.features.split import TEST, side_of_rows
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput, Fitted, Int32, Int64, Pairs, Task, Texts, View

KIND = "frozen"
_DOCUMENTS, _PAIRS = "documents.parquet", "pairs.parquet"
_MARKS = ("newest", "new_document", "short_query", "long_query")
_AGAIN = "Freeze it again, or take it from a copy."


def freeze(
    corpus: Path,
    out: Path,
    *,
    since: Path | None = None,
    queries: int = 1000,
    pool: int = 10_000,
    split_seed: int = 0,
    force: bool = False,
) -> store.Artefact:
    """Draw a frozen set from a corpus, or find it up to date.

    Parameters
    ----------
    corpus : directory of an ingestion
    out : directory to write
    since : an earlier state of that corpus; links that it lacks are the slice ``newest``, those
        with a title that it lacks ``new_document``
    queries : documents with a test link that are drawn; and, with ``since``, as many more of those
        with a test link that is new
    pool : candidates that are drawn beside queries and their answers
    split_seed : of the keyed hash, as that of the tasks that are trained on

    Raises
    ------
    BadInput
        The corpus has no link on the test side.
    Refused
        Another artefact is at ``out``.
    """
    corpus, out = Path(corpus), Path(out)
    configuration = {"queries": queries, "pool": pool, "split_seed": split_seed}
    parents = {"corpus": store.read(corpus, "corpus").key}
    if since is not None:
        parents["since"] = store.read(Path(since), "corpus").key
    key = store.key_of(KIND, configuration, parents)
    if found := store.up_to_date(out, KIND, key, force=force):
        return found
    with store.create(
        out, kind=KIND, key=key, configuration=configuration, parents=parents
    ) as building:
        _write(corpus, since, queries, pool, split_seed, building)
    return store.read(out, KIND)


def _write(
    corpus: Path,
    since: Path | None,
    queries: int,
    pool: int,
    split_seed: int,
    building: store.Building,
) -> None:
    texts, rows = _read(corpus)
    test = side_of_rows(texts["title"], rows, seed=split_seed) == TEST
    if not test.any():
        raise BadInput(f"{corpus}: none of its {len(rows)} links is on the test side. {INGEST}")
    new_link, new_title = _new(texts, rows, since)
    rng = np.random.default_rng(split_seed)
    fresh = np.unique(rows[test & new_link, 0])
    older = np.setdiff1d(rows[test, 0], fresh)
    asked = np.concatenate([_draw(rng, older, queries), _draw(rng, fresh, queries)])
    of_asked = np.isin(rows[:, 0], asked)
    drawn = _draw(rng, np.arange(len(texts)), pool)
    kept = np.unique(np.concatenate([asked, rows[of_asked & test, 1], drawn]))
    number = np.full(len(texts), -1, np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)

    # What else the queries link to is no answer, and no wrong one either.
    known = of_asked & (number[rows[:, 1]] >= 0)
    answers = test & of_asked
    held = known | answers
    ends = number[rows[held]]
    documents = _with_texts(corpus, texts, kept, asked)
    short = documents["words"].to_numpy()[ends[:, 0]] <= documents["words"].median()
    pl.DataFrame(
        {
            "query": ends[:, 0],
            "document": ends[:, 1],
            "answer": test[held],
            "newest": new_link[held],
            "new_document": new_title[rows[held]].any(axis=1),
            "short_query": short,
            "long_query": ~short,
        }
    ).write_parquet(building.path / _PAIRS)
    pooled = pl.Series("pooled", np.isin(kept, drawn))
    documents.with_columns(pooled).write_parquet(building.path / _DOCUMENTS)
    building.counts |= {
        "documents": len(kept),
        "queries": len(asked),
        "links": int(np.count_nonzero(answers)),
        "newest_links": int(np.count_nonzero(answers & new_link)),
    }


def _read(corpus: Path) -> tuple[pl.DataFrame, Int32]:
    """Ids, titles and languages of a corpus, and the rows of its links."""
    parts = parts_of(corpus, "documents")
    texts = files.read_strings(parts, "id", "title", "language", remedy=INGEST)
    links = (
        files.read_strings([part], "source", "target", remedy=INGEST)
        for part in parts_of(corpus, "links")
    )
    return texts, link_rows(links, texts["id"], corpus / "links")


def _new(
    texts: pl.DataFrame, rows: Int32, since: Path | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which links, and which titles, an earlier corpus lacks."""
    if since is None:
        return np.zeros(len(rows), bool), np.zeros(len(texts), bool)
    old, old_rows = _read(Path(since))
    there = _number_of(old["title"], texts["title"])
    ends = there[old_rows]
    before = _keys(ends[(ends >= 0).all(axis=1)])
    new_title = np.ones(len(texts), bool)
    new_title[there[there >= 0]] = False
    return ~np.isin(_keys(rows), before), new_title


def _number_of(titles: pl.Series, among: pl.Series) -> Int64:
    """Row of each title among others; -1: it is not there."""
    numbered = pl.DataFrame({"title": among, "row": np.arange(len(among))}).unique("title")
    joined = titles.to_frame("title").join(numbered, on="title", how="left", maintain_order="left")
    found: Int64 = joined["row"].fill_null(-1).to_numpy()
    return found


def _keys(rows: NDArray[Any]) -> Int64:
    keys: Int64 = (rows[:, 0].astype(np.int64) << 32) | rows[:, 1]
    return keys


def _draw(rng: np.random.Generator, rows: NDArray[Any], most: int) -> NDArray[Any]:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def _with_texts(
    corpus: Path, texts: pl.DataFrame, kept: NDArray[Any], asked: NDArray[Any]
) -> pl.DataFrame:
    """Documents that are kept, with their text; ``words``: distinct ones of a query, else null."""
    frames, first = [], 0
    for part in parts_of(corpus, "documents"):
        text = files.read_strings([part], "text", remedy=INGEST)["text"]
        own = kept[(kept >= first) & (kept < first + len(text))] - first
        frames.append(text.gather(own))
        first += len(text)
    found = texts[kept].with_columns(pl.concat(frames).alias("text"))
    is_asked = np.isin(kept, asked)
    words = [
        len(set(tokenize(text, language or ""))) if wanted else None
        for text, language, wanted in zip(found["text"], found["language"], is_asked, strict=True)
    ]
    return found.with_columns(pl.Series("words", words, dtype=pl.Int64))


def open_frozen(frozen: Path, fitted: Fitted, corpus: Path | None = None) -> Task:
    """Open a frozen set as a task with a test side only, in the views of a model.

    What else its queries link to is neither answer nor candidate: by the corpus that it was drawn
    from, and by ``corpus``, a later one. A model of that one has learnt to rank its links high.

    ``marked`` has the slices ``newest``, ``new_document``, ``short_query`` and ``long_query``,
    which are the same for every model, and ``language_CODE`` where there are several.
    """
    artefact = store.read(Path(frozen), KIND)
    with files.reading(artefact.path, _AGAIN):
        documents = pl.read_parquet(artefact.path / _DOCUMENTS)
        pairs = pl.read_parquet(artefact.path / _PAIRS)
        languages = documents["language"].unique().sort().to_list()
        rows = pairs.select("query", "document").to_numpy()
        answer = pairs["answer"].to_numpy()
        marks = {name: pairs[name].to_numpy() for name in _MARKS}
    if len(languages) > 1:
        own = documents["language"].to_numpy()[rows[:, 0]]
        marks |= {f"language_{code}": own == code for code in languages}
    seen = rows[~answer]
    if corpus is not None:
        later = _links_between(Path(corpus), documents["title"])
        later = later[np.isin(later[:, 0], rows[answer, 0])]
        seen = np.vstack([seen, later[~np.isin(_keys(later), _keys(rows[answer]))]])
    texts = _texts(documents, fitted.document_views)
    shared = fitted.query_views is fitted.document_views
    return Task(
        queries=texts if shared else _texts(documents, fitted.query_views),
        documents=texts,
        train=Pairs.of(seen),
        valid=Pairs.of(()),
        test=Pairs.of(rows[answer]),
        exclude=sparse.csr_array(sparse.eye_array(len(documents), dtype=np.bool_)),
        key=artefact.key,
        pool=np.flatnonzero(documents["pooled"]).astype(np.int32),
        marked={name: rows[answer & mark] for name, mark in marks.items()},
        path=artefact.path,
    )


def _links_between(corpus: Path, titles: pl.Series) -> Int64:
    """Links of a corpus between documents of some titles, (n, 2), as rows of these titles."""
    texts, rows = _read(corpus)
    ends = _number_of(texts["title"], titles)[rows]
    found: Int64 = ends[(ends >= 0).all(axis=1)]
    return found


def _texts(documents: pl.DataFrame, views: Mapping[str, View]) -> Texts:
    raw = documents["text"].to_list()
    matrices = {name: view.transform(raw) for name, view in views.items()}
    return Texts(documents["id"], documents["title"], matrices, views)


def barred_links(frozen: Sequence[Path], titles: pl.Series, rows: Int32) -> NDArray[np.bool_]:
    """Tell which links are answers of a frozen set, by the titles of their ends.

    Parameters
    ----------
    titles : of the documents
    rows : (n, 2) both ends of each link
    """
    barred = np.zeros(len(rows), bool)
    keys = _keys(rows)
    for path in frozen:
        artefact = store.read(Path(path), KIND)
        with files.reading(artefact.path, _AGAIN):
            own = pl.read_parquet(artefact.path / _DOCUMENTS, columns=["title"])["title"]
            pairs = pl.read_parquet(artefact.path / _PAIRS).filter("answer")
        ends = _number_of(own, titles)[pairs.select("query", "document").to_numpy()]
        barred |= np.isin(keys, _keys(ends[(ends >= 0).all(axis=1)]))
    return barred
