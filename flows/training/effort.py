"""What a retraining starts from, and how many triples it may take.

A night on which little has changed goes on from the values of the champion, or of a later
challenger that the gate measured no worse: few are shown to be better, and what they learned would
be learned again each night. The budget follows the share of the pairs that have changed since that
model was trained. Every `scratch_days` a challenger is trained from scratch, in full, as a check of
those that went on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from flows.settings import RetrainSettings
from flows.tracking import decisions, registry
from flows.training.frozen_sets import source_with_key
from ssi_core.experiment import Row
from ssi_core.guests.monitoring.drift import changed_pairs
from ssi_core.training.fitting import FEWEST

PER_CHANGE = 5.0
"""Share of the row's budget for each share of changed pairs: with a fifth changed, all of it."""


@dataclass(frozen=True)
class Effort:
    """Start and budget of a training.

    Attributes
    ----------
    model : str or None
        The model whose values are the first ones, as `tracking.model_directory` takes it; None:
        random values.
    budget : int or None
        Triples at most; None: those of the row.
    reason : str
        Why, in words.
    """

    model: str | None
    budget: int | None
    reason: str


def effort_of(
    settings: RetrainSettings, row: Row, corpus: str, decided: list[decisions.Retraining]
) -> Effort:
    """Decide what the challenger of a retraining starts from, and its budget.

    Parameters
    ----------
    settings : RetrainSettings
        Of the retraining; a budget that they give counts.
    row : Row
        What is trained.
    corpus : str
        Directory of the data.
    decided : list of Retraining
        Decisions about the model so far, the newest first.
    """
    version = registry.champion(settings.name)
    if settings.start == "scratch":
        return Effort(None, settings.budget, "scratch")
    if version is None:
        return Effort(None, settings.budget, "scratch, as there is no champion")
    trained = [one for one in decided if one.outcome != "stop"]
    scratch = next((one.at for one in trained if one.from_scratch), None)
    days = settings.scratch_days
    if days and (scratch is None or now() - scratch >= timedelta(days=days)):
        return Effort(None, settings.budget, f"scratch, as none was for {days} days")
    model, what, since = _latest(settings, version, trained)
    share = _changed(corpus, since)
    budget = settings.budget or _budget(row, share)
    return Effort(model, budget, f"{what}, {share:.1%} of the pairs changed since")


def _latest(
    settings: RetrainSettings, version: str, trained: list[decisions.Retraining]
) -> tuple[str, str, decisions.Retraining | None]:
    """Return the model to go on from, in words too, and the retraining that trained it."""
    champion = f"models:/{settings.name}/{version}", f"version {version}"
    for one in trained:
        if registry.version_of(one.challenger, settings.name) == version:
            return *champion, one
        if one.row == settings.row and one.champion == version and one.is_no_worse:
            return f"runs:/{one.challenger}", f"the challenger of {one.at:%Y-%m-%d}", one
    return *champion, None


def _changed(corpus: str, before: decisions.Retraining | None) -> float:
    """Return the share of the pairs that changed; 1 where the data of before are gone."""
    source = before and source_with_key(before.corpus, before.corpus_key)
    return changed_pairs(Path(corpus), Path(source)) if source else 1.0


def _budget(row: Row, share: float) -> int | None:
    """Return the part of the row's budget for a share of changed pairs, of one epoch at least."""
    ranker = row.ranker()
    budget: int | None = getattr(ranker, "budget", None)
    if budget is None or PER_CHANGE * share >= 1:
        return None
    epoch = getattr(ranker, "epoch", 1)
    least = FEWEST if epoch == "passes" else epoch
    return min(budget, max(least, math.ceil(PER_CHANGE * share * budget)))


def now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)
