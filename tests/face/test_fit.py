"""``ssi fit`` and `ssi_core.fit`: the ten lines of Python in one call."""

import dataclasses
import json
import logging
import shutil

import numpy as np
import polars as pl
import pytest

import ssi_core as ssi
from ssi_core.command.failures import BAD_INPUT, DONE, USAGE
from ssi_core.command.fit import fit as verb
from ssi_core.command.library import library
from ssi_core.command.verb import run
from ssi_core.face import fit_cache
from ssi_core.face.fit_tasks import search_task
from ssi_core.models.base import FittedModel
from ssi_core.models.bm25f import Bm25F
from ssi_core.models.choice.untrained import title
from ssi_core.sample.shop import write_shop
from ssi_core.tasks.kinds import fields_of
from ssi_core.tasks.pairs import joined
from ssi_core.tasks.spec import spec_of
from tests.corpora import topical, write_collection
from tests.sources import needs_logs

pytestmark = pytest.mark.trains
BUDGET = 12_000
CLOCKED = ("seconds", "search_seconds", "triples_per_second", "resumed_at")
"""Facts of a training that differ from run to run."""


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """200 documents on eight subjects and their links, as files."""
    path = tmp_path_factory.mktemp("topical")
    texts, links = topical()
    rows = [{"id": f"d{n}", "text": text} for n, text in enumerate(texts)]
    pl.DataFrame(rows).write_ndjson(path / "texts.jsonl")
    ends = [(f"d{source}", f"d{target}") for source, target in links]
    pl.DataFrame(ends, schema=["source", "target"], orient="row").write_csv(path / "links.csv")
    return path


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A root that keeps what `fitted` has trained."""
    return tmp_path_factory.mktemp("fitted") / "root"


@pytest.fixture(scope="module")
def fitted(files, root):
    """A fit of the documented defaults, for tests that do not change it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(root))
        return ssi.fit(files / "texts.jsonl", files / "links.csv", auto=False, budget=BUDGET)


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
    """A made-up shop with the log of its search."""
    place = tmp_path_factory.mktemp("shop")
    write_shop(place, products=300, visits=1000)
    return place


def contents(directory):
    """Files of a directory by name; a manifest without what follows from the clock."""
    files = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            name = str(path.relative_to(directory))
            files[name] = path.read_bytes()
            if name.endswith(("model.json", "artefact.json")):
                files[name] = timeless(json.loads(files[name]))
    return files


def timeless(value):
    """A manifest without seconds, and without the digest that they change."""
    if isinstance(value, dict):
        return {name: timeless(one) for name, one in value.items()
                if name not in (*CLOCKED, "digest", "sha256")}  # fmt: skip
    return [timeless(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("auto", [True, False])
def test_the_verb_gives_what_the_ten_lines_give(files, call, tmp_path, monkeypatch, auto):
    texts, links = files / "texts.jsonl", files / "links.csv"
    choice = "--auto" if auto else "--defaults"
    words = (texts, "--links", links, "--auxiliary", "words:3", choice, "--budget", BUDGET)
    code, value = call(*words, "--seed", 3, "--out", tmp_path / "model")
    assert code == DONE

    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "another"))
    docs = ssi.read(texts, links=links)
    task = ssi.Task.of(docs, relevant="link", auxiliary=["words:3"])
    model = ssi.SSI(auto=auto, budget=BUDGET, random_state=3).fit(task)
    bm25f = ssi.Ranker("bm25f", **vars(Bm25F.tuned(measure="map"))).fit(task)
    base = ssi.Ranker("untrained", measure="map").fit(task)
    baseline = title(base.fitted_.model)
    label = title(model.fitted_.model)
    rankers = {"BM25F": bm25f, baseline: base} | ({} if label == baseline else {label: model})
    measures = ["map", "ndcg_at_10", "mrr"]
    comparison = ssi.compare(rankers, task, measures=measures, baseline=baseline)
    model.save(tmp_path / "by-hand")
    model.index(docs, out=tmp_path / "by-hand" / "index")

    assert value["measures"] == json.loads(json.dumps(comparison.frame.to_dicts()))
    assert contents(tmp_path / "model") == contents(tmp_path / "by-hand")
    assert bool(value["auto"]) == auto
    assert value["choices"] == [model.fitted_.facts["choice"] if auto else repr(model)]


