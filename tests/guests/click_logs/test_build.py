"""From logs to slates and pairs: what counts, what is dropped, what goes into quarantine."""

import json
import shutil
from collections import Counter

import polars as pl
import pytest

import ssi_core as ssi
from ssi_core import store
from ssi_core.collection import open_collection
from ssi_core.corpus.click_tables import IMPRESSIONS
from ssi_core.corpus.tables import lines
from ssi_core.guests.click_logs import shards
from ssi_core.guests.click_logs.rules import Rules
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput, Refused
from tests.corpora import PAIRS, clicked_pairs, write_corpus
from tests.guests.click_logs import logs


def ingest(tmp_path, rows, form=None, *, out="clicks", queries=None, documents=None, **rules):
    path = logs.write_csv(tmp_path / "log.csv", rows)
    shutil.rmtree(tmp_path / out, ignore_errors=True)
    return logs.ingest(
        [path],
        form or logs.form(),
        tmp_path / out,
        queries=queries,
        documents=documents,
        rules=Rules(**rules),
    )


def impressions(artefact):
    return pl.read_parquet(artefact.path / "impressions" / "*.parquet")


def quarantine(artefact):
    return pl.read_csv(artefact.path / "quarantine.csv")


def accounted(artefact):
    """Rows of the log, by what became of them."""
    out = [n for name, n in artefact.skipped.items() if name.startswith("row_")]
    return artefact.counts["impressions"] + sum(out)


@pytest.fixture(scope="module")
def rows():
    return logs.rows()


def test_slates_with_a_click_are_kept_whole_and_the_others_dropped(tmp_path, rows):
    found = ingest(tmp_path, rows, clicks="all")
    kept = impressions(found)
    assert kept.schema == pl.Schema(IMPRESSIONS)
    clicked = {row["visit"] for row in rows if row["click"] == "1"}
    assert set(kept["session"]) == clicked
    assert found.skipped["slate_without_click"] == 400 - len(clicked)
    assert found.counts["slates"] == len(clicked)
    assert len(kept) == 4 * len(clicked)
    assert accounted(found) == len(rows) == found.counts["rows"]
    first = kept.filter(pl.col("session") == "s1")["timestamp"][0]
    assert str(first) == "2024-01-01 00:01:00+00:00"


def test_pairs_count_clicks_as_the_rules_say(tmp_path, rows):
    every = [(r["url"], r["ad"], int(r["rank"])) for r in rows if r["click"] == "1"]
    found = {}
    for clicks in ("all", "first", "inverse"):
        artefact = ingest(tmp_path, rows, clicks=clicks)
        pairs = clicked_pairs(artefact.path)
        assert pairs.schema == pl.Schema(PAIRS)
        assert (
            artefact.counts["pairs"] == len(pairs) == pairs.select("query", "document").n_unique()
        )
        found[clicks] = artefact, {(p, a): w for p, a, _, _, w, _ in pairs.rows()}
    assert found["all"][1] == {
        pair: sum(pair == one[:2] for one in every) for pair in {one[:2] for one in every}
    }
    first = [one[:2] for one in every if one[2] == 1]
    assert found["first"][1] == {pair: first.count(pair) for pair in set(first)}
    weight = {int(k): 1 / p for k, p in found["inverse"][0].counts["propensities"].items()}
    expected = {pair: 0.0 for pair in found["all"][1]}
    for page, ad, position in every:
        expected[page, ad] += weight[position]
    assert found["inverse"][1] == pytest.approx(expected)
    assert found["first"][0].skipped["click_not_used"] == len(every) - len(first)
    assert {k: 1 / p for k, p in looked_at_again(rows, weight).items()} == pytest.approx(
        weight, rel=1e-4
    )


def looked_at_again(rows, weight):
    """One round of the two equations of the position-based model: what was found stands still."""
    shown = [((r["url"], r["ad"]), int(r["rank"]), r["click"] == "1") for r in rows]
    clicks, looks = Counter(), Counter()
    for pair, place, clicked in shown:
        clicks[pair] += clicked
        looks[pair] += 1 / weight[place]
    clicked_at, relevant = Counter(), Counter()
    for pair, place, clicked in shown:
        clicked_at[place] += clicked
        relevant[place] += clicks[pair] / looks[pair]
    theta = {place: clicked_at[place] / relevant[place] for place in weight}
    return {place: one / theta[1] for place, one in theta.items()}


