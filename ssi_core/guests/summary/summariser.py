"""Choose the sentences of some texts that answer a query.

Source: Y. Miao, C. Li, Enhancing query-oriented summarization based on sentence wikification
(Feature Generation and Selection for Information Retrieval, SIGIR 2010 workshop).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import Field

from ssi_core import bounds
from ssi_core.guests.summary.bm25 import Bm25Space
from ssi_core.guests.summary.concepts import ConceptBase
from ssi_core.guests.summary.kernels.walk import choose_apart, walk
from ssi_core.guests.summary.sentences import sentences
from ssi_core.guests.summary.vectors import ConceptSpace, Space, WordSpace
from ssi_core.strict import check
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput, Float64, Int64

Weighting: TypeAlias = Literal["bm25", "tfidf", "graph"]
Similarity: TypeAlias = Literal["word", "concept", "matrix"]
_MOST_ITERATIONS = 1000


@dataclass(frozen=True)
class Sentence:
    """A sentence of a text.

    Attributes
    ----------
    text : str
        With one blank for a run of white space.
    document : int
        Place of its text among those that were given.
    words : tuple of str
        As the tokenizer splits it.
    """

    text: str
    document: int
    words: tuple[str, ...]


def sentences_of(texts: Sequence[str], language: str, shortest: int) -> list[Sentence]:
    """Return the sentences of texts in their order, equal ones once.

    Parameters
    ----------
    texts : sequence of str
        Plain texts.
    language : str
        Of the texts.
    shortest : int
        Words that a sentence must have; where none has as many, all are taken.
    """
    listed: dict[str, Sentence] = {}
    for document, text in enumerate(texts):
        for sentence in sentences(text):
            if sentence not in listed:
                words = tuple(tokenize(sentence, language))
                listed[sentence] = Sentence(sentence, document, words)
    long = [one for one in listed.values() if len(one.words) >= shortest]
    return long or list(listed.values())


@dataclass(frozen=True)
class Summariser:
    """Settings by which sentences are scored and chosen.

    Parameters
    ----------
    weighting : "bm25", "tfidf" or "graph"
        Score of a sentence: BM25 for the query, the default; its cosine with
        the query; or a random walk over sentences alike that the query biases (equation 1).
    similarity : "word", "concept" or "matrix"
        Words (equation 2); with concepts that are the same (4); or with related ones (5, 6).
    k1, b : float
        Saturation and length normalisation of BM25.
    alpha : float
        Weight of the concepts beside the words (7).
    bias : float
        Share of the query in the random walk (d).
    redundancy : float
        A sentence whose similarity of words with one that is chosen reaches this is left out.
    confidence : float
        Relatedness that two concepts must exceed.
    keyphrase : float
        Keyphrase probability that a phrase must have.
    shortest : int
        Words that a sentence must have.
    tolerance : float
        The walk ends when no score changes by more.
    """

    weighting: Weighting = "bm25"
    similarity: Similarity = "word"
    k1: bounds.Positive = 1.2
    b: bounds.Share = 0.75
    alpha: Annotated[float, Field(ge=0, le=1e3, allow_inf_nan=False)] = 0.5
    bias: bounds.Mixed = 0.3
    redundancy: Annotated[float, Field(gt=0, le=2, allow_inf_nan=False)] = 0.3
    confidence: bounds.Share = 0.4
    keyphrase: bounds.Share = 0.05
    shortest: Annotated[int, Field(ge=1, le=1000)] = 5
    tolerance: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 1e-5

    def __post_init__(self) -> None:
        """Refuse values outside of the bounds of their fields."""
        check(self)
        if self.weighting == "bm25" and self.similarity != "word":
            raise ValueError(
                f"similarity={self.similarity!r}: weighting='bm25' counts words alone. Take "
                "weighting='tfidf' or 'graph' with concepts."
            )

    def space(
        self, listed: Sequence[Sentence], language: str, base: ConceptBase | None = None
    ) -> Space | Bm25Space:
        """Put sentences into the space of the weighting and of the similarity.

        Raises
        ------
        BadInput
            The similarity is one of concepts, and there is no concept base, or one of another
            language.
        """
        words = [one.words for one in listed]
        if self.weighting == "bm25":
            return Bm25Space(words, language, self.k1, self.b)
        concepts = None
        if self.similarity != "word":
            if base is None:
                raise BadInput(
                    f"similarity={self.similarity!r} needs concepts. Make them of a collection "
                    "with links by 'ssi rank summary concepts', or take similarity='word'."
                )
            if base.language != language:
                raise BadInput(
                    f"the concepts are {base.language!r} and the texts {language!r}. Make concepts "
                    "of a collection in the language of the texts."
                )
            confidence = self.confidence if self.similarity == "matrix" else None
            concepts = ConceptSpace.of(base, self.keyphrase, words, confidence)
        return Space.of(WordSpace.of(words, language), concepts, self.alpha, words)

    def scores(self, space: Space | Bm25Space, query: str) -> Float64:
        """Return a score for each sentence of a space, float64 (n,).

        A query that shares nothing with any sentence gives all the same bias.
        """
        similarity = space.query(query)
        if isinstance(space, Bm25Space) or self.weighting == "tfidf":
            return similarity
        n, total = len(similarity), similarity.sum()
        bias = similarity / total if total > 0 else np.full(n, 1 / max(n, 1))
        scores = np.full(n, 1 / max(n, 1))
        rows: Any = space.rows
        walk(
            rows.indptr, rows.indices, rows.data, bias, self.bias, self.tolerance,
            _MOST_ITERATIONS, np.empty(rows.shape[1]), np.empty(n), scores,
        )  # fmt: skip
        return scores

    def answer(
        self,
        listed: Sequence[Sentence],
        query: str,
        words: int,
        language: str,
        base: ConceptBase | None = None,
    ) -> tuple[list[int], Float64]:
        """Return the places of the sentences that answer a query, ascending, and all scores.

        Sentences that share nothing with the query are left out, unless none shares anything.

        Parameters
        ----------
        listed : sequence of Sentence
            Sentences to choose from.
        query : str
            What is asked.
        words : int
            Words at most, unless the only sentence has more.
        language : str
            Of the sentences.
        base : ConceptBase, optional
            Concepts.
        """
        if not listed:
            return [], np.zeros(0)
        space = self.space(listed, language, base)
        scores = self.scores(space, query)
        shares = (scores if self.weighting != "graph" else space.query(query)) > 0
        wanted = np.where(shares, scores, -np.inf) if shares.any() else scores
        return sorted(self.choose(listed, space, wanted, words)), scores

    def shares(
        self,
        listed: Sequence[Sentence],
        query: str,
        language: str,
        base: ConceptBase | None = None,
    ) -> bool:
        """Tell whether any sentence shares something with a query; see `answer`."""
        if not listed:
            return False
        return bool((self.space(listed, language, base).query(query) > 0).any())

    def choose(
        self,
        listed: Sequence[Sentence],
        space: Space | Bm25Space,
        scores: Float64,
        words: int,
        *,
        fitting: bool = True,
    ) -> list[int]:
        """Return the places of the best sentences that are not alike, the best first.

        Parameters
        ----------
        listed : sequence of Sentence
            All sentences.
        space : Space or Bm25Space
            Their rows.
        scores : float64 (n,)
            Their scores; of those that are equal but for rounding the first counts, and none of
            ``-inf`` is chosen.
        words : int
            Length of the summary.
        fitting : bool
            True: sentences that do not fit into what is left are passed over, and where none
            fits the best one is taken; False: sentences are taken until the length is reached.
        """
        largest = np.abs(scores[np.isfinite(scores)]).max(initial=0.0)
        order: Int64 = np.argsort(-np.round(scores / (largest or 1.0), 9), kind="stable")
        order = order[np.isfinite(scores[order])]
        lengths = np.array([len(one.words) for one in listed], np.int64)
        chosen = np.empty(len(order), np.int64)
        plain: Any = space.compared(scores)
        count = choose_apart(
            plain.indptr, plain.indices, plain.data, order, lengths, words, self.redundancy,
            fitting, chosen,
        )  # fmt: skip
        best: list[int] = (chosen[:count] if count else order[:1]).tolist()
        return best


def summariser_for(base: ConceptBase | None, **settings: Any) -> Summariser:
    """Return a summariser that takes related concepts by default, where there are concepts.

    Parameters
    ----------
    base : ConceptBase or None
        Concepts; their default is a random walk, since BM25 has none.
    **settings
        Fields of `Summariser`.
    """
    default = {} if base is None else {"weighting": "graph", "similarity": "matrix"}
    return Summariser(**default | settings)


def summariser_of(base: ConceptBase | None, settings: Mapping[str, Any]) -> Summariser:
    """Return the summariser of some settings; see `summariser_for`."""
    try:
        return summariser_for(base, **settings)
    except TypeError as error:
        raise BadInput(f"{error}. The settings are the fields of Summariser.") from None
