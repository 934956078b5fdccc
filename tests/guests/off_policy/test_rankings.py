"""Rankings of the pages of a log by a model, against a sort of all its scores."""

import numpy as np
import polars as pl
import pytest

from ssi_core.guests.click_logs.rules import Rules
from ssi_core.guests.off_policy.rankings import ranking_of
from ssi_core.guests.off_policy.visits import read_visits
from ssi_core.models.tfidf import TfIdf
from ssi_core.tasks.task import build_task, open_task
from tests.guests.click_logs import logs


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    path = tmp_path_factory.mktemp("rankings")
    log = logs.write_csv(path / "log.csv", logs.rows(60))
    logs.ingest([log], logs.form(), path / "clicks", rules=Rules(clicks="weighted"))
    build_task(path / "clicks", path / "task", split="users", relevant="click")
    return path


@pytest.mark.parametrize("among", ["all", "shown"])
def test_a_page_is_filled_by_score_then_by_row(place, among):
    task = open_task(place / "task")
    fitted = TfIdf().fit(task, np.random.default_rng(0))
    dense = [
        vectors.sparse.toarray()
        for vectors in (fitted.embed_queries(task.queries), fitted.embed_documents(task.documents))
    ]
    scores = dense[0] @ dense[1].T
    cells = read_visits(place / "clicks").select("query", "document", "position").unique()
    found = ranking_of(fitted, place / "clicks", cells, among=among)
    assert found["share"].unique().to_list() == [1.0]
    ads = task.documents.ids.to_list()
    for (page,), own in found.group_by("query"):
        there = cells.filter(pl.col("query") == page)
        names = ads if among == "all" else there["document"].unique().to_list()
        row = scores[task.queries.ids.to_list().index(page)]
        best = sorted(names, key=lambda ad: (-row[ads.index(ad)], ads.index(ad)))
        places = sorted(set(there["position"]))
        assert own.sort("position")["position"].to_list() == places
        assert own.sort("position")["document"].to_list() == best[: len(places)]
