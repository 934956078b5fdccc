"""Is the data of a night fit for a training? It is looked at beside the night before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from flows.frozen import source_of
from ssi_core.features.drift import Limits, Profile, changes, problems, profile
from ssi_core.features.linked import Mates
from ssi_core.types import BadInput


def look(
    source: str, before: str, model: str | None, limits: Limits
) -> tuple[dict[str, float], list[str]]:
    """Return the numbers of the data, as metrics, and what speaks against a training on them.

    Parameters
    ----------
    source : directory of a corpus, of clicks or of mates
    before : that of the night before, which may be gone; empty: there was none
    model : directory of the champion's model
    limits : what is too much
    """
    known = None if model is None else _words_of(Path(model))
    last = _opened(before)
    old = None if last is None else profile(last, known)
    new = profile(source_of(source), known, like=old)
    return _numbers(new, old), problems(new, old, limits)


def _opened(before: str) -> Path | Mates | None:
    try:
        return source_of(before) if before else None
    except BadInput:
        # It is gone, or another by now.
        return None


def _numbers(new: Profile, old: Profile | None) -> dict[str, float]:
    found: Mapping[str, float] = {f"drift/{name}": v for name, v in new.numbers().items()}
    if old is None:
        return dict(found)
    before = {f"drift/{name}_before": value for name, value in old.numbers().items()}
    moved = {f"drift/change_of_{name}": value for name, value in changes(new, old).items()}
    return {**found, **before, **moved}


def _words_of(model: Path) -> list[str]:
    from ssi_core.models import load_model

    fitted = load_model(model)
    views = [*fitted.query_views.values(), *fitted.document_views.values()]
    return sorted({word for view in views for word in view.words})
