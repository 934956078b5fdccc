"""OpenSearch's User Behavior Insights as it is: queries and events, joined by query_id."""

import gzip
import json
from functools import partial

import polars as pl
import pytest

from ssi_core.collection import open_collection
from ssi_core.command.library import library
from ssi_core.command.verb import run
from ssi_core.corpus.sources import source_named, source_of
from ssi_core.corpus.user_texts import write_own
from ssi_core.guests.click_logs.ubi import build
from ssi_core.store import open_or_make
from ssi_core.tasks.spec import TaskSpec
from ssi_core.tasks.task import build_task
from ssi_core.types import BadInput
from tests.datasets.dumps import real_data
from tests.flows.pages import command_lines, commands
from tests.sources import ingest

SHOES = {"b1": "a red shoe", "b2": "a blue shoe", "b3": "a green boot", "b4": "laces"}


def query(number, words, hits=None, **more):
    found = {} if hits is None else {"query_response_id": "r", "query_response_hit_ids": hits}
    time = {"timestamp": "2024-12-10T00:01:29.378Z"}
    return {"application": "shop", "query_id": number, "client_id": "c", "user_query": words,
            "query_attributes": {}, **time, **found, **more}  # fmt: skip


def event(action, number, item=None, ordinal=None, **more):
    about = {}
    if item is not None:
        about["object"] = {"object_id": item, "object_id_field": "asin"}
    if ordinal is not None:
        about["position"] = {"ordinal": ordinal}
    return {"application": "shop", "action_name": action, "query_id": number, "session_id": "s",
            "client_id": "c", "timestamp": 1717527762025, "message_type": None, "message": None,
            "event_attributes": about or None, **more}  # fmt: skip


LOG = [
    query("q1", "red  shoes"),
    *[event("impression", "q1", item, n) for n, item in enumerate(("b1", "b2", "b3"))],
    event("click", "q1", "b2", 1),
    # Impressions are known of its response alone; what was clicked beside them was shown, too.
    query("q2", "boots", hits=["b3", "b1"]),
    query("q2", "boots", hits=[]),
    event("click", "q2", "b3"),
    event("click", "q2", "b4"),
    # No click: the slate is left out.
    query("q3", "laces", hits=["b4"]),
    # An event knows its wording; without that, two wordings of one query_id leave it open.
    query("q4", "sho"),
    query("q4", "shoe"),
    event("click", "q4", "b1", 0, user_query="shoe"),
    event("click", "q4", "b2", 1),
    event("click", "nowhere", "b1", 0),
    event("search", "q1"),
    event("impression", "q1"),
    event("add_to_cart", "q1", "b3", 2),
    {"application": "shop"},
    query("q5", None),
]


def bulk(documents):
    """Write documents as a bulk request has them."""
    index = {False: "ubi_queries", True: "ubi_events"}
    lines = []
    for one in documents:
        lines += [{"index": {"_index": index["action_name" in one], "_id": "x"}}, one]
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "ubi.ndjson.gz"
    path.write_bytes(gzip.compress(bulk(LOG).encode()))
    return path


@pytest.fixture(scope="module")
def shoes(tmp_path_factory):
    rows = pl.DataFrame({"id": list(SHOES), "text": list(SHOES.values())})
    path = tmp_path_factory.mktemp("shoes")

    make = partial(write_own, documents=[rows], links=[], where=path)
    return open_or_make("collection", {}, {}, make, out=path / "shoes").path


def slates(path):
    """Impressions by wording: {wording: {object: (position, clicked)}}."""
    opened = open_collection(path)
    words = dict(pl.read_parquet(opened.parts("queries")).select("id", "text").rows())
    found = {}
    shown = opened.frame("impressions")
    for page, ad, place, clicked in shown.select("query", "document", "position", "clicked").rows():
        found.setdefault(words[page], {})[ad] = (place, clicked)
    return found


