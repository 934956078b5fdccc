"""A log of clicks is read in one command, or from a frame, by the names of its columns."""

import json

import numpy as np
import polars as pl
import pytest

import ssi_core as ssi
from ssi_core.collection import open_collection
from ssi_core.command.library import library
from ssi_core.command.verb import run
from ssi_core.types import BadInput
from tests.sources import ingest

CONCEPTS, DOCUMENTS, QUERIES = 41, 151, 901


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "root"))
    monkeypatch.chdir(tmp_path)


def planted(seed=0):
    """Return documents, and clicks of queries in other words: every concept has two.

    A document is about three concepts, a query about two of them; who asks clicks on documents
    that are about both.
    """
    rng = np.random.default_rng(seed)
    about = [rng.choice(CONCEPTS, 3, replace=False) for _ in range(DOCUMENTS)]
    texts = [
        " ".join([*(f"thing{c}a thing{c}a" for c in chosen), f"filler{n % 7}"])
        for n, chosen in enumerate(about)
    ]
    clicks = []
    for _ in range(QUERIES):
        chosen = rng.choice(about[rng.integers(DOCUMENTS)], 2, replace=False)
        words = " ".join(f"object{c}b" for c in chosen)
        clicks += [
            {"search_term": words, "landing_page": f"d{n}", "n_clicks": int(rng.integers(1, 4))}
            for n in range(DOCUMENTS)
            if {*chosen} <= {*about[n]}
        ]
    ids = [f"d{n}" for n in range(DOCUMENTS)]
    return pl.DataFrame({"sku": ids, "product_name": texts}), pl.DataFrame(clicks)


@pytest.mark.trains
def test_a_shuffled_log_of_synonyms_is_fitted_in_one_command(tmp_path, capsys):
    documents, clicks = planted()
    documents.write_ndjson(tmp_path / "products.jsonl")
    shuffled = clicks.sample(fraction=1, shuffle=True, seed=1)
    shuffled.select("n_clicks", "landing_page", "search_term").write_csv(
        tmp_path / "clicks.csv", separator=";"
    )
    log = ["clicks.csv", "--texts", "products.jsonl", "--column", "document=landing_page"]
    assert run(library, ["--json", "fit", *log, "--budget", "200000", "--out", "model"]) == 0
    result = json.loads(capsys.readouterr().out)
    made = open_collection(result["collection"]).artefact
    assert made.counts["columns"] == {
        "query_text": "search_term", "document": "landing_page", "clicks": "n_clicks",
    }  # fmt: skip
    assert made.counts["read_as"] == {"clicks.csv": "fields divided by ';'"}
    means = {row["ranker"]: row["map"] for row in result["measures"]}
    assert means["BM25F + SSI"] >= means["BM25F"] + 0.5


SESSIONS = {
    "visit": ["s1", "s1", "s2", "s2"],
    "query": ["old car", "old car", "moon", "moon"],
    "sku": ["a", "b", "b", "c"],
    "rank": [1, 2, 1, 2],
    "click": [True, False, False, True],
    "time": ["2024-01-01T00:00:00Z"] * 4,
}
TEXTS = {"sku": ["a", "b", "c"], "product_name": ["an automobile", "a road", "the moon"]}
ROLES = {
    "session": "visit", "query_text": "query", "document": "sku",
    "position": "rank", "clicked": "click", "timestamp": "time",
}  # fmt: skip


def tables(read):
    collection = open_collection(read.path)
    return [
        collection.frame(name).sort(pl.all()).rows() for name in ("impressions", "relations/click")
    ]


def test_frames_of_clicks_are_read_as_their_file_is(tmp_path):
    frame, texts = pl.DataFrame(SESSIONS), ssi.read(pl.DataFrame(TEXTS))
    frame.write_csv(tmp_path / "log.csv")
    of_file = ssi.read(tmp_path / "log.csv", texts=texts, clicks="all")
    assert of_file.counts["columns"] == ROLES
    assert of_file.counts["pairs"] == 2
    for data in (frame, frame.to_pandas(), SESSIONS, frame.to_dicts()):
        assert tables(ssi.read(data, texts=texts, clicks="all")) == tables(of_file)
    other = frame.rename({"query": "Suchwort", "sku": "Artikel"})
    columns = {"query_text": "Suchwort", "document": "Artikel"}
    declared = ssi.read(other, texts=texts, columns=columns, clicks="all")
    assert tables(declared)[1] != []
    assert declared.counts["pairs"] == of_file.counts["pairs"]


