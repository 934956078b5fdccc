from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from ssi_core.models.base import FittedModel
from ssi_core.models.latent.lsi import Lsi
from ssi_core.models.tfidf import TfIdf
from ssi_core.scoring.vectors import Likelihood
from ssi_core.serving import searcher as module
from ssi_core.serving.index import build_index, open_index
from ssi_core.serving.query_words import known
from ssi_core.serving.searcher import Searcher, open_searcher
from ssi_core.types import BadInput, Refused, Texts
from tests.serving.models import TEXTS, TITLES, WORDS, documents, random_models, views

MODELS = random_models(seed=1)
NAMES = [f"{m.model.name}-{n}" for n, m in enumerate(MODELS)]


def searcher_of(fitted, directory, texts=TEXTS, **how):
    own = documents(fitted.document_views, texts)
    build_index(fitted, own, directory, parents={"task": "t"}, **how)
    return Searcher(fitted, open_index(directory))


def naive_scores(fitted, query):
    """f(q, d) of one query with every document, by dense algebra in float64."""
    from ssi_core.serving.searcher import texts_of

    q = fitted.embed_queries(texts_of([query], fitted.query_views))
    d = fitted.embed_documents(documents(fitted.document_views))
    scores = np.zeros(len(TEXTS))
    if isinstance(q, Likelihood):
        inner = d.sparse.toarray() + d.dense.astype(float) @ q.topics.T
        return np.log1p(inner) @ q.sparse.toarray()[0]
    if q.sparse is not None:
        row = q.sparse if q.projection is None else q.projection(q.sparse)
        scores += (d.sparse.toarray().astype(float) @ row.toarray()[0]).ravel()
    if q.dense is not None:
        scores += d.dense.astype(float) @ q.dense[0]
    return scores


@pytest.mark.parametrize("fitted", MODELS, ids=NAMES)
def test_search_ranks_by_the_score(fitted, tmp_path):
    searcher = searcher_of(fitted, tmp_path / "i")
    for query in ("car engine", "moon", "wheel wheel automobile planet unheard"):
        (answer,) = searcher.search([query], k=len(TEXTS))
        scores = naive_scores(fitted, query)
        order = [row for row in np.argsort(-scores, kind="stable") if scores[row] != 0]
        assert [hit.title for hit in answer.hits] == [TITLES[row] for row in order]
        np.testing.assert_allclose(
            [hit.score for hit in answer.hits], scores[order], rtol=1e-4, atol=1e-6
        )


@pytest.mark.parametrize("fitted", MODELS, ids=NAMES)
def test_an_index_of_float16_gives_the_scores_of_float32_as_far_as_it_can(fitted, tmp_path):
    queries = ["car engine", "wheel wheel automobile planet unheard"]
    one, half = (
        searcher_of(fitted, tmp_path / storage, storage=storage).search(queries, k=len(TEXTS))
        for storage in ("float32", "float16")
    )
    for exact, rounded in zip(one, half, strict=True):
        scores = {hit.id: hit.score for hit in exact.hits}
        for hit in rounded.hits:
            assert hit.score == pytest.approx(scores.get(hit.id, 0), rel=1e-3, abs=3e-4)


def test_ties_come_by_ascending_row(tmp_path):
    own = {"raw": views("raw")["raw"]}
    fitted = FittedModel(TfIdf(), {}, own, own)
    same = ["moon", "car road", "car road", "rocket", "car road"]
    answer = searcher_of(fitted, tmp_path / "i", same).search(["car"], k=2)[0]
    assert [hit.id for hit in answer.hits] == ["d1", "d2"]
    assert answer.hits[0].score == answer.hits[1].score


@pytest.mark.parametrize("fitted", MODELS, ids=NAMES)
def test_a_query_without_a_known_word_says_so(fitted, tmp_path):
    searcher = searcher_of(fitted, tmp_path / "i")
    for query in ("", "unheard of", "???", "\x00\ud800"):
        unknown, known = searcher.search([query, "car"])
        assert unknown.hits == ()
        assert "no word that the model knows" in unknown.reason
        assert known.hits
        assert known.reason is None


def test_documents_without_a_word_of_the_query_are_no_results(tmp_path):
    answer = searcher_of(MODELS[0], tmp_path / "i", ["car", "moon"]).search(["rocket", "car"])
    assert (answer[0].hits, len(answer[1].hits)) == ((), 1)
    assert "no document" in answer[0].reason


