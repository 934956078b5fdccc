"""BM25F beside a twin written from the papers, and the settings that validation chooses."""

import json
import math
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import ssi_core as ssi
from ssi_core.collection import open_collection
from ssi_core.estimator import parse
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.models import load_model
from ssi_core.models.bm25 import Bm25
from ssi_core.models.bm25f import Bm25F, settings_of
from ssi_core.models.combined.mixture import Mixture
from ssi_core.scoring.scorer import Scorer
from ssi_core.tasks.build import build_task
from ssi_core.tasks.fields import field_parts
from ssi_core.tasks.task import open_task
from ssi_core.tasks.unseen import documents_of, texts_in_views
from ssi_core.text.fields import FIELDS, split
from ssi_core.text.tokenizer import tokenize
from tests.fielded import word, write_fielded
from tests.seals import reseal

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return write_fielded(tmp_path_factory.mktemp("fielded") / "collection", 60)


@pytest.fixture(scope="module")
def task(place, tmp_path_factory):
    out = tmp_path_factory.mktemp("task") / "task"
    build_task(place, out, relevant="self", queries="words:3", words="all", fields=FIELDS)
    return open_task(out)


def naive_phrases(documents, query, weight):
    """What words of a query add that stand near each other in a title or a heading."""
    near = []
    for one in documents:
        fields = split(one)
        lines = map(tokenize, [fields["title"], *fields["headings"].split("\n")])
        near.append(
            {
                frozenset((line[i], line[j]))
                for line in lines
                for i in range(len(line))
                for j in range(i + 1, min(i + 4, len(line)))
            }
        )
    words = sorted(set(tokenize(query)) & {w for d in documents for w in tokenize(d)})
    scores = [0.0] * len(documents)
    for phrase in map(frozenset, combinations(words, 2)):
        df = sum(phrase in several for several in near)
        idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
        for n, several in enumerate(near):
            scores[n] += weight / (len(words) - 1) * idf * (phrase in several)
    return scores


def naive(
    documents, query, *, k1, b, b_short, b_anchors, title, headings, url, anchors, phrases=0.0,
    k3=8.0,
):  # fmt: skip
    """Scores of documents for a query: Robertson, Zaragoza and Taylor 2004, by its equations."""
    weights = {"text": 1.0, "title": title, "headings": headings, "url": url, "anchors": anchors}
    counted = [{name: tokenize(text) for name, text in split(one).items()} for one in documents]
    n = len(documents)
    mean = {name: sum(len(one[name]) for one in counted) / n for name in weights}
    scores = []
    for one in counted:
        score = 0.0
        for term in sorted(set(tokenize(query))):
            x = 0.0
            for name, weight in weights.items():
                share = {"text": b, "anchors": b_anchors}.get(name, b_short)
                length = len(one[name]) / mean[name] if mean[name] else 0.0
                x += weight * one[name].count(term) / (1 - share + share * length)
            df = sum(any(term in words for words in other.values()) for other in counted)
            q = tokenize(query).count(term)
            idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
            score += (k3 + 1) * q / (k3 + q) * idf * (k1 + 1) * x / (k1 + x)
        scores.append(score)
    return np.add(scores, naive_phrases(documents, query, phrases))


def naive_sum(
    documents, query, *, k1, b, b_short, b_anchors, title, headings, url, anchors, phrases=0.0,
    k3=8.0,
):  # fmt: skip
    """The weighted sum of BM25 of each field, every field an index of its own."""
    weights = {"text": 1.0, "title": title, "headings": headings, "url": url, "anchors": anchors}
    scores = [0.0] * len(documents)
    for name, weight in weights.items():
        index = [tokenize(split(one)[name]) for one in documents]
        mean = max(sum(map(len, index)) / len(index), 1e-9)
        share = {"text": b, "anchors": b_anchors}.get(name, b_short)
        for term in sorted(set(tokenize(query))):
            df = sum(term in words for words in index)
            q = tokenize(query).count(term)
            idf = math.log(1 + (len(index) - df + 0.5) / (df + 0.5))
            for n, words in enumerate(index):
                tf, norm = words.count(term), 1 - share + share * len(words) / mean
                saturated = (k1 + 1) * tf / (k1 * norm + tf)
                scores[n] += weight * (k3 + 1) * q / (k3 + q) * idf * saturated
    return np.add(scores, naive_phrases(documents, query, phrases))


