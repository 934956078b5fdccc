"""Frozen sets of clicks and of mates: what is asked, and what a task must not train on."""

import numpy as np
import polars as pl
import pytest

from ssi_core import store
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.guests.click_logs.rules import Rules
from ssi_core.models.tfidf import TfIdf
from ssi_core.tasks.frozen import freeze, open_frozen
from ssi_core.tasks.linked import read_linked
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput
from tests.corpora import write_mates
from tests.guests.click_logs import logs


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    """Clicks of a log, and of its first half."""
    path = tmp_path_factory.mktemp("clicks")
    rows = logs.rows(900)
    made = {}
    for name, n in (("all", len(rows)), ("before", len(rows) // 2)):
        log = logs.write_csv(path / f"{name}.csv", rows[:n])
        made[name] = logs.ingest([log], logs.form(), path / name, rules=Rules("all")).path
    return made


@pytest.fixture(scope="module")
def of_clicks(clicks, tmp_path_factory):
    out = tmp_path_factory.mktemp("frozen") / "frozen"
    freeze(clicks["all"], out, since=clicks["before"], queries=6, pool=30)
    return out


def ids(task, pairs):
    queries, documents = task.queries.ids, task.documents.ids
    return {(queries[int(q)], documents[int(d)]) for q, d in pairs}


def fitted_on(tmp_path, clicks, **how):
    build_task(clicks, tmp_path / "task", **how, relevant="click")
    return TfIdf().fit(open_task(tmp_path / "task"), np.random.default_rng(0))


@pytest.mark.parametrize("vocabularies", ["one", "two"])
def test_pages_ask_and_ads_answer(of_clicks, clicks, tmp_path, vocabularies):
    fitted = fitted_on(tmp_path, clicks["all"], views=("raw",), vocabularies=vocabularies)
    whole, task = open_task(tmp_path / "task"), open_frozen(of_clicks, fitted, clicks["all"])
    asked = {page for page, _ in ids(task, task.test.rows)}
    assert set(task.queries.ids) == asked
    assert len(asked) == store.read(of_clicks).counts["queries"]
    # The hash is that of the split by pairs.
    assert ids(task, task.test.rows) == {
        (page, ad) for page, ad in ids(whole, whole.test.rows) if page in asked
    }
    others = ids(whole, np.vstack([whole.train.rows, whole.valid.rows]))
    there = set(task.documents.ids)
    assert ids(task, task.train.rows) == {
        (page, ad) for page, ad in others if page in asked and ad in there
    }
    assert task.exclude.nnz == 0
    for view in task.queries.matrices:
        for side, of in (("queries", whole.queries), ("documents", whole.documents)):
            own = getattr(task, side)
            place = {name: n for n, name in enumerate(of.ids)}
            same = of.matrices[view][[place[name] for name in own.ids]] != own.matrices[view]
            assert same.nnz == 0
    if vocabularies == "one":
        report = evaluate(fitted, task, queries=10**6, tuples=0)
        assert len(report.per_query) == len(asked)


def test_what_is_new_is_what_the_first_half_lacks(of_clicks, clicks, tmp_path):
    task = open_frozen(of_clicks, fitted_on(tmp_path, clicks["all"]))
    linked = read_linked(clicks["before"])
    before = {
        (linked.queries.names[int(q)], linked.documents.names[int(d)]) for q, d in linked.pairs
    }
    answers = ids(task, task.test.rows)
    assert ids(task, task.subsets["newest"]) == answers - before != set()


@pytest.mark.parametrize("split", ["pairs", "users"])
def test_its_pairs_are_barred_from_training(of_clicks, clicks, tmp_path, split):
    how = {"split": split, "split_seed": 7, "views": ("raw",)}
    free = fitted_on(tmp_path, clicks["all"])
    answers = ids(task := open_frozen(of_clicks, free), task.test.rows)
    build_task(clicks["all"], tmp_path / "free", **how, relevant="click")
    made = build_task(
        clicks["all"], tmp_path / "barred", frozen=[of_clicks], **how, relevant="click"
    )
    tasks = [open_task(tmp_path / name) for name in ("free", "barred")]
    lost = set()
    for side in ("train", "valid"):
        before, after = (ids(task, getattr(task, side).rows) for task in tasks)
        assert after == before - answers
        lost |= before & answers
    assert made.skipped["frozen_pairs"] == len(lost) > 0
    assert ids(tasks[0], tasks[0].test.rows) == ids(tasks[1], tasks[1].test.rows)
    # Nor is a showing of them learnt to be a wrong answer, or one of a validation.
    for side in (tasks[1].train, tasks[1].valid):
        assert len(side.shown)
        assert ids(tasks[1], side.shown.rows).isdisjoint(answers)
    # With its own split the hash has kept them apart already.
    own = build_task(
        clicks["all"], tmp_path / "own", split="pairs", frozen=[of_clicks], relevant="click"
    )
    assert own.skipped["frozen_pairs"] == 0


def test_a_set_of_something_else_is_bad_input(of_clicks, corpus_dir, tmp_path):
    with pytest.raises(BadInput, match="a frozen set of 'click' pairs, and the task is of 'link'"):
        build_task(corpus_dir, tmp_path / "task", frozen=[of_clicks])


@pytest.fixture(scope="module")
def mates(tmp_path_factory):
    return write_mates(tmp_path_factory.mktemp("mates") / "mates")


def titles(task, pairs):
    queries, documents = task.queries.titles, task.documents.titles
    return {(queries[int(q)], documents[int(d)]) for q, d in pairs}


@pytest.mark.parametrize("relevant", ["translation > link", "translation"])
def test_mates_ask_for_what_their_article_links_to(mates, tmp_path, relevant):
    freeze(mates, tmp_path / "frozen", queries=20, pool=60, relevant=relevant)
    build_task(mates, tmp_path / "task", relevant=relevant, views=("raw", "dictionary.raw"))
    whole = open_task(tmp_path / "task")
    fitted = TfIdf(view="dictionary.raw").fit(whole, np.random.default_rng(0))
    task = open_frozen(tmp_path / "frozen", fitted, mates)
    asked = set(task.queries.titles)
    assert len(asked) == 20
    assert titles(task, task.test.rows) == {
        (query, document) for query, document in titles(whole, whole.test.rows) if query in asked
    }
    mate = {(f"titulo{n}x", f"Page {n}") for n in range(200) if f"titulo{n}x" in asked}
    excluded = titles(task, np.column_stack(task.exclude.nonzero()))
    assert excluded == (mate if relevant == "translation > link" else set())
    assert evaluate(fitted, task, queries=100, tuples=0).means["map"] > 0.05


def test_articles_of_a_frozen_set_are_barred_from_training(mates, tmp_path):
    freeze(mates, tmp_path / "frozen", queries=20, pool=60, relevant="translation > link")
    how = {"relevant": "translation > link", "views": ("raw",), "split_seed": 5}
    build_task(mates, tmp_path / "free", **how)
    made = build_task(mates, tmp_path / "barred", frozen=[tmp_path / "frozen"], **how)
    free, excluded = (open_task(tmp_path / name) for name in ("free", "barred"))
    asked = set(pl.read_parquet(tmp_path / "frozen" / "queries.parquet")["title"])
    articles = {title.replace("titulo", "Page ").removesuffix("x") for title in asked}
    for name, out in (("", asked), ("mates", asked), ("monolingual", articles)):
        tasks = [task.auxiliary[name] if name else task for task in (free, excluded)]
        for side in ("train", "valid"):
            before, after = (titles(task, getattr(task, side).rows) for task in tasks)
            assert after == {pair for pair in before if pair[0] not in out} != before
    among = excluded.auxiliary["monolingual_queries"]
    assert not asked & (
        set(among.documents.titles) | {pair[0] for pair in titles(among, among.train.rows)}
    )
    assert 0 < made.skipped["frozen_queries"] <= len(asked)
    own = {**how, "split_seed": 0}
    same = build_task(mates, tmp_path / "same", frozen=[tmp_path / "frozen"], **own)
    assert same.skipped["frozen_queries"] == 0
