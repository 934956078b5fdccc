"""A reranked model as it is served: the order of the reranker of pairs, by the same numbers."""

import math

import numpy as np
import pytest

from ssi_core.evaluation.evaluate import evaluate
from ssi_core.guests.live.searcher import Document, LiveSearcher
from ssi_core.guests.reranking.base import FittedReranker
from ssi_core.guests.reranking.first_stage import features_of
from ssi_core.models import MODELS, load_model
from ssi_core.models.combined.parts import fitted_parts
from ssi_core.scoring.scorer import Scorer
from ssi_core.serving.explain import explain, explain_pair
from ssi_core.serving.index import build_index, open_index
from ssi_core.serving.searcher import Searcher
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput
from tests.corpora import topical, write_corpus
from tests.models.test_cost import hold

pytestmark = pytest.mark.trains

DEPTH = 8
LSI = {"model": "lsi", "dimensions": (4,)}


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    path = tmp_path_factory.mktemp("reranked")
    write_corpus(path / "corpus", *topical())
    build_task(path / "corpus", path / "task")
    return open_task(path / "task")


def model(task, *parts, ranker="rankrls", **settings):
    made = MODELS["reranked"](parts=parts, ranker=ranker, settings=settings, depth=DEPTH)
    return made.fit(task, np.random.default_rng([0]))


@pytest.fixture(scope="module", params=["words", "dense"])
def fitted(request, task):
    if request.param == "words":
        return model(task, {"model": "bm25"}, {"model": "tfidf"}, {"model": "language_model"})
    return model(task, LSI, {"model": "bm25"}, {"model": "in_degree"}, ranker="coordinate_ascent")


@pytest.fixture
def searcher(fitted, task, tmp_path):
    fitted.save(tmp_path / "model")
    build_index(fitted, task.documents, tmp_path / "index", parents={})
    return Searcher(load_model(tmp_path / "model"), open_index(tmp_path / "index"))


def ranker_of(fitted):
    second = fitted.model.second(fitted)
    return FittedReranker(second.ranker, second.arrays, second.names)


def test_estimates_are_those_of_the_file(task):
    hold("ssi_core.guests.reranking", task)


def test_features_of_pairs_cost_three_float64_of_each_part_and_further_ones(task):
    parts = ({"model": "bm25"}, {"model": "tfidf"})
    few, more = (MODELS["reranked"](parts=parts, depth=7, queries=n) for n in (10, 30))
    assert more.cost(task).memory - few.cost(task).memory == 20 * 7 * (2 + 3) * 3 * 8


def test_vectors_of_documents_have_the_shape_that_is_said_of_them(fitted, task):
    """One column more has the lengths; where no part is dense, nothing of it is an estimate."""
    dense, nonzeros = fitted.model.vector_shape(task)
    parts = fitted.embed_documents(task.documents).parts
    assert dense == sum(part.dense.shape[1] for part in parts if part.dense is not None)
    words = sum(part.sparse.nnz for part in parts if part.sparse is not None)
    assert words == nonzeros if dense == 1 else words <= nonzeros


def test_the_order_is_that_of_the_reranker_on_the_same_pairs(fitted, task):
    """Scores of an evaluation order the pairs of a file as `ssi rank rerank score` orders them."""
    names = fitted.model.second(fitted).names
    parts = dict(zip(names, fitted_parts(fitted), strict=False))
    pairs = features_of(task, "test", parts, depth=DEPTH, queries=25)
    scores = ranker_of(fitted).score(pairs)
    first = parts[names[0]]
    rows = [task.queries.ids.index_of(query) for query in pairs.queries]
    queries = task.queries.take(rows)
    allowed = _candidates(task, pairs.queries.to_list())
    documents = fitted.embed_documents(task.documents)
    served = Scorer(documents).score(fitted.embed_queries(queries), allowed)
    alone = Scorer(first.embed_documents(task.documents)).score(first.embed_queries(queries))
    for query, (_, span) in enumerate(pairs.lists()):
        wanted = pairs.documents[span][np.argsort(-scores[span], kind="stable").tolist()].to_list()
        order = np.argsort(-np.where(allowed[query], served[query], -np.inf), kind="stable")
        assert task.documents.ids[order[: len(wanted)].tolist()].to_list() == wanted
        # Behind them the order is that of the first stage.
        rest = order[len(wanted) : int(allowed[query].sum())]
        assert np.all(np.diff(alone[query, rest]) <= 1e-6)
        equal = np.diff(alone[query, rest]) == 0
        assert np.array_equal(np.diff(served[query, rest]) == 0, equal)