def scored(fit, raw, queries):
    """Scores of raw documents for raw queries under a fitted model, (queries, documents)."""
    asked = raw.head(len(queries)).with_columns(text=np.array(queries, dtype=object).astype(str))
    vectors = fit.embed_documents(texts_in_views(raw, fit.document_views))
    return Scorer(vectors).score(fit.embed_queries(texts_in_views(asked, fit.query_views)))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"k1": (0.6,), "b": (0.3,), "b_short": (0.75,), "title": (5.0,), "url": (0.5,)},
        {"title": (0.0,), "headings": (0.0,), "url": (0.0,), "anchors": (0.0,)},
        {"anchors": (10.0,), "b": (0.0,), "b_short": (0.0,), "b_anchors": (0.9,)},
        {"b": (1.0,), "b_short": (1.0,), "headings": (2.0,), "phrases": (3.0,)},
        {"phrases": (0.0,)},
    ],
)
@pytest.mark.parametrize(("combine", "twin"), [("counts", naive), ("scores", naive_sum)])
def test_scores_are_those_of_the_papers(place, task, settings, combine, twin):
    fit = Bm25F(combine=combine, **settings).fit(task, RNG)
    raw = documents_of(open_collection(place))
    documents = raw["text"].to_list()
    common = tokenize(documents[0])[0]
    queries = [
        f"{word(1007)} {common}", f"{common} {common} {word(4003)} Title3",
        f"{word(7000 + 10 * 5 + 2)} {word(2005)}", f"{word(3010)} see", "unheardof",
        f"{word(1005)} title5", f"of {word(2005)} about {word(1009)} unheardof of",
    ]  # fmt: skip
    got = scored(fit, raw, queries)
    for row, query in enumerate(queries):
        expected = twin(documents, query, **settings_of(fit))
        np.testing.assert_allclose(got[row], expected, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(("combine", "twin"), [("counts", naive), ("scores", naive_sum)])
def test_words_that_several_fields_share_have_the_idf_of_the_papers(tmp_path, combine, twin):
    rng = np.random.default_rng(0)
    words = [word(number) for number in range(12)]
    drawn = lambda least, most: " ".join(rng.choice(words, rng.integers(least, most)))  # noqa: E731
    rows = [
        {"id": f"d{n}", "title": drawn(1, 3), "headings": [drawn(1, 3)], "text": drawn(3, 20)}
        for n in range(41)
    ]
    links = [(f"d{n}", f"d{(n + 7) % 41}", drawn(1, 3)) for n in range(41)]
    links = pl.DataFrame(links, schema=["source", "target", "anchor"], orient="row")
    docs = ssi.read(rows, links, language="en", out=tmp_path / "docs")
    fit = ssi.Ranker("bm25f", combine=combine).fit(
        ssi.Task.of(docs, "self", queries="words:1", out=tmp_path / "task")
    )
    raw = documents_of(open_collection(docs.path))
    queries = [" ".join(words[:3]), f"{words[5]} {words[5]} {words[6]}"]
    got = scored(fit.fitted_, raw, queries)
    for row, query in enumerate(queries):
        expected = twin(raw["text"].to_list(), query, **settings_of(fit.fitted_))
        np.testing.assert_allclose(got[row], expected, rtol=2e-5, atol=1e-6)


def test_a_word_of_a_field_without_weight_finds_nothing(place, task):
    fit = Bm25F(title=(0.0,), headings=(0.0,), url=(0.0,)).fit(task, RNG)
    raw = documents_of(open_collection(place))
    documents = fit.embed_documents(texts_in_views(raw, fit.document_views))
    column = list(fit.document_views["counts"].words).index(word(1004))
    assert documents.sparse[:, [column]].nnz == 0


@pytest.mark.parametrize("combine", ["counts", "scores"])
def test_texts_alone_have_the_scores_of_bm25(place, tmp_path, combine):
    build_task(place, tmp_path / "task", relevant="link", words="all")
    task = open_task(tmp_path / "task")
    ours, theirs = Bm25F(combine=combine).fit(task, RNG), Bm25(k1=2.0).fit(task, RNG)
    queries = task.queries.take(np.arange(20))
    scores = [
        Scorer(fit.embed_documents(task.documents)).score(fit.embed_queries(queries))
        for fit in (ours, theirs)
    ]
    np.testing.assert_allclose(*scores, rtol=1e-5)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A task of more documents, whose queries are one word of a document, of whatever field."""
    place = write_fielded(tmp_path_factory.mktemp("more") / "collection", 400)
    out = tmp_path_factory.mktemp("task") / "task"
    build_task(place, out, relevant="self", queries="words:1", words="all", fields=FIELDS)
    return open_task(out)


def test_validation_chooses_the_settings(asked):
    fixed = Bm25F(title=(0.0,), headings=(0.0,), url=(0.0,), anchors=(0.0,))
    free = {name: (0.0, 3.0) for name in ("title", "headings", "url", "anchors")}
    chosen = Bm25F(**free, measure="map").fit(asked, RNG)
    assert settings_of(chosen) == chosen.facts["chosen"]
    assert chosen.facts["tried"] > 4
    # Drawn words are of all fields: a field that is left out loses queries.
    before, after = (evaluate(fit, asked).means["map"] for fit in (fixed.fit(asked, RNG), chosen))
    assert after > before + 0.1


def test_settings_are_kept_by_a_saved_model_and_by_a_part(asked, place, tmp_path):
    free = {"title": (0.0, 3.0), "k1": (1.2, 2.0), "url": (0.0, 1.0)}
    fit = Bm25F(**free, measure="map").fit(asked, RNG)
    parts = ({"model": "bm25f", **free, "measure": "map"}, {"model": "tfidf", "view": "raw"})
    sum_ = parse(Mixture, {"parts": parts, "betas": (1.0,)}).fit(asked, RNG)
    for number, one in enumerate((fit, sum_)):
        one.save(tmp_path / str(number))
        again = load_model(tmp_path / str(number))
        for name in one.arrays:
            np.testing.assert_array_equal(again.arrays[name], one.arrays[name])
        raw = documents_of(open_collection(place))
        queries = [f"Title3 {word(1003)}", word(3001)]
        np.testing.assert_array_equal(scored(again, raw, queries), scored(one, raw, queries))
    settings = sum_.arrays["part_1_settings"]
    np.testing.assert_array_equal(settings, fit.arrays["settings"])
    assert fit.facts["chosen"]["url"] == 1.0


def test_a_model_that_was_saved_before_there_were_phrases_has_none(task, place, tmp_path):
    fit = Bm25F(phrases=(0.0,)).fit(task, RNG)
    fit.save(tmp_path)
    parameters = json.loads((tmp_path / "model.json").read_text())["parameters"]
    del parameters["phrases"]
    reseal(tmp_path, "model.json", parameters=parameters)
    again = load_model(tmp_path)
    assert again.model == fit.model
    raw = documents_of(open_collection(place))
    queries = [f"title3 {word(1003)}", word(3001)]
    np.testing.assert_array_equal(scored(again, raw, queries), scored(fit, raw, queries))
    assert (scored(Bm25F().fit(task, RNG), raw, queries) > scored(fit, raw, queries)).any()


def test_raw_documents_have_the_vectors_of_the_task(task, place):
    fit = Bm25F().fit(task, RNG)
    raw = documents_of(open_collection(place))
    ours = fit.embed_documents(texts_in_views(raw, fit.document_views)).sparse
    theirs = fit.embed_documents(task.documents).sparse
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(ours, part), getattr(theirs, part))
    assert field_parts(task.path)
