"""A choice of validation whether to learn, and how."""

import dataclasses
import json

import numpy as np
import pytest

from ssi_core.models.base import FitOptions, UnfitStart
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bilinear.multi_task import MultiTask
from ssi_core.models.choice.auto import KNOWN, Auto
from ssi_core.models.choice.untrained import strongest
from ssi_core.models.combined.mixture import Mixture
from ssi_core.selection.validation_halves import ValidationHalves
from ssi_core.tasks.task import open_task
from ssi_core.types import Pairs

pytestmark = pytest.mark.trains

SMALL = Auto(
    dimensions=8,
    first=300,
    budget=6_000,
    view=("sublinear:10",),
    diagonal_view=("raw", "sublinear"),
    margin=(0.3,),
    rates=(0.1, 0.03),
    alpha=(1.0,),
    negatives_power=(0.0,),
)


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


def test_a_third_goes_on_with_three_times_the_triples_and_one_of_two_kinds_to_its_end(fit):
    trials = fit.facts["auto"]["trials"]
    rounds = [[one for one in trials if one["round"] == i] for i in range(4)]
    begun = [one["settings"] for one in rounds[0]]
    assert len(begun) == 6  # four steps, a view, an alpha or W = D: as many as a third has room for
    assert {one["triples"] for one in rounds[0]} == {300}
    best = sorted(rounds[0], key=lambda one: -one["mean"])[:2]
    going = [one["settings"] for one in rounds[1]]
    assert going[:2] == [one["settings"] for one in best]
    assert all(one["triples"] == (600 if one["settings"] in begun else 900) for one in rounds[1])
    for view in ("raw", "sublinear"):
        of_kind = [one for one in rounds[1] if one["settings"]["diagonal_view"] == view]
        leader = max(of_kind, key=lambda one: one["mean"])
        (finished,) = [one for one in rounds[2] if one["settings"]["diagonal_view"] == view]
        assert finished["settings"] == leader["settings"]
    total = sum(one["triples"] for one in trials)
    assert fit.facts["auto"]["triples"] == total <= SMALL.budget


def test_where_links_teach_nothing_the_best_untrained_model_is_kept(same_words):
    fit = SMALL.fit(same_words, np.random.default_rng(0))
    found = fit.facts["auto"]
    assert "U" not in fit.arrays
    assert found["p"] >= 0.05
    assert "no trained model is expected to be better" in found["reason"]
    best = max(found["untrained"], key=lambda one: one["mean"])
    assert fit.facts["choice"] == best["model"]


def test_a_curve_has_all_trainings_one_after_the_other(task):
    points = []
    fit = SMALL.fit(task, np.random.default_rng(0), watch=lambda *point: points.append(point))
    steps = [step for step, _ in points]
    assert steps == sorted(set(steps))
    assert steps[-1] == fit.facts["auto"]["triples"]
    assert all("val/map_error" in metrics for _, metrics in points)


def test_trials_are_kept_as_json(fit):
    trials = fit.facts["auto"]["trials"]
    assert json.loads(json.dumps(trials)) == trials


def test_a_start_is_of_one_model(task, fit):
    with pytest.raises(UnfitStart, match="auto"):
        SMALL.fit(task, np.random.default_rng(0), start=fit)


@pytest.mark.parametrize(("budget", "begun"), [(6_000, 6), (4_600, 5), (2_000, 2), (300, 1)])
def test_no_more_triples_than_the_budget_are_drawn(task, budget, begun):
    little = dataclasses.replace(SMALL, budget=budget)
    found = little.fit(task, np.random.default_rng(0)).facts["auto"]
    assert [one["round"] for one in found["trials"]].count(0) == begun
    assert found["triples"] <= budget
    assert found["triples"] == sum(one["triples"] for one in found["trials"])


def test_to_learn_other_kinds_of_auxiliary_queries_is_one_of_the_things_that_are_tried(task):
    wide = dataclasses.replace(task, auxiliary={"titles": task})
    (learnt,) = [settings for settings, _ in SMALL.begun(wide) if "auxiliary" in settings]
    trained = SMALL.trained(learnt)
    assert isinstance(trained, MultiTask)
    assert trained.auxiliary == ("titles",)
    assert not any("auxiliary" in settings for settings, _ in SMALL.begun(task))


def test_all_that_is_begun_can_learn_from_the_task(task, mates_task_dirs):
    auto = Auto()
    for one in (task, open_task(mates_task_dirs["mate"])):
        begun = [auto.trained(settings) for settings, _ in auto.begun(one)]
        assert len(begun) > 5
        for model in begun:
            if isinstance(model, Bilinear):
                model.check(one)


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


def test_clicks_against_what_was_shown_are_tried_with_no_draw_by_in_degree(task):
    shown = dataclasses.replace(task, train=dataclasses.replace(task.train, weighing="shown"))
    wide = dataclasses.replace(SMALL, negatives_power=(0.5, 0.0, 1.0))
    begun = [settings for settings, _ in wide.begun(shown)]
    assert len(begun) == len(wide.begun(task)) - 2
    assert all(one["negatives_power"] == 0.0 for one in begun)
    assert {wide.trained(one).against for one in begun} == {"shown"}


