"""What is typed at the sample encyclopedia: the page that is meant is among the first answers."""

import pytest

import ssi_core as ssi
from benchmarks import sample
from ssi_core.face.fit import search_model

pytestmark = pytest.mark.trains


@pytest.fixture(autouse=True)
def own_root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))


def test_fifty_queries_are_kept_with_titles_of_pages():
    asked = sample.queries()
    assert asked.columns == ["query", "title"]
    assert asked.n_unique("query") == asked.n_unique("title") == 50
    assert set(asked["title"].str.to_lowercase()) <= set(sample.subjects())


def test_automobile_is_answered_with_car():
    dump = ssi.read_sample(200)
    for docs in (dump, sample.as_table(dump)):
        model, _ = search_model(docs, budget=2_000)
        assert [hit.title for hit in model.index(docs).search("automobile", k=1).hits] == ["Car"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 1], ids=["kept", "drawn"])
def test_nine_of_ten_queries_find_their_page_where_bm25_does_not(seed):
    asked = sample.queries() if seed is None else sample.draw(seed)
    titles, found = asked["title"].to_list(), {}
    for name, index in sample.rows(ssi.read_sample(sample.DOCUMENTS), budget=20_000):
        found[name.split(" (")[0]] = sample.first_titles(index, asked["query"].to_list())
    for kind in ("dump", "table"):
        box, bm25 = found[f"{kind}: search box"], found[f"{kind}: BM25"]
        assert sample.success(box, titles, 3) >= 0.9
        assert sample.success(box, titles, 3) > sample.success(bm25, titles, 3)
        assert sample.success(box, titles, 1) >= 0.9
        assert sample.on_subject(box, titles) >= 0.9


@pytest.mark.slow
def test_related_words_are_of_the_same_subject():
    model = sample.linked(ssi.read_sample(sample.DOCUMENTS))
    assert sample.related_on_subject(model, ["automobile"]) >= 0.8
    assert sample.related_on_subject(model, sample.queries()["query"].to_list()) >= 0.8
