"""Settings chosen one after the other, each by what it brings beside the others as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ssi_core.evaluation.measures import MEASURES
from ssi_core.evaluation.significance import is_clearly_higher
from ssi_core.types import Float64

if TYPE_CHECKING:
    from ssi_core.evaluation.ranking import Validator
    from ssi_core.scoring.vectors import Fitted


def one_by_one(
    made: Callable[[Mapping[str, float]], Fitted],
    settings: Mapping[str, float],
    tried: Mapping[str, Sequence[float]],
    validator: Validator,
    measure: str,
) -> tuple[Mapping[str, float], dict[str, Any]]:
    """Return the settings that are best, each with the others as they are, and facts of the choice.

    All are gone through twice.

    Parameters
    ----------
    made : callable
        Settings -> the model that has them; nothing is trained.
    settings : mapping
        Those to begin with. Another value is taken where its mean on validation is higher by more
        than the standard error of the difference: few queries choose little.
    tried : mapping
        Name -> values to choose from, the most important setting first.
    validator, measure : `Validator` and str
        What is compared.
    """
    values: list[Float64] = []

    def reached(rival: Mapping[str, float]) -> Float64:
        ranks = validator.ranks(made(rival))
        values.append(np.asarray(MEASURES[measure](ranks), np.float64))
        return values[-1]

    best = reached(settings)
    for _ in range(2):
        before = settings
        for name, several in tried.items():
            rivals = [{**settings, name: value} for value in several if value != settings[name]]
            results = [reached(rival) for rival in rivals]
            n = int(np.argmax([one.mean() for one in results]))
            if is_clearly_higher(results[n], best):
                best, settings = results[n], rivals[n]
        if settings is before:
            break
    facts: dict[str, Any] = {"chosen": dict(settings), "tried": len(values)}
    facts |= {"validation_queries": len(validator), f"val/{measure}": float(best.mean())}
    return settings, facts
