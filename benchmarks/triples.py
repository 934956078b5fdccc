"""A generated task for the sweep: words by Zipf's law, linked documents share a subject."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ssi_core.kernels.sparse import aligned_empty, csr, padded
from ssi_core.kernels.training.random import below
from ssi_core.kernels.training.structs import Data, Parameters, Work
from ssi_core.kernels.training.sweep import draw_negative
from ssi_core.views.weighting import Weighting, inverse_document_frequency, weigh

DOCUMENTS, WORDS = 20_000, 30_000
_TOKENS, _SUBJECTS, _OWN_WORDS, _LINKS = 150, 200, 150, 5


def documents(
    rng: np.random.Generator, subject: Any, size: int = WORDS, tokens: int = _TOKENS
) -> Any:
    """Rows of tf-idf, about 100 non-zeros each; a fifth of the tokens belong to the subject."""
    chances = 1 / np.arange(1, size + 1)
    words = rng.choice(size, (DOCUMENTS, tokens), p=chances / chances.sum())
    own = rng.integers(100, size, (_SUBJECTS, _OWN_WORDS))
    few = tokens // 5
    words[:, :few] = own[subject[:, None], rng.integers(0, _OWN_WORDS, (DOCUMENTS, few))]
    indptr = np.arange(0, words.size + 1, tokens)
    ones = np.ones(words.size, np.float32)
    counts = sparse.csr_array((ones, words.ravel(), indptr), shape=(DOCUMENTS, size))
    counts.sum_duplicates()
    frequency = np.maximum(1, np.bincount(counts.indices, minlength=size))
    return weigh(counts, inverse_document_frequency(frequency, DOCUMENTS), Weighting("raw"))


def training_data(words: int = WORDS, tokens: int = _TOKENS) -> Data:
    """Rows, links within subjects, and for each document itself and its links barred."""
    rng = np.random.default_rng(0)
    subject = np.sort(rng.integers(0, _SUBJECTS, DOCUMENTS))
    rows = csr(documents(rng, subject, words, tokens))
    start = np.searchsorted(subject, np.arange(_SUBJECTS + 1))
    size = np.diff(start)[subject]
    other = start[subject][:, None] + rng.integers(0, size[:, None], (DOCUMENTS, _LINKS))
    source = np.repeat(np.arange(DOCUMENTS), _LINKS)
    pairs = np.column_stack([source, other.ravel()])
    pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    loops = np.column_stack([np.arange(DOCUMENTS)] * 2)
    excluded = np.unique(np.concatenate([pairs, loops]), axis=0)
    indptr = np.searchsorted(excluded[:, 0], np.arange(DOCUMENTS + 1)).astype(np.int64)
    return Data(
        rows, rows, rows, rows, pairs.astype(np.int32), indptr, excluded[:, 1].astype(np.int32)
    )


def drawn(data: Data, n: int, seed: int) -> list[tuple[int, int, int]]:
    """Draw the triples that the sweep draws."""
    state, triples = np.array([seed], np.uint64), []
    for _ in range(n):
        q, p = data.pairs[below(state, len(data.pairs))].tolist()
        triples.append((q, p, int(draw_negative(data, DOCUMENTS, q, state))))
    return triples


def parameters(dimensions: int, words: int = WORDS) -> Parameters:
    """Random U and V, the rows aligned and padded as in a training."""
    rng = np.random.default_rng(1)

    def embedding() -> Any:
        made = aligned_empty(words, padded(dimensions))
        made[:] = 0
        made[:, :dimensions] = rng.normal(0, dimensions**-0.5, (words, dimensions))
        return made

    return Parameters(embedding(), embedding(), np.ones(1, np.float32))


def work(dimensions: int, words: int = WORDS) -> Work:
    """Scratch of one thread."""
    width = padded(dimensions)
    return Work(
        np.zeros(width, np.float32),
        np.zeros((2, width), np.float32),
        np.zeros(words, np.float32),
        np.zeros(2, np.float32),
    )
