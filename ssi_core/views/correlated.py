"""Hashed views of a task: n-grams counted, words matched by DICE, the hashed rows written."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssi_core import resources
from ssi_core.arrays import load_csr
from ssi_core.parts import LOCAL
from ssi_core.remedies import typed
from ssi_core.types import BadInput, Float32, Int32, Int64, Progress, TextMatrix
from ssi_core.views import dice, ngrams
from ssi_core.views.counting import matrix_path, row_blocks
from ssi_core.views.csr_writer import CsrWriter
from ssi_core.views.dice import document_frequency
from ssi_core.views.hashing import HashedView, Hashing
from ssi_core.views.matching import Matching
from ssi_core.views.ngrams import Ngrams, count_ngrams
from ssi_core.views.text_view import TextView
from ssi_core.views.weighting import inverse_document_frequency

Mask = NDArray[np.bool_]
Texts = Callable[[], Iterable[Sequence[bytes]]]
"""Begins another reading of the texts, in UTF-8, in batches."""


class Items(NamedTuple):
    """Items that are hashed beside the words: n-grams, their idf, their counts."""

    ngrams: Ngrams
    idf: Float32
    counts: TextMatrix


def hashed_path(task: Path, view: str) -> Path:
    """Return the directory where a task keeps a hashed view."""
    return matrix_path(task / "hashed", view)


def write_hashed_views(
    task: Path,
    matrices: Path,
    hashings: Sequence[Hashing],
    base: TextView,
    *,
    texts: Texts,
    fitting: Mask,
    progress: Progress,
    queries: Path | None = None,
    blocks: Path | None = None,
    where: str = LOCAL,
) -> dict[str, dict[str, int]]:
    """Fit hashed views on the texts of a task and write them with their rows; returns facts.

    Parameters
    ----------
    task : Path
        Its directory.
    matrices : Path
        Directory of its matrices, with the counts of all words.
    base : TextView
        View of these words.
    fitting : bool array
        The texts that document frequencies and DICE are counted in.
    queries : Path or None
        Directory of the matrices of queries that are no documents: bags of words, which have no
        runs.
    blocks : Path or None
        Directory of what a cluster finds; None: it works here.
    where : str
        Where DICE is counted, see `ssi_core.parts`.

    Raises
    ------
    BadInput
        The vocabulary has no words beyond those that are the bins.
    """
    words = load_csr(matrix_path(matrices, "counts"))
    for hashing in hashings:
        if 1 in hashing.ngrams and hashing.words >= words.shape[1]:
            raise BadInput(
                f"view {str(hashing)!r} hashes the words beyond the {hashing.words} most frequent, "
                f"and the task has {words.shape[1]} words. Take all words for the task "
                f"({typed('words', 'all')}), or fewer words for the view."
            )
    _require(task, words, hashings)
    facts: dict[str, dict[str, int]] = {}
    work = task / "runs"
    items: dict[int, Items] = {}
    for n in sorted({n for hashing in hashings for n in hashing.ngrams} - {1}):
        items[n], facts[f"{n}-grams"] = _count(n, work, words, base, texts, fitting)
    counts_of = {1: matrix_path(matrices, "counts"), **{n: work / f"{n}-grams" for n in items}}
    matching = Matching(counts_of, fitting, blocks or work, where if blocks else LOCAL)
    for done, hashing in enumerate(hashings):
        view = fit_view(hashing, base, items, matching)
        view.save(hashed_path(task, view.name))
        rows = {1: words, **{n: item.counts for n, item in items.items()}}
        facts[view.name] = {"nonzeros": write_rows(matrix_path(matrices, view.name), view, rows)}
        if queries is not None:
            counts = load_csr(matrix_path(queries, "counts"))
            write_rows(matrix_path(queries, view.name), view, {1: counts})
        progress((done + 1) / len(hashings), "hashed words")
    items.clear()
    shutil.rmtree(work, ignore_errors=True)
    return facts


def fit_view(
    hashing: Hashing,
    base: TextView,
    items: Mapping[int, Items],
    matching: Matching,
) -> HashedView:
    """Match the other words, and the n-grams, with the frequent words.

    Parameters
    ----------
    items : mapping
        n -> n-grams, for each n > 1 that is hashed.
    matching : Matching
        Finds the matches, or has found them for another view.
    """
    matches = {n: matching.of(n, hashing) for n in hashing.ngrams}
    runs = {n: items[n].ngrams for n in hashing.ngrams if n > 1}
    idf = {1: base.idf, **{n: items[n].idf for n in runs}}
    return HashedView(hashing, base, idf, matches, runs)


def write_rows(path: Path, view: HashedView, counts: Mapping[int, TextMatrix]) -> int:
    """Write the hashed rows of counts; returns their non-zeros."""
    with CsrWriter(path, len(view.words)) as writer:
        for begin, end in row_blocks(counts[1].indptr):
            rows = view.hashed({n: matrix[begin:end] for n, matrix in counts.items()})
            writer.append(rows.indptr, rows.indices, rows.data)
    return writer.nonzeros


def _count(
    n: int, work: Path, words: TextMatrix, base: TextView, texts: Texts, fitting: Mask
) -> tuple[Items, dict[str, int]]:
    """Count the n-grams of the texts, on disk."""

    def blocks() -> Iterator[tuple[Int32, Int64]]:
        return base.in_order(text for batch in texts() for text in batch)

    of_words = document_frequency(words, fitting)
    counted, frequency, facts = count_ngrams(blocks, n, words=of_words, documents=fitting)
    if not len(counted):
        raise BadInput(
            f"no run of {n} words is in {ngrams.LEAST_DOCUMENTS} documents or more, so there is "
            "nothing to hash. Ingest a larger corpus, or hash words only (ngrams=1)."
        )
    with CsrWriter(work / f"{n}-grams", len(counted)) as writer:
        for read, ends in blocks():
            counts = counted.count(read, ends)
            writer.append(counts.indptr, counts.indices, counts.data)
    idf = inverse_document_frequency(frequency, int(np.count_nonzero(fitting)))
    items = Items(counted, idf, load_csr(work / f"{n}-grams"))
    return items, {"kept": len(counted), "nonzeros": writer.nonzeros, **facts}


def _require(task: Path, words: TextMatrix, hashings: Sequence[Hashing]) -> None:
    """Check memory and disk; a text has no more n-grams than words."""
    texts, entries = words.shape[0], int(words.indptr[-1])
    tokens = int(words.data.sum(dtype=np.float64))
    memory = disk = 0
    for hashing in hashings:
        frequent = min(hashing.words, words.shape[1])
        for n in hashing.ngrams:
            most = words.shape[1] if n == 1 else min(ngrams.MOST, tokens // ngrams.LEAST_DOCUMENTS)
            takes = dice.memory_of(most, hashing.k, texts, frequent, entries=entries)
            takes += 0 if n == 1 else 32 * most
            memory = max(memory, takes, 0 if n == 1 else min(ngrams.MEMORY, 64 * tokens))
            disk += 8 * (tokens if n > 1 else 0) + 8 * most * hashing.k
        disk += 8 * min(entries * hashing.k, texts * frequent)
    resources.require("correlated feature hashing", memory=memory, directory=task, disk=disk)
