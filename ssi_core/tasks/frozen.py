"""The frozen evaluation set: raw text, names and relevant pairs, read by each model in its views.

It is drawn once from a collection (`linked`) and kept, so that models of
different days, with vocabularies of their own, are measured on the same texts. Its answers are on
the test side of the keyed hash; a task that is built with it trains on none of them, whatever its
own split (`excluded_pairs`, `excluded_articles`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from ssi_core import files, store
from ssi_core.collection import LABELS, TRANSLATION
from ssi_core.scoring.vectors import Fitted
from ssi_core.tasks.kinds import LINK_OF_TRANSLATION
from ssi_core.tasks.labels import read_labels
from ssi_core.tasks.linked import Linked, Side, number_of, read_linked
from ssi_core.tasks.pairs import keys
from ssi_core.tasks.reading import texts_at
from ssi_core.tasks.unseen import Raw, both_sides
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput, Int32, Pairs, Task

KIND = "frozen"
_QUERIES, _DOCUMENTS, _PAIRS = "queries.parquet", "documents.parquet", "pairs.parquet"
_MATES, _LABELS = "translations.parquet", "labels.parquet"
_ACROSS = (TRANSLATION, LINK_OF_TRANSLATION)
_MARKS = ("newest", "new_document", "short_query", "long_query")
_AGAIN = "Freeze it again, or take it from a copy."

Mask = NDArray[np.bool_]


def freeze(
    source: Path,
    out: Path | None = None,
    *,
    since: Path | None = None,
    queries: int | None = 1000,
    pool: int = 10_000,
    split_seed: int = 0,
    draw: int = 0,
    relevant: str | None = None,
    now: datetime | None = None,
    force: bool = False,
) -> store.Artefact:
    """Draw a frozen set, or find it up to date.

    Parameters
    ----------
    source : Path
        Directory of a collection.
    out : Path or None
        Directory to write.
    since : Path or None
        An earlier state of the source; pairs that it lacks are the slice ``newest``, those with an
        end that it lacks ``new_document``.
    queries : int or None
        Those with a test pair that are drawn; and, with ``since``, as many more of those with a
        test pair that is new. None: all.
    pool : int
        Candidates that are drawn beside queries and their answers.
    split_seed : int
        Of the keyed hash, as that of the tasks that are trained on.
    draw : int
        Number of the set: another one draws other queries.
    relevant : str or None
        What is relevant to a query; None: see `linked.relevant_in`.
    now : datetime or None
        When it is drawn, which is kept; None: now.

    Raises
    ------
    BadInput
        No pair is on the test side.
    Refused
        Another artefact is at ``out``.
    """
    linked = read_linked(source, relevant)
    before = None if since is None else read_linked(since, linked.relevant)
    settings: dict[str, Any] = {"queries": queries, "pool": pool, "split_seed": split_seed}
    settings |= {"draw": draw, "relevant": linked.relevant}
    parents = {"collection": linked.key} | ({} if before is None else {"since": before.key})
    path = Path(source)
    # Facts of the day, which make no other set.
    facts = {"source": str(path.resolve()), "drawn": (now or datetime.now(UTC)).isoformat()}

    def make(building: store.Building) -> None:
        tested = linked.tested(split_seed)
        if not tested.any():
            raise BadInput(
                f"{path}: none of its {len(linked.pairs)} links is on the test side, so that "
                "nothing is relevant to anything. Take a collection with more links, or with "
                "judgements, clicks or translations."
            )
        rng = np.random.default_rng([split_seed, draw])
        _write(linked, before, tested, queries, pool, rng, building)

    return store.open_or_make(
        KIND, settings, parents, make, facts=facts, data=True, out=out, force=force
    )


def drawn_at(frozen: store.Artefact) -> datetime:
    """Return when a set was drawn."""
    with files.reading(frozen.path, _AGAIN):
        return datetime.fromisoformat(str(frozen.configuration["drawn"]))


def _write(
    linked: Linked,
    since: Linked | None,
    tested: Mask,
    queries: int | None,
    pool: int,
    rng: np.random.Generator,
    building: store.Building,
) -> None:
    rows = linked.pairs
    new_pair, new_end = _new(linked, since)
    fresh = np.unique(rows[tested & new_pair, 0])
    older = np.setdiff1d(rows[tested, 0], fresh)
    query_rows = np.sort(np.concatenate([_draw(rng, older, queries), _draw(rng, fresh, queries)]))
    of_asked = np.isin(rows[:, 0], query_rows)
    drawn = _draw(rng, np.arange(len(linked.documents)), pool)
    answers = tested & of_asked
    mates = linked.translations[np.isin(linked.translations[:, 0], query_rows)]
    kept = np.unique(np.concatenate([rows[answers, 1], mates[:, 1], drawn]))
    if linked.same:
        kept = np.union1d(kept, query_rows)
    documents = _texts_of(linked.documents, kept, query_rows if linked.same else None)
    asking = documents if linked.same else _texts_of(linked.queries, query_rows, query_rows)
    numbers = _numbers(query_rows, len(linked.queries)), _numbers(kept, len(linked.documents))
    if linked.same:
        numbers = numbers[1], numbers[1]

    # What else the queries link to is no answer, and no wrong one either.
    held = of_asked & (numbers[1][rows[:, 1]] >= 0)
    ends = _ends(rows[held], numbers)
    short = asking["words"].to_numpy()[ends[:, 0]] <= asking["words"].median()
    pl.DataFrame(
        {
            "query": ends[:, 0],
            "document": ends[:, 1],
            "answer": tested[held],
            "newest": new_pair[held],
            "new_document": new_end[held],
            "short_query": short,
            "long_query": ~short,
        }
    ).write_parquet(building.path / _PAIRS)
    pooled = pl.Series("pooled", np.isin(kept, drawn))
    documents.with_columns(pooled).write_parquet(building.path / _DOCUMENTS)
    if not linked.same:
        asking.write_parquet(building.path / _QUERIES)
    sides = {"query": (linked.queries, asking), "document": (linked.documents, documents)}
    labels = [
        read_labels(side.labels, texts).with_columns(side=pl.lit(name))
        for name, (side, texts) in sides.items()
    ]
    pl.concat(labels).write_parquet(building.path / _LABELS)
    if len(linked.translations):
        pairs = pl.DataFrame(_ends(mates, numbers), schema=["query", "document"])
        pairs.write_parquet(building.path / _MATES)
    building.counts |= {
        "documents": len(kept),
        "queries": len(query_rows),
        "links": int(np.count_nonzero(answers)),
        "newest_links": int(np.count_nonzero(answers & new_pair)),
    }


def _new(linked: Linked, since: Linked | None) -> tuple[Mask, Mask]:
    """Tell which pairs, and which with an end, an earlier state lacks."""
    rows = linked.pairs
    if since is None:
        return np.zeros(len(rows), bool), np.zeros(len(rows), bool)
    before = keys(since.between(linked.queries.names, linked.documents.names))
    gone = [
        number_of(new.names, old.names) < 0
        for new, old in ((linked.queries, since.queries), (linked.documents, since.documents))
    ]
    return ~np.isin(keys(rows), before), gone[0][rows[:, 0]] | gone[1][rows[:, 1]]


def _draw(rng: np.random.Generator, rows: NDArray[Any], most: int | None) -> NDArray[Any]:
    if most is None or len(rows) <= most:
        return rows
    return np.sort(rng.choice(rows, most, replace=False))


def _numbers(kept: NDArray[Any], n: int) -> Int32:
    number = np.full(n, -1, np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    return number


def _ends(rows: Int32, numbers: tuple[Int32, Int32]) -> Int32:
    return np.column_stack([numbers[0][rows[:, 0]], numbers[1][rows[:, 1]]])


def _texts_of(side: Side, kept: NDArray[Any], asked: NDArray[Any] | None) -> pl.DataFrame:
    """Texts that are kept; ``words``: distinct ones of what is asked, else null."""
    texts = side.texts[kept].with_columns(
        texts_at(side.parts, kept).alias("text"), name=side.names[kept]
    )
    is_asked = np.isin(kept, [] if asked is None else asked)
    words = [
        len(set(tokenize(text, language or ""))) if wanted else None
        for text, language, wanted in zip(texts["text"], texts["language"], is_asked, strict=True)
    ]
    return texts.with_columns(pl.Series("words", words, dtype=pl.Int64))


def open_frozen(frozen: Path, fitted: Fitted, source: Path | None = None) -> Task:
    """Open a frozen set as a task with a test side only, in the views of a model.

    What else its queries link to is neither answer nor candidate: by what it was drawn from, and by
    ``source``, a later state. A model of that one has learnt to rank its links high. Nor is a
    query's mate, where what it links to is the answer.

    ``marked`` has the slices ``newest``, ``new_document``, ``short_query`` and ``long_query``,
    which are the same for every model, and ``language_CODE`` where there are several.
    """
    artefact = store.read(Path(frozen), KIND)
    queries, documents, pairs = _read(artefact)
    query_texts, texts = both_sides(Raw(queries, documents), fitted)
    with files.reading(artefact.path, _AGAIN):
        languages = queries["language"].unique().sort().to_list()
        rows = pairs.select("query", "document").to_numpy()
        answer = pairs["answer"].to_numpy()
        marks = {name: pairs[name].to_numpy() for name in _MARKS}
    if len(languages) > 1:
        spoken = queries["language"].to_numpy()[rows[:, 0]]
        marks |= {f"language_{code}": spoken == code for code in languages}
    seen = rows[~answer]
    if source is not None:
        relevant = artefact.configuration.get("relevant")
        later = read_linked(source, relevant).between(queries["name"], documents["name"])
        later = later[np.isin(later[:, 0], rows[answer, 0])]
        seen = np.vstack([seen, later[~np.isin(keys(later), keys(rows[answer]))]])
    return Task(
        queries=query_texts,
        documents=texts,
        train=Pairs.of(seen),
        valid=Pairs.of(()),
        test=Pairs.of(rows[answer]),
        exclude=_exclude(artefact, len(queries), len(documents), same=queries is documents),
        key=artefact.key,
        pool=np.flatnonzero(documents["pooled"]).astype(np.int32),
        subsets={name: rows[answer & mark] for name, mark in marks.items()},
        path=artefact.path,
    )


def _read(artefact: store.Artefact) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Queries, documents (the same object where they are queries) and pairs."""
    with files.reading(artefact.path, _AGAIN):
        documents = pl.read_parquet(artefact.path / _DOCUMENTS, glob=False)
        apart = artefact.path / _QUERIES
        queries = pl.read_parquet(apart, glob=False) if apart.exists() else documents
        return queries, documents, pl.read_parquet(artefact.path / _PAIRS, glob=False)


