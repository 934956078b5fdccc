"""The rounds of a choice, with results of trials that are drawn."""

from pathlib import Path

import numpy as np
import pytest

from ssi_core.models.choice.auto import Auto
from ssi_core.selection.rounds import Rounds, TrialResult

AUTO = Auto(first=700, budget=100_000)


def result(step, rng):
    """Validation ends a step, or the budget does; one in ten diverges."""
    if rng.random() < 0.1:
        return TrialResult(step.triples, None, [])
    epochs = int(rng.integers(1, 60))
    return TrialResult(
        min(step.triples, step.before + epochs * step.epoch), float(rng.random()), []
    )


def asked(task, seed):
    """All steps that are asked for, in turn, with their results; the last steps of finalists."""
    rng = np.random.default_rng(seed)
    asking, results, history = Rounds(AUTO, task).steps(), None, []
    while True:
        try:
            steps = asking.send(results)
        except StopIteration as end:
            return history, end.value
        results = [result(step, rng) for step in steps.now]
        history.append((steps, results))


@pytest.mark.parametrize("seed", range(30))
def test_steps_that_are_done_together_are_within_the_budget_whatever_each_draws(task, seed):
    history, finalists = asked(task, seed)
    drawn = {}
    for steps, results in history:
        numbers = [step.number for step in steps.now]
        assert len(set(numbers)) == len(numbers)
        assert all(step.before == drawn.get(step.number, 0) for step in steps.now)
        most = sum(step.triples - step.before for step in steps.now)
        assert most <= AUTO.budget - sum(drawn.values())
        drawn |= {number: one.triples for number, one in zip(numbers, results, strict=True)}
    done = [step for steps, _ in history for step in steps.now]
    assert len(finalists) <= 2
    assert all(one in done for one in finalists)


@pytest.mark.parametrize("seed", range(30))
def test_what_is_begun_ahead_is_a_part_of_a_later_step(task, seed):
    history, _ = asked(task, seed)
    ahead = [step for steps, _ in history for step in steps.ahead]
    assert len(ahead) <= 1
    for one in ahead:
        (later,) = [
            step
            for steps, _ in history
            for step in steps.now
            if (step.number, step.round) == (one.number, 2)
        ]
        assert (one.before, one.settings) == (later.before, later.settings)
        assert one.before < one.triples <= later.triples
        assert (one.triples - one.before) % one.epoch == 0


def test_some_choice_begins_ahead(task):
    assert any(steps.ahead for seed in range(30) for steps, _ in asked(task, seed)[0])


def shown(task, seed):
    """Yield the steps that are asked for as lines: their training, and what it has drawn."""
    history, finalists = asked(task, seed)
    for steps, _ in history:
        now = [f"{step.number}:{step.before}-{step.triples}" for step in steps.now]
        ahead = [f"ahead {step.number}:{step.before}-{step.triples}" for step in steps.ahead]
        first = steps.now[0]
        begun = [] if first.start is None else [f"from {first.start.number} {first.settings}"]
        yield " ".join([f"round {first.round}:", *now, *ahead, *begun])
    yield f"finalists {[step.number for step in finalists]}"


def test_the_steps_of_a_choice_are_those_of_the_file(task):
    """Nothing but numbers decides them: what is begun, how far it goes, what ends without WARP."""
    kept = Path(__file__).with_name("rounds.txt").read_text(encoding="utf-8").splitlines()
    assert [line for seed in (1, 3) for line in shown(task, seed)] == kept
