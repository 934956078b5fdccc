"""Measures of the training texts in a Hamming ball around a query, and of all by their distance."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ssi_core.guests.codes.packed import Codes
from ssi_core.kernels.ranking import hamming
from ssi_core.types import Float64, Int32

TITLES: Mapping[str, str] = {
    "precision": "precision",
    "recall": "recall",
    "accuracy": "kNN accuracy",
    "empty": "empty balls",
    "map": "MAP by distance",
}
"""Measure -> title."""


def ball_measures(
    codes: Codes, labels: Int32, queries: Codes, query_labels: Int32, radius: int = 1
) -> dict[str, Float64]:
    """Measure the ball of each query, by the classes of the texts in it.

    ``precision`` is the share of the ball that has the class of the query, 0 of an empty ball.
    ``recall`` is the share of the class that is in the ball. ``accuracy`` is 1 where most texts of
    the ball have the class of the query; an empty ball is wrong, and of classes with equally many
    texts the first one counts. ``empty`` is 1 of an empty ball.

    Parameters
    ----------
    codes : uint64 (n, words)
        Codes of the training texts.
    labels : int32 (n,)
        Their classes.
    queries : uint64 (m, words)
        Codes of the queries.
    query_labels : int32 (m,)
        Their classes; each is a class of a training text.
    radius : int
        Largest number of bits that differ.

    Returns
    -------
    dict
        measure -> float64 (m,)
    """
    counts = np.zeros((len(queries), int(labels.max()) + 1), np.int64)
    hamming.class_counts(
        np.ascontiguousarray(codes), labels, np.ascontiguousarray(queries), radius, counts
    )
    every = np.arange(len(queries))
    inside, right = counts.sum(axis=1), counts[every, query_labels]
    sizes = np.bincount(labels, minlength=counts.shape[1])
    return {
        "precision": right / np.maximum(inside, 1),
        "recall": right / sizes[query_labels],
        "accuracy": ((counts.argmax(axis=1) == query_labels) & (inside > 0)).astype(np.float64),
        "empty": (inside == 0).astype(np.float64),
    }


_BLOCK = 4_000_000
"""Distances that are worked on at a time."""


def average_precision(codes: Codes, labels: Int32, queries: Codes, query_labels: Int32) -> Float64:
    """Return the average precision of the training texts by their distance from each query.

    Texts of the class of the query are relevant. Texts at the same distance share the place of the
    last of them, so that no order among equals counts: with ``r_h`` relevant texts and ``n_h``
    texts at distance h, and their sums ``R_h, N_h`` up to h,

        AP = sum_h r_h R_h / N_h / sum_h r_h.

    Unlike a ball of radius 1, it asks the same of long codes as of short ones.

    Parameters
    ----------
    codes, labels, queries, query_labels : uint64, int32, uint64, int32
        See `ball_measures`.

    Returns
    -------
    float64 (m,)
    """
    found = np.empty(len(queries))
    most = 64 * codes.shape[1] + 1
    size = max(1, _BLOCK // max(1, len(codes)))
    for first in range(0, len(queries), size):
        part = slice(first, first + size)
        far = np.zeros((len(queries[part]), len(codes)), np.int64)
        for word in range(codes.shape[1]):
            far += np.bitwise_count(queries[part, word, None] ^ codes[None, :, word])
        far += most * np.arange(len(far))[:, None]
        right = labels[None, :] == query_labels[part, None]
        every, relevant = (
            np.bincount(one, minlength=far.shape[0] * most).reshape(-1, most)
            for one in (far.ravel(), far[right])
        )
        precision = relevant.cumsum(axis=1) / np.maximum(every.cumsum(axis=1), 1)
        found[part] = (relevant * precision).sum(axis=1) / relevant.sum(axis=1)
    return found
