import json
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


@pytest.fixture
def call(capsys):
    """``ssi fit`` with words: its exit code, and what it says as JSON."""
    from ssi_core.command.library import library
    from ssi_core.command.verb import run

    def called(*words):
        code = run(library, ["fit", *map(str, words), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return called
