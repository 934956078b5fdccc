"""A made-up collection of a size is a collection, and its dump is read as the same."""

import subprocess
import sys

import polars as pl

from benchmarks.zipf import COMMAND
from benchmarks.zipf.collection import Zipf
from benchmarks.zipf.world import title_of, write_dump
from ssi_core.collection import open_collection
from ssi_core.store import read
from tests.sources import ingest


def links_of(corpus):
    """Links by the titles of their ends."""
    titles = dict(corpus.names("documents").select("id", "title").iter_rows())
    rows = corpus.links.collect().iter_rows()
    return sorted((titles[source], titles[target]) for source, target in rows)


def test_a_dump_is_read_as_the_collection_of_the_same_documents(tmp_path):
    made = Zipf(documents=60, seed=5).read(tmp_path / "made")
    written = write_dump(tmp_path / "enwiki-pages-articles.xml.bz2", 60, 5)
    read = ingest("wikipedia", [tmp_path / "enwiki-pages-articles.xml.bz2"], tmp_path / "read")
    collections = [open_collection(one.path) for one in (made, read)]
    assert written == made.counts["links"] == read.counts["links"]
    assert links_of(collections[0]) == links_of(collections[1])
    texts = [one.documents.select("title", "text").collect() for one in collections]
    assert texts[0]["title"].equals(texts[1]["title"])
    words = set(texts[0]["text"][0].lower().replace(".", "").split())
    assert words <= set(texts[1]["text"][0].lower().replace(".", "").split())


def test_titles_are_distinct_and_no_word_of_the_texts(tmp_path):
    made = open_collection(Zipf(documents=400).read(tmp_path / "made").path)
    titles = [title_of(number) for number in range(400)]
    assert made.names("documents")["title"].to_list() == titles
    assert len(set(titles)) == 400
    words = made.documents.select(pl.col("text").str.to_lowercase().str.split(" ")).collect()
    assert not set(words["text"].explode()) & {title.lower() for title in titles}


def test_the_same_seed_gives_the_same_collection_and_another_one_another(tmp_path):
    makings = [
        Zipf(documents=50, seed=seed).read(tmp_path / name)
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    texts = [open_collection(one.path).documents.collect()["text"].to_list() for one in makings]
    assert texts[0] == texts[1] != texts[2]


def test_the_command_has_the_source(tmp_path):
    out = tmp_path / "made"
    words = ["data", "ingest", "zipf", "--size", "30", "--out", out, "--root", tmp_path]
    subprocess.run([sys.executable, "-c", COMMAND, *map(str, words)], check=True)
    assert read(out).counts["documents"] == 30
