"""Share of a training that is training: what surrounds the sweeps, by the size of the vocabulary.

CPU seconds of one thread: sweeps, validation, and the rest, which is keeping the best and writing
checkpoints. A training is of 4 million triples, or of ``SSI_BENCH_TRIPLES``; one of the papers'
corpus has more than ten times as many, and what is done once counts less. ``SSI_BENCH_WORDS`` takes
one size alone.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from benchmarks.timing import Row
from ssi_core.models.base import FitOptions
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bilinear.training import MapTraining
from ssi_core.training.descend import descend
from ssi_core.types import Pairs, Task, Texts

SIZES = os.environ.get("SSI_BENCH_WORDS", "30000 440000 1250000 2500000").split()
_DOCUMENTS, _TOKENS, _SUBJECTS, _LINKS = 20_000, 150, 200, 5
_TRIPLES = int(os.environ.get("SSI_BENCH_TRIPLES", "4000000"))
_TIME = 0.03
_GOAL = 0.9


@dataclass(frozen=True)
class Generated:
    """A view of columns that no text has."""

    space: str
    words: range
    name: str = "raw"
    language: str = "en"


def task_of(words: int) -> Task:
    """Documents of about 130 words by Zipf's law; a fifth of the tokens belong to the subject."""
    rng = np.random.default_rng(0)
    subject = np.sort(rng.integers(0, _SUBJECTS, _DOCUMENTS))
    chances = np.cumsum(1 / np.arange(1, words + 1))
    tokens = np.searchsorted(chances, rng.random((_DOCUMENTS, _TOKENS)) * chances[-1])
    own = rng.integers(100, words, (_SUBJECTS, _TOKENS))
    few = _TOKENS // 5
    tokens[:, :few] = own[subject[:, None], rng.integers(0, _TOKENS, (_DOCUMENTS, few))]
    indptr = np.arange(0, tokens.size + 1, _TOKENS)
    weights = np.ones(tokens.size, np.float32)
    rows = sparse.csr_array((weights, tokens.ravel(), indptr), shape=(_DOCUMENTS, words))
    rows.sum_duplicates()
    frequency = np.bincount(rows.indices, minlength=words)
    rows.data *= np.log(_DOCUMENTS / frequency[rows.indices]).astype(np.float32)
    norms = np.sqrt(rows.multiply(rows).sum(axis=1))
    rows.data /= np.repeat(norms, np.diff(rows.indptr)).astype(np.float32)
    start = np.searchsorted(subject, np.arange(_SUBJECTS + 1))
    size = np.diff(start)[subject]
    other = start[subject][:, None] + rng.integers(0, size[:, None], (_DOCUMENTS, _LINKS))
    pairs = np.column_stack([np.repeat(np.arange(_DOCUMENTS), _LINKS), other.ravel()])
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    held = rng.random(len(pairs)) < 0.1
    ids = pl.Series(map(str, range(_DOCUMENTS)))
    texts = Texts(ids, ids, {"raw": rows}, {"raw": Generated("words", range(words))})
    itself = sparse.csr_array(sparse.eye_array(_DOCUMENTS, dtype=np.bool_))
    sides = (Pairs.of(pairs[~held]), Pairs.of(pairs[held]), Pairs.of(()))
    return Task(texts, texts, *sides, exclude=itself, key="generated")


class Timed:
    """A trainee whose sweeps and validations are timed, in CPU seconds."""

    def __init__(self, trainee: Any) -> None:
        self._trainee, self.spent = trainee, {"sweep": 0.0, "error": 0.0}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._trainee, name)
        return self._timed(name, found) if name in self.spent else found

    def _timed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            start = time.process_time()
            result = call(*arguments)
            self.spent[name] += time.process_time() - start
            return result

        return run


@dataclass(frozen=True)
class Spent:
    """CPU seconds of a training, bytes that it wrote, and its peak memory in bytes."""

    sweeps: float
    validation: float
    rest: float
    written: int
    peak: int
    epoch: int

    @property
    def share(self) -> float:
        """Of the sweeps."""
        return self.sweeps / (self.sweeps + self.validation + self.rest)


def spent(words: int, triples: int, **schedule: Any) -> Spent:
    """Train ``U'V + I`` of 100 dimensions with checkpoints."""
    model = Bilinear(rates=(0.1,), budget=triples, patience=99)
    training = MapTraining(model, task_of(words), {}, 0, FitOptions())
    chosen = {"rate": 0.1, "margin": 1.0, "alpha": 1.0, "init_std": 0.1}
    # Kernels are compiled once a machine.
    descend(training.begin(chosen), epoch=1000, budget=1000, patience=1)
    with TemporaryDirectory() as path:
        trainee = Timed(training.begin(chosen))
        start, before = time.process_time(), _written()
        progress = descend(
            trainee,
            epoch=model.epoch,
            budget=triples,
            patience=model.patience,
            checkpoint=Path(path) / "state",
            **schedule,
        )
        whole, written = time.process_time() - start, _written() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    sweeps, validation = trainee.spent["sweep"], trainee.spent["error"]
    rest = whole - sweeps - validation
    return Spent(sweeps, validation, rest, written, peak, progress.epoch or model.epoch)


def _written() -> int:
    """Return the bytes that this process has handed to the system."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar:"))


def rows() -> Iterator[Row]:
    for words in map(int, SIZES):
        one = spent(words, _TRIPLES, validation_time=_TIME)
        surroundings = one.validation + one.rest
        yield Row(
            f"training / whole, {words:,} words",
            "s",
            one.sweeps,
            one.sweeps + surroundings,
            one.share,
            floor=_GOAL,
            goal=_GOAL,
            note=f"validation {one.validation:.1f} s, rest {one.rest:.1f} s, "
            f"{one.written / 1e9:.1f} GB written, peak {one.peak / 1e9:.1f} GB, "
            f"{one.epoch:,} triples between validations",
        )
