"""Parts of a stage on a Dask cluster, driven by one client.

Workers are processes of one thread that have the same versions and the same code as this process,
and see the same directory; all of it is checked before the first part, and by every worker that
comes later. A worker has one part at a time, so that its death concerns no other part; Dask gives
the part to another worker; with the fourth death (``distributed.scheduler.allowed-failures``) the
part has failed. A finished part is released at once and never made again.

Dask's protocol is pickle: whoever reaches the scheduler's port runs code on every worker and here.
"""

from __future__ import annotations

import logging
import platform
import re
import secrets
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ssi_core.code import digest_of_modules
from ssi_core.parts.stage import Done, Part, Result, Stage
from ssi_core.pool import outcome
from ssi_core.types import Refused

if TYPE_CHECKING:
    from distributed import Client

log = logging.getLogger(__name__)

_PATIENCE = 30.0
"""Seconds in which a scheduler answers, and the first worker comes."""
_SILENCE = 60.0
"""Seconds without a worker after which a person is told."""

_PACKAGES = ("numpy", "scipy", "numba", "polars")


@dataclass(frozen=True)
class Likeness:
    """Code and versions, which must be alike in two processes for them to compute the same.

    Attributes
    ----------
    modules : tuple of str
        Names of modules whose code, and all that it imports, makes parts.
    code : str
        Digest of that code.
    versions : tuple of tuple
        Python and packages: name, version.
    """

    modules: tuple[str, ...]
    code: str
    versions: tuple[tuple[str, str], ...]

    @classmethod
    def here(cls, modules: tuple[str, ...]) -> Likeness:
        """Return that of this process."""
        versions = {name: metadata.version(name) for name in _PACKAGES}
        versions = {"Python": platform.python_version(), **versions}
        return cls(modules, digest_of_modules(modules), tuple(versions.items()))

    def differences(self, other: Likeness) -> list[str]:
        """Return the differences to another process, in words."""
        pairs = zip(self.versions, other.versions, strict=True)
        versions = [f"{name} {b}, not {a}" for (name, a), (_, b) in pairs if a != b]
        return [*versions, *(["other code of ssi"] if self.code != other.code else [])]


@dataclass(frozen=True)
class Seen:
    """Directory with a mark, and files with their sizes, which a worker must see."""

    path: Path
    mark: str
    files: tuple[tuple[Path, int], ...]

    def missing(self) -> list[str]:
        """Return the paths that this process lacks or sees with another size."""
        absent = [] if (self.path / self.mark).is_file() else [str(self.path)]
        return absent + [str(path) for path, size in self.files if _size(path) != size]


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


def _faults(likeness: Likeness, seen: Seen) -> list[str]:
    """Return, on a worker, why it cannot make parts."""
    others = [f"it has {one}" for one in likeness.differences(Likeness.here(likeness.modules))]
    return others + [f"it does not see {path}" for path in seen.missing()]


def _made(make: Callable[[Part], Result], likeness: Likeness, part: Part) -> Any:
    """Make a part on a worker: (value, None) or (None, error)."""
    from distributed import get_worker

    worker = get_worker()
    faults = likeness.differences(Likeness.here(likeness.modules))
    if worker.state.nthreads != 1:
        faults.append(f"{worker.state.nthreads} threads")
    if faults:
        return None, _refused({str(worker.name): [f"it has {one}" for one in faults]})
    return outcome(make, (part,), {})


def run_on_cluster(
    stage: Stage[Part, Result], parts: Iterable[Part], address: str
) -> Generator[Done[Part, Result], None, None]:
    """Make parts on the workers of a scheduler; see `run.run_parts`."""
    with _connected(address) as client:
        likeness = Likeness.here(_modules(stage))
        _require_workers(client, address)
        _require_likeness(client, likeness, stage)
        yield from _run(client, stage, parts, partial(_made, stage.make, likeness), address)


def _run(
    client: Client, stage: Stage[Part, Result], parts: Iterable[Part], make: Any, address: str
) -> Iterator[Done[Part, Result]]:
    waiting: dict[Any, Part] = {}
    iterator, run, number = iter(parts), secrets.token_hex(4), 0
    # Dask groups what it shows by what stands before the number.
    name = re.sub("[^A-Za-z0-9]+", "_", stage.name)
    try:
        while True:
            with _answering(stage.name, address):
                workers = max(1, len(client.nthreads()))
            for part in islice(iterator, max(0, workers - len(waiting))):
                key = f"{name}-{number}-{run}"
                with _answering(stage.name, address):
                    waiting[client.submit(make, part, key=key, pure=False)] = part
                number += 1
            if not waiting:
                return
            with _answering(stage.name, address):
                ended = {one: _outcome(one, stage.name) for one in _ended(client, waiting)}
            if not ended and not client.nthreads():
                log.warning("%s: the cluster at %s has no worker now", stage.name, address)
            for future, result in ended.items():
                done: Done[Part, Result] = Done(waiting.pop(future), result)
                future.release()
                yield done
    finally:
        if client.status == "running":
            client.cancel(list(waiting))


