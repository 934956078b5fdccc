"""The sample as files of one's own: what is written, and that it is read again."""

import json

import polars as pl
import pytest

import ssi_core as ssi
from ssi_core.collection import open_collection
from ssi_core.command.failures import DONE, REFUSED, USAGE
from ssi_core.command.library import library
from ssi_core.command.verb import run
from ssi_core.sample.own import write_own
from tests.sources import needs_logs

FILES = {"articles.jsonl", "links.csv", "clicks.csv", "clicks.toml"}
WORDS = ["data", "sample", "own", "--size", "40", "--seed", "1", "--json"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder that is the working directory, and its own root."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SSI_ROOT", raising=False)
    return tmp_path


def counts(capsys):
    return json.loads(capsys.readouterr().out)["counts"]


def test_files_of_the_verb_hold_what_read_sample_returns(place, capsys):
    assert run(library, [*WORDS, "--out", "."]) == DONE
    assert {path.name for path in place.iterdir()} == FILES  # the root may only be read
    docs, read = ssi.read_sample(40, seed=1), ssi.read("articles.jsonl", links="links.csv")
    columns = ("id", "title", "text")
    assert read.frame.select(columns).rows() == docs.frame.select(columns).rows()
    assert sorted(read.links.rows()) == sorted(docs.links.rows())
    said, repeated = counts(capsys), read.skipped["link_repeated"]
    assert sum(read.skipped.values()) == repeated
    assert (said["documents"], said["links"]) == (len(docs), len(docs.links) + repeated)


def test_links_of_the_verb_have_their_words(place):
    assert run(library, [*WORDS, "--out", "."]) == DONE
    columns = ("source", "target", "text", "weight")
    docs, read = ssi.read_sample(40, seed=1), ssi.read("articles.jsonl", links="links.csv")
    written, made = (
        open_collection(one.path).frame("relations/anchor").select(columns) for one in (read, docs)
    )
    assert sorted(written.rows()) == sorted(made.rows())


@needs_logs
def test_clicks_are_read_without_a_broken_row(place, capsys):
    assert run(library, [*WORDS, "--out", "."]) == DONE
    clicks = ssi.read("clicks.csv", texts="articles.jsonl")
    assert clicks.relevant == ("click",)
    table = pl.read_csv("clicks.csv")
    assert counts(capsys)["clicks"] == table["clicks"].sum()
    assert clicks.counts["pairs"] == len(table)
    assert not any(clicks.skipped.values())


def test_clicks_are_the_words_of_links_one_for_each_link(tmp_path):
    documents = pl.DataFrame({"id": ["a", "b"], "title": ["A", "B"], "text": ["one", "two"]})
    links = pl.DataFrame({"source": ["a"], "target": ["b"]})
    anchors = pl.DataFrame(
        {
            "source": ["a", "b", "a"],
            "target": ["b", "b", "a"],
            "text": ["bee", "bee", "bee"],
            "weight": [2.0, 1.0, 1.0],
        }
    )
    assert write_own(tmp_path / "own", documents, links, anchors)["clicks"] == 4
    written = (tmp_path / "own" / "clicks.csv").read_text()
    assert written == "words,page,clicks\nbee,a,1\nbee,b,3\n"


def test_a_file_that_holds_something_else_is_kept_without_force(place, capsys):
    assert run(library, [*WORDS, "--out", "."]) == DONE
    assert run(library, [*WORDS, "--out", "."]) == DONE  # the same files
    (place / "links.csv").write_text("mine")
    (place / "articles.jsonl").unlink()
    capsys.readouterr()
    assert run(library, [*WORDS, "--out", "."]) == REFUSED
    assert "links.csv: it exists" in capsys.readouterr().out
    assert (place / "links.csv").read_text() == "mine"
    assert not (place / "articles.jsonl").exists()
    assert run(library, [*WORDS, "--out", ".", "--force"]) == DONE
    assert (place / "links.csv").read_text().startswith("source,target,words\n")


def test_a_directory_alone_is_that_of_the_encyclopedia(place):
    for words in (["here"], ["encyclopedia", "there"], ["--json", "--seed", "1", "./own"]):
        assert run(library, ["data", "sample", *words, "--size", "20"]) == DONE
    assert all((place / name / "README.txt").is_file() for name in ("here", "there", "own"))
    assert run(library, ["data", "sample", "own"]) == USAGE


def test_read_sample_has_500_articles_of_the_first_seed(place, monkeypatch):
    asked = []
    monkeypatch.setattr("ssi_core.sample.face.read_source", lambda *given: asked.append(given))
    monkeypatch.setattr("ssi_core.sample.face.Documents", lambda read: read)
    ssi.read_sample()
    assert asked == [("sample", {"documents": 500, "seed": 0, "processes": 1})]
