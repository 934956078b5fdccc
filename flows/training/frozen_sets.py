"""The frozen sets of a registered model: those that are named, and those that retrainings draw.

What retrainings draw lies under ``.ssi/frozen/NAME`` as ``0001``, ``0002``, ..., each whole or not
there. The newest of all judges; no set that ever judged is trained on.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from flows import environment, tracking
from ssi_core import store
from ssi_core.code import digest_of
from ssi_core.evaluation.report import load_report, save_report
from ssi_core.tasks.frozen import KIND, drawn_at, freeze, open_frozen
from ssi_core.types import BadInput, Report

logger = logging.getLogger("flows.training.frozen_sets")


def now() -> datetime:
    """Return the time, by which sets are old or not."""
    return datetime.now(UTC)


def source_with_key(path: str, key: str) -> Path | None:
    """Return the place of a collection if it bears a key; None where it is gone, or another."""
    try:
        return Path(path) if store.read(Path(path)).key == key else None
    except BadInput as error:
        logger.debug("%s", error)
        return None


def sets_of(name: str, named: Sequence[str]) -> list[str]:
    """Return the sets of a model, the newest first.

    Parameters
    ----------
    name : str
        Of the registered model.
    named : sequence of str
        Directories of 'ssi ops freeze'.
    """
    sets = [store.read(path, KIND) for path in [*map(Path, named), *_own(name)]]
    distinct = {artefact.key: artefact for artefact in reversed(sets)}
    return [str(one.path) for one in sorted(distinct.values(), key=drawn_at, reverse=True)]


def due(sets: Sequence[str], days: int) -> bool:
    """Tell whether a set is to be drawn: there is none, or the newest is older than so many days.

    Parameters
    ----------
    days : int
        0 for never.
    """
    if not sets:
        return True
    age = now() - drawn_at(store.read(Path(sets[0]), KIND))
    return 0 < days < age / timedelta(days=1)


def draw(
    name: str, sets: Sequence[str], source: str, *, split_seed: int, relevant: str | None
) -> str:
    """Draw a set of tonight's data; its newest slice is what the data of the last set lack.

    Parameters
    ----------
    sets : sequence of str
        Those that there are, the newest first.
    source : str
        Directory of a collection.
    """
    earlier = _own(name)
    number = 1 + (int(earlier[-1].name) if earlier else 0)
    artefact = freeze(
        Path(source),
        environment.home() / "frozen" / name / f"{number:04d}",
        since=_state_of(sets[0]) if sets else None,
        split_seed=split_seed,
        draw=len(sets),
        relevant=relevant,
        now=now(),
    )
    logger.info("%s judges from now on: %s queries", artefact.path, artefact.counts["queries"])
    return str(artefact.path)


def measured(run: str, frozen: str, corpus: str) -> Report:
    """Return the report of a run's model on a frozen set; it is measured once a corpus.

    Known links of its queries are no candidates, and a corpus may know more than the one before.
    """
    from ssi_core.evaluation.evaluate import evaluate
    from ssi_core.guests.monitoring.trial import try_model
    from ssi_core.models import load_model

    parents = {"run": run, "frozen": store.read(Path(frozen)).key}
    parents |= {"corpus": store.read(Path(corpus)).key}
    key = store.key_of("report", {}, parents, digest_of(evaluate, open_frozen))
    path = store.path_of("report", key)
    if store.up_to_date(path, "report", key) is None:
        directory = tracking.model_directory(run)
        try_model(directory)
        fitted = load_model(directory)
        opened = open_frozen(Path(frozen), fitted, Path(corpus))
        report = evaluate(fitted, opened, queries=len(opened.queries), tuples=0)
        with store.create(
            path, kind="report", key=key, configuration={}, parents=parents
        ) as building:
            save_report(report, building.path)
    return load_report(path)


def _own(name: str) -> list[Path]:
    return sorted((environment.home() / "frozen" / name).glob("[0-9][0-9][0-9][0-9]"))


def _state_of(frozen: str) -> Path | None:
    """Open what a set was drawn from; None where that is gone, or another by now."""
    artefact = store.read(Path(frozen), KIND)
    path = str(artefact.configuration["source"])
    source = source_with_key(path, artefact.parents.get("collection", ""))
    if source is None:
        logger.warning(
            "%s is no longer what %s was drawn from: no link counts as new", path, frozen
        )
    return source
