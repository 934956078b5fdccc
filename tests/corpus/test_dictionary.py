"""Two-column dictionaries."""

import gzip
from collections import Counter

import pytest

from ssi_core.corpus import inputs
from ssi_core.corpus.mates.dictionary import read_dictionary
from ssi_core.types import BadInput


def test_entries_are_distinct_and_in_order(tmp_path):
    path, skipped = tmp_path / "d.tsv.gz", Counter()
    text = "\ufeff自動車\tcar\r\n車輪 \twheel\n自動車\tmotorcar\n自動車\tcar\n茶\t\n"
    path.write_bytes(gzip.compress(text.encode()))
    found = read_dictionary(path, skipped)
    assert found.columns == ["source", "target"]
    assert found.rows() == [("自動車", "car"), ("車輪", "wheel"), ("自動車", "motorcar")]
    assert skipped == {"entry_duplicate": 1, "entry_without_translation": 1}


@pytest.mark.parametrize("length", [51, 52, 101, 102, 103, 500])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_line_that_is_too_long_is_left_out_and_counted(tmp_path, monkeypatch, length, suffix):
    monkeypatch.setattr(inputs, "LARGEST_LINE", 50)
    path, skipped = tmp_path / f"d.tsv{suffix}", Counter()
    text = b"a\tb\n" + b"x" * length + b"\nc\td\n" + b"y" * length
    path.write_bytes(gzip.compress(text) if suffix else text)
    assert read_dictionary(path, skipped).rows() == [("a", "b"), ("c", "d")]
    assert skipped == {"entry_too_long": 2}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        ("茶\ttea\n車 car\n".encode(), "line 2 has 1 columns"),
        (b"a\tb\tc\n", "line 1 has 3 columns"),
        ("茶\ttea\n".encode("shift_jis"), "line 1 is no UTF-8"),
        ("茶\t\n".encode(), "no line has a translation"),
    ],
)
def test_what_is_no_dictionary_is_told(tmp_path, data, message):
    path = tmp_path / "d.tsv"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=message):
        read_dictionary(path, Counter())