def _ended(client: Client, waiting: Iterable[Any]) -> Iterable[Any]:
    """Return at least one finished future, or none after a minute."""
    from distributed import wait

    try:
        with client.as_current():
            ended: Iterable[Any] = wait(
                list(waiting), timeout=_SILENCE, return_when="FIRST_COMPLETED"
            ).done
            return ended
    except TimeoutError:
        return ()


@contextmanager
def _answering(stage: str, address: str) -> Iterator[None]:
    """Raise `Refused` if the scheduler stops answering."""
    from distributed.client import FuturesCancelledError

    try:
        yield
    except (FuturesCancelledError, OSError) as error:
        raise Refused(
            f"{stage}: the scheduler at {address} went away ({type(error).__name__}). Start it and "
            "its workers, and run this again: finished parts are not made again."
        ) from error


def _outcome(future: Any, stage: str) -> Any:
    from distributed import KilledWorker

    try:
        value, error = future.result()
    except KilledWorker as killed:
        return Refused(
            f"{stage}: {killed.allowed_failures + 1} workers died over one part, probably for "
            "want of memory. Give the workers more (dask worker --memory-limit), or take smaller "
            "parts."
        )
    return value if error is None else error


def _modules(stage: Stage[Any, Any]) -> tuple[str, ...]:
    make: Any = stage.make
    while isinstance(make, partial):
        make = make.func
    things = (make, *stage.code)
    names = {one.__name__ if isinstance(one, ModuleType) else one.__module__ for one in things}
    return tuple(sorted(names))


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    try:
        from distributed import Client, Security
    except ImportError:
        raise Refused(
            "Dask is not installed here. Install it, on every machine: pip install 'ssi[cluster]'."
        ) from None
    tls = address.startswith("tls:")
    if tls and Security().get_connection_args("client").get("ssl_context") is None:
        raise Refused(
            f"{address}: this process has no certificate. Name one, its key and the authority in "
            "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT, ...TLS__CLIENT__KEY and ...TLS__CA_FILE: "
            "docs/cluster.md."
        )
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise Refused(
            f"no Dask scheduler answers at {address} ({error}). Start one there with "
            "'dask scheduler', and check the address and the firewall."
        ) from error
    with client:
        yield client


def _require_workers(client: Client, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise Refused(
            f"the cluster at {address} has no worker. Start some, on each machine: 'dask worker "
            f"{address} --nthreads 1'."
        ) from None
    threads = client.nthreads()
    wrong = {one: [f"it has {n} threads"] for one, n in threads.items() if n != 1}
    if wrong:
        raise _refused(wrong, " Start workers with --nthreads 1, more of them with --nworkers.")


def _require_likeness(client: Client, likeness: Likeness, stage: Stage[Any, Any]) -> None:
    """Refuse workers with other versions, code or files."""
    directory = stage.path.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    mark = directory / f".seen-{secrets.token_hex(8)}"
    inputs = tuple((path.resolve(), path.stat().st_size) for path in stage.inputs)
    mark.touch()
    try:
        seen = Seen(directory, mark.name, inputs)
        answers = client.run(_faults, likeness, seen, on_error="return")
    finally:
        mark.unlink()
    wrong = {worker: _spelled(answer) for worker, answer in answers.items() if answer}
    if wrong:
        raise _refused(wrong)


def _spelled(answer: Sequence[str] | Exception) -> Sequence[str]:
    if isinstance(answer, Exception):
        return [f"it cannot answer: {type(answer).__name__}: {answer}"]
    return answer


def _refused(wrong: Mapping[str, Sequence[str]], remedy: str = "") -> Refused:
    worker, faults = next(iter(wrong.items()))
    more = f" So it is with {len(wrong)} workers." if len(wrong) > 1 else ""
    remedy = remedy or (
        " Workers need the same versions and code, and the same directories under the same paths: "
        "docs/cluster.md."
    )
    return Refused(f"worker {worker} cannot help: {'; '.join(faults)}.{more}{remedy}")