def test_a_weighted_pair_weighs_its_clicks_over_all_its_looks(tmp_path, rows):
    artefact = ingest(tmp_path, rows, clicks="weighted")
    propensity = {int(k): p for k, p in artefact.counts["propensities"].items()}
    looks, clicks = {}, {}
    for row in rows:
        pair = row["url"], row["ad"]
        looks[pair] = looks.get(pair, 0) + propensity[int(row["rank"])]
        clicks[pair] = clicks.get(pair, 0) + (row["click"] == "1")
    mean = sum(clicks.values()) / sum(looks.values())
    expected = {
        pair: (clicks[pair] + 1) / (looks[pair] + 1 / mean) for pair in clicks if clicks[pair]
    }
    pairs = clicked_pairs(artefact.path)
    assert {(p, a): w for p, a, _, _, w, _ in pairs.rows()} == pytest.approx(expected)
    whole = impressions(artefact)
    assert set(whole["weight"]) == {0.0, 1.0}
    unclicked = pl.read_parquet(artefact.path / "unclicked" / "*.parquet")
    assert unclicked.schema == pl.Schema(IMPRESSIONS)
    assert len(whole) + len(unclicked) == len(rows)
    assert not set(unclicked["session"]) & set(whole["session"])
    assert not (ingest(tmp_path, rows, clicks="all", out="all").path / "unclicked").exists()


def test_weights_are_clipped_and_it_is_said_how_many(tmp_path, rows):
    found = ingest(tmp_path, rows, clicks="inverse", clip=1.5)
    assert impressions(found)["weight"].max() == 1.5
    last = sum(r["click"] == "1" and r["rank"] != "1" for r in rows)
    assert found.counts["clicks_clipped"] == last


def test_shown_counts_what_could_have_counted(tmp_path, rows):
    pairs = clicked_pairs(ingest(tmp_path, rows, clicks="first").path)
    page, ad, shown, clicks, *_ = pairs.row(0)
    own = [r for r in rows if (r["url"], r["ad"], r["rank"]) == (page, ad, "1")]
    assert (shown, clicks) == (len(own), sum(r["click"] == "1" for r in own))


def test_texts_come_from_the_log_each_id_once(tmp_path, rows):
    found = ingest(tmp_path, rows)
    ads = open_collection(found.path).documents.collect()
    assert sorted(ads["id"]) == sorted({row["ad"] for row in rows})
    text = dict(ads.select("id", "text").rows())
    assert text["a7"] == "ad number 7, buy"
    assert set(ads["language"]) == {"en"}
    assert found.counts["language"].startswith("en (words between blanks; guessed from")
    assert found.counts["documents"] == len(ads)
    pages = pl.read_parquet(found.path / "queries" / "*.parquet")
    assert len(pages) == found.counts["queries"] == 20


def test_texts_that_have_no_id_get_one(tmp_path, rows):
    columns = {k: v for k, v in logs.COLUMNS.items() if k not in ("query", "document")}
    found = ingest(tmp_path, rows, logs.form(columns=columns))
    plain = ingest(tmp_path, rows, out="plain")
    assert found.counts["pairs"] == plain.counts["pairs"]
    assert found.counts["documents"] == plain.counts["documents"]


def test_texts_come_from_a_corpus_and_a_table(tmp_path, rows):
    corpus = write_corpus(tmp_path / "corpus", [f"words of page {i}" for i in range(30)], [])
    table = tmp_path / "ads.tsv"
    table.write_text("number\tsays\n" + "".join(f"a{i}\tad {i}\n" for i in range(50)))
    columns = {k: v for k, v in logs.COLUMNS.items() if not k.endswith("text")}
    form = logs.form(columns=columns, documents={"id": "number", "text": "says", "language": "de"})
    rows = [{**row, "url": row["url"].replace("p", "d")} for row in rows]
    found = ingest(tmp_path, rows, form, queries=corpus, documents=table)
    pages = pl.read_parquet(found.path / "queries" / "*.parquet")
    assert set(pages["id"]) == {f"d{i}" for i in range(20)}
    assert "words of page 3" in pages["text"].to_list()
    ads = open_collection(found.path).documents.collect()
    assert len(ads) == 50, "ads that were never shown are candidates, too"
    assert set(ads["language"]) == {"de"}

    known = tmp_path / "known.tsv"
    known.write_text(table.read_text().replace("number\tsays", "docid\tcontent"))
    form = logs.form(columns=columns, documents={"language": "de"})
    guessed = ingest(tmp_path, rows, form, queries=corpus, documents=known, out="known")
    assert open_collection(guessed.path).documents.collect().equals(ads)

    rows[5]["ad"] = "a99"
    form = logs.form(columns=columns, documents={"id": "number", "text": "says", "language": "de"})
    again = ingest(tmp_path, rows, form, queries=corpus, documents=table, out="again")
    assert again.skipped["row_document_unknown"] == 1
    assert quarantine(again)["reason"].to_list() == ["ad: 'a99' is no id of ads.tsv"]


