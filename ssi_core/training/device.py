"""Stochastic gradient descent on triples on a GPU, as `sgd.Sgd` is on the processor.

Data go to the device once. Parameters go there before a sweep and come back after it, so that
validation, checkpoints and the best so far are those of any training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ssi_core.kernels.sparse import Csr
from ssi_core.kernels.structs import Data, Parameters, Stepped
from ssi_core.kernels.sweep import Group as Kernels
from ssi_core.training.sgd import Group, Sgd
from ssi_core.types import Refused

THREADS = 64
"""Threads of a block."""

_PIECE = 256
"""Triples of a block in a call of the device: from call to call it sees all steps of the others."""

_OTHERWISE = "Train on the processor: device 'cpu', or the model 'bilinear' in a table."


def require_device() -> str:
    """Return the name of the GPU that a training would use.

    Raises
    ------
    Refused
        There is none, or numba cannot use it.
    """
    try:
        from numba import config, cuda
    except ImportError as error:
        raise Refused(
            f"device 'cuda': numba has no target for it here ({error}). Install numba-cuda. "
            f"{_OTHERWISE}"
        ) from error
    if config.ENABLE_CUDASIM:
        return "simulator"
    if not cuda.is_available():
        reason = cuda.cuda_error() or "the toolkit (NVVM) is missing; CUDA_HOME says where it is"
        raise Refused(
            f"device 'cuda': numba finds no GPU that it can use ({_line(reason)}). {_OTHERWISE}"
        )
    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def _line(reason: object) -> str:
    return " ".join(str(reason).split()).rstrip(":. ")


class DeviceSgd(Sgd):
    """Sweeps of ``U'V`` and a diagonal on a GPU (a `descend.Trainee`).

    Parameters
    ----------
    groups : mapping
        "" -> the one group: "low_rank" in float32, d- drawn uniformly, without WARP.
    blocks : int
        Blocks of threads, each with its own stream of triples. They share the parameters without a
        lock and add to them atomically, in an order that is open; 1 is reproducible.
    threads : int
        Of a block, a power of two, such as `THREADS`.
    judge, observe
        See `Sgd`.
    """

    def __init__(
        self,
        groups: Mapping[str, Group],
        *,
        blocks: int,
        threads: int,
        judge: Callable[[Parameters], float],
        observe: Mapping[str, Callable[[Parameters], float]] | None = None,
    ) -> None:
        (group,) = groups.values()
        kernels = Kernels("low_rank", group.kernels.diagonal)
        if (
            group.kernels != kernels
            or group.settings.warp
            or group.parameters.U.dtype != np.float32
        ):
            raise ValueError(f"{group.kernels}, {group.settings}: the device has no kernel for it")
        # Each block is a thread with states of its own; scratch is on the device alone.
        super().__init__(groups, words=1, threads=blocks, judge=judge, observe=observe)
        self._blocks, self._block = blocks, threads

    def sweep(self, triples: int) -> Mapping[str, float]:
        """Draw so many triples in all blocks; see `Sgd.sweep`."""
        group, (stepped,) = self.groups[""], self._stepped
        self._totals[:] = 0
        on_device = self._on_device
        for host, copy in on_device.changing:
            copy.copy_to_device(host)
        left = triples
        while left > 0:
            steps = min(left, self._blocks * _PIECE)
            on_device.kernel[self._blocks, self._block](
                on_device.learnt,
                on_device.data,
                on_device.work,
                group.n_documents,
                on_device.of(self._states),
                group.settings,
                on_device.of(self._totals),
                Stepped(on_device.of(stepped.queries), on_device.of(stepped.documents)),
                steps,
            )
            left -= steps
        for host, copy in on_device.changing:
            copy.copy_to_host(host)
        return dict(self._measures(self._totals.sum(axis=0)))

    @cached_property
    def _on_device(self) -> _OnDevice:
        group, (stepped,) = self.groups[""], self._stepped
        changing = (self._states, self._totals, stepped.queries, stepped.documents)
        return _OnDevice(group, changing, self._blocks, self._block)


class _OnDevice:
    """Copies of a training's arrays on the device, and its kernel.

    ``changing`` are pairs of an array and its copy: of the parameters, and of others given.
    """

    def __init__(self, group: Group, changing: tuple[Any, ...], blocks: int, threads: int) -> None:
        from numba import cuda

        from ssi_core.kernels.sweep_cuda import Learnt, kernel_of

        parameters, data = group.parameters, _read(group.data)
        learnt = (parameters.U, parameters.V, parameters.diagonal)
        once = {id(array): array for array in (*learnt, *changing)}
        work = blocks * 3 * parameters.U.shape[1]
        read = {id(array): array for array in _arrays(data)}
        self._require(sum(array.nbytes for array in (once | read).values()) + 4 * work)
        self._copies = {key: cuda.to_device(array) for key, array in (once | read).items()}
        self.changing = [(array, self._copies[key]) for key, array in once.items()]
        self.learnt = Learnt(*map(self.of, learnt))
        self.data = Data(*(self._rows(one) for one in data))
        self.work = cuda.device_array((blocks, 3, parameters.U.shape[1]), np.float32)
        self.kernel = kernel_of(group.kernels.diagonal, threads)
        self._kept = data  # whose addresses are keys

    def of(self, array: Any) -> Any:
        """Return the copy of an array."""
        return self._copies[id(array)]

    def _rows(self, one: Any) -> Any:
        return Csr(*map(self.of, one)) if isinstance(one, Csr) else self.of(one)

    @staticmethod
    def _require(needed: int) -> None:
        from numba import cuda

        free = cuda.current_context().get_memory_info()[0]
        if needed > free:
            raise Refused(
                f"device 'cuda': the training needs {needed / 1e9:.1f} GB on the device, and "
                f"{free / 1e9:.1f} GB are free. Use fewer words or dimensions. {_OTHERWISE}"
            )


def _read(data: Data) -> Data:
    """Return what the device reads: sorted rows to look words up in, and no lists of others."""
    queries = data.diagonal_queries
    shape = (len(queries.indptr) - 1, int(queries.indices.max(initial=-1)) + 1)
    rows = sparse.csr_array((queries.data, queries.indices, queries.indptr), shape)
    if not rows.has_sorted_indices:
        rows = rows.sorted_indices()
        queries = Csr(queries.indptr, rows.indices.astype(np.int32, copy=False), rows.data)
    empty = np.zeros(1, np.int32)
    return data._replace(
        diagonal_queries=queries, shown_indptr=np.zeros(1, np.int64), shown=empty, places=empty
    )


def _arrays(data: Data) -> Iterator[Any]:
    for one in data:
        yield from one if isinstance(one, Csr) else (one,)
