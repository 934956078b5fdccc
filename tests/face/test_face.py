"""Tasks, estimators, comparisons and indexes of the Python interface."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

import ssi_core as ssi
from ssi_core.models import MODELS
from tests.corpora import topical, write_collection

SMALL = {"epoch": 2000, "budget": 6000, "rate": 0.1}


@pytest.fixture
def docs():
    texts, links = topical()
    return ssi.read(texts, links=links)


@pytest.fixture
def task(docs):
    return ssi.Task.of(docs, relevant="link")


def test_names_load_when_they_are_used():
    pytest.importorskip("ssi_core.guests", reason="some of the names are of guests")
    code = (
        "import sys, ssi_core as ssi\n"
        "print(sorted({'numpy', 'polars', 'numba', 'scipy', 'pydantic'} & set(sys.modules)))\n"
        "[getattr(ssi, name) for name in ssi.__all__]\n"
        "print(sorted({'prefect', 'mlflow', 'flows', 'click'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n[]\n"


def test_public_names_are_listed_and_others_refused():
    assert set(ssi.__all__) <= set(dir(ssi))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ssi.nothing  # noqa: B018


def test_a_task_opens_again(task):
    again = ssi.Task.open(task.path)
    assert again.key == task.key
    pairs = again.pairs("train")
    assert len(pairs) == task.counts["pairs"]["train"]
    assert set(pairs["query"]) <= {str(number) for number in range(200)}
    assert "train" in task._repr_html_()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"relevant": "clicks"}, "relevant='clicks': expected 'link'"),
        ({"split": "queries"}, "split='queries' with relevant='link': expected 'pairs' or 'doc"),
        ({"queries": "words:many"}, "queries='words:many' with relevant='link': expected 'doc"),
        ({"relevant": 5}, "relevant=5: expected 'link'"),
        ({"views": "raw"}, "views='raw': expected a list"),
        ({"fields": 5}, "fields=5: expected a list"),
        ({"auxiliary": None}, "auxiliary: expected a list"),
    ],
)
def test_a_setting_that_is_none_is_refused(docs, settings, message):
    with pytest.raises(ValueError, match=message):
        ssi.Task.of(docs, **settings)


def test_a_task_of_fields_hides_what_a_search_should_find(docs):
    assert ssi.Task.of(docs).hides  # fields, such as words of links, lack what is held out
    assert not ssi.Task.of(docs, fields=["text"]).hides


def test_the_remedy_for_a_lacking_view_makes_the_task_with_it():
    texts = [{"title": f"{text[:9]} {n % 7}", "text": text} for n, text in enumerate(topical()[0])]
    docs = ssi.read(texts)
    task = ssi.Task.of(docs, relevant="self")
    assert {"fields", "phrases"} < {*task.data.documents.views}
    with pytest.raises(ssi.BadInput, match="it has no view raw:7") as refused:
        ssi.Ranker("tfidf", view="raw:7").fit(task)
    remedy = str(refused.value).partition("with these: ")[2]
    again = eval(remedy, {"ssi": ssi, "docs": docs})
    assert {*again.data.documents.views} == {*task.data.documents.views, "raw:7"}
    with pytest.raises(ssi.BadInput, match="is not in this task") as refused:
        task.data.documents.matrix("raw:7")
    assert str(refused.value).endswith(remedy.replace("relevant='self', ", ""))


@pytest.mark.trains
def test_one_remedy_is_enough_for_all_that_a_fit_compares(docs):
    with pytest.raises(ssi.BadInput, match="which fit reads") as refused:
        ssi.fit(ssi.Task.of(docs, views=["raw"]), auto=False, budget=400)
    remedy = str(refused.value).partition("with these: ")[2]
    again = eval(remedy, {"ssi": ssi, "docs": docs})
    assert ssi.fit(again, auto=False, budget=400).label


def test_settings_of_a_task_reach_it(docs):
    made = {"queries": "words:5", "split": "documents", "words": 100}
    short = ssi.Task.of(docs, views=["raw-sublinear"], **made)
    configuration = short.artefact.configuration
    assert (configuration["queries"], configuration["split"]) == ("words:5", "documents")
    with pytest.raises(ssi.BadInput, match=r"no view sublinear:200@30000, which SSI"):
        ssi.SSI().fit(short)


@pytest.mark.trains
def test_a_model_learns_from_what_a_task_has_beside_its_own_queries(docs):
    task = ssi.Task.of(docs, relevant="link", auxiliary=["words:3", "link:3"], views=["raw"])
    assert set(task.counts["auxiliary"]) == {"words:3", "link:3"}
    small = {"dimensions": 8, "epoch": 500, "budget": 1000, "rates": (0.1,), "margin": 0.3}
    both = ssi.Ranker("multi_task", auxiliary=["words:3", "link:3"], **small).fit(task)
    assert [one.task for (one,) in both.fitted_.model.groups()] == ["", "words:3", "link:3"]
    with pytest.raises(
        ssi.BadInput, match=r"auxiliary='titles' is not among.*link:3, words:3\. Make"
    ):
        ssi.Ranker("multi_task", auxiliary=["titles"], **small).fit(task)


@pytest.mark.parametrize(
    "estimator",
    [ssi.SSI(dimensions=7, auto=True), ssi.BM25(k1=2.0), ssi.TfIdf(view="sublinear"),
     ssi.Ranker("lsi_mixture", view="sublinear", random_state=3)],
    ids=lambda one: type(one).__name__,
)  # fmt: skip
def test_estimators_are_those_of_scikit_learn(estimator):
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    assert copy.ranker() == estimator.ranker()
    assert eval(repr(estimator), vars(ssi)).ranker() == estimator.ranker()


def test_parameters_are_checked_and_kept_whole():
    model = ssi.SSI()
    assert model.set_params(margin=0.3) is model
    with pytest.raises(ValueError, match=r"rates=.-1.0"):
        model.set_params(rate=-1.0)
    with pytest.raises(ValueError, match=r"SSI: no parameter 'colour'\. Known: auto"):
        model.set_params(colour="red")
    assert model.get_params()["margin"] == 0.3
    assert model.get_params()["rate"] == 0.03
    assert ssi.Ranker("bm25").set_params(k1=2.0).ranker().k1 == 2.0
    with pytest.raises(ValueError, match=r"no model 'nothing'\. Known: auto, best_of,"):
        ssi.Ranker("nothing")
    with pytest.raises(ValueError, match=r"seconds=3: expected a number above 0, without auto"):
        ssi.SSI(auto=True, seconds=3).ranker()


def test_each_model_without_a_required_parameter_is_there_by_name():
    needing = {"best_of", "fusion", "mixture", "reranked", "residual", "trec_run"}
    for name in set(MODELS) - needing - {"topics_and_translations"}:
        assert ssi.Ranker(name).ranker() == MODELS[name]()


def test_what_is_not_fitted_says_so():
    for use in (lambda m: m.save("x"), lambda m: m.U_, lambda m: m.index(["a text"])):
        with pytest.raises((ValueError, AttributeError), match=r"fit\(task\) first"):
            use(ssi.SSI())
    with pytest.raises(AttributeError, match=r"no attribute .colour.$"):
        ssi.SSI().colour  # noqa: B018


@pytest.mark.trains
def test_ten_lines_from_texts_to_a_saved_model(docs, task, tmp_path):
    model = ssi.SSI(**SMALL).fit(task)
    assert model.U_.shape == (len(model.diagonal_), 50)
    assert model.curve_["triples"].to_list() == [0, 2000, 4000, 6000]
    assert model.reproducible_
    comparison = ssi.compare([ssi.BM25().fit(task), model], task)
    assert list(comparison.reports) == ["BM25", repr(model)]
    lines = str(comparison).splitlines()
    assert max(map(len, lines)) <= 80
    assert "* better, ° worse than BM25 (paired" in " ".join(map(str.strip, lines))
    assert "standard error" in comparison._repr_html_()
    assert comparison.frame["map_p"].to_list()[0] is None
    assert len(comparison.per_query) == 2 * len(task.pairs("test")["query"].unique())
    index = model.index(docs)
    assert model.index(docs).path == index.path
    half = model.index(docs, storage="float16")
    assert half.path not in (index.path, model.index(docs).path)
    assert half.search("boats1", 1).hits[0].title == index.search("boats1", 1).hits[0].title
    results = index.search("boats1 boats2", k=5)
    assert results.frame.height == len(results) == 5
    assert results.frame["snippet"].to_list() == [hit.snippet for hit in results]
    assert index.search(["boats1", "stars1"], k=1)[0].hits[0] == index.search("boats1", 1).hits[0]
    explanation = index.explain("boats1", results.hits[0].title)
    total = explanation.frame["part"].sum() + explanation.rest
    assert explanation.score == pytest.approx(total)
    last = index.search("boats1 boats2", k=len(index)).hits[-1]
    reasons = index.why("boats1 boats2", last.title, k=1)
    assert reasons.score == pytest.approx(last.score)
    assert repr(reasons).startswith(f"{last.title}: place ")
    for shown in (results, explanation, task, docs):
        assert "<table>" in shown._repr_html_()
    assert "text-align:right" not in index._repr_html_()  # ids and titles are words
    model.save(tmp_path / "model")
    loaded = ssi.load(tmp_path / "model")
    assert loaded.index(docs).path == index.path
    np.testing.assert_array_equal(loaded.U_, model.U_)
    same = ssi.compare([loaded], task).reports[repr(loaded)][0]
    assert same.means == comparison.reports[repr(model)][0].means


@pytest.mark.trains
def test_seconds_end_a_training_that_its_budget_repeats(task):
    model = ssi.SSI(**{**SMALL, "budget": 10**9, "patience": 10**6}, seconds=1e-6).fit(task)
    assert not model.reproducible_
    budget = model.fitted_.model.budget
    assert budget == 2000
    again = ssi.SSI(**{**SMALL, "budget": budget}).fit(task)
    np.testing.assert_array_equal(again.U_, model.U_)
    assert ssi.SSI(**SMALL, seconds=1e6).fit(task).reproducible_


@pytest.mark.trains
def test_seeds_are_averaged(task):
    seeds = [ssi.SSI(**SMALL, random_state=seed).fit(task) for seed in range(2)]
    both = ssi.compare({"BM25": ssi.BM25().fit(task), "SSI": seeds}, task, measures=["map"])
    alone = [ssi.compare([one], task).frame["map"][0] for one in seeds]
    assert both.frame["map"][1] == pytest.approx(np.mean(alone))
    assert alone[0] != alone[1]


def test_a_comparison_refuses_what_it_does_not_know(task):
    bm25 = ssi.BM25().fit(task)
    with pytest.raises(ValueError, match=r"no measure 'speed'\. Known: rank_loss"):
        ssi.compare([bm25], task, measures=["speed"])
    with pytest.raises(ValueError, match=r"baseline: no ranker 'x'\. Known: BM25"):
        ssi.compare([bm25], task, baseline="x")
    with pytest.raises(ssi.BadInput, match="BM25 is not fitted on this task"):
        ssi.compare([ssi.BM25()], task)
    assert list(ssi.compare([bm25, bm25], task).reports) == ["BM25", "BM25 #2"]


def test_judged_queries_are_ranked_by_the_model_of_their_fold(tmp_path):
    docs = ssi.read(write_collection(tmp_path / "collection"))
    task = ssi.Task.of(docs, words="all")
    bm25 = ssi.BM25().fit(task)
    assert len(bm25.folds_) == len(task.divisions) == 5
    report = ssi.compare([bm25], task).reports["BM25"][0]
    assert len(report.per_query) > len(task.divisions[0].test.rows) / 2


def test_a_model_replaces_a_model_and_nothing_else(task, tmp_path):
    bm25 = ssi.BM25().fit(task)
    bm25.save(tmp_path / "model")
    bm25.set_params(k1=2.0).fit(task).save(tmp_path / "model")
    assert ssi.load(tmp_path / "model").get_params()["k1"] == 2.0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "root"]
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("text")
    with pytest.raises(ssi.Refused, match="holds no model"):
        bm25.save(tmp_path / "notes")


def test_documents_of_the_task_give_the_index_that_they_give_when_they_are_read(
    docs, task, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    model = ssi.TfIdf(view="sublinear:50@30000").fit(task)
    model.save("model")
    ours, theirs = (one.index(docs, out=name) for name, one in
                    (("ours", model), ("theirs", ssi.load("model"))))  # fmt: skip
    assert ours.path != theirs.path
    for file in ("dense.npy", "documents.parquet", "sparse/data.npy", "sparse/indices.npy"):
        assert (ours.path / file).is_file() == (theirs.path / file).is_file()
        if (ours.path / file).is_file():
            assert (ours.path / file).read_bytes() == (theirs.path / file).read_bytes()


def test_an_index_of_other_documents_is_made_with_the_words_of_the_model(task):
    bm25 = ssi.BM25().fit(task)
    texts, _ = topical(seed=1)
    assert len(bm25.index(texts[:20])) == 20
    with pytest.raises(ssi.BadInput, match=r"of the words of the .* are unknown"):
        bm25.index(["entirely different", "unheard wording"])


def test_a_place_that_holds_another_index_is_left_alone(docs, task, tmp_path):
    ssi.BM25().fit(task).index(docs, out=tmp_path / "index")
    with pytest.raises(ssi.Refused, match="made from other input"):
        ssi.TfIdf().fit(task).index(docs, out=tmp_path / "index")


def test_an_index_is_made_once_for_each_kind_of_numbers(docs, task, tmp_path, monkeypatch):
    """The second time it is opened; with numbers of another kind it would be another one."""
    model = ssi.BM25().fit(task)
    index = model.index(docs, out=tmp_path / "index")
    made = []
    monkeypatch.setattr("ssi_core.face.index.build_index", lambda *given, **how: made.append(how))
    again = model.index(docs, out=tmp_path / "index")
    assert made == []
    assert [hit.id for hit in again.search("boats1")] == [hit.id for hit in index.search("boats1")]
    model.index(docs, out=tmp_path / "index", storage="float16")
    assert [how["storage"] for how in made] == ["float16"]


def test_an_empty_answer_says_why_and_what_to_do(task):
    empty = ssi.BM25().fit(task).index(task).search("xyzzy")
    assert "the model knows" in repr(empty)
    assert "Check the spelling" in repr(empty)
    assert "Check the spelling" in empty._repr_html_()
    assert "spelling" not in empty.reason
    other = ssi.BM25().fit(task).index(["stars1 stars2"]).search("boats1")
    assert "index documents that have these" in repr(other)
