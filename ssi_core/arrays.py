"""Arrays and CSR matrices as files: mapped where they lie, never pickles."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from scipy import sparse

from ssi_core import files, store
from ssi_core.types import TextMatrix


def save_csr(directory: Path, matrix: sparse.csr_array) -> None:
    """Save a CSR matrix as three ``.npy`` files and its shape."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("indptr", "indices", "data"):
        np.save(directory / f"{name}.npy", getattr(matrix, name), allow_pickle=False)
    store.write_json(directory / "shape.json", [int(n) for n in matrix.shape])


class LongCsr(sparse.csr_array):
    """CSR matrix of more entries than 32 bits count, with columns of 32 bits.

    scipy wants both index arrays of one type: it would copy all columns, 8 bytes each, to make such
    a matrix and whenever rows are taken. Kernels and `__getitem__` read them where they are mapped.
    """

    def __getitem__(self, key: Any) -> Any:
        """Return rows: of a slice, of numbers, of a mask."""
        if not isinstance(key, slice | list | np.ndarray):
            return super().__getitem__(key)
        rows = np.arange(self.shape[0])[key]
        starts, lengths = self.indptr[rows], self.indptr[rows + 1] - self.indptr[rows]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], lengths)
        parts = self.data[places], self.indices[places], indptr
        return sparse.csr_array(parts, shape=(len(rows), self.shape[1]))


def load_csr(directory: Path) -> TextMatrix:
    """Load a CSR matrix, memory mapped; entries are not read before they are used."""
    indptr, indices, data = (load_array(directory / f"{n}.npy") for n in _CSR_PARTS)
    with files.reading(directory):
        rows, columns = json.loads((directory / "shape.json").read_text())
        # Kernels trust these: a row that is not where it says would be read outside of the file.
        lengths = len(indptr) == rows + 1 and indptr[-1] == len(indices) == len(data)
        if not lengths or indptr[0] != 0 or np.any(np.diff(indptr) < 0):
            raise ValueError("its rows and its entries do not fit together")
        if indptr.dtype == indices.dtype:
            return sparse.csr_array((data, indices, indptr), shape=(rows, columns), copy=False)
        matrix = LongCsr((rows, columns), dtype=data.dtype)
        matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
        return matrix


_CSR_PARTS: Sequence[str] = ("indptr", "indices", "data")


def load_array(path: Path, *, mapped: bool = True) -> NDArray[Any]:
    """Load a ``.npy`` array, memory mapped read-only unless told otherwise; never a pickle."""
    with files.reading(path):
        if path.stat().st_size <= _HEADER:
            # Without an element there is nothing to map.
            with path.open("rb") as file:
                return np.lib.format.read_array(file, allow_pickle=False)
        try:
            array: NDArray[Any] = open_memmap(path, mode="r")
        except ValueError as error:
            if "Python objects" in str(error):
                raise ValueError("it holds pickled objects, which are never loaded") from None
            raise
        return array if mapped else np.array(array)


_HEADER = 128
