"""The cosine of two maps, learnt by telling each mate from the others of its batch.

``f(q, d) = cos(U q, V d)``, from the start of CL-LSI. With the vectors ``a_i``, ``b_i`` (unit
length) of a batch of training pairs and a temperature ``t``, the loss is

    - mean_i log( exp(a_i'b_i / t) / sum_j exp(a_i'b_j / t) )

and the same with queries and documents exchanged, halved each. The other documents of the batch are
the irrelevant ones (van den Oord et al. 2018; Radford et al. 2021), but for those that are relevant
to the query in training, or excluded. A dot product is drawn to long and general documents, which
become hubs; the cosine is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ssi_core.arrays import ArraySpec, ArraySpecs
from ssi_core.bounds import Batch, Count, Dimensions, Positive, Rate, Triples, Values
from ssi_core.estimator import Sizes
from ssi_core.evaluation.candidates import ranking_memory
from ssi_core.kernels.training.adam import adam_step
from ssi_core.models.base import FitOptions, FittedModel, Judge, Model, Side, fitted
from ssi_core.models.latent.cl_lsi import factored, factoring_memory
from ssi_core.models.latent.projection import cosine_words, unit
from ssi_core.resources import Cost
from ssi_core.scoring.vectors import DenseWords, Inner, Vectors
from ssi_core.training import fitting
from ssi_core.training.sgd import excluded
from ssi_core.types import BadInput, Float32, Int32, Task, TextMatrix, Texts

_DECAYS = np.float32(0.9), np.float32(0.999)  # of Adam
_SMALL = np.float32(1e-8)
_JUDGED: tuple[Literal["train", "valid"], ...] = ("train", "valid")


@dataclass(frozen=True)
class Softmax(Model):
    """``cos(U q, V d)`` with the softmax over a batch, started from CL-LSI.

    Parameters
    ----------
    temperature : float
        t in the loss.
    batch : int
        Pairs in a batch.
    rates : list of float
        Learning rates of Adam, as a share of the largest entry of U and V at the start; the one
        with the lowest rank loss after ``search_budget`` pairs is taken.
    rate_by : str
        Rank loss that chooses the rate: "training" or "validation".
    epoch : int
        Pairs between two validations.
    budget : int
        Maximum number of pairs.
    patience : int
        Validations without improvement before the training ends.
    search_budget : int
        Pairs of each trial of a rate.
    """

    name: ClassVar[str] = "softmax"
    view: str = "raw"
    dimensions: Dimensions = 200
    temperature: Positive = 0.1
    batch: Batch = 512
    rates: Values[Rate] = (0.003,)
    rate_by: Literal["training", "validation"] = "validation"
    epoch: Triples = 10_000
    budget: Triples = 100_000
    patience: Count = 5
    search_budget: Triples = 10_000
    validation_queries: Count = 1000

    def views(self) -> set[str]:
        """Return the one view that the model reads."""
        return {self.view}

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Factor the mates, then train with early stopping; one thread makes the same bits."""
        if len(task.train) == 0:
            raise BadInput(f"task {task.path}: no training pair; nothing can be learnt from it.")
        maps = factored(task, self.view, self.dimensions, rng)[:2]
        seed = int(rng.integers(2**63))
        judges = [options.judge(task, side, self.validation_queries) for side in ("train", "valid")]

        def begin(settings: Mapping[str, Any]) -> Training:
            return Training(self, task, maps, seed, float(settings["rate"]), judges[1])

        def errors(training: Training) -> tuple[float, float]:
            first, second = (judge.rank_loss(training.fitted()) for judge in judges)
            return first, second

        trained, facts = fitting.fit(
            self,
            {},
            begin,
            errors,
            len(task.train),
            watch=options.watch,
            checkpoint=options.checkpoint,
        )
        facts["threads"] = options.threads
        return fitted(self, task, trained.fitted().arrays, facts)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the map of either side."""
        return {
            "U": ArraySpec("float32", (sizes[f"query {self.view}"], "dimensions")),
            "V": ArraySpec("float32", (sizes[f"document {self.view}"], "dimensions")),
        }

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Unit rows of the side's map."""
        return Inner(None, unit(texts.matrix(self.view) @ self._map(fitted, side)))

    def dense_words(self, fitted: FittedModel, texts: Texts, side: Side) -> DenseWords:
        """Words of the side, each divided by the length of its text."""
        words, view = texts.matrix(self.view), fitted.view(self.view, side)
        return cosine_words(words, self._map(fitted, side), view)

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of the start, or of the training.

        The maps, both averages of Adam, the best of these, and the gradients of a batch; the maps
        that training starts from, and those that are judged.
        """
        words = sum(texts.width(self.view) for texts in (task.queries, task.documents))
        size = 4 * self.dimensions * words
        ranking = max(
            ranking_memory(
                task, side, queries=self.validation_queries, dense=self.dimensions, nonzeros=0
            )
            for side in _JUDGED
        )
        batch = 4 * self.batch * (4 * self.batch + 8 * self.dimensions)
        start = factoring_memory(task, self.view, self.dimensions)
        return Cost(max(start, 10 * size + batch + 2 * ranking), 4 * 3 * size)

    def _map(self, fitted: FittedModel, side: Side) -> Any:
        return fitted.arrays["U" if side == "query" else "V"]


def loss_and_gradients(
    U: Float32, V: Float32, q: TextMatrix, d: TextMatrix, never: NDArray[np.bool_], t: float
) -> tuple[float, tuple[Float32, Float32]]:
    """Loss of a batch, and its gradients by U and V.

    Parameters
    ----------
    U, V : float32 (words of queries, N)
        (words of documents, N).
    q, d : CSR (n, words)
        Row by row the pairs.
    never : bool (n, n)
        Documents that are not to be told from a query's own.
    t : float
        Temperature.
    """
    rows = [np.asarray(x @ W) for x, W in ((q, U), (d, V))]
    lengths = [np.maximum(np.linalg.norm(x, axis=1, keepdims=True), _SMALL) for x in rows]
    a, b = (x / length for x, length in zip(rows, lengths, strict=True))
    scores = (a @ b.T) / np.float32(t)
    scores[never] = -np.inf
    loss = 0.0
    slope = np.zeros_like(scores)
    for axis in (0, 1):
        scaled = scores - scores.max(axis=axis, keepdims=True)
        share = np.exp(scaled)
        total = share.sum(axis=axis, keepdims=True)
        loss += float(np.mean(np.log(total).ravel() - np.diagonal(scaled))) / 2
        slope += share / total
    slope[np.diag_indices_from(slope)] -= 2
    slope /= np.float32(2 * len(slope) * t)
    sides = ((q, a, lengths[0], slope @ b), (d, b, lengths[1], slope.T @ a))
    gradients = []
    for words, ahead, length, by in sides:
        inward = np.sum(by * ahead, axis=1, keepdims=True)
        gradients.append(np.asarray(words.T @ ((by - inward * ahead) / length)))
    return loss, (gradients[0], gradients[1])


class Training:
    """Steps of Adam on batches of the training pairs (a `training.descend.Trainee`)."""

    def __init__(
        self,
        model: Softmax,
        task: Task,
        maps: tuple[Float32, Float32],
        seed: int,
        rate: float,
        judge: Judge,
    ) -> None:
        self._model, self._task, self._seed, self._judge = model, task, seed, judge
        self._pairs = task.train.rows
        self._never = excluded(task)
        self._queries = task.queries.matrix(model.view)
        self._documents = task.documents.matrix(model.view)
        self._maps = [np.array(array, np.float32, order="C") for array in maps]
        self._means = [np.zeros_like(array) for array in maps]
        self._squares = [np.zeros_like(array) for array in maps]
        self._rate = np.float32(rate * max(float(np.abs(array).max()) for array in maps))
        self._drawn = np.zeros(2, np.int64)  # pairs drawn, steps taken

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Live arrays: the maps, the state of Adam, and what was drawn."""
        arrays: dict[str, NDArray[Any]] = {"drawn": self._drawn}
        for i, name in enumerate(("U", "V")):
            arrays |= {
                name: self._maps[i],
                f"{name}_mean": self._means[i],
                f"{name}_square": self._squares[i],
            }
        return arrays

    def fitted(self) -> FittedModel:
        """Return the model as it stands."""
        maps = dict(zip(("U", "V"), (array.copy() for array in self._maps), strict=True))
        return fitted(self._model, self._task, maps)

    def reseed(self, triples: int) -> None:
        """Do nothing: what is drawn next follows from what was drawn."""

    def sweep(self, triples: int) -> Mapping[str, float]:
        """Train on so many pairs, in batches; the mean loss."""
        losses = []
        left = triples
        while left > 0:
            rows = self._next(min(left, self._model.batch))
            left -= len(rows)
            losses.append(self._step(self._pairs[rows]))
        return {"train/softmax": float(np.mean(losses))}

    def _next(self, n: int) -> NDArray[np.int64]:
        """Pairs in a random order that changes when all of them were drawn."""
        count = len(self._pairs)
        turn, position = divmod(int(self._drawn[0]), count)
        order = np.random.default_rng([self._seed, turn]).permutation(count)
        rows = order[position : position + n]
        self._drawn[0] += len(rows)
        return rows

    def _step(self, pairs: Int32) -> float:
        q, d = pairs.T
        never = self._never[q][:, d].toarray()
        np.fill_diagonal(never, False)
        loss, gradients = loss_and_gradients(
            self._maps[0],
            self._maps[1],
            self._queries[q],
            self._documents[d],
            never,
            self._model.temperature,
        )
        self._drawn[1] += 1
        steps = int(self._drawn[1])
        first, second = (1 - float(decay) ** steps for decay in _DECAYS)
        rate = self._rate * np.sqrt(second) / first
        for i, gradient in enumerate(gradients):
            adam_step(
                self._maps[i].ravel(),
                np.ascontiguousarray(gradient, np.float32).ravel(),
                self._means[i].ravel(),
                self._squares[i].ravel(),
                np.float32(rate),
                _DECAYS,
            )
        return loss

    def error(self) -> float:
        """Validation rank loss now."""
        return self._judge.rank_loss(self.fitted())

    def observed(self) -> Mapping[str, float]:
        """Return nothing more."""
        return {}
