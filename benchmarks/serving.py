"""``ssi serve`` under load: requests a second, latency, errors while models are swapped.

100,000 generated documents of 100 words under a bilinear model of 100 dimensions, queries of three
words, clients in a process of their own. The peer of the exact search is the same service with each
question answered by itself, that of the approximate one is the exact. Of two models, each takes
over from the other while 8 clients ask.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import httpx
import numpy as np
import polars as pl
import psutil
from scipy import sparse

from benchmarks.load import WORDS, Load
from benchmarks.timing import Row
from flows.servers.server import free_port
from ssi_core.models.base import FittedModel
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.serving.index import build_index
from ssi_core.types import Texts
from ssi_core.views.lexicon import Vocabulary
from ssi_core.views.statistics import Statistics
from ssi_core.views.text_view import TextView
from ssi_core.views.weighting import Weighting

_DOCUMENTS, _VOCABULARY, _LENGTH, _DIMENSIONS = 100_000, 30_000, 100, 100
_CLIENTS, _ROUNDS, _SECONDS = (1, 8, 64), 3, 2.5
_SWAPS, _SWAP_SECONDS = 4, 10.0
_NAME = "models:/load@champion"

# What `ssi serve` runs, with an alias that is a file.
_SERVICE = """
import sys
from pathlib import Path
from ssi_core.command.search import prepared
from flows.serve import work
from flows.serve.run import serve
place, port, together, approximately = Path(sys.argv[1]), *map(int, sys.argv[2:])
work._TOGETHER = together or work._TOGETHER
serve(
    ["models:/load@champion"], lambda name: Path((place / "champion").read_text()), port=port,
    documents=place / str(port) / "documents.db", index=None,
    prepare=prepared(bool(approximately), 0.95), seconds=0.2, threads=None,
    ready=lambda address, service: print("ready", service.models[0].searcher.recall, flush=True),
)
"""


@dataclass(frozen=True)
class _Service:
    process: psutil.Process
    port: int
    recall: str

    def load(self, clients: int, seconds: float) -> tuple[Load, float]:
        """Let clients ask; return what they saw, and milliseconds of the processor a request."""
        before = self._cpu()
        command = [
            sys.executable,
            "-m",
            "benchmarks.load",
            *map(str, (self.port, clients, seconds)),
        ]
        said = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        found = Load(**json.loads(said.stdout))
        return found, 1e3 * (self._cpu() - before) / max(1, len(found.times))

    def swaps(self) -> float:
        """Models that took over until now."""
        text = httpx.get(f"http://127.0.0.1:{self.port}/metrics").text
        return float(text.split("\nssi_model_swaps_total ")[1].split("\n")[0])

    def _cpu(self) -> float:
        times = self.process.cpu_times()
        return times.user + times.system


@contextmanager
def _service(path: Path, *, together: int = 0, approximate: bool = False) -> Iterator[_Service]:
    port = free_port()
    arguments = map(str, (path, port, together, int(approximate)))
    command = [sys.executable, "-c", _SERVICE, *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "SSI_ROOT": str(path)}
    ) as process:
        try:
            assert process.stdout is not None
            ready = process.stdout.readline().split()
            if not ready:
                raise RuntimeError("the service did not start")
            yield _Service(psutil.Process(process.pid), port, ready[1])
        finally:
            process.terminate()


def _write_models(path: Path) -> list[Path]:
    """Write two models and their indexes."""
    rng = np.random.default_rng(0)
    words = [f"w{word}" for word in range(_VOCABULARY)]
    statistics = Statistics(np.ones(_VOCABULARY, np.float32), 100, 10.0)
    own = TextView("en", Vocabulary(pl.Series("word", words)), statistics, Weighting("counts"))
    views = {"raw": own.named("raw")}
    chance = 1 / np.arange(10, _VOCABULARY + 10)
    columns = rng.choice(_VOCABULARY, (_DOCUMENTS, _LENGTH), p=chance / chance.sum())
    starts = np.arange(0, columns.size + 1, _LENGTH)
    values = np.full(columns.size, _LENGTH**-0.5, np.float32)
    matrix = sparse.csr_array(
        (values, np.sort(columns).astype(np.int32).ravel(), starts),
        shape=(_DOCUMENTS, _VOCABULARY),
    )
    matrix.sum_duplicates()
    asked = rng.integers(0, WORDS, (_DOCUMENTS, 3))
    titles = pl.Series("title", [" ".join(f"w{word}" for word in row) for row in asked.tolist()])
    ids = pl.Series("id", [f"d{row}" for row in range(_DOCUMENTS)])
    documents = Texts(ids, titles, {"raw": matrix}, views)
    made = []
    for name in ("one", "other"):
        scale = _DIMENSIONS**-0.5
        arrays = {
            side: rng.normal(0, scale, (_VOCABULARY, _DIMENSIONS)).astype(np.float32)
            for side in ("U", "V")
        }
        model = Bilinear(dimensions=_DIMENSIONS, diagonal="identity")
        fitted = FittedModel(model, arrays, views, views)
        fitted.save(path / name / "model")
        build_index(fitted, documents, path / name / "index", parents={"m": name}, words=False)
        made.append(path / name)
    return made


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as name, ExitStack() as stack:
        path = Path(name)
        models = _write_models(path)
        (path / "champion").write_text(str(models[0]))
        exact = stack.enter_context(_service(path))
        alone = stack.enter_context(_service(path, together=1))
        part = stack.enter_context(_service(path, approximate=True))
        for clients in _CLIENTS:
            services = {"exact": exact, "alone": alone, "approximate": part}
            found: dict[str, list[dict[str, float]]] = {kind: [] for kind in services}
            for _ in range(_ROUNDS):
                for kind, service in services.items():
                    found[kind].append(_figures(*service.load(clients, _SECONDS)))
                services = dict([*list(services.items())[1:], next(iter(services.items()))])
            who = f"{clients} clients" if clients > 1 else "1 client"
            yield from _rows(f"serving, {who}", found["exact"], found["alone"], "alone")
            note = f"recall {part.recall}"
            yield from _rows(
                f"approximate, {who}", found["approximate"], found["exact"], "exact", note
            )
        yield _while_swapping(exact, path / "champion", models)


def _figures(load: Load, cpu: float) -> dict[str, float]:
    if load.errors:
        raise RuntimeError(f"{len(load.errors)} requests failed: {load.errors[:3]}")
    p50, p99 = np.percentile(load.times, (50, 99)).tolist()
    return {"requests/s": len(load.times) / load.seconds, "p50": p50, "p99": p99, "CPU": cpu}


def _rows(
    what: str,
    ours: list[dict[str, float]],
    theirs: list[dict[str, float]],
    peer: str,
    note: str = "",
) -> Iterator[Row]:
    for name in ours[0]:
        one, other = ([figures[name] for figures in each] for each in (ours, theirs))
        rate = name == "requests/s"
        ratio = median(a / b if rate else b / a for a, b in zip(one, other, strict=True))
        label = f"{what} / {peer}" if rate else f"{what}: {name}"
        unit = name if rate else "ms"
        yield Row(label, unit, median(one), median(other), ratio, note=note if rate else "")


def _while_swapping(service: _Service, champion: Path, models: list[Path]) -> Row:
    """Swap models under load; the row fails its floor where a request failed."""
    before = service.swaps()
    command = [sys.executable, "-m", "benchmarks.load", str(service.port), "8", str(_SWAP_SECONDS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as clients:
        for turn in range(1, _SWAPS + 1):
            time.sleep(_SWAP_SECONDS / (_SWAPS + 1))
            temporary = champion.with_suffix(".tmp")
            temporary.write_text(str(models[turn % 2]))
            temporary.rename(champion)
        said, _ = clients.communicate()
    load, swaps = Load(**json.loads(said)), service.swaps() - before
    answered = len(load.times) - sum(error.isdigit() for error in load.errors)
    p99 = np.percentile(load.times, 99)
    return Row(
        "serving while models are swapped: answered / asked",
        "requests",
        answered,
        answered + len(load.errors),
        answered / (answered + len(load.errors)),
        floor=1,
        note=f"{swaps:.0f} swaps, {len(load.errors)} errors, p99 {p99:.0f} ms",
    )
