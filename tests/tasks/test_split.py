import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssi_core.tasks import split
from ssi_core.tasks.split import (
    SPLITS,
    TEST,
    TRAIN,
    VALID,
    side_of_documents,
    side_of_links,
    side_of_rows,
)

TITLES = pl.Series([f"Title {i}" for i in range(20_000)])


def shares(sides):
    return np.bincount(sides, minlength=len(SPLITS)) / len(sides)


def test_shares_are_near_65_5_30():
    # Four standard deviations of a share of 0.65 among 20,000.
    for sides in (
        side_of_documents(TITLES, seed=3),
        side_of_links(TITLES, TITLES.reverse(), seed=3),
    ):
        np.testing.assert_allclose(shares(sides), [0.65, 0.05, 0.30], atol=0.0135)
        assert sides.dtype == np.int8


def test_sides_are_pinned():
    """They are part of every published number: a change here makes all of them void."""
    documents = side_of_documents(TITLES[:12], seed=0)
    links = side_of_links(TITLES[:12], TITLES[12:24], seed=0)
    assert documents.tolist() == [0, 0, 1, 0, 1, 2, 0, 0, 2, 0, 0, 2]
    assert links.tolist() == [2, 2, 2, 0, 2, 0, 0, 2, 2, 2, 2, 2]


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=20), st.integers(0, 5))
def test_a_link_keeps_its_side_when_others_are_added(links, seed):
    sources = pl.Series([a for a, _ in links], dtype=pl.String)
    targets = pl.Series([b for _, b in links], dtype=pl.String)
    together = side_of_links(sources, targets, seed=seed)
    alone = [
        side_of_links(sources[i : i + 1], targets[i : i + 1], seed=seed)[0]
        for i in range(len(links))
    ]
    assert together.tolist() == alone


def test_a_link_and_its_reverse_are_independent():
    there = side_of_links(TITLES, TITLES.reverse(), seed=0)
    back = side_of_links(TITLES.reverse(), TITLES, seed=0)
    both = np.mean((there == TEST) & (back == TEST))
    assert both == pytest.approx(0.09, abs=0.007)


def test_sides_do_not_depend_on_the_documents_sides():
    links = side_of_links(TITLES, TITLES, seed=0)
    documents = side_of_documents(TITLES, seed=0)
    assert np.mean(links[documents == TRAIN] == TRAIN) == pytest.approx(0.65, abs=0.006)


def test_another_seed_is_another_split():
    assert np.mean(side_of_documents(TITLES, seed=0) == side_of_documents(TITLES, seed=1)) < 0.6


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="2 sources and 3 targets"):
        side_of_links(TITLES[:2], TITLES[:3], seed=0)


def test_names_and_numbers_go_together():
    assert [SPLITS[side] for side in (TRAIN, VALID, TEST)] == ["train", "valid", "test"]


def test_links_given_by_rows_have_the_sides_of_their_titles(monkeypatch):
    monkeypatch.setattr(split, "_AT_ONCE", 7)
    rows = np.random.default_rng(0).integers(0, len(TITLES), (40, 2)).astype(np.int32)
    expected = side_of_links(TITLES[rows[:, 0]], TITLES[rows[:, 1]], seed=5)
    np.testing.assert_array_equal(side_of_rows(TITLES, rows, seed=5), expected)
