"""Forms of ``W`` and of the diagonal, each as the three acts of a training step.

A form scores ``phi(q)' W phi(d)``; a diagonal scores ``sum_i diag_i q_i d_i``. Both give

- ``query(parameters, data, work, q)``: what the query needs once per triple,
- ``document(parameters, data, work, d, slot)``: the score of a document (slot 0: d+, 1: d-),
- ``step(parameters, data, work, q, p, n, rate)``: the gradient step of a violated triple, with
  the values of the parameters *before* the step in both halves (journal paper, section 2.3.2).

Gradients are those of ``-f(q, d+) + f(q, d-)``: the hinge where it is positive.
"""

from __future__ import annotations

import numpy as np

from ssi_core.kernels import part, part_fast
from ssi_core.kernels.sparse import clear, dot, dot_spread, gather, scatter, spread
from ssi_core.kernels.training import pair_forms
from ssi_core.kernels.training.adagrad import adagrad_step, subtract
from ssi_core.kernels.training.private import private_document, private_query, private_step
from ssi_core.kernels.training.structs import Data, Parameters, Work

# --- forms of W ----------------------------------------------------------------------------------


@part
def zero_query(parameters: Parameters, data: Data, work: Work, q: int) -> None:
    """``W = 0``: nothing to do."""


@part
def zero_document(parameters: Parameters, data: Data, work: Work, d: int, slot: int) -> np.float32:
    """``W = 0``: no score."""
    return np.float32(0)


@part
def zero_step(
    parameters: Parameters, data: Data, work: Work, q: int, p: int, n: int, rate: np.float32
) -> None:
    """``W = 0``: nothing to learn."""


@part
def low_rank_query(parameters: Parameters, data: Data, work: Work, q: int) -> None:
    """``work.query = U q``."""
    gather(parameters.U, data.queries, q, work.query)


@part
def low_rank_document(
    parameters: Parameters, data: Data, work: Work, d: int, slot: int
) -> np.float32:
    """Score ``(U q)' (V d)``; keeps ``V d``."""
    gather(parameters.V, data.documents, d, work.documents[slot])
    return dot(work.query, work.documents[slot])


@part
def low_rank_step(
    parameters: Parameters, data: Data, work: Work, q: int, p: int, n: int, rate: np.float32
) -> None:
    """``U += rate V (d+ - d-) q'``, ``V += rate U q (d+ - d-)'``."""
    subtract(work.documents)
    difference = work.documents[1]
    scatter(parameters.U, data.queries, q, rate, difference)
    scatter(parameters.V, data.documents, p, rate, work.query)
    scatter(parameters.V, data.documents, n, -rate, work.query)


@part
def free_document(parameters: Parameters, data: Data, work: Work, d: int, slot: int) -> np.float32:
    """Score ``(U q)' v_d``: V has a vector for each document."""
    return dot(work.query, parameters.V[d])


@part
def free_direction(parameters: Parameters, work: Work, p: int, n: int) -> None:
    """Keep ``v+ - v-`` as the direction of U."""
    v = parameters.V
    for r in range(work.direction.shape[0]):
        work.direction[r] = v[p, r] - v[n, r]


@part
def free_vectors_step(parameters: Parameters, work: Work, p: int, n: int, rate: np.float32) -> None:
    """``v+ += rate U q``, ``v- -= rate U q``."""
    v = parameters.V
    for r in range(work.query.shape[0]):
        v[p, r] += rate * work.query[r]
        v[n, r] -= rate * work.query[r]


@part
def free_step(
    parameters: Parameters, data: Data, work: Work, q: int, p: int, n: int, rate: np.float32
) -> None:
    """``U += rate (v+ - v-) q'``, ``v+ += rate U q``, ``v- -= rate U q``."""
    free_direction(parameters, work, p, n)
    free_vectors_step(parameters, work, p, n, rate)
    scatter(parameters.U, data.queries, q, rate, work.direction)


