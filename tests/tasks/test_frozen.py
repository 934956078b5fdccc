import numpy as np
import polars as pl
import pytest

from ssi_core import store
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.models.tfidf import TfIdf
from ssi_core.tasks.frozen import excluded_pairs, freeze, open_frozen
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput, Refused
from tests.corpora import topical, write_corpus
from tests.seals import reseal


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """A corpus, and its earlier state: 40 documents fewer, and every ninth link."""
    path = tmp_path_factory.mktemp("corpora")
    texts, links = topical()
    old = [link for n, link in enumerate(links) if max(link) < 160 and n % 9]
    return (
        write_corpus(path / "new", texts, links),
        write_corpus(path / "old", texts[:160], old),
        set(old),
    )


@pytest.fixture(scope="module")
def frozen(corpora, tmp_path_factory):
    new, old, _ = corpora
    out = tmp_path_factory.mktemp("frozen [a]") / "frozen"
    freeze(new, out, since=old, queries=40, pool=50)
    return out


@pytest.fixture(scope="module")
def fitted(task_dir):
    return TfIdf().fit(open_task(task_dir), np.random.default_rng(0))


def links_of(task, pairs):
    titles = task.documents.titles
    return {(titles[int(q)], titles[int(d)]) for q, d in pairs}


def test_it_holds_the_test_links_of_its_queries_in_the_views_of_a_model(
    frozen, fitted, task_dir, corpora
):
    task, whole = open_frozen(frozen, fitted), open_task(task_dir)
    asked = {query for query, _ in links_of(task, task.test.rows)}
    assert len(asked) == store.read(frozen).counts["queries"]
    assert links_of(task, task.test.rows) == {
        (q, d) for q, d in links_of(whole, whole.test.rows) if q in asked
    }
    # The other links of the queries, as far as their ends are candidates, are excluded.
    seen = links_of(task, task.train.rows)
    assert seen < links_of(whole, np.vstack([whole.train.rows, whole.valid.rows]))
    place = {title: n for n, title in enumerate(whole.documents.titles)}
    rows = [place[title] for title in task.documents.titles]
    view = next(iter(task.documents.matrices))
    same = task.documents.matrices[view] != whole.documents.matrices[view][rows]
    assert same.nnz == 0
    assert 50 <= len(task.documents) < 200


def test_its_slices_are_the_same_for_every_model(frozen, fitted, corpora):
    _, _, old = corpora
    task = open_frozen(frozen, fitted)
    links = {name: links_of(task, rows) for name, rows in task.subsets.items()}
    number = {f"Page {n}": n for n in range(200)}
    numbered = {name: {(number[a], number[b]) for a, b in own} for name, own in links.items()}
    assert numbered["newest"].isdisjoint(old)
    assert numbered["new_document"] == {
        link for link in numbered["newest"] if max(link) >= 160
    } != numbered["newest"]  # fmt: skip
    every = {(number[a], number[b]) for a, b in links_of(task, task.test.rows)}
    assert every - numbered["newest"] <= old
    assert numbered["short_query"] | numbered["long_query"] == every
    report = evaluate(fitted, task, queries=10**6, tuples=0)
    assert len(report.per_query) == store.read(frozen).counts["queries"]
    assert {"newest", "new_document", "short_query"} <= set(report.slices["slice"])


def test_its_links_are_barred_from_training_by_title(frozen, fitted, corpora, tmp_path):
    new = corpora[0]
    answers = links_of(task := open_frozen(frozen, fitted), task.test.rows)
    other = {"split_seed": 7, "views": ("raw",)}
    build_task(new, tmp_path / "free", **other)
    made = build_task(new, tmp_path / "barred", frozen=[frozen], **other)
    free, excluded = (open_task(tmp_path / name) for name in ("free", "barred"))
    for side in ("train", "valid"):
        kept = links_of(excluded, getattr(excluded, side).rows)
        assert kept == links_of(free, getattr(free, side).rows) - answers
    before = sum(len(getattr(free, side)) for side in ("train", "valid"))
    after = sum(len(getattr(excluded, side)) for side in ("train", "valid"))
    assert made.skipped == {"frozen_links": before - after, "links_across_the_split": 0}
    assert made.skipped["frozen_links"] > 0
    assert len(excluded.test) == len(free.test)
    # With the split of the set itself the hash has kept them apart already.
    own = build_task(new, tmp_path / "own", frozen=[frozen], views=("raw",))
    assert own.skipped["frozen_links"] == 0


def test_links_that_came_later_are_no_candidates(corpora, fitted, tmp_path):
    new, old, before = corpora
    freeze(old, tmp_path / "frozen", queries=40, pool=100)
    then, now = (open_frozen(tmp_path / "frozen", fitted, corpus) for corpus in (old, new))
    assert links_of(then, then.test.rows) == links_of(now, now.test.rows)
    seen, more = (links_of(task, task.train.rows) for task in (then, now))
    number = {f"Page {n}": n for n in range(200)}
    assert seen < more
    assert {(number[a], number[b]) for a, b in more - seen}.isdisjoint(before)
    asked = {query for query, _ in links_of(now, now.test.rows)}
    assert {query for query, _ in more} <= asked
    assert more.isdisjoint(links_of(now, now.test.rows))
    plain = open_frozen(tmp_path / "frozen", fitted)
    assert links_of(plain, plain.train.rows) == seen


def test_titles_that_are_gone_bar_nothing(frozen):
    titles = pl.Series(["Page 1", "nowhere"])
    link = np.array([[0, 1]], np.int32)
    assert not excluded_pairs([frozen], "link", titles, titles, link).any()


def test_the_same_again_is_up_to_date_and_another_is_refused(frozen, corpora, monkeypatch):
    """So it is with other code: a set that is made anew would be another one."""
    new, old, _ = corpora
    before = store.read(frozen)
    monkeypatch.setattr(store, "digest_of", lambda *reached: "of another version")
    assert freeze(new, frozen, since=old, queries=40, pool=50).key == before.key
    with pytest.raises(Refused, match="Remove it"):
        freeze(new, frozen, queries=40, pool=50)


def test_a_corpus_without_test_links_is_bad_input(tmp_path):
    corpus = write_corpus(tmp_path / "corpus", ["a boat", "a bird"], [])
    with pytest.raises(BadInput, match="neither links nor clicks"):
        freeze(corpus, tmp_path / "frozen")


def test_languages_are_slices_where_there_are_several(tmp_path, corpora, fitted):
    texts, links = topical()
    corpus = write_corpus(tmp_path / "corpus", texts, links)
    part = corpus / "documents" / "part-00000.parquet"
    pl.read_parquet(part).with_columns(language=pl.lit("fr")).write_parquet(part)
    reseal(corpus)
    freeze(corpus, tmp_path / "frozen", queries=30)
    subsets = open_frozen(tmp_path / "frozen", fitted).subsets
    assert {"language_en", "language_fr"} <= set(subsets)
