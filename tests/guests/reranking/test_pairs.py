"""Arrays of pairs that do not fit together are refused."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import ssi_core as ssi
from tests.guests.reranking import made


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("values", np.zeros((5, 3)), "values: shape"),
        ("values", np.zeros(5), "values: shape"),
        ("documents", pl.Series(["a"]), "documents: 1 ids, expected 5"),
        ("start", [0, 5], "start: expected"),
        ("start", [1, 2, 5], "start: expected"),
        ("start", [0, 2, 4], "start: expected"),
        ("start", [0, 0, 5], "start: expected"),
        ("start", [0, 6, 5], "start: expected"),
        ("names", ("1", "2", "1", "4"), "expected each once"),
        ("queries", pl.Series(["q", "q"]), "expected each once"),
        ("values", np.full((5, 4), np.inf), "values: expected finite numbers"),
        ("grade", np.full(5, -1, np.int32), "grade: expected 0 to 31"),
        ("grade", np.full(5, 32, np.int32), "grade: expected 0 to 31"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(field, value, message):
    features = made.pairs([2, 3])
    if field == "start":
        value = np.array(value, np.int64)
    with pytest.raises(ValueError, match=message):
        replace(features, **{field: value})


def test_a_ranker_of_pairs_takes_pairs():
    with pytest.raises(TypeError, match=r"'train.txt': expected pairs. Read: ssi.read_letor"):
        ssi.Reranker("rankrls").fit("train.txt")
