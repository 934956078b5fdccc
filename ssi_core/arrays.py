"""Arrays and CSR matrices as files: mapped where they lie, never pickles, as they are declared.

A digest says that a file is the one that was written, and not that its writer was this library.
What is learnt therefore declares its arrays (`ArraySpec`), and `check_arrays` compares them when
it is loaded: kernels trust the sizes and places that arrays hold.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from scipy import sparse

from ssi_core import files, store
from ssi_core.types import BadInput, Float32, Int32, TextMatrix

_MOST_COLUMNS = np.iinfo(np.int32).max

Size: TypeAlias = int | str
"""Length of an axis; a name is any length, and the same one wherever it stands."""


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
        positions = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], lengths)
        parts = self.data[positions], self.indices[positions], indptr
        return sparse.csr_array(parts, shape=(len(rows), self.shape[1]))


def with_data(rows: TextMatrix, data: NDArray[Any]) -> TextMatrix:
    """Return a matrix with other numbers in the same places, which it shares.

    What the constructor checks of the places again takes as long as a short query.

    Parameters
    ----------
    data : array
        A number for each stored entry.
    """
    made: TextMatrix = object.__new__(type(rows))
    vars(made).update(vars(rows))
    made.data = data
    return made


def row_of(columns: Int32, data: Float32, width: int) -> TextMatrix:
    """Return a matrix of one row, whose columns are sorted, as fast as `with_data`."""
    row = with_data(_empty_row(width), data)
    row.indices, row.indptr = columns, np.array([0, len(columns)], np.int32)
    return row


@lru_cache(maxsize=64)
def _empty_row(width: int) -> TextMatrix:
    nothing = np.empty(0, np.float32), np.empty(0, np.int32), np.zeros(2, np.int32)
    return sparse.csr_array(nothing, shape=(1, width))


def side_by_side(left: TextMatrix, right: TextMatrix) -> TextMatrix:
    """Return rows with the columns of two matrices, float32; of one row each, as a query is, fast.

    Parameters
    ----------
    left, right : CSR (n, columns)
        Sorted indices.
    """
    width = left.shape[1] + right.shape[1]
    if len(left.indptr) != 2 or width > _MOST_COLUMNS:
        joined: TextMatrix = sparse.hstack([left, right], format="csr", dtype=np.float32)
        return joined
    columns = np.concatenate([left.indices, right.indices + np.int32(left.shape[1])])
    data = np.concatenate([left.data, right.data], dtype=np.float32)
    return row_of(columns.astype(np.int32, copy=False), data, width)


def load_csr(directory: Path) -> TextMatrix:
    """Load a CSR matrix, memory mapped; entries are not read before they are used."""
    indptr, indices, data = (load_array(directory / f"{n}.npy") for n in CSR_PARTS)
    with files.reading(directory):
        rows, columns = json.loads((directory / "shape.json").read_text())
        # Kernels trust these: a row that is not where it says would be read outside of the file.
        for name, array in zip(CSR_PARTS, (indptr, indices, data), strict=True):
            kinds = "fbiu" if name == "data" else "i"
            if array.ndim != 1 or array.dtype.kind not in kinds:
                raise ValueError(f"{name}.npy holds {_form(array)}")
        lengths = len(indptr) == rows + 1 and indptr[-1] == len(indices) == len(data)
        if not lengths or indptr[0] != 0 or np.any(np.diff(indptr) < 0):
            raise ValueError("its rows and its entries do not fit together")
        if indptr.dtype == indices.dtype:
            return sparse.csr_array((data, indices, indptr), shape=(rows, columns), copy=False)
        matrix = LongCsr((rows, columns), dtype=data.dtype)
        matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
        return matrix


def create_array(
    path: Path, dtype: str, shape: tuple[int, ...]
) -> np.memmap[tuple[int, ...], np.dtype[Any]]:
    """Create a ``.npy`` array to be written through a map; a full disk is found here."""
    array = open_memmap(path, "w+", np.dtype(dtype), shape)
    # A block that the disk has no room for would end the process when it is written.
    with path.open("r+b") as file:
        os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array


CSR_PARTS: Sequence[str] = ("indptr", "indices", "data")
"""Names of the arrays of a CSR matrix."""


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


@dataclass(frozen=True)
class ArraySpec:
    """Declaration of an array: what kernels may trust. Floating-point numbers are always finite.

    Attributes
    ----------
    dtype : str
        Name of the type, or several with "|" between them; "str" is text of any length.
    shape : tuple of int or str
        Length of each axis; see `Size`.
    least, most : float or tuple of float
        Bounds of the values, both included; of a tuple one for each value.
    order : str
        "any", "ascending" or "strict", which is ascending without equal values.
    index : int, str or None
        The values are rows of something of this length: 0 to one less.
    offsets : int, str or None
        The values are where the parts of something of this length begin, and where the last one
        ends. There is one more value than the shape has parts.
    """

    dtype: str
    shape: tuple[Size, ...]
    least: float | tuple[float, ...] = -np.inf
    most: float | tuple[float, ...] = np.inf
    order: str = "any"
    index: Size | None = None
    offsets: Size | None = None


POSITIVE = float(np.finfo(np.float64).tiny)
"""The least value of an array whose values are above zero."""

ArraySpecs: TypeAlias = Mapping[str, ArraySpec]
"""Name of an array -> its declaration."""


def csr_specs(
    rows: Size, columns: Size | None, names: Sequence[str], dtype: str
) -> dict[str, ArraySpec]:
    """Declare a CSR matrix by the names of its `CSR_PARTS`; None: columns are checked elsewhere."""
    indptr, indices, data = names
    return {
        indptr: ArraySpec(_WHOLE, (rows,), offsets=f"values of {data}"),
        indices: ArraySpec(_WHOLE, (f"values of {data}",), index=columns),
        data: ArraySpec(dtype, (f"values of {data}",)),
    }


def prefixed(specs: ArraySpecs, prefix: str) -> dict[str, ArraySpec]:
    """Return declarations with names of their own, those of lengths too."""

    def own(size: Any) -> Any:
        return f"{prefix}{size}" if isinstance(size, str) else size

    return {
        f"{prefix}{name}": replace(
            spec,
            shape=tuple(map(own, spec.shape)),
            index=own(spec.index),
            offsets=own(spec.offsets),
        )
        for name, spec in specs.items()
    }


def check_arrays(
    specs: ArraySpecs, arrays: Mapping[str, NDArray[Any]], directory: Path, remedy: str
) -> None:
    """Compare arrays with their declarations.

    Parameters
    ----------
    specs : mapping
        Declarations of all arrays.
    arrays : mapping
        Name -> array.
    directory : Path
        Where the files ``NAME.npy`` lie.
    remedy : str
        Last sentence of the errors.

    Raises
    ------
    BadInput
        An array is missing, is not declared, or is not as it is declared; the message names its
        file.
    """
    for name in sorted(specs.keys() ^ arrays.keys()):
        what = "it is missing" if name in specs else "it is not declared"
        raise BadInput(f"{directory / name}.npy: {what}. {remedy}")
    sizes: dict[str, int] = {}
    for check in (_check_form, _check_values):
        for name, spec in specs.items():
            if problem := check(spec, arrays[name], sizes):
                raise BadInput(f"{directory / name}.npy: {problem}. {remedy}")


_WHOLE = "int32|int64"


def _form(array: NDArray[Any]) -> str:
    return f"{array.dtype.name} of shape {array.shape}"


def _check_form(spec: ArraySpec, array: NDArray[Any], sizes: dict[str, int]) -> str | None:
    """Return what is wrong with type and shape; lengths that have a name are noted."""
    kind = "str" if array.dtype.kind == "U" else array.dtype.name
    parts = array.ndim == 1 and spec.offsets is not None
    shape = (len(array) - 1,) if parts else array.shape
    agrees = kind in spec.dtype.split("|") and array.dtype.isnative
    if agrees and len(shape) == len(spec.shape) and min(shape, default=0) >= 0:
        known = [sizes.setdefault(s, n) if isinstance(s, str) else s for s, n in _both(spec, shape)]
        agrees = known == list(shape)
    else:
        agrees = False
    if agrees:
        return None
    wanted = [sizes.get(s, s) if isinstance(s, str) else s for s in spec.shape]
    if spec.offsets is not None:
        wanted = [f"{wanted[0]} + 1" if isinstance(wanted[0], str) else wanted[0] + 1]
    expected = " or ".join(spec.dtype.split("|"))
    order = "" if array.dtype.isnative else " in foreign byte order"
    shape_wanted = ", ".join(map(str, wanted)) + "," * (len(wanted) == 1)
    return f"{_form(array)}{order}, expected {expected} of shape ({shape_wanted})"


def _both(spec: ArraySpec, shape: Sequence[int]) -> Any:
    return zip(spec.shape, shape, strict=True)


def _check_values(spec: ArraySpec, array: NDArray[Any], sizes: dict[str, int]) -> str | None:
    """Return what is wrong with the values."""
    if spec.offsets is not None:
        end = _length(spec.offsets, sizes)
        if array[0] != 0 or array[-1] != end or np.any(array[1:] < array[:-1]):
            return f"it holds no ascending offsets from 0 to {end}"
    if array.size == 0:
        return None
    if spec.order != "any":
        falls = np.less if spec.order == "ascending" else np.less_equal
        if np.any(falls(array[1:], array[:-1])):
            return "its values do not ascend"
    least, most = spec.least, spec.most
    if spec.index is not None:
        least, most = 0, _length(spec.index, sizes) - 1
    if least == -np.inf and most == np.inf:
        return None
    # Of one bound for all values two numbers are compared; NaN is in no bounds.
    each = isinstance(least, tuple) or isinstance(most, tuple)
    low, high = (array, array) if each else (array.min(), array.max())
    kind = array.dtype if array.dtype.kind == "f" else None
    if np.all(low >= np.asarray(least, kind)) and np.all(high <= np.asarray(most, kind)):
        return None
    expected = f"{least} to {most}" if most != np.inf else f"at least {least}"
    return f"values from {array.min():g} to {array.max():g}, expected {expected}"


def _length(size: Size, sizes: Mapping[str, int]) -> int:
    return sizes[size] if isinstance(size, str) else size
