"""Click logs of known relevance, in several orders: twelve ads a page, of which eight are shown."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from ssi_core.guests.click_logs.columns import parse_map

ADS, SHOWN, TRIALS = 12, 8, 0.2
EXAMINATION = (1.0, 0.7, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15)
LEAVES = 0.2
"""Probability that a visitor of the cascade leaves after an ad that was not clicked."""
POLICIES = ("uniform", "truncated", "worst first", "cascade")
_COLUMNS = ["session", "query", "query_text", "document", "document_text", "position", "clicked"]
FORM = parse_map({"columns": {name: name for name in _COLUMNS}})


def relevance_of(pages: int, seed: int = 0) -> np.ndarray:
    """Return the probability of a click on an ad that is looked at, (pages, `ADS`)."""
    return 0.02 + 0.5 * np.random.default_rng(seed).random((pages, ADS)) ** 2


class Visits(NamedTuple):
    """Simulated visits: page (visits,), and the ads and clicks of each, (visits, `SHOWN`)."""

    page: np.ndarray
    ads: np.ndarray
    clicked: np.ndarray


def order_of(policy: str, truth: np.ndarray, bids: np.ndarray) -> np.ndarray:
    """Return the fixed order of each page's ads, (pages, `ADS`)."""
    return np.argsort(truth if policy == "worst first" else bids, axis=1)


def visits_of(
    policy: str, truth: np.ndarray, visits: int, seed: int = 1, bids: np.ndarray | None = None
) -> Visits:
    """Simulate visits.

    "uniform": eight of the page's ads in random order. Elsewhere one visit in five is such a trial,
    and the others see eight ads in a fixed order: "truncated" and "cascade" that of bids, which say
    nothing of relevance; "worst first" from the least relevant one on, so that the best four are
    seen in trials only. Of a cascade the visitor goes down the list, and leaves at the first click
    or, after each ad, with probability `LEAVES`; elsewhere positions are looked at independently.
    """
    rng = np.random.default_rng(seed)
    page = rng.integers(len(truth), size=visits)
    drawn_bids = rng.random(truth.shape)
    fixed = order_of(policy, truth, drawn_bids if bids is None else bids)[page]
    drawn = np.argsort(rng.random((visits, ADS)), axis=1)
    trial = rng.random(visits) < (1 if policy == "uniform" else TRIALS)
    ads = np.where(trial[:, None], drawn, fixed)[:, :SHOWN]
    likes = rng.random(ads.shape) < truth[page[:, None], ads]
    if policy == "cascade":
        goes_on = (rng.random(ads.shape) >= LEAVES) & ~likes
        looks = np.cumprod(np.roll(goes_on, 1, axis=1) | (np.arange(SHOWN) == 0), axis=1)
    else:
        looks = rng.random(ads.shape) < EXAMINATION
    return Visits(page, ads, likes & looks.astype(bool))


def log_of(policy: str, truth: np.ndarray, visits: int, seed: int = 1) -> pl.DataFrame:
    """Simulate visits as rows of a log, a row for each ad that is shown."""
    page, ads, clicked = visits_of(policy, truth, visits, seed)
    rows = np.repeat(page, SHOWN)
    return pl.DataFrame(
        {
            "session": np.repeat(np.arange(visits), SHOWN),
            "query": rows,
            "document": rows * ADS + ads.ravel(),
            "position": np.tile(np.arange(1, SHOWN + 1), visits),
            "clicked": clicked.ravel().astype(int),
        }
    ).select(
        session=pl.format("s{}", "session"),
        query=pl.format("p{}", "query"),
        query_text=pl.format("page{}", "query"),
        document=pl.format("a{}", "document"),
        document_text=pl.format("ad{}", "document"),
        position="position",
        clicked="clicked",
    )


def ndcg_at_5(truth: np.ndarray, scores: np.ndarray) -> float:
    """Return the mean NDCG@5 of scores (pages, `ADS`), the gain being the true relevance."""
    discount = 1 / np.log2(2 + np.arange(5))
    # Equal scores in an order that says nothing.
    order = np.argsort(np.random.default_rng(9).random(truth.shape), axis=1)
    scores, gains = (np.take_along_axis(x, order, axis=1) for x in (scores, truth))
    top = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    best = np.sort(gains, axis=1)[:, ::-1][:, :5]
    return float(np.mean(np.take_along_axis(gains, top, axis=1) @ discount / (best @ discount)))


def as_table(truth: np.ndarray, pairs: pl.DataFrame, value: str) -> np.ndarray:
    """Return a column of pairs (page, ad) as (pages, `ADS`); 0 where there is no row."""
    scores = np.zeros(truth.shape)
    ad = pairs["document"].str.slice(1).cast(pl.Int64).to_numpy()
    scores[ad // ADS, ad % ADS] = pairs[value].to_numpy()
    return scores
