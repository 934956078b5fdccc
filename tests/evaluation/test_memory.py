"""What ranking takes is estimated from the documents that are ranked, not from all pairs."""

from dataclasses import replace

import numpy as np

from ssi_core.evaluation.candidates import candidates
from ssi_core.evaluation.memory import ranking_memory
from tests.evaluation.toy import random_task

SPARSE = {"dense": 0, "block": 0}


def documents_said(task, queries):
    """Candidates of which an estimate is made, by the non-zeros that it counts for them."""
    of = [ranking_memory(task, "test", queries=queries, nonzeros=n, **SPARSE) for n in (0, 10**9)]
    return (of[1] - of[0]) / (20 * 10**9) * len(task.documents)


def test_candidates_are_the_pool_and_what_is_relevant_to_the_queries_that_are_asked():
    task = random_task(np.random.default_rng(3), queries=40, documents=400, pool=30)
    for queries in (1, 5, 40):
        said = documents_said(task, queries)
        for seed in range(5):
            assert len(candidates(task, "test", queries, seed).documents) <= said + 1e-6
    most = np.bincount(task.test.rows[:, 0]).max()
    assert round(documents_said(task, 1)) == 30 + most


def test_without_a_pool_all_documents_are_candidates():
    task = replace(random_task(np.random.default_rng(3), queries=40, documents=400), pool=None)
    assert round(documents_said(task, 1)) == 400
