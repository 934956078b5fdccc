"""Hashers beside self-taught hashing: LSI, ITQ, random planes, spectral hashing, co-hashing.

Sources: S. Deerwester et al. 1990 with thresholds at the median (R. Salakhutdinov and G. Hinton,
Semantic hashing, 2009); Y. Gong and S. Lazebnik, Iterative quantization (CVPR 2011); M. Charikar,
Similarity estimation techniques from rounding algorithms (2002); Y. Weiss, A. Torralba, R. Fergus,
Spectral hashing (NIPS 2008); D. Zhang, J. Wang, D. Cai, J. Lu, Laplacian co-hashing of terms and
documents (ECIR 2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator, svds

from ssi_core.arrays import ArraySpec, ArraySpecs
from ssi_core.estimator import Arrays, Sizes
from ssi_core.guests.codes.base import Hasher
from ssi_core.guests.codes.packed import Bits
from ssi_core.types import BadInput, Float64, Int32

_DENSE = 512
_ZERO = 1e-10


@dataclass(frozen=True)
class Thresholded(Hasher):
    """Base of hashers ``x . w > t`` with the median of the training texts as threshold."""

    def learn(
        self, rows: sparse.csr_array, labels: Int32 | None, rng: np.random.Generator
    ) -> tuple[Arrays, Bits, dict[str, Any]]:
        """Compute the projection and its medians."""
        arrays = {"weights": self.projection(rows, rng)}
        median = np.median(self.project(arrays, rows), axis=0)
        arrays["thresholds"] = median
        bits = self.decide(arrays, rows) > 0
        return arrays, bits, {"balance": [float(share) for share in bits.mean(axis=0)]}

    def projection(self, rows: sparse.csr_array, rng: np.random.Generator) -> Float64:
        """Return the weights, float64 (D, bits)."""
        raise TypeError(f"{type(self).__name__} does not project")

    def project(self, arrays: Arrays, rows: sparse.csr_array) -> Float64:
        """Return ``x . w``."""
        product: Float64 = rows @ arrays["weights"]
        return product

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the projection and the medians."""
        return {
            "weights": ArraySpec("float64", (sizes["words"], self.bits)),
            "thresholds": ArraySpec("float64", (self.bits,)),
        }

    def decide(self, arrays: Arrays, rows: sparse.csr_array) -> Float64:
        """Return how far each projection is above its threshold."""
        return self.project(arrays, rows) - arrays["thresholds"]


@dataclass(frozen=True)
class BinarisedLsi(Thresholded):
    """Binarised LSI: the leading right singular vectors of the rows, median thresholds."""

    name: ClassVar[str] = "lsi"

    def projection(self, rows: sparse.csr_array, rng: np.random.Generator) -> Float64:
        """Return the leading right singular vectors."""
        _check_rank(rows, self.bits, self.name)
        small = rows.toarray() if min(rows.shape) <= _DENSE else None
        return leading(aslinearoperator(rows), small, self.bits, rng)[1]


@dataclass(frozen=True)
class CentredLsi(Thresholded):
    """Principal components of the rows, median thresholds: binarised LSI without their mean."""

    name: ClassVar[str] = "centred_lsi"

    def projection(self, rows: sparse.csr_array, rng: np.random.Generator) -> Float64:
        """Return the principal components."""
        _check_rank(rows, self.bits, self.name)
        return principal_components(rows, self.bits, rng)


