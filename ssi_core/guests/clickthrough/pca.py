"""Principal components of the words of query-title pairs: LSA and CL-LSA of Gao et al. 2011.

V has the leading eigenvectors of the covariance ``S = 1/n sum_i x_i x_i' - m m'`` of the texts of
the training pairs, with m their mean. A text is projected as it is: ``x V``, neither centred nor
divided by singular values (the paper says neither; with (19) as it is printed, by both).

A text counts once for each of its pairs, so that LSA, CL-LSA and `opca` learn from the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ssi_core.bounds import Dimensions
from ssi_core.guests.clickthrough.paired import Moments, Paired, components_memory
from ssi_core.models.base import FitOptions, FittedModel, fitted
from ssi_core.models.latent.projection import Projection
from ssi_core.models.latent.svd import leading_eigenvectors
from ssi_core.resources import Cost
from ssi_core.types import Task


@dataclass(frozen=True)
class Pca(Projection):
    """``f(q, d) = cos(V'q, V'd)``, V the principal components of the training pairs.

    =========  ====================
    LSA        texts "separate"
    CL-LSA     texts "joined"
    =========  ====================

    Parameters
    ----------
    texts : str
        Texts of the covariance: "separate" (queries and documents), or "joined" (each query with
        its document).
    """

    name: ClassVar[str] = "pca"
    texts: Literal["separate", "joined"] = "separate"
    dimensions: Dimensions = 100

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Compute the components."""
        paired = Paired(task, self.view, np.float64, options.threads)
        moments = Moments(paired, self.texts, centred=True, threads=options.threads)
        factors = leading_eigenvectors(moments, len(paired.words), self.dimensions, rng)
        facts = {"dimensions": factors.vectors.shape[1], "residual": factors.residual}
        return fitted(self, task, {"V": paired.projection(factors.vectors)}, facts)

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of the components."""
        return Cost(components_memory(task, self.view, self.dimensions), 0)
