"""Logs of pairs: counts, judgements, both; rows that are summed, and what is relevant."""

import numpy as np
import polars as pl
import pytest

from ssi_core.corpus.click_tables import IMPRESSIONS
from ssi_core.guests.click_logs.columns import parse_map
from ssi_core.guests.click_logs.rules import Rules
from ssi_core.tasks import slates
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput
from tests.corpora import PAIRS, clicked_pairs
from tests.guests.click_logs import logs

TEXTS = {"query": "query", "query_text": "query", "document": "url", "document_text": "title"}
COUNTS = {**TEXTS, "shown": "seen", "clicks": "clicks"}


def row(query, url, **values):
    return {"query": query, "url": url, "title": f"about {url}"} | {
        name: str(value) for name, value in values.items()
    }


def ingest(tmp_path, rows, columns, *, out="clicks", since=None, rules=None, **sections):
    path = logs.write_csv(tmp_path / f"{out}.csv", rows)
    form = parse_map({"columns": columns, **sections})
    return logs.ingest([path], form, tmp_path / out, rules=rules, since=since, force=True)


def pairs(artefact):
    table = clicked_pairs(artefact.path)
    assert table.schema == pl.Schema(PAIRS)
    return {(page, ad): tuple(rest) for page, ad, *rest in table.rows()}


def accounted(artefact):
    """Rows of the log, by what became of them."""
    known = len(pairs(artefact))
    return known + sum(n for name, n in artefact.skipped.items() if name.startswith("row_"))


def test_rows_of_a_pair_are_summed(tmp_path):
    rows = [
        row("hay", "a", seen=10, clicks=3), row("hay", "a", seen="5.0", clicks=" 1 "),
        row("hay", "b", seen=7, clicks=0), row("oats", "a", seen=2, clicks=2),
        row("oats", "c", seen=0, clicks=0),
    ]  # fmt: skip
    found = ingest(tmp_path, rows, COUNTS)
    assert pairs(found) == {
        ("hay", "a"): (15, 4, 4.0, None),
        ("hay", "b"): (7, 0, 0.0, None),
        ("oats", "a"): (2, 2, 2.0, None),
    }
    told = {"rows": 5, "clicks": 6, "pairs": 2, "pairs_not_relevant": 1, "showings": 24}
    assert told.items() <= found.counts.items()
    assert found.skipped == {"row_summed": 1, "row_not_shown": 1}
    assert accounted(found) == 5
    assert found.configuration["clicks"] == "all"
    empty = pl.read_parquet(found.path / "impressions" / "*.parquet")
    assert (empty.schema, len(empty)) == (pl.Schema(IMPRESSIONS), 0)


def test_showings_without_a_session_are_counted(tmp_path):
    rows = [row("hay", "a", hit=1), row("hay", "a", hit=0), row("oats", "b", hit="yes")]
    found = ingest(tmp_path, rows, {**TEXTS, "clicked": "hit"})
    assert pairs(found) == {("hay", "a"): (2, 1, 1.0, None), ("oats", "b"): (1, 1, 1.0, None)}


def test_rows_that_are_all_clicks_are_counted(tmp_path):
    rows = [row("hay", "a"), row("hay", "a"), row("oats", "b")]
    found = ingest(tmp_path, rows, TEXTS, log={"all_clicked": True})
    assert pairs(found) == {("hay", "a"): (None, 2, 2.0, None), ("oats", "b"): (None, 1, 1.0, None)}


@pytest.mark.parametrize(
    ("weight", "expected"),
    [("gain", [0, 2**2.5 - 1, 15, 1, 0]), ("one", [0, 1, 1, 1, 0]), ("clicks", [0, 0, 1, 3, 0])],
)
def test_grades_are_averaged_and_weigh_as_the_map_says(tmp_path, weight, expected):
    columns = {**TEXTS, "clicks": "clicks", "grade": "mark"}
    rows = [
        row("hay", "a", mark=0, clicks=9),  # judged and not relevant, whoever clicked
        row("hay", "b", mark=3, clicks=0), row("hay", "b", mark=2, clicks=0),
        row("hay", "c", mark=4.0, clicks=1),
        row("hay", "d", mark="", clicks=3),  # not judged: relevant, as it was clicked
        row("hay", "e", mark="", clicks=0),
    ]  # fmt: skip
    found = ingest(tmp_path, rows, columns, grades={"weight": weight})
    table = pairs(found)
    assert [table["hay", ad][2] for ad in "abcde"] == pytest.approx(expected)
    assert [table["hay", ad][3] for ad in "abcde"] == [0, 2.5, 4, None, None]
    assert found.counts["pairs_graded"] == 3


