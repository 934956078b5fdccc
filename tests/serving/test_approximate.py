"""Search in a part of the documents: what it finds, and what it says of that."""

import logging

import numpy as np
import pytest

from ssi_core.scoring.vectors import Inner
from ssi_core.serving import candidates as module
from ssi_core.serving.approximate import approximate
from ssi_core.serving.candidates import PartScores, SignCodes, signs_cost, write_signs
from ssi_core.serving.index import build_index, open_index
from ssi_core.serving.searcher import Searcher
from ssi_core.types import Refused
from tests.serving.models import WORDS, documents, random_models

MODELS = random_models(seed=2)
TEXTS = [" ".join(np.random.default_rng(row).choice(WORDS, 6)) for row in range(400)]
QUERIES = [" ".join(np.random.default_rng(-row % 997).choice(WORDS, 2)) for row in range(30)]


def searcher_of(fitted, path, **how):
    own = documents(fitted.document_views, TEXTS)
    # Titles are what recall is measured on.
    own = type(own)(
        own.ids, own.ids.replace(own.ids, TEXTS).rename("title"), own.matrices, own.views
    )
    build_index(fitted, own, path, parents={}, **how)
    return Searcher(fitted, open_index(path))


@pytest.fixture(scope="module")
def exact(tmp_path_factory):
    return searcher_of(MODELS[-1], tmp_path_factory.mktemp("index") / "index")


def share(exact, found, queries=QUERIES):
    pairs = zip(exact.search(queries), found.search(queries), strict=True)
    return np.mean([len(set(one.hits) & set(other.hits)) / len(one.hits) for one, other in pairs])


def test_it_finds_what_it_says_and_scores_it_as_exact_search_does(exact, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BY_WORDS", 2)
    monkeypatch.setattr("ssi_core.scoring.inner.SPARE", 0)
    monkeypatch.setattr("ssi_core.serving.approximate._SIZES", (16, 64, 512))
    some, most = (approximate(exact, tmp_path, recall) for recall in (0, 0.99))
    assert 0 < some.recall < most.recall <= 1
    assert some.ranked[0].scores.size == 16
    # Hits are equal with their scores.
    titles = [TEXTS[row] for row in sorted(np.random.default_rng(0).permutation(400)[:200])]
    assert share(exact, some, titles) == pytest.approx(some.recall, abs=1e-9)
    assert share(exact, most, titles) == pytest.approx(most.recall, abs=1e-9)
    assert share(exact, some) < share(exact, most)  # of shorter queries


def test_vectors_of_float16_are_looked_among_too(tmp_path):
    half = searcher_of(MODELS[-1], tmp_path / "index", storage="float16")
    most = approximate(half, tmp_path, 1.0)
    assert share(half, most) > 0.9


def test_recall_of_the_exact_search_is_not_said(exact):
    assert exact.recall is None


@pytest.mark.parametrize("fitted", MODELS, ids=[m.model.name for m in MODELS])
def test_it_is_exact_where_it_looks_at_all_documents(fitted, tmp_path):
    base = searcher_of(fitted, tmp_path / "index")
    found = approximate(base, tmp_path / "codes", 1)
    assert found.search(QUERIES[:3], 1000) == base.search(QUERIES[:3], 1000)
    inner = fitted.model.name != "topic_model" and base.index.vectors.dense is not None
    assert (found is base) == (not inner)


def test_without_vectors_it_is_exact_and_says_why(tmp_path, caplog):
    base = searcher_of(MODELS[0], tmp_path / "index")
    with caplog.at_level(logging.WARNING):
        assert approximate(base, tmp_path / "cells", 0.5) is base
    assert "'tfidf' is searched exactly: it has no vectors" in caplog.text


def test_where_nothing_can_be_measured_it_is_exact_and_says_why(tmp_path, caplog):
    fitted = MODELS[-1]
    build_index(fitted, documents(fitted.document_views), tmp_path / "index", parents={})
    base = Searcher(fitted, open_index(tmp_path / "index"))
    with caplog.at_level(logging.WARNING):
        assert approximate(base, tmp_path / "cells", 0.5) is base
    assert "is searched exactly: it knows words of 4 of the titles" in caplog.text


def test_more_are_looked_at_where_more_are_asked_for(exact, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BY_WORDS", 2)
    found = approximate(exact, tmp_path, 0)
    assert [len(answer.hits) for answer in found.search(QUERIES, 300)] == [300] * len(QUERIES)


def test_what_finds_them_is_made_once_and_kept(exact, tmp_path, monkeypatch):
    first = approximate(exact, tmp_path, 0.9)
    monkeypatch.setattr("ssi_core.serving.approximate.store.create", None)
    again = approximate(exact, tmp_path, 0.9)
    assert again.search(QUERIES) == first.search(QUERIES)
    assert again.recall == first.recall


def shorten(path):
    path.write_bytes(path.read_bytes()[:-9])


def turn_a_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("artefact.json", shorten),
        ("artefact.json", lambda path: path.write_text("{}")),
        ("codes.npy", shorten),
        ("codes.npy", turn_a_bit),
        ("codes.npy", lambda path: path.unlink()),
    ],
)
def test_what_is_damaged_is_made_again(exact, tmp_path, name, damage, caplog):
    first = approximate(exact, tmp_path, 0.9).search(QUERIES)
    (path,) = tmp_path.glob("*/" + name)
    damage(path)
    with caplog.at_level(logging.WARNING):
        assert approximate(exact, tmp_path, 0.9).search(QUERIES) == first
    assert name in caplog.text
    assert "make it again. It is done now." in caplog.text


@pytest.mark.parametrize("n", [1, 2, 17])
def test_few_documents_are_all_looked_at(n, tmp_path):
    dense = np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32)
    dense[0] = 0
    write_signs(dense, tmp_path / "codes.npy")
    vectors = Inner(None, dense)
    rows, scores = PartScores(SignCodes(dense, tmp_path / "codes.npy"), vectors, 32)(vectors, n)
    expected = dense @ dense.T
    assert (np.sort(rows) == np.arange(n)).all()
    np.testing.assert_allclose(scores, np.take_along_axis(expected, rows, 1), atol=1e-5)


def test_it_is_refused_where_it_does_not_fit(exact, tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_MEMORY", "1k")
    with pytest.raises(Refused, match=r"approximate search takes about 17 MB"):
        approximate(exact, tmp_path / "kept", 0.9)
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_its_file_is_no_larger_than_was_said(tmp_path, dtype):
    dense = np.random.default_rng(0).standard_normal((2000, 20)).astype(dtype)
    file = tmp_path / "codes.npy"
    write_signs(dense, file)
    taken = file.stat().st_size
    assert taken <= signs_cost(dense).disk + 1000 <= 2 * taken
