"""Memory that is said of a ranking: candidates are a pool, and what is relevant to few queries."""

import numpy as np
import pytest

from ssi_core.evaluation.candidates import candidates
from ssi_core.evaluation.memory import ranking_memory
from tests.evaluation.toy import random_task


@pytest.mark.parametrize("queries", [1, 3, 1000])
def test_no_more_documents_are_embedded_than_memory_says(queries):
    task = random_task(np.random.default_rng(3), queries=40, documents=2000, pool=5)
    one, two = (
        ranking_memory(task, "test", queries=queries, dense=dense, nonzeros=0) for dense in (1, 2)
    )
    ranked = min(queries, len(task.queries))
    embedded = (two - one) / 8 - ranked  # 8 bytes for each number of a vector
    assert embedded >= len(candidates(task, "test", queries, seed=0).documents)
    if queries == 1:  # the pairs of other queries take nothing
        assert embedded <= 5 + np.bincount(task.test.rows[:, 0]).max()
