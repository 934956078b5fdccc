"""Arrays and matrices as files: mapped, and never pickles."""

import mmap

import numpy as np
import pytest
from scipy import sparse

from ssi_core.arrays import load_array, load_csr, save_csr
from ssi_core.types import BadInput


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(BadInput, match="make it again"):
        load_array(tmp_path / "absent.npy")


def test_pickles_are_never_loaded(tmp_path):
    np.save(tmp_path / "evil.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(BadInput, match="pickle"):
        load_array(tmp_path / "evil.npy")


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
