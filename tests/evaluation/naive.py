"""Protocol and measures from their definitions, one document at a time."""

from __future__ import annotations

import math


def protocol(task, side):
    """Query row -> (grades of relevant documents, irrelevant candidates)."""
    excluded = set(zip(*(x.tolist() for x in task.exclude.tocoo().coords), strict=True))
    seen = {"train": [], "valid": [task.train], "test": [task.train, task.valid]}[side]
    excluded = excluded | {tuple(r) for pairs in seen for r in pairs.rows.tolist()}
    relevant = {}
    pairs = getattr(task, side)
    for (q, d), grade in zip(pairs.rows.tolist(), pairs.grade.tolist(), strict=True):
        if (q, d) not in excluded:
            relevant.setdefault(q, {})[d] = grade
    pool = task.pool if side == "test" else task.valid_pool
    common = range(len(task.documents)) if pool is None else pool.tolist()
    return {
        q: (own, [d for d in common if d not in own and (q, d) not in excluded])
        for q, own in relevant.items()
    }


def measures(score, grades, irrelevant):
    """All measures of one query; ``score[d]``, ties by ascending document."""
    pairs = [(score[r], score[i]) for r in grades for i in irrelevant]
    wrong = sum(1.0 if i > r else 0.5 if i == r else 0.0 for r, i in pairs)
    order = sorted([*grades, *irrelevant], key=lambda d: (-score[d], d))
    hits = [d in grades for d in order]
    precisions = [sum(hits[: k + 1]) / (k + 1) for k, hit in enumerate(hits) if hit]

    def gain(ranking):
        top = enumerate(ranking[:10], 1)
        return sum((2 ** grades.get(d, 0) - 1) / math.log2(1 + k) for k, d in top)

    return {
        "rank_loss": wrong / len(pairs) if pairs else 0.0,
        "map": sum(precisions) / len(grades),
        "mrr": 1 / (1 + hits.index(True)),
        "p_at_1": float(hits[0]),
        "p_at_10": sum(hits[:10]) / 10,
        "ndcg_at_10": gain(order) / gain(sorted(grades, key=lambda d: -grades[d])),
    }
