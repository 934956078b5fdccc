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
    judged = {}
    for q, d in pairs.not_relevant.tolist():
        judged.setdefault(q, []).append(d)
    ranked = {q: judged.get(q, []) if pairs.listed else common for q in relevant}
    return {
        q: (own, [d for d in ranked[q] if d not in own and (q, d) not in excluded])
        for q, own in relevant.items()
    }


def measures(score, grades, irrelevant):
    """All measures of one query; ``score[d]``, ties by ascending document."""
    pairs = [(score[r], score[i]) for r in grades for i in irrelevant]
    wrong = sum(1.0 if i > r else 0.5 if i == r else 0.0 for r, i in pairs)
    order = sorted([*grades, *irrelevant], key=lambda d: (-score[d], d))
    hits = [d in grades for d in order]
    precisions = [sum(hits[: k + 1]) / (k + 1) for k, hit in enumerate(hits) if hit]

    def gain(ranking, last):
        top = enumerate(ranking[:last], 1)
        return sum((2 ** grades.get(d, 0) - 1) / math.log2(1 + k) for k, d in top)

    best = sorted(grades, key=lambda d: -grades[d])

    return {
        "rank_loss": wrong / len(pairs) if pairs else 0.0,
        "map": sum(precisions) / len(grades),
        "mrr": 1 / (1 + hits.index(True)),
        "p_at_1": float(hits[0]),
        "p_at_10": sum(hits[:10]) / 10,
        **{f"ndcg_at_{k}": gain(order, k) / gain(best, k) for k in (1, 3, 10)},
    }
