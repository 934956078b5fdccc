"""DBpedia-Entity v2: a fold is judged, and what is relevant to the other queries is clicked."""

import gzip
import json
import re

import polars as pl
import pytest

from ssi_core.datasets.dbpedia_entity import FOLDS, QRELS, QUERIES, title_of
from ssi_core.types import BadInput
from tests.datasets.dumps import real_data
from tests.datasets.test_query_log import named
from tests.sources import ingest

ASKED = [f"q{n}\tthing {n}" for n in range(6)]
JUDGED = [
    "q0\tQ0\t<dbpedia:Red_Thing>\t2",
    "q0\tQ0\t<dbpedia:Blue_Thing>\t1",
    "q0\tQ0\t<dbpedia:Dull_Thing>\t0",
    "q1\tQ0\t<dbpedia:Caf%C3%A9>\t0",
    "q1\tQ0\t<dbpedia:Red_Thing>\t1",
    "q2\tQ0\t<dbpedia:Moon>\t1",
    "q3\tQ0\t<dbpedia:Moon>\t2",
    "q4\tQ0\t<dbpedia:Sun>\t2",
    "q5\tQ0\t<dbpedia:Sun>\t1",
]
TESTED = [["q0"], ["q1"], ["q2"], ["q3"], ["q4", "q5"]]


def sides(tested):
    every = [query for fold in tested for query in fold]
    return {
        str(n): {"testing": fold, "training": [q for q in every if q not in fold]}
        for n, fold in enumerate(tested)
    }


def release(directory, queries=ASKED, judged=JUDGED, folds=None):
    """Files as they are published."""
    (directory / "folds").mkdir(parents=True, exist_ok=True)
    (directory / QUERIES).write_text("".join(f"{line}\n" for line in queries), encoding="utf-8")
    with gzip.open(directory / QRELS, "wt", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in judged))
    (directory / FOLDS).write_text(json.dumps(sides(TESTED) if folds is None else folds))
    return directory


def made_of(tmp_path, fold=1, **files):
    """The log of a fold, and the rows of its pairs and of its judgements."""
    made = ingest("dbpedia-entity", release(tmp_path / "in", **files), tmp_path / "log", fold=fold)
    pairs = named(made, "click").select("text", "target", "clicks", "weight")
    judged = named(made, "judgement").select("text", "target", "grade")
    return made, set(pairs.rows()), set(judged.rows())


def test_a_fold_is_judged_and_what_is_relevant_in_the_others_is_clicked(tmp_path):
    made, pairs, judged = made_of(tmp_path)
    # Red Thing is judged for q0: a task leaves the pair out, the collection does not.
    assert pairs == {
        ("thing 1", "<dbpedia:Red_Thing>", 1, 1.0),
        ("thing 2", "<dbpedia:Moon>", 1, 1.0),
        ("thing 3", "<dbpedia:Moon>", 1, 1.0),
        ("thing 4", "<dbpedia:Sun>", 1, 1.0),
        ("thing 5", "<dbpedia:Sun>", 1, 1.0),
    }
    assert judged == {
        ("thing 0", "<dbpedia:Red_Thing>", 2.0),
        ("thing 0", "<dbpedia:Blue_Thing>", 1.0),
        ("thing 0", "<dbpedia:Dull_Thing>", 0.0),
    }
    documents = pl.read_parquet(made.path / "documents" / "*.parquet")
    assert documents["title"].to_list() == [
        "Blue Thing", "Café", "Dull Thing", "Moon", "Red Thing", "Sun"
    ]  # fmt: skip
    assert (made.counts["rows"], made.counts["pairs_of_judged_documents"]) == (9, 1)
    assert made.skipped == {"training_judgement_not_relevant": 1}


def test_every_query_is_judged_in_one_fold(tmp_path):
    for fold, tested in enumerate(TESTED, 1):
        _, pairs, judged = made_of(tmp_path / f"{fold}", fold)
        assert {text for text, *_ in judged} == {f"thing {query[1:]}" for query in tested}
        assert {text for text, *_ in pairs} == {
            f"thing {n}" for n in range(6) if f"q{n}" not in tested
        }


def test_queries_of_one_wording_are_one_in_the_fold_of_the_first(tmp_path):
    queries = [*ASKED[:5], "q5\tThing  0"]
    judged = [*JUDGED[:-1], "q5\tQ0\t<dbpedia:Red_Thing>\t1", "q5\tQ0\t<dbpedia:Sun>\t1"]
    made, pairs, rated = made_of(tmp_path / "1", 1, queries=queries, judged=judged)
    assert "thing 0" not in {text for text, *_ in pairs}
    assert {row[1:] for row in rated} == {
        ("<dbpedia:Red_Thing>", 2.0),
        ("<dbpedia:Blue_Thing>", 1.0),
        ("<dbpedia:Dull_Thing>", 0.0),
        ("<dbpedia:Sun>", 1.0),
    }
    assert made.skipped["judgement_of_repeated_query"] == 1
    # Its own fold trains on it, once for each title.
    _, pairs, rated = made_of(tmp_path / "5", 5, queries=queries, judged=judged)
    assert {row[1:3] for row in pairs if row[0] == "thing 0"} == {
        ("<dbpedia:Red_Thing>", 1), ("<dbpedia:Blue_Thing>", 1), ("<dbpedia:Sun>", 1)
    }  # fmt: skip
    assert {text for text, *_ in rated} == {"thing 4"}


