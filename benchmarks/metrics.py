"""Measures of 1000 queries against 10,000 candidates each, against ir-measures; equal values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.timing import Contestant, PeerMissing, Row, peer, row, speeds
from ssi_core.evaluation.candidates import Lists
from ssi_core.evaluation.measures import average_precision, count, precision_at, rank_loss
from ssi_core.types import Float32, Float64

QUERIES, CANDIDATES, RELEVANT = 1000, 10_000, 10
_BLOCK = 100  # queries: what the peer wants as a dict of dicts takes 150 bytes a score


def ours(scores: Float32, relevant: Any) -> tuple[Float64, Float64, Float64]:
    """MAP, P@10 and rank loss of each query; relevant columns int32 (queries, RELEVANT)."""
    n = len(scores)
    start = np.arange(0, relevant.size + 1, RELEVANT)
    none = Lists(np.zeros(n + 1, np.int64), np.zeros(0, np.int32))
    grade = np.ones(relevant.size, np.float32)
    lists = Lists(start, relevant.ravel())
    ranks = count(scores.copy(), np.zeros(0, np.int32), none, lists, grade)
    return average_precision(ranks), precision_at(ranks, 10), rank_loss(ranks)


def rank_loss_naive(scores: Float32, relevant: Any) -> Float64:
    """Share of pairs in the wrong order, by its definition; scores are distinct."""
    losses = []
    for own, columns in zip(scores, relevant, strict=True):
        others = np.delete(own, columns)
        losses.append(np.mean(own[columns][:, None] < others))
    return np.array(losses)


def rows() -> Iterator[Row]:
    name = f"MAP, P@10, rank loss {QUERIES} x {CANDIDATES} / ir-measures"
    try:
        ir_measures = peer("ir_measures")
    except PeerMissing as missing:
        yield Row(name, "queries/s", floor=20, goal=20, note=str(missing))
        return
    rng = np.random.default_rng(0)
    documents = [f"d{i}" for i in range(CANDIDATES)]
    mine: list[float] = []
    theirs: list[float] = []
    for first in range(0, QUERIES, _BLOCK):
        # Distinct scores: among equal ones the two have different orders.
        scores = rng.permuted(np.tile(np.arange(CANDIDATES, dtype=np.float32), (_BLOCK, 1)), axis=1)
        relevant = np.sort(rng.permuted(np.tile(np.arange(CANDIDATES), (_BLOCK, 1)), axis=1)
                           [:, :RELEVANT], axis=1).astype(np.int32)  # fmt: skip
        run = {
            str(q): dict(zip(documents, own.tolist(), strict=True)) for q, own in enumerate(scores)
        }
        qrels = {str(q): {documents[d]: 1 for d in own} for q, own in enumerate(relevant)}
        measures = [ir_measures.AP, ir_measures.P @ 10]
        evaluator = ir_measures.evaluator(measures, qrels)
        values: dict[Any, float] = {}

        def calculate(
            evaluator: Any = evaluator, run: Any = run, values: dict[Any, float] = values
        ) -> None:
            for found in evaluator.iter_calc(run):
                values[found.measure, int(found.query_id)] = found.value

        def count_ranks(scores: Float32 = scores, relevant: Any = relevant) -> None:
            ours(scores, relevant)

        timed = speeds(
            {"ours": Contestant(count_ranks, _BLOCK), "theirs": Contestant(calculate, _BLOCK)},
            rounds=1,
            warm=first == 0,
        )
        mine += timed["ours"]
        theirs += timed["theirs"]
        precision, at_10, loss = ours(scores, relevant)
        for measure, found in zip(measures, (precision, at_10), strict=True):
            expected = [values[measure, q] for q in range(_BLOCK)]
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
        np.testing.assert_allclose(loss[:10], rank_loss_naive(scores[:10], relevant[:10]))
    yield row(name, "queries/s", mine, theirs, floor=20, goal=20)
