import pytest

from ssi_core.sample import zipf_collection
from ssi_core.types import Refused
from tests.sources import ingest


def test_a_collection_that_does_not_fit_is_refused_before_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_MEMORY", "64M")
    with pytest.raises(Refused, match="the collection takes about 101 MB"):
        ingest("zipf", out=tmp_path / "corpus", documents=40)
    assert not (tmp_path / "corpus").exists()


def test_what_is_asked_for_grows_by_the_documents_of_a_part_and_of_the_whole(tmp_path, monkeypatch):
    class Asked(Exception):
        """What is asked for."""

    def require(stage, memory, directory, disk):
        raise Asked(memory, disk)

    monkeypatch.setattr(zipf_collection, "require", require)
    found = []
    for documents in (20, 1020, zipf_collection.PART, 5 * zipf_collection.PART):
        with pytest.raises(Asked) as error:
            ingest("zipf", out=tmp_path / "corpus", documents=documents)
        found.append(error.value.args)
    (few, disk), (more, more_disk), (part, part_disk), (whole, whole_disk) = found
    assert more - few == 30_000 * 1000
    assert (more_disk - disk, whole_disk) == (1200 * 1000, 5 * part_disk)
    assert whole == part > more
