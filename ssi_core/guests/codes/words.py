"""Texts as rows of TF-IDF: stop words removed, Porter's stems, unit length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ssi_core.kernels.sparse import unit_rows
from ssi_core.text.stems import stems_of
from ssi_core.types import BadInput, Float64
from ssi_core.views.weighting import inverse_document_frequency


@dataclass(frozen=True)
class Words:
    """A vocabulary of stems with their weights.

    Attributes
    ----------
    stems : tuple of str
        Sorted; a stem's place is its column.
    idf : float64 (stems,)
        ``ln(n / df)`` over the training texts.
    """

    stems: tuple[str, ...]
    idf: Float64

    @classmethod
    def of(cls, texts: Sequence[str], *, least: int = 2) -> Words:
        """Take the stems that at least ``least`` of the training texts have.

        Raises
        ------
        BadInput
            No stem is in so many texts.
        """
        frequency: Counter[str] = Counter()
        for text in texts:
            frequency.update(set(stems_of(text)))
        stems = tuple(sorted(one for one, count in frequency.items() if count >= least))
        if not stems:
            raise BadInput(f"no word is in {least} of the {len(texts)} texts. Give more texts.")
        counts = np.array([frequency[one] for one in stems], np.int64)
        return cls(stems, inverse_document_frequency(counts, len(texts)).astype(np.float64))

    def rows(self, texts: Iterable[str]) -> sparse.csr_array:
        """Return a row ``tf * idf`` of unit length for each text; words not in ``stems`` are none.

        Parameters
        ----------
        texts : iterable of str
            The texts; one without a known stem has a row of zeros.
        """
        column = {one: offset for offset, one in enumerate(self.stems)}
        indptr, indices, counts = [0], [], []
        for text in texts:
            known = Counter(column[one] for one in stems_of(text) if one in column)
            for position in sorted(known):
                indices.append(position)
                counts.append(known[position])
            indptr.append(len(indices))
        start = np.array(indptr, np.int64)
        data = np.array(counts, np.float64) * self.idf[np.array(indices, np.int64)]
        unit_rows(start, data)
        shape = (len(indptr) - 1, len(self.stems))
        rows = sparse.csr_array((data, np.array(indices, np.int32), start), shape=shape)
        rows.eliminate_zeros()
        return rows