def test_shards_and_blocks_change_nothing(tmp_path, rows, monkeypatch):
    whole = ingest(tmp_path, rows, clicks="weighted")
    monkeypatch.setattr(shards, "_BYTES", 50_000)
    monkeypatch.setattr(shards, "_HELD", 500)
    monkeypatch.setattr(lines, "BLOCK_BYTES", 20_000)
    parts = ingest(tmp_path, rows, clicks="weighted", out="parts")
    assert parts.counts == whole.counts
    assert parts.skipped == whole.skipped
    order = ["session", "position"]
    both = [impressions(one).sort(order) for one in (parts, whole)]
    assert both[0].drop("event").equals(both[1].drop("event"))
    for shown in both:
        assert shown.select("event", "session", "query").n_unique() == shown["event"].n_unique()
    assert not (parts.path / "rows").exists()


def test_the_same_log_is_not_read_twice_and_other_rules_are_another_artefact(tmp_path, rows):
    path = logs.write_csv(tmp_path / "log.csv", rows)
    first = logs.ingest([path], logs.form(), tmp_path / "clicks")
    written = (
        (tmp_path / "clicks" / "relations" / "click" / "part-00000.parquet").stat().st_mtime_ns
    )
    assert logs.ingest([path], logs.form(), tmp_path / "clicks").key == first.key
    assert (
        tmp_path / "clicks" / "relations" / "click" / "part-00000.parquet"
    ).stat().st_mtime_ns == written
    with pytest.raises(Refused):
        logs.ingest([path], logs.form(), tmp_path / "clicks", rules=Rules(clicks="first"))


# What is wrong with a log


def spoilt(rows, share=0.01, **values):
    step = round(1 / share)
    return [{**row, **values} if i % step == step - 1 else row for i, row in enumerate(rows)]


@pytest.mark.parametrize(
    ("values", "category", "reason"),
    [
        ({"rank": "third"}, "position_no_number", "rank: 'third' is no whole number"),
        ({"rank": "1.5"}, "position_no_number", "rank: '1.5' is no whole number"),
        ({"rank": "0"}, "position_below_first", "first position, 1 ([log] first_position)"),
        ({"click": "maybe"}, "clicked_unknown", "click: 'maybe' is neither a click (1, true,"),
        ({"click": ""}, "clicked_unknown", "click: '' is neither"),
        ({"ad": " "}, "document_missing", "ad: ' ' is empty"),
        ({"visit": ""}, "session_missing", "visit: '' is empty"),
        ({"when": "yesterday"}, "timestamp_unknown", "when: 'yesterday' is no time"),
        ({"creative": "other"}, "document_other_text", "has another text in line"),
    ],
)
def test_a_percent_of_broken_rows_goes_into_quarantine(tmp_path, rows, values, category, reason):
    bad = spoilt(rows, **values)
    found = ingest(tmp_path, bad, clicks="all")
    aside = quarantine(found)
    assert found.skipped[f"row_{category}"] == len(aside) == len(rows) // 100
    assert set(aside["category"]) == {category}
    assert all(reason in one for one in aside["reason"])
    broken = [i + 2 for i, row in enumerate(bad) if row != rows[i]]
    assert sorted(aside["line"]) == broken
    assert set(aside["file"]) == {"log.csv"}
    assert accounted(found) == len(rows)


def test_what_cannot_be_in_one_slate_goes_into_quarantine(tmp_path):
    row = {**logs.rows(1)[0], "click": "1"}
    row.update(creative="x", body="y", rank="1", ad="a1")
    second = {**row, "ad": "a2", "rank": "2", "click": "0"}
    found = ingest(
        tmp_path,
        [
            row,
            second,
            {**second, "click": "1"},
            {**row, "ad": "a3"},
            {**row, "rank": "3"},
            {**row, "visit": "other"},
        ],
        clicks="all",
        most_broken=0.5,
    )
    assert quarantine(found).select("line", "category").rows() == [
        (5, "position_taken"), (6, "document_repeated"),
    ]  # fmt: skip
    assert found.skipped["row_merged"] == 1
    kept = impressions(found).sort("session", "position")
    assert kept.select("document", "position", "clicked").rows() == [
        ("a1", 1, True), ("a1", 1, True), ("a2", 2, True),
    ]  # fmt: skip
    assert accounted(found) == 6


