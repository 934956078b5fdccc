"""Texts that a model was not trained on, as a task with a test side only."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from ssi_core import store
from ssi_core.collection import JUDGEMENT, open_collection
from ssi_core.scoring.vectors import Fitted
from ssi_core.tasks import judged
from ssi_core.tasks.frozen import KIND, freeze, open_frozen, raw_of
from ssi_core.tasks.labels import marked_by
from ssi_core.tasks.unseen import MOST_UNKNOWN, Raw, require_known, require_scores
from ssi_core.types import BadInput, Task

logger = logging.getLogger(__name__)


class Unseen(NamedTuple):
    """Texts that a model is measured on.

    Attributes
    ----------
    task : Task
        With a test side only, in the views of the model.
    unknown : dict
        "queries" and "documents" -> share of the running words that the model does not know.
    """

    task: Task
    unknown: dict[str, float]


def texts_for(
    fitted: Fitted,
    path: Path,
    *,
    queries: int | None = None,
    relevant: str | None = None,
    by: str | None = None,
) -> Unseen:
    """Open raw texts as a task with a test side only, in the views of a model.

    Parameters
    ----------
    fitted : Fitted
        Its own views read the texts.
    path : Path
        A frozen set, or a collection: of one with judgements all are taken, of another a frozen
        set is drawn and kept in the store.
    queries : int or None
        Queries that are drawn for a frozen set; None: all.
    relevant : str or None
        What is relevant to a query; None: judgements, else see `linked.relevant_in`.
    by : str or None
        Column whose values are slices; see `labels.marked_by`.

    Raises
    ------
    BadInput
        The model does not read such texts (`unseen.require_known`), or has nothing to say of them;
        or there is no such column.
    """
    if _is_judged(path, relevant):
        collection = open_collection(path)
        raw = Raw.of(collection)
        unknown = require_known(raw, fitted, path)
        task = judged.open_collection(collection, raw, fitted)
    else:
        frozen, source = _frozen_of(path, queries, relevant)
        raw = raw_of(frozen)
        unknown = require_known(raw, fitted, path)
        task = open_frozen(frozen, fitted, source)
    require_scores(task, fitted, path)
    for side, share in unknown.items():
        if share > MOST_UNKNOWN:
            logger.warning(
                "%s: %.0f %% of the words of the %s are unknown to this model: most of their text "
                "takes no part in the scores.", path, 100 * share, side,
            )  # fmt: skip
    return Unseen(task if by is None else marked_by(task, raw.labels, by, path), unknown)


def _is_judged(path: Path, relevant: str | None) -> bool:
    """Tell whether the judgements of a collection are wanted, and there."""
    if store.read(path).kind == KIND:
        if relevant is not None:
            raise BadInput(
                f"{path} is a frozen set, whose answers are chosen. Leave --relevant out."
            )
        return False
    return relevant in (None, JUDGEMENT) and JUDGEMENT in open_collection(path).relevant


def _frozen_of(path: Path, queries: int | None, relevant: str | None) -> tuple[Path, Path | None]:
    """Return the frozen set of a place, and what it is drawn from; the set itself if it is one."""
    if store.read(path).kind == KIND:
        return path, None
    return freeze(path, queries=queries, relevant=relevant).path, path
