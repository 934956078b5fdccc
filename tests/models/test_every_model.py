"""The contract of a model, over every registered one."""

import copy
import dataclasses
import json
import os
import pickle
from functools import cache
from pathlib import Path

import joblib
import numpy as np
import polars as pl
import pytest

from ssi_core.estimator import parse
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.face.encoding import encode
from ssi_core.models import MODELS, load_model
from ssi_core.scoring.scorer import Scorer, score_pairs
from ssi_core.scoring.vectors import Inner, Likelihood
from ssi_core.serving.searcher import texts_of
from ssi_core.tasks.task import open_task
from ssi_core.types import BadInput, Texts
from ssi_core.views import hashing
from tests.robust.tally import attempt
from tests.seals import accepted, reseal

pytestmark = pytest.mark.trains

SMALL = dict(dimensions=8, rates=(0.1,), epoch=500, budget=1500, search_budget=200, margin=0.3)
PAIRS = {name: value for name, value in SMALL.items() if name != "dimensions"}
OUTSIDE = {"trec_run"}
"""A model that reads a file (test_trec_run.py)."""
_ROWS = {
    name: {f.name: SMALL[f.name] for f in dataclasses.fields(model) if f.name in SMALL}
    for name, model in MODELS.items()
    if name not in OUTSIDE
} | {
    "language_model": {"background": (0.3,)},
    "query_expansion": {"expansions": (2, 5), "betas": (0.3, 1.0)},
    "lsi": {"dimensions": (4, 8)},
    "lsi_mixture": {"dimensions": (4, 8), "alphas": (0.0, 0.5, 1.0), "tfidf_view": "sublinear"},
    "bilinear D": {"form": "zero", "diagonal": "learned"} | SMALL,
    "bilinear U'U + I": SMALL | {"tied": True, "rates": (0.01,)},
    "bilinear U'V + I": SMALL | {"view": "sublinear:10", "diagonal_view": "raw"},
    "bilinear U'V + I adagrad": SMALL
    | {"adagrad": True, "rates": (0.01,), "against": "first_stage", "hard_share": 0.5},
    "bilinear U'V + D": {"diagonal": "learned"} | SMALL,
    "bilinear U'V": {"diagonal": "none", "negatives_power": 0.5, "stop_by": "map"} | SMALL,
    "bilinear U'V + D of one length": {"diagonal": "learned", "length": (0.5, 1.0)} | SMALL,
    "bilinear U'V + alpha I": SMALL
    | {"diagonal": "alpha", "alpha": 1.0, "alpha_rate": 0.01, "rates": (0.01,)},
    "word_pairs W": {"form": "dense", "initial": "identity", "diagonal": "none"} | PAIRS,
    "word_pairs W + I": {"form": "dense", "view": "sublinear:10", "diagonal_view": "raw"} | PAIRS,
    "word_pairs W by blocks": {"form": "dense", "view": "sublinear:10", "step": "block"} | PAIRS,
    "word_pairs sparse": {"form": "sparse", "entries": 20, "round_budget": 500} | PAIRS,
    "word_pairs hashed + alpha I": {"diagonal": "alpha", "alpha_rate": 0.1, "buckets": 997} | PAIRS,
    "half_transductive": SMALL | {"functional_budget": 1000},
    "half_transductive U'V": SMALL
    | {"functional_budget": 1000, "tied": False, "warp": True, "rates": (0.01,)},
    "half_transductive + D": SMALL | {"functional_budget": 1000, "diagonal": "learned"},
    "cl_lsi": {"dimensions": (4, 8)},
    "cl_lsi dot": {"dimensions": 8, "measure": "dot"},
    "multi_task + D adagrad": SMALL | {"diagonal": "learned", "adagrad": True, "tied": True},
    "multi_task U_E": SMALL
    | {
        "auxiliary": (
            {"task": "monolingual", "query": "U_E", "document": "V_E", "weight": 0.5},
            {"task": "monolingual_queries", "query": "U_F", "document": "U_F"},
        )
    },
    "topic_model": {"topics": 8, "passes": 3},
    "topic_model PLSA": {"texts": "documents", "topics": 8, "passes": 12, "unigram": (0.0,)},
    "topic_model PR": {"projected": True, "topics": 8, "passes": 2},
    "topic_model 1V": {"projected": True, "merged": True, "topics": 8, "passes": 2},
    "translation_model": {"passes": 3},
    "topics_and_translations": {
        "parts": (
            {"model": "topic_model", "projected": True, "topics": 8, "passes": 2},
            {"model": "translation_model", "passes": 2},
        ),
    },
    "pca joined": {"texts": "joined", "dimensions": 8},
    "opca": {"dimensions": 8, "gammas": (0.1, 1.0)},
    "s2net": {"dimensions": 8, "budget": 5},
    "softmax": {"dimensions": 8, "batch": 32, "rates": (0.01,), "epoch": 500, "budget": 1000},
    "mixture": {
        "parts": (
            {"model": "tfidf", "view": "sublinear"},
            {"model": "bilinear", "diagonal": "none"} | SMALL,
        ),
        "betas": (0.1, 1.0),
    },
    "residual": {
        "parts": (
            {"model": "bm25f"},
            {"model": "bilinear", "diagonal": "learned", "against": "first_stage"} | SMALL,
        ),
    },
    "fusion": {
        "parts": (
            {"model": "bm25"},
            {"model": "tfidf", "view": "sublinear"},
            {"model": "bilinear", "diagonal": "none"} | SMALL,
        ),
        "k": (10.0, 60.0),
    },
    "reranked": {"parts": ({"model": "bm25"}, {"model": "tfidf"}), "depth": 30},
    "reranked of all": {
        "parts": ({"model": "lsi", "dimensions": (8,)}, {"model": "bm25"}, {"model": "in_degree"}),
        "ranker": "coordinate_ascent",
        "settings": {"restarts": 2, "optimise": "letor_ndcg_at_10"},
        "depth": 30,
    },
    "best_of": {
        "parts": (
            {"model": "bm25"},
            {"model": "bilinear", "view": "sublinear:10", "diagonal_view": "raw"} | SMALL,
        ),
    },
    "auto": {
        "dimensions": 8, "first": 500, "budget": 2000, "alpha": (1.0,),
        "view": ("sublinear:10",), "diagonal_view": ("raw",), "rates": (0.1,), "margin": (0.3,),
        "negatives_power": (0.0,),
    },
}  # fmt: skip
ROWS = {row: settings for row, settings in _ROWS.items() if row.split(" ")[0] in MODELS}
"""Rows of all models that are here; the core may stand alone."""

