"""The page of the collection: its command as printed, its tables as the code has them."""

import json
import re
import shlex
from typing import get_args

from flows.cli import cli
from ssi_core.collection import open_collection
from ssi_core.command.verb import run
from ssi_core.tasks.kinds import Relevant
from ssi_core.tasks.spec import TaskSpec
from tests.corpora import write_corpus
from tests.flows.pages import REPOSITORY
from tests.guests.click_logs import logs
from tests.sources import ingest

PAGE = (REPOSITORY / "docs" / "collection.md").read_text(encoding="utf-8")
RUNS = [("docs/collection.md", None)]
COMMANDS = re.findall(r"^    (ssi .*)$", PAGE, re.MULTILINE)


def table_below(heading):
    """Rows of the table with a heading, cell by cell."""
    lines = PAGE[PAGE.index(heading) :].splitlines()[2:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            return rows
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def code(cell):
    return re.findall(r"`([^`]+)`", cell)


def test_the_command_joins_clicks_with_texts(own_root, tmp_path, monkeypatch, capsys):
    columns = {k: v for k, v in logs.COLUMNS.items() if not k.endswith("text")}
    rows = [
        {**row, "url": row["url"].replace("p", "d"), "ad": row["ad"].replace("a", "d")}
        for row in logs.rows(200)
    ]
    logs.write_csv(tmp_path / "log.csv", rows)
    names = "".join(f'{role} = "{name}"\n' for role, name in columns.items())
    (tmp_path / "map.toml").write_text(f"[columns]\n{names}")
    write_corpus(tmp_path / "articles", [f"words of text {i}" for i in range(60)], [(1, 2)])
    monkeypatch.chdir(tmp_path)
    assert run(cli, [*shlex.split(COMMANDS[0])[1:], "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["counts"]["documents"] == 60
    assert open_collection(tmp_path / "clicks").relevant == ("click", "link")


def test_the_first_of_each_cell_is_the_default():
    seen = set()
    for kinds, queries, split, vocabularies in table_below("| `relevant` | `queries`"):
        for relevant in code(kinds):
            spec = TaskSpec(relevant=relevant)
            defaults = (spec.queries, spec.split, spec.vocabularies)
            assert defaults == (code(queries)[0], code(split)[0], code(vocabularies)[0])
            for name in code(split):
                assert TaskSpec(relevant=relevant, split=name).split == name
            for name in code(vocabularies):
                assert TaskSpec(relevant=relevant, vocabularies=name).vocabularies == name
            seen.add(relevant)
    assert seen == set(get_args(Relevant))


def test_the_commands_ask_for_what_documents_are_called(own_root, tmp_path, monkeypatch, capsys):
    (tmp_path / "site").mkdir()
    for n in range(60):
        linked = " ".join(f"[the {n + k}th thing](page{(n + k) % 60}.md)" for k in (1, 2, 3))
        text = f"# Thing {n}\n\nwords of page {n} {linked}\n"
        (tmp_path / "site" / f"page{n}.md").write_text(text)
    ingest("folder", tmp_path / "site", tmp_path / "corpus")
    monkeypatch.chdir(tmp_path)
    asked = COMMANDS[1:]
    assert [shlex.split(command)[-1] for command in asked] == ["anchors", "titles", "known", "task"]
    for command in asked:
        assert run(cli, [*shlex.split(command)[1:], "--json"]) == 0
        made = json.loads(capsys.readouterr().out)
        assert min(made["counts"]["pairs"].values()) > 0
    assert set(made["counts"]["auxiliary"]) == {"titles", "words:3", "link:3"}


def test_every_printed_kind_can_be_auxiliary():
    (kinds,) = zip(*(code(row[0]) for row in table_below("| `auxiliary` | relevant")), strict=True)
    for kind in kinds:
        assert TaskSpec(relevant="judgement", auxiliary=(kind.replace("N", "3"),)).auxiliary
    assert len(kinds) == 5
