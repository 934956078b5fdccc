"""The map of a log."""

import pytest

from ssi_core.guests.click_logs.columns import load_map, parse_map
from ssi_core.guests.click_logs.guess import guess_map
from ssi_core.types import BadInput

QUERIES = {"query": "q", "document": "u"}
COUNTS = {**QUERIES, "clicks": "n"}
GRADES = {**QUERIES, "grade": "g"}
WHOLE = {"session": "s", "query": "p", "document": "a", "position": "k", "clicked": "c"}


def test_a_map_is_read(tmp_path):
    path = tmp_path / "map.toml"
    path.write_text(
        '[columns]\nsession = "s"\nquery_text = "p"\ndocument = "a"\n'
        'position = "k"\nclicked = "c"\n'
        '[log]\nfirst_position = 0\n[documents]\nid = "number"\nlanguage = "de"\n'
    )
    found = load_map(path)
    assert (found.column("document"), found.column("timestamp")) == ("a", "timestamp")
    assert (found.log.first_position, found.documents.id, found.documents.text) == (
        0,
        "number",
        "text",
    )
    assert found.queries.language == ""


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, r"query .*, document .*, clicked .* missing.*'query': 'NAME'.*all_clicked = true"),
        ({"column": WHOLE}, "no key 'column'. Did you mean 'columns'"),
        ({"columns": {**WHOLE, "timestmp": "t"}}, "no key 'timestmp'. Did you mean 'timestamp'"),
        (
            {"columns": {**WHOLE, "document": "p"}},
            "query and document are both 'p'. Give each a column",
        ),
        ({"columns": {**WHOLE, "document": 3}}, "document = 3, expected a column's name"),
        ({"columns": "s"}, "is no table"),
        ({"columns": WHOLE, "log": {"format": "xls"}}, "format='xls': expected 'csv', 'tsv'"),
        ({"columns": WHOLE, "log": {"encoding": "klingon"}}, "encoding = 'klingon'"),
        ({"columns": WHOLE, "log": {"encoding": "utf-16"}}, "convert others with iconv"),
        ({"columns": WHOLE, "log": {"separator": ", "}}, "separator=', ': .*at most 1 character"),
        (
            {"columns": WHOLE, "log": {"first_position": "1"}},
            "first_position='1': expected a whole number",
        ),
        ({"columns": WHOLE, "documents": {"texts": "x"}}, "no key 'texts'. Did you mean 'text'"),
        ({"columns": WHOLE, "queries": []}, "queries.: .. is no table"),
        (
            {"columns": QUERIES},
            r"clicked \(or clicks, of counts; or grade, of judgements\) missing",
        ),
        ({"columns": {**COUNTS, "clicked": "c"}}, "clicked and clicks: a row is a showing"),
        ({"columns": COUNTS, "log": {"all_clicked": True}}, "clicked and clicks"),
        ({"columns": WHOLE, "log": {"all_clicked": True}}, "clicked, and all_clicked"),
        ({"columns": {**GRADES, "shown": "s"}}, "shown without clicks"),
        ({"columns": {**COUNTS, "shown": "n"}}, "clicks and shown are both 'n'"),
        ({"columns": {**COUNTS, "session": "s"}}, "clicks beside session: .*Leave session out"),
        ({"columns": {**COUNTS, "position": "k"}}, "clicks beside position"),
        ({"columns": {**WHOLE, "grade": "g"}}, "grade beside session, position"),
        ({"columns": {**QUERIES, "clicked": "c", "position": "k"}}, "position without session"),
        ({"columns": {**WHOLE, "document_text": "p"}}, "query and document_text are both 'p'"),
        ({"columns": {**WHOLE, "timestamp": "k"}}, "position and timestamp are both 'k'"),
        ({"columns": {**GRADES, "clicked": "g"}}, "grade and clicked are both 'g'"),
        ({"columns": COUNTS, "grades": {}}, "no column has the grades"),
        ({"columns": GRADES, "grades": {"weights": "one"}}, "Did you mean 'weight'"),
        (
            {"columns": GRADES, "grades": {"weight": "much"}},
            "weight='much': expected 'gain', 'one' or 'clicks'",
        ),
        ({"columns": GRADES, "grades": {"weight": "clicks"}}, "and no column has clicks"),
        ({"columns": GRADES, "grades": {"relevant": 0}}, "relevant=0: expected more than 0"),
        ({"columns": GRADES, "grades": {"relevant": True}}, "relevant=True: expected a number"),
        ({"columns": GRADES, "grades": {"labels": {"E": 5}}}, "{'E': 5}: expected at most 4"),
        ({"columns": COUNTS, "log": {"each": "hits", "format": "csv"}}, "only JSON has lists"),
    ],
)
def test_what_is_wrong_with_a_map_is_named(said, message):
    with pytest.raises(BadInput, match=message):
        parse_map(said, "map.toml")


@pytest.mark.parametrize("data", [b"columns = ", b"\xff"])
def test_what_is_no_toml_is_named(tmp_path, data):
    path = tmp_path / "map.toml"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=r"map.toml: .*Write the map as"):
        load_map(path)


@pytest.mark.parametrize(
    "columns",
    [
        {
            "query": "q",
            "query_text": "q",
            "document": "u",
            "document_text": "t",
            "document_title": "t",
            "clicks": "n",
        },
        {"session": "q", "query": "q", "query_text": "q", "document": "u", "clicked": "c"},
        {"session": "who", "user": "who", "query": "q", "document": "u", "clicked": "c"},
    ],
)
def test_a_column_may_have_several_roles_of_one_side(columns):
    found = parse_map({"columns": columns})
    assert found.names == list(dict.fromkeys(columns.values()))
    assert found.of_pairs == ("session" not in columns)


def test_a_map_in_another_language_is_so_on_both_sides():
    found = parse_map({"columns": WHOLE, "documents": {"language": "en"}}).in_language("zh")
    assert (found.queries.language, found.documents.language) == ("zh", "zh")


def test_a_role_that_is_declared_without_a_column_is_not_guessed(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("session,query,page,title,rank,user,clicked\ns,q,p,t,1,u,1\n")
    guessed = {"document": "page", "document_title": "title", "document_text": "title"}
    columns = guess_map(log, {}, {}).columns
    assert columns.items() > (guessed | {"position": "rank", "user": "user"}).items()
    declared = {"document_title": "", "user": ""}
    form = guess_map(log, declared, {}).declaring(declared, {})
    assert form.columns.items() > {"document": "page", "document_text": "page"}.items()
    assert not declared.keys() & form.columns.keys()