def test_texts_of_products_are_read_by_the_names_that_shops_use(tmp_path):
    pl.DataFrame(TEXTS).write_csv(tmp_path / "products.csv", separator=";")
    pl.DataFrame(SESSIONS).write_csv(tmp_path / "log.csv")
    how = {"documents": tmp_path / "products.csv", "clicks": "all"}
    made = open_collection(ingest("clicks", tmp_path / "log.csv", tmp_path / "out", **how).path)
    texts = made.documents.select("id", "text").collect().rows()
    assert texts == list(zip(*TEXTS.values(), strict=True))


def test_columns_of_the_table_of_texts_are_declared_beside_those_of_the_log(tmp_path, capsys):
    words = {"nr": TEXTS["sku"], "name": ["x", "y", "z"], "says": TEXTS["product_name"]}
    pl.DataFrame(words).write_csv(tmp_path / "products.csv")
    pl.DataFrame(SESSIONS).write_csv(tmp_path / "log.csv")
    columns = {"id": "nr", "text": "says", "query_text": "query"}
    made = ssi.read("log.csv", texts="products.csv", columns=columns, clicks="all")
    of_frames = ssi.read(pl.DataFrame(SESSIONS), texts=words, columns=columns, clicks="all")
    named = [f"--column={role}={name}" for role, name in columns.items()]
    log = ["data", "ingest", "clicks", "log.csv", "--documents", "products.csv", *named]
    assert run(library, [*log, "--clicks", "all", "--out", "typed"]) == 0
    for path in (made.path, of_frames.path, tmp_path / "typed"):
        texts = open_collection(path).documents.select("id", "title", "text").collect()
        assert texts.rows() == list(zip(*words.values(), strict=True))
    # They are part of what the collection is.
    assert run(library, [*log, "--column=title=says", "--clicks=all", "--out", "typed"]) == 4
    assert run(library, [*log[:4], *named, "--clicks", "all", "--out", "none"]) == 3
    assert "Name the table (--documents)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("columns", "roles", "counts"),
    [
        (["query", "title"], {"document_title": "title"}, None),
        (
            ["query", "doc", "clicks", "views"],
            {"clicks": "clicks", "shown": "views"},
            6,
        ),
        (["query", "doc", "judgement"], {"grade": "judgement"}, 0),
        (["query", "doc", "clicked", "when"], {"clicked": "clicked"}, 6),
    ],
)
def test_counts_judgements_and_bare_clicks_are_told_by_their_names(
    tmp_path, columns, roles, counts
):
    values = {"clicks": 3, "views": 9, "clicked": 1, "judgement": 2, "when": "monday"}
    rows = [{name: values.get(name, f"{name} number {n}") for name in columns} for n in range(2)]
    pl.DataFrame(rows).write_csv(tmp_path / "log.csv")
    if "title" in columns:
        with pytest.raises(
            BadInput, match=r"which column is the document\? .* columns=\{'document': 'NAME'\}"
        ):
            ssi.read(tmp_path / "log.csv", source="clicks")
        return
    made = ssi.read(tmp_path / "log.csv")
    assert {role: made.counts["columns"].get(role) for role in roles} == roles
    assert "timestamp" not in made.counts["columns"]
    assert made.counts["clicks"] in (counts, 2)
    assert made.counts["pairs"] == 2


def test_rows_that_are_all_clicks_have_no_positions_and_unknown_columns_are_named(tmp_path, caplog):
    head = ["when", "visitor", "Search term", "product", "rank", "bought"]
    rows = [
        (f"2026-01-0{n + 1}", f"v{n % 3}", f"words {n % 5}", f"sku {n}", n + 1, n % 2)
        for n in range(9)
    ]
    pl.DataFrame(rows, head, orient="row").write_csv(tmp_path / "log.csv")
    made = ssi.read(tmp_path / "log.csv", source="clicks")
    assert made.counts["columns"] == {
        "query_text": "Search term",
        "document": "product",
        "document_text": "product",
    }
    assert made.counts["clicks"] == made.counts["pairs"] == 9
    (said,) = [line.getMessage() for line in caplog.records if "as a click" in line.getMessage()]
    assert "not known: bought" in said
    assert said.endswith("columns={'clicked': 'bought'}")
    shown = ssi.read(tmp_path / "log.csv", source="clicks", columns={"clicked": "bought"})
    assert shown.counts["columns"]["position"] == "rank"
    assert shown.counts["clicks_used"] == shown.counts["clicks"] == 4
    with pytest.raises(BadInput, match="no position: which clicks"):
        ssi.read(tmp_path / "log.csv", source="clicks", clicks="first")


def test_roles_that_are_guessed_wrongly_are_named_by_their_remedy(tmp_path):
    rows = [(f"s{n}", "old car", "d1", "top", 1) for n in range(30)]
    head = ["session", "query", "document", "position", "clicked"]
    pl.DataFrame(rows, head, orient="row").write_csv(tmp_path / "log.csv")
    with pytest.raises(
        BadInput, match=r"Repair the log or name its columns \(columns=\{'ROLE': 'NAME'\}\);"
    ):
        ssi.read(tmp_path / "log.csv")


