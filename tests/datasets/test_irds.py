"""Test collections by their name in ir_datasets, where the package is installed."""

import gzip
import re
import shlex
import sys

import pytest

from ssi_core.collection import open_collection
from ssi_core.command.library import library
from ssi_core.command.verb import run
from ssi_core.datasets.irds import IrDatasets
from ssi_core.tasks.spec import TaskSpec
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput
from tests.datasets.dumps import real_data
from tests.flows.pages import REPOSITORY
from tests.sources import ingest


def test_without_the_package_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(BadInput, match="pip install ir_datasets"):
        IrDatasets(name="cranfield").read()


@pytest.fixture
def catalogue(tmp_path, monkeypatch):
    """The package, with a set of three parts: small/train, small/dev and small/test."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "irds"))
    package = pytest.importorskip("ir_datasets")
    monkeypatch.setattr(package.registry, "_registered", dict(package.registry._registered))

    def file(name, text):
        path = tmp_path / "raw" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return package.util.LocalDownload(path)

    formats = package.formats
    texts = "".join(f"d{n}\tan old car number {n}\n" for n in range(6))
    docs = formats.TsvDocs(file("docs.tsv", texts), lang="en")
    package.registry.register("small", package.Dataset(docs))
    meaning = {0: "off the subject", 1: "on the subject", 2: "an answer"}
    for number, part in enumerate(("train", "dev", "test")):
        queries = formats.TsvQueries(file(f"{part}.tsv", f"q{number}\tcar {number}\n"))
        judged = f"q{number} 0 d{number} 2\nq{number} 0 d5 0\nq{number} 0 d4 -1\n"
        qrels = formats.TrecQrels(file(f"{part}.qrels", judged), meaning)
        package.registry.register(f"small/{part}", package.Dataset(docs, queries, qrels))
    return package


def test_a_set_keeps_the_sides_of_its_parts_and_the_scale_of_grades(catalogue, tmp_path):
    made = IrDatasets(name="small").read(out=tmp_path / "out")
    opened = open_collection(made.path)
    assert opened.frame("relations/judgement").rows() == [
        ("q0", "d0", 2, "train"), ("q0", "d5", 0, "train"),
        ("q1", "d1", 2, "valid"), ("q1", "d5", 0, "valid"),
        ("q2", "d2", 2, "test"), ("q2", "d5", 0, "test"),
    ]  # fmt: skip
    assert made.counts["grades"] == {
        "0": "off the subject", "1": "on the subject", "2": "an answer",
    }  # fmt: skip
    assert (made.counts["documents"], made.skipped["judgement_negative"]) == (6, 3)
    assert opened.documents.collect()["language"].unique().to_list() == ["en"]
    assert IrDatasets(name="small").read(out=tmp_path / "out") == made
    given = TaskSpec(relevant="judgement", split="given", words="all")
    task = open_task(build_task(made.path, tmp_path / "task", spec=given).path)
    sides = (task.train, task.valid, task.test)
    assert [{task.queries.ids[int(row)] for row in side.rows[:, 0]} for side in sides] == [
        {"q0"}, {"q1"}, {"q2"},
    ]  # fmt: skip


def test_parts_have_the_documents_of_a_set_that_is_none_by_itself(catalogue, tmp_path):
    known = catalogue.registry._registered
    for part in ("train", "dev", "test"):
        known[f"parts/{part}"] = known[f"small/{part}"]
    made = IrDatasets(name="parts").read(out=tmp_path / "out")
    assert (made.counts["documents"], made.counts["judgements"]) == (6, 6)


def test_a_part_by_itself_has_no_sides(catalogue, tmp_path):
    made = IrDatasets(name="small/test").read(out=tmp_path / "out")
    assert open_collection(made.path).frame("relations/judgement").columns == [
        "source", "target", "grade",
    ]  # fmt: skip


def test_the_command_of_the_page_runs_as_printed(catalogue, tmp_path, monkeypatch):
    text = (REPOSITORY / "docs" / "own-texts.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"`(ssi data ingest ir-datasets [^`]*)`", text)
    words = shlex.split(command)
    known = catalogue.registry._registered
    for part in ("", "/train", "/test"):
        known[f"{words[4]}{part}"] = known[f"small{part}"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    assert run(library, words[1:]) == 0
    assert open_collection(tmp_path / words[-1]).artefact.counts["judgements"] == 4


def test_what_is_absent_is_named_with_its_remedy(catalogue, tmp_path):
    with pytest.raises(BadInput, match="ir_datasets export cranfield docs"):
        IrDatasets(name="cranfield").read(out=tmp_path / "out")
    with pytest.raises(BadInput, match="gossip: the name is not in its catalogue"):
        IrDatasets(name="gossip").read()
    (tmp_path / "raw" / "docs.tsv").unlink()
    with pytest.raises(BadInput, match="small: its data are not in"):
        IrDatasets(name="small").read()


def test_cranfield_by_name_is_what_its_own_files_give(catalogue, tmp_path):
    source = real_data("ir-test-collections") / "cranfield"
    published = {"cran.all.1400": "docs", "cran.qry": "queries", "cranqrel": "qrels"}
    kinds = catalogue.datasets.cranfield
    local = {}
    for name, table in published.items():
        path = tmp_path / table
        path.write_bytes(gzip.decompress((source / f"{name}.gz").read_bytes()))
        local[table] = catalogue.util.LocalDownload(path)
    tables = (
        kinds.CranfieldDocs(local["docs"]),
        kinds.CranfieldQueries(local["queries"]),
        kinds.CranfieldQrels(local["qrels"]),
    )
    catalogue.registry.register("cranfield-here", catalogue.Dataset(*tables))
    made = IrDatasets(name="cranfield-here").read(out=tmp_path / "out")
    whole = ingest("collection", source, tmp_path / "whole")
    for name in ("documents", "queries", "judgements", "judgements_not_relevant"):
        assert made.counts[name] == whole.counts[name]
    assert _by_place(made) == _by_place(whole)


def _by_place(made):
    """Return judged pairs with queries by position; the catalogue numbers them otherwise."""
    opened = open_collection(made.path)
    places = {name: position for position, name in enumerate(opened.names("queries")["id"])}
    pairs = opened.frame("relations/judgement").select("source", "target").rows()
    return {(places[query], document) for query, document in pairs}
