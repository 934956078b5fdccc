"""Comparisons of one table on several collections."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from flows.reporting.pooling import random_effects
from flows.reporting.together import _tested, render_together, together
from ssi_core.evaluation.significance import holm, smallest_detectable
from ssi_core.tasks.task import build_task
from ssi_core.types import BadInput
from tests.flows import comparisons

EXPERIMENT = comparisons.TABLE["name"]
GAINS = {"one": 0.2, "two": 0.1, "three": 0.03}


@pytest.fixture(scope="module")
def written(mlflow_store, corpus_dir, tmp_path_factory):
    """Comparisons of three tasks, in which one row gains less and less over the others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(mlflow_store))
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        path = tmp_path_factory.mktemp("together")
        for number, (name, gain) in enumerate(GAINS.items()):
            build_task(corpus_dir, path / name, words=90 + number, views=("raw",))
            gains = (("TF-IDF", 0.0), ("BM25", 0.0), ("U'V + I", gain))
            comparisons.write(path / name, f"together-{name}", gains)
        # The queries of the first task once more.
        comparisons.write(path / "one", "together-again")
        yield [f"together-{name}" for name in GAINS]


def values(gain):
    frames = [comparisons.report(gain, seed=seed).per_query for seed in (2, 3)]
    return np.mean([frame["map"].to_numpy() for frame in frames], axis=0)


def test_claims_are_tested_on_all_collections_at_once(written):
    found = together(EXPERIMENT, written)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert [one["queries"] for one in found["comparisons"]] == [60, 60, 60]
    claim = next(c for c in found["claims"] if c["above"] == "U'V + I" and c["measure"] == "map")
    baseline = comparisons.report(0.0).per_query["map"].to_numpy()
    differences = [values(gain) - baseline for gain in GAINS.values()]
    means = [each.mean() for each in differences]
    assert [each["difference"] for each in claim["each"]] == pytest.approx(means)
    assert claim["difference"] == pytest.approx(np.mean(means))
    assert (claim["verdict"], claim["bound"]) == ("holds", True)
    errors = [each.std(ddof=1) / np.sqrt(60) for each in differences]
    assert claim["se"] == pytest.approx(np.sqrt(np.sum(np.square(errors))) / 3)
    pooled = random_effects(means, errors)
    assert claim["another"]["mean"] == pytest.approx(pooled.mean)
    assert claim["another"]["next_low"] == pytest.approx(pooled.next_low)
    alone = [smallest_detectable(each, np.zeros(60)) for each in differences]
    assert claim["detectable"] == pytest.approx(np.sqrt(np.sum(np.square(alone))) / 3)
    row = next(row for row in found["summary"] if row["label"] == "U'V + I")
    assert row["measures"]["map"]["mean"] == pytest.approx(
        np.mean([values(gain).mean() for gain in GAINS.values()])
    )


def test_three_collections_say_less_of_another_one(written):
    """Gains of .20, .10 and .03 are there on each, and differ by more than their errors."""
    claims = together(EXPERIMENT, written)["claims"]
    claim = next(c for c in claims if c["above"] == "U'V + I" and c["measure"] == "map")
    assert claim["another"]["verdict"] == "not decided"
    assert claim["another"]["next_low"] < 0 < claim["another"]["next_high"]


def test_p_is_adjusted_for_the_number_of_claims(written):
    claims = together(EXPERIMENT, written)["claims"]
    assert len(claims) == 4
    assert [c["p_adjusted"] for c in claims] == pytest.approx(holm([c["p"] for c in claims]))
    assert min(c["p_adjusted"] for c in claims) == pytest.approx(4 / 10_001)


def test_claims_the_other_way_are_reversed(written):
    claims = together(EXPERIMENT, written)["claims"]
    verdicts = {(c["above"], c["measure"]): c["verdict"] for c in claims}
    assert verdicts["TF-IDF", "p_at_10"] == "reversed"
    assert verdicts["U'V + I", "rank_loss"] == "holds"


def test_a_claim_about_a_row_that_is_not_there_is_left_out(written):
    assert "LSI" not in {c["above"] for c in together(EXPERIMENT, written)["claims"]}


def test_the_page_says_what_holds_on_these_and_on_other_collections(written):
    file = io.StringIO()
    render_together(together(EXPERIMENT, written), Console(file=file, width=150))
    text = file.getvalue()
    assert "60 + 60 + 60 queries" in text
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "TF-IDF 41.35 ±.88 0.397 ±.009 0.366 ±.009" in lines
    claim = "BM25 above TF-IDF -.003 .006 not decided .191 -.012 to +.006 -.030 to +.024"
    assert claim in lines
    assert "on these collections: 2 holds, 1 reversed" in text
    assert "on any other collection: 0 holds, 0 reversed" in text


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["together-one"], "two or more"),
        (["together-one", "together-one"], "two or more"),
        (["together-one", "together-again"], "of the same collections"),
        (["together-one", "nothing"], "no finished row"),
    ],
)
def test_comparisons_that_are_no_further_evidence_are_refused(written, names, message):
    with pytest.raises(BadInput, match=message):
        together(EXPERIMENT, names)


def test_a_comparison_of_other_settings_is_refused(written, tmp_path, corpus_dir, monkeypatch):
    build_task(corpus_dir, tmp_path / "task", words=95, views=("raw",))
    monkeypatch.setitem(comparisons.TABLE, "claims", comparisons.TABLE["claims"][:1])
    comparisons.write(tmp_path / "task", "together-other")
    with pytest.raises(BadInput, match="different settings of 'made-up'"):
        together(EXPERIMENT, ["together-one", "together-other"])


def test_a_collection_of_one_query_says_nothing_of_another_one():
    def collection(name, ours, theirs):
        means = {label: pl.DataFrame({"map": each}) for label, each in (("a", ours), ("b", theirs))}
        return SimpleNamespace(comparison=name, means=means)

    loaded = [collection("many", [0.5, 0.7, 0.4], [0.2, 0.6, 0.1]), collection("one", [0.5], [0.4])]
    claim = SimpleNamespace(measure="map", above="a", below="b")
    found = _tested(loaded, claim, "a", "b", rounds=100)
    assert found["another"] is None
    assert found["each"][1]["p_t"] == 1
