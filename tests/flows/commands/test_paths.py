"""Every verb takes relative paths, from any working directory, with blanks and other scripts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from flows.cli import cli
from ssi_core.command.verb import run
from ssi_core.sample.encyclopedia import write_sample
from tests.datasets import (
    kyoto,
    test_farm_ads,
    test_smart,
    test_wikispeedia,
    test_wikispeedia_clicks,
)
from tests.flows.conftest import TINY
from tests.flows.project import make
from tests.guests.click_logs import logs

MAP = "[columns]\n" + "".join(f'{role} = "{name}"\n' for role, name in logs.COLUMNS.items())

pytestmark = pytest.mark.trains


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory of inputs of every kind, named as a person would, and a root beside them."""

    from ssi_core.guests.click_logs.rules import Rules
    from ssi_core.models.latent.lsi import Lsi
    from ssi_core.serving.index import build_index
    from ssi_core.tasks.task import build_task, open_task
    from tests.sources import ingest

    directory = tmp_path_factory.mktemp("Ünï [cöde] dir")
    there = directory / "in püt"
    (there / "one").mkdir(parents=True)
    (directory / "wörk").mkdir()
    make(there)
    (there / "tablé.toml").write_text(TINY)
    (there / "page.txt").write_text("text of page 1, buy an ad")
    (there / "new ads.tsv").write_text("id\ttext\nnew\tthe text of an ad\n")
    (there / "map.toml").write_text(MAP)
    logs.write_csv(there / "log 1.csv", logs.rows(200))
    kyoto.release(there / "kyoto")
    test_wikispeedia.release(there / "wikispeedia")
    test_wikispeedia_clicks.games(there / "games")
    test_farm_ads.written(there / "farm", test_farm_ads.LINES)
    test_smart.write(there / "cran", "1 1 1\n")
    write_sample(there / "sample", documents=45)
    for language in ("ja", "en"):
        (dump,) = (there / "sample").glob(f"{language}wiki-*.xml.bz2")
        ingest("wikipedia", [dump], there / language, processes=1)
    (there / "sample").glob("*langlinks.sql.gz").__next__().rename(there / "links.sql.gz")
    corpora = (there / "ja", there / "en")
    ingest("mates", out=there / "mates", langlinks=there / "links.sql.gz", corpora=corpora)
    logs.ingest([there / "log 1.csv"], logs.form(), there / "clicks", rules=Rules("all"))
    logs.ingest([there / "log 1.csv"], logs.form(), there / "visits", rules=Rules("weighted"))
    (there / "looks.csv").write_text("position,propensity\n1,1\n2,0.5\n3,0.33\n4,0.25\n")
    build_task(there / "clicks", there / "of clicks", relevant="click")
    task = open_task(there / "of clicks")
    fitted = Lsi(dimensions=3).fit(task, np.random.default_rng(0))
    fitted.save(there / "ads")
    build_index(fitted, task.documents, there / "ads" / "index", parents={"task": task.key})
    return directory


