"""One door: the command, a flow and the library name the same work by the same key."""

import os
import shutil
from pathlib import Path

import pytest

from flows import environment
from ssi_core import store
from ssi_core.tasks.task import build_task
from tests.sources import ingest


@pytest.mark.flow
def test_command_flow_and_library_find_what_another_made(
    flow_runs, dump, tmp_path, ssi, monkeypatch
):
    from prefect import flow

    from flows.features import FeaturesSettings, make_task
    from flows.ingest import IngestSettings, ingest_source

    @flow
    def through_a_flow():
        corpus = ingest_source(IngestSettings(source="wikipedia", paths=[str(dump)]))
        return corpus, make_task(FeaturesSettings(corpus=corpus, words=50))

    corpus = ingest("wikipedia", [dump])
    task = build_task(corpus.path, words=50)
    monkeypatch.setattr(store, "create", lambda *_, **__: pytest.fail("it is made anew"))
    assert tuple(map(Path, through_a_flow())) == (corpus.path, task.path)
    copy = shutil.copy(dump, tmp_path)
    os.utime(copy, ns=(1, 1))
    _, ingested, _ = ssi("data", "ingest", "wikipedia", copy)
    assert ingested["path"] == str(corpus.path)
    _, featured, _ = ssi("data", "features", corpus.path, "--words", 50)
    assert featured["path"] == str(task.path)
    assert corpus.path.parent.parent == environment.home() / "store"


def test_an_edit_of_a_comment_finds_it_and_one_of_the_code_makes_another(
    own_root, project, monkeypatch
):
    from ssi_core import code

    corpus, dump = project / "corpus", project / "dump.xml.bz2"
    first = [ingest("wikipedia", [dump], processes=1), build_task(corpus)]
    read = code._read

    # As another process would, which reads the code anew.
    monkeypatch.setattr(code, "_follow_once", code._follow)

    def edited(room, line):
        # As if every module of a room had one more line.
        def read_edited(source):
            return read(source + line if room in source else source)

        monkeypatch.setattr(code, "_read", read_edited)
        return [ingest("wikipedia", [dump], processes=1), build_task(corpus)]

    assert [one.path for one in edited("def build_task", "\n# a comment\n")] == [
        one.path for one in first
    ]
    again = edited("def build_task", "\nX = 1\n")
    assert again[0].path == first[0].path
    assert again[1].path != first[1].path
    assert again[1].counts == first[1].counts


def test_the_store_lists_what_is_there_and_removes_what_is_of_no_use(
    own_root, project, ssi, monkeypatch
):
    from ssi_core.guests.upkeep import listing

    corpus = ingest("wikipedia", [project / "dump.xml.bz2"], processes=1)
    tasks = [build_task(corpus.path, words=words) for words in (20, 30)]
    code, value, _ = ssi("data", "store", "list")
    assert code == 0
    facts = {one["path"]: one for one in value["artefacts"]}
    assert set(facts) == {str(one.path) for one in (corpus, *tasks)}
    assert facts[str(corpus.path)]["users"] == ["2 tasks"]
    assert {one["found"] for one in facts.values()} == {True}
    assert facts[str(tasks[0].path)]["settings"]["words"] == 20
    code, value, _ = ssi("data", "store", "remove")
    assert (code, value) == (0, {"removed": []})
    code, value, _ = ssi("data", "store", "remove", corpus.path)
    assert code == 4
    assert "in use (2 tasks)" in value["error"]["message"]
    code, value, _ = ssi("data", "store", "remove", tasks[0].path)
    assert (code, tasks[0].path.exists()) == (0, False)
    # After an upgrade the code that makes tasks is another.
    digest = listing.digest_of_modules
    monkeypatch.setattr(
        listing,
        "digest_of_modules",
        lambda names: digest(names) + ("'" * ("build" in names[0])),
    )
    code, value, _ = ssi("data", "store", "list", "--unused")
    assert [one["path"] for one in value["artefacts"]] == [str(tasks[1].path)]
    code, value, _ = ssi("data", "store", "remove")
    assert [one["path"] for one in value["removed"]] == [str(tasks[1].path)]
    assert corpus.path.exists()
    assert not tasks[1].path.exists()


def test_what_a_run_names_is_not_removed(own_root, project, ssi, monkeypatch):
    from flows.storage import store_users as users
    from ssi_core.guests.upkeep import listing

    corpus = ingest("wikipedia", [project / "dump.xml.bz2"], processes=1)
    task = build_task(corpus.path, words=20)
    monkeypatch.setattr(users, "_named_by_runs", lambda: {task.path.resolve(): ["run", "run"]})
    monkeypatch.setattr(listing, "digest_of_modules", lambda names: "another")
    assert ssi("data", "store", "remove")[1] == {"removed": []}
    code, value, _ = ssi("data", "store", "remove", task.path)
    assert code == 4
    assert "in use (2 runs)" in value["error"]["message"]
    assert ssi("data", "store", "remove", task.path, "--force")[0] == 0
    assert not task.path.exists()


def test_what_is_no_artefact_of_the_store_is_not_removed(own_root, project, ssi):
    code, value, _ = ssi("data", "store", "remove", project / "corpus")
    assert code == 3
    assert "no artefact of the store" in value["error"]["message"]
    assert (project / "corpus").exists()
