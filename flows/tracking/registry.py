"""The registry: versions of a model, the alias ``champion``, and the history of its moves.

A change is written in this order, so that a kill between any two steps loses nothing: the card of
the model among the files of its run; its version, with all its tags in one transaction; the tag
that tells of the change, on that version; the alias. The same call again goes on where it stopped.
A change whose alias never moved is told as such.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from flows import environment
from flows.tracking.card import card_of, facts_of
from flows.tracking.database import client, quiet
from flows.tracking.indexes import searchable_directory
from flows.tracking.models import model_of
from ssi_core import store
from ssi_core.types import BadInput

MODEL, ALIAS = "ssi", "champion"

How: TypeAlias = Literal["promotion", "rollback"]

_CHANGE = "champion_"
_LONGEST = 5000
"""Characters of a description, and of the value of a tag."""


@dataclass(frozen=True)
class Change:
    """The alias goes from one version to another.

    Attributes
    ----------
    number : int
        1, 2, ... in the order of time.
    version, before : str, str or None
        The new champion and the one before it; None: there was none.
    when : str
        UTC, ISO 8601.
    why, how : str, How
        The reason, and what moved it.
    done : bool
        False where the alias did not follow, as the process was killed in between.
    """

    number: int
    version: str
    before: str | None
    when: str
    why: str
    how: How
    done: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return asdict(self)


def champion(model: str = MODEL) -> str | None:
    """Return the version that bears the alias; None: there is none."""
    try:
        aliases = client().get_registered_model(model).aliases.get(ALIAS)
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        return None
    return None if aliases is None else str(aliases)


def history(model: str = MODEL) -> list[Change]:
    """Return the changes of the alias, the first one first."""
    return _changes(model, champion(model))


def _changes(model: str, now: str | None) -> list[Change]:
    """Return the changes of the alias, which a version has now."""
    entries = []
    for version in client().search_model_versions(f"name = '{model}'"):
        for name, value in version.tags.items():
            if name.startswith(_CHANGE):
                number = int(name.removeprefix(_CHANGE))
                entries.append((number, str(version.version), json.loads(value)))
    entries.sort(key=lambda one: one[:2])
    # A change was done if the next one, or the alias, found its version in place.
    versions = [value["before"] for _, _, value in entries] + [now]
    return [
        Change(number, version, **value, done=version == after)
        for (number, version, value), after in zip(entries, versions[1:], strict=True)
    ]


def champions(changes: Sequence[Change]) -> list[str]:
    """Return the versions that were champion and were not taken back, the first one first."""
    good: list[str] = []
    for change in changes:
        if not change.done:
            continue
        if change.how == "rollback" and change.before in good:
            good.remove(change.before)
        if change.version not in good:
            good.append(change.version)
    return good


def run_of(version: str, model: str = MODEL) -> str:
    """Return the id of the run that made a version."""
    return str(_version(version, model).run_id)


def version_of(run_id: str, model: str = MODEL) -> str | None:
    """Return the first version of a run's model; None: it is not registered."""
    versions = client().search_model_versions(f"name = '{model}' and run_id = '{run_id}'")
    return str(min(int(version.version) for version in versions)) if versions else None


def promote(
    run_or_version: str, why: str, model: str = MODEL, *, tags: Mapping[str, str] | None = None
) -> Change:
    """Register the model of a run, unless it is, and give it the alias.

    Parameters
    ----------
    run_or_version : str
        Id of a run, or the number of a version.
    why : str
        The reason, for the history.
    tags : mapping or None
        Further facts for the version, such as the keys of a decision.

    Raises
    ------
    BadInput
        There is no such run or version, the run has logged no model, there is neither an index nor
        a task to make it from, or a process that opens the model fails or crashes.
    Refused
        Another process changes the alias now.
    """
    with _alone(model):
        if run_or_version.isdecimal() and len(run_or_version) < _LENGTH_OF_RUN:
            version = str(_version(run_or_version, model).version)
        else:
            version = _register(run_or_version, model, why, tags or {})
        from ssi_core.guests.monitoring.trial import try_model

        # A service that follows the alias opens the index at once.
        try_model(searchable_directory(f"models:/{model}/{version}"))
        return _move(version, why, "promotion", model)


