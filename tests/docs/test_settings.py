"""The search of docs/settings.md: its file keeps the rule that the page has."""

from __future__ import annotations

import json

import pytest

from tests.docs.figures import RESULTS
from tests.docs.pages import ROOT

SEARCH = json.loads((ROOT / RESULTS / "wikispeedia-settings.json").read_text(encoding="utf-8"))
STEPS = SEARCH["steps"]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step['row']}-{step['step']}")
def test_the_winner_is_the_first_within_one_standard_error_of_the_best(step):
    converged = [one for one in step["tries"] if one["rank_loss"] is not None]
    best = min(converged, key=lambda one: one["rank_loss"])
    assert best["above_best"] == 0
    winner = next(one for one in converged if one["above_best"] <= one["error"])
    assert step["chosen"].items() <= winner.items()
    assert not step["chosen"].keys() & step["fixed"].keys()


@pytest.mark.parametrize("row", dict.fromkeys(step["row"] for step in STEPS))
def test_a_step_keeps_what_the_steps_before_it_chose(row):
    chosen = {}
    for step in STEPS:
        if step["row"] == row:
            kept = {name: value for name, value in chosen.items() if name in step["fixed"]}
            assert kept.items() <= step["fixed"].items()
            assert chosen.keys() <= step["fixed"].keys() | step["chosen"].keys()
            chosen |= step["chosen"]


def test_a_row_is_searched_to_its_last_step_before_the_next_begins():
    rows = [step["row"] for step in STEPS]
    assert rows == sorted(rows, key=list(dict.fromkeys(rows)).index)
