"""Self-taught hashing: codes by a graph of neighbours, then a classifier for each bit.

Stage 1 thresholds the Laplacian eigenmap of the graph at the median of each column, over all rows.
Stage 2 learns each bit from the rows by a linear SVM, which gives new texts their codes; the
training texts keep those of stage 1. The SVM is that of LIBLINEAR with its defaults: squared hinge,
C = 1 for each row (the paper's (6) has C / n), and no bias.

Source: D. Zhang, J. Wang, D. Cai, J. Lu, Self-taught hashing for fast similarity search (SIGIR
2010), and Extensions to self-taught hashing (SIGIR workshop on feature generation and selection
2010): neighbours within the class, and SVMs with a Gaussian kernel. Its (7) minimises what has to
be maximised, and its (8) implies a bias that (6) and (10) lack: the kernel SVM is that of LIBSVM,
which has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from ssi_core.arrays import ArraySpec, ArraySpecs, csr_specs
from ssi_core.bounds import Positive
from ssi_core.estimator import Arrays, Sizes
from ssi_core.extras import module
from ssi_core.guests.codes.base import Hasher, Neighbours
from ssi_core.guests.codes.eigenmap import eigenmap
from ssi_core.guests.codes.graph import Similarity, neighbour_graph
from ssi_core.guests.codes.packed import Bits
from ssi_core.types import Float64, Int32

Passes = Annotated[int, Field(ge=1, le=10**6)]
_BLOCK_BYTES = 64 << 20


@dataclass(frozen=True)
class SelfTaught(Hasher):
    """Linear self-taught hashing (STH).

    Parameters
    ----------
    neighbours : int
        k of the graph.
    similarity : Similarity
        Weights of the graph: "cosine", or "heat" with ``width``.
    width : float
        Standard deviation of the heat kernel of the graph.
    C : float
        Weight of each row's loss in the SVM.
    passes : int
        Most passes of an SVM over the rows.
    """

    name: ClassVar[str] = "sth"
    neighbours: Neighbours = 25
    similarity: Similarity = "cosine"
    width: Positive = 1.0
    C: Positive = 1.0
    passes: Passes = 10_000

    def learn(
        self, rows: sparse.csr_array, labels: Int32 | None, rng: np.random.Generator
    ) -> tuple[Arrays, Bits, dict[str, Any]]:
        """Compute the codes of the rows, and learn each bit."""
        graph = neighbour_graph(
            rows,
            self.neighbours,
            similarity=self.similarity,
            sigma=self.width,
            labels=labels if self.supervised else None,
        )
        embedded = eigenmap(graph, self.bits, rng)
        bits = above_median(embedded.values)
        arrays = self.classifiers(rows, bits)
        predicted = self.decide(arrays, rows) > 0
        facts = {
            "graph_parts": embedded.parts,
            "balance": [float(share) for share in bits.mean(axis=0)],
            "learnt": float(np.mean(predicted == bits)),
        }
        return arrays, bits, facts

    def classifiers(self, rows: sparse.csr_array, bits: Bits) -> Arrays:
        """Learn a weight for each column and bit: ``weights`` (D, bits)."""
        weights = np.zeros((rows.shape[1], self.bits))
        rows = narrow(rows)
        for bit in range(self.bits):
            if bits[:, bit].any() and not bits[:, bit].all():
                machine = module("sklearn.svm", "sklearn").LinearSVC(
                    C=self.C, fit_intercept=False, max_iter=self.passes, random_state=0
                )
                weights[:, bit] = machine.fit(rows, bits[:, bit]).coef_[0]
        return {"weights": weights}

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the weights of each bit."""
        return {"weights": ArraySpec("float64", (sizes["words"], self.bits))}

    def decide(self, arrays: Arrays, rows: sparse.csr_array) -> Float64:
        """Return ``x . w`` of each bit."""
        product: Float64 = rows @ arrays["weights"]
        return product


