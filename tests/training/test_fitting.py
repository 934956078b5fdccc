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
        100,
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


class Stalling(Walk):
    """Its error falls for three validations; it knows the triples of each sweep."""

    def __init__(self, rate):
        super().__init__(rate)
        self.swept = []

    def sweep(self, triples):
        self.swept.append(triples)
        self.arrays["x"] -= 0.1 if len(self.swept) <= 3 else 0
        return {}

    def observed(self):
        return {"val/rank_loss": self.error()}


@pytest.mark.parametrize(
    ("pairs", "epoch", "patience"),
    [(600, 10_000, 50), (30_000, 30_000, 17), (120_000, 50_000, 12)],
)
def test_epoch_and_patience_follow_from_the_number_of_pairs(pairs, epoch, patience):
    asked = {"rates": (0.1,), "epoch": "passes", "patience": "passes", "budget": 10**7}
    rule = SimpleNamespace(**{**vars(SCHEDULE), **asked})
    walk, facts = fitting.fit(
        rule,
        {},
        lambda settings: Stalling(settings["rate"]),
        lambda walk: (0.0, 0.0),
        pairs,
        measure="map_error",
    )
    assert (facts["epoch"], facts["patience"]) == (epoch, patience)
    assert walk.swept == [epoch] * (3 + patience)
    told = SimpleNamespace(**{**vars(rule), "epoch": epoch, "patience": patience})
    other, said = fitting.fit(
        told, {}, lambda settings: Stalling(0.1), lambda walk: (0.0, 0.0), 1, measure="map_error"
    )
    assert other.swept == walk.swept
    assert "epoch" not in said
    assert "patience" not in said
