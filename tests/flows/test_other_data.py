"""A model on data that it was not trained on: figures that mean something, or a refusal."""

import gzip
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.other_data import matrix, table
from flows import tracking
from flows.cli import cli
from ssi_core.command.verb import run
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.significance import holm, paired_randomisation
from ssi_core.evaluation.slices import by_value
from ssi_core.guests.click_logs.rules import Rules
from ssi_core.models import load_model
from ssi_core.models.bm25 import Bm25
from ssi_core.models.tfidf import TfIdf
from ssi_core.store import read
from ssi_core.tasks.other_data import texts_for
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput
from tests.corpora import judged_pairs, topical, write_collection, write_corpus, write_mates
from tests.guests.click_logs import logs
from tests.seals import reseal

pytestmark = pytest.mark.usefixtures("own_root")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Data of each kind, two of which are in a language that the others are not in."""
    path = tmp_path_factory.mktemp("data")
    write_corpus(path / "corpus", *topical())
    write_corpus(path / "foreign", *topical(), language="de")
    write_corpus(path / "unlinked", topical()[0], [])
    write_collection(path / "collection")
    write_mates(path / "mates")
    for name, seed in (("clicks", 0), ("later", 1)):
        log = logs.write_csv(path / f"{name}.csv", logs.rows(900, seed))
        logs.ingest([log], logs.form(), path / name, rules=Rules("all"))
    return path


@pytest.fixture(scope="module")
def models(data):
    """TF-IDF of a corpus, of clicks, of mates whose queries are translated, of a collection."""
    build_task(data / "corpus", data / "corpus-task")
    build_task(data / "clicks", data / "clicks-task", relevant="click")

    how = {"relevant": "translation", "views": ("raw", "dictionary.raw")}
    build_task(data / "mates", data / "mates-task", **how)
    build_task(data / "collection", data / "collection-task", relevant="judgement")
    places = {}
    for name, view in (
        ("corpus", "raw"),
        ("clicks", "raw"),
        ("mates", "dictionary.raw"),
        ("collection", "raw"),
    ):
        opened = open_task(data / f"{name}-task")
        places[name] = data / f"{name}-model"
        TfIdf(view=view).fit(opened, np.random.default_rng(0)).save(places[name])
    return places


SENSIBLE = {
    ("corpus", "corpus"), ("corpus", "collection"),
    ("collection", "corpus"), ("collection", "collection"),
    ("clicks", "clicks"), ("clicks", "later"),
    ("mates", "mates"),
}  # fmt: skip
REFUSED = {
    ("corpus", "foreign"): "documents|queries are in 'de'",
    ("corpus", "unlinked"): "neither links nor clicks",
    ("corpus", "mates"): "queries are in 'eo', and this model reads queries in 'en'",
    ("corpus", "clicks"): "of the words of the (queries|documents) are unknown",
    ("clicks", "corpus"): "of the words of the (queries|documents) are unknown",
    ("clicks", "mates"): "queries are in 'eo'",
    ("mates", "corpus"): "queries are in 'en', and this model reads queries in 'eo'",
    ("mates", "clicks"): "queries are in 'en'",
    ("mates", "collection"): "queries are in 'en'",
    ("collection", "mates"): "queries are in 'eo'",
}


def test_each_cell_has_sensible_figures_or_a_refusal_with_a_remedy(data, models):
    names = ("corpus", "foreign", "unlinked", "collection", "clicks", "later", "mates")
    places = {name: data / name for name in names}
    rows = matrix({name: str(place) for name, place in models.items()}, places, 100)
    cells = {(row["model"], row["data"]): row for row in rows}
    assert len(cells) == len(models) * len(names)
    for cell in SENSIBLE:
        # Chance is one half; pages and ads of these logs share no word, so that TF-IDF is chance.
        least = 0.52 if cell[0] == "clicks" else 0.4
        assert cells[cell]["measures"]["rank_loss"]["mean"] < least, cell
        # What the dictionary of the mates lacks is two words of five.
        assert max(cells[cell]["unknown_words"].values()) < 0.6
    for cell, message in REFUSED.items():
        assert re.search(message, cells[cell]["refused"]), cell
    assert all("refused" in row for cell, row in cells.items() if cell not in SENSIBLE)


def test_a_model_is_tested_against_the_tfidf_of_its_words_query_by_query(data, models, tmp_path):
    opened = open_task(data / "corpus-task")
    Bm25().fit(opened, np.random.default_rng(0)).save(tmp_path / "bm25")
    places = {"TF-IDF": models["corpus"], "BM25": tmp_path / "bm25", "twin": models["corpus"]}
    labels = {f"corpus, {name}": str(place) for name, place in places.items()}
    on = {name: data / name for name in ("corpus", "collection", "foreign")}
    rows = {(row["model"], row["data"]): row for row in matrix(labels, on, 100)}
    values = {
        label: evaluate(load_model(Path(path)), task, queries=100, tuples=0).per_query["map"]
        for label, path in labels.items()
        for task in [texts_for(load_model(Path(path)), on["collection"], queries=100).task]
    }
    p = paired_randomisation(values["corpus, BM25"], values["corpus, TF-IDF"])
    bm25 = rows["corpus, BM25", "collection"]["tests"]["map"]
    assert bm25["p"] == p
    gain = (values["corpus, BM25"] - values["corpus, TF-IDF"]).mean()
    assert bm25["difference"] == pytest.approx(gain)
    other = rows["corpus, BM25", "corpus"]["tests"]["map"]["p"]
    adjusted = [rows["corpus, BM25", name]["tests"]["map"]["p_adjusted"] for name in list(on)[:2]]
    assert adjusted == holm([other, p]).tolist(), "a twin is no test, nor is what is refused"
    assert rows["corpus, twin", "collection"]["tests"]["map"]["p"] == 1
    assert "tests" not in rows["corpus, TF-IDF", "collection"]
    assert "tests" not in rows["corpus, BM25", "foreign"]

    tests = {"map": {"p_adjusted": 0.01, "difference": -0.1}}
    tests["rank_loss"] = {"p_adjusted": 0.01, "difference": -0.1}
    shown = [row | {"tests": tests} for row in rows.values()]
    cells = [line.split(" | ") for line in table(shown)]
    assert {(one[6][:2], one[8][:2]) for one in cells} == {("* ", "° ")}
    assert not any(sign in one[position] for one in cells for sign in "*°" for position in (5, 7))


def test_by_language_and_by_a_column_of_documents(data, models, ssi, capsys):
    how = ("lab", "evaluate", models["mates"], "--on", data / "mates", "--relevant", "translation")
    code, value, _ = ssi(*how, "--by", "language")
    assert code == 0
    assert value["by"]["column"] == "language"
    (own,) = value["by"]["values"].values()
    metrics = value["metrics"]
    for name in ("rank_loss", "map", "mrr", "ndcg_at_10"):
        assert own[name] == pytest.approx(metrics[f"test/{name}"])
        assert own[f"{name}_se"] == pytest.approx(metrics[f"test/{name}_se"])
    assert set(value["unknown_words"]) == {"queries", "documents"}
    # The mates of a query of which one is relevant, all others are candidates.
    assert own["candidates"] == 200

    code, value, _ = ssi(*how, "--by", "colour")
    assert code == 3
    assert "it has: language, document.language" in value["error"]["message"]


def test_a_table_of_values_fits_a_terminal(data, models, tmp_path, capsys):
    corpus = write_corpus(tmp_path / "corpus", *topical())
    rows = [(f"d{i}", "category", f"{'a long category' * 3} {i % 8}") for i in range(200)]
    (corpus / "labels").mkdir()
    labels = pl.DataFrame(rows, schema=["id", "column", "value"], orient="row")
    labels.write_parquet(corpus / "labels" / "part-00000.parquet")
    reseal(corpus)
    arguments = ["lab", "evaluate", models["corpus"], "--on", corpus, "--by", "category"]
    assert run(cli, list(map(str, arguments))) == 0
    printed = capsys.readouterr().out
    table = printed[printed.index("by category") :].splitlines()
    assert sum("±" in line for line in table) == 8
    assert max(map(len, table)) <= 80


def test_where_most_words_are_unknown_a_warning_says_so(data, models, tmp_path, ssi):
    texts, links = topical()
    mixed = [f"{text} " + " ".join(["unheard"] * 100) for text in texts]
    code, value, log = ssi("lab", "evaluate", models["corpus"], "--on",
                           write_corpus(tmp_path / "mixed", mixed, links))  # fmt: skip
    assert code == 0
    assert 0.5 < value["unknown_words"]["queries"] < 0.9
    assert "of the words of the queries are unknown to this model" in log


def test_what_is_looked_for_must_be_there(data, models, ssi):
    how = (
        "lab",
        "evaluate",
        models["corpus"],
        "--on",
        data / "corpus",
        "--relevant",
        "translation",
    )
    code, value, _ = ssi(*how)
    assert code == 3
    assert "by 'translation'; it has 'link'" in value["error"]["message"]
    with pytest.raises(BadInput, match="holds a task, and no"):
        texts_for(None, data / "corpus-task")


def test_a_collection_writes_every_judgement(data, models, tmp_path, ssi):
    how = ("--on", data / "collection", "--out", tmp_path / "trec", "--by", "language")
    code, value, _ = ssi("lab", "evaluate", models["corpus"], *how)
    assert code == 0
    assert value["candidates"] == "all 200 documents"
    judgements = judged_pairs(data / "collection")
    lines = (tmp_path / "trec" / "qrels.trec").read_text().splitlines()
    assert len(lines) == len(judgements)
    ranking = (tmp_path / "trec" / "run.trec").read_text()
    assert len(ranking.splitlines()) == 24 * 200

    logged = tracking.client().get_run(value["run_id"])
    assert logged.info.status == "FINISHED"
    assert logged.data.params["by"] == "language"
    assert logged.data.params["collection"] == str(data / "collection")
    assert logged.data.tags["corpus"] == read(data / "collection").key
    assert (
        value["metrics"].items()
        <= {
            name.replace("_se/", "/") + "_se" * ("_se/" in name): number
            for name, number in logged.data.metrics.items()
        }.items()
    )
    assert logged.data.metrics["unknown/queries"] == value["unknown_words"]["queries"]
    report = tracking.run_report(value["run_id"])
    assert set(value["by"]["values"]) == set(by_value(report, "language"))
    for name in ("run.trec", "qrels.trec"):
        packed = tracking.client().download_artifacts(value["run_id"], f"{name}.gz", tmp_path)
        assert (
            gzip.decompress(Path(packed).read_bytes()).decode()
            == (tmp_path / "trec" / name).read_text()
        )


def test_what_is_refused_leaves_no_run(data, models, ssi):
    code, _, _ = ssi("lab", "evaluate", models["corpus"], "--on", data / "foreign")
    assert code == 3
    tracking.ready()
    assert tracking.client().get_experiment_by_name("evaluations") is None


def test_the_other_half_of_what_a_model_was_trained_on_is_as_easy(data, models):
    """A task of the same data and its raw texts give the same test pairs and the same measures."""
    fitted = load_model(models["corpus"])
    task, _ = texts_for(fitted, data / "corpus", queries=10**6)
    whole = evaluate(fitted, open_task(data / "corpus-task"), queries=10**6, tuples=0)
    assert evaluate(fitted, task, queries=10**6, tuples=0).means["map"] == pytest.approx(
        whole.means["map"], rel=1e-6
    )
