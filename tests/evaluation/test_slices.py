import dataclasses

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.slices import GROUPS, MEASURES, POPULAR, masks, summary
from ssi_core.types import Pairs, Task
from tests.evaluation import naive
from tests.evaluation.toy import Lookup, csr, random_task, texts


def small(cold=()):
    """Six documents that are queries: 1 has three training links, 2 and 3 have one each."""
    same = texts(csr(np.eye(6)), "page")
    same = dataclasses.replace(same, test_only=np.array(cold, np.int32))
    train = Pairs.of([(0, 1), (2, 1), (3, 1), (0, 2), (1, 3)])
    exclude = sparse.csr_array(np.eye(6, dtype=bool))
    return Task(same, same, train, Pairs.of([]), Pairs.of([]), exclude, "toy")


def test_slices_by_their_definition():
    pairs = np.array([(0, 4), (1, 0), (4, 1), (2, 3), (5, 2), (1, 5)], np.int32)
    words = np.array([1, 2, 3, 9, 9, 2])
    found = masks(small([5]), pairs[:, 0], pairs[:, 1], words)
    places = {name: np.flatnonzero(mask).tolist() for name, mask in found.items()}
    assert places == {
        "warm": [2, 3, 4],
        "negative_only": [0, 1],
        "cold": [5],
        "reciprocal": [1],  # 0 links to 1 in training
        "one_way": [0, 2, 3, 4, 5],
        "frequent": [2],  # 1 alone has three of five links
        "rare": [0, 1, 3, 4, 5],
        "short_query": [0, 1, 2, 5],  # of 1, 2, 3, 9, 9 words
        "long_query": [3, 4],
    }


def test_slices_without_a_pair_and_links_back_of_queries_that_are_no_documents_are_left_out():
    pairs = np.array([(0, 1), (2, 1)], np.int32)
    found = masks(small(), pairs[:, 0], pairs[:, 1], np.array([4, 4]))
    assert set(found) == {"warm", "one_way", "frequent", "short_query"}
    task = random_task(np.random.default_rng(0))
    assert not {"reciprocal", "one_way"} & set(masks(task, *pairs.T, np.array([4, 4])))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("pool", [None, 9])
def test_a_slice_is_measured_as_if_its_query_had_no_other_relevant_document(seed, pool):
    """Against the definition, one document at a time; ties are many."""
    task = random_task(np.random.default_rng(seed), pool=pool)
    report = evaluate(Lookup(), task, tuples=0)
    scores, links = task.queries.matrix("counts").toarray(), set(task.train.rows[:, 1].tolist())
    expected = {}
    for q, (grades, irrelevant) in naive.protocol(task, "test").items():
        for name, inside in (("warm", True), ("negative_only", False)):
            own = {d: g for d, g in grades.items() if (d in links) == inside}
            if own:
                values = naive.measures(scores[q], own, irrelevant)
                id_ = task.queries.ids[q]
                expected[name, id_] = (
                    len(own),
                    len(own) + len(irrelevant),
                    *(values[measure] for measure in MEASURES),
                )
    found = {
        (name, id_): rest
        for name, id_, *rest in report.slices.drop(POPULAR).iter_rows()
        if name in GROUPS["what training saw of the document"]
    }
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        np.testing.assert_allclose(found[key], values)


def test_every_slice_of_a_group_together_has_all_pairs():
    report = evaluate(Lookup(), random_task(np.random.default_rng(3)), tuples=0)
    count = dict(report.slices.group_by("slice").agg(pl.col("relevant").sum()).iter_rows())
    for group in GROUPS.values():
        there = [count[name] for name in group if name in count]
        assert not there or sum(there) == report.per_query["relevant"].sum()


def test_summary_averages_seeds_and_then_queries():
    def seed(*rows):
        names = ["slice", "id", "relevant", "rank_loss", "map"]
        return pl.DataFrame(rows, schema=names, orient="row")

    one = seed(("warm", "a", 2, 0.1, 0.2), ("warm", "b", 1, 0.3, 0.4), ("cold", "b", 1, 0.5, 0.5))
    two = seed(("warm", "a", 2, 0.3, 0.4), ("warm", "b", 1, 0.5, 0.6), ("cold", "b", 1, 0.7, 0.1))
    found = summary([one, two])
    assert found["warm"] == pytest.approx(
        {
            "queries": 2,
            "relevant": 3,
            "rank_loss": 0.3,
            "rank_loss_se": 0.1,
            "map": 0.4,
            "map_se": 0.1,
        }
    )
    assert found["cold"] == pytest.approx(
        {"queries": 1, "relevant": 1, "rank_loss": 0.6, "map": 0.3}
    )
