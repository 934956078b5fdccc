"""Correlated feature hashing: a rare word counts as the k frequent words that it goes with.

The view ``X Phi`` (Bai et al. 2010, section 2.2.3, in the reading of Algorithm 1 of the conference
paper): column j of ``Phi`` collects the words i that have j among their k best matches by DICE,
each with weight ``1 / sqrt(k)``, so that ``q' Phi W Phi' d`` is 1 / k of the sum over all k * k
pairs of bins. The *other words* are hashed, those beyond the F most frequent ones, which are the
bins; rows have norm 1 over the whole vocabulary first and are not brought to unit length again.
N-grams are hashed as they are; their rows have norm 1 by themselves.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy import sparse

from ssi_core import files, store
from ssi_core.arrays import ArraySpec, ArraySpecs, check_arrays, load_array
from ssi_core.types import BadInput, Float32, TextMatrix
from ssi_core.views import phrases, rewriting
from ssi_core.views import text_view as views
from ssi_core.views.dice import Matches
from ssi_core.views.names import COUNTS
from ssi_core.views.ngrams import Ngrams, load_ngrams
from ssi_core.views.phrases import PhraseView
from ssi_core.views.rewriting import Rewriting, RewrittenView
from ssi_core.views.text_view import TextView
from ssi_core.views.weighting import Weighting, weigh

_NAME = re.compile(
    r"cfh:k=([1-9]\d*),words=([1-9]\d*),ngrams=([1-9](?:\+[1-9])*)(?:,weighting=(.+))?", re.ASCII
)

_RAW = Weighting("raw")


@dataclass(frozen=True)
class Hashing:
    """View of hashed words, spelled ``cfh:k=K,words=F,ngrams=N[+N...][,weighting=W]``.

    Attributes
    ----------
    k : int
        Bins of a word.
    words : int
        F, the most frequent words, which are the bins.
    ngrams : tuple of int
        1 for words (those beyond the F most frequent), 2 for runs of two words, ...
    weighting : Weighting
        Weighting of the rows that are hashed; the default is "raw".
    """

    k: int
    words: int
    ngrams: tuple[int, ...]
    weighting: Weighting = _RAW

    def __str__(self) -> str:
        weighting = "" if self.weighting == _RAW else f",weighting={self.weighting}"
        ngrams = "+".join(map(str, self.ngrams))
        return f"cfh:k={self.k},words={self.words},ngrams={ngrams}{weighting}"

    @classmethod
    def parse(cls, name: str) -> Hashing:
        """Read a name; ValueError says how one is written.

        >>> str(Hashing.parse("cfh:k=5,words=30000,ngrams=1+2").weighting)
        'raw'
        """
        match = _NAME.fullmatch(name)
        if match is not None:
            k, words, ngrams, weighting = match.groups()
            numbers = tuple(map(int, ngrams.split("+")))
            hashing = cls(int(k), int(words), numbers, Weighting.parse(weighting or "raw"))
            plain = hashing.weighting.kind != COUNTS and hashing.weighting.words is None
            if str(hashing) == name and plain and _rises(numbers):
                return hashing
        raise ValueError(
            f"view={name!r}: expected 'cfh:k=5,words=30000,ngrams=1' (2 for runs of two words, 1+2 "
            "for both), and where rows are not 'raw' their weighting after it, such as "
            "',weighting=sublinear:100'"
        )


def _rises(numbers: Sequence[int]) -> bool:
    return all(a < b for a, b in pairwise(numbers))


def parse_view(name: str) -> Weighting | Hashing | Rewriting:
    """Read the name of any view; ValueError says how one is written."""
    before, dot, _ = name.partition(".")
    if dot and before.isalpha():
        return Rewriting.parse(name)
    return Hashing.parse(name) if name.startswith("cfh:") else Weighting.parse(name)


@dataclass(frozen=True, eq=False)
class HashedView:
    """Rows of hashed words, one column per frequent word (implements `types.View`).

    Attributes
    ----------
    hashing : Hashing
        `Hashing`, whose spelling is the name of the view.
    base : TextView
        The view of all words.
    idf : mapping
        n -> float32, of the words (1) and the n-grams.
    matches : mapping
        n -> `Matches`: of the words from the F-th on (1), and of the n-grams.
    ngrams : mapping
        n -> `Ngrams`, for n > 1.
    """

    hashing: Hashing
    base: TextView
    idf: Mapping[int, Float32]
    matches: Mapping[int, Matches]
    ngrams: Mapping[int, Ngrams]

    @property
    def name(self) -> str:
        """The `Hashing` as it is written."""
        return str(self.hashing)

    @property
    def language(self) -> str:
        """Language of the texts."""
        return self.base.language

    @cached_property
    def space(self) -> str:
        """Digest of what the columns mean: the words, and what is hashed where."""
        digest = hashlib.sha256(f"{self.base.space} {self.name}".encode())
        for n in self.hashing.ngrams:
            digest.update(self.matches[n].bins.tobytes())
        for ngrams in self.ngrams.values():
            for keys in ngrams.levels:
                digest.update(keys.tobytes())
        return digest.hexdigest()[:16]

    @property
    def words(self) -> Sequence[str]:
        """The frequent words, which are the bins."""
        return self.base.words[: self.hashing.words]

    @cached_property
    def _maps(self) -> dict[int, TextMatrix]:
        return {n: feature_map(self.matches[n], len(self.words)) for n in self.hashing.ngrams}

    def hashed(self, counts: Mapping[int, TextMatrix]) -> TextMatrix:
        """Hash rows of counts.

        Parameters
        ----------
        counts : mapping
            n -> CSR, of all words for 1, of the n-grams for others; an n that the view hashes and
            that is not there counts as nothing.

        Returns
        -------
        CSR float32 (n, F), sorted indices
        """
        shape = next(iter(counts.values())).shape[0], len(self.words)
        total: TextMatrix = sparse.csr_array(shape, dtype=np.float32)  # type: ignore[assignment]
        for n in self.hashing.ngrams:
            if n in counts:
                rows = weigh(counts[n], self.idf[n], self.hashing.weighting)
                first = len(self.words) if n == 1 else 0
                total = total + rows[:, first:] @ self._maps[n]
        total.sort_indices()
        return total

    def transform(self, texts: Sequence[str]) -> TextMatrix:
        """Return the rows of raw texts, as a task has them.

        Returns
        -------
        CSR float32 (len(texts), F)
        """
        counts = {1: self.base.named(COUNTS).transform(texts)}
        for n, ngrams in self.ngrams.items():
            none = sparse.csr_array((0, len(ngrams)), dtype=np.float32)
            encoded = (text.encode(errors="replace") for text in texts)
            blocks = [ngrams.count(words, ends) for words, ends in self.base.in_order(encoded)]
            counts[n] = sparse.vstack([none, *blocks], format="csr")
        return self.hashed(counts)

    def save(self, directory: Path) -> None:
        """Write ``view.json``, the words, and for each n what is matched with which bins."""
        self.base.save(directory / "words")
        for n, matches in self.matches.items():
            part = directory / f"hashed-{n}"
            part.mkdir(parents=True, exist_ok=True)
            np.save(part / "bins.npy", matches.bins, allow_pickle=False)
            np.save(part / "dice.npy", matches.values, allow_pickle=False)
            if n > 1:
                np.save(part / "idf.npy", self.idf[n], allow_pickle=False)
                self.ngrams[n].save(part)
        store.write_json(directory / "view.json", {"name": self.name, "space": self.space})


def feature_map(matches: Matches, width: int) -> TextMatrix:
    """Return ``Phi``: CSR float32 (items, width), k entries of ``1 / sqrt(k)`` a row.

    A row has fewer where an item meets fewer than k words.
    """
    items, k = matches.bins.shape
    matched = matches.bins >= 0
    indptr = np.concatenate([[0], np.cumsum(matched.sum(axis=1))])
    columns = matches.bins[matched]
    data = np.full(len(columns), 1 / math.sqrt(k), np.float32)
    phi = sparse.csr_array((data, columns, indptr), shape=(items, width))
    phi.sort_indices()
    return phi


def load_view(directory: Path) -> TextView | HashedView | RewrittenView | PhraseView:
    """Load a saved view of any kind; `BadInput` if it is damaged or of another tokenizer."""
    if (directory / phrases.MANIFEST).exists():
        return phrases.load_view(directory)
    if (directory / rewriting.REWRITING).exists():
        return rewriting.load_view(directory)
    if not (directory / "words").is_dir():
        return views.load_view(directory)
    file = directory / "view.json"
    base = views.load_view(directory / "words")
    manifest = files.read_object(file, views.AGAIN)
    with files.reading(file, views.AGAIN):
        view = _load_hashed(directory, Hashing.parse(manifest["name"]), base)
        if view.space == manifest["space"]:
            return view
    raise BadInput(f"{file}: its bins were changed. {views.AGAIN}")


def _array_specs(hashing: Hashing, items: int, n: int) -> ArraySpecs:
    shape = (items, hashing.k)
    specs = {
        "bins": ArraySpec("int32", shape, least=-1, most=hashing.words - 1),
        "dice": ArraySpec("float32", shape, least=0, most=1),
    }
    return specs if n == 1 else specs | {"idf": ArraySpec("float32", (items,), least=0)}


def _load_hashed(directory: Path, hashing: Hashing, base: TextView) -> HashedView:
    idf, matches, ngrams = {}, {}, {}
    for n in hashing.ngrams:
        part = directory / f"hashed-{n}"
        bins, values = (load_array(part / f"{name}.npy") for name in ("bins", "dice"))
        matches[n] = Matches(bins, values)
        items = len(base.words) - hashing.words
        arrays = {"bins": bins, "dice": values}
        if n > 1:
            ngrams[n] = load_ngrams(part, n)
            items = len(ngrams[n])
            idf[n] = arrays["idf"] = load_array(part / "idf.npy", mapped=False)
        check_arrays(_array_specs(hashing, items, n), arrays, part, views.AGAIN)
    return HashedView(hashing, base, {1: base.idf, **idf}, matches, ngrams)
