"""A weight for each pair of words: Algorithm 2, hash kernels, and what they must have in common."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy import sparse

from ssi_core.kernels.sparse import Csr
from ssi_core.kernels.training import pair_forms, sweep
from ssi_core.kernels.training.random import below
from ssi_core.models.base import FitOptions
from ssi_core.models.bilinear import pair_weights, word_pairs
from ssi_core.models.bilinear.pair_weights import (
    dense_weights,
    hash_facts,
    hashed_weights,
    longest,
    prune,
)
from ssi_core.models.bilinear.word_pairs import WordPairs, _Training
from ssi_core.scoring import inner
from ssi_core.scoring.scorer import Scorer, score_pairs
from ssi_core.tasks.task import build_task, open_task
from ssi_core.training.descend import SAMPLERS
from ssi_core.training.sgd import Sgd
from ssi_core.types import BadInput, Refused
from tests.scores import all_scores

pytestmark = pytest.mark.trains

SMALL = WordPairs(
    form="dense", diagonal="none", view="sublinear:10", diagonal_view="raw", rates=(0.1,),
    epoch=500, budget=1000, round_budget=500, margin=0.3,
)  # fmt: skip


@pytest.fixture(scope="module")
def dense(task):
    return SMALL.fit(task, np.random.default_rng(0))


def fit(task, **changes):
    return dataclasses.replace(SMALL, **changes).fit(task, np.random.default_rng(0))


def full(fitted, words):
    """W of a fitted model as a matrix, written from the definition of each form."""
    if "W_data" in fitted.arrays:
        W = np.zeros((words, words), np.float32)
        starts = fitted.arrays["W_indptr"]
        for s in range(words):
            row = slice(starts[s], starts[s + 1])
            W[s, fitted.arrays["W_indices"][row]] = fitted.arrays["W_data"][row]
        return W
    W = fitted.arrays["W"]
    if W.ndim == 2:
        return W
    return np.array(
        [[W[(s * 2147483647 + t) % len(W)] for t in range(words)] for s in range(words)]
    )


@pytest.mark.parametrize(
    ("form", "diagonal"),
    [
        ("dense", "none"), ("dense", "identity"), ("sparse", "none"), ("sparse", "alpha"),
        ("hashed", "none"), ("hashed", "alpha"),
    ],
)  # fmt: skip
def test_score_is_the_formula(form, diagonal, task):
    """f = sum_i diag_i q_i d_i + q' W d in float64, views of W and of the diagonal differ."""
    fitted = fit(
        task, form=form, diagonal=diagonal, alpha=2.5, alpha_rate=0.1, buckets=997, entries=20
    )
    learnt = fitted.arrays["W_data" if form == "sparse" else "W"]
    learnt[...] = np.random.default_rng(1).normal(size=learnt.shape)
    x, xd = (task.queries.matrix(v).toarray().astype(np.float64) for v in ("sublinear:10", "raw"))
    expected = x @ full(fitted, x.shape[1]) @ x.T
    if diagonal != "none":
        weights = 1.0 if diagonal == "identity" else fitted.arrays["diagonal"]
        expected += (xd * weights) @ xd.T
    np.testing.assert_allclose(all_scores(fitted, task), expected, atol=2e-5)


def test_identity_start_without_a_step_is_the_cosine(task):
    still = fit(task, initial="identity", rates=(1e-12,), epoch=1, budget=1)
    x = task.queries.matrix("sublinear:10")
    np.testing.assert_allclose(all_scores(still, task), (x @ x.T).toarray(), atol=1e-6)


def one_by_one(sgd, steps):
    """Draw what a block draws, and take each of its steps by itself, in float64."""
    group = sgd.groups[""]
    data, n = group.data, group.n_documents
    margin, rate = float(group.settings.margin), float(group.settings.rate)
    state, left, violated = sgd.arrays[SAMPLERS][0, 0].copy(), steps, 0
    sides = (sparse.csr_array((m.data, m.indices, m.indptr)) for m in data[:2])
    queries, documents = (side.toarray().astype(float) for side in sides)
    W = group.parameters.W.astype(float)
    queries.resize(len(queries), len(W))
    documents.resize(len(documents), W.shape[1])
    while left:
        run = below(state, len(data.runs) - 1)
        own = data.pairs[data.runs[run] : data.runs[run + 1]].tolist()
        start, q = below(state, len(own)), own[0][0]
        for k in range(min(left, len(own))):
            left -= 1
            p = own[(start + k) % len(own)][1]
            for _ in range(int(group.settings.negatives)):
                d = sweep.draw_negative(data, n, q, state)
                apart = documents[p] - documents[d]
                if margin - queries[q] @ W @ apart > 0:
                    violated += 1
                    W += rate * np.outer(queries[q], apart)
                    break
    return W, violated


