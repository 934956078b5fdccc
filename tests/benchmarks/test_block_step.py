"""Whole trainings by triples and by blocks: how the rate of each is chosen."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import block_step

VALIDATION = {(0, 0.1): 0.9, (1, 0.1): 0.1, (0, 0.2): 0.6, (1, 0.2): 0.6}
"""Fold and rate -> MAP on validation."""


class Made:
    """A training that is told by its fold and rate; each fold has two more test queries."""

    def __init__(self, fold, model, seed):
        value = VALIDATION[fold.number, model.rates[0]] + seed / 100
        self.by_query = np.full(2 + 2 * fold.number, value)
        self.curve = [(1.0, 10, value)]
        self.row = {"valid_map": value, "seconds": 1.0 + fold.number, "curve": []}


def test_the_rate_is_that_of_the_best_mean_over_the_folds(monkeypatch):
    monkeypatch.setattr(block_step, "Trained", Made)
    folds = tuple(SimpleNamespace(number=n) for n in range(2))
    found = block_step.trainings(SimpleNamespace(folds=folds), "block", {}, [0.1, 0.2], 2)
    assert [(key["rate"], key["seed"], key["chosen"]) for key, _ in found] == [
        (0.1, 0, False),
        (0.2, 0, True),
        (0.2, 1, True),
    ]
    # A mean weighs the folds by their queries.
    assert found[0][1].row["valid_map"] == pytest.approx((2 * 0.9 + 4 * 0.1) / 6)
    assert len(found[2][1].by_query) == 6
