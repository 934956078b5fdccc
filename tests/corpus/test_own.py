"""A user's own texts: tables, folders, BEIR and TREC."""

import gzip
import json

import polars as pl
import pytest
import zstandard

from ssi_core.collection import open_collection
from ssi_core.corpus.web.folder import read_page
from ssi_core.tasks.judged import read_judgements
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput
from tests.corpora import judged_pairs
from tests.datasets.dumps import real_data
from tests.datasets.test_smart import write
from tests.sources import ingest

DOCUMENTS = [
    {"docno": "a", "headline": "Cars", "body": "an old car", "section": "x", "links": ["b", "z"]},
    {"docno": "b", "headline": "", "body": "the moon and the stars", "section": None},
    {"docno": "c", "headline": "Bread", "body": "flour, water", "section": "y", "links": []},
    {"docno": "d", "headline": "Nothing", "body": "  "},
    {"docno": "a", "headline": "Again", "body": "another text"},
    {"headline": "No name", "body": "words"},
]


def write_lines(path, objects):
    path.write_text("".join(json.dumps(one) + "\n" for one in objects), encoding="utf-8")
    return path


@pytest.fixture
def articles(tmp_path):
    return write_lines(tmp_path / "articles.jsonl", DOCUMENTS)


@pytest.fixture
def links(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("from,to\na,b\na,c\na,c\nc,c\nb,nowhere\nBread,a\n")
    return path


def read(artefact):
    corpus = open_collection(artefact.path)
    return corpus.documents.collect(), set(corpus.links.collect().rows())


def test_every_document_and_every_link_is_accounted_for(articles, links, tmp_path):
    artefact = ingest("table", [articles], tmp_path / "out", links=[links], labels=["section"])
    documents, ends = read(artefact)
    assert documents["id"].to_list() == ["a", "b", "c"]
    assert documents["title"].to_list() == ["Cars", "the moon and the stars", "Bread"]
    assert documents["text"].to_list()[0] == "an old car"
    assert documents["language"].unique().to_list() == ["en"]
    # A link may name a document by its title; a document's own links count, too.
    assert ends == {("a", "b"), ("a", "c"), ("c", "a")}
    counts, skipped = artefact.counts, artefact.skipped
    assert counts["columns"] == {
        "id": "docno", "title": "headline", "text": "body", "links": "links",
    }  # fmt: skip
    assert counts["link_columns"] == {"source": "from", "target": "to"}
    assert (counts["documents"], counts["documents_found"]) == (3, 6)
    assert skipped["document_without_text"] == 1
    assert skipped["document_id_repeated"] == 1
    assert skipped["document_without_id"] == 1
    lost = sum(n for name, n in skipped.items() if name.startswith("link_"))
    assert counts["links"] + lost == counts["links_found"] == 8
    assert skipped["link_target_is_no_document"] == 2
    assert skipped["link_to_itself"] == 1
    assert skipped["link_repeated"] == 2
    labels = pl.read_parquet(artefact.path / "labels")
    assert labels.rows() == [("a", "section", "x"), ("c", "section", "y")]


def test_all_formats_are_the_same_corpus(articles, links, tmp_path):
    rows = [one for one in DOCUMENTS if "docno" in one]
    frame = pl.DataFrame(
        [{k: one.get(k) or None for k in ("docno", "headline", "body")} for one in rows]
    )
    frame.write_csv(tmp_path / "articles.csv")
    frame.write_csv(tmp_path / "articles.tsv", separator="\t")
    frame.write_parquet(tmp_path / "articles.parquet")
    frame.write_ipc(tmp_path / "articles.feather", compression="lz4")
    text = (tmp_path / "articles.csv").read_bytes()
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(text))
    (tmp_path / "packed.csv.zst").write_bytes(zstandard.compress(text))
    names = ["articles.csv", "articles.tsv", "articles.parquet", "packed.csv.gz", "packed.csv.zst"]
    names.append("articles.feather")
    results = [
        read(ingest("table", [tmp_path / name], tmp_path / f"out-{name}", links=[links]))
        for name in names
    ]
    for documents, ends in results:
        assert documents.equals(results[0][0])
        assert ends == results[0][1] == {("a", "b"), ("a", "c"), ("c", "a")}


