"""Feeds in Atom and RSS: read, refused where hostile, scored, judged, written, ingested."""

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import sparse

pytest.importorskip("feedparser", reason="the extra feeds is not installed")

from flows.cli import cli
from ssi_core.collection import open_collection
from ssi_core.command.verb import run
from ssi_core.guests.feeds import reading
from ssi_core.guests.feeds.compare import CHOSEN, compare, judge, pairs_of
from ssi_core.guests.feeds.elements import SETS, score
from ssi_core.guests.feeds.reading import Entry, Feed, Malformed, read_feed, read_feeds
from ssi_core.guests.feeds.relevance import decide, measures, train
from ssi_core.guests.feeds.writing import atom, draw, read_topics, rss, write_feeds
from ssi_core.types import BadInput, Refused
from tests.robust.tally import attempt
from tests.sources import ingest

EXAMPLE = b"""<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <title>Example &amp; Feed</title><subtitle>A subtitle.</subtitle>
  <category term="Robots"/><updated>2003-12-13T18:30:02Z</updated>
  <entry><title>Old</title><id>urn:1</id><updated>2003-12-12T18:30:02Z</updated>
    <link href="http://example.org/old"/><summary>Some text.</summary></entry>
  <entry><title>New</title><id>urn:2</id><updated>2003-12-13T18:30:02Z</updated>
    <link href="http://example.org/new"/>
    <summary type="html">&lt;p&gt;See &lt;a href="http://example.org/old"&gt;the old one&lt;/a&gt;
      and &lt;a href="http://elsewhere.example/"&gt;more&lt;/a&gt;&lt;script&gt;x()&lt;/script&gt;</summary></entry>
</feed>"""
BOMB = b"""<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>
<rss version="2.0"><channel><title>&b;</title></channel></rss>"""
FILE = b"""<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a SYSTEM "file:///etc/passwd">]>
<rss version="2.0"><channel><title>&a;</title></channel></rss>"""


def made(count=120, topics=12, seed=0):
    """Feeds of which some have their topic in the title, and some in their entries."""
    random = np.random.default_rng(seed)
    names = [f"q{chr(97 + one)}x" for one in range(topics)]
    feeds = []
    for number in range(count):
        topic = names[number % topics]
        title = topic if random.random() < 0.4 else "journal"
        other = names[int(random.integers(topics))]
        entries = tuple(
            Entry(f"{number}.{place}", topic if random.random() < 0.3 else "news", f"about {other}")
            for place in range(4)
        )
        feeds.append(Feed(f"f{number}", title, "words of a writer", (topic,), entries))
    return feeds


def stamped(feed):
    moments = [f"2024-01-0{9 - position}T00:00:00+00:00" for position in range(len(feed.entries))]
    entries = [replace(one, timestamp=t) for one, t in zip(feed.entries, moments, strict=True)]
    return replace(feed, entries=tuple(entries))


def test_a_feed_is_read_with_its_newest_entry_first(tmp_path):
    (tmp_path / "one.atom").write_bytes(EXAMPLE)
    feed = read_feed(tmp_path / "one.atom")
    assert (feed.title, feed.description, feed.topics) == (
        "Example & Feed",
        "A subtitle.",
        ("Robots",),
    )
    assert [entry.title for entry in feed.entries] == ["New", "Old"]
    assert feed.entries[0].description == "See the old one and more"
    assert feed.entries[0].links[0] == ("http://example.org/old", "the old one")
    assert feed.entries[0].timestamp == "2003-12-13T18:30:02Z"


