"""The benchmark of the whole pipeline: its table can be trained, and exponents are slopes."""

import pytest

from benchmarks.wikipedia import TABLE, Stage, bytes_of, exponents, line
from ssi_core.experiment import load_table


def stage(name, documents, seconds):
    return Stage(name, documents, documents, seconds, seconds, 5_000_000, 3_000_000, 2_000_000)


def test_an_exponent_is_the_slope_over_all_sizes():
    measured = [stage("features", 10**n, 3 * 10 ** (0.5 * n)) for n in (4, 5, 6)]
    measured += [stage("index", 10_000, 1.0)]
    assert exponents(measured) == {"features": pytest.approx(0.5)}


def test_a_line_has_times_and_megabytes():
    parts = line(stage("index", 10_000, 1.5)).split()
    assert parts == ["index", "10,000", "1.5", "1.5", "5", "3", "2"]


def test_the_rows_of_its_table_are_models():
    views = {
        view for row in load_table(str(TABLE), TABLE.parent).rows for view in row.ranker().views()
    }
    assert {"raw", "raw@30000", "sublinear:100@30000"} <= views


def test_bytes_are_those_of_all_files(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"12345")
    assert bytes_of(tmp_path) == bytes_of(tmp_path / "a" / "b") == 5
