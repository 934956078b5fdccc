"""Every verb of ``ssi`` once, as a command that takes a second on small made-up data."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest

from flows.cli import cli
from flows.tracking import models
from ssi_core.command.fields import parameters
from ssi_core.corpus.sources import SOURCES, source_named
from ssi_core.guests.feeds.writing import atom, rss
from ssi_core.guests.live.changes import Changes, Document
from tests.face import made_sources
from tests.flows import roots
from tests.guests.click_logs import logs
from tests.guests.codes import made as labelled
from tests.guests.feeds import test_feeds
from tests.guests.reranking import made as pairs
from tests.guests.site.made import small
from tests.guests.summary import made as wiki
from tests.guests.summary.test_questions import meeting, write_meetings
from tests.killing import Ended, Faults, run_code

TABLE = """
name = "small"
title = "Two rows"

[[rows]]
label = "TF-IDF"
model = "tfidf"
seeds = 1

[[rows]]
label = "U'V + I"
model = "bilinear"
dimensions = 4
rates = [0.1]
budget = 1000
epoch = 200
patience = 100
search_budget = 100
seeds = 1
"""
SLATES = """
name = "slates"
title = "One row"

[[rows]]
label = "against the slate"
model = "bilinear"
against = "shown"
diagonal = "none"
dimensions = 4
rates = [0.1]
margin = 0.3
epoch = 400
budget = 800
seeds = 1
"""
RANKERS = """
name = "rankers"
title = "One row"

