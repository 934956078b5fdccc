"""Scores and choice of sentences against the paper's equations."""

import numpy as np
import pytest

from ssi_core.guests.summary.concepts import ConceptBase
from ssi_core.guests.summary.sentences import sentences
from ssi_core.guests.summary.summariser import Summariser, sentences_of
from ssi_core.guests.summary.vectors import STOP_WORDS
from ssi_core.serving.summaries import summarise
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput
from tests.guests.summary import made, naive
from tests.settings import hold

QUERY = "what was said about global warming and fossil fuel"


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return ConceptBase.of(made.collection(tmp_path_factory.mktemp("wiki") / "collection"))


def similarities(base, listed, query, similarity, alpha, confidence):
    """Similarity of every two sentences and with the query: words, concepts and their sum (7)."""
    split = [list(one.words) for one in listed]
    vectors, idf = naive.word_vectors(split, STOP_WORDS["en"])
    asked = naive.vector(tokenize(query), idf)
    words = [[naive.cosine(one, other) for other in vectors] for one in vectors]
    with_query = [naive.cosine(one, asked) for one in vectors]
    if similarity == "word":
        return words, words, with_query
    linking = {row: set() for row in range(len(base.titles))}
    for source, target in made.LINKS:
        linking[int(target)].add(int(source))
    concepts = [base.wikify(one, 0.05) for one in split]
    columns = sorted({concept for one in concepts for concept in one})

    def concept_vector(one):
        if similarity == "concept":
            return {concept: 1.0 for concept in one if concept in columns}
        return naive.related_vector(one, columns, linking, len(base.titles), confidence)

    rows = [concept_vector(one) for one in concepts]
    of_query = concept_vector(base.wikify(tokenize(query), 0.05))
    every = [
        [word + alpha * naive.cosine(a, b) for word, b in zip(line, rows, strict=True)]
        for line, a in zip(words, rows, strict=True)
    ]
    both = [
        word + alpha * naive.cosine(row, of_query)
        for word, row in zip(with_query, rows, strict=True)
    ]
    return words, every, both


@pytest.mark.parametrize("query", [QUERY, "coal and oil in Kyoto", "xyz"])
@pytest.mark.parametrize("similarity", ["word", "concept", "matrix"])
@pytest.mark.parametrize("weighting", ["tfidf", "graph"])
def test_scores_and_choice_are_those_of_the_paper(base, weighting, similarity, query):
    alpha, confidence = 0.7, 0.3
    summariser = Summariser(
        weighting, similarity, alpha=alpha, confidence=confidence, redundancy=0.35, shortest=1
    )
    listed = sentences_of(made.TEXTS, "en", 1)
    space = summariser.space(listed, "en", base)
    words, every, asked = similarities(base, listed, query, similarity, alpha, confidence)
    expected = asked
    if weighting == "graph":
        n, total = len(asked), sum(asked)
        bias = [one / total for one in asked] if total else [1 / n] * n
        expected = naive.walk(every, bias, 0.3, 1e-5)
    scores = summariser.scores(space, query)
    assert scores == pytest.approx(np.array(expected), abs=1e-9)
    lengths = [len(one.words) for one in listed]
    for fitting in (True, False):
        chosen = summariser.choose(listed, space, scores, 20, fitting=fitting)
        assert chosen == naive.choose(expected, words, lengths, 20, 0.35, fitting)


def test_related_concepts_lend_their_weight(base):
    listed = sentences_of(made.TEXTS, "en", 1)
    position = next(n for n, one in enumerate(listed) if one.text.startswith("The Kyoto Protocol"))
    query = "fossil fuel"
    scores = {}
    for similarity in ("word", "concept", "matrix"):
        summariser = Summariser("tfidf", similarity, confidence=0.2)
        space = summariser.space(listed, "en", base)
        scores[similarity] = summariser.scores(space, query)[position]
    assert scores["word"] == scores["concept"] == 0
    assert scores["matrix"] > 0


def test_sentences_alike_are_not_both_chosen():
    text = "The old ship sank in a storm. The old ship sank in the storm. Nobody saw the ship sink."
    listed = sentences_of([text], "en", 1)
    summariser = Summariser("tfidf")
    space = summariser.space(listed, "en")
    scores = summariser.scores(space, "why the ship sank in a storm")
    assert summariser.choose(listed, space, scores, 100) == [0, 2]
    # Without a threshold all are.
    assert sorted(Summariser("tfidf", redundancy=2.0).choose(listed, space, scores, 100)) == [
        0,
        1,
        2,
    ]


def test_equal_sentences_count_once_and_short_ones_not_at_all():
    listed = sentences_of(["One two three four five. Yes.", "One two three four five."], "en", 5)
    assert [(one.text, one.document) for one in listed] == [("One two three four five.", 0)]
    # Where all are short, they are taken.
    assert [one.text for one in sentences_of(["Yes. No."], "en", 5)] == ["Yes.", "No."]
    assert sentences_of([""], "en", 5) == []


