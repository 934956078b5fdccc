"""Is the data of a retraining fit for a training? It is looked at beside the retraining before."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flows.tracking import decisions
from flows.training.frozen_sets import source_with_key
from ssi_core.guests.monitoring.drift import (
    Limits,
    Profile,
    changes,
    problems,
    profile,
    profile_of_same,
)

logger = logging.getLogger(__name__)

PROFILE = "profile.json"
"""File of a decision: what was seen of the data."""


@dataclass(frozen=True)
class DataCheck:
    """Findings of the data validation of one retraining run.

    Attributes
    ----------
    seen : Profile
        To be compared with by the next retraining.
    numbers : dict
        The same as metrics, with those before.
    problems : list of str
        What speaks against a training; empty: nothing.
    """

    seen: Profile
    numbers: dict[str, float]
    problems: list[str]


def check_data(
    source: str,
    before: decisions.Retraining | None,
    model: str | None,
    limits: Limits,
    *,
    same_model: bool = False,
) -> DataCheck:
    """Look at data beside those of the retraining before.

    Parameters
    ----------
    source : str
        Directory of a collection.
    before : Night or None
        The last retraining that trained; None: there was none.
    model : str or None
        Directory of the champion's model.
    limits : Limits
        What is too much.
    same_model : bool
        The champion is that of the retraining before, so that what was noted of the same texts
        holds.
    """
    noted = _noted(before) if same_model and before is not None else None
    if noted is not None and (both := profile_of_same(Path(source), noted)) is not None:
        old, new = both
        return DataCheck(new, _numbers(new, old), problems(new, old, limits))
    known = None if model is None else _words_of(Path(model))
    earlier = None if before is None else _profile_of(before, known)
    new = profile(Path(source), known, like=earlier)
    return DataCheck(new, _numbers(new, earlier), problems(new, earlier, limits))


def _profile_of(retraining: decisions.Retraining, known: list[str] | None) -> Profile | None:
    """Profile the data of an earlier retraining again, or take what was noted if they are gone."""
    source = source_with_key(retraining.corpus, retraining.corpus_key)
    if source is not None:
        return profile(source, known)
    noted = _noted(retraining)
    logger.warning(
        "%s is gone, or is not what was trained on before: tonight is compared with %s",
        retraining.corpus,
        "nothing" if noted is None else "what was noted of it, without the map of its words",
    )
    return noted


def _noted(retraining: decisions.Retraining) -> Profile | None:
    noted = decisions.noted(retraining, PROFILE)
    return None if noted is None else Profile.from_dict(noted)


def _numbers(new: Profile, old: Profile | None) -> dict[str, float]:
    metrics: Mapping[str, float] = {f"drift/{name}": v for name, v in new.numbers().items()}
    if old is None:
        return dict(metrics)
    before = {f"drift/{name}_before": value for name, value in old.numbers().items()}
    moved = {f"drift/change_of_{name}": value for name, value in changes(new, old).items()}
    return {**metrics, **before, **moved}


def _words_of(model: Path) -> list[str]:
    from ssi_core.models import load_model

    fitted = load_model(model)
    views = [*fitted.query_views.values(), *fitted.document_views.values()]
    return sorted({word for view in views for word in view.words})