def test_a_table_of_documents_is_no_log_and_a_log_says_what_it_lacks(tmp_path):
    (tmp_path / "a.csv").write_text("id,text,clicks\n1,a car,3\n2,a road,4\n")
    assert ssi.read(tmp_path / "a.csv").counts["columns"] == {"id": "id", "text": "text"}
    with pytest.raises(BadInput, match=r"which column is the query\?.*columns=\{'query': 'NAME'\}"):
        ssi.read(tmp_path / "a.csv", texts=["a car", "a road"])
    with pytest.raises(BadInput, match=r"no role 'asked'\. .*Known: session"):
        ssi.read(tmp_path / "a.csv", source="clicks", columns={"asked": "text", "query": "id"})


def test_queries_and_documents_may_be_in_two_languages(tmp_path):
    rows = {
        "query": ["古い自動車の歴史です", "月の石はどこですか"] * 3,
        "url": ["a", "b"] * 3,
        "title": ["history of the automobile", "rocks of the moon"] * 3,
        "clicks": [1] * 6,
    }
    made = ssi.read(rows)
    assert made.counts["queries_language"].startswith("ja (")
    assert made.counts["documents_language"].startswith("en (")
    names = open_collection(made.path)
    assert set(names.names("queries")["language"]) == {"ja"}
    assert set(names.names("documents")["language"]) == {"en"}


def test_a_column_that_cannot_hold_the_values_of_another_is_not_called_swapped_with_it(tmp_path):
    head = ["session", "query", "document", "position", "clicked", "timestamp"]
    rows = [(f"s{n}", "old car", "d1", 1, 1, "05/01/2024 10:00") for n in range(30)]
    pl.DataFrame(rows, head, orient="row").write_csv(tmp_path / "log.csv")
    with pytest.raises(BadInput, match="is no time as expected") as refused:
        ssi.read(tmp_path / "log.csv")
    assert "swapped" not in str(refused.value)
    swapped = [(f"s{n}", "old car", "d1", "2024-01-05", 1, 1 + n % 3) for n in range(30)]
    pl.DataFrame(swapped, head, orient="row").write_csv(tmp_path / "log.csv")
    with pytest.raises(BadInput, match="'timestamp' holds such values: are two columns swapped"):
        ssi.read(tmp_path / "log.csv")


def _said_of(path, caplog, **how):
    caplog.clear()
    made = ssi.read(path, source="clicks", **how)
    return made.counts["columns"], [
        line.getMessage() for line in caplog.records if "read" in line.getMessage()
    ]


def test_keys_that_come_late_are_named_and_can_be_declared(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("ssi_core.corpus.tables.reader._BEGINNING", 2)
    rows = [{"query": f"words {n}", "document": f"d{n}"} for n in range(3)]
    rows += [{**row, "clicked": 1} for row in rows]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    columns, (said,) = _said_of(log, caplog)
    assert "clicked" not in columns
    assert said.endswith(
        "not read: clicked, which the first objects do not have. Say so: "
        "columns={'clicked': 'clicked'}"
    )
    with pytest.raises(BadInput, match="3 of 6 rows are broken"):
        _said_of(log, caplog, columns={"clicked": "clicked"})


def test_columns_that_a_guess_leaves_out_are_named_with_the_reason(tmp_path, caplog):
    log = tmp_path / "log.csv"
    head = ["session", "query", "document", "position", "clicked", "grade"]
    rows = [(f"s{n}", f"words {n % 5}", f"d{n}", 1, n % 2, 2) for n in range(9)]
    frame = pl.DataFrame(rows, head, orient="row")

    frame.drop("session", "grade").write_csv(log)
    columns, (said,) = _said_of(log, caplog)
    assert "position" not in columns
    assert "not read: position. A row without a session is about a pair" in said
    assert said.endswith("columns={'session': 'NAME'}")
    frame.drop("session", "grade").head(8).write_csv(log)
    assert _said_of(log, caplog, columns={"position": ""})[1] == []

    frame.write_csv(log)
    columns, (said,) = _said_of(log, caplog)
    assert "grade" not in columns
    assert "not read: grade. A row with a session is one showing" in said
    assert _said_of(log, caplog, columns={"session": "", "position": ""})[0]["grade"] == "grade"

    frame.drop("clicked", "grade").write_csv(log)
    columns, (said,) = _said_of(log, caplog)
    assert "every row is read as a click, wherever it was shown, and 'position' is not read" in said
    assert "position" not in columns

    frame.drop("grade").write_csv(log)
    assert _said_of(log, caplog)[1] == []
