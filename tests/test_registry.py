"""What other packages add is found, and what they do not have is not loaded."""

import os
import subprocess
import sys

import pytest

import ssi_core as ssi
from ssi_core.command.library import library
from ssi_core.command.verb import run
from ssi_core.models import MODELS
from ssi_core.registry import Registry
from ssi_core.types import BadInput
from tests.extensions import install

TEXTS = [f"car{n} moon{n} car" for n in range(30)]


@pytest.fixture
def package(tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "root"))
    install(tmp_path / "site", monkeypatch)
    return tmp_path


def test_a_package_adds_a_model_and_a_source(package):
    (package / "poems.lines").write_text("\n".join(TEXTS))
    documents = ssi.read(package / "poems.lines")
    assert documents.frame["text"].to_list() == TEXTS
    task = ssi.Task.of(documents, relevant="self", queries="words:1", views=["counts"])
    fitted = ssi.Ranker("lengths", factor=2.0).fit(task)
    fitted.save(package / "model")
    index = ssi.load(package / "model").index(documents)
    assert [hit.score for hit in index.search("car", k=2)] == [2.0, 2.0]


def test_a_package_adds_a_measure_that_reports_have(package):
    points = next((package / "site").glob("*/entry_points.txt"))
    points.write_text(f"{points.read_text()}measures.map = a_package_of_a_test:FIRST\n")
    code = f"""
import ssi_core as ssi
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.measures import MEASURES
assert MEASURES["map"].name == "map"
task = ssi.Task.of(ssi.read({TEXTS}), relevant="self", queries="words:1", views=["counts"])
report = evaluate(ssi.Ranker("tfidf", view="counts").fit(task).fitted_, task.data)
first, hits = (report.per_query[name].to_numpy() for name in ("first", "p_at_1"))
assert abs(report.means["first"] - first.mean()) < 1e-12
assert 0 < first.sum() == hits.sum()
"""
    path = {**os.environ, "PYTHONPATH": str(package / "site")}
    subprocess.run([sys.executable, "-c", code], check=True, env=path)


def test_the_command_has_what_a_package_adds(package, capsys):
    (package / "poems.lines").write_text("\n".join(TEXTS))
    code = run(library, ["data", "ingest", "lines", str(package / "poems.lines"), "--json"])
    assert (code, '"documents": 30' in capsys.readouterr().out) == (0, True)
    assert run(library, ["hello"]) == 0
    assert capsys.readouterr().out == "hello, world\n"
    assert run(library, ["--help"]) == 0
    assert "hello    Greet." in capsys.readouterr().out


def test_an_object_is_a_model_but_is_not_loaded_without_its_name(package, monkeypatch):
    model = MODELS["lengths"](factor=3.0)
    documents = ssi.read(TEXTS)
    task = ssi.Task.of(documents, relevant="self", queries="words:1", views=["counts"])
    ranker = ssi.Ranker(model).fit(task)
    assert ranker.ranker() is model
    ranker.save(package / "model")
    monkeypatch.setattr("ssi_core.registry._added", dict)
    with pytest.raises(BadInput, match="entry point of the group 'ssi'"):
        ssi.load(package / "model")


def test_a_name_of_the_core_stays_its_own(tmp_path, monkeypatch):
    install(tmp_path / "site", monkeypatch, points={"models.tfidf": "a_package_of_a_test:Lengths"})
    assert MODELS["tfidf"].__module__ == "ssi_core.models.tfidf"
    assert "tfidf" not in MODELS.added


def test_an_entry_point_that_cannot_be_loaded_is_named(tmp_path, monkeypatch):
    install(tmp_path / "site", monkeypatch, points={"models.gone": "a_package_of_a_test:Gone"})
    with pytest.raises(
        ImportError, match=r"models\.gone = 'a_package.*group 'ssi': .*Gone.*Repair"
    ):
        MODELS["gone"]


def test_nothing_is_loaded_before_it_is_asked_for():
    code = """
import sys
from ssi_core.models import MODELS
assert "bm25" in MODELS and len(MODELS) >= 20, list(MODELS)
assert "ssi_core.models.bm25" not in sys.modules
MODELS["bm25"]
assert "ssi_core.models.bm25" in sys.modules
assert "ssi_core.models.latent.lsi" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_registry_without_additions_is_what_it_was_given():
    names = Registry("of a test", {"b": "math:pi", "a": "math:tau"})
    assert list(names) == ["b", "a"]
    assert names["a"] == pytest.approx(6.283, abs=0.001)
    assert ("c" in names, names.get("c")) == (False, None)
