"""A source is a class and a line of the registry: a verb, a form and Python follow from it."""

import inspect
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import click
import pytest
from pydantic import ValidationError

import ssi_core
from flows.sources import settings_of
from ssi_core import collection
from ssi_core.command.fields import parameters
from ssi_core.command.ingest import ingest
from ssi_core.command.library import library
from ssi_core.command.verb import run
from ssi_core.corpus import user_texts
from ssi_core.corpus.source import Source, directory, files, option
from ssi_core.corpus.sources import SOURCES, source_named, source_of
from ssi_core.registry import load
from ssi_core.types import BadInput
from tests.datasets.dumps import real_data
from tests.sources import needs_logs


class Lines(Source):
    """Read a file with a document on each line.

    A line is a document, its number the id.
    """

    examples: ClassVar[tuple[str, ...]] = ("ssi data ingest lines poems.txt --out corpus",)

    paths: tuple[Path, ...] = files("FILE", "File of the lines", most=1)
    skip: int = option(0, "Lines at the beginning that are left out", "--skip-lines")

    def identity(self):
        """Return the settings that change what is written."""
        return {"source": "lines", "skip": self.skip}

    def build(self, building, progress=None):
        """Write the documents."""
        import polars as pl

        (path,) = self.paths
        texts = path.read_text(encoding="utf-8").splitlines()[self.skip :]
        rows = pl.DataFrame({"id": [str(n) for n in range(len(texts))], "text": texts})
        user_texts.write_own(building, [rows], [], where=path)


@pytest.fixture
def poems(tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "root"))
    monkeypatch.setitem(sys.modules, "poetry_of_a_test", SimpleNamespace(Lines=Lines))
    lines = {"sources": {**SOURCES.added, "lines": "poetry_of_a_test:Lines"}}
    monkeypatch.setattr("ssi_core.registry._added", lambda: lines)
    path = tmp_path / "poems.txt"
    path.write_text("Poems\nan old car\nthe moon\n")
    return path


def test_a_line_of_the_registry_gives_a_verb(poems, tmp_path, capsys):
    assert run(library, ["data", "ingest", "lines", "--help"]) == 0
    told = capsys.readouterr().out
    assert "A line is a document, its number the id." in told
    assert "Examples:\n  ssi data ingest lines poems.txt --out corpus" in told
    assert "--skip-lines N" in told
    out = tmp_path / "corpus"
    assert (
        run(
            library, ["data", "ingest", "lines", str(poems), "--skip-lines", "1", "--out", str(out)]
        )
        == 0
    )
    assert collection.open_collection(out).documents.collect()["text"].to_list() == [
        "an old car",
        "the moon",
    ]


def test_it_gives_the_form_of_the_flow_and_a_source_in_python(poems, monkeypatch):
    only = {name: SOURCES[name] for name in ("lines",)}
    monkeypatch.setattr("flows.sources.SOURCES", only)
    form = settings_of("ingest", "lines")
    shown = form.model_json_schema()["properties"]
    assert list(shown) == ["source", "paths", "skip", "out", "force"]
    assert shown["skip"]["description"] == "Lines at the beginning that are left out"
    chosen = form(paths=[str(poems)], skip=1).chosen()
    assert chosen == Lines(paths=(poems,), skip=1)
    with pytest.raises(BadInput, match="source 'lines': paths is missing"):
        form().chosen()
    documents = ssi_core.read(poems, source="lines", skip=1)
    assert documents.frame["text"].to_list() == ["an old car", "the moon"]
    assert documents.key == chosen.read().key
    with pytest.raises(BadInput, match=r"no setting 'leap'\. Known: paths, skip"):
        ssi_core.read(poems, source="lines", leap=2)


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_says_what_it_is_and_what_each_setting_means(name):
    source = source_named(name)
    assert source.__doc__ != Source.__doc__
    assert source.examples
    assert all(field.description for field in source.model_fields.values())
    assert not any(str(field.description).endswith(".") for field in source.model_fields.values())
    # What a help shows as an example can be typed.
    verb = ingest.get_command(None, name)
    for example in source.examples:
        words = example.split()
        assert words[:4] == ["ssi", "data", "ingest", name]
        verb.make_context(name, words[4:], resilient_parsing=True)


