"""Relevant pairs and candidates of a task, on the sides of a split."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core import files
from ssi_core.arrays import load_array
from ssi_core.tasks.layout import PAIRS, SHOWN
from ssi_core.tasks.split import NO_SIDE, SPLITS, TEST, TRAIN, VALID, Splits, side_of_rows
from ssi_core.types import BadInput, Float32, Int32, Int64, Judged, Pairs, Weights

_NOT_RELEVANT = "not_relevant"


def joined(one: Pairs, other: Pairs) -> Pairs:
    """Return the judged pairs of two sides as one side, sorted; what was shown is of the first."""
    rows = np.concatenate([one.rows, other.rows])
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    return replace(
        one,
        rows=rows[order],
        weight=np.concatenate([one.weight, other.weight])[order],
        grade=np.concatenate([one.grade, other.grade])[order],
        not_relevant=np.concatenate([one.not_relevant, other.not_relevant]),
    )


def link_rows(parts: Iterable[pl.DataFrame], ids: pl.Series, where: Path) -> Int32:
    """Rows of the two ends of each link, (links, 2), sorted; `BadInput` for an unknown end.

    Parameters
    ----------
    parts : iterable of DataFrame
        ``source`` and ``target``, ids; one part is held at a time.
    ids : Series
        Of the documents, row by row.
    """
    rows = pl.DataFrame({"id": ids, "row": np.arange(len(ids))})
    keys = [_link_keys(links, rows, where) for links in parts]
    ends = np.concatenate([np.empty(0, np.int64), *keys])
    del keys
    ends.sort()
    return np.stack([ends >> 32, ends & 0xFFFFFFFF], axis=1, dtype=np.int32, casting="unsafe")


def _link_keys(links: pl.DataFrame, rows: pl.DataFrame, where: Path) -> Int64:
    """Both ends of each link in one number, the source above."""
    joined = links.join(rows, left_on="source", right_on="id").join(
        rows, left_on="target", right_on="id", suffix="_target"
    )
    if len(joined) != len(links):
        raise BadInput(
            f"{where}: {len(links) - len(joined)} links have an end that is no document, or one "
            "that is there twice. Ingest the corpus again."
        )
    return joined.select(pl.col("row") * 2**32 + pl.col("row_target")).to_series().to_numpy()


def sides_of_pairs(
    rows: Int32, titles: pl.Series, documents: Splits | None, *, seed: int
) -> Splits:
    """Side of each pair, int8; -1 for one that is on none.

    Parameters
    ----------
    rows : int32 array
        (n, 2) query and document.
    documents : int8 array or None
        Side of each document, or None for a split by links. Training pairs have both ends on the
        training side and test pairs on the test side; a validation pair has a validation document
        as its query and any but a test document as its answer.
    """
    if documents is None:
        return side_of_rows(titles, rows, seed=seed)
    source, target = documents[rows[:, 0]], documents[rows[:, 1]]
    sides = np.full(len(rows), -1, np.int8)
    sides[(source == TRAIN) & (target == TRAIN)] = TRAIN
    sides[(source == VALID) & (target != TEST)] = VALID
    sides[(source == TEST) & (target == TEST)] = TEST
    return sides


def held_out_twice(rows: Int32, titles: pl.Series, documents: Splits, *, seed: int) -> Splits:
    """Side of each pair between test documents by a split by links; -1 for every other pair.

    The pairs on the test side are held out by a split by documents and by a split by links: two
    models that learn from the one and from the other can be asked for the same pairs.
    """
    between = (documents[rows] == TEST).all(axis=1)
    return np.where(between, side_of_rows(titles, rows, seed=seed), NO_SIDE).astype(np.int8)


def write_pairs(directory: Path, rows: Int32, sides: Splits) -> dict[str, int]:
    """Write the pairs of each side; returns how many there are."""
    directory.mkdir()
    for side, name in enumerate(SPLITS):
        np.save(directory / f"{name}.npy", rows[sides == side])
    return {name: int(np.count_nonzero(sides == side)) for side, name in enumerate(SPLITS)}


def write_side(path: Path, side: str, pairs: Pairs) -> None:
    """Write the pairs of a judged side over those that are there."""
    directory = path / PAIRS
    np.save(directory / f"{side}.npy", pairs.rows)
    for name in ("weight", "grade", _NOT_RELEVANT):
        np.save(directory / f"{side}_{name}.npy", getattr(pairs, name))


def load_pairs(path: Path, side: str, weighing: Weights = "clicks") -> Pairs:
    """Load a side of a task directory: its pairs, and what was shown there.

    A side that knows what is not relevant is one of judged lists.
    """
    folder = path / PAIRS
    rows = load_array(folder / f"{side}.npy")
    weight, grade = (_of_pairs(folder / f"{side}_{name}.npy", rows) for name in ("weight", "grade"))
    pairs = Pairs(rows, weight, grade, shown=load_lists(path / SHOWN / side), weighing=weighing)
    judged = folder / f"{side}_{_NOT_RELEVANT}.npy"
    if not judged.exists():
        return pairs
    return replace(pairs, not_relevant=load_array(judged), listed=True)


def _of_pairs(path: Path, rows: Int32) -> Float32:
    """Load a number for each pair; 1 where there is no file."""
    if not path.exists():
        return np.ones(len(rows), np.float32)
    numbers: Float32 = load_array(path)
    if numbers.shape != (len(rows),):
        raise BadInput(f"{path}: {len(numbers)} numbers of {len(rows)} pairs. {files.MAKE_AGAIN}")
    return numbers


def write_lists(path: Path, lists: Judged) -> None:
    """Write lists of documents for queries."""
    path.mkdir(parents=True)
    for one in fields(lists):
        np.save(path / f"{one.name}.npy", getattr(lists, one.name))


def load_lists(path: Path) -> Judged:
    """Open lists of documents for queries; none where nothing was shown."""
    names = [one.name for one in fields(Judged)]
    return Judged(*(load_array(path / f"{name}.npy") for name in names if path.exists()))


def follow(query: Int32, source: Int32, links: Int32) -> Int32:
    """Pairs of each query with what its source links to, in the order of the queries.

    Parameters
    ----------
    query, source : int32 (n,)
        Rows.
    links : int32 (m, 2)
        Source and target, sorted by source.

    Returns
    -------
    int32 (pairs, 2)
    """
    begin = np.searchsorted(links[:, 0], source)
    lengths = np.searchsorted(links[:, 0], source, side="right") - begin
    ends = np.cumsum(lengths)
    position = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begin - ends + lengths, lengths)
    return np.column_stack([np.repeat(query, lengths), links[position, 1]]).astype(np.int32)


def keys(rows: NDArray[np.integer]) -> Int64:
    """Return both rows of each pair, (n, 2), in one number."""
    numbers: Int64 = (rows[:, 0].astype(np.int64) << 32) | rows[:, 1]
    return numbers


def candidates(rows: Int32, most: int, everything: int, *, seed: int) -> Int32 | None:
    """At most ``most`` of some document rows, ascending; None if that is all of ``everything``.

    With ``most`` = 0 all of the rows are taken.
    """
    if 0 < most < len(rows):
        rows = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
    return None if len(rows) == everything else rows.astype(np.int32)
