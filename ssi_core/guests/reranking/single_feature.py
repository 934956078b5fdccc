"""A feature as it is: the baseline of every reranker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ssi_core.estimator import Arrays
from ssi_core.guests.reranking.base import Linear
from ssi_core.guests.reranking.pairs import PairFeatures
from ssi_core.strict import instead
from ssi_core.types import BadInput


@dataclass(frozen=True)
class SingleFeature(Linear):
    """``s(x) = x_f`` of one feature f; nothing is learnt.

    Parameters
    ----------
    feature : str
        Name of the feature; ``first_stage`` is the order of the first model in files of
        ``ssi rank rerank features``.
    """

    name: ClassVar[str] = "feature"
    feature: str = "first_stage"

    def learn(
        self, train: PairFeatures, valid: PairFeatures | None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Give the feature the weight 1."""
        if self.feature not in train.names:
            raise BadInput(f"no feature {instead(self.feature, train.names)}")
        weights = np.zeros(len(train.names))
        weights[train.names.index(self.feature)] = 1
        return {"weights": weights}, {}
