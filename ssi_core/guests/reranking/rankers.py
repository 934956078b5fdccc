"""The table of contents: name -> reranker.

To add one: one file in this folder and one line in `RERANKERS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssi_core.guests.reranking import base
from ssi_core.guests.reranking.adarank import AdaRank
from ssi_core.guests.reranking.base import FittedReranker, Reranker
from ssi_core.guests.reranking.coordinate_ascent import CoordinateAscent
from ssi_core.guests.reranking.lambdamart import LambdaMart
from ssi_core.guests.reranking.rankboost import RankBoost
from ssi_core.guests.reranking.ranknet import RankNet
from ssi_core.guests.reranking.rankrls import GreedyRankRls, RankRls
from ssi_core.guests.reranking.references import BestFeature, ReciprocalRanks
from ssi_core.guests.reranking.selected import BestFirstSelection
from ssi_core.guests.reranking.single_feature import SingleFeature
from ssi_core.strict import read_named

RERANKERS: Mapping[str, type[Reranker]] = {
    ranker.name: ranker
    for ranker in (
        SingleFeature,  # nothing learnt
        BestFeature,  # one feature and its direction
        ReciprocalRanks,  # Cormack et al. 2009
        RankRls,  # Pahikkala et al. 2009
        GreedyRankRls,  # Pahikkala et al. 2010
        RankNet,  # Burges et al. 2005
        RankBoost,  # Freund et al. 2003
        AdaRank,  # Xu and Li 2007
        CoordinateAscent,  # Metzler and Croft 2007
        LambdaMart,  # Burges 2010, by LightGBM
        BestFirstSelection,  # Dang and Croft 2010, before another of these
    )
}


def reranker_named(name: str, parameters: Mapping[str, Any], where: str) -> Reranker:
    """Build a reranker of its name and hyper-parameters.

    Raises
    ------
    BadInput
        There is no such reranker, or a parameter is unknown or out of bounds; the message begins
        with ``where``.
    """
    return read_named(RERANKERS, "ranker", name, parameters, where)


def load_reranker(directory: Path) -> FittedReranker:
    """Read a saved reranker; see `base.load`."""
    return base.load(directory, RERANKERS)
