"""When a training validates, and how long it waits: by its number of pairs, or as it is told.

A triple is drawn for a pair, so that as many triples as there are pairs are a pass over them. Few
pairs are passed over several times between two validations, for one that follows so soon says
little; of many pairs a validation comes before the pass is over.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

FEWEST, MOST = 10_000, 50_000
"""Triples between two validations, at least and at most."""
PASSES, WAITED = 5, 500_000
"""Passes, and triples, without improvement before the rate falls or the training ends."""


class Rhythm(NamedTuple):
    """Triples between two validations, and validations that a training waits."""

    epoch: int
    patience: int


def rhythm(epoch: int | Literal["passes"], patience: int | Literal["passes"], pairs: int) -> Rhythm:
    """Return what was given, and in the place of "passes" what suits a number of pairs.

    >>> rhythm("passes", "passes", 600)
    Rhythm(epoch=10000, patience=50)
    >>> rhythm("passes", "passes", 30_000)
    Rhythm(epoch=30000, patience=17)
    >>> rhythm("passes", "passes", 120_000)
    Rhythm(epoch=50000, patience=12)
    >>> rhythm(20_000, 5, 600)
    Rhythm(epoch=20000, patience=5)
    """
    triples = max(FEWEST, min(MOST, pairs)) if epoch == "passes" else epoch
    waited = -(-max(PASSES * pairs, WAITED) // triples) if patience == "passes" else patience
    return Rhythm(triples, waited)
