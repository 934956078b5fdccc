"""Hold the files of a root while a process uses them, so that none is replaced under another.

Every process that opens MLflow's database holds a lock file beside it, together with others, until
it ends. Who replaces or rewrites the database takes that file alone. The operating system lets go
for a process that dies.

``python -m flows.servers.database_lock DATABASE COMMAND ...`` runs a command, such as ``mlflow
server``, that holds the database for as long as it runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ssi_core import locks

if TYPE_CHECKING:
    from ssi_core.types import Refused

_held: dict[Path, int] = {}
"""Databases that this process holds, and the descriptors of their lock files."""


def users_of(database: Path) -> Path:
    """Return the lock file of those that use a database."""
    return database.with_name(f".{database.name}.users")


def hold(database: Path, prepare: Callable[[], None], trouble: Callable[[], str]) -> None:
    """Hold a database until this process ends.

    Parameters
    ----------
    database : Path
        The file; it need not exist yet.
    prepare : callable
        Makes the file fit for use; it runs only while no other process holds the database.
    trouble : callable
        Says why the file cannot be used; '' if it can.

    Raises
    ------
    Refused
        The file needs to be prepared, and other processes hold it.
    """
    if database in _held:
        return
    with locks.opened(users_of(database)) as users:
        if locks.take(users):
            prepare()
        # Lets the others in; or waits, where one of them prepares the file now.
        locks.share(users)
        if reason := trouble():
            raise _in_use(database, reason)
        # The lock lasts as long as one descriptor of the file is open.
        _held[database] = os.dup(users.fileno())


@contextmanager
def alone(database: Path, reason: str) -> Iterator[None]:
    """Keep every other process off a database.

    Parameters
    ----------
    database : Path
        The file.
    reason : str
        Why it must be changed, for the message.

    Raises
    ------
    Refused
        Another process holds the database.
    """
    with locks.opened(users_of(database)) as users:
        if not locks.take(users):
            raise _in_use(database, reason)
        yield


def refuse_while_open(database: Path, reason: str) -> None:
    """Raise `Refused` where a process that knows nothing of our lock has a database open.

    Such is a server of MLflow that somebody started by hand. Only processes of this user on this
    machine can be seen.
    """
    import psutil

    path = str(database.resolve())
    for process in psutil.process_iter():
        try:
            is_other = process.pid != os.getpid()
            if is_other and any(file.path == path for file in process.open_files()):
                raise _in_use(database, reason, f"process {process.pid} ({process.name()})")
        except psutil.Error:
            continue


def _in_use(database: Path, reason: str, who: str = "another process") -> Refused:
    # Not above: it loads numpy, which 'ssi --help' need not wait for.
    from ssi_core.types import Refused

    return Refused(
        f"{database}: {reason}, and {who} uses it. End every command and server of this root "
        "('ssi ops ui', workers, 'mlflow server'), and run this again."
    )


def command(database: Path, words: list[str]) -> list[str]:
    """Return a command that holds a database while it runs."""
    return [sys.executable, "-m", "flows.servers.database_lock", str(database), *words]


def main(arguments: list[str]) -> None:
    """Become another command, which holds the database."""
    if len(arguments) < 2:
        sys.exit("usage: python -m flows.servers.database_lock DATABASE COMMAND [ARGUMENT ...]")
    with locks.shared(users_of(Path(arguments[0]))) as users:
        os.set_inheritable(users.fileno(), True)
        os.execvp(arguments[1], arguments[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
