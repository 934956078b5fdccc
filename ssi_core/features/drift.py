"""What changed between two corpora, and whether the new one may be trained on.

A corpus that lost half of its documents, or whose words are no longer known, comes from a broken
input more often than from the world; a model of it should not be trained at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

import numpy as np
import polars as pl

from ssi_core import files, store
from ssi_core.features.reading import INGEST, parts_of
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput, Int64

SAMPLE = 2000
"""Documents of a corpus whose words are counted."""


@dataclass(frozen=True)
class Profile:
    """What is known of a corpus without a model.

    Attributes
    ----------
    documents, links : counts
    empty : share of the documents without a word, of the sample
    words : median of the words of a document, of the sample
    unknown : share of the words of the sample that a vocabulary lacks; None: none was given
    languages : code -> share of the documents
    """

    documents: int
    links: int
    empty: float
    words: float
    unknown: float | None
    languages: Mapping[str, float] = field(default_factory=dict)

    def numbers(self) -> dict[str, float]:
        """As metrics: name -> number."""
        plain = {k: v for k, v in asdict(self).items() if k != "languages" and v is not None}
        return plain | {f"language_{code}": share for code, share in self.languages.items()}


@dataclass(frozen=True)
class Limits:
    """What stops a training.

    Attributes
    ----------
    size : documents, and links, as a share of those before, at least
    words : factor by which the median length of a document changes, at most
    unknown : share by which more words than before are unknown to the champion, at most
    empty : share of documents without a word, at most
    languages : share of the documents that change their language, at most
    """

    size: float = 0.7
    words: float = 2.0
    unknown: float = 0.1
    empty: float = 0.2
    languages: float = 0.1

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            low, high = (1, np.inf) if one.name == "words" else (0, 1)
            if not low <= value <= high:
                raise ValueError(f"{one.name}={value}, expected from {low} to {high}")


def profile(
    corpus: Path, vocabulary: Sequence[str] | None = None, *, sample: int = SAMPLE, seed: int = 0
) -> Profile:
    """Look at a corpus: its size, languages, and the words of a sample of it.

    Parameters
    ----------
    corpus : directory of an ingestion
    vocabulary : words that the champion knows
    sample : documents whose words are counted
    seed : of the sample
    """
    made = store.read(Path(corpus), "corpus")
    parts = parts_of(made.path, "documents")
    languages = files.read_strings(parts, "language", remedy=INGEST)["language"].fill_null("")
    n = len(languages)
    if n == 0:
        raise BadInput(f"{corpus}: the corpus has no documents. {INGEST}")
    chosen = np.sort(np.random.default_rng(seed).permutation(n)[:sample])
    words = [
        tokenize(text, language)
        for text, language in zip(_texts(parts, chosen), languages.gather(chosen), strict=True)
    ]
    lengths = np.array([len(own) for own in words])
    shares = languages.value_counts(sort=True)
    return Profile(
        documents=n,
        links=int(made.counts.get("links", 0)),
        empty=float(np.mean(lengths == 0)),
        words=float(np.median(lengths)),
        unknown=None if vocabulary is None else _unknown(words, frozenset(vocabulary)),
        languages={str(code): count / n for code, count in shares.iter_rows()},
    )


def _texts(parts: Sequence[Path], chosen: Int64) -> pl.Series:
    """Texts of some rows of a corpus; one part of it is held at a time."""
    found, first = [], 0
    for part in parts:
        text = files.read_strings([part], "text", remedy=INGEST)["text"]
        found.append(text.gather(chosen[(chosen >= first) & (chosen < first + len(text))] - first))
        first += len(text)
    return pl.concat(found)


def _unknown(words: Sequence[Sequence[str]], known: frozenset[str]) -> float:
    total = sum(len(own) for own in words)
    return sum(word not in known for own in words for word in own) / max(1, total)


def problems(new: Profile, old: Profile | None, limits: Limits | None = None) -> list[str]:
    """Say what speaks against a training on a corpus; an empty list: nothing.

    Parameters
    ----------
    new : the corpus
    old : the one before; None: there is none to compare with
    limits : what is too much
    """
    limits = limits or Limits()
    found = []
    if new.empty > limits.empty:
        found.append(f"{new.empty:.0%} of the documents have no word, at most {limits.empty:.0%}")
    if old is None:
        return found
    if new.unknown is not None and new.unknown - (old.unknown or 0.0) > limits.unknown:
        found.append(
            f"the champion does not know {new.unknown:.0%} of the words, {old.unknown or 0:.0%} "
            f"before, at most {limits.unknown:.0%} more"
        )
    for what in ("documents", "links"):
        now, before = getattr(new, what), getattr(old, what)
        if now < limits.size * before:
            found.append(
                f"{now:,} {what}, {now / before:.0%} of the {before:,} before, at least "
                f"{limits.size:.0%}"
            )
    factor = max(new.words, old.words, 1.0) / max(1.0, min(new.words, old.words))
    if factor > limits.words:
        found.append(
            f"the median document has {new.words:.0f} words, {old.words:.0f} before, a factor of "
            f"at most {limits.words:g}"
        )
    moved = moved_languages(new, old)
    if moved > limits.languages:
        found.append(
            f"{moved:.0%} of the documents are in another language than before, at most "
            f"{limits.languages:.0%}"
        )
    return found


def moved_languages(new: Profile, old: Profile) -> float:
    """Return half the sum of the differences of shares: 0 for the same mix, 1 for another one."""
    codes = {*new.languages, *old.languages}
    return sum(abs(new.languages.get(c, 0) - old.languages.get(c, 0)) for c in codes) / 2