def test_related_documents_are_those_of_the_model_beside(fitted, tmp_path, capsys):
    def related(*words):
        code = run(library, ["related", *map(str, words), "--json"])
        return code, json.loads(capsys.readouterr().out)

    path = tmp_path / "model"
    index = fitted.save(path)
    capsys.readouterr()
    code, found = related(path, "d7", "-k", 4)
    expected = index.related("d7", k=4)
    assert (code, [hit["id"] for hit in found["results"]]) == (DONE, [hit.id for hit in expected])
    assert [hit["score"] for hit in found["results"]] == [hit.score for hit in expected]
    assert {"fields", "snippet", "url"} <= found["results"][0].keys()
    # The model that searches answers where it is asked with its index, or is alone.
    other = related(path, "d7", "-k", 4, "--index", path / "index")[1]
    assert other != found
    shutil.rmtree(path / "related")
    assert related(path, "d7", "-k", 4)[1] == other
    code, said = related(path, "no-such-document")
    assert (code, "ssi search MODEL TEXT" in said["error"]["message"]) == (BAD_INPUT, True)
    assert run(library, ["related", str(path), "d7", "-k", "1"]) == DONE
    assert other["results"][0]["title"] in capsys.readouterr().out


def test_the_same_call_in_python_trains_once(fitted, root, monkeypatch):
    first = fitted
    monkeypatch.setenv("SSI_ROOT", str(root))
    monkeypatch.setattr(ssi.SSI, "_fit", None)
    again = ssi.fit(first.documents, auto=False, budget=BUDGET)
    model, before = again.related.model, first.related.model
    np.testing.assert_array_equal(model.U_, before.U_)
    assert model.curve_.equals(before.curve_)
    assert model.reproducible_
    lines = str(again).splitlines()
    assert max(map(len, lines)) <= 80
    assert "the documented defaults" in str(again)
    assert "the documented defaults" in again._repr_html_()


def test_a_training_that_was_broken_off_goes_on(fitted, own_root, monkeypatch):
    fit = ssi.SSI._fit

    def broken(self, ranker, task, watch, threads, checkpoint=None):
        def until(step, metrics):
            watch(step, metrics)
            if step > 4000:
                raise OSError("no more power")

        return fit(self, ranker, task, until, threads, checkpoint)

    monkeypatch.setattr(ssi.SSI, "_fit", broken)
    small = ssi.SSI(budget=BUDGET, epoch=4000)
    with pytest.raises(OSError, match="power"):
        fit_cache.fit_once(small, fitted.task)
    (work,) = (own_root / ".ssi" / "store" / "fit").glob(".*.work")
    assert list((work / "training").iterdir())
    monkeypatch.undo()
    monkeypatch.setenv("SSI_ROOT", str(own_root))
    resumed = fit_cache.fit_once(ssi.SSI(budget=BUDGET, epoch=4000), fitted.task)
    assert resumed.fitted_.facts["resumed_at"] > 0
    at_once = ssi.SSI(budget=BUDGET, epoch=4000).fit(fitted.task)
    np.testing.assert_array_equal(resumed.U_, at_once.U_)


@needs_logs
def test_judgements_beside_the_clicks_are_the_test_where_that_is_said(shop):
    given = {"texts": shop / "products.jsonl", "auto": False, "budget": 2000}
    by_clicks = ssi.fit(shop / "ubi", **given)
    by_judges = ssi.fit(by_clicks.documents, judged=True, auto=False, budget=2000)
    candidates = [one.comparison.reports["SSI"][0].candidates for one in (by_clicks, by_judges)]
    assert candidates == ["all 300 documents", "the documents that were judged for the query"]
    judged = by_judges.task.pairs("train")["document"].is_in(
        by_judges.task.pairs("test")["document"].implode()
    )
    assert not judged.any()


