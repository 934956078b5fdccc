"""Verbs that keep a root safe: backup, restore."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flows import environment
from ssi_core.command.fields import FILE, NEW_FILE, argument, option
from ssi_core.command.verb import Outcome, progress, verb

if TYPE_CHECKING:
    from flows.storage.backup import Contents


@dataclass(frozen=True, kw_only=True)
class BackupSettings:
    """Settings of ``ssi ops backup``."""

    archive: Path = argument("ARCHIVE", type=NEW_FILE)
    essential: bool = option(
        False,
        "Leave out what the same commands make again from the same inputs: collections, tasks, "
        "indexes, checkpoints, dumps.",
    )


@verb(
    BackupSettings,
    examples=(
        "ssi ops backup /backups/ssi-$(date +%F).tar.gz",
        "ssi ops backup /backups/ssi.tar --essential",
        "ssi ops restore /backups/ssi.tar --root /data/restored",
    ),
)
def backup(given: BackupSettings) -> Outcome:
    """Write the root into one archive, while its servers and commands go on.

    The archive holds the database of MLflow, as it is at one moment; the files of every run, with
    all models; frozen sets; documents that were added to a service; the state of the sensor; and,
    unless --essential is given, everything that was derived from the inputs. It does not hold the
    inputs, directories that you named with --out, and what belongs to Prefect: 'ssi up' makes the
    deployments again.

    ARCHIVE ends with .tar, or with .tar.gz to be compressed. A PostgreSQL database is not included:
    see docs/backup.md.
    """
    from flows.storage.backup import back_up, databases_elsewhere

    with progress("backup") as on_progress:
        contents = back_up(given.archive.resolve(), essential=given.essential, progress=on_progress)
    if not contents.files:
        click.echo(
            f"warning: the archive is empty: {environment.root()} holds no data. Name the root "
            "that is meant: --root ROOT",
            err=True,
        )
    elsewhere = list(databases_elsewhere())
    for address in elsewhere:
        click.echo(f"not in the archive: {address} (docs/backup.md)", err=True)
    value = {"archive": str(given.archive.resolve()), "elsewhere": elsewhere, **_facts(contents)}
    return _outcome(value, f"{given.archive} holds")


@dataclass(frozen=True, kw_only=True)
class RestoreSettings:
    """Settings of ``ssi ops restore``."""

    archive: Path = argument("ARCHIVE", type=FILE)


@verb(
    RestoreSettings,
    examples=(
        "ssi ops restore /backups/ssi.tar.gz --root /data/restored",
        "ssi --root /data/restored ops champions",
    ),
)
def restore(given: RestoreSettings) -> Outcome:
    """Unpack a backup into a root that has no data yet.

    The root is --root, and can have any path: paths in the data are rewritten. Every file is
    compared with the digest in the backup before anything is put in place. Files that do not belong
    to a backup are left out, and named. An archive with a sparse file, or one that does not fit on
    the disk (1 GB of it stays free), is refused. A root contains code: restore only backups that
    you trust. Runs that were at work during the backup are marked as killed; the same command does
    them again.
    """
    from flows.storage.restore import restore as unpack

    with progress("restore") as on_progress:
        contents = unpack(given.archive.resolve(), on_progress)
    value = {"root": str(environment.root()), **_facts(contents)}
    return _outcome(value, f"{environment.root()} holds")


def _facts(contents: Contents) -> dict[str, Any]:
    return {
        "from": contents.root,
        "made": contents.made,
        "essential": contents.essential,
        "files": len(contents.files),
        "bytes": contents.size,
        "left_out": contents.left_out,
    }


_NAMED = 10
"""Files that were left out, at most, that a person is told of by name."""


def _outcome(value: dict[str, Any], what: str) -> Outcome:
    kind = "what cannot be made again" if value["essential"] else "all"
    line = (
        f"{what} {value['files']:,} files, {value['bytes'] / 1e6:,.1f} MB: {kind} of "
        f"{value['from']} at {value['made']}"
    )
    names = value["left_out"]
    for name in names[:_NAMED]:
        line += f"\nleft out, as it is no plain file, or no part of a backup: {name}"
    if len(names) > _NAMED:
        line += f"\nleft out besides: {len(names) - _NAMED:,} (all with --json)"
    return Outcome(value, lambda console: console.print(line, markup=False))