@pytest.mark.parametrize("write", [atom, rss])
def test_a_written_feed_comes_back(tmp_path, write):
    first, second = "2024-01-02T00:00:00+00:00", "2024-01-01T00:00:00+00:00"
    entries = (
        Entry("x", "Fish & <chips>", "a < b & c\x00", timestamp=first),
        Entry("y", "Tea", "", timestamp=second),
    )
    feed = Feed("Caf%C3%A9", "Café & <Bar>", "Where & when", ("Food", "Drink"), entries)
    (tmp_path / "one.xml").write_bytes(write(feed))
    again = read_feed(tmp_path / "one.xml")
    assert (again.title, again.description, again.topics) == (
        feed.title,
        feed.description,
        feed.topics,
    )
    assert [(one.title, one.description) for one in again.entries] == [
        ("Fish & <chips>", "a < b & c"), ("Tea", ""),
    ]  # fmt: skip


@pytest.mark.hostile("feeds")
@pytest.mark.parametrize("data", [BOMB, FILE, BOMB.decode().encode("utf-16")])
def test_a_file_that_declares_entities_is_left_out_and_counted(tmp_path, data, caplog):
    (tmp_path / "good.atom").write_bytes(EXAMPLE)
    (tmp_path / "hostile.rss").write_bytes(data.replace(b'<?xml version="1.0"?>', b""))
    message = r"hostile.rss: line \d: it declares the entity 'a'"
    with pytest.raises(BadInput, match=message), attempt():
        read_feed(tmp_path / "hostile.rss")
    skipped = Counter()
    with attempt():
        assert [feed.name for feed in read_feeds(tmp_path, skipped)] == ["good.atom"]
    assert skipped == {"file_with_entities": 1}
    assert "it declares the entity 'a'" in caplog.text
    artefact = ingest("feeds", tmp_path, tmp_path.parent / f"{tmp_path.name}-out")
    assert (artefact.counts["feeds"], artefact.skipped["file_with_entities"]) == (1, 1)
    (tmp_path / "good.atom").unlink()
    with pytest.raises(BadInput, match=r"none of its 1 files is a feed.*declares the entity"):
        list(read_feeds(tmp_path, Counter()))


def test_what_is_no_feed_is_left_out_and_counted(tmp_path, monkeypatch, caplog):
    (tmp_path / "good.atom").write_bytes(EXAMPLE)
    (tmp_path / "broken.rss").write_bytes(b"<rss><channel>")
    (tmp_path / "page.xml").write_bytes(b"<html><body>hello</body></html>")
    (tmp_path / "note.txt").write_text("mine")
    skipped = Counter()
    assert [feed.name for feed in read_feeds(tmp_path, skipped)] == ["good.atom"]
    assert skipped == {"file_txt": 1, "file_no_feed": 2}
    assert "broken.rss: it is no well-formed XML" in caplog.text
    with pytest.raises(Malformed, match="neither Atom nor RSS"):
        read_feed(tmp_path / "page.xml")
    monkeypatch.setattr(reading, "LARGEST", 10)
    with pytest.raises(BadInput, match="no feed is in it"):
        list(read_feeds(tmp_path, Counter()))
    with pytest.raises(BadInput, match="there is no such folder"):
        list(read_feeds(tmp_path / "none", Counter()))


def test_entries_become_documents_with_their_links(tmp_path):
    path = tmp_path / "feeds"
    path.mkdir()
    (path / "one.atom").write_bytes(EXAMPLE)
    artefact = ingest("feeds", path, tmp_path / "out")
    opened = open_collection(artefact.path)
    documents = opened.documents.collect()
    assert documents["id"].to_list() == ["urn:2", "urn:1"]
    assert documents["title"].to_list() == ["New", "Old"]
    assert opened.links.select("source", "target").collect().rows() == [("urn:2", "urn:1")]
    assert artefact.counts["links_found"] == 2
    assert artefact.skipped["link_to_no_entry"] == 1
    labels = pl.read_parquet(opened.labels("documents"))
    assert set(labels.rows()) == {
        (one, column, value)
        for one in ("urn:1", "urn:2")
        for column, value in (("feed", "Example & Feed"), ("topic", "Robots"))
    }


