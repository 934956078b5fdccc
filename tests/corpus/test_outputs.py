"""Messages that quote a file, and outputs that are inputs."""

import json
from pathlib import Path

import click
import pytest

from flows.cli import cli
from ssi_core import store
from ssi_core.collection import open_collection
from ssi_core.command.process import OUTPUTS, refuse_outputs
from ssi_core.command.verb import run
from ssi_core.types import LONGEST_MESSAGE, BadInput, Inapplicable, Refused
from tests.robust.tally import attempt
from tests.sources import ingest

pytestmark = pytest.mark.hostile("outputs")


def test_messages_cut_what_they_quote(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(",".join(f"column{n}{'x' * 500}" for n in range(5000)) + "\n1\n")
    with (
        pytest.raises(
            BadInput,
            match=r"columns=\{'text': 'NAME'\}\. If these are no names, write a line of names, "
            r"such as id and text, above them$",
        ) as refused,
        attempt(),
    ):
        ingest("table", [path], tmp_path / "out")
    assert str(path) in str(refused.value)
    assert len(str(refused.value)) <= LONGEST_MESSAGE
    assert len(str(BadInput("x" * 10**6))) <= LONGEST_MESSAGE


def lines(path):
    path.write_text('{"id": "1", "text": "one"}\n{"id": "2", "text": "two"}\n')
    return path


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize(
    ("source", "out", "said"),
    [
        ("data/a.jsonl", "data/a.jsonl", "is the input"),
        ("data/a.jsonl", "data", "holds the input"),
        ("data", "data", "is the input"),
        ("data", "data/../linked", "is the input"),
    ],
)
def test_an_output_that_is_an_input_is_refused_and_force_is_no_remedy(
    tmp_path, monkeypatch, capsys, force, source, out, said
):
    (tmp_path / "data").mkdir()
    kept = lines(tmp_path / "data" / "a.jsonl").read_text()
    (tmp_path / "data" / "a.md").write_text("a")
    (tmp_path / "linked").symlink_to(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    verb = "table" if source.endswith("jsonl") else "folder"
    given = ["--root", "root", "data", "ingest", verb, source, "--out", out, *force]
    with attempt() as seen:
        code = seen.code(run(cli, given))
    message = capsys.readouterr().err
    assert (code, said in message, "--force" in message) in ((3, True, False), (2, False, False))
    if code == 3:
        assert "Name a place apart from it" in message
    assert (tmp_path / "data" / "a.jsonl").read_text() == kept


def test_an_output_in_a_folder_that_is_read_is_no_part_of_it(tmp_path, monkeypatch, capsys):
    (tmp_path / "a.md").write_text("# A\n\none [two](b.md)")
    (tmp_path / "b.md").write_text("# B\n\ntwo")
    monkeypatch.chdir(tmp_path)
    keys = []
    for name in ("corpus", "again"):
        assert (
            run(cli, ["--root", "root", "--json", "data", "ingest", "folder", ".", "--out", name])
            == 0
        )
        keys.append(json.loads(capsys.readouterr().out)["key"])
        assert len(open_collection(Path(name)).documents.collect()) == 2
    assert keys[0] == keys[1]


def test_an_artefact_is_not_replaced_by_what_is_made_of_it(tmp_path, monkeypatch, capsys):
    pytest.importorskip("ssi_core.guests", reason="no verb of a guest is here")
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "a.jsonl")
    corpus = ingest("table", [tmp_path / "a.jsonl"], tmp_path / "corpus")
    given = ["--root", "root", "rank", "summary", "concepts", "corpus", "--out", "corpus"]
    with attempt() as seen:
        assert seen.code(run(cli, given)) == 3
    assert "corpus: the output is the input corpus" in capsys.readouterr().err
    assert len(open_collection(corpus.path).documents.collect()) == 2


def test_the_store_does_not_replace_what_an_artefact_is_made_from(tmp_path):
    corpus = ingest("table", [lines(tmp_path / "a.jsonl")], tmp_path / "corpus")
    given = {"out": corpus.path, "force": True, "data": True}
    with pytest.raises(BadInput, match="the output is an input"), attempt():
        store.open_or_make("task", {}, {"corpus": corpus.key}, lambda building: None, **given)


def verbs(group=cli, names=()):
    """All verbs that write to a place and read from another, by their names."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from verbs(command, (*names, name))
            continue
        outputs = [one for one in command.params if one.name in OUTPUTS]
        inputs = [one for one in command.params if one not in outputs and is_path(one)]
        if outputs and inputs:
            yield pytest.param(command, outputs, inputs, id=" ".join((*names, name)))


def is_path(param):
    return param.name != "root" and isinstance(param.type, click.Path)


@pytest.mark.parametrize(("command", "outputs", "inputs"), list(verbs()))
def test_no_verb_writes_to_what_it_reads(command, outputs, inputs, tmp_path):
    """And none says that --force would."""
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "inner").touch()
    replaces = any(param.name == "force" for param in command.params)
    for out in outputs:
        for source in inputs:
            for name in ("place", "place/inner") if replaces else ("place",):
                context = click.Context(command)
                context.params = {out.name: tmp_path / "place", source.name: tmp_path / name}
                with pytest.raises(BadInput, match="Name a place apart") as refused, attempt():
                    refuse_outputs(command, context)
                assert "--force" not in str(refused.value)


def test_all_messages_are_cut(tmp_path):
    for kind in (BadInput, Refused, Inapplicable):
        text = str(kind(f"{tmp_path}: {'x' * 10**6}. Do that."))
        assert text.startswith(str(tmp_path))
        assert text.endswith("Do that.")
        assert len(text) <= LONGEST_MESSAGE