@needs_logs
def test_clicks_that_weigh_by_their_position_are_learnt_against_what_was_shown(shop):
    fitted = ssi.fit(shop / "ubi", texts=shop / "products.jsonl", clicks="inverse", budget=60_000)
    assert fitted.task.data.train.weighing == "shown"
    trials = fitted.facts["trials"]
    assert trials
    assert {trial["settings"]["against"] for trial in trials} == {"shown"}


def test_a_task_is_taken_as_it_is(files, call, tmp_path):
    docs = ssi.read(files / "texts.jsonl", links=files / "links.csv")
    task = ssi.Task.of(docs, out=tmp_path / "task")
    small = ("--defaults", "--budget", 4000, "--out", tmp_path / "model")
    code, value = call(tmp_path / "task", *small)
    assert (code, value["task"], value["collection"]) == (DONE, str(tmp_path / "task"), None)
    of_task = contents(tmp_path / "model")
    code, value = call(docs.path, "--query-type", "link", *small)
    assert (code, value["task"]) == (DONE, str(ssi.Task.of(docs).path))
    of_texts = contents(tmp_path / "model")
    assert of_task["arrays/U.npy"] == of_texts["arrays/U.npy"]
    assert of_task["index/documents.parquet"] == of_texts["index/documents.parquet"]
    for words, why in (
        (
            (task.path, "--auxiliary", "titles"),
            "a task is made already. Leave out --auxiliary, or name the texts.",
        ),
        ((task.path, "--links", files / "links.csv"), "links go with files"),
    ):
        code, value = call(*words, *small)
        assert (code, why in value["error"]["message"]) == (BAD_INPUT, True), value


def test_queries_that_will_be_asked_are_those_of_the_task(files):
    fitted = ssi.fit(
        files / "texts.jsonl", files / "links.csv", ask="words:3", auxiliary=["link"], auto=False,
        budget=2000, split="queries",
    )  # fmt: skip
    spec = fitted.task.artefact.configuration
    assert (spec["relevant"], spec["queries"], spec["auxiliary"]) == ("self", "words:3", ["link"])


@pytest.mark.parametrize("kind", ["link", "link:3", "anchors", "titles", "words:12"])
def test_a_kind_of_query_is_that_of_its_task(kind):
    assert spec_of(**fields_of(kind)).kind == kind


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["--query-type", "translation"], BAD_INPUT, "in another language"),
        (["--query-type", "judgement"], BAD_INPUT, "judgement"),
        (
            ["--query-type", "link", "--split", "users"],
            USAGE,
            "--split users with relevant='link'",
        ),
        (["--set", "budget=3"], USAGE, "--set budget: no setting of a source"),
        (["--set", "clip=3", "--set", "clip=4"], USAGE, "there twice"),
    ],
)
def test_wrong_use_is_explained(files, call, tmp_path, words, code, why):
    words = [word.format(place=files) for word in words]
    links = ("--links", files / "links.csv")
    found, value = call(files / "texts.jsonl", *links, *words, "--out", tmp_path / "model")
    assert (found, why in value["error"]["message"]) == (code, True), value
    assert not (tmp_path / "model").exists()


def test_texts_without_titles_and_links_answer_their_own_words(files, call, tmp_path):
    out = ("--out", tmp_path / "model", "--defaults", "--budget", 2000)
    code, value = call(files / "texts.jsonl", *out)
    assert (code, value["choices"]) == (DONE, ["BM25F"])
    task = ssi.Task.open(value["task"]).artefact.configuration
    assert (task["relevant"], task["queries"]) == ("self", "words:3")
    again = ssi.fit(files / "texts.jsonl", ask="words:3", auto=False, budget=2000)
    assert str(again.task.path) == value["task"]