def test_ids_that_pandas_made_floats_of_are_whole_numbers(tmp_path):
    (tmp_path / "log.csv").write_text("query,document\nold car,7.0\nnew car,8\n")
    (tmp_path / "texts.csv").write_text("id,text\n7,a car\n8.0,cars\n")
    found = ssi.read(tmp_path / "log.csv", texts=tmp_path / "texts.csv")
    assert {*open_collection(found.path).frame("relations/click")["target"]} == {"7", "8.0"}


def test_pages_for_ads_are_found_out_by_their_tables(tmp_path, rows):
    corpus = write_corpus(tmp_path / "corpus", [f"words of page {i}" for i in range(30)], [])
    columns = {**logs.COLUMNS, "query": "ad", "document": "url"}
    del columns["query_text"]
    with pytest.raises(BadInput, match=r"1,600 of 1,600 rows are broken.*is no id of corpus"):
        ingest(tmp_path, rows, logs.form(columns=columns), queries=corpus)


@pytest.mark.parametrize("encoded", ["utf-8-sig", "crlf"])
def test_marks_and_line_ends_of_windows_change_nothing(tmp_path, rows, encoded):
    plain = ingest(tmp_path, rows)
    text = (tmp_path / "log.csv").read_text()
    data = text.replace("\n", "\r\n").encode() if encoded == "crlf" else text.encode(encoded)
    (tmp_path / "log.csv").write_bytes(data)
    found = logs.ingest([tmp_path / "log.csv"], logs.form(), tmp_path / "other")
    assert (found.counts, found.skipped) == (plain.counts, plain.skipped)


def test_two_logs_are_read_one_after_the_other(tmp_path, rows):
    half = len(rows) // 2
    paths = [
        logs.write_csv(tmp_path / f"{n}.csv", part)
        for n, part in enumerate((rows[:half], spoilt(rows[half:], rank="x")))
    ]
    found = logs.ingest(paths, logs.form(), tmp_path / "clicks")
    assert found.counts["rows"] == len(rows)
    assert set(quarantine(found)["file"]) == {"1.csv"}


@pytest.mark.parametrize(
    ("how", "said"),
    [({"clicks": "some"}, "clicks='some'"), ({"clip": 0.5}, "clip=0.5"),
     ({"most_broken": 2}, "most_broken=2")],
)  # fmt: skip
def test_a_rule_that_is_none_is_named(how, said):
    with pytest.raises(ValueError, match=said):
        Rules(**how)


def test_the_manifest_is_json_and_names_the_map(tmp_path, rows):
    found = ingest(tmp_path, rows, clicks="weighted")
    said = json.loads((found.path / store.MANIFEST).read_text())
    assert said["configuration"]["map"]["columns"] == logs.COLUMNS
    assert said["configuration"]["clicks"] == "weighted"
    assert list(said["parents"]) == ["log.csv"]


def test_pages_that_are_ads_have_their_texts_once(tmp_path, rows):
    corpus = write_corpus(tmp_path / "corpus", [f"words of {i}" for i in range(50)], [(1, 2)])
    columns = {k: v for k, v in logs.COLUMNS.items() if not k.endswith("text")}
    form = logs.form(columns=columns)
    rows = [
        {**row, "url": row["url"].replace("p", "d"), "ad": row["ad"].replace("a", "d")}
        for row in rows
    ]
    found = open_collection(ingest(tmp_path, rows, form, queries=corpus, documents=corpus).path)
    assert found.sides == ("documents",)
    assert found.relevant == ("click", "link")
    given = open_collection(corpus)
    pairs = zip(found.parts("documents"), given.parts("documents"), strict=True)
    assert all(own.samefile(theirs) for own, theirs in pairs), "the same files, not a copy"
    assert found.links.collect().rows() == [("d1", "d2")]
    build_task(found.path, tmp_path / "task", relevant="click", views=("raw",))
    task = open_task(tmp_path / "task")
    assert task.queries is task.documents
    assert task.exclude.diagonal().all(), "a page is never its own answer"