def test_queries_and_events_are_joined_and_every_line_is_accounted_for(log, shoes, tmp_path):
    made = ingest("ubi", [log], tmp_path / "out", documents=shoes)
    assert slates(made.path) == {
        # The ordinals of this application begin with 0.
        "red shoes": {"b1": (1, False), "b2": (2, True), "b3": (3, False)},
        "boots": {"b3": (1, True), "b1": (2, False), "b4": (None, True)},
        "shoe": {"b1": (1, True)},
    }
    counts, skipped = made.counts, made.skipped
    assert (counts["queries_found"], counts["events_found"]) == (7, 12)
    assert (counts["queries"], counts["documents"], counts["slates"]) == (4, 4, 3)
    assert counts["shown_by_response"] == 3
    assert skipped["event_of_unknown_query"] == skipped["event_of_several_wordings"] == 1
    assert skipped["event_without_object_id"] == skipped["query_without_text"] == 1
    assert skipped["neither_query_nor_event"] == 1
    assert skipped["event_of_other_action"] == {"add_to_cart": 1, "search": 1}
    assert skipped["slate_without_click"] == 1
    clicks = open_collection(made.path).frame("relations/click")
    assert dict(clicks.select("target", "weight").rows()) == {"b1": 1, "b2": 1, "b3": 1, "b4": 1}
    assert ingest("ubi", [log], tmp_path / "out", documents=shoes) == made


def test_memory_is_asked_for_five_times_the_text_up_to_a_shard(log, shoes, tmp_path, monkeypatch):
    class Asked(Exception):
        """What is asked for."""

    def require(stage, memory, directory, disk):
        raise Asked(memory, disk)

    monkeypatch.setattr(build, "require", require)
    found = []
    for size in (0, 10**6, 10**9):
        monkeypatch.setattr(build, "text_bytes", lambda paths, size=size: size)
        with pytest.raises(Asked) as error:
            ingest("ubi", [log], tmp_path / "corpus", documents=shoes)
        found.append(error.value.args)
    least = found[0][0]
    assert found == [(least, 0), (least + 5 * 10**6, 10**6), (least + 8 * 10**8, 10**9)]


def test_a_purchase_may_count_as_a_click(log, shoes, tmp_path):
    made = ingest("ubi", [log], tmp_path / "out", documents=shoes, actions=["click", "add_to_cart"])
    assert slates(made.path)["red shoes"]["b3"] == (3, True)


def test_queries_and_events_may_be_apart_and_in_any_format(log, shoes, tmp_path):
    whole = ingest("ubi", [log], tmp_path / "whole", documents=shoes)
    queries = [one for one in LOG if "action_name" not in one]
    events = [one for one in LOG if "action_name" in one]
    wrapped = [{"_index": "ubi_events", "_source": one} for one in events]
    apart = tmp_path / "apart"
    apart.mkdir()
    (apart / "events.jsonl").write_text("".join(json.dumps(one) + "\n" for one in wrapped))
    pl.DataFrame(queries, infer_schema_length=None).drop("query_attributes").write_parquet(
        apart / "queries.parquet"
    )
    (apart / "notes.md").write_text("of another kind")
    made = ingest("ubi", [apart], tmp_path / "out", documents=shoes)
    assert slates(made.path) == slates(whole.path)

    flat = tmp_path / "flat.csv"
    names = ["application", "query_id", "action_name", "user_query", "event_attributes",
             "query_response_hit_ids"]  # fmt: skip
    rows = [
        {name: json.dumps(value) if isinstance(value, dict | list) else value
         for name in names if (value := one.get(name)) is not None}
        for one in LOG
    ]  # fmt: skip
    pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String)).write_csv(flat)
    made = ingest("ubi", [flat], tmp_path / "of-csv", documents=shoes)
    assert slates(made.path) == slates(whole.path)
    dotted = pl.DataFrame(
        {
            "action_name": ["impression", "click"],
            "query_id": ["q1", "q1"],
            "user_query": ["red shoes", "red shoes"],
            "event_attributes.object.object_id": ["b1", "b1"],
            "event_attributes.position.ordinal": ["1", "1"],
        }
    )
    dotted.write_csv(tmp_path / "dotted.tsv", separator="\t")
    made = ingest("ubi", [tmp_path / "dotted.tsv"], tmp_path / "of-tsv", documents=shoes)
    assert slates(made.path) == {"red shoes": {"b1": (1, True)}}


