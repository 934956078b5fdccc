from types import SimpleNamespace

import numpy as np
import pytest

from ssi_core.training import fitting

SCHEDULE = SimpleNamespace(
    rates=(0.5, 0.1), rate_by="training", epoch=10, budget=30, patience=9, search_budget=5
)


class Walk:
    """One number that goes down by the rate; the larger rate is the better."""

    def __init__(self, rate):
        self.rate, self.arrays = rate, {"x": np.array([1.0])}

    def sweep(self, triples):
        self.arrays["x"] -= self.rate * triples / 100
        return {"train/hinge": 0.0}

    def error(self):
        return float(self.arrays["x"][0])

    def observed(self):
        return {}


def fit(begun, checkpoint, stop=None):
    def begin(settings):
        begun.append(settings["rate"])
        return Walk(settings["rate"])

    def watch(step, metrics):
        if step == stop:
            raise KeyboardInterrupt

    grid = {"margin": (1.0, 2.0)}
    return fitting.fit(
        SCHEDULE,
        grid,
        begin,
        lambda walk: (walk.error(), walk.error()),
        watch=watch,
        checkpoint=checkpoint,
    )


def test_a_training_that_goes_on_does_not_search_again(tmp_path):
    whole, first, second = [], [], []
    walk, facts = fit(whole, None)
    with pytest.raises(KeyboardInterrupt):
        fit(first, tmp_path / "state", stop=20)
    again, found = fit(second, tmp_path / "state")

    assert first == whole == [0.5, 0.1, 0.5, 0.1, 0.5]
    assert second == [0.5]
    assert found["resumed_at"] == 20
    assert again.arrays["x"] == walk.arrays["x"]
    for name in ("rate", "margin", "trials", "triples", "best_at", "validation_rank_loss"):
        assert found[name] == facts[name]