def test_a_block_takes_the_steps_of_its_triples(task):
    """On the pairs and the texts of a task: W is theirs, and so is the number that violate."""
    model = dataclasses.replace(SMALL, step="block", warp=False)
    sgd = _Training(model, task, 3, FitOptions()).begin({"rate": 0.1, "margin": 0.3})
    W, violated = one_by_one(sgd, 700)
    found = sgd.sweep(700)
    assert 100 < violated < 700
    assert found["train/violated"] == violated / 700
    np.testing.assert_allclose(sgd.parameters.W, W, atol=1e-5)
    assert np.abs(W).max() > 0.05


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_blocks_are_learnt_in_runs_and_triples_one_by_one(form, task, monkeypatch):
    swept, kernel_of = [], sweep.kernel_of
    monkeypatch.setattr(sweep, "kernel_of", lambda group: swept.append(group) or kernel_of(group))
    for step, block in (("triple", False), ("block", True)):
        fitted = fit(task, form=form, initial="identity", entries=50, step=step)
        assert {(group.form, group.block) for group in swept} == {
            (kind, block) for kind in {"dense", form}
        }
        swept.clear()
    if form == "sparse":
        assert np.diff(fitted.arrays["W_indptr"]).max() == 50


def test_zero_diagonal_keeps_the_diagonal_of_w_at_zero(task):
    for form in ("dense", "sparse"):
        W = full(
            fit(task, form=form, zero_diagonal=True, entries=20),
            task.queries.matrix("raw").shape[1],
        )
        assert not W.diagonal().any()
        assert W.any()


def test_without_collisions_hashed_is_dense(task, dense):
    """More buckets than pairs, and (s P + t) mod H differs for all of them: the same steps."""
    words = task.queries.matrix("raw").shape[1]
    buckets = next(
        h for h in range(4 * words**2, 40 * words**2, 10_007) if not clashes(words, words, h)
    )
    hashed = fit(task, form="hashed", buckets=buckets)
    np.testing.assert_allclose(full(hashed, words), dense.arrays["W"], atol=1e-6)
    assert hashed.facts["collision_rate"] == 0
    assert hashed.facts["largest_load"] == 1


def clashes(rows, words, buckets):
    s, t = np.ogrid[:rows, :words]
    return len(np.unique((s * 2147483647 + t) % buckets)) < rows * words


@pytest.mark.parametrize(
    ("rows", "words", "buckets"), [(7, 5, 11), (5, 30, 7), (40, 40, 997), (3, 7, 7), (2, 3, 1)]
)
def test_loads_count_the_pairs_of_each_bucket(rows, words, buckets):
    """Naive twin of the facts: every pair is hashed."""
    counted = np.zeros(buckets, np.int64)
    for s in range(rows):
        for t in range(words):
            counted[(s * 2147483647 + t) % buckets] += 1
    np.testing.assert_array_equal(pair_forms.loads(rows, words, buckets), counted)
    facts = hash_facts(rows, words, buckets)
    assert facts["used_buckets"] == np.count_nonzero(counted)
    assert facts["largest_load"] == counted.max()
    together = counted[counted > 1].sum()
    assert facts["collision_rate"] == pytest.approx(together / (rows * words))


@pytest.mark.parametrize("buckets", [1_000_000, 3_000_000, 6_000_000, 10_000_000])
def test_hash_uses_as_many_buckets_as_an_ideal_one(buckets):
    """Of pairs drawn from 30,000 words a side, an ideal hash would use H (1 - exp(-n / H))."""
    s, t = np.random.default_rng(0).integers(0, 30_000, (2, 2_000_000), dtype=np.uint64)
    drawn = (s * np.uint64(pair_forms.PRIME) + t) % np.uint64(buckets)
    used = np.count_nonzero(np.bincount(drawn.astype(np.int64)))
    assert used >= 0.95 * buckets * (1 - np.exp(-len(s) / buckets))
    assert hash_facts(30_000, 30_000, buckets)["used_buckets"] == buckets


def test_a_poor_prime_would_be_seen():
    """1000003 mod 1,000,000 is 3: rows overlap, and few buckets are used."""
    s, t = np.random.default_rng(0).integers(0, 5_000, (2, 500_000), dtype=np.uint64)
    drawn = (s * np.uint64(1_000_003) + t) % np.uint64(1_000_000)
    assert len(np.unique(drawn)) < 0.1 * 1_000_000 * (1 - np.exp(-0.5))


def test_buckets_that_spoil_the_hash_are_refused(task):
    """2147483647 is one less than a power of 2: the rows of W overlap."""
    with pytest.raises(BadInput, match=r"buckets=65536.*such as 1000000"):
        fit(task, form="hashed", buckets=65536)


