"""A PostgreSQL server of a test's own: a temporary cluster, a free port, gone with its block."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from flows.servers.access import HOST
from flows.servers.server import free_port

PASSWORD = "not/a@secret"
"""With characters that an address has to quote."""

_QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200")


def missing():
    """Why no PostgreSQL can be started here; '' where one can."""
    if _program("initdb") is None or _program("postgres") is None:
        return "PostgreSQL is not installed (no initdb, no postgres)"
    if os.geteuid() == 0 and _user() is None:
        return "PostgreSQL does not run as root, and there is no user postgres or nobody"
    return ""


@contextlib.contextmanager
def running():
    """Start a server; yields a function from the name of a database to its address."""
    directory = Path(tempfile.mkdtemp(prefix="ssi-postgres-"))
    port = free_port()
    # The server must not be root's, and neither must its directory.
    user = _user() if os.geteuid() == 0 else None
    who = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    process = None
    try:
        (directory / "password").write_text(PASSWORD)
        if user is not None:
            for path in (directory, directory / "password"):
                os.chown(path, user.pw_uid, user.pw_gid)
        said = ["--username=ssi", "--auth=scram-sha-256", f"--pwfile={directory / 'password'}"]
        made = [_program("initdb"), f"--pgdata={directory / 'data'}", *said, "--encoding=UTF8"]
        subprocess.run(
            [*made, "--no-sync"], **who, cwd=directory, check=True, stdout=subprocess.DEVNULL
        )
        options = [f"-c{option}" for option in _QUICK]
        command = [_program("postgres"), "-D", str(directory / "data"), "-k", str(directory)]
        with (directory / "log").open("wb") as log:
            process = subprocess.Popen(
                [*command, "-h", HOST, "-p", str(port), *options],
                **who,
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        _wait(process, port, directory / "log")
        yield lambda name: _database(port, name)
    finally:
        if process is not None:
            # Fast shutdown: nobody is waited for.
            process.send_signal(signal.SIGINT)
            process.wait(30)
        shutil.rmtree(directory)


def _program(name):
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(found[-1]) if found else None)


def _user():
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    return None


def _connect(port, name):
    import psycopg2

    there = {"host": HOST, "port": port, "user": "ssi", "password": PASSWORD, "dbname": name}
    return psycopg2.connect(**there)


def _wait(process, port, log):
    import psycopg2

    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(psycopg2.OperationalError):
            _connect(port, "postgres").close()
            return
        time.sleep(0.1)
    raise RuntimeError(f"PostgreSQL did not start: {log.read_text()}")


def _database(port, name):
    from urllib.parse import quote

    connection = _connect(port, "postgres")
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("select 1 from pg_database where datname = %s", (name,))
        if cursor.fetchone() is None:
            cursor.execute(f'create database "{name}"')
    connection.close()
    return f"postgresql://ssi:{quote(PASSWORD, safe='')}@{HOST}:{port}/{name}"
