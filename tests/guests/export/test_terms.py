"""The terms of an export: their sum has the order of the model."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from ssi_core.guests.export.nine_bits import codes, decimals, values
from ssi_core.guests.export.targets import pgvector
from ssi_core.guests.export.terms import Bounds, Layout, document_terms, joined, layout_of
from ssi_core.scoring.vectors import Inner
from ssi_core.types import BadInput
from tests.guests.export.models import N
from tests.serving.models import random_models

HIGHEST = 64.0
"""Highest weight of a term in a query of Lucene."""


def scores(vectors, documents):
    """Scores of queries (rows) for documents, in float64."""
    total = 0
    if vectors.sparse is not None:
        total = total + (vectors.sparse.astype(float) @ documents.sparse.astype(float).T).toarray()
    if vectors.dense is not None:
        total = total + vectors.dense.astype(float) @ documents.dense.astype(float).T
    return total


def query_terms(vectors, layout):
    """Terms of queries, as an encoder gives them: CSR float32, weights up to `HIGHEST`."""
    parts = []
    if vectors.sparse is not None:
        parts += [vectors.sparse.maximum(0), -vectors.sparse[:, layout.negative].minimum(0)]
    if vectors.dense is not None:
        parts += [np.maximum(vectors.dense, 0), np.maximum(-vectors.dense, 0)]
    terms = joined(parts)
    highest = terms.max(axis=1).toarray().ravel()
    scale = HIGHEST / np.maximum(highest, HIGHEST)
    terms.data *= np.repeat(scale, np.diff(terms.indptr)).astype(np.float32)
    return terms


@pytest.mark.parametrize("name", ["U'V + D", "U'V", "D", "BM25 + U'V", "LSI + TF-IDF", "in-degree"])
def test_the_sum_of_terms_is_the_score_but_for_a_number_of_the_query(models, task, name):
    fitted = models[name]
    queries = fitted.embed_queries(task.queries.take(slice(0, 50)))
    documents = fitted.embed_documents(task.documents)
    layout = layout_of(fitted)
    bounds = Bounds.of([documents], layout, 0.1)
    terms, clipped = document_terms(documents, layout, bounds)
    asked = query_terms(queries, layout)

    assert terms.data.min() > 0
    assert asked.nnz == 0 or asked.data.min() > 0
    assert not clipped.any()
    shifted = scores(queries, documents) - (asked.astype(float) @ terms.astype(float).T).toarray()
    # Weights up to 64 stay as they are, so that no scale comes in here.
    assert asked.nnz == 0 or asked.data.max() <= 64
    assert np.ptp(shifted, axis=1).max() < 1e-4
    assert {"D": True, "U'V + D": True}.get(name, False) == bool(len(layout.negative))


def test_every_document_carries_the_terms_of_the_latent_part_and_of_negative_words(models, task):
    fitted = models["U'V + D"]
    vectors = fitted.embed_documents(task.documents)
    layout = layout_of(fitted)
    first = len(layout.words)
    nothing = Inner(0 * vectors.sparse, 0 * vectors.dense)
    bounds = Bounds.of([vectors], layout, 0.0)
    for documents in (vectors, nothing):
        terms, _ = document_terms(documents, layout, bounds)
        extra = len(layout.negative) + 2 * N
        assert np.all(np.diff(terms[:, first:].indptr) == extra)


def test_negative_words_are_those_that_a_query_weighs_below_zero(models):
    diagonal = models["U'V + D"].arrays["diagonal"]
    assert layout_of(models["U'V + D"]).negative.tolist() == np.flatnonzero(diagonal < 0).tolist()


def test_large_weights_of_a_query_are_scaled_to_what_lucene_takes():
    layout = Layout((), np.empty(0, np.int32), 2)
    terms = query_terms(Inner(None, np.array([[128, -32], [3, 0]], np.float32)), layout)

    assert terms.toarray().tolist() == [[64, 0, 0, 16], [3, 0, 0, 0]]


def test_values_beyond_former_bounds_are_clipped_and_counted(tmp_path):
    layout = Layout(("moon",), np.array([], np.int32), 1)
    first = Inner(None, np.array([[0], [1]], np.float32))
    Bounds.of([first], layout, 0.1).save(tmp_path)
    bounds = Bounds.load(tmp_path, layout)
    later = Inner(None, np.array([[1.05], [3], [-2]], np.float32))
    terms, clipped = document_terms(later, Layout((), layout.negative, 1), bounds)

    assert clipped.tolist() == [0, 1, 1]
    assert terms.toarray()[0] == pytest.approx([1.15, 0.05], abs=1e-5)
    assert terms.toarray()[1:].min() > 0


def test_bounds_of_another_model_are_refused(tmp_path):
    one, two = (Layout((), np.empty(0, np.int32), width) for width in (1, 2))
    Bounds.of([Inner(None, np.zeros((1, 1), np.float32))], one, 0.1).save(tmp_path)

    with pytest.raises(BadInput, match="bounds of another model"):
        Bounds.load(tmp_path, two)


@pytest.mark.parametrize(("kind", "why"), [("topic_model", "logarithm"), ("word_pairs", "pairs")])
def test_a_score_that_is_no_sum_over_terms_is_refused(kind, why):
    fitted = next((one for one in random_models(0) if one.model.name == kind), None)
    if fitted is None:
        pytest.skip(f"{kind} is a guest, which is not here")
    with pytest.raises(BadInput, match=why):
        layout_of(fitted)


def test_a_word_that_no_engine_takes_is_refused():
    with pytest.raises(BadInput, match="32,766"):
        _ = Layout(("x" * 33_000,), np.empty(0, np.int32), 0).names


def test_four_digits_name_every_weight_of_nine_bits():
    every = np.arange(0x6000, 0x9000, dtype=np.uint16)
    read = np.array([float(decimals()[code]) for code in every.tolist()]).astype(np.float32)

    # What a feature field does to a float32: it cuts 15 bits off.
    assert np.array_equal(read.view(np.uint32) >> 15, every)


def test_weights_are_rounded_to_the_nearest_of_nine_bits():
    weights = np.random.default_rng(0).uniform(0.01, 60, 1000).astype(np.float32)
    error = np.abs(values(codes(weights)) / weights - 1)

    assert error.max() <= 2**-9
    assert np.array_equal(codes(values(codes(weights))), codes(weights))


@pytest.mark.parametrize(
    ("parts", "columns", "cells"),
    [
        ("both", "words, latent", "'{1:0.5,3:2}/3','[1,-0.25]'"),
        ("sparse", "words", "'{1:0.5,3:2}/3'"),
        ("dense", "latent", "'[1,-0.25]'"),
    ],
)
def test_rows_of_pgvector_have_the_parts_of_the_model(parts, columns, cells):
    words = sparse.csr_array(np.array([[0.5, 0, 2]], np.float32))
    latent = np.array([[1, -0.25]], np.float32)
    vectors = Inner(words if parts != "dense" else None, latent if parts != "sparse" else None)
    block = SimpleNamespace(ids=["it's"], titles=["A\0B"], vectors=vectors)
    again = ", ".join(f"{name} = excluded.{name}" for name in ["title", *columns.split(", ")])
    assert pgvector._insert(block, range(1), SimpleNamespace(words=range(3))) == (
        f"INSERT INTO ssi (id, title, {columns}) VALUES\n('it''s','AB',{cells})\n"
        f"ON CONFLICT (id) DO UPDATE SET {again};\n"
    )