WORDLESS = {"in_degree"}
"""Rows whose score does not depend on the query: they know no subject."""


RANKED = {"fusion", "reranked", "reranked of all"}
"""Rows whose score is of ranks, or of a ranker of pairs."""


def build(row):
    name = row.split(" ")[0]
    return MODELS[name](**ROWS[row])


@pytest.fixture(scope="module")
def task(task_dir):
    opened = open_task(task_dir)
    # Documents are queries here: the further objectives are the first once more.
    auxiliary = dict.fromkeys(("monolingual", "monolingual_queries"), opened)
    return dataclasses.replace(opened, auxiliary=auxiliary)


class Unreadable:
    """A side of a split that must not be looked at."""

    def __getattribute__(self, name):
        raise AssertionError(f"the test side was read: {name}")


class Fits(dict):
    """Row -> its model, fitted when it is first asked for."""

    def __init__(self, task):
        self.task = task

    def __missing__(self, row):
        self[row] = build(row).fit(self.task, np.random.default_rng(7))
        return self[row]


@pytest.fixture(scope="module")
def fits(task):
    """Models of a task whose test pairs nobody can read: no fit may see them."""
    auxiliary = {
        name: dataclasses.replace(one, test=Unreadable()) for name, one in task.auxiliary.items()
    }
    return Fits(dataclasses.replace(task, test=Unreadable(), auxiliary=auxiliary))


