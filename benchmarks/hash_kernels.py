"""Hash kernels against Vowpal Wabbit: ``-q`` over the words of a query and of d+ less d-.

A hinge on ``w . phi(q, d+ - d-)`` with label 1 is the margin ranking loss, and the same steps. Its
margin is 1: features are divided by ours, and the rate is multiplied by it. Both learn the same
triples in the same order.

Vowpal Wabbit cuts predictions to the range of the labels seen, here 0 to 1: a wrong order would
look like a tie, and count one half. Its range is therefore widened.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.forms import of_pairs, scratch
from benchmarks.timing import Contestant, PeerMissing, Row, peer, row, speeds
from benchmarks.triples import DOCUMENTS, drawn, training_data
from ssi_core.kernels.training.pair_forms import PRIME, pairs_score
from ssi_core.kernels.training.structs import Data, Settings, Stepped, Turn
from ssi_core.kernels.training.sweep import Group, sweep_of

_BITS, _BUCKETS = 20, 1_000_000
_TRIPLES, _LEARNT, _TESTED = 500, 6_000, 4_000
_MARGIN, _RATES = 0.3, (0.05, 0.5, 1.5)
_SETTINGS = Settings(np.float32(_MARGIN), np.float32(_RATES[0]), np.float32(0), np.int64(1))
_SEED = 1
_WIDE = 1000  # of predictions
_SLOW = 1e-9  # a rate with which every triple goes on violating, so that every one is a step


class Ours:
    """The sweep of a hashed W."""

    def __init__(self, data: Data, rate: float) -> None:
        settings = _SETTINGS._replace(rate=np.float32(rate))
        state, self._data = np.array([_SEED], np.uint64), data
        self._p = of_pairs(np.zeros(_BUCKETS, np.float32))
        self._sweep = sweep_of(Group("hashed", "none"))
        stepped = Stepped.none_of(data, DOCUMENTS)
        totals = np.zeros(4)
        self._turn = Turn(self._p, data, scratch(1), DOCUMENTS, state, settings, totals, stepped)

    def learn(self, triples: int) -> None:
        """Draw and learn."""
        self._sweep([self._turn])(triples)

    def difference(self, q: int, p: int, n: int) -> float:
        """Score of d+ less that of d-."""
        data = self._data
        left, right = (
            pairs_score(self._p.W, PRIME, data.queries, q, data.documents, d) for d in (p, n)
        )
        return float(left - right)


class Theirs:
    """Vowpal Wabbit, triples drawn and parsed beforehand."""

    def __init__(self, module: Any, data: Data, rate: float) -> None:
        self._data = data
        self._vw = module.Workspace(
            f"--quiet --no_stdin --noconstant --ignore_linear q --ignore_linear d -q qd -b {_BITS} "
            f"--loss_function hinge --sgd --power_t 0 -l {rate * _MARGIN} "
            f"--min_prediction -{_WIDE} --max_prediction {_WIDE}"
        )

    def example(self, q: int, p: int, n: int, label: str = "1") -> Any:
        """Write and parse one triple."""
        query = _row(self._data.queries, q, 1 / _MARGIN)
        less = _row(self._data.documents, p, 1.0)
        for word, value in _row(self._data.documents, n, -1.0).items():
            less[word] = less.get(word, 0.0) + value
        text = f"{label} |q {_written(query)} |d {_written(less)}"
        return self._vw.parse(text)

    def learn(self, examples: list[Any]) -> None:
        """Learn examples that are parsed."""
        for example in examples:
            self._vw.learn(example)

    def difference(self, q: int, p: int, n: int) -> float:
        """Score of d+ less that of d-."""
        return float(self._vw.predict(self.example(q, p, n, label="")))


def _row(matrix: Any, row: int, scale: float) -> dict[int, float]:
    own = slice(matrix.indptr[row], matrix.indptr[row + 1])
    values = matrix.data[own] * scale
    return dict(zip(matrix.indices[own].tolist(), values.tolist(), strict=True))


def _written(words: dict[int, float]) -> str:
    return " ".join(f"{word}:{value:.6f}" for word, value in words.items() if value)


def rank_loss(model: Ours | Theirs, tuples: list[tuple[int, int, int]]) -> float:
    """Share of tuples in the wrong order; a tie counts one half."""
    found = np.array([model.difference(*one) for one in tuples])
    return float((found < 0).mean() + (found == 0).mean() / 2)


def learnt(
    module: Any, data: Data, tuples: list[tuple[int, int, int]]
) -> dict[str, tuple[float, float]]:
    """Lowest rank loss of both over the rates, and its rate."""
    triples = drawn(data, _LEARNT, _SEED)
    losses: dict[str, list[tuple[float, float]]] = {"ours": [], "theirs": []}
    for rate in _RATES:
        ours, theirs = Ours(data, rate), Theirs(module, data, rate)
        ours.learn(_LEARNT)
        theirs.learn([theirs.example(*one) for one in triples])
        losses["ours"].append((rank_loss(ours, tuples), rate))
        losses["theirs"].append((rank_loss(theirs, tuples), rate))
    return {name: min(found) for name, found in losses.items()}


def rows() -> Iterator[Row]:
    try:
        module = peer("vowpalwabbit")
    except PeerMissing as missing:
        yield Row("hash kernels / Vowpal Wabbit", "triples/s", floor=1.5, note=str(missing))
        return
    whole = training_data()
    order = np.random.default_rng(0).permutation(len(whole.pairs))
    test, train = np.split(whole.pairs[order], [len(order) // 10])
    data, held_out = (whole._replace(pairs=np.ascontiguousarray(pairs)) for pairs in (train, test))
    losses = learnt(module, data, drawn(held_out, _TESTED, 2))
    ours, theirs = Ours(data, _SLOW), Theirs(module, data, _SLOW)
    examples = [theirs.example(*one) for one in drawn(data, _TRIPLES, _SEED)]
    found = speeds(
        {
            "ours": Contestant(lambda: ours.learn(_TRIPLES), _TRIPLES),
            "theirs": Contestant(lambda: theirs.learn(examples), _TRIPLES),
        },
        rounds=7,
    )
    yield row(
        "hash kernels / Vowpal Wabbit",
        "triples/s",
        found["ours"],
        found["theirs"],
        floor=1.5,
        goal=1.5,
        note=f"rank loss after {_LEARNT} triples, {_TESTED} held-out tuples, the best of rates "
        f"{_RATES}: ours {losses['ours'][0]:.2%}, Vowpal Wabbit {losses['theirs'][0]:.2%}",
    )