def _exclude(
    artefact: store.Artefact, queries: int, documents: int, *, same: bool
) -> sparse.csr_array:
    if same:
        return sparse.csr_array(sparse.eye_array(documents, dtype=np.bool_))
    rows = np.empty((0, 2), np.int32)
    if artefact.configuration.get("relevant") == LINK_OF_TRANSLATION:
        with files.reading(artefact.path, _AGAIN):
            rows = pl.read_parquet(artefact.path / _MATES, glob=False).to_numpy()
    ones = np.ones(len(rows), np.bool_)
    return sparse.csr_array((ones, (rows[:, 0], rows[:, 1])), shape=(queries, documents))


def raw_of(frozen: Path) -> Raw:
    """Open the texts of a frozen set, with their labels."""
    artefact = store.read(Path(frozen), KIND)
    queries, documents, _ = _read(artefact)
    with files.reading(artefact.path, _AGAIN):
        every = pl.read_parquet(artefact.path / _LABELS, glob=False)
        labels = {
            name: every.filter(pl.col("side") == name).select(*LABELS)
            for name in ("query", "document")
        }
    return Raw(queries, documents, labels)


# --- what a task must not train on ---


def excluded_pairs(
    frozen: Sequence[Path], of: str, queries: pl.Series, documents: pl.Series, rows: Int32
) -> Mask:
    """Tell which pairs are answers of a frozen set, by the names of their ends.

    Parameters
    ----------
    of : str
        What is relevant in the task, "link" or "click".
    queries, documents : Series
        Names, as `linked.Side` has them.
    rows : int32 array
        (n, 2) both ends of each pair.
    """
    excluded = np.zeros(len(rows), bool)
    for artefact in _opened(frozen, of):
        query_ids, document_ids, pairs = _read(artefact)
        ends = pairs.filter("answer").select("query", "document").to_numpy()
        numbers = number_of(query_ids["name"], queries), number_of(document_ids["name"], documents)
        ends_here = np.column_stack([numbers[0][ends[:, 0]], numbers[1][ends[:, 1]]])
        excluded |= np.isin(keys(rows), keys(ends_here[(ends_here >= 0).all(axis=1)]))
    return excluded