@needs_logs
def test_the_clicks_of_the_sample_are_a_source(tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    made = source_named("sample-clicks")(documents=40, seed=1, processes=1).fetched().read()
    assert made.counts["clicks"] > 0
    assert set(collection.open_collection(made.path).relations) == {"click"}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_has_something_that_builds_its_collection(name):
    source = source_named(name)
    if source.builder:
        taken = inspect.signature(load(source.builder)).parameters
        assert list(taken) == ["building", "source", "progress"]
    else:
        assert any(
            getattr(source, method) is not getattr(Source, method) for method in ("build", "read")
        )


def test_a_path_is_of_the_first_source_that_it_looks_like(poems, tmp_path, monkeypatch):
    monkeypatch.setattr(Lines, "looks_like", classmethod(lambda cls, path: path.stem == "poems"))
    beir, site = tmp_path / "beir", tmp_path / "site"
    for folder, name in ((beir, "corpus.jsonl.gz"), (site, "page.md")):
        folder.mkdir()
        (folder / name).write_bytes(b"")
    (tmp_path / "page.md").write_text("a page")
    names = {"a.jsonl.gz": "table", "b.parquet": "table", "simple.xml.bz2": "wikipedia"}
    assert {name: source_of(tmp_path / name) for name in names} == names
    assert (source_of(beir), source_of(site)) == ("beir", "folder")
    assert source_of(tmp_path / "poems.md") == "lines"
    with pytest.raises(BadInput, match=r"page\.md: its name does not say"):
        source_of(tmp_path / "page.md")
    with pytest.raises(BadInput, match=r"absent: there is no such file"):
        source_of(tmp_path / "absent")


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("wikispeedia", "wikispeedia"),
        ("ir-test-collections/cisi", "collection"),
        ("kyoto-ja-en", "kyoto"),
    ],
)
def test_a_published_directory_is_known_by_what_it_holds(place, name):
    assert source_of(real_data(place)) == name


@needs_logs
def test_the_forms_share_out_the_sources():
    forms = [settings_of(flow, default) for flow, default in (
        ("ingest", "sample"), ("ingest-mates", "sample-mates"), ("ingest-clicks", "clicks"),
    )]  # fmt: skip
    named = [form.model_json_schema()["properties"]["source"]["enum"] for form in forms]
    assert sorted(name for names in named for name in names) == sorted(SOURCES)
    for form, names in zip(forms, named, strict=True):
        assert form.model_fields["source"].default == names[0]
        schema = form.model_json_schema()["properties"]
        assert all(field.get("description") for field in schema.values())
    seed = forms[0].model_json_schema()["properties"]["seed"]
    assert (seed["minimum"], seed["default"]) == (0, 0)


def test_a_setting_of_another_source_is_refused_not_ignored():
    form = settings_of("ingest", "sample")
    with pytest.raises(BadInput, match="'wikispeedia': no setting 'topics'"):
        form(source="wikispeedia", paths=["games"], topics="topics.txt").chosen()


class _Fields(Source):
    """Fields of each kind."""

    paths: tuple[Path, ...] = directory("A directory")
    kinds: tuple[str, ...] = option((), "Kinds", "--kind")
    two: tuple[Path, Path] | None = option(None, "Two", "--two", "A B")
    names: dict[str, str] = option({}, "Names", "--name", "ROLE=NAME")
    some: dict[str, str] = option({}, "Names, or none", "--some", "ROLE=[NAME]")
    share: float = 0.5


def test_each_kind_of_field_is_read_as_its_class_takes_it():
    command = click.Command("x", params=list(parameters(_Fields)))
    words = [
        "in",
        "--kind",
        "a",
        "--kind",
        "b",
        "--two",
        "p",
        "q",
        "--name",
        "id=nr",
        "--share",
        "0.1",
    ]
    read = command.make_context("x", words).params
    assert _Fields(**read) == _Fields(
        paths=("in",), kinds=("a", "b"), two=("p", "q"), names={"id": "nr"}, share=0.1
    )
    said = r"'id' is not ROLE=NAME\. Type: --name id=NAME"
    for words in (["--name", "id"], ["--name", "id="]):
        with pytest.raises(click.BadParameter, match=said):
            command.make_context("x", ["in", *words])
    assert command.make_context("x", ["in", "--some", "id="]).params["some"] == {"id": ""}
    for words in (["--some", "id"], ["--some", "=x"]):
        with pytest.raises(click.BadParameter, match=r"is not ROLE=\[NAME\]. Type: --some"):
            command.make_context("x", ["in", *words])


@needs_logs
def test_a_paragraph_of_a_map_is_shown_line_by_line(capsys):
    assert run(library, ["data", "ingest", "clicks", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "    [columns]" in lines
    assert not [line for line in lines if "\\b" in line]


@needs_logs
def test_one_name_may_be_a_number_in_one_source_and_a_path_in_another():
    settings = settings_of("ingest-clicks", "clicks")
    assert settings(source="sample-clicks", documents=2000).chosen().documents == 2000
    given = {"source": "clicks", "paths": ["log.csv"], "map": "map.toml"}
    assert settings(**given, documents="ads.tsv").chosen().documents == Path("ads.tsv")


def test_a_source_takes_as_many_files_as_it_says():
    class Two(Source):
        paths: tuple[Path, ...] = files("FILES", "Files", most=2)

    class Any(Source):
        paths: tuple[Path, ...] = files("FILES", "Files", least=0)

    assert Any().paths == ()
    assert Any(paths=["a", "b", "c"]).paths == (Path("a"), Path("b"), Path("c"))
    assert Two(paths="a").paths == (Path("a"),)
    for wrong in ({}, {"paths": []}, {"paths": ["a", "b", "c"]}):
        with pytest.raises(ValidationError, match="paths"):
            Two(**wrong)
