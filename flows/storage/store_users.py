"""List the store with the users of each artefact, and remove what nobody needs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlflow.entities import ViewType

from flows import environment
from flows.tracking.database import client, ready
from ssi_core import store
from ssi_core.guests.upkeep.listing import Stored, ancestors, list_store
from ssi_core.types import BadInput, Refused

_PATHS = {"task_path": "run", "corpus_path": "retraining run", "frozen_path": "retraining run"}
"""Tags that name an artefact, and what the one who names it is called."""


@dataclass(frozen=True)
class Entry:
    """An artefact of the store with those who use it: runs of MLflow, and what was made of it."""

    stored: Stored
    users: tuple[str, ...]

    @property
    def removable(self) -> bool:
        """Tell whether it is of no use: nobody names it, and today's code would not find it."""
        return self.stored.current is False and not self.users


def entries() -> list[Entry]:
    """List the store of this root, with the users of each artefact."""
    everything = list_store(environment.home())
    named = _named_by_runs()
    of_runs = [one for one in everything if one.path.resolve() in named]
    needed = ancestors(of_runs, everything)
    by_parent: dict[str, list[Stored]] = {}
    for one in everything:
        for key in one.parents.values():
            by_parent.setdefault(key, []).append(one)

    def users(one: Stored) -> Iterator[str]:
        yield from _counted(named.get(one.path.resolve(), []))
        children = by_parent.get(one.key, []) if one.key else []
        # What was made of it counts while it is of use itself.
        kept = [child for child in children if child.path in needed or child.current is not False]
        yield from _counted([child.kind for child in kept])

    return [Entry(one, tuple(users(one))) for one in everything]


def _counted(names: Sequence[str]) -> list[str]:
    distinct = sorted(set(names))
    return [f"{n} {name}{'s' * (n > 1)}" for name in distinct if (n := names.count(name))]


def _named_by_runs() -> dict[Path, list[str]]:
    """Return the places that runs name, each with who names it; deleted runs do not count."""
    ready()
    named: dict[Path, list[str]] = {}
    experiments = [one.experiment_id for one in client().search_experiments()]
    token = None
    while experiments:
        page = client().search_runs(
            experiments, run_view_type=ViewType.ACTIVE_ONLY, max_results=1000, page_token=token
        )
        for run in page:
            for tag, user in _PATHS.items():
                if path := run.data.tags.get(tag):
                    named.setdefault(Path(path).resolve(), []).append(user)
        token = page.token
        if not token:
            break
    return named


def remove(paths: Sequence[Path], *, force: bool = False) -> list[Entry]:
    """Remove artefacts from the store; without places those of no use.

    Raises
    ------
    BadInput
        A place is no artefact of this root's store.
    Refused
        A place is in use, or cannot be made again, and ``force`` is off.
    """
    known = {one.stored.path.resolve(): one for one in entries()}
    if unknown := [path for path in paths if path.resolve() not in known]:
        raise BadInput(
            f"{unknown[0]} is no artefact of the store of this root; 'ssi data store list' lists "
            "them."
        )
    chosen = [known[path.resolve()] for path in paths]
    if not paths:
        chosen = [one for one in known.values() if one.removable]
    for one in chosen:
        reason = ", ".join(one.users)
        if one.stored.current is None and not reason:
            reason = "data that is not made again by itself"
        if paths and reason and not force:
            raise Refused(
                f"{one.stored.path} is in use ({reason}). Use --force to remove it all the same."
            )
    for one in chosen:
        with store.locked(one.stored.path):
            shutil.rmtree(one.stored.path)
    return chosen
