"""A choice of validation among models."""

import numpy as np
import pytest

from ssi_core.evaluation.ranking import Validator
from ssi_core.experiment import parse_table
from ssi_core.models import MODELS
from ssi_core.models.base import UnfitStart
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bm25 import Bm25
from ssi_core.models.combined.best_of import BestOf, differences
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.tfidf import TfIdf

pytestmark = pytest.mark.trains

SMALL = {"rates": (0.1,), "epoch": 500, "budget": 1500, "margin": 0.3, "dimensions": 8}
WIDE = {"model": "bilinear", "view": "raw", **SMALL}
NARROW = {"model": "bilinear", "view": "sublinear:10", "diagonal_view": "raw", **SMALL}
PLAIN = {"model": "tfidf", "view": "sublinear"}


def alone(task, *parts):
    rng = np.random.default_rng(3)
    built = [MODELS[p["model"]](**{k: v for k, v in p.items() if k != "model"}) for p in parts]
    return [model.fit(task, rng) for model in built]


@pytest.mark.parametrize("parts", [(PLAIN, WIDE, NARROW), (NARROW, PLAIN), (WIDE, NARROW)])
def test_is_the_part_of_the_lowest_validation_rank_loss(task, parts):
    fits = alone(task, *parts)
    losses = [Validator(task, "valid", 500).rank_loss(fit) for fit in fits]
    best = fits[int(np.argmin(losses))]
    chosen = BestOf(parts).fit(task, np.random.default_rng(3))
    assert chosen.model == best.model
    assert chosen.query_views.keys() == best.query_views.keys()
    for name, array in best.arrays.items():
        np.testing.assert_array_equal(chosen.arrays[name], array)
    assert chosen.facts["rank_loss_by_part"] == pytest.approx(losses)
    assert chosen.facts["choice"] == differences(parts)[int(np.argmin(losses))]


def test_of_equal_parts_the_first_is_taken(task):
    again = {**PLAIN, "view": "sublinear:10"}
    parts = (PLAIN, {**PLAIN}, again)
    losses = BestOf(parts).fit(task, np.random.default_rng(3)).facts["rank_loss_by_part"]
    assert losses[0] == losses[1]


def test_a_choice_is_told_by_what_differs():
    parts = (
        {"model": "mixture", "parts": (PLAIN, WIDE)},
        {"model": "mixture", "parts": (PLAIN, NARROW)},
    )
    assert differences(parts) == [
        "part 2 view = raw",
        "part 2 view = sublinear:10, part 2 diagonal_view = raw",
    ]
    assert differences(({"model": "bm25"}, PLAIN)) == [
        "model = bm25",
        "model = tfidf, view = sublinear",
    ]


def test_goes_on_from_a_model_that_is_one_of_its_parts(task):
    (start,) = alone(task, NARROW)
    chosen = BestOf((PLAIN, NARROW)).fit(task, np.random.default_rng(4), start=start)
    assert chosen.model in (start.model, TfIdf("sublinear"))
    with pytest.raises(UnfitStart, match="expected one of"):
        BestOf((PLAIN, WIDE)).fit(task, np.random.default_rng(4), start=start)


def test_goes_on_from_the_checkpoints_of_its_parts(task, tmp_path):
    seen = []
    once = BestOf((WIDE, NARROW)).fit(
        task,
        np.random.default_rng(3),
        checkpoint=tmp_path / "state",
        watch=lambda step, metrics: seen.extend(metrics),
    )
    again = BestOf((WIDE, NARROW)).fit(
        task, np.random.default_rng(3), checkpoint=tmp_path / "state"
    )
    assert {name.split("/")[1] for name in seen} == {"part_1", "part_2"}
    assert {path.name for path in (tmp_path / "state").iterdir()} == {"part_1", "part_2"}
    assert again.model == once.model
    np.testing.assert_array_equal(again.arrays["U"], once.arrays["U"])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((PLAIN,), "1 models; a choice has 2 or more"),
        ((PLAIN, {"model": "none"}), "no model 'none'"),
        ((PLAIN, {"model": "best_of", "parts": (PLAIN, PLAIN)}), "no model 'best_of'"),
    ],
)
def test_other_parts_are_refused(parts, message):
    with pytest.raises(ValueError, match=message):
        BestOf(parts)


def test_a_choice_is_no_part_of_a_mixture():
    with pytest.raises(ValueError, match="no model 'best_of'"):
        Mixture((PLAIN, {"model": "best_of", "parts": (PLAIN, WIDE)}))


def test_a_row_of_parts_has_the_defaults_of_their_models():
    row = {"label": "best", "model": "best_of", "parts": [{"model": "bilinear"}, {"model": "bm25"}]}
    table = {"name": "t", "title": "t", "rows": [row], "defaults": {"bilinear": {"dimensions": 7}}}
    assert parse_table(table).rows[0].ranker().models() == (Bilinear(dimensions=7), Bm25())