def test_relevant_is_from_a_grade_on(tmp_path):
    rows = [row("hay", ad, mark=grade) for ad, grade in zip("abcd", (0, 1.9, 2, 3.5), strict=True)]
    found = ingest(tmp_path, rows, {**TEXTS, "grade": "mark"}, grades={"relevant": 2})
    assert [weight > 0 for _, _, weight, _ in pairs(found).values()] == [False, False, True, True]
    with pytest.raises(BadInput, match=r"of 4 pairs none was clicked, or has a grade of 4 or more"):
        ingest(tmp_path, rows, {**TEXTS, "grade": "mark"}, out="none", grades={"relevant": 4})


def test_grades_in_words_are_those_of_their_labels(tmp_path):
    rows = [row("hay", "a", mark="E"), row("hay", "b", mark=" I "), row("hay", "c", mark="100.0")]
    labels = {"E": 4, "I": 0, "100.0": 2.5}
    found = ingest(tmp_path, rows, {**TEXTS, "grade": "mark"}, grades={"labels": labels})
    assert [grade for *_, grade in pairs(found).values()] == [4, 0, 2.5]


@pytest.mark.parametrize(
    ("values", "category", "reason"),
    [
        ({"clicks": "many"}, "clicks_no_number", "clicks: 'many' is no count"),
        ({"clicks": "1.5"}, "clicks_no_number", "clicks: '1.5' is no count"),
        ({"seen": "-1"}, "shown_no_number", "seen: '-1' is no count"),
        ({"clicks": "11"}, "clicks_above_shown", "clicks: '11' is more than was shown"),
        ({"mark": "5"}, "grade_unknown", "mark: '5' is no grade (a number from 0 to 4; [grades"),
        ({"mark": "nan"}, "grade_unknown", "mark: 'nan' is no grade"),
        ({"query": ""}, "query_missing", "query: '' is empty"),
        ({"title": "other"}, "document_other_text", "has another text in line"),
    ],
)
def test_rows_that_cannot_be_believed_go_into_quarantine(tmp_path, values, category, reason):
    rows = [row(f"query {n % 9}", f"u{n % 7}", seen=10, clicks=2, mark=1) for n in range(200)]
    rows[150] |= values
    found = ingest(tmp_path, rows, {**COUNTS, "grade": "mark"})
    aside = pl.read_csv(found.path / "quarantine.csv")
    assert aside.select("line", "category").rows() == [(152, category)]
    assert reason in aside["reason"][0]
    assert accounted(found) == 200


def test_swapped_counts_are_found_out(tmp_path):
    rows = [row(f"query {n}", f"u{n}", seen=10, clicks=2) for n in range(50)]
    swapped = {**TEXTS, "shown": "clicks", "clicks": "seen"}
    with pytest.raises(BadInput, match=r"more than was shown.*The column 'clicks' holds such"):
        ingest(tmp_path, rows, swapped)


def test_lines_of_earlier_logs_are_not_read_again(tmp_path):
    rows = [row(f"query {n % 9}", f"u{n % 7}", seen=10, clicks=n % 3) for n in range(60)]
    ingest(tmp_path, rows[:25], COUNTS, out="monday")
    form = parse_map({"columns": COUNTS})
    logs.write_csv(tmp_path / "tuesday.csv", rows[25:])
    both = [tmp_path / "monday.csv", tmp_path / "tuesday.csv"]
    whole = logs.ingest(both, form, tmp_path / "whole")
    found = logs.ingest(both[1:], form, tmp_path / "clicks", since=tmp_path / "monday")
    assert found.key == whole.key
    assert found.counts.pop("since") == {"rows_taken": 25, "rows_read": 35}
    assert (found.counts, found.skipped) == (whole.counts, whole.skipped)
    assert pairs(found) == pairs(whole)


# Without positions


@pytest.mark.parametrize("clicks", ["first", "weighted", "inverse"])
@pytest.mark.parametrize("shape", ["counts", "sessions"])
def test_without_positions_no_click_can_be_weighed_by_them(tmp_path, clicks, shape):
    columns = COUNTS if shape == "counts" else {**TEXTS, "session": "visit", "clicked": "hit"}
    rows = [row("hay", "a", seen=2, clicks=1, visit="s", hit=1)]
    with pytest.raises(BadInput, match=r"no position: .* cannot be known.*Take clicks='all'"):
        ingest(tmp_path, rows, columns, rules=Rules(clicks=clicks))


