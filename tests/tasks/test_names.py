"""Names of documents as queries: anchors, titles, redirects, and words drawn of a document."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssi_core.evaluation.evaluate import evaluate
from ssi_core.models import MODELS
from ssi_core.tasks.frozen import freeze
from ssi_core.tasks.split import TEST, side_of_documents
from ssi_core.tasks.task import build_task, open_task
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput
from tests.corpora import topical
from tests.corpora import write_named as write

SIDES = ("train", "valid", "test")


def named(task, side):
    """Rows of a side: words of the query, id of the document, weight."""
    pairs = getattr(task, side)
    return [
        (task.queries.ids[q], task.documents.ids[d], round(float(w), 3))
        for (q, d), w in zip(pairs.rows.tolist(), pairs.weight, strict=True)
    ]


def wordings(task):
    return {side: set(task.queries.ids[getattr(task, side).rows[:, 0]]) for side in SIDES}


TITLES = ["Car", "Apollo 11", "Mercury (planet)", "Mercury (element)", "Lake Baikal", "Bread"]
TEXTS = [
    "A car is a vehicle with an engine. Cars drive on roads.",
    "Apollo 11 flew to the moon. The crew of apollo 11 came back.",
    "Mercury is the planet next to the sun.",
    "Mercury is a metal that is liquid.",
    "The deepest lake of all is Lake Baikal.",
    "A loaf of bread is of flour and water.",
]


def test_an_anchor_asks_for_what_it_leads_to(tmp_path):
    anchors = [
        ("d1", "d0", "the automobile", 1),
        ("d2", "d0", "the automobile", 1),
        ("d4", "d5", "the automobile", 1),
        ("d2", "d0", "the-automobile", 4),
        ("d0", "d1", "moon landing", 1),
        ("d0", "d2", "inner planet", 1),
        ("d0", "d3", "quicksilver", 1),
        ("d0", "d4", "baikal", 1),
        ("d3", "d5", "loaf", 3),
        ("d3", "d5", "→", 9),
    ]
    place = write(tmp_path / "names", TITLES, TEXTS, anchors)
    artefact = build_task(place, tmp_path / "task", relevant="anchor", split_seed=6)
    task = open_task(tmp_path / "task")
    found = {side: named(task, side) for side in SIDES}
    assert found == EXPECTED
    assert artefact.skipped["names_without_words"] == 1
    assert artefact.counts["queries"] == {side: len({q for q, *_ in found[side]}) for side in SIDES}
    # A query is shown as it is mostly written, and read in the words of the documents.
    row = task.queries.ids.to_list().index("the automobile")
    assert task.queries.titles[row] == "the-automobile"
    assert not task.exclude.nnz
    assert task.pool is None
    words = list(task.queries.views["counts"].words)
    row = task.queries.ids.to_list().index("loaf")
    assert [words[i] for i in task.queries.matrix("counts")[[row]].indices] == ["loaf"]


# Weights have the mean 1 on each side; those of "the automobile" are 6 and 1.
EXPECTED = {
    "train": [
        ("inner planet", "d2", 0.444),
        ("quicksilver", "d3", 0.444),
        ("the automobile", "d0", 2.667),
        ("the automobile", "d5", 0.444),
    ],
    "valid": [("loaf", "d5", 1.5), ("moon landing", "d1", 0.5)],
    "test": [("baikal", "d4", 1.0)],
}


def test_a_title_asks_for_its_document_which_does_not_say_it(tmp_path):
    redirects = [("r1", "d0", "Automobile"), ("r2", "d1", "First landing"), ("r3", "d2", "Mercury")]
    redirects += [("r4", "d3", "Mercury"), ("r5", "d5", "…")]
    numbered = [*TITLES, "d6", "7"]
    texts = [*TEXTS, "The text that is without a title of its own", "another"]
    numbered[6] = texts[6]
    place = write(tmp_path / "names", numbered, texts, (), redirects)
    artefact = build_task(place, tmp_path / "task", relevant="self", split_seed=3)
    task = open_task(tmp_path / "task")
    assert artefact.skipped["documents_without_title"] == 1
    assert artefact.skipped["names_without_words"] == 1
    found = {(q, d) for side in SIDES for q, d, _ in named(task, side)}
    assert found == {
        ("car", "d0"), ("automobile", "d0"), ("apollo 11", "d1"), ("first landing", "d1"),
        ("mercury planet", "d2"), ("mercury element", "d3"), ("mercury", "d2"), ("mercury", "d3"),
        ("lake baikal", "d4"), ("bread", "d5"), ("7", "d7"),
    }  # fmt: skip
    # No name of a document of the test is learnt from, and a name of two is with the last of them.
    sides = dict(
        zip(task.documents.ids, side_of_documents(task.documents.titles, seed=3), strict=True)
    )
    for name, document, _ in named(task, "train"):
        assert sides[document] != TEST
        assert name != "mercury" or max(sides["d2"], sides["d3"]) == 0
    words = list(task.documents.views["counts"].words)
    left = [{words[i] for i in task.documents.matrix("counts")[[row]].indices} for row in range(6)]
    assert not left[0] & {"car"}
    assert "cars" in left[0]
    assert not left[1] & {"apollo", "11"}
    assert not left[2] & {"mercury"}
    assert "lake" in left[4]
    assert not left[4] & {"baikal"}


NAMES = st.lists(
    st.tuples(
        st.integers(0, 119),
        st.sampled_from(["Car", "car", "CAR!", "old  car", "old-car", "é", "x y"]),
    ),
    max_size=30,
)


@settings(max_examples=8)
@given(anchors=NAMES, redirects=NAMES, seed=st.sampled_from([0, 2]))
def test_no_wording_is_on_two_sides(tmp_path_factory, anchors, redirects, seed):
    place = tmp_path_factory.mktemp("names")
    texts, _ = topical(120)
    # Enough that every side has some.
    anchors = anchors + [(i, f"name {i} of it") for i in range(120)]
    write(
        place / "collection",
        [f"Page {i}" for i in range(120)],
        texts,
        [("d0", f"d{d}", text, 1.0) for d, text in anchors],
        [(f"r{n}", f"d{d}", text) for n, (d, text) in enumerate(redirects)],
    )
    for relevant, given_names in (("anchor", anchors), ("self", redirects)):
        build_task(place / "collection", place / relevant, relevant=relevant, split_seed=seed)
        task = open_task(place / relevant)
        sides = wordings(task)
        assert sum(map(len, sides.values())) == len(set().union(*sides.values()))
        found = {(q, d) for side in SIDES for q, d, _ in named(task, side)}
        wanted = {(" ".join(tokenize(text)), f"d{d}") for d, text in given_names}
        assert wanted - {("", d) for _, d in wanted} <= found
        assert task.queries.ids.to_list() == sorted(set(task.queries.ids))


def test_words_of_a_document_ask_for_it(tmp_path, corpus_dir):
    build_task(corpus_dir, tmp_path / "task", relevant="self", queries="words:3", query_draws=2)
    task = open_task(tmp_path / "task")
    sides = side_of_documents(task.documents.titles, seed=0)
    for number, side in enumerate(SIDES):
        pairs = getattr(task, side).rows
        own = np.flatnonzero(sides == number)
        assert sorted(pairs[:, 1].tolist()) == sorted(own.tolist() * (2 if side == "train" else 1))
        assert task.queries.ids[pairs[:, 0]].equals(task.documents.ids[pairs[:, 1]])
    assert not task.exclude.nnz
    assert (np.diff(task.queries.matrix("counts").indptr) == 3).all()


@pytest.mark.trains
def test_a_model_learns_what_documents_are_called(tmp_path):
    """Other names share no word with the texts, so that only training finds their subjects."""
    texts, _ = topical(200)
    titles = [f"Page {i}" for i in range(200)]
    anchors = [
        ("d0" if i else "d1", f"d{i}", f"alias{i % 8} {spelling}", 1.0)
        for i in range(200)
        for spelling in ("one", "two", "three", "four")
    ]
    texts = [
        f"{text} alias{(i + 3) % 8} alias{i % 5} one two three four" for i, text in enumerate(texts)
    ]
    place = write(tmp_path / "names", titles, texts, anchors)
    build_task(place, tmp_path / "task", relevant="anchor", split_seed=1)
    task = open_task(tmp_path / "task")
    small = dict(dimensions=8, rates=(0.1,), epoch=500, budget=4000, margin=0.3)
    fits = [
        MODELS[name](**row).fit(task, np.random.default_rng(7))
        for name, row in (("tfidf", {}), ("bilinear", small))
    ]
    plain, learnt = (evaluate(fit, task, tuples=2000).means["rank_loss"] for fit in fits)
    assert learnt < plain / 2


def test_what_means_nothing_is_refused(tmp_path, corpus_dir):
    with pytest.raises(BadInput, match="by 'anchor'; it has 'link'"):
        build_task(corpus_dir, tmp_path / "task", relevant="anchor")
    with pytest.raises(ValueError, match=r"queries='documents' with relevant='self'.*'titles'"):
        build_task(corpus_dir, tmp_path / "task", relevant="self", queries="documents")
    freeze(corpus_dir, tmp_path / "frozen", queries=5)
    with pytest.raises(BadInput, match="no pair of a frozen set"):
        build_task(corpus_dir, tmp_path / "task", relevant="self", frozen=[tmp_path / "frozen"])
    lost = write(tmp_path / "lost", TITLES, TEXTS, [("d0", "d9", "nobody", 1)])
    with pytest.raises(BadInput, match="1 names are of no document"):
        build_task(lost, tmp_path / "task", relevant="anchor")


def test_a_side_without_any_pair_says_that_there_are_no_names(tmp_path):
    bare = write(tmp_path / "bare", [""] * len(TEXTS), TEXTS, [("d0", "d1", "?!", 1)])
    with pytest.raises(BadInput, match="there are no titles, of which queries are made"):
        build_task(bare, tmp_path / "task", relevant="self")
    with pytest.raises(BadInput, match="there are no words of links, of which queries are made"):
        build_task(bare, tmp_path / "task", relevant="anchor")
    few = write(tmp_path / "few", TITLES, TEXTS, [("d0", "d1", "automobile", 1)])
    with pytest.raises(BadInput, match=r"of its 1 pairs .* none is left for .*split_seed"):
        build_task(few, tmp_path / "task", relevant="anchor")
