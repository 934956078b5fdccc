"""The view "phrases": words that stand near each other in the title or in a heading of a document.

A column is two words, whichever comes first, with at most two words between them in one line; it
has all such pairs of the documents that it is made for. Queries have no lines: theirs are all pairs
of their words (`PhraseView.of_words`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core import files, store
from ssi_core.arrays import ArraySpec, check_arrays, load_array, row_of
from ssi_core.text.fields import HEADINGS, TITLE, split
from ssi_core.types import BadInput, Int32, Int64, TextMatrix
from ssi_core.views import text_view
from ssi_core.views.names import PHRASES
from ssi_core.views.text_view import TextView

MANIFEST = "phrases.json"
"""File of a saved view that no other view has."""
NEAR = 3
"""Places between two words of a phrase, at most."""
BESIDE = "+"
"""What stands between them in its name."""

Keys = NDArray[np.uint64]
_KEYS = "keys"
_FEW = 32
"""Words of a query whose pairs are remembered by their number; of more they take much memory."""
_pairs = lru_cache(maxsize=_FEW)(np.triu_indices)
_HALF, _LOWER = np.uint64(32), np.uint64((1 << 32) - 1)


@dataclass(frozen=True, eq=False)
class PhraseView:
    """Counts of phrases, one column for each (implements `types.View`).

    Attributes
    ----------
    base : TextView
        View of the words.
    keys : uint64 (phrases,)
        Columns of both words, the lower one in the upper half; ascending.
    """

    base: TextView
    keys: Keys

    @property
    def name(self) -> str:
        """Name of the view."""
        return PHRASES

    @property
    def language(self) -> str:
        """Language of the texts."""
        return self.base.language

    @cached_property
    def space(self) -> str:
        """Digest of what the columns mean."""
        digest = hashlib.sha256(f"{self.base.space} {NEAR}".encode())
        digest.update(self.keys.tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def words(self) -> Sequence[str]:
        """Names of the phrases: ``get+service``."""
        words = self.base.words
        halves = (self.keys >> _HALF).tolist(), (self.keys & _LOWER).tolist()
        return [f"{words[a]}{BESIDE}{words[b]}" for a, b in zip(*halves, strict=True)]

    def transform(self, texts: Sequence[str]) -> TextMatrix:
        """Count the phrases of titles and headings, CSR float32 (len(texts), phrases)."""
        read = [name for name in (TITLE, HEADINGS) if name in self.base.fields]
        parts = map(split, texts)
        return self.count(["\n".join(part[name] for name in read) for part in parts])

    def count(self, lines: Sequence[str]) -> TextMatrix:
        """Count the phrases of texts, each of which is some lines."""
        found = [*_keys_in(self.base, lines)] or [(np.empty(0, np.int64), np.empty(0, np.uint64))]
        rows, keys = (np.concatenate(part) for part in zip(*found, strict=True))
        columns = self._columns(keys)
        known = columns >= 0
        ones = np.ones(int(known.sum()), np.float32)
        shape = len(lines), len(self.keys)
        counts = sparse.csr_array((ones, (rows[known], columns[known])), shape=shape)
        counts.sum_duplicates()
        return counts

    def of_words(self, counts: TextMatrix) -> TextMatrix:
        """Return the phrases of queries: all pairs of the words that they have.

        Each of m words has m - 1 pairs, so that a pair weighs ``1 / (m - 1)``.

        Parameters
        ----------
        counts : CSR (queries, words)
            Sorted indices.

        Returns
        -------
        CSR float32 (queries, phrases), sorted indices
        """
        starts = counts.indptr.tolist()
        if len(starts) == 2:
            columns, weight = self._pairs_of(counts.indices)
            return row_of(columns, np.full(len(columns), weight, np.float32), len(self.keys))
        each = [self._pairs_of(counts.indices[begin:end]) for begin, end in pairwise(starts)]
        ends = np.cumsum([0, *(len(columns) for columns, _ in each)])
        data = np.repeat(np.array([weight for _, weight in each], np.float32), np.diff(ends))
        columns = np.concatenate([np.empty(0, np.int32), *(columns for columns, _ in each)])
        rows: TextMatrix = sparse.csr_array((data, columns, ends), (len(each), len(self.keys)))
        return rows

    def _pairs_of(self, words: Int32) -> tuple[Int32, float]:
        """Return the phrases of a query's words, ascending, and what each weighs."""
        known = words[self._is_used[words]].astype(np.uint64)
        first, second = (_pairs if len(known) <= _FEW else np.triu_indices)(len(known), 1)
        found = self._columns(known[first] << _HALF | known[second])
        return found[found >= 0].astype(np.int32), 1 / max(1, len(words) - 1)

    @cached_property
    def _is_used(self) -> NDArray[np.bool_]:
        used = np.zeros(len(self.base.words), np.bool_)
        used[self.keys >> _HALF] = used[self.keys & _LOWER] = True
        return used

    def _columns(self, keys: Keys) -> Int64:
        """Return the column of each key, -1 where there is none."""
        if not len(self.keys):
            return np.full(len(keys), -1)
        positions = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[positions] == keys, positions, -1)

    def save(self, directory: Path) -> None:
        """Write the view of the words, ``keys.npy`` and ``phrases.json``."""
        self.base.save(directory)
        np.save(directory / f"{_KEYS}.npy", self.keys, allow_pickle=False)
        store.write_json(directory / MANIFEST, {"space": self.space})


def view_of(base: TextView, blocks: Iterable[Sequence[str]]) -> PhraseView:
    """Return the view of all phrases of some texts, given in blocks of lines."""
    found = [np.unique(keys) for lines in blocks for _, keys in _keys_in(base, lines)]
    return PhraseView(base, np.unique(np.concatenate([np.empty(0, np.uint64), *found])))


def load_view(directory: Path) -> PhraseView:
    """Load a saved view; `BadInput` if it is damaged or of another tokenizer."""
    base, keys = text_view.load_view(directory), load_array(directory / f"{_KEYS}.npy")
    spec = ArraySpec("uint64", (_KEYS,), order="ascending")
    check_arrays({_KEYS: spec}, {_KEYS: keys}, directory, text_view.AGAIN)
    view = PhraseView(base, keys)
    if files.read_object(directory / MANIFEST, text_view.AGAIN).get("space") != view.space:
        raise BadInput(f"{directory / MANIFEST}: its phrases were changed. {text_view.AGAIN}")
    return view


def _keys_in(base: TextView, texts: Sequence[str]) -> Iterator[tuple[Int64, Keys]]:
    """Yield rows of texts and keys of the phrases in their lines."""
    lines = [text.split("\n") for text in texts]
    owner = np.repeat(np.arange(len(texts)), [len(several) for several in lines])
    encoded = (line.encode(errors="replace") for several in lines for line in several)
    first = 0
    for words, ends in base.in_order(encoded):
        of_line = owner[first : first + len(ends)]
        line = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        first += len(ends)
        for distance in range(1, NEAR + 1):
            one, other = words[:-distance], words[distance:]
            kept = (
                (line[:-distance] == line[distance:]) & (one != other) & (one >= 0) & (other >= 0)
            )
            low, high = (f(one, other)[kept].astype(np.uint64) for f in (np.minimum, np.maximum))
            yield of_line[line[distance:][kept]], low << _HALF | high
