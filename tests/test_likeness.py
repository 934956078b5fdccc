from pathlib import Path

import pytest

from ssi_core.experiment import Row, load_table
from ssi_core.experiment.likeness import unlikeness

TABLES = Path(__file__).parents[1] / "flows" / "tables"
HASHED = "cfh:k=5,words=10000,ngrams=1,weighting=sublinear:100"


def row(model, **parameters):
    return Row(model, model, "default", parameters=parameters)


def bilinear(view, **more):
    return row("bilinear", view=view, **more)


def hashing(view):
    parts = (
        {"model": "bilinear", "view": view, "diagonal_view": "raw"},
        {"model": "bilinear", "view": HASHED, "diagonal": "none"},
    )
    return row("mixture", parts=parts)


TFIDF = row("tfidf", view="raw")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TFIDF, row("tfidf", view="sublinear")),
        (TFIDF, bilinear("sublinear:100@10000", diagonal_view="raw")),
        (TFIDF, row("tfidf", view="dictionary.raw")),
        (TFIDF, row("lsi_mixture", view="raw@30000", tfidf_view="raw")),
        (TFIDF, hashing("raw@10000")),
        (hashing("raw@10000"), bilinear("raw@10000", diagonal_view="raw")),
        (hashing("raw@10000"), hashing("raw@10000")),
        (bilinear("raw@30000", diagonal_view="raw"), bilinear("raw@10000", diagonal_view="raw")),
    ],
)
def test_rows_that_read_the_same_words_are_compared_like_with_like(one, other):
    assert unlikeness(one, other) == unlikeness(other, one) == ""


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (TFIDF, bilinear("sublinear:100"), "all words, the other the 100 heaviest of all words"),
        (TFIDF, row("tfidf", view="raw@10000"), "the 10,000 most frequent words"),
        (
            TFIDF,
            row("tfidf", view="dictionary.raw:50@20000"),
            "the 50 heaviest of the 20,000 most frequent words",
        ),
        (
            hashing("raw@10000"),
            bilinear("raw@30000", diagonal_view="raw"),
            "their models read raw@10000 and raw@30000",
        ),
        (hashing("raw@10000"), hashing("raw@30000"), "raw@10000 and raw@30000"),
    ],
)
def test_rows_that_read_other_words_or_add_hashing_to_another_view_are_not(one, other, reason):
    assert reason in unlikeness(one, other)
    assert unlikeness(one, other) == unlikeness(other, one)


def test_a_row_of_an_earlier_version_is_not_judged_by_its_words():
    assert unlikeness(TFIDF, bilinear("raw:100", gone=1)) == ""


def test_hashing_on_wikispeedia_is_compared_with_the_row_that_it_is_added_to():
    table = load_table("wikispeedia-table2", TABLES)
    small, large = (table.row(f"(U'V)_n + I (n {size})") for size in ("small", "large"))
    assert unlikeness(table.row("CFH (1-grams)"), small) == ""
    assert unlikeness(table.row("CFH (1-grams)"), large)
