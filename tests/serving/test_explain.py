from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssi_core.models.base import FittedModel
from ssi_core.scoring.vectors import Likelihood
from ssi_core.serving import explain as module
from ssi_core.serving.explain import explain, explain_pair
from ssi_core.serving.index import build_index, open_index
from ssi_core.serving.searcher import Searcher, texts_of
from ssi_core.types import BadInput
from tests.serving.models import TEXTS, WORDS, documents, random_models

N_MODELS = len(random_models(0))
some_text = st.lists(st.sampled_from([*WORDS, "unheard"]), max_size=12).map(" ".join)


@settings(deadline=None)  # the first example compiles
@given(
    seed=st.integers(0, 50),
    which=st.integers(0, N_MODELS - 1),
    query=some_text,
    document=some_text,
    k=st.integers(0, 70),
)
def test_parts_and_rest_add_up_to_the_score(seed, which, query, document, k):
    fitted = random_models(seed)[which]
    q = texts_of([query], fitted.query_views)
    d = texts_of([document], fitted.document_views)
    found = explain_pair(fitted, q, d, k)
    total = math.fsum([part.part for part in found.parts]) + found.rest
    assert len(found.parts) <= k
    # A score near zero is the difference of large parts, so that they set the scale of float64.
    scale = sum(abs(part.part) for part in found.parts) + abs(found.rest)
    assert abs(total - found.score) <= max(1e-5 * abs(found.score), 1e-12 * scale)
    left, right = fitted.embed_queries(q), fitted.embed_documents(d)
    plain = 0.0
    if isinstance(left, Likelihood):
        inner = right.sparse.toarray() + left.topics @ right.dense[0]
        expected = float(left.sparse.toarray()[0] @ np.log1p(inner[0]))
        assert found.score == pytest.approx(expected, rel=1e-4, abs=1e-5)
        return
    if left.sparse is not None:
        asked = left.sparse if left.projection is None else left.projection(left.sparse)
        plain += float((asked.toarray().astype(float) * right.sparse.toarray()).sum())
    if left.dense is not None:
        plain += float(left.dense.astype(float)[0] @ right.dense[0].astype(float))
    assert found.score == pytest.approx(plain, rel=1e-4, abs=1e-5 * max(1, scale))


def test_a_part_is_weight_times_w_times_weight():
    fitted = random_models(3)[-1]
    assert fitted.model.diagonal == "alpha"
    q = texts_of(["car moon"], fitted.query_views)
    d = texts_of(["car wheel"], fitted.document_views)
    parts = {(p.query_word, p.document_word): p.part for p in explain_pair(fitted, q, d).parts}
    w = fitted.arrays["U"].astype(float) @ fitted.arrays["V"].T
    raw_q, raw_d = q.matrix("raw").toarray()[0], d.matrix("raw").toarray()[0]
    sub_q, sub_d = q.matrix("sublinear").toarray()[0], d.matrix("sublinear").toarray()[0]
    for s in ("car", "moon"):
        for t in ("car", "wheel"):
            i, j = WORDS.index(s), WORDS.index(t)
            expected = raw_q[i] * w[i, j] * raw_d[j]
            expected += 2.5 * sub_q[i] * sub_d[j] if s == t else 0.0
            assert parts[s, t] == pytest.approx(expected, rel=1e-6)


def test_the_largest_parts_are_named_across_blocks(monkeypatch):
    fitted = random_models(4)[6]
    q = texts_of([" ".join(WORDS)], fitted.query_views)
    d = texts_of([" ".join(reversed(WORDS))], fitted.document_views)
    whole = explain_pair(fitted, q, d, k=7)
    monkeypatch.setattr(module, "_PARTS", len(WORDS))
    parted = explain_pair(fitted, q, d, k=7)
    assert [p.query_word for p in parted.parts] == [p.query_word for p in whole.parts]
    assert parted.rest == pytest.approx(whole.rest, rel=1e-12)
    sizes = [abs(part.part) for part in whole.parts]
    assert sizes == sorted(sizes, reverse=True)


def test_explain_reads_the_document_from_the_index(tmp_path):
    for number, fitted in enumerate(random_models(5)):
        path = tmp_path / str(number)
        build_index(fitted, documents(fitted.document_views), path, parents={"task": "t"})
        searcher = Searcher(fitted, open_index(path))
        hits = {hit.title: hit.score for hit in searcher.search(["car road"], len(TEXTS))[0].hits}
        for title, score in hits.items():
            assert explain(searcher, "car road", title).score == pytest.approx(score, rel=1e-4)


def test_what_cannot_be_explained_is_said(tmp_path):
    fitted = random_models(6)[-1]
    texts = documents(fitted.document_views)
    build_index(fitted, texts, tmp_path / "i", parents={"task": "t"}, words=False)
    with pytest.raises(BadInput, match="without the documents' words"):
        explain(Searcher(fitted, open_index(tmp_path / "i")), "car", "Car")

    class Opaque(type(fitted.model)):
        def dense_words(self, fitted, texts, side):
            return None

    opaque = FittedModel(
        Opaque(dimensions=3), fitted.arrays, fitted.query_views, fitted.document_views
    )
    with pytest.raises(BadInput, match="is not a sum over words"):
        explain_pair(opaque, texts.take(slice(0, 1)), texts.take(slice(1, 2)))


def test_nothing_in_common_is_no_part():
    fitted = random_models(7)[0]
    q, d = (texts_of([text], fitted.query_views) for text in ("car", "moon"))
    found = explain_pair(fitted, q, d)
    assert (found.score, found.parts, found.rest) == (0.0, (), 0.0)
    assert np.isfinite(found.score)
