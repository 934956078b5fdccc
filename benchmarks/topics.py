"""EM of topic models and of word translations on a generated log, beside the reads and writes.

A log has queries of 3 words and titles of 8, drawn from topics by Zipf's law; a title has five
clicks. The probe reads and writes the same rows of the same words and does nothing else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ssi_core.types import Float32, Int32, Int64

QUERY, TITLE, CLICKS = 3, 8, 5
WORDS, SUBJECTS = 50_000, 200
_OWN = 0.6
"""Share of the words that the subject gives; the others are those of all texts."""


class Log(NamedTuple):
    """Counts of queries and titles (start, column, count), and the pairs of their rows."""

    queries: tuple[Int64, Int32, Float32]
    titles: tuple[Int64, Int32, Float32]
    pairs: Int32


def generated(pairs: int, seed: int = 0) -> Log:
    """Draw a log; texts of a subject share a tenth of the words, the frequent ones first."""
    rng = np.random.default_rng(seed)
    texts = -(-pairs // CLICKS)
    subjects = np.sort(rng.integers(0, SUBJECTS, texts).astype(np.int32))
    starts = np.searchsorted(subjects, np.arange(SUBJECTS + 1))
    titles = np.repeat(np.arange(texts, dtype=np.int32), CLICKS)[:pairs]
    low, high = starts[subjects[titles]], starts[subjects[titles] + 1]
    queries = (low + rng.random(pairs) * (high - low)).astype(np.int32)
    order = np.lexsort((titles, queries))
    rows = np.stack([queries[order], titles[order]], axis=1)
    return Log(_texts(rng, subjects, QUERY), _texts(rng, subjects, TITLE), rows)


def _texts(rng: np.random.Generator, subjects: Int32, length: int) -> Any:
    shape = len(subjects), length
    rank = (WORDS ** rng.random(shape)).astype(np.int32) - 1
    # Another order of the words for each subject.
    moved = (rank * np.int64(7919) + 1 + subjects[:, None] * np.int64(104_729)) % WORDS
    words = np.sort(np.where(rng.random(shape) < _OWN, moved, rank).astype(np.int32), axis=1)
    first = np.ones(shape, np.bool_)
    first[:, 1:] = words[:, 1:] != words[:, :-1]
    places = np.flatnonzero(first)
    counts = np.diff(np.append(places, words.size)).astype(np.float32)
    indptr = np.concatenate([[0], np.cumsum(first.sum(axis=1))]).astype(np.int64)
    return indptr, words[first], counts