[[rows]]
label = "one feature"
ranker = "greedy_rankrls"
lambdas = [1.0]
most = 1
"""
RERANKER = "fold --ranker rankrls --set lambdas=1,8"

COMMANDS = {
    "data sample own": "--out new --size 20",
    "data sample encyclopedia": "new --size 20",
    "fit": "DATA/corpus --query-type link --defaults --budget 400 --out new",
    "data features": "DATA/corpus --out new",
    "data index": "DATA/model --task DATA/task --out new",
    "search": "DATA/model moon",
    "related": "DATA/model Page_1",
    "lab neighbours": "DATA/model moon",
    "explain": "DATA/model moon Page_1",
    "why": "DATA/model moon Page_1",
    "export": "DATA/model --to opensearch --out new",
    "lab evaluate": "DATA/model --task DATA/task --out new",
    "site": "pages --out new",
    "rank rerank fit": f"{RERANKER} --out new",
    "rank rerank score": "reranker fold/test.txt --out new --scores scores",
    "rank rerank compare": "folds --table rankers.toml --save new",
    "rank rerank features": "DATA/task --models bm25,tfidf --out new",
    "rank codes compare": "labelled.jsonl --lengths 8 --save new",
    "rank codes fit": "labelled.jsonl --bits 8 --out new",
    "rank codes search": "codes kitten",
    "rank codes hubs": "labelled.jsonl --dimensions 2,3 -k 3 --save new",
    "rank summary concepts": "wiki --out new",
    "rank summary of": "fossil notes.txt",
    "rank summary compare": "QMSum --concepts concepts --length 20 --save new",
    "rank profiles compare": "visits --tokens texts --set tokens=5 --save new",
    "rank profiles fit": "visits --set clusters=4 --out new",
    "rank profiles show": "profiles --cluster 0",
    "rank feeds compare": "feeds --entries 1,2 --save new",
    "rank feeds write": "DATA/corpus new --topics topics.tsv --most 2",
    "lab pipeline": "table.toml --task DATA/task",
    "lab train": "table.toml --task DATA/task --row TF-IDF",
    "compare": "made-up --save new",
    "lab export-trec": "RUN --out new",
    "rank match": "RUN page.txt",
    "lab estimate": "CLICKED --log clicks --candidates shown --rounds 20 --least-visits 1",
    "ops freeze": "DATA/corpus --max-queries 10 --out new",
    "retrain": "table.toml --corpus DATA/corpus --name nightly",
    "ops promote": "RUN",
    "ops rollback": "",
    "ops champions": "",
    "data store verify": "",
    "data store repair": "documents.db",
    "data store list": "",
    "data store remove": "",
    "ops doctor": "",
    "ops backup": "new.tar",
    "ops restore": "saved.tar --root other",
}
"""Verb -> its arguments; ``_`` stands for a space within one."""
SERVERS = ("serve", "ops ui", "up", "ops deploy", "ops run")
"""Verbs that run until they are ended, or need one that does."""
LONG = {
    "demo": "runs pipeline, fit and search, on more documents",
    "data ingest ir-datasets": "downloads",
}
"""Verbs that are left out -> the reason."""


def verbs() -> Iterator[str]:
    """Walk the registry of verbs."""
    yield from _below(cli, "", click.Context(cli))


def command_of(verb: str) -> click.Command:
    """Return the command of a verb."""
    command: click.Command = cli
    for name in verb.split():
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), name)
        assert found is not None
        command = found
    return command


def _below(group: click.Group, before: str, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from _below(found, f"{before}{name} ", context)
        else:
            yield f"{before}{name}"


READY = (
    "flows.cli", "flows.tracking", "ssi_core.datasets.wikipedia.mediawiki", "ssi_core.tasks.task",
    "ssi_core.experiment", "ssi_core.face.fit", "ssi_core.serving.index", "scipy.sparse.linalg",
)  # fmt: skip
"""Modules that most verbs load."""
FIRST = (
    "data ingest clicks log.csv --map map.toml --clicks weighted --out clicks",
    "data features clicks --vocabularies two --out clicked",
    "data ingest clicks visits.csv --map visits.toml --clicks all --out visits",
    f"rank rerank fit {RERANKER} --out reranker",
    "rank codes fit labelled.jsonl --bits 8 --out codes",
    "rank summary concepts wiki --out concepts",
    "rank profiles fit visits --set clusters=4 --out profiles",
    "lab pipeline table.toml --task DATA/task --rows TF-IDF",
    "ops backup saved.tar",
)
"""Commands that make what the others read."""


def make(here: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Write what the commands read, in a directory and beside it; return verb -> its words."""
    monkeypatch.setenv("SSI_ROOT", str(here / "root"))
    (here / "root" / "data").mkdir(parents=True)
    _write_package(here.parent / "ssi_core")
    monkeypatch.setattr(models, "CODE", here.parent / "ssi_core")
    runs = roots.make(here / "root", monkeypatch)
    # They are empty, to see that no backup has them.
    for name in ("prefect", "checkpoints"):
        shutil.rmtree(here / "root" / ".ssi" / name)
    (here / "table.toml").write_text(TABLE)
    (here / "clicks.toml").write_text(SLATES)
    (here / "page.txt").write_text("The moon, a rocket and a planet.")
    (here / "topics.tsv").write_text("".join(f"{n + 1}\tabout {n % 3}\n" for n in range(51)))
    _write_pairs(here)
    _write_texts(here)
    _write_clicks(here)
    _write_documents(here / "documents.db")
    names = {"DATA": "root/data", "RUN": runs["1"]}
    for command in FIRST:
        _made(here, split(command, names))
    row = "lab train clicks.toml --task clicked --row against_the_slate"
    names["CLICKED"] = json.loads(_made(here, split(f"{row} --json", names)))["run_id"]
    commands = {**COMMANDS, **_ingests(here.parent / "in", monkeypatch)}
    return {verb: split(f"{verb} {words}", names) for verb, words in commands.items()}


def split(command: str, names: dict[str, str]) -> list[str]:
    """Divide a command into words, with some of them replaced."""
    for name, value in names.items():
        command = command.replace(name, value)
    return [
        word if Path(word).suffix or "/" in word else word.replace("_", " ")
        for word in command.split()
    ]


def _write_package(directory: Path) -> None:
    """Write a small package with our name, to be logged with models."""
    directory.mkdir()
    (directory / "__init__.py").touch()


READS = {
    "search", "related", "lab neighbours", "explain", "why", "rank codes search", "rank summary of",
    "rank profiles show", "data store list", "ops doctor",
}  # fmt: skip
"""Verbs that only read, and need no room."""

ONCE = {"ops backup", "ops restore", "rank feeds write"}
"""Verbs that leave an output alone that is there: once they are done, they refuse it."""


