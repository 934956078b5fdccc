"""Tasks whose weights are by propensities: every showing counts, on its side, and divides once."""

import shutil
from collections import Counter

import numpy as np
import polars as pl
import pytest

from ssi_core import store
from ssi_core.guests.click_logs.columns import parse_map
from ssi_core.guests.click_logs.rules import Rules
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.tasks.frozen import freeze
from ssi_core.tasks.split import TRAIN, side_of_documents, side_of_links
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput
from tests.guests.click_logs import logs
from tests.seals import reseal

SPLITS = ("pairs", "users", "time")


@pytest.fixture(scope="module")
def rows():
    rows = logs.rows(900)
    for row in rows:
        row["user"] = f"u{int(row['visit'][1:]) % 150}"
        row["body"] = f"page about w{int(row['url'][1:]) % 7} and {row['url']}"
    return rows


@pytest.fixture(scope="module")
def clicks(rows, tmp_path_factory):
    """Artefacts of one log, by the clicks that count."""
    directory = tmp_path_factory.mktemp("clicks")
    path = logs.write_csv(directory / "log.csv", rows)
    form = parse_map({"columns": {**logs.COLUMNS, "user": "user"}})
    return {
        name: logs.ingest([path], form, directory / name, rules=Rules(clicks=name)).path
        for name in ("all", "weighted", "inverse")
    }


def made(tmp_path, clicks, **how):
    build_task(clicks, tmp_path / "task", force=True, **how, relevant="click")
    return open_task(tmp_path / "task")


def trained_on(rows, split):
    """Rows of the log that are for training; those of slates without a click are among them."""
    if split == "pairs":
        ends = [pl.Series([row[name] for row in rows]) for name in ("url", "ad")]
        sides = side_of_links(*ends, seed=0)
    elif split == "users":
        sides = side_of_documents(pl.Series([row["user"] for row in rows]), seed=0)
    else:
        # A session has one slate of four rows, and a later number is a later time.
        number = [int(row["visit"][1:]) for row in rows]
        clicked = sorted({n for n, row in zip(number, rows, strict=True) if row["click"] == "1"})
        early = [n for i, n in enumerate(clicked) if 4 * i + 1 <= 0.65 * 4 * len(clicked)]
        sides = [TRAIN if n <= early[-1] else TRAIN + 1 for n in number]
    return [row for row, side in zip(rows, sides, strict=True) if side == TRAIN]


def named(task, queries, documents):
    return list(zip(task.queries.ids[queries], task.documents.ids[documents], strict=True))


def shown_of(task):
    return Counter(named(task, *task.train.shown.rows.T))


def weights_of(task):
    return dict(zip(named(task, *task.train.rows.T), task.train.weight.tolist(), strict=True))


def propensities(clicks):
    return {int(k): p for k, p in store.read(clicks).counts["propensities"].items()}


@pytest.mark.parametrize("split", SPLITS)
def test_a_relevance_is_of_the_clicks_and_looks_of_its_side(tmp_path, rows, clicks, split):
    task = made(tmp_path, clicks["weighted"], split=split)
    propensity = propensities(clicks["weighted"])
    looks, number = Counter(), Counter()
    for row in trained_on(rows, split):
        pair = row["url"], row["ad"]
        looks[pair] += propensity[int(row["rank"])]
        number[pair] += row["click"] == "1"
    mean = sum(number.values()) / sum(looks.values())
    relevance = {pair: (n + 1) / (looks[pair] + 1 / mean) for pair, n in number.items() if n}
    scale = np.mean(list(relevance.values()))
    assert weights_of(task) == pytest.approx({p: r / scale for p, r in relevance.items()}, rel=1e-5)
    assert shown_of(task) == dict.fromkeys(looks, 1), "each that was shown once, clicked or not"
    assert task.train.weighing == "relevance"


@pytest.mark.parametrize("split", SPLITS)
def test_inverse_weights_are_learnt_against_all_showings(tmp_path, rows, clicks, split):
    task = made(tmp_path, clicks["inverse"], split=split)
    propensity = propensities(clicks["inverse"])
    shown, weights = Counter(), Counter()
    for row in trained_on(rows, split):
        pair = row["url"], row["ad"]
        shown[pair] += 1
        if row["click"] == "1":
            weights[pair] += 1 / propensity[int(row["rank"])]
    scale = np.mean(list(weights.values()))
    assert weights_of(task) == pytest.approx({p: w / scale for p, w in weights.items()}, rel=1e-5)
    assert shown_of(task) == shown
    assert task.train.weighing == "shown"


def test_inverse_weights_teach_nothing_against_any_document(tmp_path, clicks):
    inverse = made(tmp_path, clicks["inverse"])
    with pytest.raises(BadInput, match="teach what was shown most"):
        Bilinear(diagonal="none").fit(inverse, np.random.default_rng(0))


def test_frozen_pairs_are_not_shown(tmp_path, rows, clicks):
    path = logs.write_csv(tmp_path / "log.csv", rows[: len(rows) // 2])
    form = parse_map({"columns": {**logs.COLUMNS, "user": "user"}})
    before = logs.ingest([path], form, tmp_path / "before", rules=Rules(clicks="all")).path
    freeze(clicks["all"], tmp_path / "frozen", since=before, queries=6, pool=30)
    answers = pl.read_parquet(tmp_path / "frozen" / "pairs.parquet").filter("answer")
    asked, there = (
        pl.read_parquet(tmp_path / "frozen" / f"{name}.parquet")["name"]
        for name in ("queries", "documents")
    )
    names = set(zip(asked[answers["query"]], there[answers["document"]], strict=True))
    whole = made(tmp_path, clicks["weighted"], split="users")
    assert names & shown_of(whole).keys()
    task = made(tmp_path, clicks["weighted"], split="users", frozen=[tmp_path / "frozen"])
    assert not names & shown_of(task).keys()
    assert not names & weights_of(task).keys()
    assert store.read(tmp_path / "task").skipped["frozen_pairs"] > 0


def test_clicks_of_an_earlier_version_are_bad_input(tmp_path, clicks):
    shutil.copytree(clicks["weighted"], tmp_path / "clicks")
    shutil.rmtree(tmp_path / "clicks" / "unclicked")
    reseal(tmp_path / "clicks")
    with pytest.raises(BadInput, match="no slates without a click, which count here"):
        made(tmp_path, tmp_path / "clicks")