def _candidates(task, ids):
    from ssi_core.evaluation.candidates import candidates

    chosen = candidates(task, "test", 25, 0)
    mask = chosen.mask(0, len(chosen.queries))
    known = task.queries.ids[chosen.queries].to_list()
    return mask[[known.index(query) for query in ids]]


def test_a_search_has_the_order_and_the_scores_of_an_evaluation(searcher, fitted, task):
    text = "boats1 boats2 boats3 common1"
    queries = searcher.queries([text])
    documents = fitted.embed_documents(task.documents)
    scores = Scorer(documents).score(fitted.embed_queries(queries))[0]
    (answer,) = searcher.search([text], 12)
    order = np.argsort(-scores, kind="stable")[: len(answer.hits)]
    assert [hit.id for hit in answer.hits] == task.documents.ids[order.tolist()].to_list()
    np.testing.assert_allclose([hit.score for hit in answer.hits][:DEPTH], scores[order][:DEPTH])
    falling = [hit.score for hit in answer.hits]
    assert falling == sorted(set(falling), reverse=True)
    assert len(answer.hits) > DEPTH
    # Whatever is asked with it.
    several = searcher.search(["moon", text, ""], 12)
    assert several[1] == answer
    assert several[2].reason
    assert [hit.id for hit in searcher.search([text], 3)[0].hits] == [h.id for h in answer.hits[:3]]


def test_the_shares_of_the_features_add_up_to_the_score(searcher):
    text = "boats1 boats2 common1"
    hit = searcher.search([text], 5)[0].hits[2]
    explained = explain(searcher, text, hit.id)
    assert explained.score == pytest.approx(hit.score, abs=1e-4)
    shares = [feature.share for feature in explained.features]
    assert explained.rest == pytest.approx(0, abs=1e-12)  # of a linear ranker
    assert math.fsum(shares) == pytest.approx(explained.score)
    assert {one.name for one in explained.features} == {*searcher.fitted.facts["features"]}
    assert all(0 <= one.value <= 1 for one in explained.features)
    assert np.all(np.diff(np.abs(shares)) <= 0)
    found = {hit.id for hit in searcher.search([text], DEPTH)[0].hits}
    other = next(one for one in searcher.index.ids if one not in found)
    with pytest.raises(BadInput, match="only these are reranked"):
        explain(searcher, text, other)
    with pytest.raises(BadInput, match="is not a sum over words"):
        explain_pair(searcher.fitted, searcher.queries([text]), searcher.document(hit.id))


def test_an_added_document_is_reranked_among_all_others(searcher, task):
    """Features are scaled over the first documents, wherever these lie."""
    live = LiveSearcher(searcher)
    text = "boats1 boats2 boats3 common1"
    before = live.search([text], 12)[0]
    assert before == searcher.search([text], 12)[0]
    added = live.put([Document("new", "New", "boats1 boats2 boats3 common1 boats1")])
    hits = added.search([text], 12)[0].hits
    assert "new" in [hit.id for hit in hits[:DEPTH]]
    assert [hit.score for hit in hits] == sorted({hit.score for hit in hits}, reverse=True)
    more = added.put([Document("newer", "Newer", "boats2 common3")])
    assert more.drop(["new", "newer"]).search([text], 12)[0] == before
    assert explain(more, text, "new").features


def test_a_reranker_of_one_first_document_changes_nothing_behind_it(task):
    """With the first stage as the only feature, the order is that of the first stage."""
    alone = MODELS["bm25"]().fit(task, np.random.default_rng([0]))
    same = model(task, {"model": "bm25"}, ranker="feature", feature="first_stage")
    one, other = evaluate(alone, task, queries=40), evaluate(same, task, queries=40)
    for name in ("map", "ndcg_at_10", "rank_loss", "mrr"):
        assert other.means[name] == pytest.approx(one.means[name], abs=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"parts": ()}, "the first one ranks"),
        ({"parts": ({"model": "fusion"},)}, "no model 'fusion'"),
        ({"parts": ({"model": "bm25"},), "ranker": "rankrsl"}, "Did you mean 'rankrls'"),
        ({"parts": ({"model": "bm25"},), "settings": {"lambda": 1}}, "no key 'lambda'"),
        ({"parts": ({"model": "bm25"},), "depth": 1}, "depth=1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        MODELS["reranked"](**settings)
