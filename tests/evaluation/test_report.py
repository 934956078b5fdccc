import dataclasses
import json
import math

import numpy as np
import pytest

from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.report import load_report, save_report
from ssi_core.types import BadInput, Report
from tests.evaluation.toy import Lookup, random_task


def test_save_then_load_is_the_identity(tmp_path):
    report = evaluate(Lookup(), random_task(np.random.default_rng(0)))
    save_report(report, tmp_path / "report")
    save_report(report, tmp_path / "report")
    loaded = load_report(tmp_path / "report")
    assert loaded.per_query.equals(report.per_query)
    assert (loaded.means, loaded.errors, loaded.bounds) == (
        report.means,
        report.errors,
        report.bounds,
    )
    names = sorted(path.name for path in (tmp_path / "report").iterdir())
    assert names == ["report.json", "report.parquet", "slices.parquet"]
    assert loaded.slices.equals(report.slices)
    assert loaded.candidates == report.candidates
    assert report.candidates.endswith("documents")


def test_a_report_without_slices_comes_back_without_them(tmp_path):
    whole = evaluate(Lookup(), random_task(np.random.default_rng(0)))
    save_report(whole, tmp_path)
    save_report(dataclasses.replace(whole, slices=None), tmp_path)
    assert load_report(tmp_path).slices is None


def test_a_report_that_lost_its_digests_is_refused(tmp_path):
    save_report(evaluate(Lookup(), random_task(np.random.default_rng(0))), tmp_path)
    rest = json.loads((tmp_path / "report.json").read_text())
    for name in ("files", "digest"):
        del rest[name]
    (tmp_path / "report.json").write_text(json.dumps(rest))
    with pytest.raises(BadInput, match="Evaluate the model again"):
        load_report(tmp_path)


def test_an_unknown_error_comes_back_as_nan(tmp_path):
    whole = evaluate(Lookup(), random_task(np.random.default_rng(0)))
    save_report(Report(whole.per_query, {"map": 0.5}, {"map": math.nan}, {}), tmp_path)
    assert "NaN" not in (tmp_path / "report.json").read_text()
    assert math.isnan(load_report(tmp_path).errors["map"])


def test_a_missing_or_damaged_report_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match=r"report\.json: No such file"):
        load_report(tmp_path)
    (tmp_path / "report.json").write_text("{}")
    (tmp_path / "report.parquet").write_text("no parquet")
    with pytest.raises(BadInput, match="Evaluate the model again"):
        load_report(tmp_path)