@pytest.mark.parametrize("cut", [1, 40])
def test_a_packed_file_that_is_cut_off_is_an_error(tmp_path, cut):
    text = "id,text\n" + "".join(f"{n},words {n * n}\n" for n in range(5000))
    data = zstandard.compress(text.encode())
    (tmp_path / "a.csv.zst").write_bytes(data + data[:-cut])
    with pytest.raises(BadInput, match=r"a\.csv\.zst: .*within a frame"):
        ingest("table", [tmp_path / "a.csv.zst"], tmp_path / "out")
    # Frames may follow each other.
    (tmp_path / "a.csv.zst").write_bytes(data + zstandard.compress(b"5001,more\n"))
    artefact = ingest("table", [tmp_path / "a.csv.zst"], tmp_path / "out")
    assert artefact.counts["documents"] == 5001


def test_lists_of_links_in_parquet_are_read(tmp_path):
    frame = pl.DataFrame(
        {"id": [1, 2, 3], "text": ["one", "two", "three"], "links": [[2, 3], [], None]}
    )
    frame.write_parquet(tmp_path / "a.parquet")
    _, ends = read(ingest("table", [tmp_path / "a.parquet"], tmp_path / "out"))
    assert ends == {("1", "2"), ("1", "3")}


def test_whole_numbers_of_parquet_are_ids_without_a_point(tmp_path):
    pl.DataFrame({"id": [1, 2, 3], "text": ["one", "two", "three"]}).write_parquet(
        tmp_path / "a.parquet"
    )
    ends = pl.DataFrame({"source": [1.0, 2.0, 2.5, None], "target": [2, 3, 1, 1]})
    ends.write_parquet(tmp_path / "l.parquet")
    links = [tmp_path / "l.parquet"]
    artefact = ingest("table", [tmp_path / "a.parquet"], tmp_path / "out", links=links)
    assert read(artefact)[1] == {("1", "2"), ("2", "3")}
    assert artefact.skipped["link_source_is_no_document"] == 2


def test_columns_of_a_later_table_that_the_first_lacks_are_named(tmp_path, caplog):
    write_lines(tmp_path / "a.jsonl", [{"id": "a", "text": "one"}])
    write_lines(tmp_path / "b.jsonl", [{"id": "b", "text": "two", "title": "Two", "more": 1}])
    ingest("table", [tmp_path / "a.jsonl", tmp_path / "b.jsonl"], tmp_path / "out")
    assert "b.jsonl: not read: title, a column that a.jsonl" in caplog.text


def test_times_are_iso_8601_with_or_without_a_zone_and_others_are_told(tmp_path, caplog):
    times = [
        "2024-05-01",
        "2024-05-01T10:00:00",
        " 2024-05-01 10:00:00.5",
        "2024-05-01T12:00:00+02:00",
    ]
    rows = [{"id": str(n), "text": "x", "date": time} for n, time in enumerate(times)]
    rows += [{"id": "German", "text": "x", "date": "01.05.2024"}, {"id": "no", "text": "x"}]
    write_lines(tmp_path / "a.jsonl", rows)
    found = read(ingest("table", [tmp_path / "a.jsonl"], tmp_path / "out"))[0]["timestamp"]
    moments = [time and time.isoformat().removesuffix("+00:00")[11:] for time in found]
    assert moments == ["00:00:00", "10:00:00", "10:00:00.500000", "10:00:00", None, None]
    assert (
        "a: 1 timestamps are left out, as they are no ISO 8601, such as '01.05.2024'" in caplog.text
    )


