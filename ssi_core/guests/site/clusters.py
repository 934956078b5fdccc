"""Groups of pages with similar vectors, so that a browser loads those near to a query alone."""

from __future__ import annotations

import numpy as np

from ssi_core.types import Float32, Int32

NEAREST = 8
"""Groups whose pages have the latent part in a ranking; that of other pages is 0."""
_WHOLE = 2048
"""Pages of a site that is one group."""
_SIZE, _MOST = 128, 256
"""Pages of a group, on the average and at most."""
_ROUNDS = 10


def clusters_of(vectors: Float32) -> list[Int32]:
    """Return the pages of each group, ascending: k-means, large groups divided.

    Parameters
    ----------
    vectors : float32 (pages, N)
        Vectors of the pages, neighbours on the site behind each other.
    """
    pages = len(vectors)
    if pages <= _WHOLE:
        return [np.arange(pages, dtype=np.int32)]
    centers = vectors[np.linspace(0, pages - 1, pages // _SIZE).astype(int)]
    for _ in range(_ROUNDS):
        lengths = (centers * centers).sum(axis=1)
        nearest = (lengths - 2 * (vectors @ centers.T)).argmin(axis=1)
        counts = np.bincount(nearest, minlength=len(centers))
        sums = np.zeros_like(centers)
        np.add.at(sums, nearest, vectors)
        centers = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centers)
    groups = [np.flatnonzero(nearest == group).astype(np.int32) for group in range(len(centers))]
    return [
        part
        for group in groups
        if len(group)
        for part in np.array_split(group, -(-len(group) // _MOST))
    ]
