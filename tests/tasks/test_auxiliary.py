"""Kinds of queries beside a task's own: what they learn from, and that nothing tested is in it."""

import pathlib
import re
from collections import Counter

import numpy as np
import polars as pl
import pytest

from ssi_core import collection, store
from ssi_core.tasks.frozen import freeze
from ssi_core.tasks.spec import TaskSpec, spec_of
from ssi_core.tasks.split import TRAIN, side_of_documents, side_of_rows
from ssi_core.tasks.task import build_task, open_task
from ssi_core.tasks.training_part import training_part
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput
from tests.corpora import topical, write_collection, write_named
from tests.seals import reseal

SIDES = ("train", "valid", "test")
KINDS = ("anchors", "titles", "words:3", "link", "link:3")
DOCUMENTS = 200
TITLES = [f"Page {i}" for i in range(DOCUMENTS)]


def anchors_of(links):
    """Each link with two wordings: of its target alone, and of several, titles among them."""
    rows = []
    for a, b in links:
        rows.append((f"d{a}", f"d{b}", f"alias {b} number {a % 3}", 1.0))
        rows.append((f"d{a}", f"d{b}", f"Page {b}" if a % 2 else f"alias of {b % 40}", 2.0))
    return rows


def write(path, links):
    texts, _ = topical(DOCUMENTS)
    redirects = [(f"r{i}", f"d{i}", f"other name {i % 150}") for i in range(DOCUMENTS)]
    return write_named(path, TITLES, texts, anchors_of(links), redirects, links)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return write(tmp_path_factory.mktemp("auxiliary") / "collection", topical(DOCUMENTS)[1])


MAINS = {
    "link": {},
    "link documents": {"split": "documents"},
    "link both": {"held_out": "both"},
    "link cold": {"cold": 0.2},
    "link:3": {"queries": "words:3", "query_draws": 2},
    "anchors": {"relevant": "anchor"},
    "titles": {"relevant": "self"},
    "words:3": {"relevant": "self", "queries": "words:3", "query_draws": 2},
}


def beside_of(main):
    own = TaskSpec(**MAINS[main]).kind
    return tuple(kind for kind in KINDS if kind != own)


@pytest.fixture(scope="module")
def tasks(place, tmp_path_factory):
    """Main -> its task, without and with all other kinds beside it."""
    out = tmp_path_factory.mktemp("tasks")
    made = {}
    for main, fields in MAINS.items():
        pair = (out / main.replace(":", "-"), out / f"{main.replace(':', '-')} beside")
        build_task(place, pair[0], **fields)
        build_task(place, pair[1], **{"query_draws": 2} | fields, auxiliary=beside_of(main))
        made[main] = [open_task(one) for one in pair]
    return made


main_tasks = pytest.mark.parametrize("main", MAINS)


@main_tasks
def test_the_task_itself_stays_bit_for_bit_what_it_is(main, tasks):
    alone, beside = tasks[main]
    assert set(beside.auxiliary) == set(beside_of(main))
    trees = [
        {file.relative_to(task.path): file for file in task.path.rglob("*") if file.is_file()}
        for task in (alone, beside)
    ]
    assert {file.parts[0] for file in trees[1].keys() - trees[0].keys()} == {"auxiliary"}
    for name in trees[0].keys() - {pathlib.Path(store.MANIFEST)}:
        assert trees[0][name].read_bytes() == trees[1][name].read_bytes(), name


def links_in(task):
    """Rows of the links between documents that a task trains on, read from its texts' ids."""
    if "link" in task.auxiliary:
        task = task.auxiliary["link"]
    rows = task.train.rows.tolist()
    ids = task.queries.ids.to_list()
    return {(int(ids[q][1:]), d) for q, d in rows}


def sides_of_wordings():
    """Wording -> its last side."""
    wordings = [(f"page {i}", i) for i in range(DOCUMENTS)]
    wordings += [(f"other name {i % 150}", i) for i in range(DOCUMENTS)]
    of_documents = side_of_documents(pl.Series(TITLES), seed=0)
    sides = Counter()
    for wording, i in wordings:
        sides[wording] = max(sides[wording], of_documents[i])
    keys = [" ".join(tokenize(text)) for *_, text, _ in anchors_of(topical(DOCUMENTS)[1])]
    for key, side in zip(keys, side_of_documents(pl.Series(keys), seed=0), strict=True):
        sides[key] = max(sides[key], side)
    return sides