RARE = {"multi_task + D adagrad", "half_transductive + D"}
"""Rows whose sweep nothing else needs: to compile it takes longer than all else of a row."""

OF_ANOTHER = {*ROWS} - {
    *MODELS, *RARE, "bilinear D", "bilinear U'V + D of one length", "word_pairs sparse",
    "word_pairs hashed + alpha I", "half_transductive U'V", "reranked of all",
}  # fmt: skip
"""Rows whose arrays are declared like those of another row."""


def each(rows):
    marked = [pytest.param(row, marks=[pytest.mark.slow] * (row in RARE)) for row in rows]
    return pytest.mark.parametrize("row", marked)


every = each(ROWS)


@every
def test_ranks_pages_of_its_subject_first(row, fits, task):
    """Links stay within a subject, and each subject has words of its own: a toy with an answer."""
    report = evaluate(fits[row], task, tuples=2000)
    if row in WORDLESS:
        assert report.means["rank_loss"] > 0.3
        return
    assert report.means["rank_loss"] < 0.12
    chance = report.per_query["relevant"].mean() / len(task.documents)
    assert report.means["map"] > 3 * chance


@every
def test_save_then_load_is_the_identity(row, fits, task, tmp_path):
    fit = fits[row]
    fit.save(tmp_path)
    loaded = load_model(tmp_path)
    assert loaded.model == fit.model
    assert json.loads(json.dumps(fit.facts)) == loaded.facts
    for side in (
        lambda f: f.embed_queries(task.queries),
        lambda f: f.embed_documents(task.documents),
    ):
        both = side(fit), side(loaded)
        assert type(both[0]) is type(both[1])
        for a, b in zip(*(one.arrays() for one in both), strict=True):
            np.testing.assert_array_equal(a, b)
    assert not list(tmp_path.rglob("*.pkl"))


def specs_of(fit):
    sides = fit.query_views, fit.document_views
    named = zip(("query", "document"), sides, strict=True)
    return fit.model.array_specs(
        {f"{s} {n}": len(v.words) for s, side in named for n, v in side.items()}
    )


@each([row for row in ROWS if row not in OF_ANOTHER])
@pytest.mark.hostile("resealed directories")
def test_arrays_that_are_not_as_they_are_declared_are_refused(row, fits, tmp_path, monkeypatch):
    """The digests are made right again each time: only the declarations are in the way."""
    # The views stay as they were saved: they are read once, not once for each array.
    monkeypatch.setattr(hashing, "load_view", cache(hashing.load_view))
    fit = fits[row]
    specs = specs_of(fit)
    assert specs.keys() == fit.arrays.keys()
    fit.save(tmp_path)
    files = {f"arrays/{name}": spec for name, spec in specs.items()}
    assert not accepted(tmp_path, "model.json", load_model, files)
    if specs:
        first = tmp_path / "arrays" / f"{min(specs)}.npy"
        whole = first.read_bytes()
        first.unlink()
        reseal(tmp_path, "model.json")
        with pytest.raises(BadInput, match=r"npy: it is missing"), attempt():
            load_model(tmp_path)
        first.write_bytes(whole)
    (tmp_path / "arrays").mkdir(exist_ok=True)
    np.save(tmp_path / "arrays" / "more.npy", np.zeros(3))
    reseal(tmp_path, "model.json")
    with pytest.raises(BadInput, match=r"more\.npy: it is not declared"), attempt():
        load_model(tmp_path)


@every
def test_same_seed_same_arrays_and_inputs_are_not_changed(row, fits, task):
    before = {n: m.data.copy() for n, m in task.documents.matrices.items()}
    again = build(row).fit(task, np.random.default_rng(7))
    assert again.arrays.keys() == fits[row].arrays.keys()
    for name, array in fits[row].arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name])
    for name, data in before.items():
        np.testing.assert_array_equal(data, task.documents.matrices[name].data)


