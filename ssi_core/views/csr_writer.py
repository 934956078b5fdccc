"""A CSR matrix on disk, written block of rows by block of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ssi_core import store


class GrowingArray:
    """A one-dimensional ``.npy`` file that grows at its end."""

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self._file: BinaryIO = path.open("wb")
        self._dtype = np.dtype(dtype)
        self._length = 0
        self._write_header()

    def append(self, array: NDArray[Any]) -> None:
        """Add elements."""
        np.ascontiguousarray(array, self._dtype).tofile(self._file)
        self._length += len(array)

    def close(self) -> None:
        """Write how many elements there are, and close the file."""
        # numpy pads the header for any length, so that the final one fits over the first.
        self._file.seek(0)
        self._write_header()
        self._file.close()

    def _write_header(self) -> None:
        described = np.lib.format.dtype_to_descr(self._dtype)
        header = {"descr": described, "fortran_order": False, "shape": (self._length,)}
        np.lib.format.write_array_header_1_0(self._file, header)


class CsrWriter:
    """Write a matrix that `ssi_core.arrays.load_csr` opens; use it in a ``with`` block.

    Attributes
    ----------
    nonzeros : int
        Entries written so far.
    """

    def __init__(self, directory: Path, width: int) -> None:
        directory.mkdir(parents=True)
        self._directory, self._width = directory, width
        self._indices = GrowingArray(directory / "indices.npy", np.int32)
        self._data = GrowingArray(directory / "data.npy", np.float32)
        self._lengths: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        self.nonzeros = 0

    def append(
        self, indptr: NDArray[np.integer[Any]], indices: NDArray[Any], data: NDArray[Any]
    ) -> None:
        """Add rows: ``indptr`` (rows + 1,), ``indices`` and ``data`` (nonzeros,)."""
        self._indices.append(indices)
        self._data.append(data)
        self._lengths.append(np.diff(indptr).astype(np.int64))
        self.nonzeros += len(indices)

    def __enter__(self) -> CsrWriter:
        return self

    def __exit__(self, *raised: object) -> None:
        self._indices.close()
        self._data.close()
        indptr = np.cumsum(np.concatenate(self._lengths))
        # scipy wants both index arrays of one type, and copies them otherwise.
        narrow = self.nonzeros <= np.iinfo(np.int32).max
        np.save(self._directory / "indptr.npy", indptr.astype(np.int32) if narrow else indptr)
        store.write_json(self._directory / "shape.json", [len(indptr) - 1, self._width])
