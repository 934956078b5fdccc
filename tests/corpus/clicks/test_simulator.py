"""The click log of the sample: its truth, its map, and what can be learnt of positions."""

import gzip
import itertools

import numpy as np
import polars as pl
import pytest

from ssi_core.corpus.clicks.build import ingest_clicks
from ssi_core.corpus.clicks.columns import load_map
from ssi_core.corpus.clicks.propensity import estimate_propensities
from ssi_core.corpus.clicks.rules import Rules
from ssi_core.corpus.sample import EXAMINATION, ad_relevance, plan_world, write_sample
from ssi_core.corpus.sample.clicks import click_log
from ssi_core.corpus.sample.pages import article_id

DOCUMENTS = 60


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    directory = tmp_path_factory.mktemp("sample")
    return directory, write_sample(directory, documents=DOCUMENTS, seed=3)


def test_the_truth_is_told_of_every_ad_that_is_shown(sample):
    directory, _ = sample
    text = gzip.decompress((directory / "clicks-relevance.tsv.gz").read_bytes()).decode()
    header, *rows = (line.split("\t") for line in text.splitlines())
    assert header == ["page", "ad", "relevance"]
    known = {(page, ad): float(relevance) for page, ad, relevance in rows}
    assert len(known) == 12 * DOCUMENTS
    world = plan_world(DOCUMENTS, 3)
    for showing in itertools.islice(click_log(world), 500):
        row = (str(article_id(showing.page)), f"a{showing.ad.number}")
        assert known[row] == ad_relevance(world, showing.page, showing.ad.concept)


def test_the_log_is_what_its_map_says(sample, tmp_path):
    directory, counts = sample
    world = plan_world(DOCUMENTS, 3)
    pages = tmp_path / "pages.tsv"
    texts = (f"{article_id(page)}\t{world.title(page)}\n" for page in range(DOCUMENTS))
    pages.write_text("id\ttext\n" + "".join(texts))
    found = ingest_clicks(
        [directory / "clicks.tsv.gz"],
        load_map(directory / "clicks-map.toml"),
        tmp_path / "clicks",
        pages=pages,
        rules=Rules(clicks="all"),
    )
    assert found.counts["clicks"] == counts["clicks"]
    assert found.counts["slates"] + found.skipped["slate_without_click"] == counts["sessions"]
    assert not (found.path / "quarantine.csv").exists()


def estimated(seed, sessions):
    world = plan_world(1000, seed)
    shown = pl.DataFrame(
        [(s.page, s.ad.number, s.position, s.clicked) for s in click_log(world, sessions)],
        schema=["page", "ad", "position", "clicked"],
        orient="row",
    )
    counts = shown.group_by("page", "ad", "position").agg(
        shown=pl.len().cast(pl.Int64), clicks=pl.col("clicked").sum().cast(pl.Int64)
    )
    return estimate_propensities(counts)["propensity"].to_numpy()


def test_propensities_of_a_short_log_are_near_the_true_ones():
    np.testing.assert_allclose(
        estimated(0, 5000)[:4], np.array(EXAMINATION[:4]) / EXAMINATION[0], rtol=0.2
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_propensities_of_a_long_log_are_within_a_tenth_of_the_true_ones(seed):
    truth = np.array(EXAMINATION) / EXAMINATION[0]
    np.testing.assert_allclose(estimated(seed, 40_000), truth, rtol=0.1)