def test_a_table_of_objects_is_in_the_language_that_is_named(log, tmp_path):
    table = tmp_path / "shoes.csv"
    pl.DataFrame({"id": list(SHOES), "text": list(SHOES.values())}).write_csv(table)
    made = ingest("ubi", [log], tmp_path / "out", documents=table, language="fr")
    assert open_collection(made.path).documents.collect()["language"].unique().to_list() == ["fr"]


def test_a_description_is_the_text_where_no_documents_are_given(tmp_path):
    lines = []
    for n in range(40):
        click = event("click", f"q{n}", f"b{n}", 1)
        click["event_attributes"]["object"]["description"] = f"a shoe of size {n}"
        lines += [query(f"q{n}", f"size {n}"), click]
    path = tmp_path / "ubi.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    made = ingest("ubi", [path], tmp_path / "out")
    texts = open_collection(made.path).documents.collect()["text"]
    assert sorted(texts) == sorted(f"a shoe of size {n}" for n in range(40))
    task = build_task(made.path, tmp_path / "task", spec=TaskSpec(relevant="click", words="all"))
    assert sum(task.counts["pairs"].values()) == 40


def judgements(ratings, name="by hand"):
    """A judgement list as it is imported: {query: {object: rating}}."""
    rated = [
        {"query": query, "ratings": [{"docId": d, "rating": r} for d, r in of_query.items()]}
        for query, of_query in ratings.items()
    ]
    return {"name": name, "type": "IMPORT_JUDGMENT", "judgmentRatings": rated}


RATED = judgements(
    {"red  shoes": {"b1": "100.000", "b3": "0.000", "b9": "10"}, "laces": {"b4": 10, "b1": "no"}}
)
SET = {"name": "ten best", "querySetQueries": [{"queryText": "laces"}, {"queryText": "boots"}]}


def judged(path):
    """Grades by wording and object, and the sets by wording."""
    opened = open_collection(path)
    words = dict(pl.read_parquet(opened.parts("queries")).select("id", "text").rows())
    rows = opened.frame("relations/judgement").select("source", "target", "grade").rows()
    parts = [pl.read_parquet(part) for part in opened.labels("queries")]
    sets = pl.concat(parts) if parts else pl.DataFrame()
    return (
        {(words[query], document): grade for query, document, grade in rows},
        {(words[query], column, value) for query, column, value in sets.rows()},
    )


def test_judgements_and_query_sets_are_read_beside_the_clicks(log, shoes, tmp_path):
    (tmp_path / "judged.json").write_text(json.dumps(RATED, indent=2))
    hit = {"_index": "query_sets", "_source": SET}
    (tmp_path / "set.json").write_text(json.dumps({"hits": {"hits": [hit]}}, indent=2))
    files = [log, tmp_path / "judged.json", tmp_path / "set.json"]
    made = ingest("ubi", files, tmp_path / "out", documents=shoes)
    grades, sets = judged(made.path)
    assert grades == {("red shoes", "b1"): 100, ("red shoes", "b3"): 0, ("laces", "b4"): 10}
    assert sets == {(words, "query_set", "ten best") for words in ("laces", "boots")}
    counts, skipped = made.counts, made.skipped
    assert counts["gains"] == pytest.approx({"0": 0, "10": 0.4, "100": 4})
    assert (counts["judgements"], counts["judgements_found"], counts["judged_queries"]) == (3, 4, 2)
    assert (skipped["judgement_unknown_document"], skipped["rating_incomplete"]) == (1, 1)
    assert open_collection(made.path).relevant == ("click", "judgement")
    # The clicks and the queries are those of the log alone.
    assert slates(made.path) == slates(ingest("ubi", [log], tmp_path / "log", documents=shoes).path)
    assert counts["queries"] == 4


