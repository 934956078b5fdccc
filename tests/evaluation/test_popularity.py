"""Measures of popularity, each against its definition, one document at a time."""

import dataclasses
import math

import numpy as np
import pytest

from ssi_core.evaluation import ranking as module
from ssi_core.evaluation.candidates import candidates
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.popularity import PER_QUERY, bins, most_linked
from ssi_core.scoring.vectors import Inner
from ssi_core.types import Pairs
from tests.evaluation import naive
from tests.evaluation.toy import csr, random_task, texts

ALL = (*PER_QUERY, "map_by_target")


class Scores:
    """A ranker of documents for documents; their ids end in their rows."""

    def __init__(self, table):
        self.table = np.asarray(table, np.float32)

    def embed_queries(self, given):
        return Inner(None, self.table[[int(i.split()[-1]) for i in given.ids]])

    def embed_documents(self, given):
        rows = [int(i.split()[-1]) for i in given.ids]
        return Inner(None, np.eye(len(self.table), dtype=np.float32)[rows])


def linked_task(seed, documents=90, pool=None):
    """Documents that are queries, some of them popular; and scores with many ties."""
    rng = np.random.default_rng(seed)
    task = random_task(rng, documents, documents, pool=pool)
    table = task.queries.matrix("counts").toarray()
    popular = rng.random((documents, documents)) < np.linspace(0.9, 0, documents)
    test = set(map(tuple, np.concatenate([task.test.rows, task.valid.rows]).tolist()))
    train = [pair for pair in np.argwhere(popular).tolist() if tuple(pair) not in test]
    own = task.documents
    return dataclasses.replace(task, queries=own, documents=own, train=Pairs.of(train)), table


def naive_measures(task, score):
    """Every measure from its definition: per query, and over targets."""
    links = [0] * len(task.documents)
    for _, d in task.train.rows.tolist():
        links[d] += 1
    best = max(range(len(links)), key=lambda d: (links[d], -d))  # 1 % of 90, at least one
    groups = bins(np.array(links)).tolist()
    assert len(set(groups)) > 2
    found, precisions = {}, {}
    for q, (own, others) in naive.protocol(task, "test").items():
        order = sorted([*own, *others], key=lambda d: (-score[q, d], d))
        losses = []
        for r in own:
            alike = [i for i in others if groups[i] == groups[r]]
            wrong = sum(
                (score[q, i] > score[q, r]) + (score[q, i] == score[q, r]) / 2 for i in alike
            )
            losses += [wrong / len(alike)] if alike else []
            rank = order.index(r) + 1
            precisions.setdefault(r, []).append(len(own.keys() & set(order[:rank])) / rank)
        found[q] = {
            "popular_at_10": order[:10].count(best) / len(order[:10]),
            "rank_loss_matched": sum(losses) / len(losses) if losses else 0.5,
        }
    return found, {t: sum(values) / len(values) for t, values in precisions.items()}


@pytest.mark.parametrize("pool", [None, 60])
@pytest.mark.parametrize("seed", range(4))
def test_measures_equal_those_of_the_definitions(seed, pool):
    task, table = linked_task(seed, pool=pool)
    expected, targets = naive_measures(task, table)
    report = evaluate(Scores(table), task, tuples=0)
    rows = report.per_query.to_dicts()
    assert [row["query"] for row in rows] == sorted(expected)
    for row in rows:
        for name in PER_QUERY:
            assert row[name] == pytest.approx(expected[row["query"]][name], abs=1e-12), name
    values = list(targets.values())
    assert report.means["map_by_target"] == pytest.approx(np.mean(values))
    assert report.errors["map_by_target"] == pytest.approx(
        np.std(values, ddof=1) / math.sqrt(len(values))
    )
    assert report.means["map_by_target"] != pytest.approx(report.means["map"], abs=1e-6)
    for name in PER_QUERY:
        assert report.errors[name] > 0


def test_blocks_change_nothing(monkeypatch):
    task, table = linked_task(5)
    whole = evaluate(Scores(table), task, tuples=0)
    monkeypatch.setattr(module, "BLOCK_BYTES", 4 * 90 * 7)
    parts = evaluate(Scores(table), task, tuples=0, threads=2)
    assert whole.per_query.equals(parts.per_query)
    assert whole.means == parts.means


def test_parts_of_the_queries_change_nothing(monkeypatch):
    task, table = linked_task(5, pool=20)
    whole = evaluate(Scores(table), task, tuples=0)
    monkeypatch.setattr("ssi_core.evaluation.candidates._FEWEST", 15)
    assert len(list(candidates(task, "test", None, 0).parts())) > 4
    parts = evaluate(Scores(table), task, tuples=0)
    assert whole.per_query.equals(parts.per_query)
    assert (whole.means, whole.errors) == (parts.means, parts.errors)


def test_the_share_of_popular_documents_of_a_ranking_by_in_degree():
    """With 200 documents two are popular: those that most training pairs lead to."""
    links = np.zeros(200, np.int64)
    links[[7, 90, 91]] = 30, 12, 12
    assert np.flatnonzero(most_linked(links)).tolist() == [7, 90]
    assert not most_linked(np.zeros(200, np.int64)).any()


def test_bins_hold_documents_of_about_equal_in_degree():
    links = np.random.default_rng(0).zipf(1.5, 5000).clip(max=3000) - 1
    found = bins(links)
    for number in range(found.max()):  # but for the last, of the least linked
        own = links[found == number]
        lowest = np.floor(4 * np.log2(1 + own.min()))
        above = np.count_nonzero(np.floor(4 * np.log2(1 + own)) > lowest)
        assert len(own) >= 20
        assert above < 20  # a step is joined only to fewer
    assert (np.diff(links[np.argsort(found, kind="stable")][:: len(links) - 1]) <= 0).all()
    assert len(set(found[links == 0])) == 1


def test_in_degree_alone_has_half_of_the_matched_rank_loss():
    """Test links go where training links go; nothing else decides them."""
    rng = np.random.default_rng(1)
    n = 600
    liking = 0.5 * np.arange(1, n + 1) ** -0.5
    drawn = [rng.random((n, n)) < liking for _ in range(2)]
    pairs = [Pairs.of(np.argwhere(one)) for one in drawn]
    own = texts(csr(np.eye(n)), "document")
    task = dataclasses.replace(
        random_task(rng, n, n), queries=own, documents=own, train=pairs[0], test=pairs[1],
        valid=Pairs.of(()), exclude=random_task(rng, n, n).exclude * False,
    )  # fmt: skip
    links = np.bincount(pairs[0].rows[:, 1], minlength=n)
    report = evaluate(Scores(np.tile(np.log1p(links), (n, 1))), task, tuples=0)
    assert report.means["rank_loss"] < 0.35
    # A little less than a half, since popularity still differs within a step of it.
    assert report.means["rank_loss_matched"] == pytest.approx(0.456, abs=0.001)


def test_a_task_that_is_not_of_links_has_none_of_them():
    task, table = linked_task(6)
    queries = dataclasses.replace(task.documents, ids=task.documents.ids.clone())
    apart = dataclasses.replace(task, queries=queries)
    untrained = dataclasses.replace(task, train=Pairs.of(()))
    for other in (apart, untrained):
        report = evaluate(Scores(table), other, tuples=0)
        assert not {*ALL} & {*report.means, *report.errors, *report.per_query.columns}
        assert "hubness" in report.means
    assert {*ALL} <= evaluate(Scores(table), task, tuples=0).means.keys()