def test_sessions_without_positions_have_slates(tmp_path):
    rows = logs.rows(60)
    columns = {role: name for role, name in logs.COLUMNS.items() if role != "position"}
    path = logs.write_csv(tmp_path / "log.csv", [*rows, rows[0]])
    found = logs.ingest([path], logs.form(columns=columns), tmp_path / "clicks")
    placed = logs.ingest([path], logs.form(), tmp_path / "placed", rules=Rules(clicks="all"))
    assert found.configuration["clicks"] == "all"
    assert found.counts == placed.counts
    assert found.skipped == placed.skipped
    assert found.skipped["row_merged"] == 1
    assert pairs(found) == pairs(placed)
    impressions = pl.read_parquet(found.path / "impressions" / "*.parquet")
    assert impressions["position"].null_count() == len(impressions)


@pytest.mark.parametrize("clicks", ["weighted", "inverse"])
def test_clicks_alone_tell_no_propensities(tmp_path, clicks):
    columns = {**TEXTS, "session": "visit", "position": "rank"}
    rows = [row("hay", "a", visit="s", rank=1)]
    with pytest.raises(BadInput, match="needs what was shown and not clicked, too"):
        ingest(tmp_path, rows, columns, rules=Rules(clicks=clicks), log={"all_clicked": True})


# The task


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Clicks of 40 queries, each with six documents of grades 0 to 3.4 and counts."""
    rows = [
        row(
            f"query {q} w{q % 5} w{q % 7}", f"u{(3 * q + d) % 30}", seen=10, clicks=d, mark=0.68 * d
        )
        for q in range(40)
        for d in range(6)
    ]
    place = tmp_path_factory.mktemp("judged")
    return {
        "graded": ingest(place, rows, {**TEXTS, "grade": "mark"}, out="graded").path,
        "counted": ingest(place, rows, COUNTS, out="counted").path,
    }


@pytest.mark.parametrize("split", ["pairs", "users"])
def test_grades_are_those_of_the_evaluation_and_zeros_what_was_passed_over(tmp_path, judged, split):
    build_task(judged["graded"], tmp_path / "task", split=split, relevant="click")
    task = open_task(tmp_path / "task")
    log = {(p, a): g for p, a, *_, g in clicked_pairs(judged["graded"]).rows()}
    for side in ("train", "valid", "test"):
        own = getattr(task, side)
        ends = zip(
            task.queries.ids[own.rows[:, 0]], task.documents.ids[own.rows[:, 1]], strict=True
        )
        grades = np.array([log[pair] for pair in ends])
        assert (grades >= 1).all()
        assert own.grade.tolist() == np.floor(grades + 0.5).tolist()
        gains = 2**grades - 1
        np.testing.assert_allclose(own.weight, gains / gains.mean(), rtol=1e-5)
    queries = [set(getattr(task, side).rows[:, 0].tolist()) for side in ("train", "test")]
    assert bool(queries[0] & queries[1]) == (split == "pairs"), "a query is on one side"
    shown = task.train.shown
    for query, begin, end in zip(task.queries.ids, shown.start[:-1], shown.start[1:], strict=True):
        documents = task.documents.ids[shown.documents[begin:end]]
        assert all(log[query, document] < 1 for document in documents)
        assert len(documents) == len(set(documents)), "each once"
    assert len(task.test.shown) > 0


def test_of_counts_the_showings_without_a_click_are_passed_over(tmp_path, judged, monkeypatch):
    build_task(judged["counted"], tmp_path / "task", split="users", relevant="click")
    task = open_task(tmp_path / "task")
    trained = set(task.train.rows[:, 0].tolist())
    begin, end = task.train.shown.start[[min(trained), min(trained) + 1]]
    times = np.unique(task.train.shown.documents[begin:end], return_counts=True)[1]
    assert sorted(times.tolist()) == [5, 6, 7, 8, 9, 10]
    assert task.train.grade.max() == 1
    monkeypatch.setattr(slates, "_MOST_SHOWN", len(task.train.shown.documents) // 3)
    build_task(judged["counted"], tmp_path / "few", split="users", force=True, relevant="click")
    few = open_task(tmp_path / "few").train.shown
    assert (
        len(task.train.shown.documents) // 3
        <= len(few.documents)
        < len(task.train.shown.documents) // 2
    )
