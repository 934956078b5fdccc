"""Small inputs of every source; each holds words that stand in one field of one document alone."""

import gzip
import json
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import polars as pl
import pytest

import ssi_core as ssi
from ssi_core.corpus import sources
from ssi_core.corpus.sources import source_named
from tests.datasets import dumps, kyoto
from tests.datasets.test_farm_ads import written as write_farm_ads
from tests.datasets.test_smart import write as write_smart
from tests.datasets.test_wikispeedia import release
from tests.fielded import word

N = 61
AT = 7
"""The document that has the words, by its number."""
TEXT, TITLE, HEADINGS, ANCHORS, URL = (
    "qqtextual", "qqtitular", "qqheaded", "qqanchored", "qqaddressed",
)  # fmt: skip
FIELD = {TEXT: "text", TITLE: "title", HEADINGS: "headings", ANCHORS: "anchors", URL: "url"}
BARE = ("farm-ads", "anchors", "zzquerylog", "dbpedia-entity")
"""Sources whose documents are titles, or bags of words: there all words are the text."""


def text(i):
    """Words of a document; TEXT is in one of them."""
    return f"some common words {word(i)} {word(1000 + i)} {word(2000 + i)}" + f" {TEXT}" * (i == AT)


def title(i):
    return f"Page {word(3000 + i)}" + f" {TITLE}" * (i == AT)


def _gzip(path, content):
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(content)


def _read(name, /, **settings):
    return ssi.Documents(source_named(name)(**settings).fetched().read())


def dump(place):
    """Pages with a heading, which another page links to in words of its own."""
    pages = [
        dumps.page(
            i + 1, title(i),
            f"{text(i)} [[{title((i + 1) % N)}|on{f' {ANCHORS}' * ((i + 1) % N == AT)}]]\n"
            f"== {HEADINGS if i == AT else 'History'} ==\nmore",
        )
        for i in range(N)
    ]  # fmt: skip
    return dumps.write(place / "enwiki-1.xml", dumps.xml(*pages))


def wikipedia(place):
    made = _read("wikipedia", paths=dump(place), processes=1)
    return made, {TEXT: AT, TITLE: AT, HEADINGS: AT, ANCHORS: AT}


def _wikispeedia(place, name="wikispeedia"):
    names = [title(i).replace(" ", "_") for i in range(N)]
    links = "".join(f"{one}\t{other}\n" for one, other in pairwise(names))
    release(place, {one: text(i) for i, one in enumerate(names)}, links, names=names)
    header = "path_id\tplayer\ttimestamp\tdurationInSec\tpath\trating\n"
    rows = [f"{i}\tp\t122762872{i % 10}\t15\t{names[i]};{names[i + 1]}\t" for i in range(N - 1)]
    _gzip(place / "paths_finished_unique.tsv.gz", header + "\n".join(rows) + "\n")
    _gzip(place / "paths_unfinished.tsv.gz", "# none\n")
    return _read(name, paths=place), {TEXT: AT, TITLE: AT}


def wikispeedia_clicks(place):
    return _wikispeedia(place, "wikispeedia-clicks")


def collection(place):
    records = (f".I {i + 1}\n.T\n{title(i)}\n.W\n{text(i)}\n" for i in range(N))
    write_smart(place / "in", "1 1 1\n", "".join(records))
    return _read("collection", paths=place / "in"), {TEXT: AT, TITLE: AT}


def mates(place):
    made = source_named("sample-mates")(documents=100).fetched()
    files = {"langlinks": made.langlinks, "dictionary": made.dictionary}
    return _read("mates", corpora=made.corpora, **files), ("title", "text")


def kyoto_articles(place):
    def article(i):
        english = kyoto.sentence("日本の文", text(i))
        return kyoto.article(f"題{i}名", title(i), english)

    articles = {f"CLT/CLT{i:05d}.xml": article(i) for i in range(N)}
    return _read("kyoto", paths=kyoto.release(place / "in", articles)), {TEXT: AT, TITLE: AT}


def pairs(place):
    rows = "".join(f"{i} 番目の日本の文;{text(i)}\n" for i in range(N))
    (place / "pairs.csv").write_text(f"ja;en\n{rows}", encoding="utf-8")
    return _read("pairs", paths=place / "pairs.csv"), {TEXT: AT}


