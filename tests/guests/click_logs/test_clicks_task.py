"""Tasks from clicks: weights, sides, slates, one vocabulary or two."""

import numpy as np
import polars as pl
import pytest

from ssi_core.collection import open_collection
from ssi_core.guests.click_logs.columns import parse_map
from ssi_core.guests.click_logs.rules import Rules
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput
from tests.corpora import clicked_pairs
from tests.guests.click_logs import logs
from tests.seals import reseal
from tests.sources import ingest

SIDES = ("train", "valid", "test")


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    """Artefacts of one log, by the clicks that count."""
    directory = tmp_path_factory.mktemp("clicks")
    rows = logs.rows(900)
    for row in rows:
        own = (f"w{(i * 7 + int(row['url'][1:])) % 30}" for i in range(6))
        row["body"] = f"{row['url']} page about " + " ".join(own)
        row["user"] = f"u{int(row['visit'][1:]) % 150}"
    path = logs.write_csv(directory / "log.csv", rows)
    form = parse_map({"columns": {**logs.COLUMNS, "user": "user"}})
    return {
        name: logs.ingest([path], form, directory / name, rules=Rules(clicks=name)).path
        for name in ("all", "first", "inverse")
    }


def made(tmp_path, clicks, **how):
    build_task(clicks, tmp_path / "task", force=True, **how, relevant="click")
    return open_task(tmp_path / "task")


def impressions(clicks):
    return pl.read_parquet(clicks / "impressions" / "*.parquet")


def ids(task, rows):
    return list(zip(task.queries.ids[rows[:, 0]], task.documents.ids[rows[:, 1]], strict=True))


@pytest.mark.parametrize("name", ["all", "first", "inverse"])
def test_pairs_have_the_weights_of_their_clicks(tmp_path, clicks, name):
    task = made(tmp_path, clicks[name])
    pairs = clicked_pairs(clicks[name])
    expected = {
        (page, ad): weight
        for page, ad, weight in pairs.select("query", "document", "weight").rows()
    }
    for side in SIDES:
        own = getattr(task, side)
        weights = np.array([expected.pop(pair) for pair in ids(task, own.rows)])
        np.testing.assert_allclose(own.weight, weights / weights.mean(), rtol=1e-5)
        assert own.rows.tolist() == sorted(own.rows.tolist())
    assert expected == {}, "no pair is on two sides or on none"


def test_a_user_is_on_one_side(tmp_path, clicks):
    task = made(tmp_path, clicks["all"], split="users")
    assert task.test.shown.query.dtype == np.int32
    clicked = impressions(clicks["all"]).filter("clicked")
    both = set(ids(task, task.train.rows)) & set(ids(task, task.test.rows))
    assert both, "a pair may be clicked on both sides, by other users"
    events = clicked.select("session", "query").n_unique()
    held_out = len(task.valid.shown) + len(task.test.shown)
    assert 0.2 < held_out / events < 0.5


