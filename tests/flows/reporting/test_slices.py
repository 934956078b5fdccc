import io

import numpy as np
from rich.console import Console

from flows.reporting import report, slices
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.slices import of_reports
from tests.evaluation.toy import Lookup, random_task
from tests.flows import comparisons


def comparison():
    """Two rows; one was measured before there were slices."""
    found = of_reports([evaluate(Lookup(), random_task(np.random.default_rng(0)), tuples=0)])
    return {
        "title": "t", "source": None, "note": None, "missing": [], "claims": [], "tests": [],
        "experiment": "e", "comparison": "c", "baseline": "new", "bounds": {},
        "measures": ["map"], "printed": [],
        "summary": [
            {
                "label": label, "slices": own, "seeds": 1, "queries": 12,
                "seconds": None, "triples": None, "paper": {}, "note": None, "same_as": None,
                "measures": {"map": {"mean": 0.5, "se": 0.1, "sd_seeds": None}},
            }
            for label, own in (("new", found), ("old", {}))
        ],
    }  # fmt: skip


def test_a_table_for_each_way_to_divide_with_a_line_for_each_row_that_was_measured():
    found = comparison()
    own = found["summary"][0]["slices"]
    tables = {title: (head, lines) for title, head, lines in slices.tables(found)}
    head, lines = tables["rank loss % by what training saw of the document"]
    assert head == ["row", "warm", "negative only"]
    (line,) = lines
    assert line[0] == "new"
    assert line[1].startswith(f"{100 * own['warm']['rank_loss']:.2f} ±")
    _, ((_, _, value),) = tables["MAP by what training saw of the document"]
    assert value.startswith(f"{own['negative_only']['map']:.3f} ±.")
    assert "MAP by the link back" not in tables  # the queries of the toy are no documents


def test_a_single_query_has_no_error():
    said = {"queries": 1.0, "relevant": 1.0, "rank_loss": 0.25, "map": 0.5}
    found = {"summary": [{"label": "a", "slices": {"warm": said, "cold": said}}]}
    rank_loss, average_precision = slices.tables(found)
    assert rank_loss[2] == [["a", "25.00", "25.00"]]
    assert average_precision[2] == [["a", "0.500", "0.500"]]


def test_slices_are_shown_when_asked_for_and_always_in_markdown():
    found = comparison()

    def shown(**how):
        file = io.StringIO()
        report.render(found, Console(file=file, width=100), **how)
        return file.getvalue()

    assert "MAP by training links of the document" in shown(slices=True)
    assert "MAP by training links of the document" not in shown()
    assert "### MAP by training links of the document" in report.markdown(found)


def test_the_slices_of_a_report_are_columns_of_one_length():
    found = evaluate(Lookup(), random_task(np.random.default_rng(0)), tuples=0)
    columns = slices.columns(found)
    assert {"slice", "queries", "rank_loss", "map", "map_se"} <= set(columns)
    assert {len(column) for column in columns.values()} == {len(columns["slice"])}
    warm = columns["slice"].index("warm")
    assert columns["map"][warm] == of_reports([found])["warm"]["map"]
    assert columns["queries"][warm] > 0


def test_a_report_without_slices_has_no_columns():
    assert slices.columns(comparisons.report(0.0)) == {}
