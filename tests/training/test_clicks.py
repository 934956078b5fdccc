"""Learning from clicks: pairs by their weights, against what was shown."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssi_core.kernels.training.sweep import draw_shown
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bilinear.half_transductive import HalfTransductive
from ssi_core.models.bilinear.word_pairs import WordPairs
from ssi_core.scoring.scorer import score_pairs
from ssi_core.tasks.task import open_task
from ssi_core.training.sgd import by_weight, training_data
from ssi_core.types import BadInput, Judged, Pairs

pytestmark = pytest.mark.trains


MODELS = [
    Bilinear(dimensions=4),
    WordPairs(buckets=1000),
    HalfTransductive(dimensions=4, functional_budget=2000),
]


def weighted(weights):
    n = len(weights)
    rows = np.column_stack([np.arange(n), np.arange(n)[::-1]]).astype(np.int32)
    return Pairs(rows, np.array(weights, np.float32), np.ones(n, np.float32))


@given(st.lists(st.floats(2**-7, 64), min_size=1, max_size=40))
def test_pairs_come_as_often_as_their_weights_say(weights):
    pairs = weighted(weights)
    found = by_weight(pairs)
    if np.ptp(pairs.weight) == 0:
        np.testing.assert_array_equal(found, pairs.rows)
        return
    assert len(found) == 16 * len(pairs)
    times = np.bincount(found[:, 0], minlength=len(pairs))
    expected = pairs.weight / pairs.weight.sum() * len(found)
    assert np.abs(times - expected).max() < 1.01
    assert (found[:, 1] == len(pairs) - 1 - found[:, 0]).all()


def lists_of(lists):
    """What was shown to each query, and not clicked."""
    start = np.concatenate([[0], np.cumsum([len(one) for one in lists])])
    documents = np.concatenate(lists).astype(np.int32)
    grade = np.zeros(len(documents), np.float32)
    return Judged(np.arange(len(lists), dtype=np.int32), start, documents, grade)


def test_no_pair_is_no_pair():
    assert len(by_weight(weighted([]))) == 0


@pytest.fixture(scope="module")
def task(task_dir):
    opened = open_task(task_dir)
    rng = np.random.default_rng(0)
    n = len(opened.queries)
    lists = [rng.choice(len(opened.documents), rng.integers(4)) for _ in range(n)]
    return replace(opened, train=replace(opened.train, shown=lists_of(lists)))


def test_kernels_meet_one_type_of_arrays(task):
    """Mapped arrays are read-only; for others that are not, a kernel would be compiled again."""
    data = training_data(task, "raw", "raw")
    arrays = [array for part in data for array in (part if isinstance(part, tuple) else [part])]
    assert not any(array.flags.writeable for array in arrays)


def test_what_was_shown_is_drawn_as_often_as_it_was(task):
    data = training_data(task, "raw", "raw")
    state = np.array([7], np.uint64)
    lengths = np.diff(task.train.shown.start)
    q = int(np.argmax(lengths))
    own = task.train.shown.documents[task.train.shown.start[q] : task.train.shown.start[q + 1]]
    drawn = [draw_shown(data, len(task.documents), q, state) for _ in range(3000)]
    counts = np.bincount(drawn, minlength=len(task.documents)) / 3000
    expected = np.bincount(own, minlength=len(task.documents)) / len(own)
    np.testing.assert_allclose(counts, expected, atol=0.03)
    nothing = int(np.flatnonzero(lengths == 0)[0])
    others = {draw_shown(data, len(task.documents), nothing, state) for _ in range(300)}
    assert len(others) > 20


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_rows_learn_to_rank_what_was_shown_lower(task, model):
    model = replace(model, rates=(0.1,), epoch=2000, budget=4000, margin=0.3, patience=9)
    pairs = task.train.rows[:60]
    # What is shown is as like the query as what is clicked.
    other = np.roll(pairs[:, 1], 30)
    lists = [other[pairs[:, 0] == q] for q in range(len(task.queries))]
    known = replace(task, train=replace(Pairs.of(pairs), shown=lists_of(lists)))

    def wins(fitted):
        queries, documents = (fitted.embed_queries(task.queries),
                              fitted.embed_documents(task.documents))  # fmt: skip
        against = np.column_stack([pairs[:, 0], other]).astype(np.int32)
        better = score_pairs(queries, documents, pairs) - score_pairs(queries, documents, against)
        return (better > 0).mean()

    rng = np.random.default_rng(0)
    found = {
        against: wins(replace(model, against=against).fit(known, rng))
        for against in ("random", "shown")
    }
    assert found["shown"] > 0.9
    assert found["shown"] >= found["random"]


def test_a_task_without_slates_cannot_be_learnt_against_them(task):
    with pytest.raises(BadInput, match="against = 'shown' needs to know"):
        Bilinear(against="shown").fit(
            replace(task, train=Pairs.of(task.train.rows)), np.random.default_rng(0)
        )


def test_what_cannot_be_followed_is_named():
    with pytest.raises(ValueError, match="against='slate'"):
        Bilinear(against="slate")


def test_what_weights_take_is_said_before(task):
    n = 200_000
    rows = np.repeat(task.train.rows, 1 + n // len(task.train), axis=0)[:n]
    weight = np.random.default_rng(0).exponential(size=n).astype(np.float32)
    alike = replace(task, train=Pairs(rows, np.ones(n, np.float32), np.ones(n, np.float32)))
    uneven = replace(task, train=Pairs(rows, weight, np.ones(n, np.float32)))
    more = Bilinear().cost(uneven).memory - Bilinear().cost(alike).memory
    tracemalloc.start()
    kept = by_weight(uneven.train)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept.nbytes < peak < more < 2 * peak
