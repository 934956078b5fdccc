"""The map of a log."""

import pytest

from ssi_core.corpus.clicks.columns import load_map, parse_map
from ssi_core.types import BadInput

WHOLE = {"session": "s", "page": "p", "ad": "a", "position": "k", "clicked": "c"}


def test_a_map_is_read(tmp_path):
    path = tmp_path / "map.toml"
    path.write_text(
        '[columns]\nsession = "s"\npage_text = "p"\nad = "a"\nposition = "k"\nclicked = "c"\n'
        '[log]\nfirst_position = 0\n[ads]\nid = "number"\nlanguage = "de"\n'
    )
    found = load_map(path)
    assert (found.column("ad"), found.column("time")) == ("a", "time")
    assert (found.log.first_position, found.ads.id, found.ads.text) == (0, "number", "text")
    assert found.pages.language == ""


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, r"page .*, ad .*, clicked .* missing.*all_clicked = true"),
        ({"column": WHOLE}, "no key 'column'. Did you mean 'columns'"),
        ({"columns": {**WHOLE, "tiem": "t"}}, "no key 'tiem'. Did you mean 'time'"),
        (
            {"columns": {**WHOLE, "ad": "p"}},
            "page and ad are both 'p'. Give each a column",
        ),
        ({"columns": {**WHOLE, "ad": 3}}, "ad = 3, expected a column's name"),
        ({"columns": "s"}, "is no table"),
        ({"columns": WHOLE, "log": {"format": "xls"}}, "format = 'xls', expected one of csv"),
        ({"columns": WHOLE, "log": {"encoding": "klingon"}}, "encoding = 'klingon'"),
        ({"columns": WHOLE, "log": {"encoding": "utf-16"}}, "convert others with iconv"),
        ({"columns": WHOLE, "log": {"separator": ", "}}, "expected one character"),
        ({"columns": WHOLE, "log": {"first_position": "1"}}, "expected a value such as 1"),
        ({"columns": WHOLE, "ads": {"texts": "x"}}, "no key 'texts'. Did you mean 'text'"),
        ({"columns": WHOLE, "pages": []}, "pages. is no table"),
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