def test_things_are_tried_one_at_a_time_and_sound_settings_always(task):
    auto = Auto()
    begun = auto.begun(task)
    settings = [one for one, _ in begun]
    assert len({json.dumps(one) for one in settings}) == len(settings)
    first = settings[0]
    assert (first["view"], first["margin"], first["warp"]) == ("sublinear:50", 0.03, True)
    places = [place for _, place in begun if place is not None]
    assert all(sum(value > 0 for value in place) <= 1 for place in places)
    assert {**first, **KNOWN} in settings
    assert sum(one.get("form") == "zero" for one in settings) == 1
    other = dataclasses.replace(auto, margin=(0.3,))
    assert not any({**one, **KNOWN} == one for one, _ in other.begun(task))


@pytest.mark.parametrize(
    "kind",
    [{}, {"form": "zero"}, {"auxiliary": ("titles",)}],
    ids=["low rank", "a diagonal alone", "objectives beside"],
)
def test_the_winner_with_warp_goes_on_without_it(task, monkeypatch, kind):
    settings = {"diagonal": "learned", "diagonal_view": "raw", "margin": 0.3, "negatives": 5}
    view = {} if "form" in kind else {"view": "sublinear:10"}
    warp = {**settings, **view, **kind, "warp": True, "rates": (0.03,), "stop_by": "map"}
    monkeypatch.setattr(Auto, "begun", lambda *_: [(dict(warp), (0,) * 8)])
    wide = dataclasses.replace(task, auxiliary={"titles": task})
    trials = SMALL.fit(wide, np.random.default_rng(0)).facts["auto"]["trials"]
    assert [trial["settings"]["warp"] for trial in trials] == [True, True, True, False]
    assert trials[-1]["settings"]["rates"] == [0.12]
    assert [trial["round"] for trial in trials] == [0, 1, 2, 3]


@pytest.mark.parametrize("stop", [1000, 2200, 5000], ids=["begun", "going on", "at the end"])
def test_a_choice_that_is_broken_off_goes_on_to_the_same_trials_and_bits(task, fit, tmp_path, stop):
    def watch(step, _):
        if step >= stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SMALL.fit(task, np.random.default_rng(0), watch=watch, checkpoint=tmp_path)
    kept = sum(file.stat().st_size for file in tmp_path.rglob("*.npy"))
    assert kept <= SMALL.cost(task).disk <= 14 * kept
    points = []
    rng = np.random.default_rng(0)
    again = SMALL.fit(task, rng, checkpoint=tmp_path, watch=lambda step, _: points.append(step))
    assert again.facts["auto"] == fit.facts["auto"]
    assert again.arrays.keys() == fit.arrays.keys()
    assert all(np.array_equal(again.arrays[name], fit.arrays[name]) for name in fit.arrays)
    assert points == sorted(set(points))
    assert points[-1] == fit.facts["auto"]["triples"]


def test_documented_settings_are_in_the_final(task):
    documented = {"dimensions": 8, "rates": (0.1,), "epoch": 500, "budget": 4_000, "margin": 0.3,
                  "view": "sublinear", "diagonal_view": "sublinear"}  # fmt: skip
    little = dataclasses.replace(SMALL, budget=300, documented=documented)
    fit = little.fit(task, np.random.default_rng(0))
    assert fit.facts["auto"]["triples"] > little.budget
    parts = fit.model.models() if isinstance(fit.model, Mixture) else [fit.model]
    assert 4_000 in {getattr(one, "budget", 0) for one in parts}


@pytest.mark.parametrize("higher", [True, False])
def test_the_winner_of_the_trials_has_to_be_clearly_above_the_documented_settings(
    task, monkeypatch, higher
):
    monkeypatch.setattr(ValidationHalves, "is_clearly_higher", lambda *_: higher)
    documented = {"dimensions": 4, "rates": (0.1,), "epoch": 300, "budget": 300}
    little = dataclasses.replace(SMALL, budget=300, documented=documented)
    halves = little._halves(task, FitOptions())
    _, unlearned = strongest(task, little.words(task), halves, np.random.default_rng(0))
    facts = {}
    finalists = little._finalists(halves, 0, unlearned, FitOptions(), facts)
    assert len(finalists) == 1 + higher
    assert getattr(finalists[-1].model, "dimensions", 0) == 4
    assert facts["trials"]


def test_few_queries_of_validation_do_not_keep_an_untrained_model(task):
    queries = np.unique(task.valid.rows[:, 0])[:6]
    few = dataclasses.replace(task, valid=task.valid.take(np.isin(task.valid.rows[:, 0], queries)))
    fit = SMALL.fit(few, np.random.default_rng(0))
    assert "U" in fit.arrays or "part_1_U" in fit.arrays
    assert fit.facts["auto"]["queries"] == [3, 3]