def test_later_clicks_are_for_testing(tmp_path, clicks):
    task = made(tmp_path, clicks["all"], split="time")
    rows = impressions(clicks["all"])
    when = rows.group_by("session", "query").agg(pl.col("timestamp").min()).sort("timestamp")
    last = when["timestamp"][int(0.75 * len(when))]
    late = rows.filter(pl.col("clicked") & (pl.col("timestamp") > last))
    assert set(late.select("query", "document").rows()) <= set(ids(task, task.test.rows))
    early = rows.filter(
        pl.col("clicked") & (pl.col("timestamp") < when["timestamp"][len(when) // 2])
    )
    assert set(early.select("query", "document").rows()) <= set(ids(task, task.train.rows))


def test_slates_hold_what_was_shown(tmp_path, clicks):
    task = made(tmp_path, clicks["all"], split="users")
    slates = task.test.shown
    shown = {}
    for page, ad, clicked in (
        impressions(clicks["all"]).select("query", "document", "clicked").rows()
    ):
        shown.setdefault(page, set()).add((ad, clicked))
    for event in range(len(slates)):
        part = slice(slates.start[event], slates.start[event + 1])
        page = task.queries.ids[int(slates.query[event])]
        own = zip(task.documents.ids[slates.documents[part]], slates.grade[part], strict=True)
        assert {(ad, bool(c)) for ad, c in own} <= shown[page]
        assert slates.grade[part].any()
        assert part.stop - part.start == 4
    assert (np.diff(slates.query) >= 0).all()


def test_what_training_clicked_is_off_the_slates_where_pairs_are_split(tmp_path, clicks):
    task = made(tmp_path, clicks["all"], split="pairs")
    known = {tuple(row) for row in task.train.rows.tolist()}
    for side in ("valid", "test"):
        slates = getattr(task, side).shown
        on = set(map(tuple, slates.rows.tolist()))
        assert not on & known
        clicked = set(map(tuple, slates.rows[slates.grade > 0].tolist()))
        assert clicked == {tuple(row) for row in getattr(task, side).rows.tolist()}


def test_what_was_shown_first_and_passed_over_is_kept_for_training(tmp_path, clicks):
    task = made(tmp_path, clicks["first"], split="users")
    rows = impressions(clicks["first"])
    passed = rows.filter((pl.col("position") == 1) & ~pl.col("clicked"))
    counts = {(p, a): n for p, a, n in passed.group_by("query", "document").len().rows()}
    found = ids(task, task.train.shown.rows)
    assert found
    for pair in set(found):
        assert found.count(pair) <= counts[pair]
    assert 0.4 < len(found) / sum(counts.values()) < 0.9


def test_one_vocabulary_serves_both_sides_or_each_has_its_own(tmp_path, clicks):
    one = made(tmp_path, clicks["all"])
    assert one.queries.views is one.documents.views
    raw = one.queries.matrix("raw")
    again = one.queries.views["raw"].transform(["p3 page about w4"])
    assert again.shape[1] == raw.shape[1] == one.documents.matrix("raw").shape[1]
    assert {"buy", "page"} <= set(one.documents.views["raw"].words)
    text = pl.read_parquet(clicks["all"] / "queries" / "*.parquet")["text"][0]
    np.testing.assert_array_equal(
        one.queries.views["raw"].transform([text]).toarray(), raw[[0]].toarray()
    )

    two = made(tmp_path, clicks["all"], vocabularies="two")
    spaces = [side.views["raw"].space for side in (two.queries, two.documents)]
    assert spaces[0] != spaces[1]
    assert "buy" not in two.queries.views["raw"].words
    assert "page" not in two.documents.views["raw"].words


def test_nothing_is_excluded_between_pages_and_ads(tmp_path, clicks):
    task = made(tmp_path, clicks["all"])
    assert task.exclude.nnz == 0
    assert task.exclude.shape == (len(task.queries), len(task.documents))


@pytest.fixture(scope="module")
def players(tmp_path_factory):
    from tests.datasets.test_wikispeedia_clicks import players_of

    path = tmp_path_factory.mktemp("players")
    return ingest("wikispeedia-clicks", players_of(path / "in", games=60), path / "clicks").path


def test_pages_that_are_clicked_on_pages_share_all_texts(tmp_path, players):
    task = made(tmp_path, players, split="users", words="all")
    assert task.queries is task.documents
    assert (task.exclude.diagonal() == 1).all()
    slates = task.test.shown
    assert (np.diff(slates.start) > 1).all()
    number = {name: i for i, name in enumerate(task.documents.ids)}
    links = open_collection(players).frame("relations/shown").rows()
    clicked = {tuple(pair) for pair in task.train.rows.tolist()}
    asked = {q for q, _ in clicked}
    expected = {(number[page], number[ad]) for page, ad in links} - clicked
    found = set(map(tuple, task.train.shown.rows.tolist()))
    assert found == {pair for pair in expected if pair[0] in asked}
    assert found


def test_a_goal_is_a_part_of_the_query(tmp_path, players):
    plain = made(tmp_path, players, split="users", words="all")
    task = made(tmp_path, players, split="users", words="all", queries="goals")
    rows = impressions(players).select("query", "goal").unique()
    assert sorted(task.queries.ids) == sorted(f"{p} > {g}" for p, g in rows.rows())
    counts, single = task.queries.matrix("counts"), plain.documents.matrix("counts")
    number = {name: i for i, name in enumerate(plain.documents.ids)}
    for i, name in enumerate(task.queries.ids):
        page, goal = (single[[number[n]]] for n in name.split(" > "))
        both = (page + goal).toarray() * (plain.documents.views["raw"].idf > 0)
        np.testing.assert_array_equal(counts[[i]].toarray(), both)
        assert task.exclude[[i]].indices.tolist() == [number[name.split(" > ")[0]]]
    assert sum(len(getattr(task, side)) for side in SIDES) > 0


@pytest.mark.parametrize(
    ("how", "error", "said"),
    [
        ({"split": "documents"}, ValueError, "split='documents'"),
        ({"vocabularies": "three"}, ValueError, "vocabularies='three'"),
        ({"views": ("cfh:k=5,words=10,ngrams=1",)}, ValueError, "none is hashed"),
        ({"queries": "goals"}, BadInput, "no goals"),
        ({"words": 0}, ValueError, "words=0"),
        ({"pool": -1}, ValueError, "pool=-1"),
    ],
)
def test_what_cannot_be_made_is_named(tmp_path, clicks, how, error, said):
    with pytest.raises(error, match=said):
        made(tmp_path, clicks["all"], **how)


def test_too_few_clicks_are_answered_with_another_split_than_theirs(tmp_path):
    text = "session,user,query,document,clicked\ns,u,red,a,1\nt,v,hat,b,1\n"
    (tmp_path / "log.csv").write_text(text)
    few = ingest("clicks", tmp_path / "log.csv", tmp_path / "few").path
    with pytest.raises(BadInput, match=r"when split by pairs\. .* split_seed=1"):
        build_task(few, tmp_path / "task", relevant="click")
    with pytest.raises(BadInput, match=r"when split by users\. .* split='pairs'"):
        build_task(few, tmp_path / "task", relevant="click", split="users")


def test_damaged_slates_are_named(tmp_path, clicks):
    made(tmp_path, clicks["all"])
    np.save(tmp_path / "task" / "shown" / "test" / "documents.npy", np.array([1], np.int32))
    with pytest.raises(BadInput, match=r"test/documents\.npy: it does not have"):
        open_task(tmp_path / "task")
    reseal(tmp_path / "task")
    with pytest.raises(BadInput, match=r"what was shown \(test\) is not of"):
        open_task(tmp_path / "task")
