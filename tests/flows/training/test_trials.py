"""Trials of `auto` on cores that are left."""

from collections import namedtuple

import pytest

from flows.training import trials
from ssi_core.experiment import checkpoints, parse_table
from ssi_core.tasks.task import open_task
from tests.experiment.test_trials import TABLE

pytestmark = [pytest.mark.flow, pytest.mark.trains]

Job = namedtuple("Job", ["row", "seed", "task"])


@pytest.mark.parametrize(("processes", "done"), [(1, False), (2, True)])
def test_a_choice_has_its_trials_done_where_there_are_more_cores_than_choices(
    task_dir, tmp_path, monkeypatch, processes, done
):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    monkeypatch.setattr(trials, "try_settings", trials.try_settings.fn)
    table = parse_table(TABLE)
    jobs = [Job(row, 0, str(task_dir)) for row in table.rows]
    trials.do_trials(table, jobs, threads=1, processes=processes)
    kept = checkpoints.checkpoints_of(table, table.row("auto"), open_task(task_dir).key, 0)
    state = kept / checkpoints.code_of(table.row("auto")) / "state"
    until = {int(file.stem.split("-")[1]) for file in state.glob("trials/*.json")}
    assert ({300, 900} <= until and max(until) > 900) if done else not until
