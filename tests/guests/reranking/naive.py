"""LETOR's measures from their definitions, one document at a time."""

import math


def measures(scores, grades):
    """All measures of one query; equal scores keep the order of the file."""
    order = sorted(range(len(scores)), key=lambda d: -scores[d])
    ranked = [grades[d] for d in order]
    relevant = sum(grade >= 1 for grade in grades)
    precisions = [
        sum(grade >= 1 for grade in ranked[:rank]) / rank
        for rank in range(1, len(ranked) + 1)
        if ranked[rank - 1] >= 1
    ]

    def dcg(list_of, k):
        ranks = enumerate(list_of[:k], 1)
        return sum((2**g - 1) / (1 if r <= 2 else math.log(r) / math.log(2)) for r, g in ranks)

    def ndcg(k):
        best = dcg(sorted(grades, reverse=True), k)
        return dcg(ranked, k) / best if len(ranked) >= k and best else 0.0

    return {
        "letor_map": sum(precisions) / relevant if relevant else 0.0,
        "letor_p_at_10": sum(grade >= 1 for grade in ranked[:10]) / 10,
        "letor_p_at_3": sum(grade >= 1 for grade in ranked[:3]) / 3,
        "letor_mean_ndcg": sum(ndcg(k) for k in range(1, len(ranked) + 1)) / len(ranked),
        "letor_ndcg_at_10": ndcg(10),
        "letor_ndcg_at_1": ndcg(1),
    }
