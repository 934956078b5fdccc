"""``ssi export``, and its door in Python."""

import json

import pytest
from click import Choice

import ssi_core as ssi
from ssi_core.command.failures import BAD_INPUT, DONE, USAGE
from ssi_core.command.library import library
from ssi_core.command.verb import run
from ssi_core.guests.export import commands
from ssi_core.guests.export.commands import export
from ssi_core.guests.export.encoder import Encoder
from ssi_core.guests.export.exporting import MARGIN
from ssi_core.registry import TARGETS
from ssi_core.serving.index import build_index
from tests.extensions import TARGET, install


@pytest.fixture
def model(models, task, tmp_path):
    """A model directory with its index."""
    path = tmp_path / "model"
    models["U'V + D"].save(path)
    build_index(models["U'V + D"], task.documents, path / "index", parents={})
    return path


@pytest.fixture
def call(capsys, tmp_path):
    def called(*words):
        code = run(library, ["export", *map(str, words), "--json", "--root", str(tmp_path)])
        return code, json.loads(capsys.readouterr().out)

    return called


def test_the_verb_knows_every_target_and_has_the_defaults_of_the_export():
    options = {option.name: option for option in export.params}
    assert isinstance(options["to"].type, Choice)
    assert list(options["to"].type.choices) == list(TARGETS)
    (settings,) = export.settings
    assert settings.margin == MARGIN


def test_a_model_is_exported_with_its_own_index(model, call, tmp_path, task):
    code, value = call(model, "--to", "opensearch", "--out", tmp_path / "out")

    assert code == DONE
    assert value["counts"]["documents"] == len(task.documents)
    assert value["counts"]["words_of_negative_weight"] > 0
    body = Encoder(tmp_path / "out" / "encoder.json").query("music1", 3)
    assert body["size"] == 3
    assert "music1" in body["query"]["neural_sparse"]["ssi"]["query_tokens"]


@pytest.mark.parametrize("named", ["", "--index", "--documents"])
def test_a_model_gets_an_index_of_its_own_only_where_no_documents_are_named(
    named, model, call, tmp_path, corpus_dir, monkeypatch
):
    asked = []
    for name in ("searchable", "directory_of"):
        known = getattr(commands, name)
        monkeypatch.setattr(
            commands, name, lambda model, name=name, known=known: asked.append(name) or known(model)
        )
    other = {"": [], "--index": [model / "index"], "--documents": [corpus_dir]}[named]
    words = [named, *other] if named else []
    assert call(model, *words, "--to", "opensearch", "--out", tmp_path / "out")[0] == DONE
    assert asked == ["directory_of" if named else "searchable"]


def test_new_documents_are_added_to_a_former_export(model, call, tmp_path, corpus_dir):
    call(model, "--to", "elasticsearch", "--out", tmp_path / "old")
    words = ("--documents", corpus_dir, "--bounds", tmp_path / "old", "--to", "elasticsearch")
    code, value = call(model, *words, "--out", tmp_path / "new")

    assert code == DONE
    # The same documents, read anew, are within the bounds and have the same weights.
    assert value["counts"]["clipped"] == 0
    old, new = ((tmp_path / n / "bulk" / "00001.ndjson").read_text() for n in ("old", "new"))
    assert old == new


def test_an_encoder_that_cannot_be_is_said(models, task, tmp_path, call):
    from tests.serving.models import documents, random_models

    fitted = next(one for one in random_models(0) if one.model.name == "query_expansion")
    fitted.save(tmp_path / "model")
    texts = documents(dict(fitted.document_views))
    build_index(fitted, texts, tmp_path / "model" / "index", parents={})
    code, value = call(tmp_path / "model", "--to", "lucene", "--out", tmp_path / "out")

    assert code == DONE
    assert "not a function of its words alone" in value["skipped"]["encoder"]
    assert not (tmp_path / "out" / "encoder.json").exists()


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["--to", "solr"], USAGE, "solr"),
        (["--to", "lucene", "--index", "{model}/index", "--documents", "{model}"], USAGE, "one of"),
        (["--to", "lucene", "--bounds", "{model}"], BAD_INPUT, "holds a model, and no export"),
        (["--to", "lucene", "--index", "{model}"], BAD_INPUT, "ssi data index"),
    ],
)
def test_wrong_use_is_explained(model, call, tmp_path, words, code, why):
    words = [word.format(model=model) for word in words]
    found, value = call(model, *words, "--out", tmp_path / "out")

    assert found == code
    assert why in value["error"]["message"]


@pytest.fixture
def index(tmp_path, monkeypatch):
    """An index of 80 documents, in Python."""
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    texts = [f"{word} {n} {n % 7}" for n in range(40) for word in ("car", "moon")]
    docs = ssi.read(texts, links=[(n, (n + k) % 80) for n in range(80) for k in (2, 4)])
    return ssi.BM25().fit(ssi.Task.of(docs)).index(docs)


def test_an_index_in_python_is_exported_and_encodes_queries(index, tmp_path):
    exported = index.export("opensearch", tmp_path / "out")

    assert repr(exported) == f"Export of 80 documents, {tmp_path / 'out'}"
    body = exported.query("moon 7", 3)
    ours = Encoder(exported.path / "encoder.json").query("moon 7", 3)
    assert body["query"]["neural_sparse"]["ssi"]["query_tokens"].keys() == {"moon", "7"}
    assert body.keys() == ours.keys()
    with pytest.raises(ssi.BadInput, match="Known: opensearch"):
        index.export("solr", tmp_path / "solr")


def test_a_misspelt_engine_is_answered_with_the_nearest(index, tmp_path):
    with pytest.raises(ssi.BadInput, match=r"Did you mean 'opensearch'\?"):
        index.export("opensaerch", tmp_path / "out")


def test_an_export_may_lie_in_the_home_directory(index, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert index.export("opensearch", "~/export").path == tmp_path / "export"


def test_a_package_adds_a_target(index, tmp_path, monkeypatch):
    points = {"targets.ids": "a_package_of_a_test:IDS"}
    install(tmp_path / "site", monkeypatch, code=TARGET, points=points)
    assert index.export("ids", tmp_path / "out").counts["ids"] == 80
