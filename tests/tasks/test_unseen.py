"""What is measured on data that a model was not trained on, and what is refused."""

import numpy as np
import polars as pl
import pytest

from ssi_core.collection import open_collection
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.trec import write_trec
from ssi_core.models.in_degree import InDegree
from ssi_core.models.tfidf import TfIdf
from ssi_core.tasks import frozen, judged
from ssi_core.tasks.labels import FEWEST, languages_of, marked_by
from ssi_core.tasks.task import open_task
from ssi_core.tasks.unseen import Raw, require_known, require_scores, unknown_share
from ssi_core.types import BadInput
from ssi_core.views.lexicon import Vocabulary
from ssi_core.views.rewriting import Rewriting, RewrittenView, Translation
from ssi_core.views.statistics import Statistics
from ssi_core.views.text_view import TextView
from ssi_core.views.weighting import Weighting
from tests.corpora import judged_pairs, topical, write_collection, write_corpus
from tests.evaluation import naive


def view(*words, name="raw", language="en"):
    statistics = Statistics(np.ones(len(words), np.float32), 100, 10.0)
    return TextView(language, Vocabulary(pl.Series(words)), statistics, Weighting.parse(name))


@pytest.fixture(scope="module")
def fitted(task_dir):
    return TfIdf().fit(open_task(task_dir), np.random.default_rng(0))


def frame(texts, language="en"):
    n = len(texts)
    ids = pl.Series([f"t{i}" for i in range(n)])
    return pl.DataFrame({"id": ids, "title": ids, "language": [language] * n, "text": texts})


def test_the_share_of_unknown_words_counts_running_words():
    texts = pl.Series(["a b zzz", "zzz", "b"])
    assert unknown_share(view("a", "b"), texts) == pytest.approx(2 / 5)
    assert unknown_share(view("a", "b", name="raw@1"), texts) == pytest.approx(4 / 5)
    assert unknown_share(view("a"), pl.Series(["", "  "])) == 1


def test_translated_words_count_after_the_translation():
    entries = pl.DataFrame({"source": ["ĵa"], "target": ["a b"]})
    read = RewrittenView(
        Rewriting.parse("dictionary.raw"), Translation(entries, "eo", "en"), view("a", "b")
    )
    assert unknown_share(read, pl.Series(["ĵa ĵb"])) == pytest.approx(1 / 3)