@pytest.mark.parametrize("tagged", [2, 1])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<p>one</p>", "have HTML tags, which are read as words"),
        ({"0": "one"}, "are objects of JSON, whose keys are read as words"),
    ],
)
def test_tags_in_most_texts_of_a_table_are_told(tmp_path, caplog, tagged, text, said):
    texts = [text] * tagged + ["two < 3", "four"][: 3 - tagged]
    write_lines(tmp_path / "a.jsonl", [{"id": str(n), "text": t} for n, t in enumerate(texts)])
    ingest("table", [tmp_path / "a.jsonl"], tmp_path / "out")
    assert (f"a: 2 of the first 3 texts {said}" in caplog.text) == (tagged == 2)


def test_columns_are_declared_where_the_guess_is_wrong(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", [{"nr": 7, "words": "one"}, {"nr": 8, "words": "two"}])
    artefact = ingest("table", [path], tmp_path / "out", columns={"text": "words", "id": "nr"})
    assert read(artefact)[0]["id"].to_list() == ["7", "8"]
    # Without a name of its own a document has that of its line.
    artefact = ingest("table", [path], tmp_path / "lines", columns={"text": "words"})
    assert read(artefact)[0]["id"].to_list() == ["1", "2"]


def test_a_year_is_a_document_like_another(tmp_path):
    path = write_lines(
        tmp_path / "a.jsonl", [{"id": "1984", "text": "a novel"}, {"id": "x", "text": "b"}]
    )
    (tmp_path / "links.csv").write_text("x,1984\nx,1984\n")
    artefact = ingest("table", [path], tmp_path / "out", links=[tmp_path / "links.csv"], columns={})
    assert read(artefact)[1] == {("x", "1984")}


def test_lines_that_are_no_json_are_named(tmp_path):
    (tmp_path / "a.jsonl").write_text("no json\n")
    with pytest.raises(BadInput, match=r"a\.jsonl: its first lines are no JSON objects"):
        ingest("table", [tmp_path / "a.jsonl"], tmp_path / "out")


def test_a_row_that_is_none_is_counted(tmp_path, caplog):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "text": "one"}\nbroken\n{"id": 2, "text": "two"}\n')
    artefact = ingest("table", [path], tmp_path / "out")
    assert artefact.skipped["row_json"] == 1
    assert "line 2 is no row" in caplog.text


def test_the_language_is_guessed_from_the_script(tmp_path):
    texts = ["一座古老的城市在河边", "月亮和星星都很亮"]
    path = write_lines(tmp_path / "a.jsonl", [{"text": text} for text in texts])
    artefact = ingest("table", [path], tmp_path / "out")
    assert read(artefact)[0]["language"].to_list() == ["zh", "zh"]
    assert artefact.counts["language"].startswith("zh (guessed")


# --- folders ---

PAGES = {
    "index.md": "# Home\n\nSee [cars](cars/old.md), [[moon]] and [the site](https://example.org).\n",
    "cars/old.md": "---\ntitle: Old cars\ndate: 2020-01-02T03:04:05Z\n---\n"
    "A *car* is [home](../).\n[gone](gone.md) [here](#top) [moon](/moon.html)\n",
    "moon.html": "<html><head><title>Site | Moon</title><script>var x</script></head><body><nav>"
    "<a href='index.html'>menu</a></nav><main><h1>The Moon</h1><p>It <b>shine</b>s.</p>"
    "<a href='cars/old/'>cars</a><a href='mailto:x'>m</a></main><footer>legal</footer></body>",
    "notes.txt": "plain words",
    ".hidden/x.md": "hidden",
    "logo.png": "x",
}


@pytest.fixture
def site(tmp_path):
    for name, text in PAGES.items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "site"


def test_a_folder_gives_pages_and_the_links_between_them(site, tmp_path):
    artefact = ingest("folder", site, tmp_path / "out")
    documents, ends = read(artefact)
    found = {row["id"]: row for row in documents.iter_rows(named=True)}
    assert set(found) == {"index.md", "cars/old.md", "moon.html", "notes.txt"}
    titles = {name: row["title"] for name, row in found.items()}
    assert titles == {
        "index.md": "Home",
        "cars/old.md": "Old cars",
        "moon.html": "The Moon",
        "notes.txt": "notes",
    }
    assert found["moon.html"]["text"] == "The Moon\nIt shines.\ncarsm"
    assert found["cars/old.md"]["timestamp"].year == 2020
    assert ends == {
        ("index.md", "cars/old.md"),
        ("index.md", "moon.html"),
        ("cars/old.md", "index.md"),
        ("cars/old.md", "moon.html"),
        ("moon.html", "cars/old.md"),
    }
    skipped = artefact.skipped
    assert skipped["link_to_another_site"] == 2
    assert skipped["link_to_no_page"] == 1
    assert skipped["link_within_the_page"] == 1
    assert skipped["file_png"] == 1
    lost = sum(n for name, n in skipped.items() if name.startswith("link_"))
    assert artefact.counts["links"] + lost == artefact.counts["links_found"]


