"""A rate, and other settings, are searched on a small budget."""

import numpy as np
import pytest

from ssi_core.selection.grid import search
from ssi_core.types import BadInput


@pytest.mark.parametrize(("rate_by", "expected"), [("training", 1.0), ("validation", 0.1)])
def test_search_chooses_the_rate_as_told(rate_by, expected):
    errors = {0.1: (0.3, 0.2), 1.0: (0.1, 0.4)}
    best, trials = search({}, errors, lambda s: errors[s["rate"]], rate_by)
    assert best.settings["rate"] == expected
    assert len(trials) == 2


def test_a_rate_that_diverges_is_never_chosen():
    errors = {3.0: (np.nan, np.nan), 1.0: (0.0, np.nan), 0.1: (0.3, 0.2), 2.0: (np.inf, 0.0)}
    best, trials = search({}, errors, lambda s: errors[s["rate"]])
    assert best.settings["rate"] == 0.1
    assert [trial.validation for trial in trials] == [np.inf, np.inf, 0.2, np.inf]


def test_search_compares_the_grid_by_validation():
    def train(settings):
        return settings["rate"] * settings["alpha"], 1 - settings["alpha"]

    best, _ = search({"alpha": (0.1, 0.9)}, (2.0, 1.0), train)
    assert best.settings == {"alpha": 0.9, "rate": 1.0}


def test_a_search_where_everything_diverges_says_so():
    with pytest.raises(BadInput, match="every training diverged"):
        search({}, (1.0,), lambda s: (float("inf"), float("inf")))
