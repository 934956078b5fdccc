"""The score of a translation, word by word."""

import numpy as np
import pytest
from scipy import sparse

from ssi_core.guests.clickthrough.translation_model import TranslationModel
from ssi_core.models.base import FittedModel
from ssi_core.serving.explain import explain_pair
from ssi_core.serving.searcher import texts_of
from tests.serving.models import WORDS, views


def test_a_word_of_the_query_is_told_by_the_words_that_stand_for_it():
    """Translations: parts of a query word are shares of its chance, word by word of the title."""
    used, n = views("raw"), len(WORDS)
    car, automobile, engine = (WORDS.index(word) for word in ("car", "automobile", "engine"))
    table = {(automobile, car): 0.7, (automobile, automobile): 0.3, (engine, car): 0.1}
    rows = np.zeros((n, n))
    for position, chance in table.items():
        rows[position] = chance
    matrix = sparse.csr_array(rows)
    arrays = {
        "starts": matrix.indptr.astype(np.int64),
        "words": matrix.indices,
        "chances": matrix.data,
        "share": np.full(n, 1 / n),
        "weights": np.array([0.5, 0.2]),
    }
    fitted = FittedModel(TranslationModel(unseen="itself"), arrays, used, used)
    q = texts_of(["car moon"], fitted.query_views)
    d = texts_of(["automobile automobile engine moon"], fitted.document_views)
    found = explain_pair(fitted, q, d)
    parts = {(part.query_word, part.document_word): part.part for part in found.parts}
    chances = {
        ("car", "automobile"): 0.8 * 0.7 * 2 / 4,
        ("car", "engine"): 0.8 * 0.1 / 4,
        ("moon", "moon"): 1 / 4,  # which has no translation
    }
    assert set(parts) == set(chances)
    total = 0.0
    for word in ("car", "moon"):
        whole = sum(chance for (one, _), chance in chances.items() if one == word)
        score = np.log1p(whole / (1 / n))
        total += score
        for position, chance in chances.items():
            if position[0] == word:
                assert parts[position] == pytest.approx(score * chance / whole, rel=1e-5)
    assert found.score == pytest.approx(total, rel=1e-5)
    assert found.rest == pytest.approx(0)