@main_tasks
def test_nothing_that_is_tested_is_learnt_from(main, tasks):
    task = tasks[main][1]
    links = topical(DOCUMENTS)[1]
    sides = sides_of_wordings()
    of_documents = side_of_documents(pl.Series(TITLES), seed=0)
    of_links = side_of_rows(pl.Series(TITLES), np.array(links), seed=0)
    cold = set(task.documents.test_only.tolist())
    trained = links_in(task)

    # Links: those of the task, or of their hash; of tested anchors none.
    if main.startswith("link"):
        assert not trained & {(int(q[1:]), int(d[1:])) for q, d in learnt(task, "test")}
    else:
        assert not set(learnt(task)) & set(learnt(task, "test"))
        kept = {link for link, side in zip(links, of_links.tolist(), strict=True) if side == TRAIN}
        if main == "anchors":
            kept -= {
                (int(a[1:]), int(b[1:]))
                for a, b, text, _ in anchors_of(links)
                if sides[" ".join(tokenize(text))] != TRAIN
            }
        assert trained == kept
    assert not cold & {end for link in trained for end in link}

    # Names: on the side of their wording, whatever kind it is of.
    anchors = Counter()
    for a, b, text, weight in anchors_of(links):
        key = " ".join(tokenize(text))
        if (int(a[1:]), int(b[1:])) in trained and sides[key] == TRAIN:
            anchors[key, b] += weight
    if main != "anchors":
        mean = sum(anchors.values()) / len(anchors)
        wanted = {pair: pytest.approx(weight / mean) for pair, weight in anchors.items()}
        assert learnt(task.auxiliary["anchors"]) == wanted
        assert len(wanted) > 100
    if main != "titles":
        wanted = {
            (key, f"d{i}")
            for i in range(DOCUMENTS)
            for key in (f"page {i}", f"other name {i % 150}")
            if sides[key] == TRAIN and i not in cold
        }
        assert set(learnt(task.auxiliary["titles"])) == wanted

    # Words: of documents of training, or of training links.
    if main != "words:3":
        pairs = list(learnt(task.auxiliary["words:3"]))
        of_training = set(np.flatnonzero(of_documents == TRAIN)) - cold
        assert {q for q, _ in pairs} == {f"d{i}" for i in of_training}
        assert all(q == d for q, d in pairs)
    if main != "link:3":
        pairs = {(int(q[1:]), int(d[1:])) for q, d in learnt(task.auxiliary["link:3"])}
        if main in ("titles", "words:3"):
            trained = {(a, b) for a, b in trained if of_documents[a] == TRAIN}
        assert pairs == trained
    for one in task.auxiliary.values():
        assert len(one.train)
        assert len(one.valid)
        assert not len(one.test)
        both = [set(learnt(one, side)) for side in ("train", "valid")]
        assert not both[0] & both[1]


def learnt(task, side="train"):
    """(id of the query, id of the document) -> weight."""
    pairs = getattr(task, side)
    ids = [task.queries.ids.to_list(), task.documents.ids.to_list()]
    return {
        (ids[0][q], ids[1][d]): weight
        for (q, d), weight in zip(pairs.rows.tolist(), pairs.weight.tolist(), strict=True)
    }


def test_a_link_of_the_test_changes_nothing_beside_the_task(place, tasks, tmp_path):
    """Without the links of the test, and their anchors, training is the same."""
    whole = tasks["link"][1]
    tested = {tuple(link) for link in whole.test.rows.tolist()}
    kept = [link for link in topical(DOCUMENTS)[1] if link not in tested]
    # One is left, for a task has a test.
    write(tmp_path / "less", [*kept, min(tested)])
    build_task(tmp_path / "less", tmp_path / "task", query_draws=2, auxiliary=beside_of("link"))
    files = {file.relative_to(whole.path): file for file in (whole.path / "auxiliary").rglob("*.*")}
    assert len(files) > 30
    for name, file in files.items():
        assert (tmp_path / "task" / name).read_bytes() == file.read_bytes(), name


def test_auxiliary_queries_are_in_the_words_of_the_documents(tasks):
    task = tasks["link"][1]
    for kind, one in task.auxiliary.items():
        assert one.documents is task.documents
        assert one.queries.views.keys() == task.documents.views.keys()
        assert one.queries.views["raw"].space == task.documents.views["raw"].space
        assert (one.queries is task.documents) == (kind == "link")
    three = task.auxiliary["link:3"].queries.matrix("counts")
    assert (np.diff(three.indptr) == 3).all()
    # A query of words is never answered by the document that they were drawn of.
    for kind, never in (("link:3", True), ("words:3", False), ("titles", False)):
        one = task.auxiliary[kind]
        assert (one.exclude.nnz > 0) == never


