"""The sum of two fitted models, and the row of the paper that is one."""

import numpy as np
import pytest

from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.ranking import Validator
from ssi_core.experiment import parse_table
from ssi_core.models import MODELS
from ssi_core.models.combined.mixture import Mixture
from ssi_core.serving.explain import explain_pair
from ssi_core.serving.neighbours import neighbours
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput
from tests.scores import all_scores

pytestmark = pytest.mark.trains

HASHED = "cfh:k=3,words=60,ngrams=1"
SMALL = {"rates": (0.1,), "epoch": 500, "budget": 1500, "margin": 0.3}
FIRST = {"model": "bilinear", "view": "raw", "dimensions": 8, **SMALL}
SECOND = {"model": "bilinear", "view": HASHED, "diagonal": "none", "dimensions": 4, **SMALL}


@pytest.fixture(scope="module")
def task(tmp_path_factory, corpus_dir):
    out = tmp_path_factory.mktemp("mixture") / "task"
    build_task(corpus_dir, out, words="all", views=("raw", HASHED))
    return open_task(out)


@pytest.fixture(scope="module")
def mixture(task):
    return Mixture((FIRST, SECOND), betas=(0.0, 0.5, 2.0)).fit(task, np.random.default_rng(3))


def alone(task, *parts):
    """The parts as models of their own, trained one after the other."""
    rng = np.random.default_rng(3)
    built = [MODELS[p["model"]](**{k: v for k, v in p.items() if k != "model"}) for p in parts]
    return [model.fit(task, rng) for model in built]


def test_is_the_sum_of_models_trained_alone(task, mixture):
    first, second = alone(task, FIRST, SECOND)
    expected = all_scores(first, task) + mixture.facts["beta"] * all_scores(second, task)
    np.testing.assert_allclose(all_scores(mixture, task), expected, rtol=1e-4, atol=1e-6)
    assert mixture.facts["parts"][0]["triples"] == first.facts["triples"]


def test_beta_has_the_lowest_validation_rank_loss_of_its_grid(task, mixture):
    first, second = alone(task, FIRST, SECOND)
    validator = Validator(task, "valid", 500)
    one, other = validator.scores(first), validator.scores(second)
    losses = [validator.rank_loss_of(one + np.float32(b) * other) for b in (0.0, 0.5, 2.0)]
    assert mixture.facts["beta"] == (0.0, 0.5, 2.0)[int(np.argmin(losses))]
    assert list(mixture.facts["rank_loss_by_beta"].values()) == pytest.approx(losses)
    assert float(mixture.arrays["beta"][0]) == mixture.facts["beta"]


@pytest.mark.parametrize(
    "parts",
    [
        ({"model": "tfidf"}, {"model": "bm25"}),
        ({"model": "lsi", "dimensions": 4}, FIRST),
        ({"model": "tfidf"}, {"model": "word_pairs", "view": HASHED, "form": "hashed",
                              "buckets": 5000, "diagonal": "none", **SMALL}),
    ],
    ids=["sparse and sparse", "dense and both", "a map of queries"],
)  # fmt: skip
def test_adds_any_two_models(task, parts):
    mixture = Mixture(parts, betas=(0.7,)).fit(task, np.random.default_rng(3))
    first, second = (all_scores(fit, task) for fit in alone(task, *parts))
    np.testing.assert_allclose(
        all_scores(mixture, task), first + 0.7 * second, rtol=1e-4, atol=1e-5
    )


def test_starts_where_another_ended(task, mixture):
    model = Mixture((FIRST | {"budget": 1, "epoch": 1}, SECOND | {"budget": 1, "epoch": 1}))
    again = model.fit(task, np.random.default_rng(5), start=mixture)
    for name in ("part_1_U", "part_2_V"):
        np.testing.assert_array_equal(again.arrays[name], mixture.arrays[name])
    with pytest.raises(ValueError, match=r"expected a mixture"):
        model.fit(task, np.random.default_rng(5), start=alone(task, FIRST)[0])


