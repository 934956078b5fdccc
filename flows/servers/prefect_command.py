"""Commands of Prefect that a person, a service manager or a container starts by itself.

``python -m flows.environment prefect server start`` starts a server of this root, which asks for
its secret; every other command of Prefect is given the address of that server, and the secret.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from flows.servers import access, login, prefect_database
from flows.servers.access import HOST, Running
from flows.servers.processes import own_name
from ssi_core.types import Refused

PATIENCE = 60.0
"""Seconds that a worker waits for a server that has ended to be there again."""


def settings_of(command: Sequence[str]) -> dict[str, str]:
    """Return the settings that a command needs besides those of `environment.variables`.

    This process must become the command: a server is known by the name of this process.

    Raises
    ------
    Refused
        This root has a server already.
    """
    words = _words_of_prefect(command)
    if words is None:
        return {}
    if ("server", "start") in pairwise(words):
        return _of_server(words)
    chosen = os.environ.get("PREFECT_API_URL", "")
    if ("worker", "start") in pairwise(words):
        _wait(chosen)
    server = access.running(chosen)
    if server is not None:
        return access.of_client(server.url)
    if chosen:
        return {}
    print("no Prefect server of this root runs; one is started by: ssi up", file=sys.stderr)
    # Nor one of Prefect's own, which would answer everybody and be gone with the command.
    return {"PREFECT_SERVER_EPHEMERAL_ENABLED": "false"}


def is_service(command: Sequence[str]) -> bool:
    """Say whether a command starts a server or a worker of Prefect.

    >>> is_service(["prefect", "worker", "start", "--pool", "local-process"])
    True
    """
    pairs = set(pairwise(_words_of_prefect(command) or ()))
    return not pairs.isdisjoint({("server", "start"), ("worker", "start")})


def _wait(chosen: str) -> None:
    """Wait for a server that has ended: who starts workers again starts servers again, too."""
    end = time.monotonic() + PATIENCE
    while access.last(chosen) and not access.running(chosen) and time.monotonic() < end:
        time.sleep(0.2)


def _words_of_prefect(command: Sequence[str]) -> list[str] | None:
    """Return the arguments of Prefect's command; None if the command is another one."""
    words = list(command)
    if words[1:3] == ["-m", "prefect"]:
        return words[3:]
    return words[1:] if Path(words[0]).name == "prefect" else None


def _of_server(words: Sequence[str]) -> dict[str, str]:
    if server := access.running():
        raise Refused(
            f"a Prefect server of this root runs at {server.url}, on the same database. Use it, or "
            "end it first (it belongs to another command, such as ssi up)."
        )
    prefect_database.make_ready()
    host = _option(words, "--host") or os.environ.get("PREFECT_SERVER_API_HOST", HOST)
    port = _option(words, "--port") or os.environ.get("PREFECT_SERVER_API_PORT", "4200")
    settings = access.of_server(int(port), host)
    if access.SERVER_SECRET not in os.environ:
        reached = HOST if host == "0.0.0.0" else host
        access.remember(Running(f"http://{reached}:{port}/api", own_name(), kept=False))
        settings |= login.settings()
    return {name: value for name, value in settings.items() if name not in os.environ}


def _option(words: Sequence[str], name: str) -> str:
    for word, following in pairwise((*words, "")):
        if word == name:
            return following
        if word.startswith(f"{name}="):
            return word.removeprefix(f"{name}=")
    return ""