def test_a_title_is_what_its_identifier_says():
    assert title_of("<dbpedia:AC/DC>") == "AC/DC"
    assert title_of("<dbpedia:50%25_Grey>") == "50% Grey"
    assert title_of("<dbpedia:C%2B+>") == "C++"
    for wrong in ("dbpedia:Moon", "<dbpedia:Moon", "<dbpedia:>", "<dbpedia:_>", "<wiki:Moon>"):
        with pytest.raises(ValueError, match=re.escape(wrong)):
            title_of(wrong)
    with pytest.raises(ValueError, match="utf-8"):
        title_of("<dbpedia:Caf%E9>")


def refusal(folder, **files):
    """Return what is said of files with a damaged line."""
    with pytest.raises(BadInput, match=r"Restore the published file\.$") as caught:
        made_of(folder, **files)
    return str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        "q6 no tab", "\tno id", "q6\t", "q6\t...", "q6\ta\tb", "q0\tthe id of another", "",
    ],
)  # fmt: skip
def test_a_damaged_query_names_its_line(tmp_path, line):
    said = f"{QUERIES}: line 7 is {line + chr(10)!r}, expected an id that no line above has, a tab"
    assert said in refusal(tmp_path, queries=[*ASKED, line])


@pytest.mark.parametrize(
    "line",
    [
        "q1\tQ0\t<dbpedia:Sun>", "q1\tQ0\t<dbpedia:Sun>\t1\t1", "q9\tQ0\t<dbpedia:Sun>\t1",
        "q1\tQ1\t<dbpedia:Sun>\t1", "q1\tQ0\tSun\t1", "q1\tQ0\t<dbpedia:%FF>\t1",
        "q1\tQ0\t<dbpedia:Sun>\t3", "q1\tQ0\t<dbpedia:Sun>\t-1", "q1 Q0 <dbpedia:Sun> 1", "",
    ],
)  # fmt: skip
def test_a_damaged_judgement_names_its_line(tmp_path, line):
    said = (
        f"{QRELS}: line 10 is {line + chr(10)!r}, expected the id of a query of {QUERIES}, Q0, an"
    )
    assert said in refusal(tmp_path, judged=[*JUDGED, line])


@pytest.mark.parametrize(
    "folds",
    [
        [TESTED],
        "five",
        {"0": TESTED[0]},
        {**sides(TESTED), "last": {"testing": [], "training": []}},
        sides(TESTED[:4]),
        sides([*TESTED[:4], ["q4"]]),
        sides([*TESTED[:4], ["q4", "q5", "q9"]]),
        sides([["q0", "q5"], *TESTED[1:]]),
        sides([["q0", "q0"], *TESTED[1:]]),
        {**sides(TESTED), "4": {"testing": ["q4", "q5"], "training": ["q0"]}},
        {**sides(TESTED), "4": {"testing": [["q4"], "q5"], "training": ["q0"]}},
        {**sides(TESTED), "4": {"testing": ["q4", "q5"]}},
    ],
)
def test_damaged_folds_are_refused(tmp_path, folds):
    with pytest.raises(BadInput, match=r"all_queries.json: expected five folds, .* Restore the"):
        made_of(tmp_path, folds=folds)


def test_folds_that_are_no_json_and_missing_files_are_named(tmp_path):
    directory = release(tmp_path)
    (directory / FOLDS).write_text("{")
    with pytest.raises(BadInput, match=r"all_queries.json.* Restore the published file"):
        ingest("dbpedia-entity", directory, tmp_path / "log")
    (directory / QRELS).unlink()
    with pytest.raises(BadInput, match=QRELS):
        ingest("dbpedia-entity", directory, tmp_path / "log")


def test_the_published_folds(tmp_path):
    directory = real_data("dbpedia-entity")
    queries: set[str] = set()
    for fold, (judged_queries, judgements, pairs, not_relevant) in enumerate(
        (
            (93, 11_463, 11_574, 26_174),
            (94, 9678, 13_654, 25_879),
            (93, 8970, 14_319, 25_922),
            (94, 9971, 13_206, 26_034),
            (92, 9129, 13_903, 26_179),
        ),
        1,
    ):
        made = ingest("dbpedia-entity", directory, tmp_path / f"{fold}", fold=fold)
        expected = {
            "queries": 466, "documents": 45_685, "rows": 49_280, "judged_queries": judged_queries,
            "judgements": judgements, "pairs": pairs, "judged_queries_clicked": 0,
        }  # fmt: skip
        assert {name: made.counts[name] for name in expected} == expected
        assert made.skipped == {
            "training_judgement_not_relevant": not_relevant, "judgement_of_repeated_query": 69
        }  # fmt: skip
        assert judgements + pairs + not_relevant + 69 == 49_280
        judged = set(named(made, "judgement")["source"])
        assert not queries & judged
        queries |= judged
    # "Axis powers of World War II" stands in two of the benchmarks.
    assert len(queries) == 466
