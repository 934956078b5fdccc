"""Shares of the training pairs: nested, of about the size asked for, and fixed by the ids."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssi_core.tasks.training_part import share_of_pairs
from ssi_core.types import BadInput, Pairs, Texts


def keys(task):
    return {tuple(row) for row in task.train.rows.tolist()}


@given(st.floats(0.05, 1), st.floats(0.05, 1))
def test_of_two_shares_the_smaller_is_inside_the_larger(task, a, b):
    small, large = (share_of_pairs(task, share) for share in sorted((a, b)))
    assert keys(small) <= keys(large) <= keys(task)
    assert keys(share_of_pairs(large, min(a, b))) == keys(small)


def test_a_share_has_its_size_and_leaves_everything_else(task):
    half = share_of_pairs(task, 0.5)
    n = len(task.train)
    assert abs(len(half.train) - n / 2) < 4 * np.sqrt(n) / 2
    assert len(half.train.weight) == len(half.train.grade) == len(half.train)
    for name in ("valid", "test", "exclude", "queries", "documents", "pool"):
        assert getattr(half, name) is getattr(task, name)
    assert share_of_pairs(task, 1.0) is task


def test_a_pair_has_its_place_by_its_ids_whatever_else_there_is(task):
    """The same links of a corpus whose documents have other numbers."""
    n = len(task.documents)
    order = np.random.default_rng(0).permutation(n)
    number = np.argsort(order).astype(np.int32)
    texts = Texts(task.documents.ids[order], task.documents.titles[order], {}, {})
    rows = number[task.train.rows[::2]]
    moved = replace(
        task,
        queries=texts,
        documents=texts,
        train=Pairs(rows, task.train.weight[::2], task.train.grade[::2]),
    )
    found = {(order[q], order[d]) for q, d in share_of_pairs(moved, 0.3).train.rows}
    kept = keys(share_of_pairs(task, 0.3))
    assert found == {pair for pair in map(tuple, task.train.rows[::2].tolist()) if pair in kept}


def test_ids_may_be_numbers_and_a_share_of_nothing_is_refused(task):
    numbers = Texts(pl.Series(range(len(task.documents))), task.documents.titles, {}, {})
    numbered = replace(task, queries=numbers, documents=numbers)
    assert 0 < len(share_of_pairs(numbered, 0.5).train) < len(task.train)
    with pytest.raises(BadInput, match="Take a larger share"):
        share_of_pairs(task, 1e-9)