@every
def test_reads_raw_text_with_its_own_views(row, fits, task, tmp_path):
    """A saved model ranks raw text without the task; unknown and empty texts survive."""
    fits[row].save(tmp_path)
    model = load_model(tmp_path)
    raw = ["boats1 boats2 boats3 common1", "", "never seen before"]
    ids = pl.Series(["x", "y", "z"])
    matrices = {n: v.transform(raw) for n, v in model.query_views.items()}
    queries = Texts(ids, ids, matrices, model.query_views)
    scores = Scorer(model.embed_documents(task.documents)).score(model.embed_queries(queries))
    assert np.isfinite(scores).all()
    if row in WORDLESS:
        assert (scores == scores[0]).all()
        return
    subjects = task.documents.ids[np.argsort(-scores[0], kind="stable")[:5].tolist()].to_list()
    assert [int(i[1:]) % 8 for i in subjects].count(0) >= 4
    # Nothing is known of them: all documents are alike, and score nothing but where ranks count.
    assert (scores[1:] == scores[1:, :1]).all()
    assert row in RANKED or not scores[1:].any()


@every
def test_score_is_the_sum_of_its_words(row, fits, task):
    """dense = weights @ embedding, columns of both parts are words of the model's own views."""
    fit = fits[row]
    likelihood = isinstance(fit.embed_queries(task.queries), Likelihood)
    for side, embed in (("query", fit.embed_queries), ("document", fit.embed_documents)):
        vectors = embed(task.documents)
        words = fit.dense_words(task.documents, side)
        if likelihood and side == "document":
            found, topics = fit.model.topic_words(fit, task.documents.take([0]))
            assert topics.shape == (found.nnz, vectors.dense.shape[1])
            continue
        assert (words is None) == (vectors.dense is None)
        if words is not None:
            np.testing.assert_allclose(
                words.weights @ words.embedding, vectors.dense, rtol=1e-4, atol=1e-6
            )
            assert len(words.view.words) == words.embedding.shape[0]
        view = fit.sparse_view(side)
        assert (view is None) == (vectors.sparse is None)
        if view is not None:
            assert len(view.words) == vectors.sparse.shape[1]


@every
def test_pairs_score_like_blocks(row, fits, task):
    fit = fits[row]
    queries, documents = fit.embed_queries(task.queries), fit.embed_documents(task.documents)
    pairs = np.array([[0, 5], [3, 2], [7, 7]], np.int32)
    block = Scorer(documents).score(queries)
    np.testing.assert_allclose(
        score_pairs(queries, documents, pairs),
        block[pairs[:, 0], pairs[:, 1]],
        rtol=1e-4,
        atol=1e-6,
    )


@every
def test_hyper_parameters_survive_json(row):
    model = build(row)
    said = json.loads(json.dumps(dataclasses.asdict(model)))
    assert parse(type(model), said) == model


def test_unknown_hyper_parameter_names_the_known_ones():
    with pytest.raises(BadInput, match=r"bilinear'.*no key 'dimension'. Did you mean 'dimensions'"):
        parse(MODELS["bilinear"], {"dimension": 3})


