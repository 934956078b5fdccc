"""ROUGE against rouge-score, and against counts by hand."""

import itertools
from collections import Counter

import numpy as np
import pytest

from ssi_core.guests.summary.rouge import TITLES, rouge, words_of

WORDS = ["cat", "mat", "sat", "on", "the", "ships", "sailing", "harbours", "a", "3"]


def texts(seed, count):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(1, 12))) + "." for _ in range(count)]


def naive_su4(ours, theirs):
    """Words, and ordered pairs with a gap of four words at most, as Lin (2004) defines them."""

    def units(words):
        places = itertools.combinations(range(len(words)), 2)
        pairs = [(words[i], words[j]) for i, j in places if j - i - 1 <= 4]
        return Counter([*words, *pairs])

    one, other = units(ours), units(theirs)
    common = sum((one & other).values())
    return common / sum(one.values()), common / sum(other.values())


@pytest.mark.parametrize("stems", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_pairs_with_gaps_are_those_of_the_definition(seed, stems):
    ours, theirs = texts(seed, 3), texts(100 + seed, 2)
    expected = naive_su4(*(words_of(" ".join(side), stems) for side in (ours, theirs)))
    assert rouge(ours, theirs, stems=stems)["rougesu"][:2] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(8))
def test_words_pairs_and_subsequences_are_those_of_rouge_score(seed):
    scorers = pytest.importorskip("rouge_score.rouge_scorer")
    names = {"rouge1": "rouge1", "rouge2": "rouge2", "rougel": "rougeLsum", "rougelt": "rougeL"}
    scorer = scorers.RougeScorer(list(names.values()), use_stemmer=False)
    ours, theirs = texts(seed, 4), texts(100 + seed, 3)
    expected = scorer.score("\n".join(theirs), "\n".join(ours))
    found = rouge(ours, theirs, stems=False)
    for name, other in names.items():
        assert found[name] == pytest.approx(tuple(expected[other])), name


def test_stems_make_forms_of_a_word_one():
    plain, stemmed = (rouge(["Ships sail"], ["The ship sailed"], stems=s) for s in (False, True))
    assert plain["rouge1"].recall == 0
    assert stemmed["rouge1"] == pytest.approx((1, 2 / 3, 0.8))


def test_only_the_first_words_count():
    found = rouge(["one two three", "four five"], ["four five"], stems=False, words=4)
    assert found["rouge1"] == pytest.approx((0.25, 0.5, 1 / 3))


def test_nothing_overlaps_with_nothing():
    for pair in ([], ["a b"]), (["a b"], []), (["?"], ["!"]):
        found = rouge(*pair, stems=True)
        assert set(found) == set(TITLES)
        assert all(one == (0, 0, 0) for one in found.values())
