"""Information gain of words, beside a naive program."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import mutual_info_score

from ssi_core.guests.codes.hubness import hub_curves, information_gain
from ssi_core.guests.codes.sources import read_labelled
from tests.guests.codes import made


def test_information_gain_is_that_of_presence_and_class():
    random = np.random.default_rng(0)
    rows = sparse.random_array((50, 9), density=0.4, rng=random, format="csr")
    labels = random.integers(0, 3, 50).astype(np.int32)
    gain = information_gain(rows, labels)
    for column in range(9):
        present = rows[:, [column]].toarray().ravel() > 0
        nats = mutual_info_score(labels, present)
        assert gain[column] == pytest.approx(nats / np.log(2), abs=1e-12)


def test_dimensions_that_are_too_few_mix_the_classes(tmp_path):
    texts = read_labelled(made.lines(tmp_path / "own.jsonl"))
    result = hub_curves(texts, shares=(0.5,), dimensions=(1, 3), k=3)
    ratio = {(row["space"], row["features"]): row["bad_ratio"] for row in result["rows"]}
    assert ratio["LSI", 1] > ratio["LSI", 3]
    assert {row["texts"] for row in result["rows"]} == {60}
