"""A weight for each pair of words: W dense, sparse or hashed (journal paper, 2.1, 2.2.2, 2.2.3).

A step costs ``|q| |d|``: give W a view that is cut to the heaviest words of a text. Scores are
``v . d`` with ``v = q' W``, never pair by pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from ssi_core.arrays import ArraySpec, ArraySpecs, csr_specs
from ssi_core.bounds import Count, Triples
from ssi_core.estimator import Sizes
from ssi_core.kernels.sparse import Csr, aligned_empty, padded
from ssi_core.kernels.training.structs import Parameters
from ssi_core.kernels.training.sweep import Group as Kernels
from ssi_core.models.base import FitOptions, FittedModel, Side, UnfitStart, fitted
from ssi_core.models.bilinear.pair_weights import (
    PairWeights,
    carried_over,
    dense_weights,
    hash_facts,
    hashed_weights,
    kept,
    longest,
    prune,
)
from ssi_core.models.bilinear.trained import Trained, same_space
from ssi_core.models.bilinear.training import Training
from ssi_core.resources import Cost
from ssi_core.scoring.vectors import Columns, Inner, Vectors, Words
from ssi_core.training import fitting
from ssi_core.training.descend import descend, later
from ssi_core.training.sgd import Sgd, in_runs, sorted_pairs_bytes
from ssi_core.types import BadInput, Task, Texts, Watch

# A larger W takes longer to write at every validation than to train again after a break.
_CHECKPOINT_BYTES = 1 << 30


@dataclass(frozen=True)
class WordPairs(Trained):
    """Bilinear model whose W has a weight for each pair of words, and a diagonal.

    ==================================  ====================================================
    "W unconstrained", from identity    form "dense", diagonal "none", initial "identity"
    the same, other words only          form "dense", zero_diagonal, diagonal "none"
    "sparse W", p weights a row         form "sparse", entries p
    ``W + I`` on another view           form "dense" or "sparse", diagonal "identity"
    "Hash Kernels", H weights           form "hashed", buckets H, diagonal "none"
    "Hash Kernels + alpha I"            form "hashed", diagonal "alpha", alpha_rate above 0
    ==================================  ====================================================

    "sparse" is Algorithm 2: train a dense W, take half of the non-zero weights of each row away,
    those of the smallest ``|W_ij|``, train what is left, and so on until each row has at most p.
    A ``start`` whose rows have more than p weights, dense or sparse, takes the place of the trained
    dense W, with its rate, margin and alpha: one chain serves several p.

    Parameters
    ----------
    form : str
        Form of W: "dense", "sparse" or "hashed".
    zero_diagonal : bool
        Keep ``W_ss`` at zero (dense and sparse).
    initial : str
        W at the start, "zero" or "identity" (dense and sparse).
    entries : int
        p, the number of weights that a sparse row may keep.
    round_budget : int
        Triples of each training between two cuts of a sparse W.
    buckets : int
        H, the number of weights of a hashed W; pair (s, t) has that of bucket ``(s P + t) mod H``.
    step : str
        "triple": a step costs ``|q| |d|``, four times. "block": up to eight pairs of one query are
        learnt together, and read and write its rows of W once; more documents d- cost next to
        nothing. For whole texts and many ``negatives``; dense and sparse W only.
    others
        See `Trained`.
    """

    name: ClassVar[str] = "word_pairs"
    form: Literal["dense", "sparse", "hashed"] = "hashed"
    zero_diagonal: bool = False
    initial: Literal["zero", "identity"] = "zero"
    entries: Count = 100
    round_budget: Triples = 50_000
    buckets: Count = 1_000_000
    step: Literal["triple", "block"] = "triple"

    def __post_init__(self) -> None:
        """Refuse values that no training could follow."""
        super().__post_init__()
        if self.form == "hashed" and (self.zero_diagonal or self.initial == "identity"):
            raise ValueError("form='hashed' starts at zero and has no diagonal of its own")
        if self.zero_diagonal and self.initial == "identity":
            raise ValueError("initial='identity' with zero_diagonal=True")
        if self.form == "hashed" and self.step == "block":
            raise ValueError("step='block' with form='hashed': expected step='triple'")

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Search the rate (alpha, margin), train with early stopping; a sparse W in rounds.

        ``start`` gives the weights of the words that both vocabularies have. A dense W of more than
        1 GiB is not written to ``checkpoint``: after a break it is trained from its start.

        Raises
        ------
        Refused
            W does not fit into memory; the message says what would.
        BadInput
            The hash leaves many buckets out, or ``start`` has a hashed W of other words.
        """
        self.check(task)
        training = _Training(self, task, int(rng.integers(2**63)), options)
        hashing, checkpoint = training.hashing(), options.checkpoint
        if training.dense_bytes > _CHECKPOINT_BYTES:
            checkpoint = None
        grid = self.searched()
        first = checkpoint / "first" if checkpoint and self.form == "sparse" else checkpoint
        facts = training.settled(grid)
        if facts is None:
            sgd, facts = fitting.fit(
                self,
                grid,
                training.begin,
                training.errors,
                training.pairs,
                validation_time=self.validation_time,
                watch=options.watch,
                checkpoint=first,
            )
        else:
            sgd = training.begin(facts)
        if self.form == "sparse":
            sgd = training.thin_out(sgd, facts, options.watch, checkpoint)
        facts |= {"threads": options.threads} | training.hits(facts) | hashing
        if self.diagonal == "alpha":
            facts["alpha"] = float(sgd.parameters.diagonal[0])
        return fitted(self, task, self.arrays(sgd.parameters), facts)

    def check(self, task: Task) -> None:
        """Refuse a task from which this cannot be learnt."""
        super().check(task)
        if self.zero_diagonal or self.initial == "identity":
            same_space(task, self.view, "the diagonal of W")

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of a training; the load of each bucket of a hashed W is counted."""
        one = super().cost(task, threads)
        more = 8 * self.buckets if self.form == "hashed" else 0
        if self.step == "block":
            more += threads * 16 * task.documents.width(self.view) + sorted_pairs_bytes(task.train)
        return Cost(one.memory + more, one.disk)

    def parameter_bytes(self, task: Task) -> int:
        """Return the size of W; a sparse one is dense at first."""
        if self.form == "hashed":
            return 4 * self.buckets
        return 4 * task.queries.width(self.view) * task.documents.width(self.view)

    def arrays(self, parameters: Parameters, *, live: bool = False) -> dict[str, Any]:
        """Arrays that are kept of the parameters."""
        return super().arrays(parameters, live=live) | kept(parameters.W)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare W, in whatever form, and the diagonal."""
        rows, columns = sizes[f"query {self.view}"], sizes[f"document {self.view}"]
        specs = dict(super().array_specs(sizes))
        if self.form == "sparse":
            return specs | csr_specs(rows, columns, ("W_indptr", "W_indices", "W_data"), "float32")
        shape = (self.buckets,) if self.form == "hashed" else (rows, columns)
        return specs | {"W": ArraySpec("float32", shape)}

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Rows of the diagonal's view and of W's side by side; queries go through `PairWeights`."""
        rows, diagonal = texts.matrix(self.view), self.diagonal_rows(fitted, texts, side)
        both = rows if diagonal is None else sparse.hstack([diagonal, rows], format="csr")
        if side == "document":
            return Inner(both, None)
        first = 0 if diagonal is None else diagonal.shape[1]
        words = len(fitted.view(self.view, "document").words)
        return Inner(both, None, PairWeights(fitted.arrays, first, words))

    def sparse_view(self, fitted: FittedModel, side: Side) -> Words | None:
        """Words of the diagonal, then those of W."""
        words = fitted.view(self.view, side)
        if self.diagonal == "none":
            return words
        diagonal = fitted.view(self.diagonals_view, side)
        return Columns(f"{diagonal.space} {words.space}", [*diagonal.words, *words.words])


class _Training(Training[WordPairs]):
    """Fit of W."""

    def __init__(self, model: WordPairs, task: Task, seed: int, options: FitOptions) -> None:
        if options.start is not None:
            _check_start(model, options.start)
        super().__init__(model, task, seed, options)
        if model.step == "block":
            self.data = in_runs(self.data)
        sides = (task.queries, task.documents)
        queries, documents = (texts.matrix(model.view).shape[1] for texts in sides)
        self._shape: tuple[int, int] = (queries, documents)

    @property
    def dense_bytes(self) -> int:
        """Size of a dense W; 0 where there is none."""
        return 0 if self.model.form == "hashed" else 4 * self._shape[0] * self._shape[1]

    def begin(self, settings: Mapping[str, Any]) -> Sgd:
        """Return a training at its start."""
        width = self._shape[1] if self.model.step == "block" else 1
        W, nothing = self._initial(), aligned_empty(0, padded(width))
        parameters = Parameters(nothing, nothing, self.first_diagonal(settings), W)
        if isinstance(W, Csr):
            return self.sgd("sparse", parameters, settings)
        dense = "zero_diagonal" if self.model.zero_diagonal else "dense"
        return self.sgd("hashed" if W.ndim == 1 else dense, parameters, settings)

    def kernels(self, form: str, diagonal: str) -> Kernels:
        """Return the kernels of a form of W, which take triples or runs."""
        return super().kernels(form, diagonal)._replace(block=self.model.step == "block")

    def settled(self, grid: Iterable[str]) -> dict[str, Any] | None:
        """Facts that a chain goes on from; None where ``start`` has no W that is only to be cut."""
        if self.model.form != "sparse" or self.start is None:
            return None
        arrays = self.start.arrays
        sparse_start = "W_indptr" in arrays
        if sparse_start and np.diff(arrays["W_indptr"]).max(initial=0) <= self.model.entries:
            return None
        settings = {name: self.start.facts[name] for name in (*grid, "rate")}
        return settings | {"triples": 0, "seconds": 0.0}

    def thin_out(
        self, sgd: Sgd, facts: dict[str, Any], watch: Watch | None, checkpoint: Path | None
    ) -> Sgd:
        """Cut and train again until no row of W has more than p weights; add to the facts."""
        model, parameters = self.model, sgd.parameters
        beat = fitting.rhythm(model.epoch, model.patience, self.pairs)
        rounds: list[dict[str, Any]] = []
        facts["rounds"] = rounds
        while not isinstance(parameters.W, Csr) or longest(parameters.W) > model.entries:
            parameters = parameters._replace(W=prune(parameters.W, model.entries))
            seed = self.seed + len(rounds) + 1
            sgd = self.sgd("sparse", parameters, facts, seed)
            progress = descend(
                sgd,
                epoch=min(beat.epoch, model.round_budget),
                budget=model.round_budget,
                patience=beat.patience,
                rate=facts["rate"],
                watch=later(watch, facts["triples"]),
                checkpoint=checkpoint and checkpoint / f"round-{len(rounds)}",
            )
            rounds.append(
                {
                    "weights": len(parameters.W.data),
                    "longest_row": longest(parameters.W),
                    "validation_rank_loss": progress.best,
                }
            )
            facts["triples"] += progress.triples
            facts["seconds"] += progress.seconds
            facts["validation_rank_loss"] = progress.best
        return sgd

    def hashing(self) -> dict[str, Any]:
        """Say how the pairs of words share buckets; refuse a number that spoils the hash."""
        if self.model.form != "hashed":
            return {}
        buckets = self.model.buckets
        loads = hash_facts(*self._shape, buckets)
        ideal = -buckets * np.expm1(-self._shape[0] * self._shape[1] / buckets)
        if loads["used_buckets"] < 0.95 * ideal:
            raise BadInput(
                f"buckets={buckets}: pairs of {self._shape[0]} and {self._shape[1]} words reach "
                f"{loads['used_buckets']} of them, {ideal:.0f} with an ideal hash. Give a number "
                "near which no fraction of 2147483647 lies (no power of 2), such as 1000000."
            )
        return loads

    def _initial(self) -> Any:
        """W at the start: zero, the identity, or that of ``start``, word by word."""
        model, before = self.model, {} if self.start is None else self.start.arrays
        if model.form == "hashed":
            W = hashed_weights(model.buckets)
            if before:
                self._same_buckets()
                W[:] = before["W"]
            return W
        if not before:
            return dense_weights(self._shape, identity=model.initial == "identity")
        rows, columns = self.same_words("query"), self.same_words("document")
        carried = carried_over(before, rows, columns, self._shape)
        if model.form == "sparse" and "W_data" in before:
            return carried
        W = dense_weights(self._shape, identity=model.initial == "identity")
        W[rows[1]] = 0
        for s in rows[1]:
            weights = slice(carried.indptr[s], carried.indptr[s + 1])
            W[s, carried.indices[weights]] = carried.data[weights]
        return W

    def _same_buckets(self) -> None:
        """Refuse a hashed W that other words, or more buckets, were hashed into."""
        assert self.start is not None
        view, texts = self.model.view, (self.task.queries, self.task.documents)
        now = [t.views[view].space for t in texts] + [self.model.buckets]
        then = [self.start.view(view, side).space for side in ("query", "document")]
        if now != [*then, len(self.start.arrays["W"])]:
            raise UnfitStart(
                f"start: a hashed W goes on with the words and the {len(self.start.arrays['W'])} "
                "buckets that it was made with. Train without a start."
            )


def _check_start(model: WordPairs, start: FittedModel) -> None:
    """Refuse the first values of another kind of model; `UnfitStart` says so."""
    before = start.model
    if not isinstance(before, WordPairs):
        raise UnfitStart(f"start: it is a model {before.name!r}; expected {model.name!r}")
    hashed = "hashed" in (before.form, model.form)
    for name in (*(["form"] if hashed else []), "zero_diagonal", "diagonal"):
        old, new = getattr(before, name), getattr(model, name)
        if old != new:
            raise UnfitStart(f"start: it has {name}={old!r}; expected {name}={new!r}")
