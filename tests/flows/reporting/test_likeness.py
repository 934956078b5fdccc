import dataclasses
from pathlib import Path

import pytest

from flows.reporting.likeness import compared, unlikeness
from ssi_core.experiment import Row, load_table

TABLES = Path(__file__).parents[3] / "flows" / "tables"
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


def labelled(label, made, like=None):
    return dataclasses.replace(made, label=label, like=like)


# What each reads: "dense" 100 words, "short" 50, all others whole texts or what their labels say.
ROWS = [
    labelled("TF-IDF", TFIDF),
    labelled("TF-IDF (100)", row("tfidf", view="raw:100"), "TF-IDF"),
    labelled("TF-IDF (50)", row("tfidf", view="raw:50"), "TF-IDF"),
    labelled("U'V + I", bilinear("raw")),
    labelled("U'V + I (50)", bilinear("raw:50"), "U'V + I"),
    labelled("U'V + I (100)", bilinear("raw:100"), "U'V + I"),
    labelled("dense", row("word_pairs", view="raw:100", diagonal="none")),
    labelled("short", bilinear("raw:50", diagonal="none")),
    labelled("short (100)", bilinear("raw:100", diagonal="none"), "short"),
]


@pytest.mark.parametrize(
    ("claim", "tested"),
    [
        # Whole texts: the claim's own rows, although two pairs of stand-ins are alike too.
        (("U'V + I", "TF-IDF"), ("U'V + I", "TF-IDF")),
        # One row reads 100 words: the other has to.
        (("dense", "TF-IDF"), ("dense", "TF-IDF (100)")),
        (("U'V + I", "dense"), ("U'V + I (100)", "dense")),
        # One stand-in is enough for either of 100 and 50 words: the claim's own rows first.
        (("short", "TF-IDF"), ("short", "TF-IDF (50)")),
        (("dense", "short"), ("dense", "short (100)")),
    ],
)
def test_a_claim_is_tested_on_rows_that_read_the_same_words(claim, tested):
    twins = [labelled("V'U + I", bilinear("raw"), "U'V + I"), labelled("idf", TFIDF, "TF-IDF")]
    found = compared(*claim, [*twins, *ROWS])
    assert tuple(row.label for row in found) == tested
    assert unlikeness(*found) == ""


def test_both_rows_have_stand_ins_where_only_these_read_the_same_words():
    rows = [row for row in ROWS if row.label not in ("TF-IDF (50)", "U'V + I (50)")]
    found = compared("short", "TF-IDF", rows)
    assert tuple(row.label for row in found) == ("short (100)", "TF-IDF (100)")


def test_a_claim_about_a_stand_in_and_its_original_is_theirs():
    found = compared("TF-IDF", "TF-IDF (100)", ROWS)
    assert tuple(row.label for row in found) == ("TF-IDF", "TF-IDF (100)")


def test_rows_that_are_not_finished_are_not_chosen():
    def without(*labels):
        return [row for row in ROWS if row.label not in labels]

    own = compared("dense", "TF-IDF", without("TF-IDF (100)"))
    assert tuple(row.label for row in own) == ("dense", "TF-IDF")
    assert unlikeness(*own)
    alone = compared("dense", "TF-IDF", without("TF-IDF"))
    assert tuple(row.label for row in alone) == ("dense", "TF-IDF (100)")
    assert compared("dense", "TF-IDF", without("dense")) is None
    assert compared("dense", "TF-IDF", without("TF-IDF", "TF-IDF (100)")) is None


# What a claim of a middle n would need is a third pair of CFH rows.
OPEN = {"wikispeedia-table2": 4}


@pytest.mark.parametrize(
    "name",
    [
        *(f"wikispeedia-{name}" for name in ("table1", "table2", "half-transductive", "clicks")),
        *("kyoto-table9", "kyoto-mates"),
    ],
)
def test_the_claims_of_a_shipped_table_can_be_tested_like_with_like(name):
    table = load_table(name, TABLES)
    pairs = [compared(claim.above, claim.below, table.rows) for claim in table.claims]
    unlike = [(a.label, b.label) for a, b in pairs if unlikeness(a, b)]
    assert len(unlike) == OPEN.get(name, 0), unlike
    assert all("CFH" in above and "n middle" in below for above, below in unlike)


def test_a_stand_in_is_trained_as_the_row_that_it_stands_for():
    table = load_table("wikispeedia-table1", TABLES)
    own, other = (table.row(label).ranker() for label in ("U'V", "U'V (100 words)"))
    assert other == dataclasses.replace(own, view="sublinear:100@10000")
    assert own.view == "sublinear:100"