def test_training_has_no_cold_document_in_what_is_beside(tasks):
    task = tasks["link cold"][1]
    part = training_part(task)
    assert set(part.auxiliary) == set(task.auxiliary)
    for kind, one in part.auxiliary.items():
        assert one.documents is part.documents
        assert (one.queries is part.documents) == (kind == "link")
        assert one.exclude.shape == (len(one.queries), len(one.documents))
        for side in ("train", "valid"):
            assert learnt(one, side) == learnt(task.auxiliary[kind], side)
    assert "link" in training_part(tasks["titles"][1]).auxiliary


def test_what_is_frozen_is_not_learnt_beside_a_task(place, tasks, tmp_path):
    # Another seed, so that some answers are on the training side of this task.
    freeze(place, tmp_path / "frozen", queries=60, split_seed=3)
    build_task(
        place,
        tmp_path / "task",
        auxiliary=beside_of("link"),
        query_draws=2,
        frozen=[tmp_path / "frozen"],
    )
    task, free = open_task(tmp_path / "task"), tasks["link"][1]
    left = {tuple(row) for row in task.train.rows.tolist()}
    barred = {tuple(row) for row in free.train.rows.tolist()} - left
    assert barred
    assert {(int(q[1:]), int(d[1:])) for q, d in learnt(task.auxiliary["link:3"])} == left
    total = sum(
        weight for a, b, _, weight in anchors_of(topical(DOCUMENTS)[1])
        if (int(a[1:]), int(b[1:])) in left
    )  # fmt: skip
    assert total > 0
    for kind in ("anchors", "link:3"):
        assert len(task.auxiliary[kind].train) < len(free.auxiliary[kind].train)


def test_judged_queries_are_learnt_under_no_name(tmp_path):
    place = write_collection(tmp_path / "judged")
    collected = collection.open_collection(place)
    queries = pl.read_parquet(collected.parts("queries"))
    part = collected.parts("documents")[0]
    documents = pl.read_parquet(part)
    # Two documents are called as queries are.
    titles = [queries["text"][1].upper(), queries["text"][2], *documents["title"][2:]]
    documents.with_columns(title=pl.Series(titles)).write_parquet(part)
    reseal(place)
    build_task(place, tmp_path / "task", relevant="judgement", auxiliary=("titles", "words:3"))
    task = open_task(tmp_path / "task")
    for one in (task, *task.folds):
        assert set(one.auxiliary) == {"titles", "words:3"}
        names = set(one.auxiliary["titles"].queries.ids)
        assert len(names) > 50
        assert not names & {" ".join(tokenize(text)) for text in queries["text"]}
        assert not len(one.auxiliary["titles"].test)
    blind = open_task(tmp_path / "task", tested=False)
    assert learnt(blind.auxiliary["words:3"]) == learnt(task.auxiliary["words:3"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"auxiliary": ("names",)}, "auxiliary='names': expected 'anchors', 'titles', 'words:N'"),
        ({"auxiliary": ("words:0",)}, "auxiliary='words:0': expected"),
        ({"auxiliary": ("link",)}, "auxiliary='link': these are the queries of the task itself"),
        (
            {"auxiliary": ("link:4",), "queries": "words:4"},
            "auxiliary='link:4': these are the queries",
        ),
        ({"auxiliary": ("titles",), "relevant": "click"}, "with relevant='click': expected 'link'"),
        ({"auxiliary": ("titles",), "views": ("cfh:k=5,words=9,ngrams=1",)}, "none is hashed"),
        ({"auxiliary": (3,)}, "auxiliary=3: number 1: expected text"),
    ],
)
def test_what_means_nothing_beside_a_task_is_refused(fields, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        spec_of(**fields)


def test_what_a_collection_does_not_say_is_refused(corpus_dir, tmp_path):
    with pytest.raises(BadInput, match=r"auxiliary='anchors' needs the relation 'anchor'; it has"):
        build_task(corpus_dir, tmp_path / "task", auxiliary=("anchors",))
    texts = [f"car{i} road{i % 7}" for i in range(DOCUMENTS)]
    pages = write_named(tmp_path / "pages", texts, texts, links=topical(DOCUMENTS)[1])
    with pytest.raises(BadInput, match=r"auxiliary='titles': none of its pairs is left to learn"):
        build_task(pages, tmp_path / "task", auxiliary=("titles",))


def test_specs_that_mean_the_same_are_equal_and_test_the_same():
    specs = [TaskSpec(auxiliary=names) for names in (["titles", "link:3"], ["link:3", "titles"])]
    assert specs[0] == specs[1]
    assert specs[0].tests_as(TaskSpec())
    assert not specs[0].tests_as(TaskSpec(auxiliary=("titles",), split_seed=1))
