"""Which tables are computed again, and how long that takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import tables
from benchmarks.tables import Computation, computations
from flows.reporting import result_file
from flows.reporting.reached_code import reached_by
from flows.reporting.shipped_tables import find_table, shipped_tables

EVERY = list(computations())


def test_each_table_is_shipped_and_has_data_and_a_result_of_its_own():
    declared = tables.declared()
    assert {one.table for one in EVERY} <= set(shipped_tables())
    assert {one.corpus for one in EVERY} == set(declared["corpora"])
    assert len({one.result for one in EVERY}) == len(EVERY)
    assert {"query-log-zz", "wikispeedia-table1"} <= {one.result for one in EVERY}


def test_a_corpus_with_folds_is_a_collection_for_each():
    folds = dict(tables.collections("dbpedia", Path("data")))
    assert list(folds) == [f"dbpedia-{fold}" for fold in range(1, 6)]
    assert folds["dbpedia-2"] == ["dbpedia-entity", "data/dbpedia-entity", "--fold", "2"]
    assert list(tables.collections("zz", Path("data"))) == [
        ("zz", ["zzquerylog", "data/zzquerylog"])
    ]


def test_the_comparisons_of_all_folds_are_one_result(monkeypatch):
    said = []

    def ssi(*words):
        said.append(words)
        of = str(words[words.index("--corpus") + 1])[-1] if "pipeline" in words else ""
        return json.dumps({"comparison": f"query-log-{of}"}), ""

    monkeypatch.setattr(tables, "ssi", ssi)
    one = Computation("query-log", "dbpedia", "query-log-dbpedia")
    assert tables.compute(one, Path("data"), 3) == ""
    assert [words[:2] for words in said] == [("data", "ingest"), ("lab", "pipeline")] * 5 + [
        ("compare", "query-log")
    ]
    named = said[-1][said[-1].index("--comparison") + 1]
    assert named == "query-log-1,query-log-2,query-log-3,query-log-4,query-log-5"
    monkeypatch.setattr(tables, "ssi", lambda *words: ("", "no space left"))
    assert tables.compute(one, Path("data"), 3) == "no space left"


@pytest.fixture
def computed(monkeypatch):
    """A table with a result of two rows, of today and of one seed."""
    table = find_table("query-log")
    found = {
        "experiment": "query-log",
        "settings": result_file.settings_digest(table),
        "code": reached_by(*table.rows),
        "summary": [{"label": row.label, "seconds": 60.0, "seeds": 1} for row in table.rows],
    }
    monkeypatch.setattr(Computation, "kept", lambda self: found)
    unmeasured = tables.declared() | {"cpu_seconds": {}}
    monkeypatch.setattr(tables, "declared", lambda: unmeasured)
    return Computation("query-log", "zz", "query-log-zz"), found


def test_hours_are_those_of_the_rows_times_their_seeds(computed):
    one, found = computed
    assert one.hours(1) == pytest.approx(len(found["summary"]) / 60)
    assert one.hours(3) == pytest.approx(3 * len(found["summary"]) / 60)


def test_hours_are_the_cpu_seconds_of_the_table_where_they_were_measured(computed, monkeypatch):
    one, _ = computed
    monkeypatch.setattr(tables, "declared", lambda: {"cpu_seconds": {one.result: 5400}})
    assert (one.hours(3), one.hours(1)) == (1.5, 0.5)


def test_the_results_with_cpu_seconds_are_computed():
    assert set(tables.declared()["cpu_seconds"]) <= {one.result for one in EVERY}


def test_a_result_is_left_alone_if_it_is_of_this_code_and_has_the_seeds(computed):
    one, found = computed
    assert one.current(1)
    assert not one.current(3)
    found["code"] = "of another day"
    assert not one.current(1)


def test_the_command_says_what_is_not_finished(computed, monkeypatch, capsys):
    monkeypatch.setattr(tables, "compute", lambda one, data, seeds: "no such file")
    monkeypatch.setattr("sys.argv", ["tables", "data", "query-log-zz", "five-papers-zz"])
    assert tables.main() == 1
    out = capsys.readouterr().out
    assert "h  on one core, 2 of 2 tables" in out
    assert "query-log-zz: 0 CPU seconds\n" in out
    assert "not finished:\n" in out
    assert "query-log-zz: no such file" in out
    monkeypatch.setattr("sys.argv", ["tables", "data", "query-log-zz", "--hours", "0.1"])
    assert tables.main() == 1
    assert "query-log-zz: no time left" in capsys.readouterr().out
