"""Objectives beside the model's own, within one language: one diagonal, the same two maps."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.ranking import Validator
from ssi_core.models import load_model
from ssi_core.models.base import FitOptions
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bilinear.low_rank import further
from ssi_core.models.bilinear.multi_task import MultiTask
from ssi_core.models.bilinear.training import MapTraining
from ssi_core.models.combined.best_of import BestOf
from ssi_core.tasks.task import build_task, open_task
from ssi_core.training.descend import SAMPLERS
from ssi_core.training.sgd import by_weight, excluded
from ssi_core.types import Inapplicable
from tests.corpora import topical, write_named
from tests.kernels.test_sweep import naive_splitmix

pytestmark = pytest.mark.trains

SMALL = dict(
    dimensions=8,
    rates=(0.1,),
    epoch=500,
    budget=4000,
    margin=0.3,
    view="sublinear:10",
    diagonal_view="raw",
)
DOCUMENTS, SUBJECTS = 200, 8


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    """Task of links with all kinds of names beside it, and that of anchors, of one collection.

    The words of anchors are those of other subjects; a wording of the test is trained nowhere.
    """
    path = tmp_path_factory.mktemp("auxiliary")
    texts, links = topical(DOCUMENTS)
    texts = [
        f"{text} alias{(i + 3) % SUBJECTS} alias{i % 5} one two three four"
        for i, text in enumerate(texts)
    ]
    anchors = [
        (f"d{a}", f"d{b}", f"alias{b % SUBJECTS} {number} {b}", 1.0)
        for a, b in links
        for number in ("one", "two", "three", "four")
    ]
    titles = [f"{text.split()[2]} page {i}" for i, text in enumerate(texts)]
    write_named(path / "collection", titles, texts, anchors, links=links)
    views = ("raw", "sublinear:10")
    kinds = ("anchors", "titles", "words:3")
    build_task(path / "collection", path / "link", views=views, query_draws=2, auxiliary=kinds)
    build_task(path / "collection", path / "anchors", views=views, relevant="anchor")
    return {name: open_task(path / name) for name in ("link", "anchors")}


def begun(task, model):
    names = [objective.task for (objective,) in model.groups()[1:]]
    settings = {"rate": 0.1, "margin": 0.3, "init_std": 0.1, "alpha": 2.0}
    others = {name: task.auxiliary[name] for name in names}
    return MapTraining(model, task, others, 5, FitOptions()).begin(settings)


def test_a_name_alone_has_the_maps_of_the_model():
    short = MultiTask(**SMALL, auxiliary=("titles", {"task": "words:3", "weight": 0.5}))
    whole = MultiTask(
        **SMALL,
        auxiliary=(
            {"task": "titles", "query": "U_F", "document": "V_E"},
            {"task": "words:3", "query": "U_F", "document": "V_E", "weight": 0.5},
        ),
    )
    assert short.groups() == whole.groups()
    own = MultiTask(**SMALL, auxiliary=({"task": "titles", "query": "U_T"},))
    assert own.groups()[1][0].term[:2] == ("U_T", "V_E")


@pytest.mark.parametrize("diagonal", ["identity", "alpha", "learned"])
def test_all_objectives_share_the_diagonal(diagonal, tasks):
    model = MultiTask(**SMALL, diagonal=diagonal, auxiliary=("titles", "words:3"))
    groups = list(begun(tasks["link"], model).groups.values())
    assert len({id(group.parameters.diagonal) for group in groups}) == 1
    assert len({group.kernels.diagonal for group in groups}) == 1
    assert groups[1].data.diagonal_queries is not groups[1].data.queries


def test_queries_in_other_words_are_learnt_without_the_diagonal(tasks):
    """What a query in another language is of; its columns only look the same."""
    task = tasks["link"]
    other = task.auxiliary["titles"]

    class Foreign:
        space = "another"

    views = dict.fromkeys(other.queries.views, Foreign())
    foreign = dataclasses.replace(other, queries=dataclasses.replace(other.queries, views=views))
    task = dataclasses.replace(task, auxiliary=task.auxiliary | {"foreign": foreign})
    auxiliary = ("titles", {"task": "foreign", "query": "U_T"})
    model = MultiTask(**SMALL, diagonal="learned", auxiliary=auxiliary)
    training = begun(task, model)
    diagonals = [group.kernels.diagonal for group in training.groups.values()]
    assert diagonals == ["weights", "weights", "none"]
    assert training.sweep(20)["train/foreign_hinge"] > 0


@pytest.mark.parametrize("diagonal", ["alpha", "learned"])
def test_steps_agree_with_the_naive_twin(diagonal, tasks):
    """A step of each objective in its turn, in dense float64, of W and of the diagonal."""
    task = tasks["link"]
    auxiliary = ("titles", {"task": "anchors", "weight": 0.5})
    rates = {"alpha_rate": 0.05} if diagonal == "alpha" else {"diagonal_rate": 0.4}
    model = MultiTask(**SMALL, diagonal=diagonal, auxiliary=auxiliary, **rates)
    training = begun(task, model)
    parameters = training.parameters
    U, V = (np.array(array[:, :8], np.float64) for array in (parameters.U, parameters.V))
    D = np.array(parameters.diagonal, np.float64)
    turns = []
    for number, (one, weight) in enumerate(
        [(task, 1.0), (task.auxiliary["titles"], 1.0), (task.auxiliary["anchors"], 0.5)]
    ):
        matrices = [
            side.matrix(view).toarray().astype(np.float64)
            for view in ("sublinear:10", "raw")
            for side in (one.queries, one.documents)
        ]
        state = int(training.arrays[SAMPLERS][0, number, 0])
        turns.append([by_weight(one.train), excluded(one).toarray(), *matrices, weight, state])
    training.sweep(120)
    steps = [0, 0, 0]
    for _ in range(120):
        for number, turn in enumerate(turns):
            pairs, never, queries, documents, raw_queries, raw_documents, weight, state = turn
            state, z = naive_splitmix(state)
            q, p = pairs[((z >> 32) * len(pairs)) >> 32]
            while True:
                state, z = naive_splitmix(state)
                n = ((z >> 32) * len(documents)) >> 32
                if not never[q, n]:
                    break
            turn[-1] = state
            difference = documents[p] - documents[n]
            same = raw_queries[q] * (raw_documents[p] - raw_documents[n])
            a, b = U.T @ queries[q], V.T @ difference
            if 0.3 - a @ b - (D * same).sum() > 0:
                of_U, of_V = np.outer(queries[q], b), np.outer(difference, a)
                U += 0.1 * weight * of_U
                V += 0.1 * weight * of_V
                if diagonal == "alpha":
                    D += 0.05 * weight * same.sum()
                else:
                    D += 0.1 * 0.4 * weight * same
                steps[number] += 1
    assert min(steps) > 5
    np.testing.assert_allclose(parameters.U[:, :8], U, atol=1e-4)
    np.testing.assert_allclose(parameters.V[:, :8], V, atol=1e-4)
    np.testing.assert_allclose(parameters.diagonal, D, atol=1e-4)


def test_links_learnt_beside_anchors_find_what_only_anchors_say(tasks, tmp_path):
    """Asked are anchors whose wordings nothing has trained."""
    few = SMALL | {"diagonal": "none"}
    alone = Bilinear(**few).fit(tasks["link"], np.random.default_rng(0))
    beside = MultiTask(**few, auxiliary=("anchors",))
    both = beside.fit(tasks["link"], np.random.default_rng(0))
    losses = {
        asked: [evaluate(fit, tasks[asked], tuples=0).means["rank_loss"] for fit in (alone, both)]
        for asked in ("anchors", "link")
    }
    assert losses["anchors"][1] < losses["anchors"][0] / 2
    assert losses["link"][1] < losses["link"][0] + 0.01
    both.save(tmp_path)
    assert load_model(tmp_path).model == beside


def test_validation_of_the_queries_that_are_asked_chooses_the_mix(tasks):
    """Anchors are asked: to learn from them beside links is chosen, of links another way."""
    task = tasks["anchors"]
    links = dataclasses.replace(tasks["link"], auxiliary={})
    task = dataclasses.replace(task, auxiliary={"link": links})
    few = SMALL | {"diagonal": "identity", "pairs": 0.2}
    parts = tuple(
        {"model": "multi_task", "auxiliary": auxiliary, **few}
        for auxiliary in (({"task": "link", "weight": 1e-6},), ("link",))
    )
    fit = BestOf(parts).fit(task, np.random.default_rng(3))
    losses = fit.facts["rank_loss_by_part"]
    validator = Validator(task, "valid", 500)
    assert validator.rank_loss(fit) == pytest.approx(min(losses))
    assert losses[0] != losses[1]
    assert fit.model.auxiliary == parts[int(np.argmin(losses))]["auxiliary"]
    assert "auxiliary = " in fit.facts["choice"]


@pytest.mark.parametrize(("train", "valid"), [(0, 0), (0, 3), (3, 0)])
def test_a_task_beside_needs_pairs_to_learn_from_and_to_validate_on(train, valid):
    other = SimpleNamespace(train=range(train), valid=range(valid))
    task = SimpleNamespace(path="links", auxiliary={"titles": other})
    with pytest.raises(Inapplicable, match=f"{train} pairs to learn from and {valid} to validate"):
        further(task, "auxiliary", "titles")
