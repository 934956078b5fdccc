from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ssi_core.serving.neighbours import by_chance, cosines, dice_neighbours, neighbours
from ssi_core.tasks.task import open_task
from ssi_core.types import BadInput
from ssi_core.views.text_view import TextView
from tests.serving.models import WORDS, random_models


@pytest.mark.parametrize("which", [3, 4, 6, 7, 11, 12])
def test_neighbours_have_the_largest_cosine(which):
    fitted = random_models(1)[which]
    names = ("U", "V", "topics")
    maps = [fitted.arrays[name].astype(float) for name in names if name in fitted.arrays]
    u, v = maps[0], maps[-1]
    s = WORDS.index("moon")
    u, v = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (u, v))
    cosines = (u @ u[s] + v @ v[s]) / 2
    expected = [WORDS[t] for t in np.argsort(-cosines) if t != s]
    found = neighbours(fitted, "moon", k=5)
    assert [n.word for n in found] == expected[:5]
    assert [n.score for n in found] == pytest.approx(
        [cosines[WORDS.index(n.word)] for n in found], abs=1e-6
    )


def test_across_two_vocabularies_a_query_word_is_compared_with_document_words():
    fitted = next(m for m in random_models(1) if {"U", "V"} <= set(m.arrays))
    foreign = {
        name: TextView("de", view.words, view.statistics, view.weighting)
        for name, view in fitted.document_views.items()
    }
    crossed = dataclasses.replace(fitted, document_views=foreign)
    u, v = fitted.arrays["U"].astype(float)[WORDS.index("moon")], fitted.arrays["V"].astype(float)
    cosines = v @ u / (np.linalg.norm(v, axis=1) * np.linalg.norm(u))
    best = neighbours(crossed, "moon", k=1)[0]
    others = np.delete(cosines, WORDS.index("moon"))
    assert best.score == pytest.approx(others.max())


def test_what_random_vectors_reach_depends_on_words_numbers_and_sides():
    one, two = (random_models(1)[which] for which in (6, 7))
    n, rng = len(WORDS), np.random.default_rng(0)
    assert by_chance(one) == pytest.approx(np.sqrt(2 * np.log(n) / 3))
    assert by_chance(two) == pytest.approx(np.sqrt(np.log(n) / 3))
    beside = {name: np.hstack([side, 0 * side]) for name, side in two.arrays.items()}  # as in a sum
    assert by_chance(dataclasses.replace(two, arrays=beside)) == pytest.approx(by_chance(two))
    assert by_chance(random_models(1)[0]) == 0

    vectors = rng.normal(size=(30, 2000, 64)).astype(np.float32)
    nearest = [cosines(some[:1], some[1:]).max() for some in vectors]
    bound = np.sqrt(2 * np.log(2000) / 64)
    assert 0.8 * bound < np.mean(nearest) < bound


def test_more_neighbours_than_words_are_all_of_them():
    assert len(neighbours(random_models(1)[3], "Moon", k=100)) == len(WORDS) - 1


@pytest.mark.parametrize("which", [0, 1, 2, 5, 8, 9, 10])
def test_a_model_without_vectors_of_words_relates_none(which):
    with pytest.raises(BadInput, match="equal words only"):
        neighbours(random_models(1)[which], "moon")


def test_an_unknown_word_has_no_neighbours():
    for which in (3, 11):
        with pytest.raises(BadInput, match="'unheard' is not a word"):
            neighbours(random_models(1)[which], "unheard")


def test_dice_neighbours_are_those_of_the_definition(task_dir):
    task = open_task(task_dir)
    counts = task.documents.matrix("counts").toarray() > 0
    words = list(task.documents.views["counts"].words)
    i = words.index("music3")
    together = (counts & counts[:, [i]]).sum(axis=0)
    dice = 2 * together / (counts.sum(axis=0) + counts[:, i].sum())
    expected = [j for j in np.lexsort((np.arange(50), -dice[:50])) if j != i][:7]
    found = dice_neighbours(task, "Music3", k=7, frequent=50)
    assert [n.word for n in found] == [words[j] for j in expected]
    assert [n.score for n in found] == pytest.approx([dice[j] for j in expected])


def test_a_task_without_runs_says_how_to_get_them(task_dir):
    with pytest.raises(BadInput, match=r"no runs of 2 words.*ngrams=2"):
        dice_neighbours(open_task(task_dir), "music3 music4")