def test_judged_queries_are_fitted_in_folds_and_the_model_of_all_is_written(tmp_path):
    place = write_collection(tmp_path / "collection")
    fitted = ssi.fit(place, auto=False, budget=1000)
    assert len(fitted.model.folds_) == len(fitted.choices) == 5
    fitted.save(tmp_path / "model")
    written = ssi.load(tmp_path / "model").fitted_
    assert isinstance(written, FittedModel)
    first = fitted.task.divisions[0]
    every = dataclasses.replace(first, train=joined(first.train, first.test), test=first.valid)
    queries = [np.unique(side.rows[:, 0]) for side in (every.train, every.valid)]
    assert sum(map(len, queries)) == len(np.unique(np.concatenate(queries)))
    assert len(every.train) == len(first.train) + len(first.test)
    by_hand = ssi.SSI(budget=1000).ranker().fit(every, np.random.default_rng([0]))
    np.testing.assert_array_equal(written.arrays["U"], by_hand.arrays["U"])


def test_the_reason_names_the_choice_of_every_fold(tmp_path):
    place = write_collection(tmp_path / "collection")
    fitted = ssi.fit(place, budget=1000)
    for number, choice in enumerate(fitted.choices, 1):
        assert f"fold {number}: {choice}" in fitted.reason
    assert fitted.model.fitted_.facts["choice"] in fitted.reason


def test_what_a_training_notes_is_for_those_who_ask_for_it(files, tmp_path, capsys, caplog):
    """A training that never leaves its start says so with --verbose alone."""
    texts, links = files / "texts.jsonl", files / "links.csv"
    task = ssi.Task.of(ssi.read(texts, links), "link")
    with caplog.at_level(logging.DEBUG, "ssi_core"):
        ssi.SSI(rate=1e-30, budget=2000, epoch=500).fit(task)
        assert ssi.fit(texts, links, ask="link", auto=False, budget=1)
    noted = [one for one in caplog.records if "the start stayed the best" in one.message]
    assert noted
    assert {one.levelno for one in noted} == {logging.DEBUG}
    words = ("fit", texts, "--links", links, "--query-type", "link", "--defaults", "--budget", 2)
    for verbose in ((), ("--verbose",)):
        assert run(library, [*map(str, words), "--out", str(tmp_path / "model"), *verbose]) == DONE
        said = "the start stayed the best" in capsys.readouterr().err
        assert said == bool(verbose)
        words = (*words[:-1], 3)


def test_the_help_has_the_default_of_the_budget():
    (budget,) = (one for one in verb.params if one.name == "budget")
    assert float(budget.known) == ssi.SSI().budget


def test_a_small_folder_is_fitted_on_the_words_of_its_links_where_its_titles_are_fewer(tmp_path):
    texts, links = topical(60)
    (tmp_path / "site").mkdir()
    for number, text in enumerate(texts):
        ends = [b for a, b in links if a == number]
        lines = [f"# Page {number} of {text.split(':')[0]}", text]
        called = {end: " ".join(texts[end].split()[1:4]) for end in ends}
        lines += [f"[{name} of {number}]({end}.md)" for end, name in called.items()]
        (tmp_path / "site" / f"{number}.md").write_text("\n\n".join(lines))
    docs = ssi.read(tmp_path / "site")
    titles = ssi.Task.of(docs, "self").counts["queries"]
    task = search_task(docs)
    assert titles["valid"] < task.counts["queries"]["valid"] < 30
    assert task.artefact.configuration["relevant"] == "anchor"
    assert ssi.fit(docs, budget=2000).comparison.measures


@needs_logs
def test_few_clicks_are_told_of_another_split():
    pairs = {"query": [f"alpha{n}" for n in range(6)], "document": [str(n) for n in range(6)]}
    log = pl.DataFrame({**pairs, "clicked": [1] * 6, "position": [1] * 6})
    docs = ssi.read([f"alpha{n} beta" for n in range(6)])
    with pytest.raises(ssi.BadInput, match=r"none is left for .* split by pairs.*split_seed=1"):
        ssi.fit(log, texts=docs, source="clicks")