def test_many_queries_are_answered_in_blocks(tmp_path, monkeypatch):
    searcher = searcher_of(MODELS[-1], tmp_path / "i")
    queries = ["car", "moon", "", "wheel road", "planet"]
    whole = searcher.search(queries, k=3)
    monkeypatch.setattr(module, "_SCORES", 2 * len(TEXTS))
    for one, other in zip(searcher.search(queries, k=3), whole, strict=True):
        assert [hit.id for hit in one.hits] == [hit.id for hit in other.hits]
        np.testing.assert_allclose([h.score for h in one.hits], [h.score for h in other.hits], 1e-5)
    assert searcher.search([]) == []
    with pytest.raises(ValueError, match="k=0"):
        searcher.search(queries, k=0)


def test_open_searcher_finds_model_and_index_in_both_layouts(tmp_path):
    fitted = MODELS[-1]
    texts = documents(fitted.document_views)
    for model, index in (("run/model", "run/index"), ("plain", "plain/index")):
        fitted.save(tmp_path / model)
        build_index(fitted, texts, tmp_path / index, parents={"task": "t"})
    expected = searcher_of(fitted, tmp_path / "i").search(["car road"])
    assert open_searcher(tmp_path / "run").search(["car road"]) == expected
    assert open_searcher(tmp_path / "run" / "model").search(["car road"]) == expected
    assert open_searcher(tmp_path / "plain").search(["car road"]) == expected
    fitted.save(tmp_path / "bare")
    with pytest.raises(BadInput, match="index"):
        open_searcher(tmp_path / "bare")
    assert open_searcher(tmp_path / "bare", tmp_path / "i").search(["car road"]) == expected


def test_scores_have_the_same_bits_whatever_else_is_asked(tmp_path):
    rng = np.random.default_rng(5)
    fitted = random_models(seed=5, dimensions=100)[-1]
    texts = [" ".join(rng.choice(WORDS, 9)) for _ in range(500)]
    searcher = searcher_of(fitted, tmp_path / "i", texts)
    queries = [" ".join(rng.choice(WORDS, 3)) for _ in range(37)]
    together = searcher.search(queries, 10)
    assert [searcher.search([query], 10)[0] for query in queries] == together
    assert searcher.search(queries[:2], 10) + searcher.search(queries[2:], 10) == together


def test_vectors_that_are_no_numbers_are_refused(tmp_path):
    used = views("raw")
    V = np.ones((len(WORDS), 2), np.float32)
    V[0, 1] = np.nan  # of "car"
    spoilt = FittedModel(Lsi(dimensions=2), {"V": V}, used, used)
    with pytest.raises(BadInput, match="hold NaN or infinity"):
        searcher_of(spoilt, tmp_path / "i")
    whole = FittedModel(Lsi(dimensions=2), {"V": np.nan_to_num(V)}, used, used)
    index = searcher_of(whole, tmp_path / "i").index
    with pytest.raises(BadInput, match="query: the model gives vectors that hold NaN"):
        Searcher(spoilt, index).search(["car"])
    assert Searcher(spoilt, index).search(["moon"])[0].hits


def test_a_search_that_does_not_fit_the_memory_is_refused(tmp_path, monkeypatch):
    used = views("raw")
    fitted = FittedModel(TfIdf("raw"), {}, used, used)
    monkeypatch.setenv("SSI_MEMORY", "100")
    with pytest.raises(Refused, match=r"^search takes about 228 B .* make the index without words"):
        searcher_of(fitted, tmp_path)


def test_a_word_of_no_weight_makes_no_query_known():
    used = views()
    rows = sparse.csr_array(
        (np.array([0.0, 2.0], np.float32), np.array([0, 1], np.int32), np.array([0, 1, 2, 2])),
        shape=(3, len(WORDS)),
    )
    ids = pl.Series("id", ["a", "b", "c"])
    texts = Texts(ids, ids.alias("title"), {"counts": rows}, used)

    assert known(texts).tolist() == [False, True, False]


def test_a_word_that_no_view_knows_is_as_heavy_as_the_heaviest():
    view = views()["counts"]
    idf = dict(zip(WORDS, view.idf.tolist(), strict=True))
    assert module.weights("road zebra Car", view) == {
        "road": idf["road"],
        "zebra": max(idf.values()),
        "car": idf["car"],
    }
    assert module.weights("moon", view) == {"moon": idf["moon"]}
    assert view.idf.tolist() == list(idf.values())