def test_another_byte_is_another_corpus(site, tmp_path):
    first = ingest("folder", site, tmp_path / "one")
    assert ingest("folder", site, tmp_path / "two").key == first.key
    (site / "notes.txt").write_text("other words")
    assert ingest("folder", site, tmp_path / "three").key != first.key


def test_a_page_in_another_encoding_says_so(tmp_path):
    (tmp_path / "a.html").write_bytes(
        '<html><head><meta charset="latin-1"></head><body><p>café</p></body></html>'.encode(
            "latin-1"
        )
    )
    (tmp_path / "a.md").write_bytes("日本語は".encode("shift_jis"))
    assert read_page(tmp_path / "a.html").text == "café"
    assert read_page(tmp_path / "a.md") is None


def test_a_folder_that_is_not_there_or_is_a_model_is_named(tmp_path):
    with pytest.raises(BadInput, match="no such folder"):
        ingest("folder", tmp_path / "absent", tmp_path / "out")
    (tmp_path / "model.json").write_text("{}")
    with pytest.raises(BadInput, match=r"It is a model: name the folder of the pages"):
        ingest("folder", tmp_path, tmp_path / "out")


def test_a_folder_and_a_table_of_the_same_pages_are_the_same_documents(tmp_path):
    names = [f"page-{n}" for n in range(40)]
    near = [(n, (n * 7 + k) % 40) for n in range(40) for k in (1, 2) if (n * 7 + k) % 40 != n]
    site = tmp_path / "site"
    site.mkdir()
    for n, name in enumerate(names):
        linked = " ".join(f"[{names[to]}]({names[to]}.md)" for source, to in near if source == n)
        (site / f"{name}.md").write_text(f"# {name}\n\nwords of page {n} {linked}\n")
    folder = ingest("folder", site, tmp_path / "a")
    folder_documents, folder_links = read(folder)
    rows = folder_documents.select("id", "title", "text").to_dicts()
    write_lines(tmp_path / "pages.jsonl", rows)
    rows = [(f"{names[a]}.md", f"{names[b]}.md", names[b]) for a, b in reversed(near)]
    schema = ["from", "to", "anchor"]
    pl.DataFrame(rows, schema, orient="row").write_csv(tmp_path / "ends.csv")
    table = ingest(
        "table", [tmp_path / "pages.jsonl"], tmp_path / "b", links=[tmp_path / "ends.csv"]
    )
    documents, links = read(table)
    assert documents.drop("timestamp", "url").equals(folder_documents.drop("timestamp", "url"))
    assert links == folder_links
    assert len(links) == len(set(near))
    anchors = [open_collection(one.path).frame("relations/anchor") for one in (table, folder)]
    assert anchors[0].equals(anchors[1])
    assert anchors[0]["weight"].sum() == len(near)


def test_ends_that_pandas_made_floats_of_are_whole_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("id,text\n1,one\n2.0,two\n3,three\n3.0,new\n")
    (tmp_path / "links.csv").write_text("from,to\n1.0,2\n2.0,3.0\n3,1\n1,4.0\n")
    _, links = read(
        ingest("table", [tmp_path / "a.csv"], tmp_path / "o", links=[tmp_path / "links.csv"])
    )
    assert links == {("1", "2.0"), ("2.0", "3.0"), ("3", "1")}


