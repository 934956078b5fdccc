"""The table of summaries: what chooses, what is measured, intervals and tests."""

import numpy as np
import pytest

from ssi_core.evaluation.significance import holm, paired_randomisation, rounds_of
from ssi_core.guests.summary import compare as module
from ssi_core.guests.summary.compare import (
    BASELINE,
    DEFAULT,
    LEAD,
    ROWS,
    SNIPPET,
    compare,
    plainly,
    rows_named,
)
from ssi_core.guests.summary.concepts import ConceptBase
from ssi_core.guests.summary.intervals import groups_of, interval, totals
from ssi_core.guests.summary.questions import Question
from ssi_core.guests.summary.rouge import TITLES, rouge
from ssi_core.guests.summary.sentences import sentences
from ssi_core.guests.summary.summariser import Summariser, sentences_of
from ssi_core.types import BadInput
from tests.guests.summary import made


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return ConceptBase.of(made.collection(tmp_path_factory.mktemp("wiki") / "collection"))


def questions():
    asked = [
        ("global warming", "Delegates spoke about global warming for many hours."),
        ("fossil fuel", "Fossil fuel was cheap."),
        ("the kyoto protocol", "The Kyoto Protocol was signed."),
    ]
    return [
        Question(f"g{n // 2}", query, made.TEXTS, answer, chooses)
        for chooses in (True, False)
        for n, (query, answer) in enumerate(asked * 2)
    ]


def test_the_table_is_computed(base):
    result = compare(questions(), base, words=12)
    assert [row["label"] for row in result["rows"]] == [row.label for row in ROWS]
    assert result["tested"] == {"queries": 6, "groups": 3}
    assert result["queries_with_concepts"] == 1
    assert result["choosing"] == {"queries": 6, "groups": 3}
    by_label = {row["label"]: row for row in result["rows"]}
    assert "tests" not in by_label[BASELINE]
    assert by_label["Graph, + Matrix"]["printed"]["rouge1"] == 0.37124
    assert [len(row.get("tried", ())) for row in result["rows"]] == [0, 0, 20, 0, 8, 13, 0, 8, 13]
    # A row of words, by hand.
    summariser, tested = Summariser("tfidf", "word"), [q for q in questions() if not q.chooses]
    values = []
    for question in tested:
        listed = sentences_of(question.texts, "en", 5)
        space = summariser.space(listed, "en")
        scores = summariser.scores(space, question.query)
        chosen = summariser.choose(listed, space, scores, 12, fitting=False)
        ours, theirs = [listed[n].text for n in chosen], sentences(question.summary)
        values.append(rouge(ours, theirs, stems=False, words=12)["rougesu"].recall)
    assert by_label[BASELINE]["means"]["rougesu_plain"] == pytest.approx(np.mean(values))


def test_what_is_kept_of_texts_is_not_taken_for_others():
    asked = questions()[0]
    other = Question(
        "g9", asked.query, ("A quiet evening came. Global warming went on.",), "", False
    )
    row = Summariser("tfidf", "word")
    summaries, expected = module.Prepared(None), []
    for question in (asked, other, asked):
        alone = module.Prepared(None).summary(row, question, 12)
        assert summaries.summary(row, question, 12) == alone
        expected.append(alone)
    assert expected[0] != expected[1]


def test_what_a_row_chose_is_the_best_that_it_tried(base):
    result = compare(questions(), base, words=12)
    for row in result["rows"]:
        tried = row.get("tried", [])
        if "k1" in (row.get("tried") or [{}])[0]:
            best = max(tried, key=lambda one: one["rouge1"])
            assert {name: row["parameters"][name] for name in ("k1", "b")} == {
                name: best[name] for name in ("k1", "b")
            }
            assert len({(one["k1"], one["b"]) for one in tried}) == 20
            continue
        alphas, confidences = tried[:8], tried[8:]
        if alphas:
            best = max(alphas, key=lambda one: one["rouge1"])
            assert row["parameters"]["alpha"] == best["alpha"]
        if confidences:
            assert {one["alpha"] for one in confidences} == {best["alpha"]}
            best = max(confidences, key=lambda one: one["rouge1"])
            assert row["parameters"]["confidence"] == best["confidence"]


