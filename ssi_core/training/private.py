"""Rows of the most frequent words that each of several threads of a training has for itself."""

from __future__ import annotations

from threading import Lock

import numpy as np

from ssi_core.kernels.training.private import Private, give, own_rows, take
from ssi_core.kernels.training.structs import Data, Parameters
from ssi_core.kernels.training.sweep import Group, Taker

_WORDS = 256
"""Words that have such rows: those of U and V fit into a core's cache, 112 KiB each at N = 100."""

_STALE = 8
"""Training pairs for each triple that threads take, all together, before they exchange the rows.

Workers that summed up all that they had changed were as good as one as long as their triples
between two exchanges were at most some 13 % of the pairs.
"""


class PrivateRows:
    """Rows of U and V of the most frequent words, one copy a thread.

    Parameters
    ----------
    parameters : Parameters
        What the threads share, with U and V.
    threads : int
        Number of threads.

    Attributes
    ----------
    parameters : list of Parameters
        Those of each thread.
    """

    def __init__(self, parameters: Parameters, threads: int) -> None:
        U, V = parameters.U, parameters.V
        self._shared, self._lock = parameters, Lock()

        def one() -> Private:
            of_v = own_rows(V, _WORDS)
            of_u = of_v if U is V else own_rows(U, _WORDS)
            return Private(of_u, of_v, np.empty(V.shape[1], np.float32))

        self._private = [one() for _ in range(threads)]
        self.parameters = [parameters._replace(private=mine) for mine in self._private]

    def exchanging(self, thread: int, taker: Taker) -> Taker:
        """Return what has a thread take steps with the rows as all have left them, for all."""
        mine = self._private[thread]
        pairs = [(self._shared.V, mine.V)]
        if self._shared.U is not self._shared.V:
            pairs.append((self._shared.U, mine.U))

        def with_own_rows(steps: int) -> None:
            with self._lock:
                for embedding, rows in pairs:
                    take(embedding, rows)
            taker(steps)
            with self._lock:
                for embedding, rows in pairs:
                    give(embedding, rows, mine.change)

        return with_own_rows


def worth_while(kernels: Group, data: Data, threads: int, triples: int) -> bool:
    """Tell whether threads shall have such rows, which exchange them after so many triples each."""
    plain = kernels.form == "low_rank" and not (kernels.second or kernels.block)
    return plain and threads > 1 and _STALE * threads * triples <= len(data.pairs)
