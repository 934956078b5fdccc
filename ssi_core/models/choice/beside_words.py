"""The documented settings as the latent part of a model beside an order of words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ssi_core.bounds import Mean
from ssi_core.models.base import Model
from ssi_core.models.bilinear.trained import HARD
from ssi_core.models.choice.sums import parameters
from ssi_core.models.combined.own_words import wordings
from ssi_core.models.combined.residual import Residual
from ssi_core.types import Task

SETTINGS: Mapping[str, Any] = {"decays": 0, "rates": (0.03,), "step": "triple"}
"""What words lack is learned soon, at a low rate."""


def beside_words(words: Model, latent: Model, task: Task, measure: Mean) -> Residual:
    """Return a model of words with a latent part, which may learn from hard documents.

    Where words of links are asked, a random d- is seldom wrong beside it.
    """
    hard = {"against": HARD} if len(wordings(task).rows) else {}
    first = {"model": words.name, **parameters(words)}
    second = {"model": latent.name, **parameters(latent), **SETTINGS, **hard}
    return Residual((first, second), measure=measure)
