"""The click log of the sample: its truth, its map, and what can be learnt of positions."""

import gzip
import itertools

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau

from ssi_core.corpus.texts import id_of
from ssi_core.evaluation.significance import paired_t
from ssi_core.guests.click_logs.columns import load_map, parse_map
from ssi_core.guests.click_logs.propensity import estimate_propensities
from ssi_core.guests.click_logs.rules import Rules
from ssi_core.sample.clicks import ad_of, click_log, pool_of
from ssi_core.sample.encyclopedia import EXAMINATION, ad_relevance, plan_world, write_sample
from ssi_core.sample.pages import article_id
from tests.corpora import clicked_pairs
from tests.guests.click_logs import logs

DOCUMENTS = 61


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
    found = logs.ingest(
        [directory / "clicks.tsv.gz"],
        load_map(directory / "clicks-map.toml"),
        tmp_path / "clicks",
        queries=pages,
        rules=Rules(clicks="all"),
    )
    assert found.counts["clicks"] == counts["clicks"]
    assert found.counts["slates"] + found.skipped["slate_without_click"] == counts["sessions"]
    assert not (found.path / "quarantine.csv").exists()


def estimated(seed, sessions):
    world = plan_world(1000, seed)
    shown = pl.DataFrame(
        [(s.page, s.ad.number, s.position, s.clicked) for s in click_log(world, sessions)],
        schema=["query", "document", "position", "clicked"],
        orient="row",
    )
    counts = shown.group_by("query", "document", "position").agg(
        shown=pl.len().cast(pl.Int64), clicks=pl.col("clicked").sum().cast(pl.Int64)
    )
    return estimate_propensities(counts)["propensity"].to_numpy()


def test_propensities_of_a_short_log_are_near_the_true_ones():
    np.testing.assert_allclose(
        estimated(0, 5000)[:4], np.array(EXAMINATION[:4]) / EXAMINATION[0], rtol=0.07
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_propensities_of_a_long_log_are_within_a_tenth_of_the_true_ones(seed):
    truth = np.array(EXAMINATION) / EXAMINATION[0]
    np.testing.assert_allclose(estimated(seed, 40_000), truth, rtol=0.1)


# What of the truth is learnt from clicks


def ndcg_at_10(gain, score):
    discount = 1 / np.log2(2 + np.arange(10))
    best, order = np.sort(gain)[::-1][:10], np.argsort(-score, kind="stable")[:10]
    return float(gain[order] @ discount[: len(order)] / (best @ discount[: len(best)]))


def recovered(log, form, truth, place, clicks):
    """NDCG@10 and Kendall's tau of what an ingestion makes of each pair, page by page."""
    found = logs.ingest([log], form, place / clicks, rules=Rules(clicks=clicks))
    pairs = clicked_pairs(found.path)
    # The weight is the relevance already, or a sum over showings.
    rate = pl.col("weight") / (1 if clicks == "weighted" else pl.col("shown") + 1)
    rates = {(page, ad): r for page, ad, r in pairs.select("query", "document", rate=rate).rows()}
    each = []
    for page, ads in truth.items():
        gain = np.array(list(ads.values()))
        score = np.array([rates.get((page, ad), 0.0) for ad in ads])
        each.append((ndcg_at_10(gain, score), kendalltau(gain, score).statistic))
    return np.nan_to_num(np.array(each))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_position_rule_and_weights_find_what_a_naive_count_does_not(tmp_path, seed):
    world = plan_world(50, seed)
    rows = [
        (f"s{s.session}", f"p{s.page}", f"a{s.ad.number}", s.position, int(s.clicked))
        for s in click_log(world, 100_000, popularity=1)
    ]
    names = ["session", "query_text", "document_text", "position", "clicked"]
    pl.DataFrame(rows, schema=names, orient="row").write_csv(tmp_path / "log.csv")
    form = parse_map({"columns": {name: name for name in names}})
    truth = {
        id_of(f"p{page}"): {
            id_of(f"a{ad}"): ad_relevance(world, page, ad_of(world, ad).concept)
            # An order that says nothing of relevance, for ads that score alike.
            for ad in sorted(pool_of(world, page), key=lambda ad: (ad * 7919) % 104729)
        }
        for page in range(50)
    }
    found = {
        clicks: recovered(tmp_path / "log.csv", form, truth, tmp_path, clicks)
        for clicks in ("all", "first", "weighted", "inverse")
    }
    for measure in range(2):
        naive = found["all"][:, measure]
        for clicks in ("first", "weighted", "inverse"):
            ours = found[clicks][:, measure]
            assert paired_t(ours, naive, alternative="greater") < 0.01, (clicks, measure)
