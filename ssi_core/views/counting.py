"""Matrices of a task: the texts are read once, and every view comes from their counts.

The words of the texts are counted and kept on disk under provisional numbers; when all are known,
the vocabulary is chosen and the numbers become columns. Only the words stay in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.arrays import load_array
from ssi_core.types import Int64, Progress, TextMatrix
from ssi_core.views.bags import Bags, Batch, count_bags
from ssi_core.views.bm25 import sums
from ssi_core.views.csr_writer import CsrWriter
from ssi_core.views.fields import by_field
from ssi_core.views.lexicon import Vocabulary, choose_words, to_columns
from ssi_core.views.names import COUNTS, FIELDS
from ssi_core.views.statistics import Statistics
from ssi_core.views.weighting import Side, Weighting, inverse_document_frequency, weigh_side

BLOCK = 1 << 22
"""Non-zeros that are worked on at a time."""

Mask = NDArray[np.bool_]


def matrix_path(directory: Path, view: str) -> Path:
    """Return the path of the matrix of a view, without the colons of the view's name."""
    return directory / view.replace(":", "-")


def write_counts(
    directory: Path,
    batches: Iterable[Batch],
    *,
    language: str,
    fitting: Mask,
    words: int | None,
    work: Path,
    progress: Progress,
    documents: int | None = None,
    fields: int = 1,
) -> tuple[Vocabulary, Statistics, dict[str, Any]]:
    """Count the words of texts, choose the vocabulary and write the view "counts".

    Of texts with fields, "counts" has the words of their own fields, and the view "fields" those of
    each short field in columns of its own (`views.fields`).

    Parameters
    ----------
    batches : iterable
        Texts in UTF-8, len(fitting) of them, see `count_bags`; of texts with fields, each field is
        a text, in the order of `ssi_core.text.fields.FIELDS`.
    fitting : bool array
        The texts that vocabulary and document frequencies come from.
    words : int or None
        The most frequent words to take; None: all.
    work : Path
        Directory of the counts under provisional numbers; see `count_bags`.
    documents : int or None
        The first texts, which are documents, so that their lengths count; None: all.
    fields : int
        Fields of each text.

    Returns
    -------
    vocabulary, statistics, facts
        facts : counts for the manifest
    """
    bags = count_bags(work, batches, len(fitting) * fields, language, progress)
    frequency = _frequency(bags, np.repeat(fitting, fields))
    vocabulary, ids = choose_words(bags.lexicon, frequency, words)
    document_frequency, occurrences = np.zeros((2, len(vocabulary)), np.int64)
    measured = fitting.copy()
    if documents is not None:
        measured[documents:] = False
    tokens = known = empty = 0
    lengths = np.zeros(fields)
    with ExitStack() as stack:
        writer = stack.enter_context(CsrWriter(matrix_path(directory, COUNTS), len(vocabulary)))
        short_writer = None
        if fields > 1:
            width = (fields - 1) * len(vocabulary)
            short_writer = stack.enter_context(CsrWriter(matrix_path(directory, FIELDS), width))
        for begin, end in row_blocks(bags.indptr[::fields]):
            indptr, numbers, counts = bags.rows(begin * fields, end * fields)
            block = to_columns(indptr, ids[numbers], counts, len(vocabulary))
            tokens += int(counts.sum(dtype=np.int64))
            known += int(block.data.sum(dtype=np.float64))
            of_measured = np.repeat(measured[begin:end], fields)
            lengths += (sums(block, block.data) * of_measured).reshape(-1, fields).sum(axis=0)
            union = block
            if short_writer is not None:
                block, short, union = by_field(block, fields)
                short_writer.append(short.indptr, short.indices, short.data)
            writer.append(block.indptr, block.indices, block.data)
            seen = union.indices[np.repeat(fitting[begin:end], np.diff(union.indptr))]
            document_frequency += np.bincount(seen, minlength=len(vocabulary))
            of_documents = np.repeat(measured[begin:end], np.diff(block.indptr))
            occurrences += np.bincount(
                block.indices[of_documents], block.data[of_documents], len(vocabulary)
            ).astype(np.int64)
            empty += int(np.count_nonzero(np.diff(block.indptr) == 0))
            progress(0.6 + 0.2 * end / len(fitting), "vocabulary")
    facts = {
        "words": len(vocabulary),
        "distinct_words": int(np.count_nonzero(frequency)),
        "tokens": tokens,
        "out_of_vocabulary_tokens": tokens - known,
        "empty_documents": empty,
        "nonzeros": writer.nonzeros,
    }
    texts, counted = int(np.count_nonzero(fitting)), max(1, int(np.count_nonzero(measured)))
    idf = inverse_document_frequency(document_frequency, texts)
    mean_length = max(1.0, int(occurrences.sum()) / counted)
    of_fields: tuple[float, ...] = tuple((lengths / counted).tolist()) if fields > 1 else ()
    return vocabulary, Statistics(idf, texts, mean_length, occurrences, of_fields), facts


