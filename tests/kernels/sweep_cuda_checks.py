"""What `test_sweep_cuda` runs in a process of its own: on numba's simulator, or on a GPU."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numba import cuda
from scipy import sparse

from benchmarks import cuda as benchmark
from ssi_core.kernels.sparse import aligned_empty, csr, padded
from ssi_core.kernels.structs import Data, Parameters, Settings
from ssi_core.kernels.sweep import Group as Kernels
from ssi_core.kernels.sweep import draw_weighted
from ssi_core.models.base import Course
from ssi_core.models.bilinear import Bilinear, _Training
from ssi_core.models.bilinear_cuda import BilinearCuda
from ssi_core.training.device import DeviceSgd, _read
from ssi_core.training.sgd import Group, Sgd
from ssi_core.types import Pairs, Refused, Task, Texts
from tests.kernels.test_sweep import naive_splitmix, naive_sweep

pytestmark = pytest.mark.trains

WORDS, N, DOCUMENTS, THREADS = 12, 5, 10, 4
DIAGONALS = ("none", "alpha", "weights")


def task_data(rng, view, diagonal_view):
    pairs = np.array([[i, (i + k) % DOCUMENTS] for i in range(DOCUMENTS) for k in (1, 4)], np.int32)
    excluded = [sorted({i, *(int(b) for a, b in pairs if a == i)}) for i in range(DOCUMENTS)]
    indptr = np.arange(DOCUMENTS + 1) * 3
    links = pairs, indptr, np.concatenate(excluded).astype(np.int32)
    data = Data.of(*[csr(view)] * 2, *[csr(diagonal_view)] * 2, *links)
    return data, (pairs.tolist(), [set(one) for one in excluded])


def rows(rng, n=DOCUMENTS):
    matrix = sparse.random_array((n, WORDS), density=0.4, rng=rng, dtype=np.float32).tocsr()
    matrix.indices = matrix.indices.astype(np.int32)
    matrix.sort_indices()
    return matrix


def training(kind, diagonal="alpha", tied=False, seed=0, negatives=2, rates=(0.05, 0.03), **how):
    """A training at its start, and a copy of its data for naive twins."""
    rng = np.random.default_rng(seed)
    view, diagonal_view = rows(rng), rows(rng)
    data, naive = task_data(rng, view, diagonal_view)
    maps = []
    for _ in range(2):
        maps.append(aligned_empty(WORDS, padded(N)))
        maps[-1][:] = 0
        maps[-1][:, :N] = rng.normal(size=(WORDS, N))
    values = rng.uniform(0.5, 2, WORDS if diagonal == "weights" else 1).astype(np.float32)
    learnt = Parameters(maps[0], maps[0] if tied else maps[1], values)
    settings = Settings(np.float32(1), *map(np.float32, rates), np.int64(negatives))
    group = Group(Kernels("low_rank", diagonal), learnt, data, settings, DOCUMENTS, 3)
    made = kind({"": group}, judge=lambda parameters: 0.0, **how)
    return made, naive, view.toarray().astype(np.float64)


def on_device(blocks, threads=THREADS, **how):
    return training(DeviceSgd, blocks=blocks, threads=threads, **how)


def changed(trained, blocks=1, **changes):
    """A training on the device of the same group, but for some of its data or settings."""
    group = trained.groups[""]
    for name in ("data", "settings", "parameters"):
        group = replace(group, **{name: getattr(group, name)._replace(**changes.get(name, {}))})
    return DeviceSgd({"": group}, blocks=blocks, threads=THREADS, judge=lambda parameters: 0.0)


def same_arrays(one, other, **within):
    assert one.arrays.keys() == other.arrays.keys()
    for name, array in one.arrays.items():
        np.testing.assert_allclose(array, other.arrays[name], err_msg=name, **within)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("diagonal", DIAGONALS)
def test_a_step_of_one_block_is_that_of_the_processor(diagonal, tied):
    """One violated triple: parameters within 1e-6, the state of the sampler to the bit."""
    for seed in range(3):
        how = {"diagonal": diagonal, "tied": tied, "seed": seed, "negatives": 4}
        cpu, *_ = training(Sgd, words=WORDS, threads=1, **how)
        device, *_ = on_device(1, **how)
        before = {name: array.copy() for name, array in device.arrays.items()}
        assert cpu.sweep(1) == pytest.approx(device.sweep(1), abs=1e-6)
        same_arrays(device, cpu, atol=1e-6)
        moved = {n for n, array in device.arrays.items() if not np.array_equal(array, before[n])}
        assert {"U", "states"} <= moved
        assert ("diagonal" in moved) == (diagonal != "none")


@pytest.mark.parametrize("diagonal", DIAGONALS)
def test_a_sweep_of_one_block_draws_and_marks_what_a_thread_does(diagonal):
    cpu, *_ = training(Sgd, words=WORDS, threads=1, diagonal=diagonal)
    device, *_ = on_device(1, diagonal=diagonal)
    for triples in (12, 8):
        measures = cpu.sweep(triples)
        assert device.sweep(triples) == pytest.approx(measures, abs=1e-5)
    same_arrays(device, cpu, atol=1e-5)
    for one, other in zip(device._stepped[0], cpu._stepped[0], strict=True):
        np.testing.assert_array_equal(one, other)


def test_threads_without_a_dimension_of_their_own_add_nothing():
    cpu, *_ = training(Sgd, words=WORDS, threads=1)
    device, *_ = on_device(1, threads=2 * padded(N))
    assert cpu.sweep(1) == pytest.approx(device.sweep(1), abs=1e-6)
    same_arrays(device, cpu, atol=1e-6)


def test_one_block_agrees_with_the_naive_twin():
    """Dense float64 vectors, from the paper; the two views are then one."""
    first, (pairs, excluded), x = on_device(1, rates=(0.05, 0.0))
    rows = {f"diagonal_{side}": first.groups[""].data.queries for side in ("queries", "documents")}
    device = changed(first, data=rows)
    p = device.parameters
    U, V = (np.array(a[:, :N], np.float64) for a in (p.U, p.V))
    state = int(device.arrays["states"][0, 0, 0])
    alpha, triples = float(p.diagonal[0]), 30
    violated = naive_sweep(state, pairs, excluded, x, U, V, alpha, 1.0, 0.05, 2, False, triples)
    assert device.sweep(triples)["train/violated"] * triples == violated > 10
    np.testing.assert_allclose(p.U[:, :N], U, atol=1e-4)
    np.testing.assert_allclose(p.V[:, :N], V, atol=1e-4)
    assert not p.U[:, N:].any()


def test_blocks_share_the_triples_and_each_draws_its_own():
    """Of 3 blocks and 8 triples 3, 3 and 2; with no step each draws as its seed says."""
    device, *_ = on_device(3, rates=(0.0, 0.0), negatives=1)
    states = device.arrays["states"][:, 0, 0].copy()
    assert len(set(states.tolist())) == 3
    pairs = device.groups[""].data.pairs
    excluded = device.groups[""].data.barred_indices.reshape(DOCUMENTS, 3)
    device.sweep(8)
    for state, now, triples in zip(
        states, device.arrays["states"][:, 0, 0], (3, 3, 2), strict=True
    ):
        expected = int(state)
        for _ in range(triples):
            expected, z = naive_splitmix(expected)
            q = int(pairs[((z >> 32) * len(pairs)) >> 32, 0])
            while True:
                expected, z = naive_splitmix(expected)
                if ((z >> 32) * DOCUMENTS) >> 32 not in excluded[q]:
                    break
        assert int(now) == expected
    assert device._totals[:, 0, 0].tolist() == [3, 3, 2]


def test_no_step_of_many_blocks_is_lost():
    """Where 0, 1 and 2 are the one triple, whose hinge no step ends, steps of D add up."""
    first, *_ = on_device(1, diagonal="weights", negatives=1)
    others = np.delete(np.arange(DOCUMENTS, dtype=np.int32), 2)
    one_triple = {
        "pairs": np.array([[0, 1]], np.int32),
        "barred_indptr": np.arange(DOCUMENTS + 1) * len(others),
        "barred_indices": np.tile(others, DOCUMENTS),
    }
    settings = {"margin": np.float32(1e6), "rate": np.float32(0), "diagonal_rate": np.float32(0.5)}
    device = changed(first, 5, data=one_triple, settings=settings)
    before = device.parameters.diagonal.copy()
    assert device.sweep(20)["train/violated"] == 1
    data = device.groups[""].data
    q, p, n = (
        sparse.csr_array((side.data, side.indices, side.indptr), (DOCUMENTS, WORDS))[[row]]
        for side, row in zip(
            (data.diagonal_queries, *[data.diagonal_documents] * 2), range(3), strict=True
        )
    )
    expected = before + 20 * 0.5 * (q.multiply(p - n)).toarray()[0]
    assert not np.allclose(expected, before)
    np.testing.assert_allclose(device.parameters.diagonal, expected, atol=1e-5)


def test_a_query_without_a_negative_is_skipped():
    first, *_ = on_device(1)
    every = {
        "barred_indptr": np.arange(DOCUMENTS + 1) * DOCUMENTS,
        "barred_indices": np.tile(np.arange(DOCUMENTS, dtype=np.int32), DOCUMENTS),
    }
    device = changed(first, data=every)
    before = device.parameters.U.copy()
    assert device.sweep(1) == {"train/skipped": 1, "train/hinge": 0, "train/violated": 0}
    np.testing.assert_array_equal(device.parameters.U, before)


def test_rows_are_sorted_for_the_device():
    device, *_ = on_device(1)
    data = device.groups[""].data
    assert _read(data).diagonal_queries is data.diagonal_queries
    backward = csr(sparse.csr_array((np.float32([1, 2]), [3, 1], [0, 2]), (1, WORDS)))
    found = _read(data._replace(diagonal_queries=backward)).diagonal_queries
    assert (found.indices.tolist(), found.data.tolist()) == ([1, 3], [2, 1])
    assert backward.indices.tolist() == [3, 1]


@pytest.mark.parametrize(
    "kernels",
    [Kernels("free", "none"), Kernels("low_rank", "none", draw_weighted)],
    ids=["form", "draw"],
)
def test_what_has_no_kernel_is_refused(kernels):
    first, *_ = on_device(1)
    group = replace(first.groups[""], kernels=kernels)
    with pytest.raises(ValueError, match="the device has no kernel for it"):
        DeviceSgd({"": group}, blocks=1, threads=THREADS, judge=lambda parameters: 0.0)
    half = {"U": np.zeros((WORDS, padded(N)), np.uint16)}
    for changes in ({"settings": {"warp": True}}, {"parameters": half}):
        with pytest.raises(ValueError, match="the device has no kernel for it"):
            changed(first, **changes)


def test_too_little_memory_is_refused(monkeypatch):
    device, *_ = on_device(1)
    context = cuda.current_context()
    monkeypatch.setattr(type(context), "get_memory_info", lambda self: (10, 20))
    with pytest.raises(Refused, match=r"needs 0\.0 GB on the device, and 0\.0 GB are free"):
        device.sweep(1)


class Generated:
    """A view of columns that no text has."""

    space, words, name, language = "toy", tuple(map(str, range(WORDS))), "raw", "en"


def toy():
    """Two subjects, each with words of its own; documents of one are linked."""
    rng = np.random.default_rng(1)
    subject = np.arange(16) % 2
    dense = rng.random((16, WORDS)).astype(np.float32)
    dense[:, ::2] *= subject[:, None]
    dense[:, 1::2] *= 1 - subject[:, None]
    dense[rng.random(dense.shape) < 0.4] = 0
    dense[:, :2] += 0.1
    view = sparse.csr_array(dense / np.linalg.norm(dense, axis=1, keepdims=True))
    ids = pl.Series([str(i) for i in range(16)])
    texts = Texts(ids, ids, {"raw": view.astype(np.float32)}, {"raw": Generated()})
    pairs = np.array([(i, j) for i in range(16) for j in range(16) if i != j and i % 2 == j % 2])
    held = rng.random(len(pairs)) < 0.3
    sides = Pairs.of(pairs[~held]), Pairs.of(pairs[held]), Pairs.of(())
    itself = sparse.csr_array(sparse.eye_array(16, dtype=np.bool_))
    return Task(texts, texts, *sides, exclude=itself, key="toy")


HOW = {"dimensions": 4, "rates": (0.3,), "epoch": 40, "budget": 80, "diagonal": "none"}


def test_a_model_of_one_block_is_that_of_the_processor(monkeypatch):
    monkeypatch.setattr("ssi_core.models.bilinear_cuda.THREADS", THREADS)
    fits = [
        model.fit(toy(), np.random.default_rng(0))
        for model in (Bilinear(**HOW), BilinearCuda(**HOW, blocks=1))
    ]
    assert fits[1].model.repeats
    assert fits[1].facts["device"].endswith(", reproducible")
    assert fits[1].facts["triples"] == fits[0].facts["triples"]
    for name, array in fits[0].arrays.items():
        np.testing.assert_allclose(fits[1].arrays[name], array, atol=1e-5)


def test_the_benchmark_measures_both():
    training = _Training(Bilinear(dimensions=4), toy(), {}, 0, Course())
    for blocks in (0, 2):
        speed, loss = benchmark.measured(benchmark.begin(training, blocks, THREADS), 4, 2)
        assert speed > 0
        assert 0 <= loss < 1


def test_validation_falls_with_several_blocks(monkeypatch, tmp_path):
    monkeypatch.setattr("ssi_core.models.bilinear_cuda.THREADS", THREADS)
    model, curve = BilinearCuda(**HOW, blocks=4), []
    fit = model.fit(
        toy(),
        np.random.default_rng(0),
        watch=lambda step, metrics: curve.append(metrics["val/rank_loss"]),
        checkpoint=tmp_path / "state",
    )
    assert fit.facts["device"].endswith(", not reproducible")
    assert fit.facts["device"].startswith("cuda (")
    assert fit.facts["validation_rank_loss"] == min(curve) < curve[0] / 2