_LENGTH_OF_RUN = 32


def rollback(why: str, model: str = MODEL, *, to: str | None = None) -> Change:
    """Give the alias back to the champion before; what it is taken from counts no more as best.

    Parameters
    ----------
    why : str
        The reason, for the history.
    to : str or None
        The version; None: the one before the champion was promoted.

    Raises
    ------
    BadInput
        There is no champion, none before it, or no such version.
    """
    with _alone(model):
        now = champion(model)
        if now is None:
            raise BadInput(f"model {model!r} has no champion. 'ssi ops promote' makes one.")
        before = to or _before(now, model)
        return _move(str(_version(before, model).version), why, "rollback", model)


def _before(now: str, model: str) -> str:
    for change in reversed(_changes(model, now)):
        if change.done and change.version == now and change.how == "promotion" and change.before:
            return change.before
    raise BadInput(
        f"version {now} of model {model!r} has no champion before it. Name a version: "
        f"--to-version VERSION. {_versions(model)}"
    )


def _versions(model: str) -> str:
    versions = client().search_model_versions(f"name = '{model}'")
    known = sorted((str(one.version) for one in versions), key=int)
    return f"It has: {', '.join(known) or 'none'}."


def _move(version: str, why: str, how: How, model: str) -> Change:
    """Write a change and let the alias follow; a change that was begun is only finished."""
    now = champion(model)
    changes = _changes(model, now)
    last = changes[-1] if changes else None
    if now == version:
        moves = [change for change in changes if change.done and change.version == version]
        return (
            moves[-1] if moves else Change(0, version, None, "", "the alias was set by hand", how)
        )
    if last is None or last.done or (last.version, last.how) != (version, how):
        last = Change(1 + (last.number if last else 0), version, now, _now(), why[:2000], how)
        facts = {name: getattr(last, name) for name in ("before", "when", "why", "how")}
        value = json.dumps(facts, ensure_ascii=False)
        client().set_model_version_tag(model, version, f"{_CHANGE}{last.number:04d}", value)
    client().set_registered_model_alias(model, ALIAS, version)
    return Change(**{**last.to_dict(), "done": True})


def _register(run_id: str, model: str, why: str, tags: Mapping[str, str]) -> str:
    if (version := version_of(run_id, model)) is not None:
        return version
    try:
        run = client().get_run(run_id)
    except MlflowException as error:
        raise BadInput(
            f"no run {run_id!r}: {error.message.rstrip('.')}. 'ssi ops ui' shows those that "
            "there are."
        ) from error
    logged, card = model_of(run), card_of(run, why)
    client().log_text(run_id, card, "card.md")
    _create(model)
    with quiet():
        created = client().create_model_version(
            model,
            f"models:/{logged}",
            run_id,
            tags={**facts_of(run), **tags},
            description=card[:_LONGEST],
            model_id=logged,
        )
    # A server that is killed before it answers is asked again, and has made two of it.
    return version_of(run_id, model) or str(created.version)


def _create(model: str) -> None:
    try:
        client().create_registered_model(model, description=_DESCRIPTION.format(model=model))
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise


_DESCRIPTION = """
Ranks documents for raw text: `query` in; `ids`, `titles` and `scores` out, the best first.

- `models:/{model}@champion` is the version that answers (`ssi serve models:/{model}@champion`).
- A retraining moves the alias only by evidence on a frozen set; `ssi ops promote` and
  `ssi ops rollback` move it by hand. The tags `champion_...` are its history
  (`ssi ops champions --name {model}`).
- Every version has a card: data, lineage, measures, parameters.
""".strip()


def _version(version: str, model: str) -> ModelVersion:
    try:
        return client().get_model_version(model, version)
    except MlflowException as error:
        raise BadInput(f"model {model!r} has no version {version!r}. {_versions(model)}") from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def _alone(model: str) -> Iterator[None]:
    path = environment.home() / "registry" / model
    with store.locked(path, f"the champion of {model!r}"):
        yield
