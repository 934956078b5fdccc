"""``ssi data store``: what was made, checked."""

import io
import shlex
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from flows.commands import store
from flows.storage.store_users import Entry
from ssi_core.guests.live.changes import Changes
from ssi_core.guests.live.searcher import Document
from ssi_core.guests.upkeep.listing import Stored
from ssi_core.store import locked


def test_verify_names_what_was_damaged(own_root, project, tmp_path, ssi):
    code, value, _ = ssi("data", "store", "verify")
    assert (code, value) == (0, {"directories": 0, "databases": 0, "bytes": 0, "damaged": 0})
    shutil.copytree(project / "task", tmp_path / "root/.ssi/store/task/k")
    code, value, _ = ssi("data", "store", "verify")
    assert (code, value["directories"], value["damaged"]) == (0, 1, 0)
    assert value["bytes"] > 10_000
    part = next((tmp_path / "root/.ssi/store/task/k").rglob("idf.npy"))
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    for places in ((), (tmp_path / "root",)):
        code, value, _ = ssi("data", "store", "verify", *places)
        assert code == 3
        said = f"1 of 1 directories and databases are damaged: {part}: its bytes"
        assert said in value["error"]["message"]


def test_verify_names_five_of_many_problems(own_root, project, tmp_path, ssi):
    for number in range(7):
        copy = tmp_path / f"root/.ssi/store/task/{number}"
        shutil.copytree(project / "task", copy)
        part = next(copy.rglob("idf.npy"))
        part.write_bytes(part.read_bytes()[:-1] + b"?")
    code, value, _ = ssi("data", "store", "verify")
    message = value["error"]["message"]
    assert (code, message.count(" | ")) == (3, 5)
    assert message.endswith(" | and 2 more")


def test_a_changed_document_is_named_and_the_rest_is_kept(own_root, tmp_path, ssi):
    path = tmp_path / "root/.ssi/serve/m/documents.db"
    Changes(path).put([Document(f"d{n}", "", "text") for n in range(3)])
    assert ssi("data", "store", "verify")[1]["databases"] == 1
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE rows SET text = 'other' WHERE id = 'd1'")
    code, value, _ = ssi("data", "store", "verify")
    assert code == 3
    message = value["error"]["message"]
    assert "the row 'd1' was changed after it was written" in message
    verb, file = shlex.split(message)[-4:-1], shlex.split(message)[-1]
    code, value, _ = ssi(*verb, file)
    assert (code, value["kept"], value["left_out"], value["lost"]) == (0, 2, ["d1"], 0)
    assert ssi("data", "store", "verify")[1]["damaged"] == 0
    with locked(path):
        code, value, _ = ssi("data", "store", "repair", path)
    assert code == 4


def test_databases_are_checked_page_by_page(own_root, tmp_path, ssi):
    path = tmp_path / "root/mlruns/mlflow.db"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE runs (name TEXT)")
        connection.executemany("INSERT INTO runs VALUES (?)", [("x" * 100,)] * 500)
    assert ssi("data", "store", "verify")[:2] == (
        0,
        {"directories": 0, "databases": 1, "bytes": path.stat().st_size, "damaged": 0},
    )
    pages = bytearray(path.read_bytes())
    pages[3 * 4096 : 3 * 4096 + 40] = bytes(40)
    path.write_bytes(pages)
    code, value, _ = ssi("data", "store", "verify")
    assert code == 3
    assert f"{path}: " in value["error"]["message"]
    assert "ssi ops restore" in value["error"]["message"]


def test_compiled_kernels_are_listed_and_removed(own_root, tmp_path, monkeypatch, ssi):
    from ssi_core import compiled

    monkeypatch.setenv("SSI_CACHE", str(tmp_path / "cache"))
    compiled.write("build", "key", bytes(1000))
    kept = {"kernels": 1, "bytes": 1032}
    code, value, _ = ssi("data", "store", "list")
    assert (code, value) == (0, {"artefacts": [], "compiled": kept})
    code, value, _ = ssi("data", "store", "remove", tmp_path, "--compiled")
    assert code == 3
    assert "--compiled removes no" in value["error"]["message"]
    assert ssi("data", "store", "remove", "--compiled")[:2] == (0, {"compiled": kept})
    assert ssi("data", "store", "list")[1]["compiled"] == {"kernels": 0, "bytes": 0}


def test_a_list_shows_every_setting_whole_on_80_columns():
    views = ["counts", "dictionary.raw", "sublinear:200@30000"]
    configuration = {"source": "/a/b/0123456789abcdef", "split": "articles", "views": views}
    made = datetime(2026, 3, 9, 12, tzinfo=UTC)
    artefact = Stored(Path("b" * 64), "collection", "k", 12_345_678, made, configuration, {}, True)
    file = io.StringIO()
    users = ("1 retraining run", "2 reports", "1 serving")
    store._show(Console(file=file, width=80), [Entry(artefact, users)])
    words = file.getvalue().split()
    assert "source=0123456789ab" in words
    assert {"b" * 12, "split=articles", "views=counts,", *(f"{one}," for one in views[1:-1])} < {
        *words
    }
    assert {views[-1], "yes", "12.3", "09", "Mar", "2026", "serving"} < {*words}


def test_all_are_listed_unless_only_the_unused_are_asked_for(own_root, ssi, monkeypatch):
    made = datetime(2026, 3, 9, 12, tzinfo=UTC)

    def entry(name, current, *users):
        return Entry(Stored(Path(name), "task", name, 1, made, {}, {}, current), users)

    found = [
        entry("old", False),
        entry("used", False, "a run"),
        entry("new", True),
        entry("data", None),
    ]
    monkeypatch.setattr("flows.storage.store_users.entries", lambda: found)
    listed = [
        [one["path"] for one in ssi("data", "store", "list", *more)[1]["artefacts"]]
        for more in ((), ("--unused",))
    ]
    assert listed == [["old", "used", "new", "data"], ["old"]]
