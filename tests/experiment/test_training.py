"""Training of a row as a part, which any machine takes."""

from dataclasses import replace

import pytest

from ssi_core.experiment import checkpoints, parse_table, training
from ssi_core.experiment.training import RowPart, open_part, train_part

TABLE = {
    "name": "links",
    "title": "Links",
    "measures": ["map"],
    "rows": [{"label": "TF-IDF", "model": "tfidf"}],
}


def test_a_part_is_trained_unless_its_directory_is_whole(tmp_path, task_dir, monkeypatch):
    part = RowPart(
        parse_table(TABLE), "TF-IDF", task_dir, 0, 1, tmp_path / "row", tmp_path / "kept"
    )
    train_row, trained = training.train_row, []

    def counted(*given, **how):
        trained.append(given[1].label)
        return train_row(*given, **how)

    monkeypatch.setattr(training, "train_row", counted)
    train_part(part)
    train_part(part)
    assert trained == ["TF-IDF"]
    assert open_part(part).report().means["map"] > 0


@pytest.mark.trains
def test_the_curve_of_a_row_is_that_of_its_first_fold(tmp_path, task):
    row = {"label": "SSI", "model": "bilinear", "dimensions": 4, "budget": 1000, "epoch": 500}
    table = parse_table({**TABLE, "rows": [row]})
    sides = [
        [pairs.take(pairs.rows[:, 0] % 2 == n) for n in (0, 1)] for pairs in (task.valid, task.test)
    ]
    folds = tuple(replace(task, valid=valid, test=test) for valid, test in zip(*sides, strict=True))
    alone, together = (
        training.train_row(
            *(table, table.rows[0], of, 0, tmp_path / name),
            checkpoints.Attempt(tmp_path / f"{name} state", (1,)),
        )
        for name, of in (("alone", folds[0]), ("together", replace(task, folds=folds)))
    )
    assert [step for step, _ in alone.curve] == [0, 500, 1000]
    assert (together.curve, together.facts["best_at"]) == (alone.curve, alone.facts["best_at"])
    assert [path.name for path in together.models] == ["fold-1", "fold-2"]
