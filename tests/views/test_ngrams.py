"""N-grams against a dictionary of tuples."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from ssi_core.text.tokenizer import tokenize
from ssi_core.views.lexicon import Lexicon
from ssi_core.views.ngrams import count_ngrams, load_ngrams

# A letter that is taken apart when it is normalised, so that one chunk is two words.
LETTERS = [*"abcdefg", "café", "x½y"]


def words_of(levels, number):
    """Numbers of the words of an n-gram, which is two overlapping shorter ones."""
    if not levels:
        return (number,)
    first, second = divmod(int(levels[-1][number]), 1 << 32)
    return (*words_of(levels[:-1], first), words_of(levels[:-1], second)[-1])


@pytest.fixture(scope="module", params=["en", "ja"])
def texts(request):
    rng = np.random.default_rng(11)
    letters = LETTERS if request.param == "en" else ["東京都", "タワー", "の", "大阪", "x"]
    return request.param, [" ".join(rng.choice(letters, rng.integers(0, 30))) for _ in range(60)]


class Read:
    """Texts as a reader of n-grams sees them, in blocks."""

    def __init__(self, language, texts):
        self.lexicon = Lexicon(language)
        self.tokens = [tokenize(text, language) for text in texts]
        self.raw = [text.encode() for text in texts]
        self.words, self.ends = self.lexicon.in_order(self.raw)
        self.names = self.lexicon.words(np.arange(len(self.lexicon))).to_list()

    def blocks(self):
        for first in range(0, len(self.raw), 7):
            yield self.lexicon.in_order(self.raw[first : first + 7])

    def frequency(self, documents):
        found = Counter()
        for tokens, counted in zip(self.tokens, documents, strict=True):
            found.update(set(tokens) if counted else ())
        return np.array([found[name] for name in self.names])

    def runs(self, n):
        """The runs of each text, as tuples of words."""
        return [
            [tuple(tokens[at : at + n]) for at in range(len(tokens) - n + 1)]
            for tokens in self.tokens
        ]


def test_words_come_in_their_order(texts):
    read = Read(*texts)
    spelled = [read.names[word] for word in read.words]
    assert spelled == [word for tokens in read.tokens for word in tokens]
    assert read.ends.tolist() == np.cumsum([len(tokens) for tokens in read.tokens]).tolist()


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("memory", [1 << 30, 600])
def test_equals_a_dictionary_whatever_the_memory(texts, n, memory):
    read = Read(*texts)
    documents = np.arange(60) % 3 > 0
    found, frequency, facts = count_ngrams(
        read.blocks, n, words=read.frequency(documents), documents=documents, memory=memory
    )
    counted = Counter()
    for runs, one in zip(read.runs(n), documents, strict=True):
        counted.update(set(runs) if one else ())
    spelled = [tuple(read.names[w] for w in words_of(found.levels, i)) for i in range(len(found))]
    kept = {run: times for run, times in counted.items() if times >= 5}
    assert len(kept) > 3
    assert dict(zip(spelled, frequency.tolist(), strict=True)) == kept
    assert all(a >= b for a, b in pairwise(frequency))
    assert facts["left_out"] == 0
    assert (facts["readings"] == n - 1) == (memory == 1 << 30)
    counts = found.count(read.words, read.ends)
    assert counts.has_sorted_indices
    for row, runs in enumerate(read.runs(n)):
        bag = counts[[row]]
        told = {spelled[i]: c for i, c in zip(bag.indices, bag.data, strict=True)}
        assert told == {run: c for run, c in Counter(runs).items() if run in kept}


def test_memory_changes_nothing_and_most_keeps_those_in_the_most_documents(texts):
    read = Read(*texts)
    documents = np.ones(60, np.bool_)
    how = {"words": read.frequency(documents), "documents": documents}
    all_of, frequency, _ = count_ngrams(read.blocks, 2, **how)
    few, _, facts = count_ngrams(read.blocks, 2, **how, most=7, memory=700)
    assert few.levels[0].tolist() == all_of.levels[0][:7].tolist()
    assert facts["left_out"] == len(all_of) - 7
    assert frequency[:7].min() >= frequency[7:].max()


def test_finds_a_run_and_survives_a_file(texts, tmp_path):
    read = Read(*texts)
    documents = np.ones(60, np.bool_)
    found, _, _ = count_ngrams(read.blocks, 3, words=read.frequency(documents), documents=documents)
    found.save(tmp_path)
    loaded = load_ngrams(tmp_path, 3)
    for number in range(len(found)):
        words = words_of(found.levels, number)
        assert len(words) == 3
        assert loaded.find(words) == number
    assert loaded.find(words[:2]) == -1


def test_a_run_stays_in_its_text():
    read = Read("en", ["a b", "c d"] * 5)
    documents = np.ones(10, np.bool_)
    found, frequency, _ = count_ngrams(
        read.blocks, 2, words=read.frequency(documents), documents=documents
    )
    spelled = {tuple(read.names[w] for w in words_of(found.levels, i)) for i in range(len(found))}
    assert spelled == {("a", "b"), ("c", "d")}
    assert frequency.tolist() == [5, 5]


def test_an_unknown_word_ends_a_run():
    read = Read("en", ["a b c"] * 5)
    words, ends = read.words.copy(), read.ends
    words[words == read.names.index("b")] = -1
    documents = np.ones(5, np.bool_)
    found, _, _ = count_ngrams(
        lambda: [(words, ends)], 2, words=read.frequency(documents), documents=documents
    )
    assert len(found) == 0
    assert found.count(words, ends).shape == (5, 0)


def test_words_are_counted_elsewhere():
    with pytest.raises(ValueError, match=r"n=1"):
        count_ngrams(list, 1, words=np.zeros(0, np.int64), documents=np.zeros(0, np.bool_))
