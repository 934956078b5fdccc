"""Short queries of a task of links, against rankings of raw texts."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from flows.reporting import slices as tables
from ssi_core.command.measures import metrics
from ssi_core.evaluation import short
from ssi_core.evaluation.candidates import candidates
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.popularity import in_degrees, most_linked
from ssi_core.evaluation.slices import of_short
from ssi_core.models.bm25 import Bm25
from ssi_core.models.in_degree import InDegree
from ssi_core.scoring.scorer import Scorer
from ssi_core.serving.searcher import texts_of
from ssi_core.tasks.split import TEST, side_of_documents
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import Pairs
from tests.corpora import topical, write_named


@pytest.fixture(scope="module")
def report(task):
    return evaluate(fit(Bm25(), task), task, tuples=0)


def fit(model, task):
    return model.fit(task, np.random.default_rng(0))


def of_kind(report, kind):
    return report.slices.filter(slice=kind)


def scores(fitted, task, texts):
    queries = fitted.embed_queries(texts_of(texts, fitted.query_views))
    return Scorer(fitted.embed_documents(task.documents)).score(queries)


def test_titles_are_those_of_the_side_and_look_for_their_document(task, report):
    found = of_kind(report, "titles")
    sides = side_of_documents(task.documents.titles, seed=0)
    rows = np.flatnonzero(sides == TEST)
    assert found["id"].to_list() == task.documents.ids[rows].to_list()
    table = scores(fit(Bm25(), task), task, task.documents.titles[rows].to_list())
    popular = most_linked(in_degrees(task))
    for position, row in enumerate(rows.tolist()):
        order = np.argsort(-table[position], kind="stable")
        assert found["mrr"][position] == pytest.approx(1 / (1 + order.tolist().index(row)))
        assert found["popular_at_10"][position] == pytest.approx(popular[order[:10]].mean())
    assert found["candidates"].unique().to_list() == [len(task.documents)]


class Recorder:
    """A fitted model that keeps the texts of the queries that it is given."""

    def __init__(self, fitted):
        self.fitted, self.texts = fitted, []

    def __getattr__(self, name):
        return getattr(self.fitted, name)

    def embed_queries(self, queries):
        self.texts.append(queries)
        return self.fitted.embed_queries(queries)


def test_three_words_are_drawn_of_the_document_each_once(task, report):
    recorder = Recorder(fit(Bm25(), task))
    evaluate(recorder, task, tuples=0)
    _, _, words, links = recorder.texts
    for texts, kind in ((words, "words:3"), (links, "link:3")):
        ids = of_kind(report, kind)["id"].to_list()
        rows = [task.documents.ids.to_list().index(id_) for id_ in ids]
        own, drawn = task.documents.matrix("counts")[rows], texts.matrix("counts")
        assert (drawn.sum(axis=1) == 3).all()
        assert (drawn.data == 1).all()
        assert (drawn.multiply(own > 0) - drawn).nnz == 0
        assert set(texts.ids) == {""}


def test_links_of_three_words_have_the_candidates_of_the_report(task, report):
    chosen = candidates(task, "test", 1000, 0)
    found = of_kind(report, "link:3")
    assert found["id"].to_list() == task.queries.ids[chosen.queries].to_list()
    assert found["relevant"].to_list() == chosen.relevant.lengths.tolist()
    assert found["relevant"].to_list() == report.per_query["relevant"].to_list()


def test_popular_pages_are_seen_where_they_are_all_that_comes(task):
    report = evaluate(fit(InDegree(), task), task, tuples=0)
    share = of_short(report)["titles"]["popular_at_10"]
    assert share == pytest.approx(most_linked(in_degrees(task)).sum() / 10)
    assert of_short(evaluate(fit(Bm25(), task), task, tuples=0))["titles"]["popular_at_10"] < share


@pytest.mark.parametrize("side", ["valid", "test"])
def test_anchors_are_those_of_the_task_of_anchors(tmp_path, side):
    texts, links = topical(121)
    anchors = [
        (f"d{a}", f"d{b}", text, 1.0 + n)
        for a, b in links
        for n, text in enumerate((f"{texts[b].split()[0]} {b % 7}", f"common1 {b}"))
    ]
    titles = [f"Page {n}" for n in range(len(texts))]
    place = write_named(tmp_path / "collection", titles, texts, anchors, links=links)
    build_task(place, tmp_path / "link", pool=0)
    build_task(place, tmp_path / "anchor", relevant="anchor")
    of_links, of_anchors = (open_task(tmp_path / name) for name in ("link", "anchor"))
    how = {"side": side, "tuples": 0}
    found = of_kind(evaluate(fit(Bm25(), of_links), of_links, **how), "anchors")
    expected = evaluate(fit(Bm25(), of_anchors), of_anchors, **how).per_query
    texts_asked = of_anchors.queries.titles[expected["query"].to_list()]
    few = of_kind(
        evaluate(fit(Bm25(), of_links), of_links, queries=len(found) - 2, **how), "anchors"
    )
    assert len(set(few["id"]) & set(found["id"])) == len(few) == len(found) - 2 > 4
    for measure in ("mrr", "map"):
        wanted = dict(zip(texts_asked, expected[measure], strict=True))
        assert dict(zip(found["id"], found[measure], strict=True)) == pytest.approx(wanted)


def test_no_test_pair_changes_titles_and_words(task, report):
    half = dataclasses.replace(task, test=task.test.take(slice(0, len(task.test), 2)))
    again = evaluate(fit(Bm25(), task), half, tuples=0, queries=1000)
    for kind in ("titles", "words:3"):
        few = of_kind(again, kind)
        assert few.equals(of_kind(report, kind).filter(pl.col("id").is_in(few["id"].to_list())))


def test_titles_that_are_drawn_are_drawn_once(task, report):
    every = of_kind(report, "titles")["id"]
    few = of_kind(evaluate(fit(Bm25(), task), task, tuples=0, queries=len(every) - 2), "titles")
    assert len(set(few["id"]) & set(every)) == len(few) == len(every) - 2


def test_of_each_kind_there_are_at_most_so_many(task, report, monkeypatch):
    monkeypatch.setattr(short, "_MOST", 7)
    every = evaluate(fit(Bm25(), task), task, tuples=0)
    assert every.per_query.equals(report.per_query)
    for kind in ("titles", "words:3", "link:3"):
        few = of_kind(every, kind)
        assert 0 < len(few) <= 7 < len(of_kind(report, kind)), kind
    drawn = of_kind(every, "link:3")
    assert drawn.equals(of_kind(report, "link:3").filter(pl.col("id").is_in(drawn["id"])))


def test_a_side_has_its_own_titles(task, report):
    other = evaluate(fit(Bm25(), task), task, side="valid", tuples=0)
    both = [set(of_kind(one, "titles")["id"]) for one in (report, other)]
    assert both[0]
    assert both[1]
    assert not both[0] & both[1]


def test_a_pool_has_what_is_looked_for(task):
    pooled = dataclasses.replace(task, pool=np.arange(0, 200, 4, dtype=np.int32))
    found = of_kind(evaluate(fit(Bm25(), task), pooled, tuples=0), "titles")
    outside = [row % 4 for row in range(200) if task.documents.ids[row] in set(found["id"])]
    assert any(outside)
    assert found["candidates"].max() <= 51


def test_queries_that_are_no_documents_have_none(tmp_path, corpus_dir, task):
    build_task(corpus_dir, tmp_path / "task", queries="words:3")
    others = open_task(tmp_path / "task")
    assert of_short(evaluate(fit(Bm25(), others), others, tuples=0)) == {}
    no_titles = task.documents.titles.clear(len(task.documents)).fill_null("")
    bare = dataclasses.replace(task.documents, titles=no_titles)
    untitled = dataclasses.replace(task, queries=bare, documents=bare)
    assert "titles" not in of_short(evaluate(fit(Bm25(), untitled), untitled, tuples=0))


def test_a_report_without_links_of_training_has_no_popular_pages(task):
    alone = dataclasses.replace(task, train=Pairs.of(()))
    values = of_short(evaluate(fit(Bm25(), task), alone, tuples=0))["titles"]
    assert set(values) == {"mrr", "mrr_se", "ndcg_at_10", "ndcg_at_10_se"}


def test_programs_and_tables_have_them(report):
    numbers = metrics(report, "test")
    short = of_short(report)
    assert numbers["test/titles/mrr"] == short["titles"]["mrr"]
    assert numbers["test/link:3/popular_at_10_se"] == short["link:3"]["popular_at_10_se"]
    shown = tables.tables({"summary": [{"label": "BM25", "slices": short}]})
    assert [title for title, _, _ in shown] == [f"short queries: {kind}" for kind in short]
    head, (line,) = shown[0][1:]
    assert head == ["row", "MRR", "nDCG@10", "popular@10"]
    assert line[1].startswith(f"{short['titles']['mrr']:.3f} ±.")