def test_one_sentence_that_is_too_long_is_a_summary():
    listed = sentences_of(["One two three four five six."], "en", 5)
    summariser = Summariser()
    space = summariser.space(listed, "en")
    scores = summariser.scores(space, "four")
    assert summariser.choose(listed, space, scores, 3) == [0]


@pytest.mark.parametrize("weighting", ["bm25", "tfidf", "graph"])
def test_a_summary_of_any_length_has_a_sentence_that_shares_a_word(weighting):
    text = (
        "The captain of the old ship did not see the ice before the ship went down in the night. "
        "Nobody has seen the cook since then. Bread was cheap in those days."
    )
    listed = sentences_of([text], "en", 5)
    for words in range(1, 60):
        places, _ = Summariser(weighting).answer(listed, "why did the ship go down", words, "en")
        assert places == [0]
    # Where nothing is shared, the best of all are taken.
    places, _ = Summariser(weighting).answer(listed, "xyz", 14, "en")
    assert [listed[n].text for n in places] != []


def test_bm25_is_its_definition():
    texts = ["Old red boats. Red red sails here.", "Ship, ship, the red ships. The end of it."]
    listed = sentences_of(texts, "en", 1)
    query = "the red ship with sails, red?"
    for k1, b in ((1.2, 0.75), (0.4, 0.0), (2.0, 1.0)):
        summariser = Summariser(k1=k1, b=b)
        scores = summariser.scores(summariser.space(listed, "en"), query)
        split = [list(one.words) for one in listed]
        assert scores == pytest.approx(naive.bm25(split, ["red", "ship", "sails"], k1, b))
    assert scores.max() > 0


def test_a_repetition_is_left_out_by_bm25_as_by_the_others():
    text = "The old ship sank in a storm. The old ship sank in the storm. The ship had a red sail."
    listed = sentences_of([text], "en", 1)
    assert Summariser().answer(listed, "old ship storm", 100, "en")[0] == [0, 2]
    every = Summariser(redundancy=2.0).answer(listed, "old ship storm", 100, "en")[0]
    assert every == [0, 1, 2]


def test_settings_out_of_bounds_and_concepts_that_are_not_there_are_refused(base):
    for wrong in ({"bias": 1.0}, {"alpha": -1.0}, {"weighting": "pagerank"}, {"shortest": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Summariser(**wrong)
    listed = sentences_of(made.TEXTS, "en", 1)
    with pytest.raises(ValueError, match="weighting='bm25' counts words alone"):
        Summariser(similarity="matrix")
    with pytest.raises(BadInput, match="ssi rank summary concepts"):
        Summariser("graph", "matrix").space(listed, "en")
    with pytest.raises(BadInput, match="'en' and the texts 'ja'"):
        Summariser("graph", "matrix").space(listed, "ja", base)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He left. She stayed.", ["He left.", "She stayed."]),
        ("Mr. A. B. Smith has 3.5 cars. Has he?", ["Mr. A. B. Smith has 3.5 cars.", "Has he?"]),
        ("It ended (in 1912.) Then it began.", ["It ended (in 1912.)", "Then it began."]),
        ('He said "No!" and left.', ['He said "No!" and left.']),
        ("words are split . the next one .", ["words are split .", "the next one ."]),
        ("Title\n\nOne line\ngoes on. Cut o", ["One line goes on."]),
        ("only a title", ["only a title"]),
        ("猫がいる。犬もいる！", ["猫がいる。", "犬もいる！"]),
        ("「本だ。」と言った。次。", ["「本だ。」と言った。", "次。"]),
        (" \n ", []),
        ("Stop!!! Now... it ended.", ["Stop!!!", "Now... it ended."]),
        ("a. " * 300, [("a. " * 300).strip()]),
    ],
)
def test_texts_are_split_into_sentences(text, expected):
    assert sentences(text) == expected


def test_japanese_is_summarised():
    text = "東京は日本の首都である。京都の寺は古い。清水寺の舞台は京都の東にある。"
    listed = sentences_of([text], "ja", 3)
    summariser = Summariser("tfidf", shortest=3)
    space = summariser.space(listed, "ja")
    scores = summariser.scores(space, "清水寺の舞台")
    best = summariser.choose(listed, space, scores, 12)[0]
    assert listed[best].text == "清水寺の舞台は京都の東にある。"


def test_settings_are_those_of_the_file():
    hold(__file__, {"summariser": Summariser})


def test_an_unknown_summary_is_told_those_that_are_known():
    with pytest.raises(BadInput, match=r"by 'poem' are unknown; known are: .*sentences"):
        summarise("poem")
