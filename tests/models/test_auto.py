"""A choice of validation whether to learn, and how."""

import dataclasses
import json

import numpy as np
import pytest

from ssi_core.models import Bilinear, Mixture, MultiTask
from ssi_core.models.auto import KNOWN, Auto
from ssi_core.models.base import UnfitStart
from ssi_core.tasks.task import open_task
from ssi_core.types import Pairs

pytestmark = pytest.mark.trains

SMALL = Auto(
    dimensions=8, configurations=4, first=500, budget=6_000, view=("sublinear:10",),
    diagonal_view=("raw",), margin=(0.3,), rates=(0.1, 0.03), alpha=(1.0,), negatives_power=(0.0,),
)  # fmt: skip


def shifted(task, by):
    """The task whose pairs lead to documents so many further on: of another subject than before."""
    n = len(task.documents)

    def moved(pairs):
        rows = np.column_stack([pairs.rows[:, 0], (pairs.rows[:, 1] + by) % n])
        return Pairs.of(rows[rows[:, 0] != rows[:, 1]])

    return dataclasses.replace(task, train=moved(task.train), valid=moved(task.valid))


@pytest.fixture(scope="module")
def same_words(task_dir):
    """Documents link to those with the same words: there is nothing to learn."""
    return open_task(task_dir)


@pytest.fixture(scope="module")
def task(same_words):
    """Documents link to those of the next subject, with which they share no telling word."""
    return shifted(same_words, 1)


@pytest.fixture(scope="module")
def fit(task):
    return SMALL.fit(task, np.random.default_rng(0))


def test_what_links_teach_is_taken(fit):
    assert isinstance(fit.model, Bilinear | Mixture)
    found = fit.facts["auto"]
    assert found["p"] < 0.05
    assert "better" in found["reason"]
    assert fit.facts["choice"]


def test_rounds_are_a_third_of_those_before_with_three_times_the_triples(fit):
    trials = fit.facts["auto"]["trials"]
    of_rounds = [[one for one in trials if one["round"] == i] for i in range(2)]
    assert [len(one) for one in of_rounds] == [4, 1]
    assert [one["triples"] for one in of_rounds[0]] == [500] * 4
    best = max(of_rounds[0], key=lambda one: one["mean"])
    assert of_rounds[1][0]["settings"] == best["settings"]
    total = sum(one["triples"] for one in trials)
    assert fit.facts["auto"]["triples"] == total <= SMALL.budget


def test_where_links_teach_nothing_the_best_untrained_model_is_kept(same_words):
    fit = SMALL.fit(same_words, np.random.default_rng(0))
    found = fit.facts["auto"]
    assert "U" not in fit.arrays
    assert found["p"] >= 0.05
    assert "no trained model is better" in found["reason"]
    best = max(found["untrained"], key=lambda one: one["mean"])
    assert fit.facts["choice"] == best["model"]


def test_trials_are_kept_as_json(fit):
    trials = fit.facts["auto"]["trials"]
    assert json.loads(json.dumps(trials)) == trials


def test_a_start_is_of_one_model(task, fit):
    with pytest.raises(UnfitStart, match="auto"):
        SMALL.fit(task, np.random.default_rng(0), start=fit)


@pytest.mark.parametrize(("budget", "begun"), [(6_000, 4), (7_100, 4), (3_200, 2), (300, 1)])
def test_no_more_triples_than_the_budget_are_drawn(task, budget, begun):
    little = dataclasses.replace(SMALL, budget=budget)
    found = little.fit(task, np.random.default_rng(0)).facts["auto"]
    assert [one["round"] for one in found["trials"]].count(0) == begun
    assert found["triples"] <= budget
    assert found["triples"] == sum(one["triples"] for one in found["trials"])


def test_other_kinds_of_queries_are_learnt_beside_by_every_second_training(task):
    wide = dataclasses.replace(task, auxiliary={"titles": task})
    settings = SMALL.settings(wide, 0)
    besides = ["beside" in one for one in settings]
    assert any(besides)
    assert not all(besides)
    trained = SMALL.trained(next(one for one in settings if "beside" in one))
    assert isinstance(trained, MultiTask)
    assert trained.beside == ("titles",)
    assert not any("beside" in one for one in SMALL.settings(task, 0))


def test_of_two_vocabularies_the_choice_is_among_models_that_need_no_common_word(mates_task_dirs):
    mates = open_task(mates_task_dirs["mate"])
    little = dataclasses.replace(SMALL, measure="mrr", view=("sublinear",), first=200)
    fit = little.fit(mates, np.random.default_rng(0))
    found = fit.facts["auto"]
    names = {one["model"].split()[0] for one in found["untrained"]}
    assert "cl_lsi" in names
    assert "lsi_mixture" not in names
    kinds = {one["settings"].get("model", "bilinear") for one in found["trials"]}
    assert kinds == {"softmax", "bilinear"}
    assert fit.facts["choice"].split()[0] in {"tfidf", "cl_lsi", "softmax", "bilinear", "mixture"}


def test_clicks_against_what_was_shown_are_tried_once_in_each_way(task):
    shown = dataclasses.replace(task, train=dataclasses.replace(task.train, weighing="shown"))
    wide = dataclasses.replace(SMALL, configurations=100, negatives_power=(0.5, 0.0, 1.0))
    settings = [json.dumps(one) for one in wide.settings(shown, 0)]
    assert len(set(settings)) == len(settings) < len(wide.settings(task, 0))
    assert all(json.loads(one)["negatives_power"] == 0.0 for one in settings)


def test_settings_that_are_known_to_be_sound_are_always_begun_with(task):
    found = [Auto(configurations=3).settings(task, seed) for seed in (0, 1)]
    for settings in found:
        assert len(settings) == 3
        assert settings[1] == {**KNOWN, "stop_by": "map"}
    assert found[0][0] == found[1][0]
    assert found[0][2] != found[1][2]


@pytest.mark.parametrize(
    "kind",
    [{}, {"form": "zero"}, {"beside": ("titles",)}],
    ids=["low rank", "a diagonal alone", "objectives beside"],
)
def test_the_winner_with_warp_goes_on_without_it(task, monkeypatch, kind):
    settings = {"diagonal": "learned", "diagonal_view": "raw", "margin": 0.3, "negatives": 5}
    view = {} if "form" in kind else {"view": "sublinear:10"}
    warp = {**settings, **view, **kind, "warp": True, "rates": (0.03,), "stop_by": "map"}
    monkeypatch.setattr(Auto, "settings", lambda *_: [dict(warp)])
    wide = dataclasses.replace(task, auxiliary={"titles": task})
    trials = SMALL.fit(wide, np.random.default_rng(0)).facts["auto"]["trials"]
    assert [trial["settings"]["warp"] for trial in trials] == [True, True, False]
    assert trials[-1]["settings"]["rates"] == [0.12]
    assert [trial["round"] for trial in trials] == [0, 1, 2]
