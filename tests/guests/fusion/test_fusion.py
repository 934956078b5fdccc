"""Reciprocal rank fusion, against the loops of its definition."""

import dataclasses

import numpy as np
import pytest

from ssi_core.evaluation.candidates import candidates
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.ranking import Validator
from ssi_core.evaluation.trec import write_trec
from ssi_core.guests.fusion.fusion import Fusion
from ssi_core.models import MODELS
from ssi_core.models.base import UnfitStart
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.in_degree import InDegree
from ssi_core.serving.explain import explain_pair
from ssi_core.serving.index import build_index
from ssi_core.serving.neighbours import neighbours
from ssi_core.types import BadInput
from tests.scores import all_scores

PARTS = ({"model": "bm25"}, {"model": "tfidf", "view": "sublinear"}, {"model": "in_degree"})


@pytest.fixture(scope="module")
def fusion(task):
    return Fusion(PARTS).fit(task, np.random.default_rng(0))


def alone(task):
    """The parts as models of their own."""
    settings = [{k: v for k, v in part.items() if k != "model"} for part in PARTS]
    models = [MODELS[p["model"]](**s) for p, s in zip(PARTS, settings, strict=True)]
    return [model.fit(task, np.random.default_rng(0)) for model in models]


def naive(of_parts, k, kept):
    """Ranks counted one by one: those above, and half of the others that score the same."""
    fused, of_parts = {}, [one.tolist() for one in of_parts]
    for d in kept:
        ranks = []
        for one in of_parts:
            tied = sum(one[o] == one[d] for o in kept if o != d)
            ranks.append(1 + sum(one[o] > one[d] for o in kept) + tied / 2)
        fused[d] = sum(1 / (k + rank) for rank in ranks)
    return fused


@pytest.mark.parametrize("k", [1.0, 60.0])
def test_adds_reciprocals_of_the_ranks_of_its_parts(task, k):
    fused = Fusion(PARTS, k=(k,)).fit(task, np.random.default_rng(0))
    of_parts = [all_scores(fit, task) for fit in alone(task)]
    ours = all_scores(fused, task)
    for query in (0, 17, 101):
        expected = naive([one[query] for one in of_parts], k, range(len(task.documents)))
        np.testing.assert_allclose(ours[query], list(expected.values()), rtol=1e-6)


def test_ranks_are_among_the_candidates_of_a_query(task, fusion):
    """Links of training stand first for a model that knows them, and take no place here."""
    report = evaluate(fusion, task, tuples=0)
    chosen = candidates(task, "test", 1000, 0)
    of_parts = [all_scores(fit, task) for fit in alone(task)]
    measured = dict(zip(report.per_query["query"], report.per_query["mrr"], strict=True))
    for position, query in enumerate(chosen.queries[:20].tolist()):
        others = np.delete(np.arange(len(task.documents)), chosen.excluded.of(position))
        fused = naive([one[query] for one in of_parts], 60.0, others.tolist())
        order = sorted(fused, key=lambda d: (-np.float32(fused[d]), d))
        first = min(order.index(d) for d in chosen.relevant.of(position).tolist())
        assert measured[query] == pytest.approx(1 / (1 + first))


def test_a_pool_ranks_its_documents_and_the_relevant_ones(task, fusion):
    pool = np.arange(0, 200, 2, dtype=np.int32)
    pooled = dataclasses.replace(task, pool=pool)
    chosen = candidates(pooled, "test", 1000, 0)
    mask = chosen.mask(3, 5)
    for row, place in enumerate((3, 4)):
        kept = set(chosen.documents[mask[row]].tolist())
        relevant = set(chosen.documents[chosen.relevant.of(place)].tolist())
        excluded = set(chosen.documents[chosen.excluded.of(place)].tolist())
        assert kept == (set(pool.tolist()) | relevant) - excluded
    assert 0 < evaluate(fusion, pooled, tuples=100).means["map"] < 1


def test_the_scale_of_a_part_does_not_matter(task, fusion):
    louder = dataclasses.replace(
        fusion, arrays=fusion.arrays | {"part_1_idf": 7 * fusion.arrays["part_1_idf"]}
    )
    np.testing.assert_array_equal(all_scores(louder, task), all_scores(fusion, task))


def test_validation_chooses_k(task):
    parts = (PARTS[0], PARTS[2])
    fused = Fusion(parts, k=(100.0, 1.0, 10.0)).fit(task, np.random.default_rng(0))
    validator = Validator(task, "valid", 500)
    losses = {k: validator.rank_loss(Fusion(parts, k=(k,)).fit(task, np.random.default_rng(0)))
              for k in (1.0, 10.0, 100.0)}  # fmt: skip
    assert fused.facts["rank_loss_by_k"] == {str(k): loss for k, loss in losses.items()}
    assert len(set(losses.values())) > 1
    assert fused.facts["k"] == float(fused.arrays["k"][0]) == min(losses, key=losses.get)


def test_a_mixture_may_be_a_part(task):
    mixture = {"model": "mixture", "parts": (PARTS[0], PARTS[2]), "betas": (0.5,)}
    fused = Fusion((mixture, PARTS[1])).fit(task, np.random.default_rng(0))
    first = Mixture(mixture["parts"], betas=(0.5,)).fit(task, np.random.default_rng(0))
    of_parts = [all_scores(first, task), all_scores(alone(task)[1], task)]
    expected = naive([one[5] for one in of_parts], 60.0, range(len(task.documents)))
    np.testing.assert_allclose(all_scores(fused, task)[5], list(expected.values()), rtol=1e-6)


def test_rankings_for_other_tools_are_those_of_the_report(task, fusion, tmp_path):
    report = evaluate(fusion, task, tuples=0)
    run, qrels = write_trec(fusion, task, tmp_path)
    relevant = {}
    for line in qrels.read_text().splitlines():
        query, _, document, _ = line.split()
        relevant.setdefault(query, set()).add(document)
    best = {}
    for line in run.read_text().splitlines():
        query, _, document, rank, _, _ = line.split()
        if document in relevant[query]:
            best.setdefault(query, 1 / int(rank))
    assert np.mean(list(best.values())) == pytest.approx(report.means["mrr"])


def test_no_index_and_no_explanation(task, fusion, tmp_path):
    with pytest.raises(BadInput, match=r"'fusion': no index: .* or a mixture of two"):
        build_index(fusion, task.documents, tmp_path / "index", parents={})
    with pytest.raises(BadInput, match="no explanation"):
        explain_pair(fusion, task.queries.take([0]), task.documents.take([1]))
    with pytest.raises(BadInput, match="'fusion'"):
        neighbours(fusion, "music1")


def test_refuses_what_means_nothing(task, fusion):
    with pytest.raises(ValueError, match="1 models; a fusion has 2 or more"):
        Fusion(PARTS[:1])
    with pytest.raises(ValueError, match="no model 'best_of'"):
        Fusion(({"model": "best_of", "parts": PARTS}, PARTS[0]))
    with pytest.raises(ValueError, match="no model 'fusion'"):
        Mixture(({"model": "fusion", "parts": PARTS}, PARTS[0]))
    start = InDegree().fit(task, np.random.default_rng(0))
    with pytest.raises(UnfitStart, match="expected a fusion of 3 models"):
        Fusion(PARTS).fit(task, np.random.default_rng(0), start=start)
