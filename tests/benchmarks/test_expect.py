"""What a training is expected to gain follows from the tables of the results."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from benchmarks import expect
from ssi_core.selection.expectation import PRIORS
from ssi_core.tasks.build import build_task
from ssi_core.tasks.task import open_task
from tests.corpora import topical, write_collection, write_corpus

RESULTS = Path(__file__).parents[2] / "docs/results"


def test_the_priors_are_the_lines_of_the_results():
    results = json.loads((RESULTS / "expect.json").read_text())["results"]
    assert results == expect.of_both(RESULTS / "expect.json", RESULTS / "goals.json")
    lines = dict(one.split(": ") for one in expect.lines(results) if not one.startswith(" "))
    assert lines == {
        kind: f"at 1,000 {line.at_thousand:.3f}, tenfold {line.per_tenfold:.3f}, "
        f"spread {line.spread:.3f}"
        for kind, line in PRIORS.items()
    }


def test_judged_queries_keep_all_that_is_relevant_to_them_in_a_part(tmp_path):
    write_collection(tmp_path / "judged")
    build_task(tmp_path / "judged", tmp_path / "task", relevant="judgement")
    whole = open_task(tmp_path / "task").folds[0]
    part = expect.share_of(whole, 30)
    known, kept = (
        dict(zip(*np.unique(one.train.rows[:, 0], return_counts=True), strict=True))
        for one in (whole, part)
    )
    assert 1 < len(kept) < len(known)
    assert kept.items() < known.items()


def test_pairs_of_links_are_drawn_by_themselves(tmp_path):
    write_corpus(tmp_path / "corpus", *topical())
    build_task(tmp_path / "corpus", tmp_path / "task")
    whole = open_task(tmp_path / "task")
    part = expect.share_of(whole, len(whole.train) // 2)
    assert len({*part.train.rows[:, 0]}) > 0.6 * len({*whole.train.rows[:, 0]})


def test_a_query_has_the_mean_over_the_seeds(monkeypatch):
    seen = iter([(0.1, 0.2), (0.3, 0.8)])
    fitted = SimpleNamespace(fit=lambda fold, rng: SimpleNamespace(model="SSI"))

    def evaluate(fit, fold, **_):
        values = next(seen)
        return SimpleNamespace(
            per_query=pl.DataFrame({"map": values}), means={"rank_loss": sum(values)}
        )

    monkeypatch.setattr(expect, "evaluate", evaluate)
    monkeypatch.setattr(expect, "title", str)
    values, row = expect.row_of(lambda fold: fitted, ["fold"], 2)
    assert values == pytest.approx([0.2, 0.5])
    assert (row["mean"], row["rank_loss"]) == pytest.approx((0.35, 0.7))
