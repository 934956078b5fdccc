"""Settings that are chosen one after the other, from tables of what each of them reaches."""

import numpy as np
import pytest

from ssi_core.selection import one_by_one as module
from ssi_core.selection.one_by_one import one_by_one


class Table:
    """A validator that knows what settings reach, query by query, and notes who asked."""

    def __init__(self, reached):
        self.reached, self.asked = reached, []

    def __len__(self):
        return 2

    def ranks(self, settings):
        self.asked.append(tuple(settings.values()))
        return self.reached[self.asked[-1]]


@pytest.fixture(autouse=True)
def plain_measure(monkeypatch):
    monkeypatch.setattr(module, "MEASURES", {"map": np.array})


def test_a_setting_is_chosen_again_once_another_has_changed():
    table = Table({(0, 0): [1, 1], (1, 0): [0, 0], (0, 1): [2, 2], (1, 1): [4, 4]})
    tried = {"a": (0, 1), "b": (0, 1)}
    settings, facts = one_by_one(dict, {"a": 0, "b": 0}, tried, table, "map")
    assert settings == facts["chosen"] == {"a": 1, "b": 1}
    assert table.asked == [(0, 0), (1, 0), (0, 1), (1, 1), (1, 0)]
    assert facts | {"chosen": 0} == {
        "chosen": 0,
        "tried": 5,
        "validation_queries": 2,
        "val/map": 4.0,
    }


def test_a_value_that_is_higher_by_chance_is_not_taken():
    table = Table({(0,): [4, 4], (1,): [1, 8], (2,): [3, 5]})
    settings, facts = one_by_one(dict, {"a": 0}, {"a": (0, 1, 2)}, table, "map")
    assert settings == {"a": 0}
    assert (facts["tried"], facts["val/map"]) == (3, 4.0)


def test_of_several_the_best_is_taken():
    table = Table({(0,): [1, 1], (1,): [2, 2], (2,): [3, 3], (3,): [2, 3]})
    settings, _ = one_by_one(dict, {"a": 0}, {"a": (1, 2, 3)}, table, "map")
    assert settings == {"a": 2}
