"""Verbs of what was made: store list, remove and verify."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flows import environment
from ssi_core.command.fields import DIRECTORY, FILE, argument, option
from ssi_core.command.verb import Outcome, Verbs, progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from flows.storage.store_users import Entry
    from ssi_core.guests.upkeep.listing import Stored

_MOST_SHOWN = 5


@click.group(
    cls=Verbs, examples=("ssi data store list", "ssi data store remove", "ssi data store verify")
)
def store() -> None:
    """Look after what was made: corpora, tasks, indexes, models, checkpoints."""


@dataclass(frozen=True, kw_only=True)
class VerifySettings:
    """Settings of ``ssi data store verify``."""

    directories: tuple[Path, ...] = argument("DIRECTORY", (), type=DIRECTORY)


@store.verb(
    VerifySettings,
    examples=(
        "ssi data store verify",
        "ssi data store verify corpus task",
        "ssi data store verify --json",
    ),
)
def verify(given: VerifySettings) -> Outcome:
    """Read every artefact, model and database, and compare it with what was written.

    Without a DIRECTORY, everything in the root is checked. A file that was changed, damaged,
    removed or added is named, and the exit code is 3. Databases (added documents of services, runs
    of MLflow and of Prefect) are checked by SQLite; each row of added documents has a digest.
    """
    from ssi_core.guests.live.changes import FILE, Changes
    from ssi_core.guests.upkeep.verify import verify as check
    from ssi_core.types import BadInput

    wanted = given.directories or (environment.home(), environment.root() / "mlruns")
    with progress("verify") as on_progress:
        results = check(wanted, on_progress, {FILE: lambda path: Changes(path).read()})
    problems = [result.problem for result in results if result.problem is not None]
    if problems:
        more = len(problems) - _MOST_SHOWN
        shown = " | ".join(problems[:_MOST_SHOWN]) + (f" | and {more} more" if more > 0 else "")
        what = "directories and databases"
        raise BadInput(f"{len(problems)} of {len(results)} {what} are damaged: {shown}")
    size, files = (sum(getattr(one, of) for one in results) for of in ("size", "database"))
    value = {"directories": len(results) - files, "databases": files, "bytes": size, "damaged": 0}

    def show(console: Console) -> None:
        console.print(
            f"{value['directories']} directories and {files} databases are whole "
            f"({size / 1e6:,.1f} MB)"
        )

    return Outcome(value, show)


@dataclass(frozen=True, kw_only=True)
class RepairSettings:
    """Settings of ``ssi data store repair``."""

    file: Path = argument("FILE", type=FILE)


@store.verb(
    RepairSettings,
    examples=("ssi data store repair '.ssi/serve/models-ssi@champion/documents.db'",),
)
def repair(given: RepairSettings) -> Outcome:
    """Repair a FILE of added documents: drop the rows that were changed after they were written.

    The other rows are kept, and the ids of the dropped rows are listed: add these documents again.
    The damaged file stays beside the new one, as FILE.damaged. Stop the service first.
    """
    from ssi_core.guests.live.changes import Changes
    from ssi_core.store import locked

    with locked(given.file):
        done = Changes.repair(given.file)

    def show(console: Console) -> None:
        console.print(f"{done.kept} rows are kept; the file as it was: {done.before}")
        for id in done.damaged:
            console.print(f"left out: {id}")
        if done.lost:
            console.print(f"{done.lost} rows are lost; nothing of them can be read")

    value = {"kept": done.kept, "lost": done.lost, "left_out": done.damaged}
    return Outcome({**value, "before": str(done.before)}, show)


@dataclass(frozen=True, kw_only=True)
class ListSettings:
    """Settings of ``ssi data store list``."""

    unused: bool = option(False, "List only what 'ssi data store remove' would remove.")


@store.verb(
    ListSettings,
    examples=("ssi data store list", "ssi data store list --unused --json"),
    name="list",
)
def list_(given: ListSettings) -> Outcome:
    """List the artefacts of the root: settings, size, who uses them.

    The column "found" says whether today's code finds the artefact: "yes", the same work would find
    it; "no", it was made by other code, and the same work makes it again; "data", it is a frozen
    evaluation set or an index, which is never made again by itself. Directories that you named with
    --out are yours, and are not listed. The last line is about the compiled kernels, which are kept
    in your cache directory for all roots.
    """
    from flows.storage.store_users import entries
    from ssi_core import compiled

    listed = [one for one in entries() if one.removable or not given.unused]
    kernels, size = compiled.size()

    def show(console: Console) -> None:
        _show(console, listed)
        console.print(f"{kernels} compiled kernels, {size / 1e6:,.1f} MB")

    value = {
        "artefacts": [_values(one) for one in listed],
        "compiled": {"kernels": kernels, "bytes": size},
    }
    return Outcome(value, show)


@dataclass(frozen=True, kw_only=True)
class RemoveSettings:
    """Settings of ``ssi data store remove``."""

    directories: tuple[Path, ...] = argument("DIRECTORY", (), type=DIRECTORY)
    force: bool = option(False, "Also remove what is in use.")
    compiled: bool = option(False, "Remove the compiled kernels of all roots, and nothing else.")


@store.verb(
    RemoveSettings,
    examples=(
        "ssi data store remove",
        "ssi data store remove .ssi/store/task/0a1b2c3d4e5f60718293a4b5",
        "ssi data store remove --compiled",
    ),
)
def remove(given: RemoveSettings) -> Outcome:
    """Remove artefacts; without a DIRECTORY, those that are not used.

    An artefact is not used if today's code would not find it and no run names it. An artefact that
    a run, a champion or another artefact needs, or that cannot be made again, is removed only if
    you name it and add --force.
    """
    if given.compiled:
        return _remove_compiled(given.directories)
    from flows.storage.store_users import remove as take_away

    removed = take_away(given.directories, force=given.force)

    def show(console: Console) -> None:
        _show(console, removed)
        console.print(f"removed {len(removed)}" if removed else "nothing is of no use")

    return Outcome({"removed": [_values(one) for one in removed]}, show)


def _remove_compiled(paths: tuple[Path, ...]) -> Outcome:
    from ssi_core import compiled
    from ssi_core.types import BadInput

    if paths:
        raise BadInput(f"--compiled removes no {paths[0]}; name directories in a call of their own")
    kernels, size = compiled.empty()

    def show(console: Console) -> None:
        console.print(f"removed {kernels} compiled kernels, {size / 1e6:,.1f} MB")

    return Outcome({"compiled": {"kernels": kernels, "bytes": size}}, show)


_FOUND = {True: "yes", False: "no", None: "data"}
_KEY = 12
_DESCRIBING = ("source", "language", "documents", "seed", "split", "relevant", "words", "views")


def _values(one: Entry) -> dict[str, object]:
    stored = one.stored
    return {
        "path": str(stored.path),
        "kind": stored.kind,
        "key": stored.key,
        "bytes": stored.size,
        "made": stored.made.isoformat(timespec="seconds"),
        "settings": dict(stored.configuration),
        "found": stored.current,
        "users": list(one.users),
        "problem": stored.problem,
    }


def _show(console: Console, listed: list[Entry]) -> None:
    from ssi_core.command.text import plain_table

    if not listed:
        return
    rows = [
        (
            one.stored.kind,
            one.stored.path.name[:_KEY],
            "\n".join(filter(None, (_users(one), " ".join(_description(one.stored))))),
            _FOUND[one.stored.current],
            f"{one.stored.made:{_when(one.stored.made)}}",
            f"{one.stored.size / 1e6:,.1f}",
        )
        for one in listed
    ]
    head = ["kind", "key", "used by, settings", "found", "made", "MB"]
    console.print(plain_table(head, rows, left=3))
    total = sum(one.stored.size for one in listed)
    console.print(f"{len(listed)} artefacts, {total / 1e6:,.1f} MB")


def _users(one: Entry) -> str:
    return ", ".join(one.users) or "nobody"


def _when(made: datetime) -> str:
    """Return the format of a time: the hour of today, or an earlier day."""
    return "%H:%M" if made.date() == datetime.now(UTC).date() else "%d %b %Y"


def _description(stored: Stored) -> Iterator[str]:
    """Yield the settings that tell an artefact from others, or why it cannot be read."""
    if stored.problem:
        yield stored.problem
        return
    configuration = dict(stored.configuration)
    if "words" in configuration:
        configuration["words"] = configuration["words"] or "all"
    source = Path(configuration.get("source", ""))
    if source.is_absolute():
        configuration["source"] = source.name[:_KEY]
    for name in _DESCRIBING:
        value = configuration.get(name)
        if value is not None:
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            yield f"{name}={text}"
