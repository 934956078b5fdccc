from __future__ import annotations

import dataclasses
import io
import json
import math
import re

import numpy as np
import pytest
from rich.console import Console

from flows import tracking
from flows.reporting import compare, report
from flows.reporting import verdicts as verdicts_page
from flows.reporting.reached_code import reached_by
from ssi_core.evaluation.claims import Claim
from ssi_core.evaluation.significance import (
    holm,
    paired_randomisation,
    paired_t,
    smallest_detectable,
)
from ssi_core.experiment import PrintedRow, Published, Row
from ssi_core.types import BadInput
from tests.flows import comparisons

EXPERIMENT = comparisons.TABLE["name"]


@pytest.fixture(scope="module")
def rows(mlflow_store, task_dir):
    """Run ids of the comparison "first"; its table has one more row, which is not done."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(mlflow_store))
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield comparisons.write(task_dir)


@pytest.fixture(scope="module")
def found(rows):
    return compare.compare(EXPERIMENT, "first")


def printed(comparison, **console):
    file = io.StringIO()
    compare.render(comparison, Console(file=file, width=100, highlight=False, **console))
    return file.getvalue()


def test_the_object_is_json_with_the_agreed_keys(found, rows):
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert {"experiment", "comparison", "rows", "tests", "claims"} <= set(found)
    assert (found["experiment"], found["comparison"]) == (EXPERIMENT, "first")
    assert [(row["label"], row["seed"]) for row in found["rows"]] == [
        ("TF-IDF", 0), ("BM25", 0), ("U'V + I", 0), ("U'V + I", 1)
    ]  # fmt: skip
    assert [row["run_id"] for row in found["rows"]] == rows
    for row in found["rows"]:
        assert set(row) == {"label", "seed", "run_id", "metrics"}
        assert {"test/map", "test/rank_loss", "test_se/p_at_10"} <= set(row["metrics"])
    wanted = {"a", "b", "metric", "difference", "p", "p_adjusted", "test", "n"}
    assert all(wanted <= set(test) for test in found["tests"])
    assert all({"claim", "verdict", "p"} <= set(claim) for claim in found["claims"])
    assert found["missing"] == ["LSI"]


@pytest.mark.usefixtures("rows")
def test_the_code_is_told_where_the_rows_are_still_those_of_the_table(monkeypatch):
    for comparison, told in (("first", True), ("another", False)):
        monkeypatch.setattr(compare, "comparison_of", lambda table, tasks, of=comparison: of)
        loaded = compare.load(EXPERIMENT, "first")
        assert loaded.code == (reached_by(*loaded.table.rows) if told else None)


@pytest.mark.usefixtures("rows")
def test_bounds_are_those_of_the_first_row():
    loaded = compare.load(EXPERIMENT, "first")
    first, *others = (report for reports in loaded.reports.values() for report in reports)
    assert compare.results(loaded)["bounds"] == first.bounds
    for number, other in enumerate(others):
        other.bounds["p_at_10"] = 0.1 * number
    assert compare.results(loaded)["bounds"] == {"p_at_10": 0.62}


@pytest.mark.usefixtures("rows")
def test_a_table_names_the_measures_that_are_shown_and_tested():
    loaded = compare.load(EXPERIMENT, "first")
    table = dataclasses.replace(loaded.table, measures=("ndcg_at_10", "map"), claims=())
    found = compare.results(dataclasses.replace(loaded, table=table))
    assert {test["metric"] for test in found["tests"]} == {"test/ndcg_at_10", "test/map"}
    text = printed(found)
    assert text.index("nDCG@10") < text.index("MAP")
    assert "rank loss" not in text
    assert "P@10" not in text


def test_values_are_averaged_over_seeds_query_by_query(found):
    summary = found["summary"][2]
    frames = [comparisons.report(0.2, seed=seed).per_query["map"].to_numpy() for seed in (2, 3)]
    means = [values.mean() for values in frames]
    of_queries = np.mean(frames, axis=0)
    measure = summary["measures"]["map"]
    assert (summary["label"], summary["seeds"], summary["queries"]) == ("U'V + I", 2, 60)
    assert measure["mean"] == pytest.approx(np.mean(means))
    assert measure["se"] == pytest.approx(of_queries.std(ddof=1) / math.sqrt(60))
    assert measure["sd_seeds"] == pytest.approx(np.std(means, ddof=1))
    assert found["summary"][0]["measures"]["map"]["sd_seeds"] is None


def test_every_row_is_tested_against_the_baseline_with_holm_over_the_rows(found):
    assert found["baseline"] == "TF-IDF"
    tests = [t for t in found["tests"] if t["family"] == "baseline" and t["test"] == "t"]
    assert {(t["a"], t["b"]) for t in tests} == {("BM25", "TF-IDF"), ("U'V + I", "TF-IDF")}
    assert {t["metric"] for t in tests} == {"test/rank_loss", "test/map", "test/p_at_10"}
    by_map = [t for t in tests if t["metric"] == "test/map"]
    base = comparisons.report(0.0, seed=0).per_query["map"].to_numpy()
    other = comparisons.report(0.0, seed=1).per_query["map"].to_numpy()
    assert by_map[0]["p"] == pytest.approx(paired_t(other, base))
    assert by_map[0]["difference"] == pytest.approx(float(np.mean(other - base)))
    assert [t["p_adjusted"] for t in by_map] == pytest.approx(holm([t["p"] for t in by_map]))
    assert all(t["n"] == 60 for t in found["tests"])
    assert {t["test"] for t in found["tests"]} == {"randomisation", "t"}


def test_claims_hold_are_reversed_or_not_decided_and_those_of_missing_rows_are_left(found):
    verdicts = {claim["claim"]: claim["verdict"] for claim in found["claims"]}
    assert list(verdicts.values()) == ["holds", "holds", "reversed", "not decided"]
    assert not any("LSI" in claim for claim in verdicts)
    pairs = {(t["a"], t["b"], t["metric"]) for t in found["tests"] if t["family"] == "claims"}
    assert ("U'V + I", "TF-IDF", "test/map") in pairs


def test_the_page_fits_100_columns_and_says_what_a_reader_needs(found):
    text = printed(found)
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "\x1b" not in text
    mean, error = (found["summary"][0]["measures"]["map"][key] for key in ("mean", "se"))
    spread = f"{error:.3f}".removeprefix("0")
    assert f"{mean:.3f} ±{spread} 0.329 ±.010" in text
    loss = found["summary"][0]["measures"]["rank_loss"]
    spread = f"{100 * loss['se']:.2f}".removeprefix("0")
    assert f"{100 * loss['mean']:.2f} ±{spread}" in text
    assert "sd, 2 seeds" in text
    assert "BM25 [1]" in text
    assert "[1] not in the paper" in text
    assert "P@10 can reach 0.62 here" in text
    assert "The values are made up." in text
    assert "not finished: LSI" in text
    assert "2 of 4 claims of order hold, 1 reversed, 1 not decided" in text


def test_triples_and_minutes_of_a_row_are_means_over_its_seeds(found):
    tfidf, _, trained = found["summary"]
    assert (tfidf["triples"], trained["triples"]) == (None, 1000)
    seconds = [row["metrics"]["usage/row_seconds"] for row in found["rows"][2:]]
    assert trained["seconds"] == pytest.approx(np.mean(seconds))
    long = {**trained, "triples": 1_250_000.0, "seconds": 95.0}
    summary = [tfidf, {**long, "label": "BM25"}, long]
    text = printed({**found, "summary": summary, "claims": []})
    assert text.splitlines()[1].split()[-2:] == ["triples", "min"]
    (line,) = (line for line in text.splitlines() if line.startswith("BM25 "))
    assert line.split()[-2:] == ["1.25M", "1.6"]


def test_the_signs_name_every_baseline(found):
    assert "worse than TF-IDF (paired" in printed(found)
    of_words = {**found["tests"][0], "b": "TF-IDF (links)"}
    said = " ".join(printed({**found, "tests": [*found["tests"], of_words]}).split())
    assert "° worse than the baseline of its task: TF-IDF, TF-IDF (links) (paired" in said


def test_a_long_label_costs_the_printed_errors_and_is_not_broken(found):
    summary = [{**row, "label": f"{row['label']} k = 10"} for row in found["summary"]]
    text = printed({**found, "summary": summary, "baseline": "TF-IDF k = 10"})
    assert "U'V + I k = 10 " in text
    assert "±.010" in text
    summary = [
        {**row, "label": f"{row['label']} + alpha I where k = 10"} for row in found["summary"]
    ]
    text = printed({**found, "summary": summary, "baseline": summary[0]["label"]})
    assert "U'V + I + alpha I where k = 10 " in text
    assert "0.329" in text
    assert "±.010" not in text
    assert max(len(line) for line in text.splitlines()) <= 100


def test_a_terminal_shows_the_claims_that_do_not_hold_and_where_the_others_are(found):
    text = printed(found)
    assert "TF-IDF above U'V + I" in text
    assert "BM25 above TF-IDF" in text
    assert "U'V + I above TF-IDF" not in text
    assert "comparison.md" in text
    assert "U'V + I above TF-IDF" in report.markdown(found)
    (reversed_one,) = (c for c in found["claims"] if c["verdict"] == "reversed")
    many = [{**reversed_one, "above": f"row {n}"} for n in range(30)]
    text = printed({**found, "claims": many})
    assert text.count("above U'V + I") == 20
    assert "10 more pairs of rows" in text
    text = printed({**found, "claims": [c for c in found["claims"] if c["verdict"] == "holds"]})
    assert "2 of 2 claims of order hold" in text
    assert "do not hold" not in text


def test_a_narrow_terminal_has_the_verdicts_of_a_claim_below_it(found):
    (one,) = (c for c in found["claims"] if c["verdict"] == "reversed")
    claims = [{**one, "measure": name} for name in ("map", "rank_loss", "p_at_10")]
    file = io.StringIO()
    compare.render({**found, "claims": claims}, Console(file=file, width=80, highlight=False))
    lines = file.getvalue().splitlines()
    assert "claims that do not hold:" in lines
    at = lines.index("TF-IDF above U'V + I")
    said = "rank loss reversed, p < .001; MAP reversed, p < .001; P@10 reversed, p < .001"
    assert lines[at + 1].strip() == said
    assert max(map(len, lines)) <= 80


def test_the_footnotes_name_the_candidates_once(found):
    summary = [{**row, "candidates": "all 11,426 documents"} for row in found["summary"]]
    lines = report.footnotes({**found, "summary": summary})
    assert lines.count("candidates: all 11,426 documents.") == 1
    summary[0]["candidates"] = None  # of an earlier version
    assert "candidates: all 11,426 documents." in report.footnotes({**found, "summary": summary})
    assert not any("candidates" in line for line in report.footnotes(found))


def test_a_table_of_many_measures_is_printed_in_parts_with_whole_labels(found):
    summary = [
        {**row, "label": f"{row['label']}, a label of some length"} for row in found["summary"]
    ]
    measures = ["map", "ndcg_at_10", "p_at_10", "rank_loss", "mrr", "p_at_1"]
    text = printed({**found, "summary": summary, "measures": measures, "claims": []})
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    for row in summary:
        assert sum(line.startswith(row["label"]) for line in lines) == 2
    for title in ("MAP", "nDCG@10", "P@10", "rank loss %", "MRR", "P@1 "):
        assert text.count(f" {title}") >= 1
    assert text.count("triples") == 1


def test_no_sign_stands_beside_a_value_that_is_printed_like_the_baseline(found):
    test = {**found["tests"][0], "a": "BM25", "metric": "test/map", "p_adjusted": 0.001}
    test |= {"family": "baseline", "test": "randomisation"}
    base, other = (row["measures"]["map"]["mean"] for row in found["summary"][:2])
    assert report.value_text("map", base) != report.value_text("map", other)
    sign = "* " if other > base else "° "
    signed = {**found, "tests": [{**test, "difference": other - base}]}
    assert report.cells(signed)[1][1][head_of(signed, "MAP")].startswith(sign)
    bm25 = found["summary"][1]
    close = {**bm25["measures"]["map"], "mean": base - 1e-6}
    summary = [found["summary"][0], {**bm25, "measures": {**bm25["measures"], "map": close}}]
    equal = {**found, "summary": summary, "tests": [{**test, "difference": -1e-6}]}
    assert "°" not in report.cells(equal)[1][1][head_of(equal, "MAP")]


def head_of(comparison, title):
    return report.cells(comparison)[0].index(title)


@pytest.mark.usefixtures("rows")
def test_measures_that_no_row_has_are_left_out_and_named(monkeypatch):
    run_table = tracking.run_table

    def with_slates(run):
        claim = Claim("U'V + I", "TF-IDF", "slate_ndcg_at_10")
        return dataclasses.replace(
            run_table(run), measures=("slate_map", "map"), claims=(claim,), note="A note."
        )

    monkeypatch.setattr(tracking, "run_table", with_slates)
    found = compare.compare(EXPERIMENT, "first")
    assert (found["measures"], found["claims"]) == (["map"], [])
    assert "A note. Not measured, " in printed(found)
    assert "slate_map, slate_ndcg_at_10." in " ".join(printed(found).split())


def test_the_reason_of_a_row_that_failed_stands_under_the_table(found):
    lines = report.footnotes({**found, "reasons": {"LSI": "BadInput: no words"}})
    assert lines[-2:] == ["not finished: LSI.", "LSI: BadInput: no words"]


def test_equal_notes_share_a_footnote(found):
    summary = [{**row, "note": note} for row, note in zip(found["summary"], "aba", strict=True)]
    assert report.note_numbers({"summary": summary, "printed": []}) == {
        "TF-IDF": 1,
        "BM25": 2,
        "U'V + I": 1,
    }
    notes = [line for line in report.footnotes({**found, "summary": summary}) if line[0] == "["]
    assert notes == ["[1] a", "[2] b"]


def test_signs_say_what_is_better_and_worse_than_the_baseline(found):
    worse = json.loads(json.dumps(found))
    for test in worse["tests"]:
        test["difference"] = -test["difference"]
    (line,) = (line for line in printed(found).splitlines() if line.startswith("U'V + I  "))
    assert line.count("* ") == 3
    (line,) = (line for line in printed(worse).splitlines() if line.startswith("U'V + I  "))
    assert line.count("° ") == 3


@pytest.mark.parametrize(
    ("name", "title", "shown"),
    [
        ("rank_loss_matched", "matched loss %", lambda value: f"{100 * value:.2f}"),
        ("popular_at_10", "popular@10", lambda value: f"{value:.3f}"),
        ("hubness", "hubness", lambda value: f"{value:.3f}"),
    ],
)
def test_a_measure_of_popularity_is_the_better_the_lower(found, name, title, shown):
    named = json.loads(re.sub(r'"(test/)?rank_loss"', rf'"\1{name}"', json.dumps(found)))
    text = printed({**named, "claims": []})
    assert title in " ".join(text.splitlines()[1].split())
    (line,) = (line for line in text.splitlines() if line.startswith("U'V + I  "))
    (row,) = (row for row in named["summary"] if row["label"] == "U'V + I")
    assert f"* {shown(row['measures'][name]['mean'])}" in line


def test_a_claim_of_no_difference_shows_its_margin_and_the_difference():
    said = {"above": "A", "below": "B", "bound": False, "p_adjusted": 0.01, "systems": ["A", "B"]}
    said["rows"] = ["A", "B"]
    equal = {**said, "measure": "map", "margin": 0.031, "difference": -0.0042, "verdict": "holds"}
    order = {**said, "measure": "map", "margin": None, "difference": -0.0042, "verdict": "reversed"}
    assert verdicts_page.claims_line([equal, order]) == "1 of 2 claims hold, 1 reversed"
    assert verdicts_page.claims_line([order]) == "0 of 1 claims of order hold, 1 reversed"
    head, lines = verdicts_page.claims_cells([equal, order], {"map": "MAP"})
    assert head == ["claim", "MAP"]
    assert lines == [
        ["A no different from B", "holds, p = .010 (-0.0042 of ±0.031)"],
        ["A above B", "reversed, p = .010"],
    ]


def test_a_terminal_gets_colours(found):
    assert "\x1b[" in printed(found, force_terminal=True)


def test_a_table_without_printed_numbers_has_no_column_for_them(found):
    bare = {**found, "summary": [{**row, "paper": {}} for row in found["summary"]], "claims": []}
    text = printed(bare)
    assert "paper" not in text.splitlines()[1]
    assert "claims" not in text


def test_the_page_in_markdown_has_a_line_for_every_row_and_claim(found):
    page = report.markdown(found)
    lines = page.splitlines()
    assert sum(line.startswith("| ") for line in lines) == (2 + 3) + (2 + 3)
    widths = {line.replace("\\|", "").count("|") for line in lines if line.startswith("| row")}
    assert widths == {1 + len(report.cells(found)[0])}
    assert "## Rows of made-up reports" in page


@pytest.mark.usefixtures("drawn")
def test_the_summary_run_holds_the_object_the_page_and_pictures_and_replaces_the_last(found):
    first = compare.summarise(EXPERIMENT, "first", found)
    second = compare.summarise(EXPERIMENT, "first")
    client = tracking.client()
    experiment = client.get_experiment_by_name(EXPERIMENT).experiment_id
    runs = client.search_runs([experiment], 'tags.kind = "summary"')
    assert [run.info.run_id for run in runs] == [second]
    assert first != second
    (run,) = runs
    assert run.data.tags["comparison_id"] == "first"
    assert run.data.metrics == {}
    assert run.data.tags["claims"].startswith("2 of 4 claims of order hold")
    assert run.data.tags["best_map"] == found["summary"][2]["label"]
    files = {file.path for file in client.list_artifacts(second)}
    plots = {file.path for file in client.list_artifacts(second, "plots")}
    assert files == {"comparison.json", "comparison.md", "plots"}
    # The table names three pairs of rows to draw; one of their rows was not computed.
    names = ("measures", "training", "learning", "average_precision_1", "average_precision_2")
    assert plots == {f"plots/{name}.png" for name in names}
    for name in names:
        with tracking.runs._artifact(second, f"plots/{name}.png") as path:
            assert path.read_bytes().startswith(b"\x89PNG")
    with tracking.runs._artifact(second, "comparison.json") as path:
        assert json.loads(path.read_text()) == found


def test_the_latest_comparison_is_taken_unless_one_is_named(rows, task_dir):
    comparisons.write(task_dir, "second", gains=[("TF-IDF", 0.0)])
    compare.summarise(EXPERIMENT, "second")
    assert compare.compare(EXPERIMENT)["comparison"] == "second"
    assert compare.compare(EXPERIMENT, "first")["comparison"] == "first"
    with pytest.raises(BadInput, match="--list' lists those that have"):
        compare.compare(EXPERIMENT, "third")


def test_a_single_row_is_a_comparison_without_tests(rows, task_dir):
    comparisons.write(task_dir, "alone", gains=[("U'V + I", 0.1)])
    found = compare.compare(EXPERIMENT, "alone")
    assert (found["tests"], found["claims"], found["baseline"]) == ([], [], "U'V + I")
    assert "claims" not in printed(found)
    assert compare.summarise(EXPERIMENT, "alone", found)


@pytest.fixture
def twins(rows):
    """Return a comparison whose row BM25 has the values of TF-IDF, and two claims about either."""
    loaded = compare.load(EXPERIMENT, "first")
    reports = {**loaded.reports, "BM25": loaded.reports["TF-IDF"]}
    means = {**loaded.means, "BM25": loaded.means["TF-IDF"]}
    claims = tuple(
        Claim(above, below, "map")
        for above, below in (("U'V + I", "TF-IDF"), ("U'V + I", "BM25"), ("BM25", "TF-IDF"))
    )
    table = dataclasses.replace(loaded.table, claims=claims)
    return dataclasses.replace(loaded, reports=reports, means=means, table=table)


def test_a_row_that_is_the_twin_of_another_says_so_and_its_claims_count_once(twins):
    chose = [
        dataclasses.replace(run, chosen={"expansion": "0", "beta": "0.0"})
        if run.label == "BM25"
        else run
        for run in twins.runs
    ]
    found = compare.results(dataclasses.replace(twins, runs=chose))
    assert [row["same_as"] for row in found["summary"]] == [None, "TF-IDF", None]
    text = printed(found)
    assert "BM25 = TF-IDF (chose E = 0); not in the paper" in " ".join(text.split())
    assert "2 of 2 claims of order hold (1 of 1 distinct ones); apart: 1 same system" in text
    assert "1 same system: both rows have the same values on every query (1 pair of" in text
    assert [claim["verdict"] for claim in found["claims"]] == ["holds", "holds", "same system"]
    page = report.markdown(found)
    assert "BM25 above TF-IDF" not in page
    assert "same values on every query: BM25, TF-IDF" in page


def test_twins_are_one_test_against_the_baseline_and_its_own_twin_is_none(twins):
    tests = [t for t in compare.results(twins)["tests"] if t["family"] == "baseline"]
    own = {test["a"]: test for test in tests if test["metric"] == "test/map"}
    assert own["BM25"]["p_adjusted"] == 1
    assert own["U'V + I"]["p_adjusted"] == own["U'V + I"]["p"]


def test_a_claim_between_rows_that_read_other_words_is_listed_apart(rows):
    loaded = compare.load(EXPERIMENT, "first")
    cut = {"parameters": {**loaded.table.row("U'V + I").parameters, "view": "raw:100"}}
    others = tuple(
        dataclasses.replace(row, **(cut if row.label == "U'V + I" else {}))
        for row in loaded.table.rows
    )
    table = dataclasses.replace(loaded.table, rows=others)
    found = compare.results(dataclasses.replace(loaded, table=table))
    verdicts = [claim["verdict"] for claim in found["claims"]]
    assert verdicts == [*["not like with like"] * 3, "not decided"]
    assert [claim["p_adjusted"] for claim in found["claims"][:3]] == [None] * 3
    text = " ".join(printed(found).split())
    assert "0 of 1 claims of order hold, 1 not decided; apart: 3 not like with like" in text
    assert "one row reads all words, the other the 100 heaviest of all words" in text
    assert verdicts_page.LIKE_WITH_LIKE in text
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_claim_is_tested_on_a_stand_in_that_reads_what_the_other_row_reads(rows):
    loaded = compare.load(EXPERIMENT, "first")
    own = {row.label: row for row in loaded.table.rows}
    own["U'V + I"] = dataclasses.replace(own["U'V + I"], parameters={"view": "raw:100"})
    own["BM25"] = Row("BM25", "tfidf", "default", like="TF-IDF", parameters={"view": "raw:100"})
    table = dataclasses.replace(loaded.table, rows=tuple(own.values()))
    found = compare.results(dataclasses.replace(loaded, table=table))
    claims = {(c["claim"]): c for c in found["claims"]}
    one = claims["U'V + I above TF-IDF in map"]
    assert one["rows"] == ["U'V + I", "BM25"]
    assert (one["above"], one["below"]) == ("U'V + I", "TF-IDF")
    ours, theirs = (loaded.means[label]["map"].to_numpy() for label in one["rows"])
    assert one["p"] == paired_randomisation(ours, theirs)
    assert [row["like"] for row in found["summary"]] == [None, "TF-IDF", None]
    # A claim about the stand-in itself is not moved: it pits whole texts against 100 words.
    assert claims["BM25 above TF-IDF in map"]["verdict"] == "not like with like"
    tests = {(t["a"], t["b"], t["metric"]) for t in found["tests"] if t["family"] == "claims"}
    assert ("U'V + I", "BM25", "test/map") in tests
    text = " ".join(printed(found).split())
    line = (
        "0 of 0 claims of order hold on their own rows; 2 of 3 on stand-ins, 1 reversed; apart: 1"
    )
    assert line in text
    assert found["counts"] == {
        "own rows": {"claims": 0, "holds": 0, "reversed": 0, "not decided": 0},
        "stand-ins": {"claims": 3, "holds": 2, "reversed": 1, "not decided": 0},
    }
    assert "TF-IDF above U'V + I, on BM25" in text
    assert verdicts_page.STAND_INS in text
    page = report.markdown(found)
    assert "| U'V + I above TF-IDF, on BM25 |" in page
    assert verdicts_page.STAND_INS in page
    assert verdicts_page.STAND_INS not in report.markdown(compare.results(loaded))


def test_claims_on_their_own_rows_and_on_stand_ins_are_counted_apart():
    def claim(below, verdict, *, on=None):
        rows = ["A", on or below]
        said = {"above": "A", "below": below, "measure": "map", "rows": rows, "systems": rows}
        return {**said, "verdict": verdict, "margin": None}

    claims = [
        *(claim("B", "holds") for _ in range(3)),
        claim("C", "not decided"),
        claim("B", "holds", on="B (cut)"),
        claim("C", "reversed", on="C (cut)"),
        claim("D", "same system", on="D (cut)"),
    ]
    assert verdicts_page.claims_line(claims) == (
        "3 of 4 claims of order hold on their own rows (1 of 2 distinct ones), 1 not decided; "
        "1 of 2 on stand-ins, 1 reversed; apart: 1 same system"
    )
    assert verdicts_page.counts(claims) == {
        "own rows": {"claims": 4, "holds": 3, "reversed": 0, "not decided": 1},
        "stand-ins": {"claims": 2, "holds": 1, "reversed": 1, "not decided": 0},
    }


def test_a_scatter_plot_shows_500_queries_the_same_ones_for_every_row():
    values = np.arange(1000.0)
    drawn = compare._drawn(values)
    assert len(drawn) == len(set(drawn)) == 500
    assert drawn.tolist() == (compare._drawn(values + 1) - 1).tolist()
    # Not the first ones, which are those of the smallest ids: about half come from each half.
    assert 200 < (drawn < 500).sum() < 300
    assert compare._drawn(values[:60]).tolist() == values[:60].tolist()


def test_a_row_that_only_the_paper_has_is_shown_with_its_values_alone(rows):
    loaded = compare.load(EXPERIMENT, "first")
    own = PrintedRow("A translator", Published(map=0.290, map_se=0.008), note="not to be had")
    table = dataclasses.replace(loaded.table, printed=(own,))
    found = compare.results(dataclasses.replace(loaded, table=table))
    text = printed(found)
    (line,) = (line for line in text.splitlines() if line.startswith("A translator"))
    assert line.split()[2:] == ["[2]", "0.290", "±.008"]
    assert "[2] not to be had" in text
    assert "A translator" in report.markdown(found)
    assert not any("A translator" in claim["claim"] for claim in found["claims"])
    assert compare.best_row(found) == "U'V + I"


@pytest.mark.parametrize(
    ("p", "bound", "words"),
    [
        (0.00042, False, "p < .001"),
        (0.0042, False, "p = .004"),
        (0.00999, True, "p < .010"),
        (0.0042, True, "p < .005"),
    ],
)
def test_a_p_at_the_floor_of_the_randomisation_is_a_bound(p, bound, words):
    assert verdicts_page.probability(p, bound) == words


def test_rows_of_other_tasks_are_tested_against_the_first_of_their_own(rows):
    loaded = compare.load(EXPERIMENT, "first")
    two = tuple(
        dataclasses.replace(row, task="default" if row.label == "TF-IDF" else "other")
        for row in loaded.table.rows
    )
    apart = dataclasses.replace(
        loaded, table=dataclasses.replace(loaded.table, rows=two, claims=())
    )
    tests = compare.results(apart)["tests"]
    assert {(test["a"], test["b"]) for test in tests} == {("U'V + I", "BM25")}


def test_the_page_says_which_differences_the_queries_could_show(found):
    """The median of each measure; a comparison that was saved before says nothing."""
    tested = [claim for claim in found["claims"] if claim["measure"] == "map"]
    least = np.median([claim["detectable"] for claim in tested])
    of_trained = next(claim for claim in tested if claim["above"] == "U'V + I")
    seeds = [comparisons.report(0.2, seed=seed).per_query["map"].to_numpy() for seed in (2, 3)]
    other = comparisons.report(0.0).per_query["map"].to_numpy()
    assert of_trained["detectable"] == smallest_detectable(np.mean(seeds, axis=0), other)
    said = f"{least:.3f} MAP"
    assert said in " ".join(printed(found).split())
    assert said in report.markdown(found)
    for claim in found["claims"]:
        claim = dict(claim)
        claim.pop("detectable")
        assert not verdicts_page.detectable_line([claim], {})


def test_claims_are_also_counted_by_a_t_test_each(found):
    """As most papers test: the two of the trained row, and the one that is the other way."""
    said = "By a t test at 5 % each, without correction: 2 hold, 1 reversed, 1 not decided."
    assert said in " ".join(printed(found).split())
    assert said in report.markdown(found)
    of_claims = [test for test in found["tests"] if test["family"] == "claims"]
    by_t = {(test["a"], test["metric"]): test["p"] for test in of_claims if test["test"] == "t"}
    assert len(by_t) == 4
    for claim in found["claims"]:
        assert claim["p_t"] == by_t[claim["above"], f"test/{claim['measure']}"]