@dataclass(frozen=True)
class CoHashing(Thresholded):
    r"""Laplacian co-hashing (LCH): the eigenmap of the graph of texts and words.

    With ``A = D^{-1/2} X E^{-1/2}``, where D and E have the sums of rows and of columns of X on
    their diagonals, and its singular vectors ``A v = s u`` after the first, constant pair, texts
    are at ``D^{-1/2} u`` and words at ``E^{-1/2} v``. A text x is at the mean of its words,
    ``x E^{-1/2} v / (s sum(x))``, which is ``D^{-1/2} u`` of a training text.
    """

    name: ClassVar[str] = "lch"

    def projection(self, rows: sparse.csr_array, rng: np.random.Generator) -> Float64:
        """Return ``E^{-1/2} v / s``."""
        _check_rank(rows, self.bits + 1, self.name)
        texts = np.asarray(rows.sum(axis=1)).ravel()
        words = np.asarray(rows.sum(axis=0)).ravel()
        left = sparse.diags_array(_inverse(np.sqrt(texts)))
        right = _inverse(np.sqrt(words))
        normal = sparse.csr_array(left @ rows @ sparse.diags_array(right))
        # The pair of s = 1 is known; without it a graph of several parts gives no other mixture.
        a = np.sqrt(texts / texts.sum())
        b = np.sqrt(words / words.sum())
        deflated = LinearOperator(
            normal.shape,
            dtype=np.float64,
            matvec=lambda x: normal @ x.ravel() - a * (b @ x.ravel()),
            rmatvec=lambda x: normal.T @ x.ravel() - b * (a @ x.ravel()),
        )
        small = normal.toarray() - np.outer(a, b) if min(normal.shape) <= _DENSE else None
        values, vectors = leading(deflated, small, self.bits, rng)
        scaled: Float64 = right[:, None] * vectors * _inverse(values)
        return scaled

    def project(self, arrays: Arrays, rows: sparse.csr_array) -> Float64:
        """Return the mean place of the words of each text."""
        sums = np.asarray(rows.sum(axis=1)).ravel()
        projected: Float64 = _inverse(sums)[:, None] * (rows @ arrays["weights"])
        return projected


@dataclass(frozen=True)
class RandomPlanes(Hasher):
    """Locality-sensitive hashing (LSH): the side of random planes through the origin."""

    name: ClassVar[str] = "lsh"

    def learn(
        self, rows: sparse.csr_array, labels: Int32 | None, rng: np.random.Generator
    ) -> tuple[Arrays, Bits, dict[str, Any]]:
        """Draw the planes, one after the other."""
        arrays = {"weights": rng.standard_normal((self.bits, rows.shape[1])).T}
        bits = self.decide(arrays, rows) > 0
        return arrays, bits, {"balance": [float(share) for share in bits.mean(axis=0)]}

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the planes."""
        return {"weights": ArraySpec("float64", (sizes["words"], self.bits))}

    def decide(self, arrays: Arrays, rows: sparse.csr_array) -> Float64:
        """Return ``x . w``."""
        product: Float64 = rows @ arrays["weights"]
        return product


@dataclass(frozen=True)
class SpectralHashing(Hasher):
    r"""Spectral hashing (SpH): waves along principal components, as of a uniform box.

    The rows are projected to as many principal components as there are bits, of which component j
    spans the interval ``[a_j, b_j]`` in training. Of all waves
    ``sin(pi / 2 + m pi (x_j - a_j) / (b_j - a_j))``, m = 1, 2, ..., the bits are those of the
    smallest ``m / (b_j - a_j)``.
    """

    name: ClassVar[str] = "spectral"
    nested: ClassVar[bool] = False

    def learn(
        self, rows: sparse.csr_array, labels: Int32 | None, rng: np.random.Generator
    ) -> tuple[Arrays, Bits, dict[str, Any]]:
        """Compute the components, their intervals, and the waves."""
        vectors = principal_components(rows, min(self.bits, *rows.shape), rng)
        projected = rows @ vectors
        low, high = projected.min(axis=0), projected.max(axis=0)
        kept = high - low > _ZERO
        vectors, low, span = vectors[:, kept], low[kept], (high - low)[kept]
        if not kept.any():
            raise BadInput(f"{self.name}: all texts are alike. Give texts that differ.")
        waves = np.arange(1, self.bits + 1)[None, :] / span[:, None]
        chosen = np.argsort(waves, axis=None, kind="stable")[: self.bits]
        component, mode = np.unravel_index(chosen, waves.shape)
        arrays = {
            "vectors": vectors,
            "low": low,
            "component": component.astype(np.int64),
            "frequency": np.pi * (mode + 1) / span[component],
        }
        bits = self.decide(arrays, rows) > 0
        facts = {
            "balance": [float(share) for share in bits.mean(axis=0)],
            "components": len(set(component.tolist())),
        }
        return arrays, bits, facts

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the components and the waves along them."""
        return {
            "vectors": ArraySpec("float64", (sizes["words"], "components")),
            "low": ArraySpec("float64", ("components",)),
            "component": ArraySpec("int64", (self.bits,), index="components"),
            "frequency": ArraySpec("float64", (self.bits,)),
        }

    def decide(self, arrays: Arrays, rows: sparse.csr_array) -> Float64:
        """Return the height of each wave."""
        projected = (rows @ arrays["vectors"] - arrays["low"])[:, arrays["component"]]
        heights: Float64 = np.sin(np.pi / 2 + arrays["frequency"] * projected)
        return heights


