"""What a task is made with, beside its corpus or mates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ssi_core.features.hashing import Hashing, parse_view
from ssi_core.features.rewriting import Rewriting
from ssi_core.features.tfidf import COUNTS, Weighting

JUDGED_SPLITS = ("queries", "given")
SPLITS = ("links", "documents", *JUDGED_SPLITS)
HELD_OUT = ("split", "both")
RELEVANT = ("link", "mate")
CLICK_SPLITS = ("pairs", "sessions", "time")
VOCABULARIES = ("one", "two")

DRAWN = 10_000
"""Candidates that the paper draws of a large corpus, for links."""


def pool_size(pool: int | None, split: str) -> int:
    """Return how many documents are drawn as candidates; 0: every document is one.

    Parameters
    ----------
    pool : what was asked for; None: `DRAWN` for links, mates and clicks, 0 for judgements
    split : of the task; those of `JUDGED_SPLITS` are of judgements
    """
    if pool is not None:
        return pool
    return 0 if split in JUDGED_SPLITS else DRAWN


@dataclass(frozen=True)
class Settings:
    """What a task is made with, beside the corpus; its fields are the artefact's configuration.

    Attributes
    ----------
    words : size of the vocabulary; None: every word
    split : "links": each link is on a side of its own. "documents": each document is; test queries
        and their candidates are test documents, no link of theirs is trained on, and vocabulary
        and idf come from the others. "queries": the judged queries of a collection are in five
        folds. "given": they are on the sides that the publisher has fixed; see `judged`
    views : names, `Weighting` or `Hashing`; "counts" is added
    split_seed : key of the hash that gives the sides
    pool : documents drawn as candidates of every query, if there are more; 0: all documents
    cold : share of the documents that training never sees: every link of theirs is for testing.
        With split "links"
    query_words : a query is so many random words of its document; None: all of it
    query_draws : with ``query_words``: queries that are drawn of a document for training
    held_out : "split": what the split holds out is tested. "both": of the links between test
        documents of a split by documents, those that a split by links holds out, too; the other
        links between two test documents are no candidates. Both splits, of one seed, then test the
        same queries with the same candidates and answers, and train as they do by themselves
    """

    words: int | None
    split: str
    views: tuple[str, ...]
    split_seed: int
    pool: int
    cold: float
    query_words: int | None
    query_draws: int
    held_out: str = "split"

    def __post_init__(self) -> None:
        if self.words is not None and self.words < 1:
            raise ValueError(f"words={self.words}: expected a number >= 1, or None for all")
        if self.split not in SPLITS:
            raise ValueError(f"split={self.split!r}: expected one of {', '.join(SPLITS)}")
        if self.pool < 0:
            raise ValueError(f"pool={self.pool}: expected a number of documents, or 0 for all")
        if not 0 <= self.cold < 1:
            raise ValueError(f"cold={self.cold}: expected a share, at least 0 and below 1")
        if self.cold and (self.split != "links" or self.query_words is not None):
            raise ValueError(
                f"cold={self.cold}: expected split='links' and queries that are documents"
            )
        if self.held_out not in HELD_OUT:
            raise ValueError(f"held_out={self.held_out!r}: expected one of {', '.join(HELD_OUT)}")
        plain = self.split not in JUDGED_SPLITS and not self.cold and self.query_words is None
        if self.held_out == "both" and not plain:
            raise ValueError(
                "held_out='both': expected split='links' or 'documents', and queries that are "
                "documents, none of them cold"
            )
        if self.query_words is not None and self.query_words < 1:
            raise ValueError(f"query_words={self.query_words}: expected a number >= 1, or None")
        if self.query_draws < 1:
            raise ValueError(f"query_draws={self.query_draws}: expected a number >= 1")
        judged = self.split in JUDGED_SPLITS
        if judged and self.query_words is not None:
            raise ValueError(f"query_words={self.query_words}: split={self.split!r} has its own")
        parsed = [parse_view(name) for name in self.views]
        if any(isinstance(view, Rewriting) for view in parsed):
            raise ValueError("views: only queries in another language are rewritten (--mates)")
        if judged and any(isinstance(view, Hashing) for view in parsed):
            raise ValueError(
                f"views: with split={self.split!r} they are of words, and none is hashed"
            )
        names = {str(view) for view in parsed} - {COUNTS}
        object.__setattr__(self, "views", (COUNTS, *sorted(names)))

    def configuration(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self.__dict__, "views": list(self.views)}


@dataclass(frozen=True)
class MatesSettings:
    """What a task is made with, beside the mates; see `Settings`.

    Attributes
    ----------
    relevant : "link" or "mate"
    words : size of the vocabulary of each side; None: every word
    views : names, `Weighting` or `Rewriting`; "counts" is added
    split_seed : key of the hash that gives the sides
    pool : documents drawn as candidates of every query, if there are more; 0: all documents
    translated : digest of the given translations of queries; None: none are given
    """

    relevant: str
    words: int | None
    views: tuple[str, ...]
    split_seed: int
    pool: int
    translated: str | None = None

    def __post_init__(self) -> None:
        if self.relevant not in RELEVANT:
            raise ValueError(f"relevant={self.relevant!r}: expected one of {', '.join(RELEVANT)}")
        if self.words is not None and self.words < 1:
            raise ValueError(f"words={self.words}: expected a number >= 1, or None for all")
        if self.pool < 0:
            raise ValueError(f"pool={self.pool}: expected a number of documents, or 0 for all")
        parsed = [parse_view(name) for name in self.views]
        if any(isinstance(view, Hashing) for view in parsed):
            raise ValueError("views: between two languages they are of words, and none is hashed")
        names = {str(view) for view in parsed} - {COUNTS}
        object.__setattr__(self, "views", (COUNTS, *sorted(names)))

    @property
    def rewritings(self) -> list[Rewriting]:
        """Views of rewritten queries."""
        return [v for v in map(parse_view, self.views) if isinstance(v, Rewriting)]

    @property
    def weightings(self) -> list[Weighting]:
        """Views of words, but for the counts; those behind a rewriting, too."""
        parsed = [parse_view(name) for name in self.views]
        plain = {v.weighting if isinstance(v, Rewriting) else v for v in parsed}
        words = {str(v): v for v in plain if isinstance(v, Weighting)}
        return [words[name] for name in sorted(set(words) - {COUNTS})]

    def configuration(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self.__dict__, "views": list(self.views), "split": "articles"}


@dataclass(frozen=True)
class ClicksSettings:
    """What a task is made with, beside the clicks; see `clicks` and `Settings`.

    Attributes
    ----------
    words : size of the vocabulary, or of each of two; None: every word
    split : "pairs", "sessions" or "time"
    views : names of `Weighting`; "counts" is added
    split_seed : key of the hash that gives the sides
    pool : documents drawn as candidates of every query, if there are more; 0: all documents
    vocabularies : "one" for both sides, or "two"
    goal : a query is a page and the page that its visitor looks for
    """

    words: int | None
    split: str
    views: tuple[str, ...]
    split_seed: int
    pool: int
    vocabularies: str
    goal: bool

    def __post_init__(self) -> None:
        if self.words is not None and self.words < 1:
            raise ValueError(f"words={self.words}: expected a number >= 1, or None for all")
        for name, known in (("split", CLICK_SPLITS), ("vocabularies", VOCABULARIES)):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name}={getattr(self, name)!r}: expected one of {', '.join(known)}"
                )
        if self.pool < 0:
            raise ValueError(f"pool={self.pool}: expected a number of documents, or 0 for all")
        if self.goal and self.vocabularies == "two":
            raise ValueError("goal=True: expected vocabularies='one', pages are on both sides")
        parsed = [parse_view(name) for name in self.views]
        if not all(isinstance(view, Weighting) for view in parsed):
            raise ValueError("views: of clicks they are of words, and none is hashed or rewritten")
        names = {str(view) for view in parsed} - {COUNTS}
        object.__setattr__(self, "views", (COUNTS, *sorted(names)))

    def configuration(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self.__dict__, "views": list(self.views)}
