import pytest

from ssi_core.types import Refused
from tests.sources import ingest


def test_a_collection_that_does_not_fit_is_refused_before_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_MEMORY", "64M")
    with pytest.raises(Refused, match="the collection takes about 101 MB"):
        ingest("zipf", out=tmp_path / "corpus", documents=40)
    assert not (tmp_path / "corpus").exists()
