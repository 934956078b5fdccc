"""Logs as they are published, with the maps that docs/clicks.md prints; a log in Chinese."""

import bz2
import csv
import json
import random
import shlex

import numpy as np
import polars as pl
import pytest

from flows.cli import cli
from ssi_core import store
from ssi_core.command.verb import run
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.guests.click_logs.columns import parse_map
from ssi_core.models.tfidf import TfIdf
from ssi_core.tasks.task import build_task, open_task
from tests.datasets.dumps import real_data
from tests.flows.pages import blocks
from tests.guests.click_logs import logs

DOCUMENTED = {
    "Clicks per result, in JSON": (
        "zzquerylog",
        {"rows": 6856, "clicks": 1_893_821, "pairs": 5359, "pairs_not_relevant": 0, "queries": 461},
        {"row_summed": 1497, "row_not_shown": 0},
    ),
    "Judged titles, texts in tables": (
        "discernatron",
        {"rows": 3804, "pairs": 735, "pairs_not_relevant": 3069, "queries": 124, "documents": 4375},
        {"row_summed": 0, "row_not_shown": 0},
    ),
    "Judged sentences": (
        "wikiqa",
        {"rows": 20_360, "pairs": 1040, "pairs_not_relevant": 19_320, "queries": 2118},
        {"row_summed": 0, "row_not_shown": 0},
    ),
}
RUNS = [("docs/clicks.md", heading) for heading in DOCUMENTED]


def measured(clicks, path, **how):
    """Measures of TF-IDF on the test side."""
    build_task(clicks, path, **how, relevant="click")
    task = open_task(path)
    report = evaluate(TfIdf().fit(task, np.random.default_rng(0)), task, tuples=0)
    return report.means


@pytest.mark.parametrize("heading", DOCUMENTED)
def test_a_log_is_read_by_the_map_that_is_printed(tmp_path, monkeypatch, heading):
    name, counts, skipped = DOCUMENTED[heading]
    (tmp_path / name).symlink_to(real_data(name))
    form, command = blocks("docs/clicks.md", heading)
    words = shlex.split(command)
    (tmp_path / words[words.index("--map") + 1]).write_text(form)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    assert words[0] == "ssi"
    assert run(cli, words[1:]) == 0
    found = store.read(tmp_path / words[words.index("--out") + 1], "collection")
    assert counts.items() <= found.counts.items()
    assert found.skipped == skipped
    assert not (found.path / "quarantine.csv").exists()
    assert found.counts["language"].startswith("en (words between blanks; guessed from")


def chinese_log(path, seed=0):
    """Queries of 3 to 6 letters of a text about a thing, each with clicks on that thing."""
    source = real_data("wiki-dumps", "wikidata-excerpt.json.bz2")
    chance = random.Random(seed)
    with bz2.open(source, "rt", encoding="utf-8") as lines:
        things = [json.loads(line.rstrip(",\n")) for line in lines if len(line) > 2]
    rows = []
    for thing in things:
        title, text = ((thing.get(part) or {}).get("zh")
                       for part in ("labels", "descriptions"))  # fmt: skip
        if title and text:
            whole = f"{title['value']}，{text['value']}"
            for _ in range(4):
                size = chance.randint(3, 6)
                begin = chance.randrange(max(1, len(whole) - size + 1))
                query = whole[begin : begin + size]
                rows.append((query, thing["id"], whole, chance.randint(1, 20)))
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("query", "url", "title", "clicks"), *rows])
    return path


def test_a_chinese_log_is_split_into_words_unasked(tmp_path):
    log = chinese_log(tmp_path / "log.csv")
    columns = {"query": "query", "query_text": "query", "document": "url", "document_text": "title"}
    form = parse_map({"columns": {**columns, "clicks": "clicks"}})
    guessed = logs.ingest([log], form, tmp_path / "guessed")
    assert guessed.counts["language"].startswith("zh (guessed from the script of 1,4")
    texts = pl.read_parquet(guessed.path / "documents" / "*.parquet")
    assert set(texts["language"]) == {"zh"}
    english = logs.ingest([log], form.in_language("en"), tmp_path / "english")
    loss = {
        made.path.name: measured(made.path, tmp_path / f"{made.path.name}-task", words="all")
        for made in (guessed, english)
    }
    assert loss["guessed"]["rank_loss"] < 0.07
    assert loss["english"]["rank_loss"] > 0.4
