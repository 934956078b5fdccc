"""The view "fields": how often words are in each short field of a document.

Its columns are the vocabulary once for each field of `ssi_core.text.fields.SHORT`, one after the
other: the word i of the field f is the column ``f * words + i``. What "counts" has of a document
beyond its own short fields is its text. Queries have no fields.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.text import fields as names
from ssi_core.types import Int32, TextMatrix


def by_field(rows: TextMatrix, fields: int) -> tuple[TextMatrix, TextMatrix, TextMatrix]:
    """Put the fields of texts together.

    Parameters
    ----------
    rows : CSR float32 (n * fields, words)
        Counts of the fields of n texts, those of one text one after the other.

    Returns
    -------
    own, short, union
        CSR float32 with sorted indices: counts of the fields that a text has itself (n, words),
        those of each short field (n, (fields - 1) * words), and of all fields (n, words).
    """
    n, words = rows.shape[0] // fields, rows.shape[1]
    entry = np.repeat(np.arange(rows.shape[0], dtype=np.int32), np.diff(rows.indptr))
    text, field = np.divmod(entry, np.int32(fields))
    union = _sum(rows, text, np.ones(len(text), np.bool_), n)
    of_itself = _sum(rows, text, field < len(names.OWN), n)
    is_short = field > 0
    columns = (field[is_short] - 1) * np.int32(words) + rows.indices[is_short]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(text[is_short], minlength=n))])
    short = sparse.csr_array(
        (rows.data[is_short], columns.astype(np.int32), indptr.astype(np.int32)),
        shape=(n, (fields - 1) * words),
    )
    return of_itself, short, union


def _sum(rows: TextMatrix, text: Int32, kept: NDArray[np.bool_], n: int) -> TextMatrix:
    entries = (text[kept], rows.indices[kept])
    summed = sparse.coo_array((rows.data[kept], entries), shape=(n, rows.shape[1])).tocsr()
    summed.sort_indices()
    return summed


def of_field(short: TextMatrix, field: str) -> TextMatrix:
    """Return the counts of one short field, CSR float32 (n, words)."""
    words = short.shape[1] // len(names.SHORT)
    number = names.SHORT.index(field)
    kept = short.indices // words == number
    ends = np.concatenate([[0], np.cumsum(kept)]).astype(short.indptr.dtype)
    parts = short.data[kept], (short.indices[kept] - number * words).astype(np.int32)
    return sparse.csr_array((*parts, ends[short.indptr]), shape=(short.shape[0], words))
