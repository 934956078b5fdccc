"""Clients of ``ssi serve`` in a process of their own: ``python -m benchmarks.load PORT 8 3``."""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from contextlib import closing
from dataclasses import asdict, dataclass

import numpy as np

WORDS = 3000
"""A query is three of the words ``w0`` ... ``w2999``."""


@dataclass(frozen=True)
class Load:
    """What the clients saw: seconds, milliseconds of each answer, what was no answer."""

    seconds: float
    times: list[float]
    errors: list[str]


def ask(port: int, clients: int, seconds: float) -> Load:
    """Let clients ask one query after the other, each over a connection that it keeps."""
    times: list[float] = []
    errors: list[str] = []
    ready = threading.Barrier(clients + 1)

    def client(seed: int) -> None:
        rng = np.random.default_rng(seed)
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            ready.wait()
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                query = "+".join(f"w{word}" for word in rng.integers(0, WORDS, 3))
                start = time.perf_counter()
                try:
                    connection.request("GET", f"/search?q={query}")
                    answer = connection.getresponse()
                    answer.read()
                except (OSError, http.client.HTTPException) as error:
                    errors.append(repr(error))
                    connection.close()
                    continue
                times.append(1e3 * (time.perf_counter() - start))
                if answer.status != 200:
                    errors.append(str(answer.status))

    threads = [threading.Thread(target=client, args=(seed,)) for seed in range(clients)]
    for thread in threads:
        thread.start()
    ready.wait()
    start = time.monotonic()
    for thread in threads:
        thread.join()
    return Load(time.monotonic() - start, times, errors)


if __name__ == "__main__":
    print(json.dumps(asdict(ask(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))))