def beir(place):
    rows = [{"_id": f"d{i}", "title": title(i), "text": text(i)} for i in range(N)]
    (place / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (place / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "common"}) + "\n")
    (place / "qrels").mkdir()
    (place / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td1\t1\n")
    return _read("beir", paths=place), {TEXT: AT, TITLE: AT}


def ubi(place):
    from tests.guests.click_logs.test_ubi import bulk, event, query

    lines = [
        line
        for i in range(N)
        for line in (
            query(f"q{i}", f"word {word(i)}"),
            event("impression", f"q{i}", f"d{i}", 0),
            event("impression", f"q{i}", f"d{(i + 1) % N}", 1),
            event("click", f"q{i}", f"d{i}", 0),
        )
    ]
    (place / "ubi.ndjson").write_text(bulk(lines))
    rows = [{"id": f"d{i}", "title": title(i), "text": text(i)} for i in range(N)]
    pl.DataFrame(rows).write_ndjson(place / "documents.jsonl")
    made = _read("ubi", paths=place / "ubi.ndjson", documents=place / "documents.jsonl")
    return made, {TEXT: AT, TITLE: AT}


def _rows():
    return [
        {
            "id": f"d{i}", "title": title(i), "text": text(i),
            "url": f"https://example.org/{URL if i == AT else 'page'}/{i}.html",
            "headings": ["History", *[HEADINGS] * (i == AT)],
        }
        for i in range(N)
    ]  # fmt: skip


def _links():
    return [
        {"source": f"d{i}", "target": f"d{(i + 1) % N}",
         "anchor": "on" + f" {ANCHORS}" * ((i + 1) % N == AT)}
        for i in range(N)
    ]  # fmt: skip


def table(place):
    pl.DataFrame(_rows()).write_ndjson(place / "pages.jsonl")
    pl.DataFrame(_links()).write_csv(place / "links.csv")
    made = _read("table", paths=place / "pages.jsonl", links=place / "links.csv")
    return made, {TEXT: AT, TITLE: AT, HEADINGS: AT, ANCHORS: AT, URL: AT}


def judged(place):
    documents, expected = table(place)
    (place / "queries.tsv").write_text("id\ttext\nq\tcommon words\n")
    (place / "qrels.tsv").write_text("query\tdocument\tgrade\nq\td1\t1\n")
    settings = {"queries": place / "queries.tsv", "qrels": place / "qrels.tsv"}
    return _read("judged", paths=documents.path, **settings), expected


def folder(place):
    """Markdown and HTML; the page AT is of the first kind, the next one of the second."""
    for i in range(N):
        on = (i + 1) % N
        end = "html" if on == AT + 1 else "md"
        link = f"{'on ' + ANCHORS if on == AT else 'on'}", f"page{on}.{end}"
        head = f"History {HEADINGS}" if i == AT else "History"
        (place / f"page{i}.md").write_text(
            f"---\ntitle: {title(i)}\n---\n\n{text(i)} [{link[0]}]({link[1]})\n\n"
            f"## {head}\n\nmore\n"
        )
    (place / f"page{AT + 1}.md").unlink()
    (place / f"page{AT + 1}.html").write_text(
        f"<html><head><title>{TITLE}html</title></head><body><p>{text(AT + 1)}</p>"
        f"<h2>{HEADINGS}html</h2><p>more <a href='page9.md'>on {ANCHORS}html</a></p></body></html>"
    )
    expected = {TEXT: AT, TITLE: AT, HEADINGS: AT, ANCHORS: AT, f"page{AT}": AT}
    html = {f"{TITLE}html": AT + 1, f"{HEADINGS}html": AT + 1, f"{ANCHORS}html": AT + 2}
    return _read("folder", paths=place), {**expected, **html}


def feeds(place):
    entries = "".join(
        f"<entry><id>e{i}</id><title>{title(i)}</title><summary>{text(i)}</summary>"
        "<updated>2020-01-01T00:00:00Z</updated></entry>"
        for i in range(N)
    )
    head = "<id>f</id><title>journal</title><subtitle>words of a writer</subtitle>"
    feed = f'<feed xmlns="http://www.w3.org/2005/Atom">{head}{entries}</feed>'
    (place / "feed.atom").write_text(feed)
    return _read("feeds", paths=place), {TEXT: AT, TITLE: AT}


def trec(place):
    documents = (
        f"<DOC>\n<DOCNO> d{i} </DOCNO>\n<TITLE>{title(i)}</TITLE>\n<TEXT>\n{text(i)}\n</TEXT>\n"
        "</DOC>\n"
        for i in range(N)
    )
    (place / "docs.sgml").write_text("".join(documents))
    (place / "topics.txt").write_text("1\tcommon words\n")
    (place / "qrels.txt").write_text("1 0 d1 1\n")
    settings = {"topics": place / "topics.txt", "qrels": place / "qrels.txt"}
    return _read("trec", paths=place / "docs.sgml", **settings), {TEXT: AT, TITLE: AT}


class Page(NamedTuple):
    """A document of ir_datasets."""

    doc_id: str
    title: str
    text: str

    def default_text(self):
        return self.text


def ir_datasets(place):
    package = pytest.importorskip("ir_datasets", reason="pip install ir_datasets")

    def file(name, *lines):
        (place / name).write_text("".join(f"{line}\n" for line in lines))
        return package.util.LocalDownload(place / name)

    formats = package.formats
    docs = file("docs.tsv", *(f"d{i}\t{title(i)}\t{text(i)}" for i in range(N)))
    package.registry._registered["made"] = package.Dataset(
        formats.TsvDocs(docs, doc_cls=Page, lang="en"),
        formats.TsvQueries(file("queries.tsv", "q\tcommon words")),
        formats.TrecQrels(file("qrels", "q 0 d1 1"), {0: "no", 1: "yes"}),
    )
    return _read("ir-datasets", name="made"), {TEXT: AT, TITLE: AT}


def clicks(place):
    """The documents are those of a collection with fields, of which the log knows some."""
    documents, expected = table(place)
    rows = "".join(f"{word(i)} some,d{i},3\n" for i in range(N))
    (place / "log.csv").write_text(f"query,url,clicks\n{rows}")
    (place / "map.toml").write_text(
        '[columns]\nquery = "query"\nquery_text = "query"\ndocument = "url"\nclicks = "clicks"\n'
    )
    settings = {"map": place / "map.toml", "documents": documents.path}
    made = _read("clicks", paths=place / "log.csv", **settings)
    # Links are of the collection, and no clicks.
    return made, {name: i for name, i in expected.items() if name != ANCHORS}


def farm_ads(place):
    lines = (f"1 ad-{word(i)} title-{title(i).replace(' ', ' title-')} {text(i)}" for i in range(N))
    write_farm_ads(place, "\n".join(lines) + "\n")
    return _read("farm-ads", paths=place), {TEXT: AT, TITLE: AT}


def anchors(place):
    """Documents are titles."""
    return _read("anchors", paths=dump(place), processes=1), {TITLE: AT}


def wikiqa(place):
    header = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
    for part, first in (("train", 0), ("dev", N)):
        rows = (
            f"Q{i}\twhat is {word(i)}\tD{i}\t{title(i)}\tD{i}-0\t{text(i)}\t1\n"
            for i in range(first, first + N)
        )
        _gzip(place / f"WikiQA-{part}.tsv.gz", header + "".join(rows))
    # The titles of pages are not used.
    return _read("wikiqa", paths=place), {TEXT: AT}


def zzquerylog(place):
    queries = [
        {"query": f"asks {word(i)}", "results": [{"label": title(i), "clicks": 5}]}
        for i in range(4 * N)
    ]
    _gzip(place / "zz_query_log_queries.json.gz", json.dumps(queries))
    return _read("zzquerylog", paths=place), {TITLE: AT}


def dbpedia_entity(place):
    """Documents are titles, of which the words of an identifier are made."""
    queries = [(f"q{i}", f"asks {word(i)}") for i in range(N)]
    entities = (f"<dbpedia:{title(i).replace(' ', '_')}>" for i in range(N))
    (place / "queries-v2.txt").write_text("".join("\t".join(one) + "\n" for one in queries))
    rows = zip(queries, entities, strict=True)
    _gzip(place / "qrels-v2.txt.gz", "".join(f"{q}\tQ0\t{entity}\t1\n" for (q, _), entity in rows))
    ids = [one for one, _ in queries]
    folds = {
        f"{n}": {"testing": ids[n::5], "training": [q for i, q in enumerate(ids) if i % 5 != n]}
        for n in range(5)
    }
    (place / "folds").mkdir()
    (place / "folds" / "all_queries.json").write_text(json.dumps(folds))
    return _read("dbpedia-entity", paths=place), {TITLE: AT}


def _made(name, place, fields, **settings):
    """Make a collection in which words are in one field of one document."""
    return _read(name, **settings), fields


def sample_clicks(place):
    pytest.importorskip("ssi_core.guests.click_logs", reason="a guest reads its log")
    return _made("sample-clicks", place=place, fields=("title", "text"), documents=100)


GUESTS = {"feeds": feeds, "ubi": ubi, "clicks": clicks}
SOURCES = {
    "wikipedia": wikipedia,
    "wikispeedia": _wikispeedia,
    "collection": collection,
    "mates": mates,
    "kyoto": kyoto_articles,
    "pairs": pairs,
    "beir": beir,
    "judged": judged,
    "table": table,
    "folder": folder,
    **{name: make for name, make in GUESTS.items() if name in sources.SOURCES},
    "trec": trec,
    "ir-datasets": ir_datasets,
    "wikispeedia-clicks": wikispeedia_clicks,
    "farm-ads": farm_ads,
    "anchors": anchors,
    "wikiqa": wikiqa,
    "zzquerylog": zzquerylog,
    "dbpedia-entity": dbpedia_entity,
    "sample": partial(_made, "sample", fields=("title", "text"), documents=100),
    "sample-mates": partial(_made, "sample-mates", fields=("title", "text"), documents=100),
    "sample-clicks": sample_clicks,
    "sample-query-log": partial(
        _made, "sample-query-log", fields=("text",), titles=300, queries=500, judged=20, topics=5
    ),
}
"""Name of a source -> what makes its documents, and the words that must find one of them."""