@dataclass(frozen=True)
class IterativeQuantisation(Hasher):
    r"""Iterative quantisation (ITQ): principal components, rotated towards the corners of a cube.

    With the centred rows X in the leading components, ``V = X W``, a rotation R is drawn, and then
    signs and rotation are fitted to each other in turn,

        B = sign(V R),   B' V = S Omega T',   R = T S',

    each of which lowers ``||B - V R||^2``. Bit j is the sign of component j of ``x W R``.

    Parameters
    ----------
    rounds : int
        How often both are fitted.
    """

    name: ClassVar[str] = "itq"
    nested: ClassVar[bool] = False
    rounds: Annotated[int, Field(ge=1, le=10_000)] = 50

    def learn(
        self, rows: sparse.csr_array, labels: Int32 | None, rng: np.random.Generator
    ) -> tuple[Arrays, Bits, dict[str, Any]]:
        """Compute the components, and rotate them."""
        _check_rank(rows, self.bits, self.name)
        vectors = principal_components(rows, self.bits, rng)
        mean = np.asarray(rows.mean(axis=0)).ravel() @ vectors
        projected = rows @ vectors - mean
        rotation = np.linalg.qr(rng.standard_normal((self.bits, self.bits)))[0]
        for _ in range(self.rounds):
            signs = np.where(projected @ rotation > 0, 1.0, -1.0)
            left, _, right = np.linalg.svd(signs.T @ projected)
            rotation = (left @ right).T
        weights = vectors @ rotation
        arrays = {"weights": weights, "thresholds": mean @ rotation}
        bits = self.decide(arrays, rows) > 0
        loss = float(np.square(np.where(bits, 1.0, -1.0) - projected @ rotation).mean())
        balance = [float(share) for share in bits.mean(axis=0)]
        return arrays, bits, {"balance": balance, "loss": loss}

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the rotated components, and the place of the mean in them."""
        return {
            "weights": ArraySpec("float64", (sizes["words"], self.bits)),
            "thresholds": ArraySpec("float64", (self.bits,)),
        }

    def decide(self, arrays: Arrays, rows: sparse.csr_array) -> Float64:
        """Return ``(x - mean) W R``."""
        projected: Float64 = rows @ arrays["weights"] - arrays["thresholds"]
        return projected


def principal_components(rows: sparse.csr_array, count: int, rng: np.random.Generator) -> Float64:
    """Return the leading right singular vectors of the centred rows, float64 (D, count)."""
    mean = np.asarray(rows.mean(axis=0)).ravel()
    one = np.ones(rows.shape[0])
    centred = LinearOperator(
        rows.shape,
        dtype=np.float64,
        matvec=lambda x: rows @ x.ravel() - mean @ x.ravel(),
        rmatvec=lambda x: rows.T @ x.ravel() - mean * (one @ x.ravel()),
    )
    small = rows.toarray() - mean if min(rows.shape) <= _DENSE else None
    return leading(centred, small, count, rng)[1]


def leading(
    operator: LinearOperator, dense: Any, count: int, rng: np.random.Generator
) -> tuple[Float64, Float64]:
    """Return the largest singular values, descending, and right vectors with a positive peak.

    Parameters
    ----------
    operator : LinearOperator
        The matrix, by its products.
    dense : array or None
        The matrix itself, where it is small.
    """
    if min(operator.shape) <= _DENSE:
        _, values, right = np.linalg.svd(dense, full_matrices=False)
    else:
        start = rng.standard_normal(min(operator.shape))
        _, values, right = svds(operator, count, v0=start)
        order = np.argsort(-values)
        values, right = values[order], right[order]
    values, right = values[:count], right[:count]
    peaks = right[np.arange(len(right)), np.abs(right).argmax(axis=1)]
    return values, (right * np.where(peaks < 0, -1.0, 1.0)[:, None]).T


def _inverse(values: Any) -> Float64:
    """Return ``1 / x``, and 0 of values that are 0 but for rounding."""
    return np.where(values > _ZERO, 1 / np.maximum(values, _ZERO), 0.0)


def _check_rank(rows: sparse.csr_array, needed: int, name: str) -> None:
    if needed > min(rows.shape):
        raise BadInput(
            f"{name}: {needed} dimensions of {rows.shape[0]} texts with {rows.shape[1]} words. "
            "Take fewer bits, or give more texts."
        )
