"""Topics and translations in one likelihood: at its ends it is one of the two models."""

from dataclasses import replace

import numpy as np
import pytest

from ssi_core.guests.clickthrough.topic_model import TopicModel
from ssi_core.guests.clickthrough.topics_and_translations import TopicsAndTranslations
from ssi_core.guests.clickthrough.translation_model import TranslationModel
from ssi_core.models.combined.parts import fitted_parts
from ssi_core.scoring.scorer import Scorer
from tests.models.test_cost import hold

pytestmark = pytest.mark.trains
PARTS = (
    {"model": "topic_model", "topics": 4, "passes": 2},
    {"model": "translation_model", "passes": 2, "least": 0.0},
)


@pytest.fixture(scope="module")
def both(task):
    return TopicsAndTranslations(PARTS).fit(task, np.random.default_rng(0))


def scores(fitted, task):
    texts = task.queries.take(np.arange(5)), task.documents.take(np.arange(40))
    queries, documents = (
        fitted.model.vectors(fitted, one, side)
        for one, side in zip(texts, ("query", "document"), strict=True)
    )
    return Scorer(documents).score(queries)


def weighed(fitted, *weights):
    return replace(fitted, arrays={**fitted.arrays, "mixed": np.array(weights)})


def alone(fitted, number, *weights):
    part = fitted_parts(fitted)[number]
    return replace(part, arrays={**part.arrays, "weights": np.array(weights)})


@pytest.mark.parametrize(("number", "translated"), [(0, 0.0), (1, 1.0)])
@pytest.mark.parametrize("unigram", [0.0, 0.4])
def test_its_ends_are_the_two_models(both, task, number, translated, unigram):
    ours = scores(weighed(both, 0.2, unigram, translated), task)
    np.testing.assert_allclose(
        ours, scores(alone(both, number, 0.2, unigram), task), rtol=1e-4, atol=1e-4
    )
    assert np.ptp(ours) > 1


def test_a_chance_is_the_mixture_of_both_chances(both, task):
    """By one word at a time: what stands in the logarithm is mixed, not the logarithms."""
    ours = scores(weighed(both, 0.2, 0.4, 0.25), task)
    texts = task.queries.take(np.arange(5)), task.documents.take(np.arange(40))
    counts = texts[0].matrix("counts").toarray().astype(np.float64)
    topics, words = (alone(both, number, 0.2, 0.4) for number in (0, 1))
    theirs = topics.model.vectors(topics, texts[1], "document")
    phi = topics.model.vectors(topics, texts[0], "query").topics.astype(np.float64)
    of_topics = theirs.sparse.toarray() + theirs.dense @ phi.T
    of_words = np.expm1(words.model.vectors(words, texts[1], "document").sparse.toarray())
    expected = counts @ np.log1p(0.75 * of_topics + 0.25 * of_words).T
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-4)


def test_validation_chooses_among_all_weights(both):
    assert len(list(both.model.variants(both))) == 3 * 1 * 5
    chosen = [both.facts[name] for name in ("background", "unigram", "translated")]
    assert chosen == both.arrays["mixed"].tolist()


def test_it_has_topics_and_translations_and_nothing_else():
    with pytest.raises(ValueError, match="expected topic_model and translation_model"):
        TopicsAndTranslations(PARTS[::-1])
    assert {*TopicsAndTranslations(PARTS).kinds()} == {
        TopicsAndTranslations,
        TopicModel,
        TranslationModel,
    }


def test_estimates_are_those_of_the_file(task):
    hold("ssi_core.guests.clickthrough", task)
