"""``ssi fit --export``: what it writes is what the export of the index in Python writes."""

import polars as pl
import pytest

import ssi_core as ssi
from ssi_core.command.failures import DONE, REFUSED, USAGE
from ssi_core.command.library import library
from ssi_core.command.verb import run
from ssi_core.guests.export.encoder import Encoder
from ssi_core.sample.shop import write_shop
from ssi_core.serving.searcher import open_searcher
from tests.sources import needs_logs

pytestmark = pytest.mark.trains


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A made-up shop with the log of its search."""
    path = tmp_path_factory.mktemp("shop")
    write_shop(path, products=300, visits=1000)
    return path


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "texts.jsonl"
    pl.DataFrame({"text": [f"{w} {n}" for n in range(40) for w in ("car", "moon")]}).write_ndjson(
        path
    )
    return path


def test_fit_exports_what_the_index_in_python_exports(table, call, tmp_path):
    words = ("--defaults", "--budget", 2000, "--out", tmp_path / "model")
    code, value = call(table, *words, "--export", "opensearch", tmp_path / "export")
    assert (code, value["exports"][0]["counts"]["documents"]) == (DONE, 80)

    index = ssi.load(tmp_path / "model").index(value["collection"])
    by_hand = index.export("opensearch", tmp_path / "by-hand")
    lines = [path / "bulk" / "00001.ndjson" for path in (by_hand.path, tmp_path / "export")]
    assert lines[0].read_bytes() == lines[1].read_bytes()


def test_an_unknown_engine_is_refused_before_anything_is_read(table, call, tmp_path):
    code, value = call(table, "--out", tmp_path / "model", "--export", "solr", "out")
    assert (code, "solr" in value["error"]["message"]) == (USAGE, True)
    assert not (tmp_path / "model").exists()


@needs_logs
def test_what_visitors_did_becomes_a_ranking_of_an_engine(shop, call, tmp_path, capsys):
    words = (shop / "ubi", "--texts", shop / "products.jsonl", "--out", tmp_path / "model")
    targets = ("--export", "opensearch", tmp_path / "os", "--export", "lucene", tmp_path / "luc")
    small = ("--budget", 40_000, "--measure", "mrr")
    code, value = call(*words, *small, *targets)

    assert code == DONE
    assert value["reason"].startswith("Chosen: ")
    assert list(value["measures"][0])[1] == "mrr"
    assert value["auto"]["measure"] == "mrr"
    assert set(value["cpu_seconds"]) == {"read", "task", "fit", "compare"}
    assert [one["counts"]["documents"] for one in value["exports"]] == [300, 300]
    # The log names its products by ids; their titles come from the table.
    products = pl.read_ndjson(shop / "products.jsonl").to_dicts()
    title = products[7]["title"]
    hits = open_searcher(tmp_path / "model").search([title], 10)[0].hits
    assert {hit.title for hit in hits} <= {product["title"] for product in products}
    body = Encoder(tmp_path / "os" / "encoder.json").query(title, 3)
    assert body["query"]["neural_sparse"]["ssi"]["query_tokens"]

    # Another model takes the place of the first one; exports only where that is asked for.
    code, value = call(*words, "--defaults", "--budget", 20_000, *targets)
    assert (code, "--force" in value["error"]["message"]) == (REFUSED, True)
    assert run(library, ["fit", *map(str, [*words, "--defaults", "--budget", 20_000, *targets]),
                         "--force"]) == DONE  # fmt: skip
    printed = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in printed if str(tmp_path) not in line) <= 80


def test_what_is_in_the_way_is_refused_before_the_training(table, call, tmp_path, monkeypatch):
    def trained(*_, **__):
        raise AssertionError("it was trained")

    lucene, mine, model = tmp_path / "lucene", tmp_path / "mine", tmp_path / "model"
    words = (table, "--defaults", "--budget", 2000, "--out", model)
    assert call(*words, "--export", "lucene", lucene)[0] == DONE
    mine.mkdir()
    (mine / "notes.txt").write_text("mine")
    monkeypatch.setattr("ssi_core.face.fit.fit", trained)
    for places, code, said in (
        (["--out", mine], REFUSED, "holds no model"),
        (["--out", model, "--export", "qdrant", mine], REFUSED, "is not an artefact of ssi"),
        (["--out", model, "--export", "qdrant", mine, "--force"], REFUSED, "is not an artefact"),
        (["--out", model, "--export", "qdrant", lucene], REFUSED, "none to qdrant. Type --force"),
        (["--out", model, "--export", "qdrant", model], USAGE, "a directory of their own"),
    ):
        done, value = call(table, *places)
        assert (done, said in value["error"]["message"]) == (code, True), places


def test_an_export_that_is_refused_after_the_training_says_where_the_model_is(
    table, call, tmp_path
):
    words = (table, "--defaults", "--budget", 2000, "--out", tmp_path / "model")
    assert call(*words, "--export", "lucene", tmp_path / "lucene")[0] == DONE
    table.write_text(table.read_text() + '{"text": "a car of the moon"}\n')
    code, value = call(*words, "--export", "lucene", tmp_path / "lucene")
    assert code == REFUSED
    assert value["error"]["message"].endswith(f"The model is in {tmp_path / 'model'} already.")
