import os

import pytest


@pytest.fixture(autouse=True)
def own_root(few_settings, tmp_path, monkeypatch):
    """A root of the test's own, and no other setting."""
    for name in list(os.environ):
        if name.startswith(("SSI_", "PREFECT_", "MLFLOW_")) and name != "SSI_REAL_DATA":
            monkeypatch.delenv(name)
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "root"))
    return tmp_path / "root"