# --- diagonals -----------------------------------------------------------------------------------


@part
def no_diagonal_query(parameters: Parameters, data: Data, work: Work, q: int) -> None:
    """No diagonal: nothing to do."""


@part
def no_diagonal_document(
    parameters: Parameters, data: Data, work: Work, d: int, slot: int
) -> np.float32:
    """No diagonal: no score."""
    return np.float32(0)


@part
def no_diagonal_step(
    parameters: Parameters, data: Data, work: Work, q: int, p: int, n: int, rate: np.float32
) -> None:
    """No diagonal: nothing to learn."""


@part
def no_diagonal_clear(data: Data, work: Work, q: int) -> None:
    """No diagonal: nothing was written."""


@part
def spread_query(parameters: Parameters, data: Data, work: Work, q: int) -> None:
    """Spread the query over the scratch, for products with documents."""
    spread(data.diagonal_queries, q, work.spread)


@part
def spread_clear(data: Data, work: Work, q: int) -> None:
    """Clear the scratch."""
    clear(data.diagonal_queries, q, work.spread)


@part
def alpha_document(parameters: Parameters, data: Data, work: Work, d: int, slot: int) -> np.float32:
    """Score ``alpha q'd``."""
    work.dots[slot] = dot_spread(data.diagonal_documents, d, work.spread)
    score: np.float32 = parameters.diagonal[0] * work.dots[slot]
    return score


@part
def alpha_step(
    parameters: Parameters, data: Data, work: Work, q: int, p: int, n: int, rate: np.float32
) -> None:
    """``alpha += rate q'(d+ - d-)``."""
    parameters.diagonal[0] += rate * (work.dots[0] - work.dots[1])


@part_fast
def weights_document(
    parameters: Parameters, data: Data, work: Work, d: int, slot: int
) -> np.float32:
    """Score ``sum_i D_i q_i d_i``."""
    documents = data.diagonal_documents
    total = np.float32(0)
    for t in range(documents.indptr[d], documents.indptr[d + 1]):
        i = documents.indices[t]
        total += parameters.diagonal[i] * work.spread[i] * documents.data[t]
    return total


@part
def weights_step(
    parameters: Parameters, data: Data, work: Work, q: int, p: int, n: int, rate: np.float32
) -> None:
    """``D_i += rate q_i (d+_i - d-_i)``."""
    documents = data.diagonal_documents
    for t in range(documents.indptr[p], documents.indptr[p + 1]):
        i = documents.indices[t]
        parameters.diagonal[i] += rate * work.spread[i] * documents.data[t]
    for t in range(documents.indptr[n], documents.indptr[n + 1]):
        i = documents.indices[t]
        parameters.diagonal[i] -= rate * work.spread[i] * documents.data[t]


FORMS = {
    "zero": (zero_query, zero_document, zero_step),
    "low_rank": (low_rank_query, low_rank_document, low_rank_step),
    "per_document": (low_rank_query, free_document, free_step),
    "low_rank_private": (private_query, private_document, private_step),
    "low_rank_adagrad": (low_rank_query, low_rank_document, adagrad_step),
    "dense": (pair_forms.pairs_query, pair_forms.dense_document, pair_forms.dense_step),
    "zero_diagonal": (
        pair_forms.pairs_query,
        pair_forms.dense_document,
        pair_forms.zero_diagonal_step,
    ),
    "sparse": (pair_forms.pairs_query, pair_forms.sparse_document, pair_forms.sparse_step),
    "hashed": (pair_forms.pairs_query, pair_forms.hashed_document, pair_forms.hashed_step),
}
"""Form of W -> (query, document, step)."""

DIAGONALS = {
    "none": (no_diagonal_query, no_diagonal_document, no_diagonal_step, no_diagonal_clear),
    "alpha": (spread_query, alpha_document, alpha_step, spread_clear),
    "weights": (spread_query, weights_document, weights_step, spread_clear),
}
"""Kind of diagonal -> (query, document, step, clear)."""
