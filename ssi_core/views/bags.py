"""Bags of words of all texts, on disk: counted batch by batch, resumed after the last whole batch.

A directory of files that only grow, and ``done.json``, renamed into place after each batch, which
says how long they are then; what a killed run wrote beyond that is cut off. The words are kept as
the chunks of the `Lexicon` in the order of their numbers, from which it is made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np

from ssi_core import store
from ssi_core.types import Int32, Int64, Progress
from ssi_core.views.lexicon import Lexicon

_DONE = "done.json"
_LENGTHS, _WORDS, _COUNTS, _CHUNKS = "lengths", "words", "counts", "chunks"


@dataclass(frozen=True)
class _Done:
    """Counts after a whole batch: texts, entries of their bags, bytes of the chunks."""

    texts: int = 0
    entries: int = 0
    chunk_bytes: int = 0

    def sizes(self) -> dict[str, int]:
        """Bytes of each file."""
        entries = {_WORDS: 4 * self.entries, _COUNTS: 4 * self.entries}
        return {_LENGTHS: 4 * self.texts, **entries, _CHUNKS: self.chunk_bytes}


@dataclass(frozen=True)
class Counted:
    """A batch of texts that was counted elsewhere, with a lexicon of its own.

    Attributes
    ----------
    indptr, words, counts : int64 (n + 1,), int32, int32
        See `Lexicon.count`.
    chunks : bytes
        See `Lexicon.chunks`.
    """

    indptr: Int64
    words: Int32
    counts: Int32
    chunks: bytes

    def __len__(self) -> int:
        """Texts of the batch."""
        return len(self.indptr) - 1

    def by(self, lexicon: Lexicon) -> tuple[Int64, Int32, Int32]:
        """Return the bags by the numbers of another lexicon, which learns their words."""
        return self.indptr, lexicon.merge(self.chunks)[self.words], self.counts


Batch: TypeAlias = Sequence[bytes] | Counted


@dataclass(frozen=True)
class Bags:
    """Words of n texts by their numbers in a lexicon.

    Attributes
    ----------
    lexicon : Lexicon
        The words.
    indptr : int64 (n + 1,)
        Where the bag of each text begins and the last ends.
    """

    directory: Path
    lexicon: Lexicon
    indptr: Int64

    def rows(self, begin: int, end: int) -> tuple[Int64, Int32, Int32]:
        """Read the bags of some texts: indptr from 0, words and counts, (entries,)."""
        first, last = int(self.indptr[begin]), int(self.indptr[end])
        words, counts = (
            np.fromfile(self.directory / name, np.int32, last - first, offset=4 * first)
            for name in (_WORDS, _COUNTS)
        )
        return self.indptr[begin : end + 1] - first, words, counts


def count_bags(
    directory: Path,
    batches: Iterable[Batch],
    texts: int,
    language: str,
    progress: Progress,
) -> Bags:
    """Count the words of texts; those that are counted in the directory already are passed over.

    Parameters
    ----------
    directory : Path
        Empty, or what an earlier call with the same texts left.
    batches : iterable
        Texts in UTF-8, ``texts`` of them, the same batches in every call; or `Counted` ones.
    """
    done = _read_done(directory)
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(_open_at(directory / name, size))
            for name, size in done.sizes().items()
        }
        lexicon = Lexicon.restored(language, (directory / _CHUNKS).read_bytes())
        passed = 0
        for batch in batches:
            if passed < done.texts:
                passed += len(batch)
                continue
            done = _append(files, lexicon, batch, done)
            passed = done.texts
            store.write_json(directory / _DONE, asdict(done))
            progress(0.6 * done.texts / texts, "words")
    lengths = np.fromfile(directory / _LENGTHS, np.int32)
    return Bags(directory, lexicon, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))


def _read_done(directory: Path) -> _Done:
    path = directory / _DONE
    return _Done(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else _Done()


def _open_at(path: Path, size: int) -> BinaryIO:
    """Open a file to append after its first ``size`` bytes."""
    file = path.open("ab")
    file.truncate(size)
    return file


def _append(files: dict[str, BinaryIO], lexicon: Lexicon, batch: Batch, done: _Done) -> _Done:
    known = len(lexicon)
    bags = batch.by(lexicon) if isinstance(batch, Counted) else lexicon.count(batch)
    indptr, words, counts = bags
    chunks = lexicon.chunks(known)
    lengths = np.diff(indptr).astype(np.int32)
    arrays = ((_LENGTHS, lengths.data), (_WORDS, words.data), (_COUNTS, counts.data))
    for name, data in (*arrays, (_CHUNKS, chunks)):
        files[name].write(data)
        files[name].flush()
    return _Done(done.texts + len(batch), done.entries + len(words), done.chunk_bytes + len(chunks))