def write_views(
    directory: Path,
    statistics: Statistics,
    weightings: Sequence[Weighting],
    progress: Progress,
    *,
    side: Side = "document",
    counts: Path | None = None,
) -> dict[str, int]:
    """Derive views from the counts; returns the non-zeros of each.

    Parameters
    ----------
    side : str
        Whose texts are counted; it matters to views that differ by side.
    counts : Path or None
        Directory of the counts; None: that of the views.
    """
    path = matrix_path(counts or directory, "counts")
    indptr = load_array(path / "indptr.npy", mapped=False)
    texts, words = len(indptr) - 1, len(statistics.idf)
    with ExitStack() as stack:
        writers = {
            weighting: stack.enter_context(
                CsrWriter(matrix_path(directory, str(weighting)), weighting.width(words))
            )
            for weighting in weightings
        }
        for begin, end in row_blocks(indptr):
            block = _read_rows(path, indptr[begin : end + 1], words)
            for weighting, writer in writers.items():
                rows = weigh_side(block, statistics, weighting, side)
                writer.append(rows.indptr, rows.indices, rows.data)
            progress(0.8 + 0.2 * end / texts, "views")
    return {str(weighting): writer.nonzeros for weighting, writer in writers.items()}


def row_blocks(indptr: NDArray[np.integer], most: int = BLOCK) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows with about ``most`` non-zeros; a longer row is a block of its own.

    >>> list(row_blocks(np.array([0, 2, 3, 9, 10]), most=4))
    [(0, 2), (2, 3), (3, 4)]
    """
    begin, rows = 0, len(indptr) - 1
    while begin < rows:
        end = int(np.searchsorted(indptr, indptr[begin] + most, side="right")) - 1
        end = max(begin + 1, min(end, rows))
        yield begin, end
        begin = end


def _frequency(bags: Bags, fitting: Mask) -> Int64:
    """Count the fitting texts that have each word of the lexicon."""
    frequency = np.zeros(len(bags.lexicon), np.int64)
    for begin, end in row_blocks(bags.indptr):
        indptr, numbers, counts = bags.rows(begin, end)
        counted = counts * np.repeat(fitting[begin:end], np.diff(indptr))
        here = np.bincount(numbers, counted)
        frequency[: len(here)] += here.astype(np.int64)
    return frequency


def _read_rows(path: Path, indptr: NDArray[np.integer], width: int) -> TextMatrix:
    """Read rows of a matrix on disk through a mapping that is then closed."""
    part = slice(int(indptr[0]), int(indptr[-1]))
    indices, data = (np.array(load_array(path / f"{n}.npy")[part]) for n in _ENTRIES)
    return sparse.csr_array((data, indices, indptr - indptr[0]), shape=(len(indptr) - 1, width))


_ENTRIES = ("indices", "data")
