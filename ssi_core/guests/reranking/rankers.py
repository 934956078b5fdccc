"""The table of contents: name -> reranker.

To add one: one file in this folder and one line in `RERANKERS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssi_core.guests.reranking.base import FittedReranker, Reranker
from ssi_core.registry import Registry
from ssi_core.strict import read_named

_HERE = "ssi_core.guests.reranking"

RERANKERS: Registry[type[Reranker]] = Registry(
    "rerankers",
    {
        "feature": f"{_HERE}.single_feature:SingleFeature",  # nothing learnt
        "best_feature": f"{_HERE}.references:BestFeature",  # one feature and its direction
        "fusion": f"{_HERE}.references:ReciprocalRanks",  # Cormack et al. 2009
        "rankrls": f"{_HERE}.rankrls:RankRls",  # Pahikkala et al. 2009
        "greedy_rankrls": f"{_HERE}.rankrls:GreedyRankRls",  # Pahikkala et al. 2010
        "ranknet": f"{_HERE}.ranknet:RankNet",  # Burges et al. 2005
        "rankboost": f"{_HERE}.rankboost:RankBoost",  # Freund et al. 2003
        "adarank": f"{_HERE}.adarank:AdaRank",  # Xu and Li 2007
        "coordinate_ascent": f"{_HERE}.coordinate_ascent:CoordinateAscent",  # Metzler, Croft 2007
        "lambdamart": f"{_HERE}.lambdamart:LambdaMart",  # Burges 2010, by LightGBM
        # Dang and Croft 2010, before another of these.
        "best_first": f"{_HERE}.best_first_selection:BestFirstSelection",
    },
)


def reranker_named(name: str, parameters: Mapping[str, Any], where: str) -> Reranker:
    """Build a reranker of its name and hyper-parameters.

    Raises
    ------
    BadInput
        There is no such reranker, or a parameter is unknown or out of bounds; the message begins
        with ``where``.
    """
    return read_named(RERANKERS, "ranker", name, parameters, where)


def load_reranker(directory: str | Path) -> FittedReranker:
    """Read a saved reranker; see `FittedReranker.save`."""
    return FittedReranker.load(directory, RERANKERS)