@every
def test_a_copy_is_the_model(row, fits, task, tmp_path):
    """Pickled, copied or dumped, it has the same arrays in its own memory, and scores alike."""
    fit = fits[row]
    fit.save(tmp_path / "saved")
    joblib.dump(fit, tmp_path / "dumped")
    raw = ["boats1 boats2 boats3 common1", "never seen before"]
    ids = pl.Series(["x", "y"])

    def scores(model):
        matrices = {n: v.transform(raw) for n, v in model.query_views.items()}
        queries = model.embed_queries(Texts(ids, ids, matrices, model.query_views))
        return Scorer(model.embed_documents(task.documents)).score(queries)

    expected = scores(fit)
    copies = {
        "pickled": pickled(fit),
        "copied": copy.deepcopy(fit),
        "loaded and pickled": pickled(load_model(tmp_path / "saved")),
        "dumped": joblib.load(tmp_path / "dumped"),
        # As joblib hands large arrays to its processes: mapped, and not to be written.
        "mapped": joblib.load(tmp_path / "dumped", mmap_mode="r"),
    }
    for how, other in copies.items():
        assert other.model == fit.model, how
        assert other.arrays.keys() == fit.arrays.keys(), how
        for name, array in fit.arrays.items():
            np.testing.assert_array_equal(other.arrays[name], array, how)
            assert not np.shares_memory(other.arrays[name], array), how
        shared = fit.query_views is fit.document_views
        assert (other.query_views is other.document_views) == shared, how
        np.testing.assert_array_equal(scores(other), expected, how)


@every
def test_texts_are_encoded_as_vectors_whose_inner_products_are_the_scores(row, fits, task):
    """Whoever has the two parts has the score; a model without such parts says so."""
    fit = fits[row]
    raw = ["boats1 boats2 boats3 common1", "", "stars1"]
    queries = fit.embed_queries(texts_of(raw, fit.query_views))
    if not isinstance(queries, Inner):
        for side in ("query", "document"):
            with pytest.raises(BadInput, match="no vectors of texts") as refused:
                encode(fit, raw, side)
            remedy = "one of its parts" if fit.model.unserved() else "Search with model.index"
            assert remedy in str(refused.value)
        return
    texts = ["boats1 boats4 cars1", "stars1 stars2"]
    documents = fit.embed_documents(texts_of(texts, fit.document_views))
    expected = Scorer(documents).score(queries)
    ours, theirs = encode(fit, raw, "query"), encode(fit, texts, "document")
    assert ours.dense.dtype == theirs.dense.dtype == ours.sparse.dtype == np.float32
    products = (ours.sparse @ theirs.sparse.T).toarray() + ours.dense @ theirs.dense.T
    np.testing.assert_allclose(products, expected, rtol=1e-5, atol=1e-6)
    assert row in WORDLESS or expected.any()


def pickled(fit):
    return pickle.loads(pickle.dumps(fit))


def flat(name, value):
    """Yield the numbers and words that a fact holds, by their paths, but for times."""
    if isinstance(value, dict | list | tuple):
        for part, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from flat(f"{name}/{part}", one)
    elif not name.endswith(("seconds", "_per_second", "threads")):
        yield name, value


def found_by(fit):
    """Return what a training found: sizes of the arrays, measures, and all else."""
    numbers = {name: a for name, a in fit.arrays.items() if a.dtype.kind in "fiu"}
    sizes = {name: float(np.linalg.norm(a.astype(np.float64))) for name, a in numbers.items()}
    facts = dict(flat("", fit.facts))
    sizes |= {name: facts.pop(name) for name in [*facts] if "held_out_hits" in name}
    measures = {name: value for name, value in facts.items() if isinstance(value, float)}
    rest = {name: value for name, value in facts.items() if name not in measures}
    return sizes, measures, rest


@every
def test_what_a_training_finds_is_that_of_the_file(row, fits):
    """Whoever changes what is trained prints its lines with `FOUND=1`, and keeps them."""
    sizes, measures, rest = found_by(fits[row])
    if "FOUND" in os.environ:
        print(f"\n{row}\t{json.dumps(found_by(fits[row]))}")
    lines = Path(__file__).with_name("found.txt").read_text(encoding="utf-8").splitlines()
    kept = json.loads(dict(line.split("\t") for line in lines)[row])
    assert rest == kept[2]
    # Other kernels round otherwise: a pair or two of equal scores may change places.
    assert measures == pytest.approx(kept[1], rel=1e-5, abs=1e-4)
    assert sizes == pytest.approx(kept[0], rel=1e-5)
