"""Guard the Prefect server of a root: callers need its secret, and pages its own origin.

Left to itself, Prefect's server answers everybody: pages of every origin, under every name of its
host. Any page in a browser of this machine could make it run a command. A server that we start asks
for the secret of its root, a file that its user alone can read, and our clients know it. No other
server is ever sent it.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from flows import environment
from flows.servers.processes import is_here, is_over, machine_of, own_name
from ssi_core import private

HOST = "127.0.0.1"
"""This machine alone."""

SERVER_SECRET = "PREFECT_SERVER_API_AUTH_STRING"


def secret_file() -> Path:
    """Return the file of the secret."""
    return environment.home() / "prefect" / "secret"


def secret() -> str:
    """Return the secret of the root, as ``user:password``; make it if there is none.

    Its file has mode 0600, and is whole from the first moment that it has its name.
    """
    file = secret_file()
    with contextlib.suppress(FileNotFoundError):
        return file.read_text()
    from secrets import token_urlsafe  # slow to load, and every command loads this module

    private.directory(file.parent)
    # Of mode 0600.
    descriptor, draft = tempfile.mkstemp(dir=file.parent, prefix=".secret-")
    try:
        with os.fdopen(descriptor, "w") as writing:
            writing.write(f"ssi:{token_urlsafe(32)}")
        # Another command may have been quicker; its secret counts.
        with contextlib.suppress(FileExistsError):
            os.link(draft, file)
    finally:
        Path(draft).unlink()
    return file.read_text()


def of_server(port: int, host: str = HOST) -> dict[str, str]:
    """Return the settings of a server that answers its own pages and who knows the secret."""
    names = dict.fromkeys((host, HOST, "localhost"))
    return {
        SERVER_SECRET: secret(),
        "PREFECT_SERVER_API_CSRF_PROTECTION_ENABLED": "true",
        "PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS": ",".join(f"http://{n}:{port}" for n in names),
    }


def of_client(url: str) -> dict[str, str]:
    """Return the settings of a client of a server of this root."""
    return {
        "PREFECT_API_URL": url,
        "PREFECT_API_AUTH_STRING": secret(),
        "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED": "true",
    }


@dataclass(frozen=True)
class Running:
    """A server of this root.

    Parameters
    ----------
    url : str
        Address of its API.
    keeper : str
        Name of the process that ends with it (`flows.servers.processes.name_of`).
    kept : bool
        It ends with the last command that uses it.
    """

    url: str
    keeper: str
    kept: bool


def _record() -> Path:
    return environment.home() / "prefect" / "server.json"


def remember(server: Running) -> None:
    """Write down which server this root has, for those who come later."""
    record = _record()
    private.directory(record.parent)
    draft = record.with_name(f".{record.name}-{own_name()}")
    draft.write_text(json.dumps(asdict(server)))
    draft.replace(record)


def running(chosen: str = "") -> Running | None:
    """Return the server of this root that runs.

    Parameters
    ----------
    chosen : str
        Address that the user has set; a server at another one is his own, and is not this root's.
        In another container of this machine the server is found by its address alone.
    """
    server = last(chosen)
    if server is None or is_over(server.keeper):
        return None
    return server if chosen or is_here(server.keeper) else None


def last(chosen: str = "") -> Running | None:
    """Return the last server of this root, on this machine; see `running`."""
    try:
        server = Running(**json.loads(_record().read_text()))
        near = machine_of(server.keeper) == machine_of(own_name())
    except (OSError, ValueError, TypeError):
        return None
    return server if near and _same(chosen or server.url) == _same(server.url) else None


def _same(url: str) -> str:
    return url.rstrip("/").replace("//localhost:", f"//{HOST}:")
