import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ssi_core.kernels.ranking.scores import rank_relevant

ROLES = ("irrelevant", "relevant", "barred", "outside", "relevant outside")
SCORES = (-1.0, 0.0, 0.25, 2.0, float("nan"), float("-inf"), float("inf"))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(SCORES), st.sampled_from(ROLES)), min_size=1, max_size=25)
)
def test_counts_equal_those_of_a_sorted_list(columns):
    score = [s if s > -np.inf else np.finfo(np.float32).min for s, _ in columns]
    role = [r for _, r in columns]

    def which(*names):
        return np.array([c for c, r in enumerate(role) if r in names], dtype=np.int32)

    relevant = which("relevant", "relevant outside")
    scores = np.array([[s for s, _ in columns]], dtype=np.float32)
    rank, above, tied = (np.full(len(relevant), -9, np.int64) for _ in range(3))
    irrelevant = np.zeros(1, np.int64)
    excluded = which("barred")
    rank_relevant(
        scores,
        which("outside", "relevant outside"),
        np.array([0, len(excluded)]),
        excluded,
        np.array([0, len(relevant)]),
        relevant,
        rank,
        above,
        tied,
        irrelevant,
    )

    others = which("irrelevant").tolist()
    order = sorted([*others, *relevant.tolist()], key=lambda c: (-score[c], c))
    assert irrelevant.tolist() == [len(others)]
    assert rank.tolist() == [1 + order.index(c) for c in relevant]
    assert above.tolist() == [sum(score[o] > score[c] for o in others) for c in relevant]
    assert tied.tolist() == [sum(score[o] == score[c] for o in others) for c in relevant]
    kept = {c for c in range(len(role)) if scores[0, c] > -np.inf}
    assert kept == set(order)


def test_queries_of_a_block_do_not_mix():
    scores = np.array([[1, 2, 3], [3, 2, 1]], dtype=np.float32)
    rank, above, tied = (np.empty(3, np.int64) for _ in range(3))
    irrelevant = np.empty(2, np.int64)
    nothing = np.zeros(0, np.int32)
    rank_relevant(
        scores,
        nothing,
        np.array([0, 1, 1]),
        np.array([2], dtype=np.int32),
        np.array([0, 1, 3]),
        np.array([0, 1, 2], dtype=np.int32),
        rank,
        above,
        tied,
        irrelevant,
    )
    assert rank.tolist() == [2, 2, 3]
    assert above.tolist() == [1, 1, 1]
    assert tied.tolist() == [0, 0, 0]
    assert irrelevant.tolist() == [1, 1]
