"""What every source says of how far it is."""

import pytest

import ssi_core as ssi
from ssi_core.corpus.judged import trec
from ssi_core.corpus.sources import source_named
from tests.face import made_sources


@pytest.mark.parametrize("name", made_sources.SOURCES)
def test_progress_rises_to_the_end(name, tmp_path, monkeypatch):
    said = []

    def read(name, /, **settings):
        source = source_named(name)(**settings).fetched()
        said.clear()
        return ssi.Documents(source.read(progress=lambda *step: said.append(step)))

    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "root"))
    monkeypatch.setattr(made_sources, "_read", read)
    monkeypatch.setattr(trec, "_ROWS", 7)
    made_sources.SOURCES[name](tmp_path)
    shares = [share for share, _ in said]
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)
    if "mates" not in name:  # their links are read whole
        assert {what.split()[-1] for share, what in said if share == 1} <= {"documents"}
    if name == "trec":
        assert (0.0, "14 documents of docs.sgml") in said