def test_the_words_of_links_in_a_table_are_anchors(articles, tmp_path, monkeypatch):
    # Blocks and sources of a size of their own change nothing.
    monkeypatch.setattr("ssi_core.corpus.user_texts._SOURCES", 1)
    (tmp_path / "one.csv").write_text("from,to,text\na,b,The  Moon\nc,a,\nc,a,Ｃars\na,z,lost\n")
    (tmp_path / "two.csv").write_text("from,to,text\nc,a,*\na,b,the moon\nb,c,bread\n")
    files = [tmp_path / "one.csv", tmp_path / "two.csv"]
    artefact = ingest("table", [articles], tmp_path / "out", links=files)
    opened = open_collection(artefact.path)
    assert opened.relevant == ("link", "anchor")
    assert opened.frame("relations/anchor").rows() == [
        ("a", "b", "the moon", 2),
        ("b", "c", "bread", 1),
        ("c", "a", "cars", 1),
    ]
    counts, skipped = artefact.counts, artefact.skipped
    assert counts["link_columns"] == {"source": "from", "target": "to", "anchor": "text"}
    assert counts["anchors"] == 3
    # One of them is the link inside of a document, which has no words.
    assert skipped["anchor_without_words"] == 3
    assert counts["links"] + skipped["link_repeated"] == 4 + 3


@pytest.mark.parametrize(
    ("header", "declared", "roles"),
    [
        ("from,to,label", {"anchor": "label"}, ("from", "to", "label")),
        ("a,b,anchor_text", {}, ("a", "b", "anchor_text")),
        ("a,text", {}, ("a", "text", None)),
        ("a,b", {"source": "b"}, ("b", "a", None)),
        ("a,b,text", {"target": "a", "source": "b"}, ("b", "a", "text")),
    ],
)
def test_the_columns_of_links_are_guessed_or_declared(articles, tmp_path, header, declared, roles):
    (tmp_path / "links.csv").write_text(f"{header}\na,b,it\nb,a,it\n")
    artefact = ingest(
        "table", [articles], tmp_path / "out", links=[tmp_path / "links.csv"], columns=declared
    )
    columns = artefact.counts["link_columns"]
    assert tuple(columns.get(role) for role in ("source", "target", "anchor")) == roles


def test_links_of_a_folder_leave_their_words(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "a.md").write_text("# A\n\n[The **Old**  Car](b.md) [the old car](b.md) ![](x.png)\n")
    (site / "b.md").write_text("# B\n\n[[a|Ｆｉｒｓｔ]] [→](a.md) [self](b.md) [no](c.md)\n")
    (site / "c.html").write_text(f"<p>c <a href='a.md'>{'long ' * 60}</a><a href='b.md'><img></a>")
    (site / "d.md").write_text("---\nurl: https://example.org/d\n---\n# D\n\nnothing")
    artefact = ingest("folder", site, tmp_path / "out")
    opened = open_collection(artefact.path)
    assert sorted(opened.frame("relations/anchor").rows()) == [
        ("a.md", "b.md", "the old car", 2),
        ("b.md", "a.md", "first", 1),
        ("b.md", "c.html", "no", 1),
    ]
    counts, skipped = artefact.counts, artefact.skipped
    assert {name: n for name, n in skipped.items() if name.startswith("anchor_")} == {
        "anchor_too_long": 1,
        "anchor_without_words": 2,
    }
    assert counts["links"] + skipped["link_repeated"] == 4 + 1 + 2
    urls = opened.documents.select("id", "url").collect().rows()
    assert ("a.md", "a.md") in urls
    assert ("d.md", "https://example.org/d") in urls


# --- judged collections ---


@pytest.fixture
def cranfield(tmp_path):
    lines = "1 1 1\n1 2 4\n1 10 -1\n2 2 2\n"
    return ingest("collection", write(tmp_path / "cranfield", lines), tmp_path / "smart")


