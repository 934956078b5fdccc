"""Arrays and matrices as files: mapped, and never pickles."""

import mmap
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.format import open_memmap
from scipy import sparse

from ssi_core.arrays import (
    CSR_PARTS,
    LongCsr,
    check_arrays,
    csr_specs,
    load_array,
    load_csr,
    save_csr,
    side_by_side,
    with_data,
)
from ssi_core.kernels.sparse import csr
from ssi_core.types import BadInput


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(BadInput, match="make it again"):
        load_array(tmp_path / "absent.npy")


def test_pickles_are_never_loaded(tmp_path):
    np.save(tmp_path / "evil.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(BadInput, match="pickle"):
        load_array(tmp_path / "evil.npy")


def test_a_matrix_of_more_entries_than_32_bits_count_is_mapped_all_the_same(tmp_path):
    """Its files are holes: such a matrix takes 17 GB, which nothing here reads."""
    long = (1 << 31) + 2
    save_csr(tmp_path, sparse.csr_array((4, 9), dtype=np.float32))
    np.save(tmp_path / "indptr.npy", np.array([0, long, long + 2, long + 2, long + 3]))
    for name, values in (("indices", [3, 8, 5]), ("data", [0.25, 2.0, 4.0])):
        dtype = np.float32 if name == "data" else np.int32
        array = open_memmap(tmp_path / f"{name}.npy", "w+", dtype, (long + 3,))
        array[-3:] = values
    matrix = load_csr(tmp_path)
    assert matrix.nnz == long + 3
    kernels = csr(matrix)
    assert np.shares_memory(matrix.indices, kernels.indices)
    assert np.shares_memory(matrix.data, kernels.data)
    expected = np.zeros((3, 9))
    expected[0, [3, 8]], expected[2, 5] = (0.25, 2.0), 4.0
    for rows in (slice(1, 4), [1, 2, 3], np.array([False, True, True, True])):
        assert np.array_equal(matrix[rows].toarray(), expected)
    assert np.array_equal(matrix[np.array([3, 1])].toarray(), expected[[2, 0]])


def test_matrices_come_back_mapped(tmp_path):
    matrix = sparse.random_array((20, 30), density=0.5, rng=np.random.default_rng(0)).tocsr()
    save_csr(tmp_path / "m", matrix)
    loaded = load_csr(tmp_path / "m")
    assert (loaded != matrix).nnz == 0
    for array in (loaded.data, loaded.indices):
        bottom = array
        while getattr(bottom, "base", None) is not None:
            bottom = bottom.base
        assert isinstance(bottom, mmap.mmap)


def test_the_arrays_of_a_matrix_have_the_lengths_that_are_declared():
    specs = csr_specs(3, 5, CSR_PARTS, "float32")
    rows = sparse.csr_array(np.eye(3, 5, dtype=np.float32))
    arrays = {name: getattr(rows, name) for name in CSR_PARTS}
    check_arrays(specs, arrays, Path("rows"), "Make it again.")
    shorter = arrays | {"indptr": arrays["indptr"][:-1]}
    with pytest.raises(BadInput, match=r"int32 of shape \(3,\), expected .* of shape \(4,\)"):
        check_arrays(specs, shorter, Path("rows"), "Make it again.")


@pytest.mark.parametrize("kind", [sparse.csr_array, LongCsr])
def test_other_numbers_stand_in_the_same_places(kind):
    rng = np.random.default_rng(0)
    rows = kind(sparse.random_array((5, 7), density=0.4, format="csr", dtype=np.float32, rng=rng))
    before = rows.toarray()
    made = with_data(rows, np.arange(rows.nnz, dtype=np.float64))
    assert (type(made), made.shape, made.dtype) == (kind, (5, 7), np.float64)
    assert np.shares_memory(made.indices, rows.indices)
    expected = np.zeros((5, 7))
    expected[np.repeat(np.arange(5), np.diff(rows.indptr)), rows.indices] = np.arange(rows.nnz)
    assert np.array_equal(made.toarray(), expected)
    assert np.array_equal(made[1:3].toarray(), expected[1:3])
    made.data[:] = 9
    assert np.array_equal(rows.toarray(), before)


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_side_by_side_are_those_of_both(rows, dtype):
    left, right = (sparse.random_array((rows, n), density=0.5, rng=n, format="csr") for n in (5, 7))
    joined = side_by_side(left.astype(dtype), right.astype(dtype))
    expected = sparse.hstack([left, right], format="csr", dtype=np.float32)
    assert joined.shape == (rows, 12)
    for part in ("indptr", "indices", "data"):
        found, same = getattr(joined, part), getattr(expected, part)
        assert (found.dtype, found.tolist()) == (same.dtype, same.tolist())


def test_rows_too_wide_for_columns_of_32_bits_are_side_by_side():
    wide = sparse.csr_array(([1.0], ([0], [2**31 - 2])), shape=(1, 2**31 - 1))
    assert side_by_side(wide, wide).indices.tolist() == [2**31 - 2, 2**32 - 3]
