"""Data validation: the changes between two states of the data, and whether to train on the new one.

A corpus that lost half of its documents, or whose words are no longer known, comes from a broken
input more often than from the world; a model of it should not be trained at all. The documents that
are looked at are drawn by a hash of their ids: from both states the same, as far as both have them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core import files, integrity, store
from ssi_core.code import digest_of
from ssi_core.collection import CLICK, INGEST, LINK, TRANSLATION, open_collection
from ssi_core.guests.monitoring.click_rates import ClickRates, Rate, click_rates, jumps
from ssi_core.guests.monitoring.cooccurrence import (
    Counts,
    WordMap,
    count_words,
    distance,
    word_map,
)
from ssi_core.tasks.reading import texts_at
from ssi_core.tasks.split import hash_titles
from ssi_core.types import BadInput

SAMPLE = 2000
"""Documents whose words are counted."""


@dataclass(frozen=True)
class Profile:
    """Statistics of a collection that need no model.

    Attributes
    ----------
    documents, links : int
        Counts: texts of both sides, and clicked pairs, translations or links.
    empty : float
        Share of the documents without a word, of the sample.
    words : float
        Median of the words of a document, of the sample.
    unknown : float or None
        Share of the words of the sample that a vocabulary lacks; None: none was given.
    languages : mapping
        Code -> share of the documents.
    clicks : ClickRates
        Clicks per showing.
    together : WordMap or None
        Which words go together, in the sample.
    texts : str
        Digest of the texts.
    """

    documents: int
    links: int
    empty: float
    words: float
    unknown: float | None
    languages: Mapping[str, float] = field(default_factory=dict)
    clicks: ClickRates = field(default_factory=ClickRates)
    together: WordMap | None = field(default=None, compare=False, repr=False)
    texts: str = field(default="", compare=False, repr=False)

    def numbers(self) -> dict[str, float]:
        """Return the metrics: name -> number."""
        names = ("documents", "links", "empty", "words", "unknown")
        plain = {name: float(v) for name in names if (v := getattr(self, name)) is not None}
        languages = {f"language_{code}": share for code, share in self.languages.items()}
        return plain | languages | {name: rate.value for name, rate in self.clicks.rates.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values, without the map."""
        return {name: value for name, value in asdict(self).items() if name != "together"}

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> Profile:
        """Return the profile that `to_dict` wrote."""
        rates = {name: Rate(**rate) for name, rate in said["clicks"]["rates"].items()}
        return cls(**{**said, "clicks": ClickRates(rates, said["clicks"]["logs"])})


@dataclass(frozen=True)
class Limits:
    """Limits beyond which a training is stopped.

    Attributes
    ----------
    size : float
        Documents, and links, as a share of those before, at least.
    words : float
        Factor by which the median length of a document changes, at most.
    unknown : float
        Share by which more words than before are unknown to the champion, at most.
    empty : float
        Share of documents without a word, at most.
    languages : float
        Share of the documents that change their language, at most.
    map : float
        Distance of the maps of words that go together, at most; see `word_map`.
    clicks : float
        Factor by which clicks per showing change, in all or in a position, at most.
    """

    size: float = 0.7
    words: float = 2.0
    unknown: float = 0.1
    empty: float = 0.2
    languages: float = 0.1
    map: float = 0.2
    clicks: float = 2.0

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            low, high = (1, np.inf) if one.name in ("words", "clicks") else (0, 1)
            if not low <= value <= high:
                raise ValueError(f"{one.name}={value:g}, expected from {low} to {high}")


def profile(
    path: Path,
    vocabulary: Sequence[str] | None = None,
    *,
    like: Profile | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
) -> Profile:
    """Profile data: size, languages, click rates, and the words of a sample.

    Parameters
    ----------
    path : Path
        Directory of a collection.
    vocabulary : sequence of str or None
        Words that the champion knows.
    like : Profile or None
        The profile, by the same vocabulary, that this one is compared with: the map is of its
        words. Where it is of the same texts, these are not read again.
    sample : int
        Documents whose words are counted.
    seed : int
        Random seed of the sample.
    """
    source = open_collection(path)
    counted = {CLICK: "pairs", TRANSLATION: "translations"}
    names = [name for relation, name in counted.items() if relation in source.relations]
    links = int(source.artefact.counts.get((names or ["links"])[0], 0))
    parts = [part for side in source.sides for part in source.parts(side)]
    rates = click_rates(path) if CLICK in source.relations else ClickRates()
    digest = _digest(source.path, parts)
    if like is not None and like.together is not None and like.texts == digest:
        return replace(like, links=links, clicks=rates)
    texts = files.read_strings(parts, "id", "language", remedy=INGEST)
    languages, n = texts["language"].fill_null(""), len(texts)
    if n == 0:
        raise BadInput(f"{source.path}: it has no documents. {INGEST}")
    chosen = np.sort(np.argsort(hash_titles(texts["id"], seed, b"sample", "ids"))[:sample])
    counts = count_words(texts_at(parts, chosen).to_list(), languages.gather(chosen).to_list())
    lengths = counts.matrix.sum(axis=1)
    shares = languages.value_counts(sort=True)
    same = like.together.words if like is not None and like.together is not None else None
    return Profile(
        documents=n,
        links=links,
        empty=float(np.mean(lengths == 0)),
        words=float(np.median(lengths)),
        unknown=None if vocabulary is None else _unknown(counts, vocabulary),
        languages={str(code): count / n for code, count in shares.iter_rows()},
        clicks=rates,
        together=word_map(counts, same),
        texts=digest,
    )


