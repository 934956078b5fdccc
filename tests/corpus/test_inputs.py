import os

import pytest

from ssi_core import store
from ssi_core.corpus.inputs import digest_inputs
from ssi_core.types import BadInput


def test_digests_are_remembered_until_a_file_changes(tmp_path, monkeypatch):
    cache = tmp_path / "home" / "inputs.json"
    file = tmp_path / "a.xml"
    file.write_text("one")
    first = digest_inputs([file], cache=cache)
    assert first == {"a.xml": store.digest_file(file)}
    monkeypatch.setattr(store, "digest_file", lambda path: "read again")
    assert digest_inputs([file], cache=cache) == first
    os.utime(file, ns=(1, 1))
    assert digest_inputs([file], cache=cache) == {"a.xml": "read again"}
    cache.write_text("[broken")
    assert digest_inputs([file], cache=cache) == {"a.xml": "read again"}


def test_the_cache_lies_in_the_home_directory(tmp_path, monkeypatch):
    file = tmp_path / "a.xml"
    file.write_text("one")
    monkeypatch.delenv("SSI_HOME", raising=False)
    digest_inputs([file])
    assert [p.name for p in tmp_path.iterdir()] == ["a.xml"]
    monkeypatch.setenv("SSI_HOME", str(tmp_path / "home"))
    digest_inputs([file])
    assert (tmp_path / "home" / "inputs.json").exists()


def test_files_that_can_not_be_parents(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        digest_inputs([tmp_path / "absent"])
    file = tmp_path / "a.xml"
    file.write_text("one")
    with pytest.raises(BadInput, match="given twice"):
        digest_inputs([file, file])
