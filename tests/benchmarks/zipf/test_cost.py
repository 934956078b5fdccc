"""A made-up collection asks for room before it is written."""

import pytest

from benchmarks.zipf import collection
from benchmarks.zipf.collection import Zipf
from ssi_core.types import Refused


def test_a_collection_that_does_not_fit_is_refused_before_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_MEMORY", "64M")
    with pytest.raises(Refused, match="the collection takes about 101 MB"):
        Zipf(documents=40).read(tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_what_is_asked_for_grows_by_the_documents_of_a_part_and_of_the_whole(tmp_path, monkeypatch):
    class Asked(Exception):
        """What is asked for."""

    def require(stage, memory, directory, disk):
        raise Asked(memory, disk)

    monkeypatch.setattr(collection, "require", require)
    found = []
    for documents in (20, 1020, collection.PART, 5 * collection.PART):
        with pytest.raises(Asked) as error:
            Zipf(documents=documents).read(tmp_path / "corpus")
        found.append(error.value.args)
    (few, disk), (more, more_disk), (part, part_disk), (whole, whole_disk) = found
    assert more - few == 30_000 * 1000
    assert (more_disk - disk, whole_disk) == (1200 * 1000, 5 * part_disk)
    assert whole == part > more
