import os

import pytest

from ssi_core import store
from ssi_core.corpus.inputs import digest_inputs
from ssi_core.types import BadInput


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "a.xml"
    path.write_text("one")
    return path


def test_a_digest_is_remembered_until_the_file_changes(file, monkeypatch):
    first = digest_inputs([file])
    assert first == {"a.xml": store.digest_file(file)}
    monkeypatch.setattr(store, "digest_file", lambda path: "read again")
    assert digest_inputs([file]) == first
    os.utime(file, ns=(1, 1))
    assert digest_inputs([file]) == {"a.xml": "read again"}


def test_another_file_of_the_same_size_and_time_is_read(file, tmp_path):
    first = digest_inputs([file])
    state = file.stat()
    other = tmp_path / "other"
    other.write_text("two")
    os.utime(other, ns=(state.st_atime_ns, state.st_mtime_ns))
    other.replace(file)
    assert digest_inputs([file]) != first


def test_files_that_can_not_be_parents(file, tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        digest_inputs([tmp_path / "absent"])
    with pytest.raises(BadInput, match="given twice"):
        digest_inputs([file, file])
