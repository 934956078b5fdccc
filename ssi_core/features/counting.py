"""Matrices of a task: the texts are read once, and every view comes from their counts.

The words of the texts are counted in batches and kept on disk under provisional numbers; when all
are known, the vocabulary is chosen and the numbers become columns. Only the words stay in memory.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ssi_core import store
from ssi_core.features.csr_writer import CsrWriter
from ssi_core.features.lexicon import Lexicon
from ssi_core.features.tfidf import Weighting, inverse_document_frequency, weigh
from ssi_core.features.vocabulary import Vocabulary, choose_words, to_columns
from ssi_core.types import Float32, Int64, Progress

BLOCK = 1 << 22
"""Non-zeros that are worked on at a time."""

Mask = NDArray[np.bool_]


def matrix_path(directory: Path, view: str) -> Path:
    """Where the matrix of a view is; a colon is no character for a file name."""
    return directory / view.replace(":", "-")


def write_counts(
    directory: Path,
    batches: Iterable[Sequence[bytes]],
    *,
    language: str,
    fitting: Mask,
    words: int | None,
    progress: Progress,
) -> tuple[Vocabulary, Float32, dict[str, int]]:
    """Count the words of texts, choose the vocabulary and write the view "counts".

    Parameters
    ----------
    batches : texts in UTF-8, len(fitting) of them
    fitting : the texts that vocabulary and document frequencies come from
    words : the most frequent words to take; None: all

    Returns
    -------
    vocabulary, idf, facts
        facts : counts for the manifest
    """
    provisional = directory / "provisional"
    lexicon, frequency = _count_batches(provisional, batches, language, fitting, progress)
    vocabulary, ids = choose_words(lexicon, frequency, words)
    bags = store.load_csr(provisional)
    texts = bags.shape[0]
    document_frequency = np.zeros(len(vocabulary), np.int64)
    tokens = known = empty = 0
    with CsrWriter(matrix_path(directory, "counts"), len(vocabulary)) as writer:
        for begin, end in row_blocks(bags.indptr):
            first, last = bags.indptr[begin], bags.indptr[end]
            indptr = bags.indptr[begin : end + 1].astype(np.int64) - first
            counts = bags.data[first:last]
            block = to_columns(indptr, ids[bags.indices[first:last]], counts, len(vocabulary))
            writer.append(block.indptr, block.indices, block.data)
            seen = block.indices[np.repeat(fitting[begin:end], np.diff(block.indptr))]
            document_frequency += np.bincount(seen, minlength=len(vocabulary))
            tokens += int(counts.sum(dtype=np.int64))
            known += int(block.data.sum(dtype=np.float64))
            empty += int(np.count_nonzero(np.diff(block.indptr) == 0))
            progress(0.6 + 0.2 * end / texts, "vocabulary")
    del bags
    shutil.rmtree(provisional)
    facts = {
        "words": len(vocabulary),
        "distinct_words": int(np.count_nonzero(frequency)),
        "tokens": tokens,
        "out_of_vocabulary_tokens": tokens - known,
        "empty_documents": empty,
        "nonzeros": writer.nonzeros,
    }
    idf = inverse_document_frequency(document_frequency, int(np.count_nonzero(fitting)))
    return vocabulary, idf, facts


def write_views(
    directory: Path, idf: Float32, weightings: Sequence[Weighting], progress: Progress
) -> dict[str, int]:
    """Derive views from the counts; returns the non-zeros of each."""
    counts = store.load_csr(matrix_path(directory, "counts"))
    texts, words = counts.shape
    with ExitStack() as stack:
        writers = {
            weighting: stack.enter_context(CsrWriter(matrix_path(directory, str(weighting)), words))
            for weighting in weightings
        }
        for begin, end in row_blocks(counts.indptr):
            block = counts[begin:end]
            for weighting, writer in writers.items():
                rows = weigh(block, idf, weighting)
                writer.append(rows.indptr, rows.indices, rows.data)
            progress(0.8 + 0.2 * end / texts, "views")
    return {str(weighting): writer.nonzeros for weighting, writer in writers.items()}


def row_blocks(indptr: NDArray[np.integer], most: int = BLOCK) -> Iterator[tuple[int, int]]:
    """Ranges of rows with about ``most`` non-zeros each; a longer row is a block of its own.

    >>> list(row_blocks(np.array([0, 2, 3, 9, 10]), most=4))
    [(0, 2), (2, 3), (3, 4)]
    """
    begin, rows = 0, len(indptr) - 1
    while begin < rows:
        end = int(np.searchsorted(indptr, indptr[begin] + most, side="right")) - 1
        end = max(begin + 1, min(end, rows))
        yield begin, end
        begin = end


def _count_batches(
    directory: Path,
    batches: Iterable[Sequence[bytes]],
    language: str,
    fitting: Mask,
    progress: Progress,
) -> tuple[Lexicon, Int64]:
    """Write the bags of all texts; return the words and how often the fitting texts have them."""
    lexicon = Lexicon(language)
    frequency = np.zeros(0, np.int64)
    done = 0
    with CsrWriter(directory, 0, np.int32) as writer:
        for batch in batches:
            indptr, numbers, counts = lexicon.count(batch)
            writer.append(indptr, numbers, counts)
            counted = counts * np.repeat(fitting[done : done + len(batch)], np.diff(indptr))
            here = np.bincount(numbers, counted, minlength=len(lexicon)).astype(np.int64)
            here[: len(frequency)] += frequency
            frequency = here
            done += len(batch)
            progress(0.6 * done / len(fitting), "words")
    return lexicon, frequency