def test_many_texts_are_sampled_at_equal_distances():
    texts = pl.Series(["a", "zzz"] * 4000)
    read = [texts[n * 7999 // 499] for n in range(500)]
    assert unknown_share(view("a"), texts) == read.count("zzz") / 500
    assert unknown_share(view("a"), texts.head(500)) == 0.5


def test_another_language_and_other_words_are_refused(fitted, tmp_path):
    known = fitted.view("raw", "query").words[0]
    good = frame([known])
    assert require_known(Raw(good, good), fitted, tmp_path) == {"queries": 0, "documents": 0}
    one_of_two = frame([f"{known} zzz"])
    assert require_known(Raw(good, one_of_two), fitted, tmp_path)["documents"] == 0.5
    with pytest.raises(BadInput, match="queries are in 'eo', and this model reads queries in 'en'"):
        require_known(Raw(frame([known], "eo"), good), fitted, tmp_path)
    with pytest.raises(BadInput, match="100% of the words of the documents are unknown"):
        require_known(Raw(good, frame(["zzz yyy"])), fitted, tmp_path)
    # Of a language that is not named nothing is known but its words.
    assert require_known(Raw(frame([known], "any"), good), fitted, tmp_path)["queries"] == 0


def test_a_model_that_knows_documents_alone_has_nothing_to_say_of_others(task_dir, tmp_path):
    own = open_task(task_dir)
    degree = InDegree().fit(own, np.random.default_rng(0))
    require_scores(own, degree, tmp_path)
    corpus = write_collection(tmp_path / "corpus")
    there = open_collection(corpus)
    other = judged.open_collection(there, Raw.of(there), degree)
    with pytest.raises(BadInput, match="every document there the same score"):
        require_scores(other, degree, corpus)


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """Six documents are relevant to each of three queries, and two judged not to be."""
    judgements = [(f"q{q}", f"d{q + 8 * k}", grade) for q in range(3) for k, grade in
                  enumerate((3, 1, 0, 2, 0, 0.5, 1, 2))]  # fmt: skip
    path = tmp_path_factory.mktemp("collection")
    return write_collection(path / "corpus", [*judgements, ("q5", "d1", 0)])


def test_a_collection_is_ranked_whole_and_measured_by_grades(collection, fitted, tmp_path):
    there = open_collection(collection)
    task = judged.open_collection(there, Raw.of(there), fitted)
    assert len(task.documents) == 200
    report = evaluate(fitted, task, tuples=0)
    assert report.candidates == "all 200 documents"
    # Judged not relevant is a candidate; a query with nothing relevant is none.
    assert report.per_query["id"].to_list() == ["q0", "q1", "q2"]
    queries, documents = fitted.embed_queries(task.queries), fitted.embed_documents(task.documents)
    scores = (queries.sparse @ documents.sparse.T).toarray()
    for row, (query, (grades, irrelevant)) in enumerate(naive.protocol(task, "test").items()):
        assert (len(grades), len(irrelevant)) == (6, 194)
        for name, value in naive.measures(scores[query], grades, irrelevant).items():
            assert report.per_query[name][row] == pytest.approx(value)

    _, qrels = write_trec(fitted, task, tmp_path)
    lines = [line.split() for line in qrels.read_text().splitlines()]
    said = {(q, d, float(grade)) for q, _, d, grade in lines}
    judgements = judged_pairs(collection).rows()
    assert said == {row for row in judgements if row[0] != "q5"}


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """A frozen set of a corpus whose documents have one or two colours, or none."""
    path = tmp_path_factory.mktemp("labelled")
    corpus = write_corpus(path / "corpus", *topical())
    rows = [(f"d{i}", "colour", "red") for i in range(0, 150)]
    rows += [(f"d{i}", "colour", "blue") for i in range(100, 180)]
    rows += [(f"d{i}", "colour", f"rare {i % 2}") for i in range(180, 184)]
    (corpus / "labels").mkdir()
    labels = pl.DataFrame(rows, schema=["id", "column", "value"], orient="row")
    labels.write_parquet(corpus / "labels" / "part-00000.parquet")
    frozen.freeze(corpus, path / "frozen", pool=200)
    return path / "frozen"


@pytest.mark.parametrize(("by", "end"), [("colour", 0), ("document.colour", 1)])
def test_slices_have_the_pairs_of_a_value(labelled, fitted, by, end):
    task = frozen.open_frozen(labelled, fitted)
    subsets = marked_by(task, frozen.raw_of(labelled).labels, by, labelled).subsets
    number = [int(name.removeprefix("d")) for name in task.documents.ids]
    expected = {"red": set(), "blue": set(), "(none)": set(), "rare 0": set(), "rare 1": set()}
    for pair in task.test.rows.tolist():
        i = number[pair[end]]
        inside = {"red": i < 150, "blue": 100 <= i < 180, "(none)": i >= 184}
        inside |= {f"rare {k}": 180 <= i < 184 and i % 2 == k for k in (0, 1)}
        for value in (value for value, there in inside.items() if there):
            expected[value].add(tuple(pair))
    few = [v for v, pairs in expected.items() if len({q for q, _ in pairs}) < FEWEST and pairs]
    others = set().union(*(expected.pop(value) for value in few)) if len(few) > 1 else set()
    expected |= {f"({len(few)} others)": others} if others else {}
    found = {name: set(map(tuple, rows.tolist())) for name, rows in subsets.items()}
    assert found == {f"{by}={value}": pairs for value, pairs in expected.items() if pairs}
    assert next(iter(found)) == f"{by}=red"


def test_a_column_that_is_not_there_is_bad_input_with_those_that_are(labelled, fitted):
    task = frozen.open_frozen(labelled, fitted)
    message = "no column 'shape' to slice by; it has: colour, language, document.colour, document.l"
    with pytest.raises(BadInput, match=message):
        marked_by(task, frozen.raw_of(labelled).labels, "shape", labelled)
    assert languages_of(frame(["a"])).rows() == [("t0", "language", "en")]