# --- Algorithm 2 ---------------------------------------------------------------------------------


def naive_cut(W, entries):
    """Step 2 of Algorithm 2: take the smallest weights of each row one by one."""
    W = W.copy()
    for row in W:
        active = [j for j in range(len(row)) if row[j] != 0]
        keep = max(entries, len(active) // 2)
        while len(active) > keep:
            least = min(abs(row[j]) for j in active)
            last = max(j for j in active if abs(row[j]) == least)
            row[last] = 0
            active.remove(last)
    return W


def matrix_of(W, columns):
    made = np.zeros((len(W.indptr) - 1, columns), np.float32)
    for s in range(len(made)):
        row = slice(W.indptr[s], W.indptr[s + 1])
        made[s, W.indices[row]] = W.data[row]
    return made


@pytest.mark.parametrize("entries", [1, 3, 6, 40])
def test_cuts_agree_with_the_naive_twin(entries):
    rng = np.random.default_rng(entries)
    W = rng.integers(-4, 5, (9, 30)).astype(np.float32)  # many ties, some zeros
    W[3] = 0
    expected, cut = W, W
    for _ in range(6):
        expected, cut = naive_cut(expected, entries), prune(cut, entries)
        np.testing.assert_array_equal(matrix_of(cut, 30), expected)
    assert longest(cut) <= max(entries, 0)
    assert (np.diff(cut.indptr) == np.minimum(entries, np.count_nonzero(W, axis=1))).all()


def test_chain_halves_the_rows_down_to_p(task):
    fitted = fit(task, form="sparse", entries=7)
    lengths = [one["longest_row"] for one in fitted.facts["rounds"]]
    assert lengths[-1] == 7
    assert len(lengths) > 2
    assert all(b <= max(7, a // 2 + 1) for a, b in itertools.pairwise(lengths))
    assert fitted.facts["triples"] > 1000
    assert np.diff(fitted.arrays["W_indptr"]).max() == 7


def test_a_chain_goes_on_from_a_sparse_start(task):
    """p = 5 from the model of p = 20: no dense W, weights only where the start has some."""
    first = fit(task, form="sparse", entries=20)
    second = dataclasses.replace(SMALL, form="sparse", entries=5).fit(
        task, np.random.default_rng(1), start=first
    )
    assert np.diff(second.arrays["W_indptr"]).max() == 5
    assert len(second.facts["rounds"]) == 2
    words = task.queries.matrix("raw").shape[1]
    assert not (full(second, words).astype(bool) & ~full(first, words).astype(bool)).any()


def test_a_chain_goes_on_from_a_dense_start(task):
    """The dense W is not trained again: its best weights, cut, with its rate."""
    dense = fit(task, form="dense", rates=(0.05, 0.01))
    model = dataclasses.replace(SMALL, form="sparse", entries=5, round_budget=1)
    cut = model.fit(task, np.random.default_rng(1), start=dense)
    assert np.diff(cut.arrays["W_indptr"]).max() == 5
    assert cut.facts["triples"] == len(cut.facts["rounds"])
    assert cut.facts["rate"] == dense.facts["rate"]
    words = task.queries.matrix("raw").shape[1]
    assert not (full(cut, words).astype(bool) & ~full(dense, words).astype(bool)).any()


def test_watch_of_a_chain_goes_on(task):
    steps = []
    dataclasses.replace(SMALL, form="sparse", entries=20).fit(
        task, np.random.default_rng(0), watch=lambda step, metrics: steps.append(step)
    )
    assert steps == sorted(steps)
    assert steps[-1] > 1000


def test_kill_and_resume_of_a_chain_gives_the_same_bits(task, tmp_path, monkeypatch):
    model = dataclasses.replace(SMALL, form="sparse", entries=7, epoch=250)
    whole = model.fit(task, np.random.default_rng(5))

    class Cut(Exception):
        pass

    def cut(step, metrics):
        if step == 1750:
            raise Cut

    with pytest.raises(Cut):
        model.fit(task, np.random.default_rng(5), watch=cut, checkpoint=tmp_path / "c")
    swept, sweep = [], Sgd.sweep
    monkeypatch.setattr(Sgd, "sweep", lambda self, n: swept.append(n) or sweep(self, n))
    again = model.fit(task, np.random.default_rng(5), checkpoint=tmp_path / "c")
    # The round that was cut off goes on where it was, and no earlier one begins again.
    assert sum(swept) == whole.facts["triples"] - 1750
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name])


# --- starts, memory, serving ---------------------------------------------------------------------


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_warm_start_maps_weights_by_word(form, corpus_dir, task, tmp_path):
    first = fit(task, form=form, entries=20)
    build_task(corpus_dir, tmp_path / "small", words=60, views=("raw", "sublinear:10"))
    small = open_task(tmp_path / "small")
    still = dataclasses.replace(
        SMALL, form=form, entries=20, rates=(1e-12,), epoch=1, budget=1, round_budget=1
    )
    second = still.fit(small, np.random.default_rng(9), start=first)
    old = {w: i for i, w in enumerate(task.queries.views["raw"].words)}
    rows = [old[w] for w in small.queries.views["raw"].words]
    expected = full(first, len(old))[np.ix_(rows, rows)]
    np.testing.assert_allclose(full(second, 60), expected, atol=1e-9)
    assert expected.any()


def test_hashed_start_needs_the_same_words_and_buckets(corpus_dir, task, tmp_path):
    hashed = dataclasses.replace(SMALL, form="hashed", buckets=997)
    first = hashed.fit(task, np.random.default_rng(0))
    still = dataclasses.replace(hashed, rates=(1e-12,), epoch=1, budget=1)
    second = still.fit(task, np.random.default_rng(1), start=first)
    np.testing.assert_allclose(second.arrays["W"], first.arrays["W"], atol=1e-9)
    with pytest.raises(BadInput, match="997"):
        dataclasses.replace(hashed, buckets=99).fit(task, np.random.default_rng(1), start=first)
    with pytest.raises(ValueError, match="it has form='hashed'; expected form='dense'"):
        SMALL.fit(task, np.random.default_rng(1), start=first)


def test_a_dense_w_is_written_beside_its_training_up_to_a_size(task, tmp_path, monkeypatch):
    queries, documents = (
        len(texts.views[SMALL.view].words) for texts in (task.queries, task.documents)
    )
    size = 4 * queries * documents

    def kept(name, most, model):
        monkeypatch.setattr(word_pairs, "_CHECKPOINT_BYTES", most)
        model.fit(task, np.random.default_rng(0), checkpoint=tmp_path / name)
        return any((tmp_path / name).rglob("*.npy"))

    hashed = WordPairs(buckets=1000, rates=(0.1,), epoch=500, budget=500)
    assert kept("as large", size, SMALL)
    assert not kept("larger", size - 1, SMALL)
    assert kept("hashed", 0, hashed)


def test_dense_w_that_does_not_fit_says_what_would(task, monkeypatch):
    monkeypatch.setenv("SSI_MEMORY", "80000")
    with pytest.raises(Refused, match=r"100 words would fit.*@100") as said:
        SMALL.fit(task, np.random.default_rng(0))
    words = task.queries.matrix("raw").shape[1]
    assert f"{words} x {words} words" in str(said.value)


def test_scores_do_not_depend_on_the_rows_that_are_held(task, dense, monkeypatch):
    """Queries become full rows a few at a time; pairs may come in any order."""
    queries, documents = dense.embed_queries(task.queries), dense.embed_documents(task.documents)
    whole = Scorer(documents).score(queries)
    pairs = np.random.default_rng(0).integers(0, len(task.documents), (300, 2), dtype=np.int32)
    monkeypatch.setattr(inner, "ROWS_BYTES", 12 * 3 * documents.sparse.shape[1])
    for threads in (1, 2):
        np.testing.assert_array_equal(Scorer(documents, threads=threads).score(queries), whole)
        found = score_pairs(queries, documents, pairs, threads=threads)
        np.testing.assert_allclose(found, whole[pairs[:, 0], pairs[:, 1]], atol=1e-6)


def test_prune_takes_a_sparse_w():
    W = Csr(np.array([0, 3]), np.array([1, 4, 5], np.int32), np.array([0.5, -2, 0], np.float32))
    cut = prune(W, 1)
    assert (cut.indices.tolist(), cut.data.tolist()) == ([4], [-2.0])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"form": "low_rank"}, "form='low_rank'"),
        ({"initial": "noise"}, "initial='noise'"),
        ({"form": "hashed", "zero_diagonal": True}, "hashed"),
        ({"zero_diagonal": True, "initial": "identity"}, "zero_diagonal"),
        ({"entries": 0}, "entries=0"),
        ({"buckets": 0}, "buckets=0"),
        ({"form": "hashed", "step": "block"}, "step='triple'"),
    ],
)
def test_wrong_values_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SMALL, **wrong)


def test_memory_is_asked_for_w_and_the_best_of_it_to_the_byte(monkeypatch):
    asked = []
    monkeypatch.setattr(pair_weights, "require", lambda stage, memory, **more: asked.append(memory))
    made = [dense_weights((7, 5), identity=False), hashed_weights(1000)]
    assert asked == [2 * W.nbytes for W in made]
    monkeypatch.setattr(pair_weights, "memory_available", lambda: asked[0] - 1)
    with pytest.raises(Refused, match="a dense W of 7 x 5 words"):
        dense_weights((7, 5), identity=False)