def test_queries_that_name_a_concept_are_tested_by_themselves(base):
    nothing = Question("g9", "a quiet evening", made.TEXTS, "Fossil fuel was cheap.", False)
    rows = rows_named((LEAD, SNIPPET, BASELINE))
    whole = compare([*questions(), nothing], base, words=12, rows=rows)
    assert whole["queries_with_concepts"] == pytest.approx(6 / 7)
    without = compare(questions(), base, words=12, rows=rows)
    for found, expected in zip(whole["rows"][:2], without["rows"][:2], strict=True):
        assert found["tests_with_concepts"] == expected["tests"]
        assert found["tests"] != expected["tests"]
    assert "tests_with_concepts" not in compare(questions(), words=12, rows=rows)["rows"][0]


def test_tests_are_over_texts_and_corrected(base):
    values = {}
    kept = module._measured

    def keep(summaries, asked, words):
        values[len(values)] = kept(summaries, asked, words)
        return values[len(values) - 1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_measured", keep)
        result = compare(questions(), base, words=12, rows=rows_named((LEAD, SNIPPET, BASELINE)))
    groups = np.array([0, 0, 1, 1, 2, 2])
    found = [values[n]["rouge1"] for n in range(3)]
    p = [
        paired_randomisation(totals(one, groups), totals(found[2], groups), rounds=rounds_of(2))
        for one in found[:2]
    ]
    for n, row in enumerate(result["rows"][:2]):
        test = row["tests"]["rouge1"]
        assert test["p_holm"] == holm(p)[n]
        assert test["difference"] == pytest.approx(np.mean(found[n] - found[2]))
        low, high = test["interval"]
        assert low <= test["difference"] <= high


def test_the_default_is_tested_and_the_rows_that_beat_it_are_named(monkeypatch):
    result = compare(questions(), words=12)
    rows = {row["label"]: row for row in result["rows"]}
    assert list(rows) == [row.label for row in ROWS if not row.concepts]
    assert result["left_out"] == [row.label for row in ROWS if row.concepts]
    assert len(result["left_out"]) == 4
    assert result["queries_with_concepts"] is None
    assert "tests_default" not in rows[DEFAULT]
    assert rows[DEFAULT]["parameters"]["weighting"] == Summariser().weighting == "bm25"
    test = rows[BASELINE]["tests_default"]["rouge1"]
    assert test["difference"] == pytest.approx(-rows[DEFAULT]["tests"]["rouge1"]["difference"])
    assert set(result["default_beaten_by"]) == set(TITLES)
    assert not any(result["default_beaten_by"].values())
    # 3 texts decide nothing; a row that is above in 40 of them does.
    better = {"difference": 0.1, "p_holm": 0.04}
    assert module._beats({"tests_default": {"rouge1": better}}, "rouge1")
    for other in ({"difference": -0.1}, {"p_holm": 0.06}):
        assert not module._beats({"tests_default": {"rouge1": better | other}}, "rouge1")
    assert not module._beats(rows[DEFAULT], "rouge1")


def test_an_interval_draws_groups():
    groups = groups_of(["a", "a", "b", "b"])
    assert groups.tolist() == [0, 0, 1, 1]
    # Two groups, 0 and 1: a resample has one of them twice, or both.
    assert interval(np.array([0.0, 0.0, 1.0, 1.0]), groups) == (0.0, 1.0)
    # Within a group nothing varies.
    assert interval(np.array([0.0, 1.0, 0.0, 1.0]), groups) == (0.5, 0.5)
    rng = np.random.default_rng(0)
    values = rng.normal(size=400)
    low, high = interval(values, np.arange(400))
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.004)


def test_plain_summaries():
    question = questions()[0]
    assert plainly(LEAD, question, 12)[0] == "The Kyoto Protocol was signed."
    shown = " ".join(plainly(SNIPPET, Question("", "temples", made.TEXTS, "", False), 10))
    assert "temples" in shown
    assert len(shown) <= 10 * 6 + 2


def test_what_cannot_be_compared_is_refused(base):
    with pytest.raises(BadInput, match="0 questions to choose"):
        compare([q for q in questions() if not q.chooses], base)
    with pytest.raises(BadInput, match=r"row 'Graph, \+ Matrix' needs concepts. Add --concepts"):
        compare(questions(), rows=rows_named((BASELINE, "Graph, + Matrix")))
    with pytest.raises(BadInput, match="no row 'TF-IDF, Word'"):
        compare(questions(), base, rows=rows_named((LEAD,)))
    with pytest.raises(BadInput, match=f"Did you mean '{BASELINE}'"):
        rows_named(("TF-IDF Word",))
    assert set(TITLES) == {"rouge1", "rouge2", "rougel", "rougelt", "rougesu"}
