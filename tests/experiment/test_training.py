"""Training of a row as a part, which any machine takes."""

from ssi_core.experiment import parse_table, training
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