@pytest.fixture
def inside(place, monkeypatch):
    """The working directory: beside the inputs, and not the root."""
    for name in list(os.environ):
        if name.startswith(("SSI_", "PREFECT_", "MLFLOW_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(place / "wörk")
    monkeypatch.setenv("SSI_ROOT", "../rööt")
    return place


IN = "../in püt"
LOG = f"data|ingest|clicks|{IN}/log 1.csv|--map|{IN}/map.toml|--clicks|all"
CALLS = {
    "sample": "data|sample|müde/sample|--size|20",
    "wikipedia": f"data|ingest|wikipedia|{IN}/dump.xml.bz2|--processes|1|--out|a/corpus",
    "since": f"data|ingest|wikipedia|{IN}/dump.xml.bz2|--processes|1"
    f"|--since|{IN}/corpus|--out|a/since",
    "wikispeedia": f"data|ingest|wikispeedia|{IN}/wikispeedia|--out|a/wikispeedia",
    "collection": f"data|ingest|collection|{IN}/cran|--out|a/cran",
    "kyoto": f"data|ingest|kyoto|{IN}/kyoto|--out|a/kyoto",
    "mates": f"data|ingest|mates|--langlinks|{IN}/links.sql.gz"
    f"|--corpora|{IN}/ja|{IN}/en|--out|a/mates",
    "clicks": f"{LOG}|--out|a/clicks",
    "clicks since": f"{LOG}|--since|{IN}/clicks|--out|a/clicks 2",
    "clicks texts": f"{LOG}|--queries|{IN}/clicks|--documents|{IN}/clicks|--out|a/clicks 3",
    "games": f"data|ingest|wikispeedia-clicks|{IN}/games|--out|a/games",
    "farm-ads": f"data|ingest|farm-ads|{IN}/farm|--out|a/farm",
    "features": f"data|features|{IN}/corpus|--out|a/task",
    "features of clicks": f"data|features|{IN}/clicks|--out|a/ads",
    "features of two": f"data|features|{IN}/clicks|--vocabularies|two|--out|a/two",
    "features of mates": f"data|features|{IN}/mates|--relevant|translation"
    "|--views|raw|--out|a/of mates",
    "freeze": f"ops|freeze|{IN}/corpus|--max-queries|5|--out|a/frozen",
    "freeze since": f"ops|freeze|{IN}/corpus|--since|{IN}/corpus|--max-queries|5|--out|a/frozen 2",
    "evaluate": f"lab|evaluate|{IN}/model|--task|{IN}/task",
    "index": f"data|index|{IN}/model|--task|{IN}/task|--out|a/index",
    "search": f"search|{IN}/model|moon|--index|{IN}/model/index",
    "approximate": f"search|{IN}/model|moon|--approximate",
    "match": f"rank|match|{IN}/ads|{IN}/page.txt|--new-ads|{IN}/new ads.tsv",
    "match a title": f"rank|match|{IN}/ads|p1|--pages|{IN}/clicks",
    "estimate": f"lab|estimate|{IN}/ads|--log|{IN}/visits|--candidates|shown|--most-unseen|1"
    f"|--propensities|{IN}/looks.csv|--rounds|3",
    "neighbours": f"lab|neighbours|{IN}/model|moon",
    "dice": f"lab|neighbours|{IN}/task|moon|--dice",
    "explain": f"explain|{IN}/model|moon|Page 1",
    "why": f"why|{IN}/model|moon|Page 1",
    "export": f"export|{IN}/model|--to|opensearch|--out|a/exported",
    "export documents": f"export|{IN}/model|--documents|{IN}/corpus|--to|lucene|--out|a/added",
    "root": f"ops|doctor|--root|{IN}/rööt",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_verb_takes_relative_paths(call, inside, capsys):
    arguments = call.split("|")
    assert run(cli, [*arguments, "--json"]) == 0, capsys.readouterr().err
    value = json.loads(capsys.readouterr().out)
    if "--out" in arguments:
        out = Path(arguments[arguments.index("--out") + 1])
        assert Path(value["path"]).samefile(out)
        assert [path.name for path in out.parent.iterdir() if path.name[0] == "."] == []
    # A person reads the same, with the path whole.
    assert run(cli, arguments) == 0
    assert "Traceback" not in capsys.readouterr().err


def test_what_was_made_is_not_made_again_from_another_directory(inside, capsys, monkeypatch):
    assert run(cli, ["data", "features", f"{IN}/corpus", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    monkeypatch.chdir(inside / "in püt" / "one")
    monkeypatch.setenv("SSI_ROOT", "../../rööt")
    assert run(cli, ["data", "features", "../corpus", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == first


def test_rows_are_trained_compared_and_exported_by_relative_paths(inside, capsys):
    def ssi(*arguments):
        code = run(cli, [*arguments, "--json"])
        out, log = capsys.readouterr()
        assert code == 0, log
        return json.loads(out)

    table, task = f"{IN}/tablé.toml", ("--task", f"{IN}/task")
    trained = ssi("lab", "train", table, *task, "--row", "TF-IDF")
    assert ssi("compare", "tiny")["rows"][0]["run_id"] == trained["run_id"]
    assert ssi("search", trained["run_id"], "moon")["results"]
    for how in ((), task):
        files = ssi("lab", "export-trec", trained["run_id"], "--out", "a/trec", *how)
        assert Path(files["run"]).read_text()
    assert (inside / "rööt" / "mlruns" / "mlflow.db").is_file()


def test_serve_takes_relative_paths(inside, capsys, monkeypatch):
    from flows.serve import run as serving
    from flows.servers.server import free_port

    class Short(serving._Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            self.should_exit = True

    monkeypatch.setattr(serving, "_Server", Short)
    how = ["--index", f"{IN}/model/index", "--documents", "a/döc.db", "--port", str(free_port())]
    assert run(cli, ["serve", f"{IN}/model", *how, "--json"]) == 0, capsys.readouterr().err
    assert Path("a/döc.db").is_file()


@pytest.mark.parametrize(
    ("verb", "option", "name"),
    [
        ("lab pipeline", "--corpus", "corpus"),
        ("lab pipeline", "--task", "task"),
        ("lab pipeline", "--texts", "dump.xml.bz2"),
        ("retrain", "--corpus", "corpus"),
        ("retrain", "--texts", "dump.xml.bz2"),
        ("retrain", "--frozen", "frozen"),
    ],
)
def test_a_flow_is_handed_absolute_paths(verb, option, name, inside, monkeypatch):
    """Its workers may have been started in another directory."""
    from flows import pipeline, retrain

    handed = []
    monkeypatch.setattr(pipeline, "run_pipeline", lambda **how: handed.append(how) or {})
    monkeypatch.setattr(retrain, "run_retrain", lambda **how: handed.append(how) or {})
    table = f"{IN}/tablé.toml"
    more = ["--corpus", f"{IN}/corpus"] if option == "--frozen" else []
    assert run(cli, [*verb.split(), table, option, f"{IN}/{name}", *more, "--json"]) == 0
    paths = [text for text in strings(handed) if "/" in text]
    assert str(inside / "in püt" / name) in paths
    assert str(inside / "in püt" / "tablé.toml") in paths
    assert all(path.startswith("/") and ".." not in path for path in paths)


def strings(value):
    """Every text in nested lists and dicts."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [text for one in inner for text in strings(one)]
    return [value] if isinstance(value, str) else []
