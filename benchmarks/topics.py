"""A pass of EM over a generated log: topics of pairs, projected topics, translations of words.

A log has queries of 3 words and titles of 8, drawn from subjects by Zipf's law; a title has five
clicks. The probe reads and writes rows of the same words, in the sweep's own loops, and does
nothing else. ``memory`` trains on ``SSI_BENCH_PAIRS`` pairs with ``SSI_BENCH_TOPICS`` topics.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.timing import Contestant, Row, row, speeds
from ssi_core.guests.clickthrough import topic_model, translation_model
from ssi_core.guests.clickthrough.kernels.topics import em_pass
from ssi_core.guests.clickthrough.topic_model import TopicModel
from ssi_core.guests.clickthrough.translation_model import TranslationModel
from ssi_core.kernels import jit
from ssi_core.kernels.sparse import Csr, aligned_empty, gather, padded, scatter
from ssi_core.resources import amount
from ssi_core.types import Float32, Float64, Int32

QUERY, TITLE, CLICKS = 3, 8, 5
WORDS, SUBJECTS = 50_000, 200
TOPICS, PAIRS, PROJECTED, ROUNDS = 100, 200_000, 10_000, 5
ALPHA = 1.1
_OWN = 0.6
"""Share of the words that the subject gives; the others are those of all texts."""


class Log(NamedTuple):
    """Counts of queries and titles, and the pairs of their rows."""

    queries: Csr
    titles: Csr
    pairs: Int32

    def task(self) -> Any:
        """Return what a training reads of a task."""
        sides = [
            sparse.csr_array((one.data, one.indices, one.indptr), (len(one.indptr) - 1, WORDS))
            for one in (self.queries, self.titles)
        ]
        queries, documents = (
            SimpleNamespace(matrix=lambda view, one=one: one, width=lambda view: WORDS)
            for one in sides
        )
        return SimpleNamespace(queries=queries, documents=documents, train=_Rows(self.pairs))


class _Rows(NamedTuple):
    """Training pairs."""

    rows: Int32

    def __len__(self) -> int:
        return len(self.rows)


def generated(pairs: int, seed: int = 0) -> Log:
    """Draw a log; texts of a subject share a tenth of the words, the frequent ones first."""
    rng = np.random.default_rng(seed)
    texts = -(-pairs // CLICKS)
    subjects = np.sort(rng.integers(0, SUBJECTS, texts).astype(np.int32))
    starts = np.searchsorted(subjects, np.arange(SUBJECTS + 1))
    titles = np.repeat(np.arange(texts, dtype=np.int32), CLICKS)[:pairs]
    low, high = starts[subjects[titles]], starts[subjects[titles] + 1]
    queries = (low + rng.random(pairs) * (high - low)).astype(np.int32)
    order = np.lexsort((titles, queries))
    rows = np.stack([queries[order], titles[order]], axis=1)
    return Log(_texts(rng, subjects, QUERY), _texts(rng, subjects, TITLE), rows)


def _texts(rng: np.random.Generator, subjects: Int32, length: int) -> Csr:
    shape = len(subjects), length
    rank = (WORDS ** rng.random(shape)).astype(np.int32) - 1
    # Another order of the words for each subject.
    moved = (rank * np.int64(7919) + 1 + subjects[:, None] * np.int64(104_729)) % WORDS
    words = np.sort(np.where(rng.random(shape) < _OWN, moved, rank).astype(np.int32), axis=1)
    first = np.ones(shape, np.bool_)
    first[:, 1:] = words[:, 1:] != words[:, :-1]
    positions = np.flatnonzero(first)
    counts = np.diff(np.append(positions, words.size)).astype(np.float32)
    indptr = np.concatenate([[0], np.cumsum(first.sum(axis=1))]).astype(np.int64)
    return Csr(indptr, words[first], counts)


@jit
def probe(
    phi: tuple[Float32, Float32],
    sums: tuple[Float32, Float32],
    queries: Csr,
    titles: Csr,
    pairs: Int32,
    theta: Float32,
    out: Float32,
) -> None:
    """Read the rows of the words of each pair, then read and write as many others, and theta."""
    nothing = np.float32(0)
    for p in range(len(pairs)):
        q, d = np.int64(pairs[p, 0]), np.int64(pairs[p, 1])
        gather(phi[0], queries, q, out)
        gather(phi[1], titles, d, out)
        scatter(sums[0], queries, q, nothing, out)
        scatter(sums[1], titles, d, nothing, out)
        for z in range(theta.shape[1]):
            theta[p, z] += out[z]


class Pass:
    """A pass of EM, always from the same values, and what else goes over the same pairs."""

    def __init__(self, log: Log) -> None:
        self.log, rng = log, np.random.default_rng(1)
        draws = (rng.uniform(0.5, 1.5, (WORDS, TOPICS)) for _ in range(2))
        self.phi: Any = tuple((one / one.sum(axis=0)).astype(np.float32) for one in draws)
        self.sums = np.zeros((WORDS, TOPICS)), np.zeros((WORDS, TOPICS))
        self.theta = np.empty((len(log.pairs), TOPICS), np.float32)
        aligned = [aligned_empty(WORDS, padded(TOPICS)) for _ in range(4)]
        for one in aligned:
            one[:] = 1 / WORDS
        self.aligned: Any = aligned

    def probe(self) -> None:
        """Move what a pass moves at least."""
        self.theta[:] = 1 / TOPICS
        a, b, c, d = self.aligned
        out = np.zeros(padded(TOPICS), np.float32)
        probe((a, b), (c, d), self.log.queries, self.log.titles, self.log.pairs, self.theta, out)

    def em(self, projected: bool = False) -> Float64:
        """Return the sums of the words of titles after a pass of the kernel."""
        self.theta[:] = 1 / TOPICS
        for one in self.sums:
            one[:] = 0
        sides, counted = (self.log.queries, self.log.titles), np.zeros(2, np.int64)
        em_pass(*sides, self.log.pairs, self.theta, self.phi, self.sums, ALPHA, projected, counted)
        return self.sums[1]

    def numpy(self, block: int = 2_000) -> Float64:
        """Return the same by numpy and scipy: a row of topics for each word of a block of pairs."""
        self.theta[:] = 1 / TOPICS
        sums = np.zeros((WORDS, TOPICS)), np.zeros((WORDS, TOPICS))
        for start in range(0, len(self.log.pairs), block):
            pairs = self.log.pairs[start : start + block]
            theta = self.theta[start : start + block].astype(np.float64)
            shares = np.full(theta.shape, ALPHA - 1)
            for side, texts in enumerate((self.log.queries, self.log.titles)):
                matrix = sparse.csr_array(
                    (texts.data, texts.indices, texts.indptr), (len(texts.indptr) - 1, WORDS)
                )[pairs[:, side]]
                pair = np.repeat(np.arange(len(pairs)), np.diff(matrix.indptr))
                joint = self.phi[side][matrix.indices] * theta[pair]
                joint *= (matrix.data / joint.sum(axis=1))[:, None]
                each = np.ones(len(pair)), np.arange(len(pair)), matrix.indptr
                shares += sparse.csr_array(each) @ joint
                words, which = np.unique(matrix.indices, return_inverse=True)
                places = which, np.arange(len(which))
                sums[side][words] += sparse.csr_array((np.ones(len(which)), places)) @ joint
            self.theta[start : start + block] = shares / shares.sum(axis=1, keepdims=True)
        return sums[1]


class Translations:
    """A pass of IBM model 1 over the pairs of a log."""

    def __init__(self, log: Log) -> None:
        model: Any = TranslationModel()
        self.training = translation_model.Training(model, log.task(), None, 1)  # type: ignore[arg-type]
        self.table: Any = self.training._table
        starts, words, _ = self.table
        postings, self.targets = self.training._postings, self.training._targets
        # A row for each word of a document and each word that it is translated into.
        lengths = np.diff(self.targets.indptr)[postings.indices]
        self.count = np.repeat(postings.data, lengths)
        first = np.repeat(np.cumsum(lengths) - lengths, lengths)
        self.target = (
            np.repeat(self.targets.indptr[postings.indices], lengths)
            + np.arange(len(first))
            - first
        )
        self.row = np.repeat(np.arange(WORDS), np.diff(starts))
        of = np.repeat(np.repeat(np.arange(WORDS), np.diff(postings.indptr)), lengths)
        keys = self.row * np.int64(WORDS) + words
        order = np.argsort(keys)
        wanted = of * np.int64(WORDS) + self.targets.indices[self.target]
        self.entry = order[np.searchsorted(keys[order], wanted)]

    def ours(self) -> Float32:
        """Return the table after the first pass."""
        self.table[2][:] = 1 / WORDS
        self.training.sweep(0)
        return self.table[2].copy()  # type: ignore[no-any-return]

    def numpy(self) -> Float64:
        """Return the same by numpy, whose places in the table were looked up beforehand."""
        table = np.full(len(self.row), 1 / WORDS)
        joint = table[self.entry] * self.count
        whole = np.bincount(self.target, joint, minlength=len(self.targets.data))
        joint *= (self.targets.data / whole)[self.target]
        expected = np.bincount(self.entry, joint, minlength=len(table))
        return expected / np.bincount(self.row, expected, minlength=WORDS)[self.row]


def rows() -> Iterator[Row]:
    log = generated(PAIRS)
    whole, few = Pass(log), Pass(log._replace(pairs=log.pairs[:: PAIRS // PROJECTED]))
    np.testing.assert_allclose(whole.em(), whole.numpy(), rtol=1e-5, atol=1e-9)
    contestants = {
        "EM": Contestant(whole.em, PAIRS),
        "probe": Contestant(whole.probe, PAIRS),
        "projected": Contestant(partial(few.em, projected=True), PROJECTED),
    }
    found = speeds(contestants, ROUNDS)
    size = f"T={TOPICS}"
    yield row(f"EM of topics, {size} / probe", "pairs/s", found["EM"], found["probe"], goal=0.5)
    yield row(f"EM, {size}, projected / not", "pairs/s", found["projected"], found["EM"])
    found = speeds(
        {"EM": contestants["EM"], "numpy": Contestant(whole.numpy, PAIRS)}, 3, warm=False
    )
    yield row(f"EM of topics, {size} / numpy", "pairs/s", found["EM"], found["numpy"])
    translations = Translations(log)
    np.testing.assert_allclose(translations.ours(), translations.numpy(), rtol=1e-4)
    found = speeds(
        {
            "ours": Contestant(translations.ours, PAIRS),
            "numpy": Contestant(translations.numpy, PAIRS),
        },
        ROUNDS,
    )
    entries = f"{len(translations.row):,} translations"
    yield row("IBM model 1 / numpy", "pairs/s", found["ours"], found["numpy"], note=entries)


def memory() -> Iterator[Row]:
    """Train on a large log, a pass to begin with and two that count; say what memory held."""
    pairs = int(os.environ.get("SSI_BENCH_PAIRS", "1000000"))
    topics = int(os.environ.get("SSI_BENCH_TOPICS", "100"))
    log = generated(pairs)
    threads = len(os.sched_getaffinity(0))
    before = _status()
    topic: Any = topic_model.Training(TopicModel(topics=topics), log.task(), 0, None, threads)  # type: ignore[arg-type]
    yield _passes(f"topics, T={topics}", pairs, before, topic, 4 * topics * pairs)
    del topic
    before = _status()
    words: Any = translation_model.Training(TranslationModel(), log.task(), None, threads)  # type: ignore[arg-type]
    yield _passes("IBM model 1", pairs, before, words, 8 * len(words._table[1]))


def _passes(name: str, pairs: int, before: dict[str, int], training: Any, table: int) -> Row:
    seconds = []
    with _Watched() as watched:
        for _ in range(3):
            start = time.perf_counter()
            training.sweep(pairs)
            seconds.append(time.perf_counter() - start)
    each = float(np.mean(seconds[1:]))
    held = {kind: watched.most[kind] - before[kind] for kind in before}
    return Row(
        f"{name}, {pairs:,} pairs, all cores, wall clock",
        "pairs/s",
        pairs / each,
        note=(
            f"{each:.1f} s a pass; topics of pairs, or translations: {amount(table)}; more held at "
            f"the peak: {amount(held['RssAnon'])}, and {amount(held['RssFile'])} of files, which "
            "the system takes back where memory is short"
        ),
    )


class _Watched:
    """The most that a process holds meanwhile, looked at ten times a second."""

    def __init__(self) -> None:
        self.most, self._ended = _status(), threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> _Watched:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.1):
            for kind, size in _status().items():
                self.most[kind] = max(self.most[kind], size)


def _status() -> dict[str, int]:
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {kind: int(lines[kind].split()[0]) << 10 for kind in ("RssAnon", "RssFile")}
