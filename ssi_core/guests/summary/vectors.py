"""Sentences and queries as rows whose inner product is their similarity.

A row is the words of a sentence, and behind them its concepts times the root of alpha. Each of the
two parts has unit length, or is zero, so that the inner product of two rows is equation (7) of Miao
and Li (2010): ``wordsim + alpha * conceptsim``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ssi_core.guests.summary.concepts import ConceptBase
from ssi_core.guests.summary.relatedness import relatedness
from ssi_core.kernels.sparse import unit_rows
from ssi_core.text.stems import ENGLISH
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import Float64, Int64

_FORMS = "did does doing don didn doesn isn aren wasn weren hasn haven hadn won wouldn"
_CUT = "shouldn couldn ll ve re s t m d"
STOP_WORDS = {"en": ENGLISH.union(_FORMS.split(), _CUT.split())}
"""Language -> words that are left out of the rows; none elsewhere.

English has the 318 of scikit-learn, and forms of "do" and "not" that these lack and questions have.
"""


@dataclass(frozen=True)
class WordSpace:
    """Words of some sentences, weighed.

    Attributes
    ----------
    column : dict
        Word -> column.
    idf : float64 (words,)
        ``ln(1 + n / df)`` over the n sentences: never 0, be there one sentence alone.
    language : str
        Of the sentences.
    """

    column: dict[str, int]
    idf: Float64
    language: str

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]], language: str) -> WordSpace:
        """Take the words of sentences that are split already, but for stop words."""
        out = STOP_WORDS.get(language, frozenset())
        # Not a set, whose order differs from process to process, and with it the last bits of sums.
        each = (dict.fromkeys(words) for words in sentences)
        frequency = Counter(word for words in each for word in words if word not in out)
        column = {word: position for position, word in enumerate(frequency)}
        counts = np.array(list(frequency.values()), np.float64)
        return cls(column, np.log1p(len(sentences) / counts), language)

    def rows(self, sentences: Sequence[Sequence[str]]) -> sparse.csr_array:
        """Return rows ``tf * idf`` of unit length; words that are not known are none."""
        counts = [
            Counter(self.column[word] for word in words if word in self.column)
            for words in sentences
        ]
        rows = _rows(counts, len(self.column))
        rows.data *= self.idf[rows.indices]
        return unit(rows)


@dataclass(frozen=True)
class ConceptSpace:
    """Concepts of some sentences.

    Attributes
    ----------
    base : ConceptBase
        What finds concepts in words.
    least : float
        Keyphrase probability that a phrase must have.
    concepts : int64 (w,)
        Concepts of the sentences, ascending; a place is a column.
    confidence : float or None
        Relatedness from which on a concept lends its weight to another; None: concepts match if
        they are the same.
    """

    base: ConceptBase
    least: float
    concepts: Int64
    confidence: float | None = None

    @classmethod
    def of(
        cls,
        base: ConceptBase,
        least: float,
        sentences: Sequence[Sequence[str]],
        confidence: float | None = None,
    ) -> ConceptSpace:
        """Take the concepts of sentences that are split already."""
        every = {concept for words in sentences for concept in base.wikify(words, least)}
        return cls(base, least, np.array(sorted(every), np.int64), confidence)

    def rows(self, sentences: Sequence[Sequence[str]]) -> sparse.csr_array:
        """Return binary rows (equation 3), or related ones (equations 5 and 6), of unit length.

        A concept that no sentence of the space has counts by those to which it is related.
        """
        named = [self.base.wikify(words, self.least) for words in sentences]
        known = self.concepts.tolist()
        foreign = sorted({concept for one in named for concept in one}.difference(known))
        every = np.array([*known, *foreign], np.int64)
        column = {int(concept): position for position, concept in enumerate(every)}
        binary = _rows([Counter(column[one] for one in concepts) for concepts in named], len(every))
        if self.confidence is None:
            return unit(binary[:, : len(known)])
        related = relatedness(self.base.links_in, every, self.confidence)
        return unit(sparse.csr_array(binary @ related[:, : len(known)]))


@dataclass(frozen=True)
class Space:
    """Rows of some sentences, and the maps that give a query its row.

    Attributes
    ----------
    plain : CSR float64 (n, words)
        Words alone.
    rows : CSR float64 (n, columns)
        Words, and concepts behind them.
    words : WordSpace
        Map of the words.
    concepts : ConceptSpace or None
        Map of the concepts.
    alpha : float
        Weight of the concepts.
    """

    plain: sparse.csr_array
    rows: sparse.csr_array
    words: WordSpace
    concepts: ConceptSpace | None
    alpha: float

    @classmethod
    def of(
        cls,
        words: WordSpace,
        concepts: ConceptSpace | None,
        alpha: float,
        sentences: Sequence[Sequence[str]],
    ) -> Space:
        """Put sentences into a space of words, and of concepts where there is one."""
        plain = words.rows(sentences)
        rows = plain if concepts is None else _beside(plain, concepts.rows(sentences), alpha)
        return cls(plain, rows, words, concepts, alpha)

    def query(self, text: str) -> Float64:
        """Return the similarity of each sentence with a query, float64 (n,)."""
        split = [tokenize(text, self.words.language)]
        row = self.words.rows(split)
        if self.concepts is not None:
            row = _beside(row, self.concepts.rows(split), self.alpha)
        similarity: Float64 = (self.rows @ row.T).toarray()[:, 0]
        return similarity

    def compared(self, scores: Float64) -> sparse.csr_array:
        """Return rows of words by which sentences are alike, whatever their scores."""
        return self.plain


def unit(rows: sparse.csr_array) -> sparse.csr_array:
    """Return rows of unit length with ascending columns; a row of zeros stays."""
    rows.sum_duplicates()
    start = rows.indptr.astype(np.int64)
    data = rows.data.astype(np.float64)
    unit_rows(start, data)
    return sparse.csr_array((data, rows.indices.astype(np.int32), start), shape=rows.shape)


def _rows(counts: Sequence[Counter[int]], columns: int) -> sparse.csr_array:
    indptr, indices, data = [0], list[int](), list[int]()
    for row in counts:
        indices += row.keys()
        data += row.values()
        indptr.append(len(indices))
    values = np.array(data, np.float64), np.array(indices, np.int32), np.array(indptr, np.int64)
    rows = sparse.csr_array(values, shape=(len(counts), columns))
    rows.sort_indices()
    return rows


def _beside(words: sparse.csr_array, concepts: sparse.csr_array, alpha: float) -> sparse.csr_array:
    both = sparse.csr_array(sparse.hstack([words, concepts * np.sqrt(alpha)], format="csr"))
    start, indices = both.indptr.astype(np.int64), both.indices.astype(np.int32)
    return sparse.csr_array((both.data, indices, start), shape=both.shape)