def naive_sigma(query, bag, match):
    enough = all if match == "all" else any
    if not enough(term in bag for term in query):
        return 0.0
    return sum(bag.count(term) for term in query) / len(bag)


@pytest.mark.parametrize("match", ["all", "any"])
def test_scores_are_those_of_the_paper(match):
    feeds = made(21)
    topics = ["qax", "qbx journal", "about qcx", "unknown", "qax journal words"]
    scores = score(feeds, topics, 3, match=match, stems=str.split)
    values = scores.values.toarray()
    for number, feed in enumerate(feeds):
        bags = [feed.title, feed.description]
        bags += [entry.title for entry in feed.entries[:3]]
        bags += [entry.description for entry in feed.entries[:3]]
        for position, topic in enumerate(topics):
            expected = [naive_sigma(topic.split(), bag.split(), match) for bag in bags]
            np.testing.assert_allclose(values[number * len(topics) + position], expected)
    assert values.any()
    assert scores.columns(("FT", "ED"), 2).tolist() == [0, 5, 6]
    assert len(SETS) == 15


def test_rows_of_zeros_may_be_one_row_with_a_weight():
    random = np.random.default_rng(0)
    rows = sparse.csr_array(
        np.where(random.random((60, 4)) < 0.5, random.random((60, 4)), 0) + 0.01
    )
    relevant = random.random(60) < 0.5
    collapsed = train(rows, relevant, (200, 7), 10.0)
    whole = sparse.csr_array(sparse.vstack([rows, sparse.csr_array((207, 4))]))
    labels = np.concatenate([relevant, np.zeros(200, bool), np.ones(7, bool)])
    full = train(whole, labels, (0, 0), 10.0)
    np.testing.assert_allclose(collapsed.coef_, full.coef_, atol=1e-9)
    np.testing.assert_allclose(collapsed.intercept_, full.intercept_, atol=1e-9)
    judged, zeros = decide(collapsed, rows)
    np.testing.assert_array_equal(judged, collapsed.predict(rows))
    assert zeros == bool(collapsed.predict(sparse.csr_array((1, 4)))[0])


def test_precision_recall_and_f():
    precision, recall, f = measures(np.array([3.0, 0]), np.array([1.0, 0]), np.array([6.0, 0]))
    assert precision.tolist() == [0.75, 0]
    assert recall.tolist() == [0.5, 0]
    assert f.tolist() == [pytest.approx(0.6), 0]


def test_each_topic_is_judged_once_by_a_machine_that_has_not_seen_it():
    feeds = made()
    topics = sorted({feed.topics[0] for feed in feeds})
    scores = score(feeds, topics, 4)
    pairs = pairs_of(feeds, topics, scores, 0)
    assert np.bincount(pairs.fold_of).tolist() == [3, 3, 2, 2, 2]
    judged = judge(pairs, scores.columns(("FT",), 0), (10.0,))
    named = [sum(feed.title == topic for feed in feeds) for topic in topics]
    assert judged.right.tolist() == named  # a feed that has the topic for its title is on it
    assert not judged.wrong.any()


def test_entries_add_recall_and_validation_chooses():
    told = []
    result = compare(
        made(),
        entries=(1, 4),
        weights=(1.0, 100.0),
        progress=lambda share, what: told.append(share),
    )
    assert told == sorted(told)
    rows = {(row["elements"], row["entries"]): row for row in result["rows"]}
    assert len(rows) == 12 * 2 + 3 + 1
    assert rows["FT", 0]["precision"] == 1
    assert rows["FT+ET", 4]["recall"] > rows["FT+ET", 1]["recall"] > rows["FT", 0]["recall"]
    for label in ("FT+ET", "ED"):
        best = max((1, 4), key=lambda n: rows[label, n]["validation_f"])
        assert [n for n in (1, 4) if rows[label, n].get("best")] == [best]
    assert rows[CHOSEN, 0]["f"] > rows["FT", 0]["f"]
    chosen = [name.split() for name in rows[CHOSEN, 0]["folds"]]
    assert len(chosen) == 5
    assert {(elements, int(n)) for elements, n in chosen} <= rows.keys() - {(CHOSEN, 0)}
    test = rows["FT", 0]["test"]
    base = rows["FT+FD+ET+ED", 4]
    assert test["difference"] == pytest.approx(rows["FT", 0]["f_topics"] - base["f_topics"])
    assert test["p"] <= test["p_holm"] <= 1
    with pytest.raises(BadInput, match="10 are needed"):
        compare(made(topics=4))


