"""Sealed directories: what was changed after it was written is never read."""

import json
import os

import numpy as np
import pytest
from scipy import sparse

from ssi_core import cache, integrity, store
from ssi_core.arrays import load_csr, save_csr
from ssi_core.types import BadInput
from tests.seals import reseal


@pytest.fixture
def sealed(tmp_path):
    """An artefact with a matrix, an array, a text and a part in a directory of its own."""
    path = tmp_path / "toy"
    with store.create(path, kind="toy", key="k", configuration={1: (2,)}, parents={}) as building:
        matrix = sparse.csr_array(np.eye(3, 5, dtype=np.float32))
        save_csr(building.path / "matrix", matrix)
        np.save(building.path / "weights.npy", np.arange(4, dtype=np.float32))
        (building.path / "parts").mkdir()
        (building.path / "parts" / "part-0.parquet").write_text("whole")
    store.read(path, "toy")
    return path


def problem(path):
    with pytest.raises(BadInput) as caught:
        store.read(path, "toy")
    assert "make it again" in str(caught.value)
    return str(caught.value)


def test_a_changed_byte_is_named_also_after_the_directory_was_read(sealed):
    part = sealed / "parts" / "part-0.parquet"
    part.write_text("whol3")
    assert f"{part}: its bytes are not those that were written" in problem(sealed)
    part.write_text("longer than before")
    assert "it does not have the 5 bytes" in problem(sealed)
    part.write_text("whole")
    store.read(sealed)


def test_files_that_are_missing_added_or_no_files_are_named(sealed):
    part = sealed / "parts" / "part-0.parquet"
    (sealed / "parts" / "part-1.parquet").write_text("more")
    assert "part-1.parquet: it was not written with the rest" in problem(sealed)
    (sealed / "parts" / "part-1.parquet").unlink()
    part.unlink()
    assert f"{part}: it is missing" in problem(sealed)
    os.mkfifo(part)
    assert f"{part}: it is not a regular file" in problem(sealed)


def test_a_fifo_in_place_of_the_manifest_does_not_wait(sealed):
    (sealed / store.MANIFEST).unlink()
    os.mkfifo(sealed / store.MANIFEST)
    assert "not a regular file" in problem(sealed)


def test_a_manifest_that_says_something_else_is_refused(sealed):
    path = sealed / store.MANIFEST
    text = path.read_text()
    path.write_text(text.replace('"key": "k"', '"key": "x"'))
    assert f"{path}: it was changed after it was written" in problem(sealed)
    path.write_text(json.dumps({"kind": "toy", "key": "k"}))
    assert "another version of ssi" in problem(sealed)


def test_two_arrays_that_change_places_are_noticed(sealed):
    one, two = sealed / "matrix" / "indices.npy", sealed / "weights.npy"
    other = one.with_name("other")
    one.rename(other), two.rename(one), other.rename(two)
    assert "weights.npy" in problem(sealed) or "indices.npy" in problem(sealed)


@pytest.mark.parametrize(
    ("name", "array", "reason"),
    [
        ("weights.npy", np.array([1, np.nan], np.float32), "not finite"),
        ("weights.npy", np.array([np.inf, -np.inf]), "not finite"),
        ("matrix/indices.npy", np.array([0, 1, -1], np.int32), r"not one of 0\.\.4"),
        ("matrix/indices.npy", np.array([0, 1, 5], np.int32), r"not one of 0\.\.4"),
    ],
)
def test_arrays_that_kernels_cannot_trust_are_refused_with_right_digests(
    sealed, name, array, reason
):
    np.save(sealed / name, array)
    reseal(sealed)
    with pytest.raises(BadInput, match=reason):
        store.read(sealed)


def test_a_matrix_whose_arrays_differ_in_length_is_refused(sealed):
    np.save(sealed / "matrix" / "data.npy", np.ones(2, np.float32))
    reseal(sealed)
    store.read(sealed)
    with pytest.raises(BadInput, match="do not fit together"):
        load_csr(sealed / "matrix")


def test_hidden_files_are_no_part_of_it(sealed):
    (sealed / ".note").write_text("anything")
    store.read(sealed)


@pytest.mark.parametrize(("size", "read"), [(64 << 20, 7), (60 << 20, 14)])
def test_a_large_directory_is_read_once_by_later_processes(
    sealed, tmp_path, monkeypatch, size, read
):
    with (sealed / "large").open("wb") as file:
        file.truncate(size)
    reseal(sealed)
    monkeypatch.setenv("SSI_CACHE", str(tmp_path / "cache"))
    measured = []
    measure = integrity._measure
    monkeypatch.setattr(integrity, "_measure", lambda f: measured.append(f) or measure(f))
    for expected in (7, read):
        integrity._checked.clear()
        store.read(sealed)
        assert len(measured) == expected
    # The same size, and other bytes at another time.
    (sealed / "parts" / "part-0.parquet").write_text("whol3")
    assert "its bytes" in problem(sealed)
    if read == 7:
        assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


def test_a_cache_that_others_can_write_is_not_used(tmp_path, monkeypatch):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("SSI_CACHE", str(tmp_path / "open"))
    cache.remember("checked", "name", "fact")
    assert cache.recall("checked", "name") is None
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SSI_CACHE", str(tmp_path / "file"))
    cache.remember("checked", "name", "fact")
    assert cache.recall("checked", "name") is None
