"""Measures of the set of training texts in a Hamming ball around a query."""

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