def as_beir(artefact, directory):
    """Write a collection in the format of BEIR."""
    documents = pl.read_parquet(artefact.path / "documents")
    (directory / "qrels").mkdir(parents=True)
    write_lines(
        directory / "corpus.jsonl",
        [{"_id": row["id"], "title": "", "text": row["text"]} for row in documents.to_dicts()],
    )
    queries = pl.read_parquet(artefact.path / "queries")
    write_lines(
        directory / "queries.jsonl",
        [{"_id": row["id"], "text": row["text"]} for row in queries.to_dicts()],
    )
    judgements = judged_pairs(artefact.path)
    judgements.select(
        pl.col("query").alias("query-id"), pl.col("document").alias("corpus-id"), score="grade"
    ).write_csv(directory / "qrels" / "test.tsv", separator="\t")
    return directory


def test_beir_has_the_queries_and_judgements_of_the_collection(cranfield, tmp_path):
    beir = ingest("beir", as_beir(cranfield, tmp_path / "beir"), tmp_path / "out")
    for table in ("queries", "relations/judgement"):
        own, theirs = (pl.read_parquet(one.path / table) for one in (beir, cranfield))
        columns = theirs.columns
        assert own.select(columns).sort(columns).equals(theirs.sort(columns))
    assert read(beir)[0]["text"].to_list() == read(cranfield)[0]["text"].to_list()
    assert judged_pairs(beir.path)["side"].unique().to_list() == ["test"]


def test_cranfield_in_the_format_of_beir_is_cranfield(tmp_path):
    published = real_data("ir-test-collections/cranfield")
    smart = ingest("collection", published, tmp_path / "smart")
    beir = ingest("beir", as_beir(smart, tmp_path / "beir"), tmp_path / "out")
    columns = ["id", "text"]
    documents, theirs = (read(one)[0].select(columns) for one in (beir, smart))
    assert documents.equals(theirs)
    assert len(documents) == 1400
    judged, also = (judged_pairs(one.path) for one in (beir, smart))
    assert judged.drop("side").equals(also)


