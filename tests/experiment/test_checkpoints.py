"""What an interrupted row goes on from, and who may."""

import json
import logging

import pytest

from ssi_core.experiment import checkpoints, parse_table
from ssi_core.experiment.checkpoints import (
    Attempt,
    alone,
    attempt,
    begun,
    checkpoints_of,
    code_of,
)
from ssi_core.training.descend import Diverged
from ssi_core.types import Refused

ROWS = [
    {"label": "SSI", "model": "bilinear"},
    {"label": "again", "model": "bilinear"},
    {"label": "both", "model": "mixture", "parts": [{"model": "bilinear"}, {"model": "lsi"}]},
]
TABLE = parse_table({"name": "n", "title": "t", "rows": ROWS})
ROW = TABLE.row("SSI")


def test_a_directory_is_of_a_row_its_task_seed_and_start(tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    asked = [("SSI", "a", 0), ("both", "a", 0), ("SSI", "b", 0), ("SSI", "a", 1)]
    kept = [checkpoints_of(TABLE, TABLE.row(label), *key) for label, *key in asked]
    kept.append(checkpoints_of(TABLE, ROW, "a", 0, "a model"))
    assert len(set(kept)) == 5
    assert {path.parent for path in kept} == {tmp_path / ".ssi/checkpoints"}
    assert checkpoints_of(TABLE, TABLE.row("again"), "a", 0) == kept[0]
    assert code_of(TABLE.row("again")) == code_of(ROW) != code_of(TABLE.row("both"))


def test_threads_are_those_of_all_attempts_in_turn_while_there_is_a_state(tmp_path):
    path = tmp_path / code_of(ROW)
    assert begun(tmp_path, ROW, 2) == Attempt(path / "state", (2,))
    assert begun(tmp_path, ROW, 1).threads == (1,)
    (path / "state-000").mkdir()
    assert [begun(tmp_path, ROW, threads).threads for threads in (1, 2, 2, 1)] == [
        (1,), (1, 2), (1, 2), (1, 2, 1),
    ]  # fmt: skip
    assert json.loads((path / "threads.json").read_text())["in_turn"] == [1, 2, 1]
    told = {threads: checkpoints.reproducible(threads) for threads in ((1,), (2,), (1, 2), ())}
    assert [threads for threads, same in told.items() if same] == [(1,)]


@pytest.mark.parametrize(
    ("error", "state", "left"),
    [(OSError, True, True), (OSError, False, False), (Diverged, True, False), (None, True, False)],
)
def test_a_state_is_left_where_a_row_can_go_on_from_it(tmp_path, error, state, left, caplog):
    kept, other = tmp_path / "row", tmp_path / "row/other-code"
    other.mkdir(parents=True)
    try:
        with caplog.at_level(logging.WARNING), attempt(kept, ROW, 1, "row 'SSI'") as now:
            if state:
                now.state.mkdir()
            if error:
                raise error("stopped")
    except (OSError, Diverged):
        assert error is not None
    assert now.state.parent.exists() == left
    assert other.exists()
    (said,) = (record.getMessage() for record in caplog.records)
    assert said.startswith(f"{other}: row 'SSI' was interrupted there under other code")
    other.rmdir()
    checkpoints.remove(now.state.parent)
    assert not kept.exists()


def test_one_process_goes_on_with_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "_PATIENCE", 0.0)
    row = tmp_path / "row"
    with (
        alone(row, "row 'SSI'"),
        pytest.raises(Refused, match="row 'SSI'"),
        alone(row, "row 'SSI'"),
    ):
        pass
    with alone(row, "row 'SSI'"):
        pass
