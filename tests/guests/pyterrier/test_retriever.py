"""Indexes of ssi in pipelines and experiments of PyTerrier."""

import sys

import pytest

import ssi_core as ssi
from ssi_core.types import BadInput, Refused

# PyTerrier calls pandas by names that pandas 3.1 will drop.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    """BM25F and TF-IDF on the same documents."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(tmp_path_factory.mktemp("pyterrier")))
        docs = ssi.read_sample(200)
        task = ssi.Task.of(docs)
        yield (
            {
                "BM25F": ssi.Ranker("bm25f").fit(task).index(docs),
                "TF-IDF": ssi.TfIdf().fit(task).index(docs),
            },
            docs.frame.select("id", "title"),
        )


@pytest.fixture
def pt():
    return pytest.importorskip("pyterrier", reason="PyTerrier is the extra pyterrier: make peers")


@pytest.fixture
def asked(pt, sides):
    """Titles as queries, of which each has its document; the last finds nothing."""
    import pandas as pd

    rows = [[f"q{n}", title, "typed"] for n, title in enumerate(sides[1]["title"][:40])]
    topics = pd.DataFrame([*rows, ["q40", "qqqq", "typed"]], columns=["qid", "query", "kind"])
    judged = [[f"q{n}", id_, 1] for n, id_ in enumerate(sides[1]["id"][:40])]
    return topics, pd.DataFrame(judged, columns=["qid", "docno", "label"])


def test_an_experiment_measures_what_the_indexes_find(pt, sides, asked):
    from ssi_core.guests.pyterrier import Retriever

    indexes, documents = sides
    topics, judged = asked
    systems = [Retriever(index, k=10) for index in indexes.values()]
    table = pt.Experiment(
        systems, topics[:40], judged, ["recip_rank"], names=[*indexes], baseline=0
    )
    for name, index in indexes.items():
        found = [[hit.id for hit in hits] for hits in index.search([*topics["query"][:40]], 10)]
        places = [
            1 / (1 + ids.index(id_)) if id_ in ids else 0
            for ids, id_ in zip(found, documents["id"], strict=False)
        ]
        measured = table.set_index("name").loc[name, "recip_rank"]
        assert measured == pytest.approx(sum(places) / 40)
    assert len(set(table["recip_rank"])) == 2


def test_rows_have_the_columns_of_results_and_those_of_their_query(pt, sides, asked):
    from ssi_core.guests.pyterrier import Retriever

    index = sides[0]["BM25F"]
    found = Retriever(index, k=3)(asked[0][38:])
    assert [*found.columns] == ["qid", "query", "kind", "docno", "score", "rank"]
    hits = index.search(asked[0]["query"][39], 3)
    ours = found[found["qid"] == "q39"]
    assert [*ours["docno"]] == [hit.id for hit in hits]
    assert [*ours["score"]] == [hit.score for hit in hits]
    assert [*ours["rank"]] == [0, 1, 2]
    assert {*found["qid"]} == {"q38", "q39"}
    nothing = Retriever(index)(asked[0][40:])
    assert [*nothing.columns] == [*found.columns]
    assert len(nothing) == 0


def test_it_is_part_of_pipelines(pt, sides, asked):
    from ssi_core.guests.pyterrier import Retriever

    first, second = (Retriever(index) for index in sides[0].values())
    both = (first % 5 + second % 5)(asked[0][:5])
    assert len(both) > 5
    assert pt.inspect.transformer_outputs(first % 5, ["qid", "query"]) == [
        "qid",
        "query",
        "docno",
        "score",
        "rank",
    ]
    with pytest.raises(KeyError, match="docno"):
        (first >> second)(asked[0][:5])


def test_wrong_settings_are_explained(pt, sides):
    from ssi_core.guests.pyterrier import Retriever

    with pytest.raises(BadInput, match=r"a str, expected an Index.*model\.index"):
        Retriever("index")
    with pytest.raises(BadInput, match="k=0: expected at least 1"):
        Retriever(sides[0]["BM25F"], k=0)


@pytest.mark.parametrize("name", ["Absent", "absent"])
def test_another_name_is_no_attribute(name):
    from ssi_core.guests import pyterrier

    with pytest.raises(AttributeError, match=name):
        getattr(pyterrier, name)


def test_without_pyterrier_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyterrier", None)
    monkeypatch.delitem(sys.modules, "ssi_core.guests.pyterrier.transformer", raising=False)
    with pytest.raises(Refused, match=r"pip install 'ssi\[pyterrier\]'"):
        from ssi_core.guests.pyterrier import Retriever  # noqa: F401