def test_a_task_is_made_of_judgements_alone(shoes, tmp_path):
    rated = judgements({f"the {words}": {item: 3} for item, words in SHOES.items()})
    more = judgements({f"size {n}": {"b1": 0, f"b{n % 4 + 1}": n % 3 + 1} for n in range(40)})
    path = tmp_path / "lists.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in (rated, more)))
    made = ingest("ubi", [path], tmp_path / "out", documents=shoes)
    assert open_collection(made.path).relevant == ("judgement",)
    assert made.counts["gains"] == {"0": 0, "1": 1, "2": 2, "3": 3}
    task = build_task(made.path, tmp_path / "task", relevant="judgement", words="all")
    assert task.counts["judged"]["queries"] == made.counts["judged_queries"] == 44


def test_ratings_may_be_fractions_and_none_is_an_error(shoes, tmp_path):
    path = tmp_path / "list.jsonl"
    path.write_text(json.dumps(judgements({"laces": {f"b{n}": n / 7 for n in range(9)}})) + "\n")
    grades, _ = judged(ingest("ubi", [path], tmp_path / "out", documents=shoes).path)
    assert grades == pytest.approx({("laces", f"b{n}"): n / 7 for n in range(1, 5)})
    path.write_text(json.dumps(judgements({"laces": {"b1": 0}})) + "\n")
    with pytest.raises(BadInput, match=r"no judgement of a query is left"):
        ingest("ubi", [path], tmp_path / "none", documents=shoes)
    (tmp_path / "cut.json").write_text('{\n"name": "x",\n')
    with pytest.raises(BadInput, match=r"cut\.json: it is no JSON object"):
        ingest("ubi", [tmp_path / "cut.json"], tmp_path / "cut", documents=shoes)


def test_the_published_judgements_are_read_to_the_last_one(tmp_path):
    path = real_data("ubi-esci")
    published = json.loads(gzip.decompress((path / "esci_us_judgments.json.gz").read_bytes()))
    ids = {one["docId"] for query in published["judgmentRatings"] for one in query["ratings"]}
    products = tmp_path / "products.csv"
    pl.DataFrame({"id": sorted(ids), "text": [f"product {id}" for id in sorted(ids)]}).write_csv(
        products
    )
    files = [path / "esci_us_judgments.json.gz", path / "esci_us_queryset.json"]
    counts = ingest("ubi", files, tmp_path / "out", documents=products).counts
    assert counts["judgements"] == counts["judgements_found"] == 6678
    assert counts["queries"] == counts["queries_of_sets"] == counts["judged_queries"] == 150
    assert counts["judgements_not_relevant"] == 1086
    assert counts["gains"] == pytest.approx({"0": 0, "1": 0.04, "10": 0.4, "100": 4})


RUNS = [("docs/clicks.md", "OpenSearch: User Behavior Insights")]
"""Section whose command this file runs."""


def test_the_command_of_the_page_runs_as_printed(tmp_path, monkeypatch):
    command, lists = [line for block in commands(*RUNS[0]) for line in command_lines(block)]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    rows = pl.DataFrame({"id": list(SHOES), "text": list(SHOES.values())})
    rows.write_ndjson(tmp_path / "products.jsonl")
    parts = {"queries": LOG[:1], "events": LOG[1:5]}
    for name, documents in parts.items():
        path = tmp_path / f"ubi_{name}.ndjson.gz"
        path.write_bytes(gzip.compress(bulk(documents).encode()))
    assert run(library, command[1:]) == 0
    assert slates(tmp_path / "ubi-clicks")["red shoes"]["b2"] == (2, True)
    (tmp_path / "judgements.json").write_text(json.dumps(RATED, indent=2))
    (tmp_path / "queryset.json").write_text(json.dumps(SET, indent=2))
    assert run(library, lists[1:]) == 0
    assert judged(tmp_path / "ubi-judged")[0][("red shoes", "b1")] == 100


