"""The service, from its start to Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

import uvicorn

from flows import environment
from flows.serve.app import make_app
from flows.serve.names import title_of
from flows.serve.protocol import PatientProtocol
from flows.serve.service import Follower, Service
from flows.servers.access import HOST
from flows.servers.server import check_port
from ssi_core import store
from ssi_core.guests.live.changes import FILE, Changes
from ssi_core.guests.summary.concepts import ConceptBase
from ssi_core.serving.searcher import Searcher


def serve(
    models: Sequence[str],
    find: Callable[[str], Path],
    *,
    port: int,
    documents: Path,
    index: Path | None,
    prepare: Callable[[Searcher], Searcher],
    seconds: float,
    threads: int | None,
    concepts: Path | None,
    ready: Callable[[str, Service], None],
) -> Service:
    """Serve until Ctrl-C or SIGTERM, and finish the requests that have begun.

    Parameters
    ----------
    models : sequence of str
        Names; the first is served, a second beside it.
    find : callable
        Name -> directory.
    port : int
        On 127.0.0.1.
    documents : Path
        File of added and removed documents.
    index : Path or None
        Of the first model, if that does not carry one.
    prepare : callable
        A model's searcher -> the one that answers.
    seconds : float
        Between two looks at what an alias means.
    threads : int or None
        That answer; None: one a core.
    concepts : Path or None
        Concepts of summaries; None: words alone.
    ready : callable
        Told the address, and what answers there, once it does.

    Raises
    ------
    BadInput
        There is no such model, or it has no index, or there are no such concepts.
    Refused
        The port is taken, or another service has the documents.
    """
    check_port("ssi serve", port, "--port")
    base = None if concepts is None else ConceptBase.load(concepts)
    documents.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        stack.enter_context(
            store.locked(documents, f"{documents} (--documents FILE names another)")
        )
        service = Service(models, Changes(documents), find, index, prepare, title_of)
        stack.enter_context(Follower(service, seconds))
        config = uvicorn.Config(
            make_app(service, threads, base), host=HOST, port=port, log_config=None,
            access_log=False, server_header=False, timeout_graceful_shutdown=10,
            http=PatientProtocol, ws="none",
        )  # fmt: skip
        server = _Server(config, lambda: ready(f"http://{HOST}:{port}", service))
        # Of the handler that stands here uvicorn asks how to end once all is answered.
        before = signal.signal(signal.SIGTERM, _interrupt)
        try:
            server.run()
        except KeyboardInterrupt:
            pass
        finally:
            signal.signal(signal.SIGTERM, before)
        return service


def documents_of(model: str) -> Path:
    """Return the file that keeps the documents of the service of a model.

    A directory has one, however it is written, unless an earlier version kept one by its spelling.
    """
    file = _kept_as(model)
    if Path(model).is_dir() and not file.exists():
        directory = Path(model).resolve()
        below = os.path.relpath(directory, environment.root())
        file = _kept_as(str(directory) if below.startswith("..") else below)
    return file


def _kept_as(name: str) -> Path:
    return environment.home() / "serve" / re.sub(r"[^\w.@-]+", "-", name).strip("-.") / FILE


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: object = None) -> None:
        await super().startup()
        if self.started:
            self._ready()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