def run_verb(here: Path, words: list[str], faults: Faults, memory: int | None = None) -> Ended:
    """Run a command in a directory, whose ``root`` is its root.

    Parameters
    ----------
    memory : int or None
        MiB of addresses that the command may take.
    """
    limit = (
        f"import resource; most = {memory or 0} << 20\n"
        "resource.setrlimit(resource.RLIMIT_AS, (most, most))\n"
    )
    code = (
        f"import os; os.chdir({str(here)!r})\n"
        "from pathlib import Path; from flows.tracking import models\n"
        f"models.CODE = Path({str(here.parent / 'ssi_core')!r})\n"
        f"{'' if memory is None else limit}"
        f"from flows.cli import main; main({['--root', str(here / 'root'), *words]!r})"
    )
    return run_code(code, faults, ready=READY)


def _made(here: Path, words: list[str]) -> str:
    with Faults(here) as faults:
        ended = run_verb(here, words, faults)
    assert ended.code == 0, f"{' '.join(words)}\n{ended.printed}"
    return ended.printed.splitlines()[-1]


def _write_clicks(here: Path) -> None:
    columns = {**logs.COLUMNS}
    rows = logs.rows(300)
    logs.write_csv(here / "log.csv", rows)
    visits = [row | {"who": f"u{offset // 32:03}"} for offset, row in enumerate(logs.rows(2400))]
    for row, visit in enumerate(visits):
        day, hour = divmod(row // 4 // 60, 24)
        visit["when"] = f"2024-01-{day + 1:02}T{hour:02}:{row // 4 % 60:02}:00Z"
    logs.write_csv(here / "visits.csv", visits)
    for name, named in (("map", columns), ("visits", columns | {"user": "who"})):
        lines = "".join(f'{role} = "{column}"\n' for role, column in named.items())
        (here / f"{name}.toml").write_text(f"[columns]\n{lines}")


def _write_documents(path: Path) -> None:
    """Write documents of a service, one of them damaged."""
    Changes(path).put([Document(f"new{n}", f"New {n}", "a moon and a car") for n in range(3)])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE rows SET text = 'a cab' WHERE id = 'new1'")


def _write_pairs(here: Path) -> None:
    from ssi_core.guests.reranking.letor import write_letor

    for number in (1, 2):
        for n, side in enumerate(("train", "vali", "test")):
            features = pairs.pairs([8] * 9, seed=10 * number + n)
            queries = features.queries + f"-{side}"
            features = type(features)(**{**vars(features), "queries": queries})
            write_letor(features, here / "folds" / f"Fold{number}" / f"{side}.txt")
    shutil.copytree(here / "folds" / "Fold1", here / "fold")
    (here / "rankers.toml").write_text(RANKERS)


def _write_texts(here: Path) -> None:
    labelled.lines(here / "labelled.jsonl", 40, 12)
    wiki.collection(here / "wiki")
    (here / "notes.txt").write_text(wiki.TEXTS[1])
    one = meeting(*wiki.TEXTS, answer="Delegates spoke about global warming for many hours.")
    write_meetings(here / "QMSum", train={"a": one}, val={"b": one})
    small(here / "pages")
    (here / "feeds").mkdir()
    for number, feed in enumerate(test_feeds.made(60)):
        text = (atom if number % 2 else rss)(test_feeds.stamped(feed))
        (here / "feeds" / f"{number}.xml").write_bytes(text)


def _ingests(path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Write a small input of every source; return verb -> arguments."""
    found, read = {}, []

    def reading(name, /, **settings):
        read.append((name, settings))
        return real(name, **settings) if name == "table" else None

    real = made_sources._read
    with monkeypatch.context() as patch:
        patch.setattr(made_sources, "_read", reading)
        for name in SOURCES:
            if f"data ingest {name}" not in LONG:
                directory = path / name
                directory.mkdir(parents=True)
                made_sources.SOURCES[name](directory)
                found[f"data ingest {name}"] = _words(*read[-1])
    return found


def _words(name: str, settings: dict[str, object]) -> str:
    options = {param.name: param for param in parameters(source_named(name))}
    words = []
    for setting, value in settings.items():
        param = options[setting]
        option = [] if isinstance(param, click.Argument) else [param.opts[0]]
        values = value if isinstance(value, tuple) else (value,)
        words += [*option, *map(str, values)]
    return " ".join([*words, "--out new"])
