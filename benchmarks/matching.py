"""Matching at test time: cached vectors of low rank, hash kernels, TF-IDF by an inverted index.

A page and an ad have about 100 words each, as where the journal paper weighs the costs (section
4.4). Vectors of ads are made beforehand; that of a page is made each time. Hash kernels are met
twice: pair by pair, ``|q| |d|`` hashes each, as the paper counts, and as they are scored here, by
``v = q' W`` and an inverted index.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from benchmarks.forms import of_pairs, scratch
from benchmarks.timing import Contestant, Row, row, speeds
from benchmarks.triples import DOCUMENTS, WORDS, documents
from ssi_core.kernels import jit
from ssi_core.kernels.sparse import csr
from ssi_core.kernels.training.pair_forms import hashed_document, pairs_query
from ssi_core.kernels.training.structs import Data, Parameters, Work
from ssi_core.models.bilinear.pair_weights import PairWeights
from ssi_core.scoring.scorer import Scorer
from ssi_core.scoring.vectors import Inner
from ssi_core.types import Float32, TextMatrix

_N, _BUCKETS = 100, 1_000_000
_PAGES, _FEW = 64, 500


@jit
def _pair_by_pair(
    p: Parameters, data: Data, work: Work, pages: int, ads: int, scores: Float32
) -> None:
    for q in range(pages):
        pairs_query(p, data, work, q)
        for d in range(ads):
            scores[q, d] = hashed_document(p, data, work, d, 0)


def rows() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    subject = np.sort(rng.integers(0, 200, DOCUMENTS))
    ads: TextMatrix = documents(rng, subject)
    pages = sparse.csr_array(ads[rng.permutation(DOCUMENTS)[:_PAGES]])
    U, V = (rng.normal(0, _N**-0.5, (WORDS, _N)).astype(np.float32) for _ in range(2))
    W = rng.normal(0, 1, _BUCKETS).astype(np.float32)
    low_rank = Scorer(Inner(None, ads @ V))
    both = Scorer(Inner(ads, ads @ V))
    words = Scorer(Inner(ads, None))
    hashed = PairWeights({"W": W}, 0, WORDS)
    data = Data(csr(pages), csr(ads), *[None] * 5)
    p, work = of_pairs(W), scratch(1)
    few = np.empty((_PAGES, _FEW), np.float32)
    whole = _PAGES * DOCUMENTS
    found = speeds(
        {
            "low rank": Contestant(lambda: low_rank.score(Inner(None, pages @ U)), whole),
            "low rank + I": Contestant(lambda: both.score(Inner(pages, pages @ U)), whole),
            "TF-IDF": Contestant(lambda: words.score(Inner(pages, None)), whole),
            "hash": Contestant(lambda: words.score(Inner(pages, None, hashed)), whole),
            "pairs": Contestant(
                lambda: _pair_by_pair(p, data, work, _PAGES, _FEW, few), _PAGES * _FEW
            ),
        },
        rounds=7,
    )
    check = words.score(Inner(pages, None, hashed))[:, :_FEW]
    np.testing.assert_allclose(check, few, rtol=1e-3, atol=1e-3)
    for other, name in (
        ("pairs", "hash kernels, pair by pair"),
        ("hash", "hash kernels, v = q'W"),
        ("TF-IDF", "TF-IDF, inverted index"),
        ("low rank + I", "the same + I"),
    ):
        yield row(f"matching, U'V N={_N} / {name}", "pairs/s", found["low rank"], found[other])