def excluded_articles(
    frozen: Sequence[Path], queries: pl.Series, documents: pl.Series
) -> tuple[Mask, Mask]:
    """Tell which queries are of a frozen set, and which documents are translations of such.

    Parameters
    ----------
    queries, documents : Series
        Titles.
    """
    excluded = np.zeros(len(queries), bool), np.zeros(len(documents), bool)
    for artefact in _opened(frozen, *_ACROSS):
        query_ids, document_ids, _ = _read(artefact)
        with files.reading(artefact.path, _AGAIN):
            mates = pl.read_parquet(artefact.path / _MATES, glob=False)["document"].to_numpy()
        excluded[0][:] |= queries.is_in(query_ids["name"].implode()).to_numpy()
        excluded[1][:] |= documents.is_in(document_ids["name"][mates].implode()).to_numpy()
    return excluded


def _opened(frozen: Sequence[Path], *of: str) -> Iterator[store.Artefact]:
    for path in frozen:
        artefact = store.read(Path(path), KIND)
        drawn_from = artefact.configuration.get("relevant")
        if drawn_from not in of:
            raise BadInput(
                f"{path} is a frozen set of {drawn_from!r} pairs, and the task is of "
                f"{' or '.join(map(repr, of))}. Freeze one of these ('ssi ops freeze --relevant')."
            )
        yield artefact
