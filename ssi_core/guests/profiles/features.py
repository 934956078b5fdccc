"""Features of users for a linear model: raw events, and the parts of their profiles.

A count n is the feature ``ln(1 + n)``: of a raw event, of a token that a profile keeps, of all
actions together. The
profile of the cluster is the distribution of its kept tokens, of length 1. The paper does not say
what its features' values were.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from ssi_core.guests.profiles.profiler import FittedProfiler
from ssi_core.types import Float64

Part: TypeAlias = Literal["actions", "raw", "cluster", "against_all", "against_cluster"]
"""A block of columns."""


def features(
    fitted: FittedProfiler, counts: sparse.csr_array, parts: tuple[Part, ...]
) -> sparse.csr_array:
    """Return the features of users, CSR float64 (users, N times parts).

    Parameters
    ----------
    fitted : FittedProfiler
        Clusters and distributions.
    counts : CSR float64 (users, N)
        How often each user did what a token names.
    parts : tuple of Part
        Blocks of columns, in their order.
    """
    raw = sparse.csr_array(
        (np.log1p(counts.data), counts.indices, counts.indptr), shape=counts.shape
    )
    blocks: dict[str, sparse.csr_array] = {"raw": raw}
    if "actions" in parts:
        blocks["actions"] = sparse.csr_array(np.log1p(counts.sum(axis=1)).reshape(-1, 1))
    if set(parts) - {"actions", "raw"}:
        profiles = fitted.profile(counts)
        for name in ("all", "cluster"):
            kept = getattr(profiles, f"bits_{name}").sign()
            blocks[f"against_{name}"] = raw.multiply(kept).tocsr()
        blocks["cluster"] = sparse.csr_array(_clusters(fitted))[profiles.cluster]
    joined = sparse.csr_array(sparse.hstack([blocks[part] for part in parts], format="csr"))
    joined.sum_duplicates()
    return sparse.csr_array(
        (joined.data, joined.indices.astype(np.int32), joined.indptr.astype(np.int32)),
        shape=joined.shape,
    )


def _clusters(fitted: FittedProfiler) -> Float64:
    kept = np.where(fitted.bits > 0, fitted.theta, 0.0)
    length = np.sqrt((kept**2).sum(axis=1, keepdims=True))
    unit: Float64 = np.divide(kept, length, out=np.zeros_like(kept), where=length > 0)
    return unit
