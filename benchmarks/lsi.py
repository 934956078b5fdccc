"""Singular vectors of LSI: against scikit-learn's ``randomized_svd``, at equal accuracy.

The matrix is tf-idf of the news messages, or of the generated encyclopedia. What a solution misses
is the sine of the largest angle between its subspace and the true one, of which a solution to a
hundredth of our tolerance stands in. `randomized_svd` has as many further vectors as wanted ones,
with which it misses least in the same time, and the fewest of `_ITERATIONS` by which it misses at
most what ours does; then its defaults.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.extmath import randomized_svd

from benchmarks.timing import Contestant, Row, row, speeds
from benchmarks.tokenise import ARCHIVE, real_texts, sample_texts
from ssi_core.models.latent.svd import leading_vectors

_DIMENSIONS, _WORDS, _ROUNDS = (100, 300), 30_000, 3
_TOLERANCE = 0.01
_ITERATIONS = (10, 20, 30, 40, 60, 80)


def _matrix() -> Any:
    archive = Path(os.environ.get("SSI_REAL_DATA", "")) / ARCHIVE
    with TemporaryDirectory() as name:
        texts = real_texts(archive) if archive.is_file() else sample_texts(Path(name))
    weights = TfidfVectorizer(max_features=_WORDS, sublinear_tf=True, dtype=np.float32)
    rows = sparse.csr_array(weights.fit_transform([text.decode() for text in texts]))
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return rows


def _ours(matrix: Any, n: int, tolerance: float = _TOLERANCE) -> Any:
    rng = np.random.default_rng(0)
    return leading_vectors(matrix, [n], rng, tolerance=tolerance).vectors


def _peer(matrix: Any, n: int, **settings: Any) -> Any:
    return randomized_svd(matrix, n, random_state=0, **settings)[2].T


def missed(found: Any, true: Any) -> float:
    """Sine of the largest angle between the subspaces of some columns."""
    basis, other = (np.linalg.qr(np.asarray(one, np.float64))[0] for one in (true, found))
    return float(np.linalg.norm(other - basis @ (basis.T @ other), 2))


def rows() -> Iterator[Row]:
    matrix = _matrix()
    for n in _DIMENSIONS:
        true = _ours(matrix, n, _TOLERANCE / 100)
        angle = missed(_ours(matrix, n), true)
        for iterations in _ITERATIONS:
            settings = {"n_oversamples": n, "n_iter": iterations}
            theirs = missed(_peer(matrix, n, **settings), true)
            if theirs <= angle:
                break
        contestants = {
            "ours": partial(_ours, matrix, n),
            "equal": partial(_peer, matrix, n, **settings),
            "default": partial(_peer, matrix, n),
        }
        found = speeds({name: Contestant(run, 1) for name, run in contestants.items()}, _ROUNDS)
        what, unit = f"LSI of {matrix.shape[0]:,} texts, N={n}", "solutions/s"
        note = f"sines {angle:.1g} and {theirs:.1g}, {iterations} iterations"
        ours = found["ours"]
        yield row(f"{what} / randomized_svd", unit, ours, found["equal"], goal=1, note=note)
        note = f"sines {angle:.1g} and {missed(_peer(matrix, n), true):.2g}"
        yield row(f"{what} / its defaults", unit, ours, found["default"], note=note)
