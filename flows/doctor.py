"""Report on the machine and on what is missing: versions, cores, memory, servers."""

from __future__ import annotations

import contextlib
import importlib.metadata as metadata
import os
import platform
import shutil
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows import environment
from flows.servers import access
from flows.servers.addresses import shown, trouble

if TYPE_CHECKING:
    from rich.console import Console

_GIGABYTE = 1e9

# Less than this is worth a word: 30,000 words at rank 100 on a full English Wikipedia.
_MEMORY_GB, _DISK_GB = 4.0, 10.0


def examine(root: Path, home: Path) -> dict[str, Any]:
    """Look at everything, change nothing.

    Returns
    -------
    dict
        JSON values: ``root``, ``home``, ``python``, ``system``, ``cores``, ``memory``, ``disk``
        (GB), ``versions``, ``threads``, ``servers``, ``database``, and ``missing``: remedies.
    """
    import psutil

    missing: list[str] = []
    memory = psutil.virtual_memory()
    disk = shutil.disk_usage(_existing(home))
    findings = {
        "root": str(root),
        "home": str(home),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": environment.cores(),
        "memory": {"total": _gb(memory.total), "free": _gb(memory.available)},
        "disk": {"total": _gb(disk.total), "free": _gb(disk.free)},
        "versions": _versions(missing),
        "threads": _threads(missing),
        "servers": _servers(missing),
        "database": _database(root, missing),
        "missing": missing,
    }
    if _gb(memory.available) < _MEMORY_GB:
        missing.append(f"memory: less than {_MEMORY_GB:g} GB free; large tables may be refused")
    if _gb(disk.free) < _DISK_GB:
        missing.append(f"disk: less than {_DISK_GB:g} GB free under {home}")
    return findings


def show(found: Mapping[str, Any], console: Console) -> None:
    """Print what `examine` found as a table."""
    from rich.table import Table

    table = Table("what", "found", box=None, pad_edge=False)
    for name in ("root", "home", "python", "system", "cores"):
        table.add_row(name, str(found[name]))
    for name in ("memory", "disk"):
        table.add_row(name, "{free:g} GB free of {total:g} GB".format(**found[name]))
    for name in ("threads", "servers", "database"):
        for part, facts in found[name].items():
            table.add_row(f"{name}: {part}", str(facts))
    for name, version in found["versions"].items():
        table.add_row(name, version or "not installed")
    console.print(table)
    for line in found["missing"] or ["nothing is missing"]:
        console.print(f"- {line}")


def _gb(size: float) -> float:
    return round(size / _GIGABYTE, 1)


def _existing(path: Path) -> Path:
    return next(p for p in (path, *path.absolute().parents) if p.exists())


def _versions(missing: list[str]) -> dict[str, str | None]:
    from packaging.requirements import Requirement

    versions: dict[str, str | None] = {"ssi": _version("ssi")}
    if versions["ssi"] is None:
        missing.append("ssi is not installed: make .venv/.stamp")
        return versions
    for line in metadata.requires("ssi") or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in ("", "workflow")):
            continue
        version = _version(requirement.name)
        versions[requirement.name] = version
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            missing.append(
                f"{requirement.name}: {version or 'not installed'}, wanted "
                f"{requirement.specifier}; install the lock: make .venv/.stamp"
            )
    return versions


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _threads(missing: list[str]) -> dict[str, str]:
    threads = {"kernels": "plain threads; kernels release the lock of the interpreter"}
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        missing.append("NUMBA_DISABLE_JIT=1: kernels run as plain Python, a hundred times slower")
    try:
        import numba
        import threadpoolctl
    except ImportError as error:
        missing.append(f"{error}")
        return threads
    threads["numba"] = f"{numba.config.THREADING_LAYER} layer, {numba.config.NUMBA_NUM_THREADS}"
    for pool in threadpoolctl.threadpool_info():
        if pool["user_api"] == "blas":
            threads["blas"] = f"{pool['internal_api']} {pool['version']}, {pool['num_threads']}"
    return threads


_ADDRESSES = {
    "prefect": "PREFECT_API_URL",
    "prefect's database": "PREFECT_SERVER_DATABASE_CONNECTION_URL",
    "mlflow": "MLFLOW_TRACKING_URI",
}


def _servers(missing: list[str]) -> dict[str, str]:
    servers = {}
    for name, variable in _ADDRESSES.items():
        address = os.environ.get(variable, "")
        if not address or address.startswith("sqlite"):
            servers[name] = address or "none configured; the embedded one is used"
            continue
        why = trouble(address)
        servers[name] = f"{shown(address)}: {'not reachable' if why else 'reachable'}"
        if why:
            missing.append(
                f"{name} at {shown(address)} does not answer ({why}); start it: ssi ops ui"
            )
    _own_server(servers, missing)
    return servers


def _own_server(found: dict[str, str], missing: list[str]) -> None:
    """Say which Prefect server this root has, and whether its clients are let in."""
    chosen = os.environ.get("PREFECT_API_URL", "")
    server = access.running(chosen)
    if server is not None:
        found["prefect"] = f"{server.url}: this root's; its secret is in {access.secret_file()}"
    elif not chosen:
        found["prefect"] = "none runs; a command starts one for its length, ssi up one that stays"
    elif "not reachable" not in found["prefect"] and _refuses(chosen):
        missing.append(
            f"prefect at {shown(chosen)} asks for a secret and refuses yours; set "
            "PREFECT_API_AUTH_STRING to what its PREFECT_SERVER_API_AUTH_STRING is"
        )
    file = access.secret_file()
    if file.exists() and file.stat().st_mode & 0o077:
        missing.append(f"others can read the secret of Prefect's server: chmod 600 {file}")


def _refuses(address: str) -> bool:
    """Say whether a server of the user's lets the clients of this environment in."""
    import httpx

    user, _, password = os.environ.get("PREFECT_API_AUTH_STRING", "").partition(":")
    answer = httpx.get(
        f"{address.rstrip('/')}/admin/version", auth=(user, password), timeout=5, trust_env=False
    )
    return answer.status_code == httpx.codes.UNAUTHORIZED


def _database(root: Path, missing: list[str]) -> dict[str, str]:
    if not os.environ.get("MLFLOW_TRACKING_URI", "sqlite").startswith("sqlite"):
        return {}
    file = root / "mlruns" / "mlflow.db"
    if not file.exists():
        return {"mlflow": "not made yet; the first run makes it"}
    try:
        opened = sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=2)
        with contextlib.closing(opened) as database:
            state = database.execute("PRAGMA quick_check").fetchone()[0]
            runs = database.execute("SELECT count(*) FROM runs").fetchone()[0]
            experiments = database.execute("SELECT count(*) FROM experiments").fetchone()[0]
    except sqlite3.Error as error:
        missing.append(f"{file}: {error}; move it away and run again")
        return {"mlflow": f"unreadable: {error}"}
    if state != "ok":
        missing.append(f"{file} is damaged: {state}")
    size = _gb(file.stat().st_size * 1000)
    return {"mlflow": f"{state}, {experiments} experiments, {runs} runs, {size:g} MB"}
