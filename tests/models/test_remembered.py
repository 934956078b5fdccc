"""Models that learn nothing are fitted once for a choice and for what it is compared with."""

from dataclasses import replace

import numpy as np
import pytest

import ssi_core as ssi
from ssi_core.models.choice import untrained as module
from ssi_core.models.choice.auto import Auto
from ssi_core.models.choice.untrained import strongest
from ssi_core.selection.validation_halves import ValidationHalves
from tests.corpora import topical

pytestmark = pytest.mark.trains
VIEWS = ("raw", "bm25")


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    texts, links = topical()
    path = tmp_path_factory.mktemp("remembered")
    docs = ssi.read(texts, links, out=path / "docs")
    return ssi.Task.of(docs, "link", out=path / "task").data


@pytest.fixture
def fits(monkeypatch):
    """The number of times that models are fitted."""
    counted = []
    real = module.untrained

    def untrained(*arguments):
        counted.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(module, "untrained", untrained)
    monkeypatch.setattr(module, "_remembered", module._Remembered())
    return counted


def halves(task, measure="map", queries=2_000):
    return ValidationHalves(task, measure, queries)


def rng(seed=0):
    return np.random.default_rng([seed])


def test_a_choice_and_what_it_is_compared_with_fit_them_once(task, fits):
    auto = Auto(budget=300, view=("sublinear:50@30000",)).fit(task, rng())
    base = module.Untrained().fit(task, rng())
    assert len(fits) == 1
    assert "auto" in auto.facts
    assert "auto" not in base.facts
    module._remembered.__init__()
    alone = module.Untrained().fit(task, rng())
    assert len(fits) == 2
    assert (alone.model, alone.facts) == (base.model, base.facts)
    for name, array in alone.arrays.items():
        np.testing.assert_array_equal(array, base.arrays[name])


def test_what_is_asked_again_is_equal_and_nothing_that_is_said_of_it_is_shared(task, fits):
    first, several = strongest(task, VIEWS, halves(task), rng())
    first.facts["said"] = "of the first"
    again, others = strongest(task, VIEWS, halves(task), rng())
    assert len(fits) == 1
    assert again.model == first.model
    assert "said" not in again.facts
    assert [mean for _, mean in others] == [mean for _, mean in several]
    assert module._remembered._last == ([], None, [])


@pytest.mark.parametrize(
    "changed", ["views", "measure", "queries", "seed", "train", "valid", "task"]
)
def test_anything_else_that_is_asked_is_fitted_anew(task, fits, changed):
    strongest(task, VIEWS, halves(task), rng())
    asked = {
        "views": (task, VIEWS[:1], halves(task), rng()),
        "measure": (task, VIEWS, halves(task, "mrr"), rng()),
        "queries": (task, VIEWS, halves(task, queries=20), rng()),
        "seed": (task, VIEWS, halves(task), rng(1)),
        "train": (replace(task, train=replace(task.train)), VIEWS, halves(task), rng()),
        "valid": (replace(task, valid=replace(task.valid)), VIEWS, halves(task), rng()),
        "task": (replace(task), VIEWS, halves(task), rng()),
    }[changed]
    strongest(*asked)
    # A copy of a task with the same parts is the same task.
    assert len(fits) == (1 if changed == "task" else 2)
