"""Addresses of servers and databases: shown without their passwords, asked whether they answer."""

from __future__ import annotations

from urllib.parse import urlsplit

_SECONDS = 3


def shown(address: str) -> str:
    """Return an address as people may see it: without its password."""
    parts = urlsplit(address)
    if parts.password is None:
        return address
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{parts.username}:***@{host}").geturl()


def trouble(address: str) -> str:
    """Say in a line why a server or a database does not answer; '' if it does, or is a file."""
    if address.startswith("http"):
        return _trouble_of_server(address)
    if address.startswith("sqlite"):
        return ""
    return _trouble_of_database(address)


def _trouble_of_server(address: str) -> str:
    import httpx

    try:
        answer = httpx.get(address.rstrip("/") + "/health", timeout=_SECONDS, trust_env=False)
        answer.raise_for_status()
    except httpx.HTTPError as error:
        return str(error).splitlines()[0] if str(error) else type(error).__name__
    return ""


def _trouble_of_database(address: str) -> str:
    from sqlalchemy import create_engine
    from sqlalchemy.exc import SQLAlchemyError

    # Prefect's own driver cannot be asked without a loop of events.
    plain = address.replace("+asyncpg", "", 1)
    try:
        engine = create_engine(plain, connect_args={"connect_timeout": _SECONDS})
        engine.connect().close()
        engine.dispose()
    except ModuleNotFoundError as error:
        return f"{error}; install the drivers: pip install 'ssi[postgres]'"
    except SQLAlchemyError as error:
        return str(error).splitlines()[0]
    return ""
