"""What of MLflow a backup does not hold."""

import pytest

from flows.storage.backup import databases_elsewhere


@pytest.mark.parametrize("address", [None, "", "sqlite:///mlruns/mlflow.db"])
def test_a_database_of_the_root_is_in_the_backup(address, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    if address is not None:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    assert not databases_elsewhere()


def test_another_is_named_without_its_password(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://me:secret@db.example/mlflow")
    (line,) = databases_elsewhere()
    assert line.startswith("MLFLOW_TRACKING_URI=postgresql://")
    assert "db.example/mlflow" in line
    assert "secret" not in line
