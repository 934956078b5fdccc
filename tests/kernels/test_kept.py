"""Compiled kernels that outlive their process: found again, and only by what they belong to."""

import os
import subprocess
import sys
from random import Random
from types import FunctionType
from unittest.mock import Mock

import numba
import numpy as np
import pytest

from ssi_core import compiled
from ssi_core.kernels import jit, jit_fast, part
from ssi_core.kernels.compiling import keys, machine_code
from ssi_core.kernels.sparse import dot
from ssi_core.kernels.training.sweep import _take

compiling = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="all is Python")
PROCESSOR = ("x86_64-unknown-linux-gnu", "some", "+avx")
SCALE = 2.0
TABLE = np.array([1.0, 2.0])
pi = object()  # no text says what it is

# Trainings of a few steps; prints the digest of what each has changed, and sweeps that were kept.
TRAINS = """
import hashlib, sys
import numpy as np
from scipy import sparse
from ssi_core.kernels.training import sweep
from ssi_core.kernels.sparse import csr
from ssi_core.kernels.training.structs import Data, Parameters, Settings, Stepped, Turn, Work

rng = np.random.default_rng(1)
texts = sparse.random_array((50, 90), density=0.2, rng=rng, dtype=np.float32, format="csr")
texts.sort_indices()
rows, none = csr(texts), np.zeros((0, 16), np.float32)
pairs = rng.integers(0, 50, (200, 2)).astype(np.int32)
data = Data(rows, rows, rows, rows, pairs, np.zeros(51, np.int64), np.zeros(0, np.int32))
work = Work(none[0:0, 0], none, np.zeros(90, np.float32), np.zeros(2, np.float32))
settings = Settings(*map(np.float32, (1, 0.01, 0.01)), np.int64(5), True)
for diagonal in sys.argv[1:]:
    parameters = Parameters(none, none, np.ones(90, np.float32))
    totals, state = np.zeros(4), np.array([7], np.uint64)
    group = sweep.Group("zero", diagonal)
    stepped = Stepped.none_of(data, 50)
    turn = Turn(parameters, data, work, 50, state, settings, totals, stepped)
    sweep.sweep_of(group)([turn])(3000)
    assert totals[0] == 3000 and totals[2] > 100
    changed = b"".join(array.tobytes() for array in (parameters.diagonal, state, totals))
    kernel = sweep.kernel_of(group)
    hits = sum(kernel.stats.cache_hits.values()) if hasattr(kernel, "stats") else 0
    print(hashlib.sha256(changed).hexdigest(), hits)
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


def scaled(scale, how=jit):
    """A kernel that closes over a number."""

    @how
    def kernel(x):
        return scale * x

    return kernel


def through(other):
    """A kernel that closes over another one."""

    @jit
    def kernel(x):
        return other(x) + 1

    return kernel


@jit
def global_scale(x):
    return SCALE * x


@jit
def global_table(x):
    return TABLE[1] * x


@jit
def factorial(n):
    return n * factorial(n - 1) if n > 1 else 1


def copied(kernel):
    """The same kernel as another process would have it."""
    f = kernel.py_func
    return jit(FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__))


def key(kernel):
    return keys.key(kernel, (numba.float64,), None)


def hits(kernel):
    return sum(kernel.stats.cache_hits.values())


def start(*arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", TRAINS, *arguments],
        env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def answer(process):
    out, _ = process.communicate()
    assert process.returncode == 0
    rows = [line.split() for line in out.splitlines()]
    return [digest for digest, _ in rows], [int(hits) for _, hits in rows]


# --- what is found again -------------------------------------------------------------------------


@compiling
def test_a_kernel_is_found_again():
    first, second = scaled(3.0), scaled(3.0)
    assert first(2.0) == second(2.0) == 6
    assert (hits(first), hits(second)) == (0, 1)
    assert second(2) == 6
    assert hits(second) == 1, "a type of its own"


@compiling
@pytest.mark.parametrize(("symbol", "times"), [("malloc", 0), ("of_numba_not_yet_loaded", 1)])
def test_numba_is_loaded_whole_where_kept_code_lacks_a_part(monkeypatch, symbol, times):
    target = Mock()
    monkeypatch.setattr(machine_code, "rtsys", Mock())
    machine_code._provide(["free", symbol], target)
    assert target.refresh.call_count == times


@compiling
def test_kernels_of_one_name_and_type_are_told_apart():
    kept, anew = scaled(3.0), scaled(5.0)
    assert kept(2.0) == 6
    # As in another process, where the first is found on disk and the second is compiled.
    assert [scaled(3.0)(2.0), anew(2.0), scaled(5.0)(2.0), scaled(3.0)(2.0)] == [6, 10, 10, 6]
    assert [through(scaled(3.0))(2.0), through(scaled(5.0))(2.0)] == [7, 11]
    assert [through(scaled(5.0))(2.0), through(scaled(3.0))(2.0)] == [11, 7]


@compiling
def test_a_part_is_found_again_and_keeps_no_entry():
    first, second = scaled(3.0, part), scaled(3.0, part)
    assert [through(first)(2.0), through(through(second))(2.0)] == [7, 8]
    assert through(through(scaled(3.0, part)))(2.0) == 8
    third = scaled(3.0, part)

    @jit
    def other(x):
        return third(x) - 1

    assert other(2.0) == 5
    assert (hits(first), hits(third)) == (0, 1)
    for kernel in (first, third):
        with pytest.raises(TypeError, match="no entry from Python"):
            kernel(2.0)


@compiling
@pytest.mark.slow
def test_trainings_have_the_same_bits_compiled_kept_and_of_kept_parts(tmp_path):
    alpha, found = answer(start("alpha"))
    assert found == [0]
    # The sweep of alpha is there now, and of the other one the parts that both share.
    (weights, again), found = answer(start("weights", "alpha"))
    assert ([again], found) == (alpha, [0, 1])
    # Two processes that begin with nothing, at the same time.
    both = [start("weights", SSI_CACHE=str(tmp_path / "empty")) for _ in range(2)]
    assert [answer(one)[0] for one in both] == [[weights]] * 2
    assert answer(start("weights", SSI_CACHE=str(tmp_path / "empty"))) == ([weights], [1])


def test_without_the_jit_nothing_is_kept(place):
    digests, found = answer(start("alpha", NUMBA_DISABLE_JIT="1"))
    assert (len(digests), found) == (1, [0])
    assert not place.exists()


# --- what goes wrong -----------------------------------------------------------------------------


@compiling
def test_damaged_files_are_compiled_anew(place):
    assert scaled(3.0)(2.0) == 6
    (file,) = place.glob("*/*")
    whole, random = file.read_bytes(), Random(1)
    build, name = file.parent.name, file.name
    for flip in range(200):
        damaged = bytearray(whole)
        damaged[random.randrange(len(whole))] ^= 1 << random.randrange(8)
        file.write_bytes(damaged[: random.randrange(len(whole))] if flip % 4 == 3 else damaged)
        assert compiled.read(build, name) is None
        if flip % 40 == 0:
            again = scaled(3.0)
            assert again(2.0) == 6
            assert hits(again) == 0
            assert compiled.read(build, name) is not None
    # The digest is right, what it is of is not.
    for payload in (b"", b"no pickle", whole[32:][:1000]):
        compiled.write(build, name, payload)
        assert scaled(3.0)(2.0) == 6


@compiling
def test_a_cache_that_cannot_be_used_breaks_nothing(place, tmp_path, monkeypatch):
    place.parent.mkdir()
    place.write_text("a file")
    assert [scaled(3.0)(2.0) for _ in range(2)] == [6, 6]
    monkeypatch.setenv("SSI_CACHE", str(tmp_path / "other"))
    for name in ("read", "write"):
        monkeypatch.setattr(compiled, name, None)
    assert [scaled(3.0)(2.0) for _ in range(2)] == [6, 6]


@compiling
def test_a_source_that_was_edited_since_is_not_kept(monkeypatch, place):
    monkeypatch.setattr(keys, "source_digest", lambda: "another")
    assert scaled(3.0)(2.0) == 6
    assert list(place.glob("*/*")) == []


@compiling
def test_recompile_and_disable_pass_the_cache_by(place):
    kernel = scaled(3.0)
    assert kernel(2.0) == 6
    (file,) = place.glob("*/*")
    kernel.recompile()
    assert hits(kernel) == 0
    assert file.exists()
    again = scaled(3.0)
    again._cache.disable()
    assert again(2.0) == 6
    assert hits(again) == 0
    again._cache.enable()
    assert again._cache.cache_path == str(place)


# --- keys ----------------------------------------------------------------------------------------


@compiling
def test_a_key_is_that_of_the_same_code_in_another_process():
    assert key(scaled(3.0)) == key(scaled(3.0))
    assert key(through(scaled(3.0))) == key(through(scaled(3.0)))
    for kernel in (global_scale, global_table, factorial, dot):
        assert key(kernel) == key(kernel)
    assert key(copied(global_table)) == key(global_table)


@compiling
def test_another_closure_another_key():
    values = (3.0, 3, 4.0, True, 1, "3", None, (3.0,), np.float32(3), np.float64(3), -0.0, 0.0)
    kernels = [scaled(value) for value in values]
    kernels += [scaled(3.0, jit_fast), scaled(3.0, part)]
    kernels += [through(scaled(value)) for value in values[:3]]
    kernels += [through(through(scaled(value))) for value in values[:3]]
    kernels += [scaled(np.array(row)) for row in ([3.0], [4.0], [[3.0]], [3], [3, 4])]
    assert len({key(kernel) for kernel in kernels}) == len(kernels)


@compiling
def test_another_global_another_key(monkeypatch):
    before = key(global_scale), key(global_table)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    monkeypatch.setattr(sys.modules[__name__], "TABLE", np.array([1.0, 3.0]))
    assert key(global_scale) != before[0]
    assert key(global_table) != before[1]


@compiling
def test_another_signature_another_key():
    signatures = [
        ((numba.float64,), None),
        ((numba.float32,), None),
        ((numba.float64,), numba.float64),
        ((numba.float64, numba.float64), None),
        ((numba.float64[:],), None),
        ((numba.float64[::1],), None),
        ((numba.types.Array(numba.float64, 1, "C", readonly=True),), None),
    ]
    kernel = scaled(3.0)
    assert len({keys.key(kernel, *one) for one in signatures}) == len(signatures)


@compiling
def test_what_calls_the_parts_of_a_sweep_is_kept():
    """It refers to an intrinsic of this package, whose sources are part of a build."""
    numbers = numba.int64[::1], numba.types.UniTuple(numba.int64, 1), numba.int64, numba.int64
    assert keys.key(_take, numbers, None)


@compiling
def test_a_value_that_cannot_be_told_has_no_key(place):
    def kernel(x):
        return round(np.pi) * x

    with pytest.raises(keys.NoKey, match="object"):
        key(jit(kernel))
    with pytest.raises(keys.NoKey, match="type"):
        keys.key(scaled(3.0), (numba.typeof(dot),), None)
    # It works, and is compiled in each process.
    assert [jit(kernel)(2.0) for _ in range(2)] == [6, 6]
    assert list(place.glob("*/*")) == []


def test_another_build_for_sources_versions_processor_and_options(monkeypatch):
    builds = [keys.build(PROCESSOR)]

    def changed(owner, name, value):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, value)
            builds.append(keys.build(PROCESSOR))

    assert keys.build(PROCESSOR) == builds[0]
    for i in range(3):
        builds.append(keys.build(tuple("other" if k == i else PROCESSOR[k] for k in range(3))))
    changed(keys, "SOURCES", "another")
    for module in (numba, np, keys.llvmlite):
        changed(module, "__version__", "0")
    changed(keys.platform, "python_version", lambda: "3.0")
    for option in ("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "DEBUGINFO_DEFAULT", "CPU_NAME"):
        changed(numba.config, option, "another")
    assert len(set(builds)) == len(builds)
    for option in ("NUMBA_NUM_THREADS", "CACHE_DIR", "THREADING_LAYER"):
        changed(numba.config, option, "another")
        assert builds[-1] == builds[0]


def test_the_sources_are_all_files_of_the_package(monkeypatch, tmp_path):
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.setattr(keys, "__file__", str(tmp_path / "one.py"))
    digests = [keys.source_digest()]
    (tmp_path / "two.py").write_text("x = 2\n")
    digests.append(keys.source_digest())
    (tmp_path / "three.py").write_text("")
    digests.append(keys.source_digest())
    (tmp_path / "three.py").rename(tmp_path / "four.py")
    digests.append(keys.source_digest())
    assert len(set(digests)) == 4
    monkeypatch.undo()
    assert keys.source_digest() == keys.SOURCES
