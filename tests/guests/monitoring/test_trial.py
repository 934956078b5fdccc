"""A model that crashes does so in a process of its own."""

import signal

import pytest

from ssi_core.guests.monitoring import trial
from ssi_core.serving.index import build_index
from ssi_core.types import BadInput
from tests.seals import reseal
from tests.serving.models import TEXTS, documents, random_models, write_parts


@pytest.fixture(autouse=True)
def _trials_here():
    """Leave processes as they are."""


def test_a_model_that_crashes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(
        trial.sys, "executable", str(_script(tmp_path, f"kill -{signal.SIGSEGV.value} $$"))
    )
    with pytest.raises(BadInput, match="was ended by SIGSEGV"):
        trial.try_model(tmp_path)
    monkeypatch.setattr(trial.sys, "executable", str(_script(tmp_path, "exit 7")))
    with pytest.raises(BadInput, match="exit code 7"):
        trial.try_model(tmp_path)
    monkeypatch.setattr(trial.sys, "executable", str(_script(tmp_path, "sleep 30")))
    with pytest.raises(BadInput, match="not open after 0 seconds"):
        trial.try_model(tmp_path, seconds=0.2)


def test_a_damaged_model_is_named(tmp_path):
    with pytest.raises(BadInput, match="holds no model"):
        trial.try_model(tmp_path)


def test_a_model_that_passed_is_not_tried_again_until_it_is_another(tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_CACHE", str(tmp_path / "cache"))
    model = tmp_path / "model"
    model.mkdir()

    def tried(end):
        # Another process knows what is on disk alone.
        monkeypatch.setattr(trial, "_passed", {})
        monkeypatch.setattr(trial.sys, "executable", str(_script(tmp_path, f"exit {end}")))
        trial.try_model(model)

    (model / "model.json").write_text("one")
    tried(0)
    tried(7)
    (model / "model.json").write_text("another")
    with pytest.raises(BadInput, match="exit code 7"):
        tried(7)
    monkeypatch.setattr(trial, "_build", lambda: "another version")
    (model / "model.json").write_text("one")
    with pytest.raises(BadInput, match="exit code 7"):
        tried(7)


def _script(directory, line):
    path = directory / "python"
    path.write_text(f"#!/bin/sh\nexec 2>/dev/null\n{line}\n")
    path.chmod(0o755)
    return path


def test_texts_that_are_damaged_are_found_before_a_model_is_served(tmp_path, capsys):
    fitted = random_models(0)[0]
    texts = write_parts(tmp_path / "texts", TEXTS, [None] * len(TEXTS))
    fitted.save(tmp_path / "model")
    index, of = tmp_path / "index", documents(dict(fitted.document_views))
    build_index(fitted, of, index, parents={}, texts=texts)
    assert trial.main(tmp_path / "model", index) == 0
    packed = index / "passages" / "packed.npy"
    packed.write_bytes(packed.read_bytes()[:128] + b"\xff" * (packed.stat().st_size - 128))
    reseal(index)
    assert trial.main(tmp_path / "model", index) == trial._BAD
    assert "is damaged" in capsys.readouterr().out