@dataclass(frozen=True)
class SupervisedSelfTaught(SelfTaught):
    """Self-taught hashing with neighbours within the class (STHs); see `SelfTaught`."""

    name: ClassVar[str] = "sths"
    supervised: ClassVar[bool] = True


@dataclass(frozen=True)
class KernelSelfTaught(SelfTaught):
    """Self-taught hashing with Gaussian SVMs, for vectors of few dimensions; see `SelfTaught`.

    Parameters
    ----------
    sigma : float
        Standard deviation of the SVM's kernel ``exp(-|x - x'|^2 / (2 sigma^2))``.
    """

    name: ClassVar[str] = "kernel_sth"
    sigma: Positive = 0.1

    def classifiers(self, rows: sparse.csr_array, bits: Bits) -> Arrays:
        """Learn ``alpha y`` for each row and bit, and a bias; the rows are part of the model."""
        n, rows = rows.shape[0], narrow(rows)
        weights, biases = np.zeros((n, self.bits)), np.zeros(self.bits)
        for bit in range(self.bits):
            if bits[:, bit].any() and not bits[:, bit].all():
                machine = module("sklearn.svm", "sklearn").SVC(
                    C=self.C, kernel="rbf", gamma=1 / (2 * self.sigma**2)
                )
                machine.fit(rows, bits[:, bit])
                dual: Any = sparse.csr_array(machine.dual_coef_)
                weights[machine.support_, bit] = dual.toarray()[0]
                biases[bit] = machine.intercept_[0]
        return {
            "weights": weights,
            "biases": biases,
            "row_data": rows.data,
            "row_indices": rows.indices,
            "row_indptr": rows.indptr,
            "columns": np.array([rows.shape[1]]),
        }

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the weights and the bias of each bit, and the rows that they are of."""
        texts, words = sizes["texts"], sizes["words"]
        return {
            "weights": ArraySpec("float64", (texts, self.bits)),
            "biases": ArraySpec("float64", (self.bits,)),
            "columns": ArraySpec("int64", (1,), least=words, most=words),
            **csr_specs(texts, words, ("row_indptr", "row_indices", "row_data"), "float64"),
        }

    def decide(self, arrays: Arrays, rows: sparse.csr_array) -> Float64:
        """Return the decision value (10) of each bit, with the bias."""
        parts = arrays["row_data"], arrays["row_indices"], arrays["row_indptr"]
        columns = int(arrays["columns"][0])
        known = sparse.csr_array(parts, shape=(len(parts[2]) - 1, columns))
        squares = np.asarray(known.multiply(known).sum(axis=1)).ravel()
        transposed = sparse.csc_array(known.T)
        values = np.empty((rows.shape[0], arrays["weights"].shape[1]))
        block = max(1, _BLOCK_BYTES // (8 * known.shape[0]))
        for begin in range(0, rows.shape[0], block):
            some = rows[begin : begin + block]
            lengths = np.asarray(some.multiply(some).sum(axis=1)).reshape(-1, 1)
            far = np.maximum(lengths + squares - 2 * (some @ transposed).toarray(), 0.0)
            near = np.exp(-far / (2 * self.sigma**2))
            values[begin : begin + block] = near @ arrays["weights"] + arrays["biases"]
        return values

    def first(self, arrays: Arrays, bits: int) -> Arrays:
        """Return the arrays with the weights and the biases of the first bits."""
        return {
            name: array[..., :bits] if name in ("weights", "biases") else array
            for name, array in arrays.items()
        }


def narrow(rows: sparse.csr_array) -> sparse.csr_array:
    """Return rows with indices of 32 bits, which scikit-learn asks for."""
    parts = rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return sparse.csr_array(parts, shape=rows.shape)


def above_median(values: Float64) -> Bits:
    """Return whether each value is above the median of its column, over all rows."""
    bits: Bits = values > np.median(values, axis=0)
    return bits
