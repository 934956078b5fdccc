"""Oriented principal components: far apart as texts, near as pairs (Gao et al. 2011, (22)-(24)).

The columns of V are the vectors with the largest quotients ``v'S v / v'M v``, with the covariance S
of all texts of the training pairs (`pca`, "separate") and the noise that is the difference of a
query and its document::

    M = N + gamma trace(N) / D I        N = 1/n sum_i (q_i - d_i) (q_i - d_i)'

for D words. A column has ``v'M v = 1``, so that a direction counts the less, the more pairs differ
in it. No matrix of D x D is made: ``M^-1 x`` comes from conjugate gradients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ssi_core.bounds import Count, Dimensions, Positive, Values
from ssi_core.evaluation.candidates import ranking_memory
from ssi_core.guests.clickthrough.paired import Moments, Paired, components_memory
from ssi_core.models.base import FitOptions, FittedModel, fitted
from ssi_core.models.latent.projection import Projection
from ssi_core.models.latent.svd import Metric, leading_eigenvectors
from ssi_core.resources import Cost
from ssi_core.types import BadInput, Float64, Task

_EXACT = 1e-6
"""Length of what conjugate gradients leave, as a share of the right side."""
_STEPS = 10_000


@dataclass(frozen=True)
class Opca(Projection):
    """``f(q, d) = cos(V'q, V'd)``, V the oriented principal components of the training pairs.

    Parameters
    ----------
    gammas : list of float
        Shares of equal noise in all words to choose from; small ones take longer.
    """

    name: ClassVar[str] = "opca"
    dimensions: Dimensions = 100
    gammas: Values[Positive] = (0.01, 0.1, 1.0, 10.0)
    validation_queries: Count = 500

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Compute the components for each gamma; keep those of the lowest validation rank loss."""
        paired = Paired(task, self.view, np.float64, options.threads)
        total = Moments(paired, "separate", centred=True, threads=options.threads)
        noise = Moments(paired, "apart", centred=False, threads=options.threads)
        diagonal, words = noise.diagonal(), task.queries.width(self.view)
        if not diagonal.any():
            raise BadInput(
                f"task {task.path}: every query of a training pair is its document, word by word; "
                "there is no noise to be oriented by. Use the model 'pca'."
            )
        fits = {}
        for gamma in sorted(self.gammas):
            metric = regularised(noise, diagonal, gamma * diagonal.sum() / words)
            factors = leading_eigenvectors(
                total, len(paired.words), self.dimensions, rng, metric=metric
            )
            facts = {"gamma": gamma, "residual": factors.residual}
            facts["dimensions"] = factors.vectors.shape[1]
            fits[gamma] = fitted(self, task, {"V": paired.projection(factors.vectors)}, facts)
        if len(fits) == 1:
            return next(iter(fits.values()))
        judge = options.judge(task, "valid", self.validation_queries)
        losses = {gamma: judge.rank_loss(fit) for gamma, fit in fits.items()}
        best = fits[min(losses, key=losses.__getitem__)]
        best.facts["validation_rank_loss"] = {str(g): loss for g, loss in losses.items()}
        return best

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of the components of all gammas, and of their choice."""
        projections = 4 * task.queries.width(self.view) * self.dimensions * len(self.gammas)
        ranking = ranking_memory(
            task, "valid", queries=self.validation_queries, dense=self.dimensions, nonzeros=0
        )
        return Cost(components_memory(task, self.view, self.dimensions) + projections + ranking, 0)


def regularised(noise: Moments, diagonal: Float64, ridge: float) -> Metric:
    """Return ``N + ridge I``; ``diagonal`` of N scales the conjugate gradients that invert it."""
    scale = (diagonal + ridge)[:, None]

    def product(columns: Float64) -> Float64:
        return noise(columns) + ridge * columns

    def solve(columns: Float64) -> Float64:
        """Solve for each column by itself; all of them share the products."""
        solution, left = np.zeros_like(columns), columns.copy()
        lengths = np.linalg.norm(columns, axis=0)
        near = left / scale
        direction, size = near, np.sum(left * near, axis=0)
        for _ in range(_STEPS):
            if np.all(np.linalg.norm(left, axis=0) <= _EXACT * lengths):
                break
            image = product(direction)
            step = _quotient(size, np.sum(direction * image, axis=0))
            solution += step * direction
            left -= step * image
            near = left / scale
            before, size = size, np.sum(left * near, axis=0)
            direction = near + _quotient(size, before) * direction
        return solution

    return Metric(product, solve)


def _quotient(one: Float64, other: Float64) -> Float64:
    """Divide; a column that is solved, or zero, does not move."""
    return np.divide(one, other, out=np.zeros_like(one), where=other > 0)
