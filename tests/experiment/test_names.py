"""The rule for names: what is taken, what is not, and where it holds."""

import pytest

from ssi_core.experiment import load_table
from ssi_core.experiment.names import LONGEST, RULE, check_name
from ssi_core.types import BadInput

GOOD = [
    "demo",
    "ssi2010-table1",
    "_x",
    "a b",
    "v1.2+c(3)",
    "été",
    "日本語の表",
    "हिन्दी",
    "x" * LONGEST,
    "com",
    "lpt10",
]
HOSTILE = {
    "up": "../../../evil",
    "inner up": "a/../../evil",
    "absolute": "/tmp/evil",
    "Windows path": "C:\\evil",
    "drive": "c:evil",
    "empty": "",
    "blank": " ",
    "NUL": "a\0b",
    "line": "a\nb",
    "escape": "a\x1b[31mb",
    "C1": "a\x9bb",
    "bidi": "a\u202egnp",
    "invisible": "a\u200bb",
    "surrogate": "a\ud800",
    "hidden": ".evil",
    "dots": "..",
    "option": "-x",
    "blank at the end": "a ",
    "dot at the end": "a.",
    "too long": "x" * (LONGEST + 1),
    "too long in UTF-8": "é" * LONGEST,
    "quotes": 'a" or "1',
    "quote": "a' or '1",
    "alias": "a@champion",
    "URI": "a%2fb",
    "fragment": "a#b",
    "query": "a?b",
    "star": "a*",
    "pipe": "a|b",
    "device": "CON",
    "device with a suffix": "nul.txt",
}


@pytest.mark.parametrize("name", GOOD)
def test_names_of_any_script_are_taken(name):
    assert check_name(name, "table") == name


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_name_is_refused_with_the_rule(name):
    with pytest.raises(ValueError, match="letters and digits of any script"):
        check_name(name, "table")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "it is empty"),
        ("x" * (LONGEST + 1), "it is too long"),
        ("a/b.", "'/' in it"),
        (".a/", "'/' in it"),
        ("/a", "'/' at its begin"),
        ("-a", "'-' at its begin"),
        ("ab ", "' ' at its end"),
        ("a.b.", "'.' at its end"),
        ("com0", "Windows calls a device so"),
        ("Lpt9 .txt", "Windows calls a device so"),
    ],
)
def test_a_refusal_names_what_breaks_the_rule(name, reason):
    with pytest.raises(ValueError, match="is no name of a model") as refused:
        check_name(name, "model")
    assert str(refused.value) == f"{name[:80]!r} is no name of a model, for {reason}: {RULE}"


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_a_table_file_with_a_hostile_name_is_bad_input(name, tmp_path):
    quoted = "".join(sign if sign.isalnum() else f"\\U{ord(sign):08x}" for sign in name)
    file = tmp_path / "table.toml"
    file.write_text(f'name = "{quoted}"\ntitle = "t"\n[[rows]]\nlabel = "a"\nmodel = "tfidf"\n')
    # TOML itself has no surrogates.
    expected = "not TOML" if "\ud800" in name else "is no name of a table"
    with pytest.raises(BadInput, match=expected) as error:
        load_table(file)
    assert str(file) in str(error.value)