def profile_of_same(path: Path, noted: Profile) -> tuple[Profile, Profile] | None:
    """Return a noted profile and that of data, for which no text is read; None: texts differ.

    Parameters
    ----------
    noted : Profile
        By the vocabulary that the data are to be profiled by.
    """
    like = replace(noted, together=_NO_MAP)
    source = open_collection(path)
    parts = [part for side in source.sides for part in source.parts(side)]
    return (like, profile(path, like=like)) if _digest(path, parts) == noted.texts else None


_NO_MAP = WordMap((), np.zeros((0, 0), np.float32))
"""Of the same texts; it is at no distance from itself."""


def _digest(collection: Path, parts: Sequence[Path]) -> str:
    """Return the digest of some files of a collection, by its manifest, and of what reads them."""
    known = integrity.read_manifest(collection, store.MANIFEST, INGEST)["files"]
    names = [part.relative_to(collection).as_posix() for part in parts]
    return store.key_of("texts", {}, {name: known[name][1] for name in names}, digest_of(profile))


def _unknown(counts: Counts, vocabulary: Sequence[str]) -> float:
    totals, known = counts.matrix.sum(axis=0), pl.Series(vocabulary, dtype=pl.String).implode()
    return float(totals[~counts.words.is_in(known).to_numpy()].sum() / max(1, totals.sum()))


def changed_pairs(new: Path, old: Path) -> float:
    """Return the share of the pairs that only one of two collections has, at most 1.

    For pairs A of the new and B of the old collection it is ``|A xor B| / |A|``. Pairs are clicks,
    translations or links, as in `Profile`.
    """
    now, before = _pairs(new), _pairs(old)
    common = len(np.intersect1d(now, before, assume_unique=True))
    return min(1.0, (len(now) + len(before) - 2 * common) / max(1, len(now)))


def _pairs(path: Path) -> NDArray[np.uint64]:
    """Return a hash of each pair, ascending."""
    source = open_collection(path)
    names = [name for name in (CLICK, TRANSLATION, LINK) if name in source.relations]
    both = pl.concat_str("source", "target", separator="\0")
    hashes = [frame.select(both.hash()).to_series().to_numpy() for frame in source.ends(names[0])]
    return np.unique(np.concatenate(hashes))


def problems(new: Profile, old: Profile | None, limits: Limits | None = None) -> list[str]:
    """Say what speaks against a training on a corpus; an empty list: nothing.

    Parameters
    ----------
    new : Profile
        The corpus.
    old : Profile or None
        The one before; None: there is none to compare with.
    limits : Limits or None
        What is too much.
    """
    limits = limits or Limits()
    faults = []
    if new.empty > limits.empty:
        faults.append(
            f"{new.empty:.0%} of the documents have no word, at most {limits.empty:.0%} "
            "(limit empty)"
        )
    if old is None:
        return faults
    if new.unknown is not None and new.unknown - (old.unknown or 0.0) > limits.unknown:
        faults.append(
            f"the champion does not know {new.unknown:.0%} of the words, {old.unknown or 0:.0%} "
            f"before, at most {limits.unknown:.0%} more (limit unknown)"
        )
    for what in ("documents", "links"):
        now, before = getattr(new, what), getattr(old, what)
        if now < limits.size * before:
            faults.append(
                f"{now:,} {what}, {now / before:.0%} of the {before:,} before, at least "
                f"{limits.size:.0%} (limit size)"
            )
    factor = max(new.words, old.words, 1.0) / max(1.0, min(new.words, old.words))
    if factor > limits.words:
        faults.append(
            f"the median document has {new.words:.0f} words, {old.words:.0f} before, a factor of "
            f"at most {limits.words:g} (limit words)"
        )
    moved = changes(new, old)
    if moved["languages"] > limits.languages:
        faults.append(
            f"{moved['languages']:.0%} of the documents are in another language than before, at "
            f"most {limits.languages:.0%} (limit languages)"
        )
    if moved["map"] > limits.map:
        faults.append(
            f"other words go together than before: the maps of frequent words differ by "
            f"{moved['map']:.2f}, at most {limits.map:.2f} (limit map)"
        )
    return faults + jumps(new.clicks, old.clicks, limits.clicks)


def changes(new: Profile, old: Profile) -> dict[str, float]:
    """Compare two profiles.

    Returns
    -------
    dict
        ``languages``: half the sum of the differences of shares, 0 for the same mix, 1 for another;
        ``map``: `word_map.distance`, 0 if a map is missing;
        ``click_rate``, ``click_rate_position_1``, ...: the factor between the rate of the new rows
        and the one before, if both have clicks.
    """
    codes = {*new.languages, *old.languages}
    moved = sum(abs(new.languages.get(c, 0) - old.languages.get(c, 0)) for c in codes) / 2
    maps = new.together, old.together
    apart = 0.0 if maps[0] is None or maps[1] is None else distance(maps[0], maps[1])
    rates = new.clicks.since(old.clicks).items()
    both = [(name, now, old.clicks.rates[name]) for name, now in rates if name in old.clicks.rates]
    factors = {name: now.value / was.value for name, now, was in both if now.clicks and was.clicks}
    return {"languages": moved, "map": apart, **factors}
