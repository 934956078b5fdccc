"""Trials of `auto` in this process, in others and on a Dask cluster: one choice, the same bits."""

from collections import Counter
from functools import partial

import pytest

from ssi_core.experiment import parse_table
from ssi_core.experiment.spread import Spread, TrialPart
from ssi_core.experiment.training import RowPart, open_part, train_part
from ssi_core.models.choice.auto import Auto
from ssi_core.parts import LOCAL, Done, Stage, run_parts
from ssi_core.selection.rounds import TrialResult
from ssi_core.tasks.task import build_task
from ssi_core.types import Refused
from tests.corpora import topical, write_corpus
from tests.parts import jobs

pytestmark = [pytest.mark.trains, pytest.mark.filterwarnings("ignore::ResourceWarning")]

TABLE = {
    "name": "choices",
    "title": "A choice",
    "rows": [
        {
            "label": "auto",
            "model": "auto",
            "dimensions": 8,
            "first": 300,
            "budget": 12_000,
            "level": 0.999,
            "view": ["sublinear:10"],
            "diagonal_view": ["raw", "sublinear"],
            "margin": [0.3],
            "rates": [2.0],
            "alpha": [1.0],
            "negatives_power": [0.0],
        },
        {"label": "words", "model": "tfidf"},
    ],
}


@pytest.fixture(scope="module")
def next_task(tmp_path_factory):
    """Documents link to those of the next subject: words alone do not find them."""
    path = tmp_path_factory.mktemp("next")
    texts, links = topical()
    n = len(texts)
    corpus = write_corpus(path / "corpus", texts, [(i, (j + 1) % n) for i, j in links])
    build_task(corpus, path / "task", views=("counts", "raw", "sublinear", "sublinear:10"))
    return path / "task"


@pytest.fixture(scope="module")
def row(next_task):
    def at(path, label="auto"):
        where = path / f"row {label}", path / f"kept {label}"
        return RowPart(parse_table(TABLE), label, next_task, 0, 1, *where)

    return at


def spread(rows, where=LOCAL, killing=None, processes=1):
    """Train rows and their trials; return how often each part was begun."""
    path = rows[0].path.parent
    waiting = Spread(rows)
    make = partial(jobs.trial, place=path, killing=killing)
    stage = Stage("rows", make, path, code=[Auto])
    with run_parts(stage, waiting, where, processes=processes) as ended:
        for done in ended:
            done.result()
            if isinstance(done.part, TrialPart):
                waiting.ended(done)
    return jobs.begun(path)


def of(part):
    """All that a row has written, but times."""
    trained = open_part(part)
    arrays = {
        str(file.relative_to(part.path)): file.read_bytes()
        for file in sorted(part.path.rglob("*.npy"))
    }
    report = trained.report()
    choice = trained.facts["auto"]
    return arrays, choice, trained.curve, trained.threads, report.per_query.to_dicts()


@pytest.fixture(scope="module")
def alone(row, tmp_path_factory):
    """What the row is in one process, without parts."""
    part = row(tmp_path_factory.mktemp("alone"))
    train_part(part)
    return of(part)


@pytest.fixture(scope="module")
def side_by_side(row, tmp_path_factory):
    """What the row is after trials in two processes, and how often each part was begun."""
    part = row(tmp_path_factory.mktemp("two"))
    times = spread([part], processes=2)
    assert not part.kept.exists()
    return of(part), times


def test_trials_in_processes_have_the_choice_and_bits_of_one_process(alone, side_by_side):
    there, times = side_by_side
    assert there == alone
    arrays, choice, *_ = alone
    assert any(name.endswith("U.npy") for name in arrays)
    trials = [one["round"] for one in choice["trials"]]
    assert set(trials) == {0, 1, 2, 3}
    # One of the finalists is begun while the other is trained, and both but once in each step.
    assert set(times.values()) == {1}
    assert len(times) == len(trials) + 1 + 1


def test_of_a_killed_worker_its_trial_is_begun_again(alone, side_by_side, dask, row, tmp_path):
    parts = [row(tmp_path), row(tmp_path, "words")]
    times = side_by_side[1]
    killing = max(name for name in times if name.startswith("auto") and ", 0 until 300" in name)
    found = spread(parts, dask.where, killing)
    assert of(parts[0]) == alone
    again = found - times - Counter(["words"])
    assert again[killing] == 1
    # Dask does again what the worker had ended, too, if its result was not fetched yet.
    assert again.total() <= 2
    assert found.keys() == times.keys() | {"words"}


def test_a_row_whose_trial_failed_is_trained_without_the_others(row, tmp_path):
    waiting = Spread([row(tmp_path)])
    trials = list(waiting)
    assert len(trials) > 3
    for number, part in enumerate(trials):
        went = Refused("no memory") if number == 1 else TrialResult(300, 0.1, [])
        waiting.ended(Done(part, went))
        # The row waits for the end of the last one.
        assert list(waiting) == [row(tmp_path)] * (number == len(trials) - 1)
    assert list(Spread([row(tmp_path)], trials_only=True)) == trials