def test_lines_that_are_no_json_and_unknown_objects_are_in_quarantine(log, shoes, tmp_path):
    path = tmp_path / "broken.ndjson"
    lines = [*bulk(LOG).splitlines(), "{not json", json.dumps(event("click", "q1", "b9", 3))]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(BadInput, match=r"2 of 22 rows are broken.*broken\.ndjson, line 41"):
        ingest("ubi", [path], tmp_path / "out", documents=shoes)
    first = tmp_path / "a.ndjson"  # nothing in it is broken, and it is not said to be
    first.write_text("\n".join(bulk(LOG).splitlines()[:4]) + "\n")
    with pytest.raises(BadInput, match=rf"^{tmp_path}: 2 of .* broken\.ndjson, line 41"):
        ingest("ubi", [first, path], tmp_path / "out", documents=shoes)
    made = ingest("ubi", [path], tmp_path / "out", documents=shoes, most_broken=0.2)
    found = pl.read_csv(made.path / "quarantine.csv")
    assert dict(found.select("category", "line").rows()) == {"json": 41, "document_unknown": 42}
    assert "'b9' is no id of shoes" in found["reason"].to_list()[1]
    assert (made.skipped["row_json"], made.skipped["row_document_unknown"]) == (1, 1)


def test_what_holds_no_click_says_what_it_holds(shoes, tmp_path):
    path = tmp_path / "ubi.jsonl"
    path.write_text(json.dumps(event("search", "q1")) + "\n")
    with pytest.raises(BadInput, match="1 action 'search'"):
        ingest("ubi", [path], tmp_path / "out", documents=shoes)
    (tmp_path / "zz.jsonl").write_bytes(path.read_bytes())
    with pytest.raises(BadInput, match=r"/ubi\.jsonl: no click"):
        ingest("ubi", [path, tmp_path / "zz.jsonl"], tmp_path / "out", documents=shoes)
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match=r"no file there is \.ndjson"):
        ingest("ubi", [tmp_path / "empty"], tmp_path / "out", documents=shoes)


def test_the_published_file_is_read_to_its_last_line(tmp_path):
    log = real_data("ubi-esci") / "ubi_queries_events.ndjson.gz"
    made = ingest("ubi", [log], tmp_path / "out", most_broken=0.5)
    counts, skipped = made.counts, made.skipped
    assert (counts["queries_found"], counts["events_found"], counts["rows"]) == (473, 3448, 3921)
    # The half that was made of ESCI has ids alone; the half of the shop says what each id is.
    assert skipped["row_document_unknown"] > 1000
    assert skipped["event_of_unknown_query"] == 87
    assert skipped["event_of_other_action"]["add_to_cart"] == 234
    assert counts["clicks"] > 100


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("ubi.ndjson", ['{"index": {}}', '{"query_id": "q", "user_query": "shoes"}']),
        ("events.jsonl.gz", ['{"_source": {"query_id": "q", "action_name": "click"}}']),
        ("events.csv", ["query_id,action_name", "q,click"]),
    ],
)
def test_queries_and_events_of_a_search_are_known_by_their_fields(tmp_path, name, lines):
    text = "".join(f"{line}\n" for line in lines).encode()
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "notes.md").write_text("text")
    path = tmp_path / "exports" / name
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert (source_of(path), source_of(path.parent)) == ("ubi", "ubi")
    # What is no log, or is damaged, is left to the reader of what its name says.
    path.write_bytes(b"\xff\xfe broken")
    assert (source_of(path), source_of(path.parent)) == ("table", "folder")


def test_a_single_value_stands_for_a_list_of_one():
    ubi = source_named("ubi")
    assert ubi(paths="a.jsonl", actions="buy") == ubi(paths=["a.jsonl"], actions=["buy"])


def test_the_published_directory_is_known_by_what_it_holds():
    assert source_of(real_data("ubi-esci")) == "ubi"


def test_columns_of_the_documents_are_declared(tmp_path):
    (tmp_path / "a.csv").write_text("nr;wort\nb2;a blue shoe\n")
    (tmp_path / "ubi.ndjson").write_text(bulk([query("q", "shoe"), event("click", "q", "b2")]))
    shop = {"documents": tmp_path / "a.csv", "columns": {"id": "nr", "text": "wort"}}
    assert ingest("ubi", tmp_path / "ubi.ndjson", tmp_path / "out", **shop).counts["pairs"] == 1