def test_curves_and_checkpoints_are_those_of_the_parts(task, tmp_path):
    seen = set()
    model = Mixture((FIRST, SECOND), betas=(1.0,))
    model.fit(
        task,
        np.random.default_rng(3),
        watch=lambda step, found: seen.update(found),
        checkpoint=tmp_path / "state",
    )
    assert {name.split("/")[1] for name in seen} == {"part_1", "part_2"}
    assert "val/part_1/rank_loss" in seen
    assert {path.name for path in (tmp_path / "state").iterdir()} == {"part_1", "part_2"}


def test_a_score_is_explained_by_words_of_both(task, mixture):
    found = explain_pair(
        mixture, task.queries.take(slice(0, 1)), task.documents.take(slice(8, 9)), 40
    )
    assert found.score == pytest.approx(all_scores(mixture, task)[0, 8], rel=1e-4, abs=1e-6)
    assert found.score == pytest.approx(sum(p.part for p in found.parts) + found.rest)
    if mixture.facts["beta"]:
        # A prime marks a word of the second model.
        assert any(part.query_word.endswith("′") for part in found.parts)


def test_relates_a_word_to_words_of_both_models(mixture):
    word = mixture.query_views[HASHED].words[40]
    found = neighbours(mixture, word, 500)
    words = [n.word for n in found]
    assert {"boats1", "birds1"} & {*words}
    # As people write them, and once, though the vectors of both parts have them.
    assert not any(one.endswith("′") for one in words)
    assert len(words) == len({*words})
    assert word not in words
    assert all(abs(n.score) <= 1 + 1e-5 for n in found)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"parts": (FIRST,)}, "a mixture has 2"),
        ({"parts": (FIRST, SECOND, SECOND)}, "a mixture has 2"),
        ({"parts": ({"model": "tfid"}, FIRST)}, "no model 'tfid'. Did you mean 'tfidf'"),
        ({"parts": ({"model": "mixture"}, FIRST)}, "no model 'mixture'"),
        (
            {"parts": (FIRST | {"dimension": 3}, FIRST)},
            "no key 'dimension'. Did you mean 'dimensions'",
        ),
        ({"parts": (FIRST, FIRST), "betas": (-1.0,)}, "betas"),
        ({"parts": (FIRST, FIRST), "betas": ()}, "betas"),
        ({"parts": (FIRST, FIRST), "tune_on": "test"}, "tune_on"),
    ],
)
def test_refuses_what_is_no_mixture(arguments, said):
    with pytest.raises(ValueError, match=said):
        Mixture(**arguments)


def table(**second):
    parts = [{"model": "bilinear"}, {"model": "bilinear", "view": HASHED, "diagonal": "none"}]
    parts[1] |= second
    return parse_table(
        {
            "name": "t",
            "title": "T",
            "defaults": {"bilinear": {"dimensions": 50, "rates": [0.1]}},
            "tasks": {"all": {"words": "all"}},
            "rows": [
                {"label": "CFH", "model": "mixture", "parts": parts},
                {"label": "TF-IDF", "model": "tfidf"},
            ],
        }
    )


def test_a_row_of_a_table_names_its_parts():
    """Parts have the defaults of their model, and the task gets the views of both."""
    made = table(rates=[0.3, 0.1])
    ranker = made.row("CFH").ranker()
    assert ranker.models()[1].dimensions == 50
    assert ranker.models()[1].rates == (0.3, 0.1)
    assert made.views("all") == (HASHED, "raw")
    assert parse_table(made.to_dict()).row("CFH").ranker() == ranker


def test_a_wrong_part_of_a_row_names_its_place():
    for second, said in (
        ({"dimensions": "many"}, r"row 'CFH': part 2: dimensions='many': expected a whole number"),
        ({"dimension": 3}, r"row 'CFH': part 2: no key 'dimension'. Did you mean 'dimensions'"),
        ({"model": "bilineal"}, r"row 'CFH': part 2: no model 'bilineal'. Did you mean"),
    ):
        with pytest.raises(BadInput, match=said):
            table(**second).row("CFH").ranker()


def test_the_hashed_words_alone_rank_better_than_chance(task):
    fit = alone(task, SECOND)[0]
    assert evaluate(fit, task, tuples=500).means["rank_loss"] < 0.07
