"""The pages of MLflow and Prefect, started together and ended together, on this machine alone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from flows.server import server_command
from ssi_core.types import Refused

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Page:
    """A server: its name, the address that a person opens, and how it is started."""

    name: str
    address: str
    health: str
    command: Sequence[str]
    port: int


def pages(root: Path, tracking: str, *, mlflow_port: int, prefect_port: int) -> list[Page]:
    """Return the two servers of a root, on the ports given.

    Parameters
    ----------
    tracking : address of MLflow's database, such as ``sqlite:////root/mlruns/mlflow.db``
    """
    mlflow = f"http://{HOST}:{mlflow_port}"
    prefect = f"http://{HOST}:{prefect_port}"
    return [
        Page(
            "MLflow",
            f"{mlflow}/?workflowType=machine_learning",
            f"{mlflow}/health",
            [
                *(sys.executable, "-m", "mlflow", "server", "--host", HOST),
                *("--port", str(mlflow_port), "--workers", "1"),
                *("--backend-store-uri", tracking),
                *("--artifacts-destination", str(root / "mlruns" / "artifacts")),
            ],
            mlflow_port,
        ),
        Page(
            "Prefect",
            f"{prefect}/dashboard",
            f"{prefect}/api/health",
            server_command(prefect_port),
            prefect_port,
        ),
    ]


def serve(
    servers: Sequence[Page],
    ready: Callable[[Page], None],
    *,
    environment: Mapping[str, str],
    logs: Path,
    patience: float = 180,
) -> None:
    """Start the servers, tell when each answers, wait for Ctrl-C or an end, and end them all.

    Parameters
    ----------
    ready : called once a server answers
    logs : directory of what the servers print
    patience : seconds that a server may take to answer

    Raises
    ------
    Refused
        A port is taken.
    RuntimeError
        A server ended by itself or does not answer; the message names its log.
    """
    for page in servers:
        _check_port(page)
    logs.mkdir(parents=True, exist_ok=True)
    before = signal.signal(signal.SIGTERM, _interrupt)
    processes: list[tuple[Page, subprocess.Popen[bytes]]] = []
    try:
        for page in servers:
            processes.append((page, _start(page, environment, logs)))
        for page, process in processes:
            _wait(page, process, logs, patience)
            ready(page)
        while True:
            for page, process in processes:
                if process.poll() is not None:
                    raise RuntimeError(_ended(page, process, logs))
            time.sleep(0.5)
    except KeyboardInterrupt:
        return
    finally:
        for _, process in processes:
            _end(process)
        signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _check_port(page: Page) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, page.port))
        except OSError:
            raise Refused(
                f"port {page.port} is taken, so {page.name} cannot use it. "
                f"Name another: --{page.name.lower()}-port PORT."
            ) from None


def _start(page: Page, environment: Mapping[str, str], logs: Path) -> subprocess.Popen[bytes]:
    with (logs / f"{page.name.lower()}.log").open("wb") as log:
        return subprocess.Popen(
            page.command,
            env={**os.environ, **environment},
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            # A group of its own: its children end with it, and Ctrl-C reaches it through us alone.
            start_new_session=True,
        )


def _wait(page: Page, process: subprocess.Popen[bytes], logs: Path, patience: float) -> None:
    import httpx

    limit = time.monotonic() + patience
    while time.monotonic() < limit:
        if process.poll() is not None:
            raise RuntimeError(_ended(page, process, logs))
        try:
            if httpx.get(page.health, timeout=2, trust_env=False).is_success:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.3)
    raise RuntimeError(f"{page.name} does not answer after {patience:g} s; see {_log(page, logs)}")


def _log(page: Page, logs: Path) -> Path:
    return logs / f"{page.name.lower()}.log"


def _ended(page: Page, process: subprocess.Popen[bytes], logs: Path) -> str:
    return f"{page.name} ended with code {process.returncode}; see {_log(page, logs)}"


def _end(process: subprocess.Popen[bytes]) -> None:
    for sign, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
    process.wait()