def test_what_is_missing_of_beir_is_named(cranfield, tmp_path):
    directory = as_beir(cranfield, tmp_path / "beir")
    (directory / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\t2\tgood\n")
    with pytest.raises(BadInput, match=r"line 2: the score is 'good'"):
        ingest("beir", directory, tmp_path / "out")
    (directory / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    with pytest.raises(BadInput, match="Do the ids of the three files belong together"):
        ingest("beir", directory, tmp_path / "out")
    (directory / "qrels" / "test.tsv").unlink()
    with pytest.raises(BadInput, match="no judgements"):
        ingest("beir", directory, tmp_path / "out")
    (directory / "queries.jsonl").unlink()
    with pytest.raises(BadInput, match=r"queries\.jsonl: there is no such file"):
        ingest("beir", directory, tmp_path / "out")


TREC = """<DOC>
<DOCNO> FT911-3 </DOCNO>
<HEADLINE>An old &amp; fast car</HEADLINE>
<DATE>1991</DATE>
<TEXT>
The engine
runs.
</TEXT>
</DOC>
<DOC>
<DOCNO> FT911-4 </DOCNO>
<TEXT>The moon.</TEXT>
</DOC>
"""
TOPICS = """<top>
<num> Number: 051
<title> Topic: old cars

<desc> Description:
Cars that are old.
<narr> Narrative:
None.
</top>
<top>
<num> Number: 052
<title> moon
<desc> Description: The moon.
</top>
"""


@pytest.fixture
def trec(tmp_path):
    (tmp_path / "docs.gz").write_bytes(gzip.compress(TREC.encode()))
    (tmp_path / "topics").write_text(TOPICS)
    (tmp_path / "qrels").write_text(
        "51 0 FT911-3 2\n51 0 FT911-4 0\n52 0 FT911-4 0.5\n52 0 FT911-3 -1\n53 0 FT911-3 1\n"
    )
    return tmp_path


def ingest_trec(place, out="out", **settings):
    files = {"topics": place / "topics", "qrels": place / "qrels"}
    return ingest("trec", place / "docs.gz", place / out, **files, **settings)


def test_files_of_trec(trec):
    artefact = ingest_trec(trec, fields=("title", "desc"))
    documents, _ = read(artefact)
    assert documents.select("id", "title", "text").rows() == [
        ("FT911-3", "An old & fast car", "An old & fast car\nThe engine\nruns."),
        ("FT911-4", "The moon.", "The moon."),
    ]
    queries = pl.read_parquet(artefact.path / "queries")
    assert queries.select("id", "text").rows() == [
        ("51", "old cars Cars that are old."),
        ("52", "moon The moon."),
    ]
    judgements = judged_pairs(artefact.path)
    assert judgements.rows() == [
        ("51", "FT911-3", 2), ("51", "FT911-4", 0), ("52", "FT911-4", 0.5),
    ]  # fmt: skip
    assert artefact.skipped == {"judgement_negative": 1, "judgement_unknown_query": 1}
    assert artefact.counts["gains"] == {"0": 0, "0.5": 0.5, "2": 2}


def test_a_scale_beyond_four_is_brought_to_it_and_the_grades_are_kept(trec):
    (trec / "qrels").write_text("51 0 FT911-3 10\n51 0 FT911-4 0\n52 0 FT911-4 5\n")
    artefact = ingest_trec(trec)
    assert judged_pairs(artefact.path)["grade"].to_list() == [10, 0, 5]
    assert artefact.counts["gains"] == {"0": 0, "5": 2, "10": 4}
    assert artefact.counts["judgements_not_relevant"] == 1
    assert read_judgements(open_collection(artefact.path))["grade"].to_list() == [4, 0, 2]
    (trec / "qrels").write_text("51 0 FT911-3 nan\n")
    with pytest.raises(BadInput, match="line 1 is '51 0 FT911-3 nan', expected a query"):
        ingest_trec(trec, "other")


def test_a_document_that_does_not_end_is_named(trec):
    (trec / "docs.gz").write_bytes(gzip.compress(TREC.replace("</DOC>", "").encode()))
    with pytest.raises(BadInput, match="line 10 begins a document within another"):
        ingest_trec(trec)


def test_the_given_sides_are_those_of_the_task(tmp_path):
    texts = [f"word{n} shared{n % 3} common" for n in range(30)]
    directory = tmp_path / "beir"
    (directory / "qrels").mkdir(parents=True)
    write_lines(
        directory / "corpus.jsonl", [{"_id": f"d{n}", "text": t} for n, t in enumerate(texts)]
    )
    write_lines(
        directory / "queries.jsonl", [{"_id": f"q{n}", "text": f"word{n}"} for n in range(30)]
    )
    head = "query-id\tcorpus-id\tscore\n"

    def judge(side, numbers):
        rows = "".join(f"q{n}\td{n}\t{1 + n % 2}\n" for n in numbers)
        (directory / "qrels" / f"{side}.tsv").write_text(head + rows)

    def asked(task, pairs):
        return {task.queries.ids[int(q)] for q in pairs.rows[:, 0]}

    judge("test", range(5))
    corpus = ingest("beir", directory, tmp_path / "test-only")
    with pytest.raises(BadInput, match="none is given for valid, train"):
        build_task(corpus.path, tmp_path / "none", words="all", relevant="judgement", split="given")
    judge("train", range(5, 30))
    corpus = ingest("beir", directory, tmp_path / "corpus")
    path = build_task(
        corpus.path, tmp_path / "task", words="all", relevant="judgement", split="given"
    ).path
    task = open_task(path)
    assert asked(task, task.test) == {f"q{n}" for n in range(5)}
    valid = asked(task, task.valid)
    assert len(valid) == 2
    assert asked(task, task.train) | valid == {f"q{n}" for n in range(5, 30)}
    assert not asked(task, task.train) & valid
    assert not task.folds
    assert sorted(task.test.grade.tolist()) == [1, 1, 1, 2, 2]
    judge("dev", range(5, 8))
    judge("train", range(8, 30))
    corpus = ingest("beir", directory, tmp_path / "three")
    task = open_task(
        build_task(
            corpus.path, tmp_path / "t3", words="all", relevant="judgement", split="given"
        ).path
    )
    assert asked(task, task.valid) == {"q5", "q6", "q7"}