def test_the_print_is_whole():
    printed = compare(made(), entries=(1,), weights=(1.0,))["printed"]
    assert len(printed["table_1"]) == 28
    assert [row["elements"] for row in printed["table_2"]].count("FT+FD+ED") == 1
    for row in (*printed["table_1"], *printed["table_2"]):
        p, r = row["precision"], row["recall"]
        if row["elements"] in ("FT+FD", "FT", "ET", "ED", "FD") and row.get("entries", 1) == 0:
            assert row["f"] == pytest.approx(2 * p * r / (p + r), abs=1e-3)


@pytest.fixture
def linked(tmp_path):
    """A collection of pages that link to each other, made of a folder."""
    from tests.sources import ingest

    path = tmp_path / "pages"
    path.mkdir()
    for number in range(8):
        links = " ".join(f"[Page {other}]({other}.md)" for other in range(8) if other != number)
        (path / f"{number}.md").write_text(
            f"# Page {number}\n\nShort.\n\n{'Ships sail. ' * 9}{links}\n"
        )
    return open_collection(ingest("folder", path, tmp_path / "corpus", language="en").path)


def test_feeds_are_made_of_documents_that_share_a_topic(linked, tmp_path, capsys):
    table = tmp_path / "topics.tsv"
    lines = ["# id, topic", *(f"{n}.md\tsubject.Sea.Ship_yards" for n in range(4))]
    lines += [f"{n}.md\tTrees" for n in range(3, 8)] + ["none.md\tTrees"]
    table.write_text("\n".join(lines))
    known = frozenset(linked.names("documents")["id"])
    topics, unknown = read_topics(table, known)
    assert (list(topics), unknown) == (["Ship yards", "Trees"], 1)
    drawn = draw(topics, 3, 20, 0)
    counts = write_feeds(linked, drawn, tmp_path / "feeds", entries=2)
    assert counts == {"feeds": 8, "entries": 16, "topics": 2, "feeds_without_entry": 0}
    suffixes = Counter(path.suffix for path in (tmp_path / "feeds").iterdir())
    assert suffixes == {".atom": 4, ".rss": 4}
    feeds = {feed.title: feed for feed in read_feeds(tmp_path / "feeds", Counter())}
    assert feeds["Page 0"].topics == ("Ship yards",)
    assert feeds["Page 3"].topics == ("Ship yards", "Trees")
    assert [entry.title for entry in feeds["Page 0"].entries] == ["Page 1", "Page 2"]
    assert feeds["Page 7"].entries[0].title == "Page 3"
    with pytest.raises(Refused, match="left alone"):
        write_feeds(linked, drawn, tmp_path / "feeds", entries=2)
    with pytest.raises(BadInput, match="smaller --least"):
        draw(topics, 9, 20, 0)
    table.write_text("0.md\tSea\n", encoding="utf-8-sig")
    assert read_topics(table, known) == ({"Sea": ["0.md"]}, 0)
    table.write_text("none.md\tSea\n")
    arguments = [str(linked.path), str(tmp_path / "others"), "--topics", str(table)]
    assert run(cli, ["rank", "feeds", "write", *arguments]) == 3
    assert "none of its 1 rows has the id of a document" in " ".join(
        capsys.readouterr().err.split()
    )
    table.write_text("one column\n")
    with pytest.raises(BadInput, match="line 1 has 1 columns"):
        read_topics(table, known)
