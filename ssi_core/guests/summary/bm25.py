"""BM25 of sentences: each is a document, and all of them are the collection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ssi_core.guests.summary.vectors import STOP_WORDS, WordSpace
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import Float64


@dataclass(frozen=True)
class Bm25Space:
    """Sentences whose similarity with a query is BM25; only words of the query are counted.

    ``sum_i idf_i (k1 + 1) s_i / (k1 (1 - b + b L(s)) + s_i)`` over the distinct words of the query
    that are no stop words, with the count ``s_i`` of a word in the sentence, L(s) the words of the
    sentence over their mean, and ``idf_i = ln(1 + (n - df_i + 0.5) / (df_i + 0.5))``.

    Attributes
    ----------
    sentences : sequence of tuple of str
        Words of each of the n sentences.
    language : str
        Of the sentences.
    k1 : float
        Saturation of counts.
    b : float
        Share of the length normalisation, 0 to 1.
    """

    sentences: Sequence[tuple[str, ...]]
    language: str
    k1: float
    b: float

    def query(self, text: str) -> Float64:
        """Return BM25 of each sentence for a query, float64 (n,); 0 where they share no word."""
        out = STOP_WORDS.get(self.language, frozenset())
        split = tokenize(text, self.language)
        column = {word: n for n, word in enumerate(dict.fromkeys(split)) if word not in out}
        counts = np.zeros((len(self.sentences), len(set(split))))
        for number, words in enumerate(self.sentences):
            if not column.keys().isdisjoint(words):
                for word in words:
                    if word in column:
                        counts[number, column[word]] += 1
        lengths = np.array([len(words) for words in self.sentences], np.float64)
        n, df = len(counts), np.count_nonzero(counts, axis=0)
        idf = np.log1p((n - df + 0.5) / (df + 0.5))
        floor = self.k1 * (1 - self.b + self.b * lengths / max(1.0, lengths.sum() / max(n, 1)))
        weights = (self.k1 + 1) * counts
        np.divide(weights, floor[:, None] + counts, out=weights, where=counts > 0)
        scores: Float64 = weights @ idf
        return scores

    def compared(self, scores: Float64) -> sparse.csr_array:
        """Return rows of words (n, words) by which sentences are alike; see `vectors.WordSpace`.

        The rows of sentences without a positive score are empty, unless no score is positive: their
        words need not be looked at.
        """
        positive = scores > 0
        if not positive.any():
            positive[:] = True
        some = [words if kept else () for words, kept in zip(self.sentences, positive, strict=True)]
        return WordSpace.of([words for words in some if words], self.language).rows(some)
