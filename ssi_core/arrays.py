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


def load_csr(directory: Path) -> TextMatrix:
    """Load a CSR matrix, memory mapped; entries are not read before they are used."""
    indptr, indices, data = (load_array(directory / f"{n}.npy") for n in _CSR_PARTS)
    with files.reading(directory):
        rows, columns = json.loads((directory / "shape.json").read_text())
        # Kernels trust these: a row that is not where it says would be read outside of the file.
        lengths = len(indptr) == rows + 1 and indptr[-1] == len(indices) == len(data)
        if not lengths or indptr[0] != 0 or np.any(np.diff(indptr) < 0):
            raise ValueError("its rows and its entries do not fit together")
        return sparse.csr_array((data, indices, indptr), shape=(rows, columns), copy=False)


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
