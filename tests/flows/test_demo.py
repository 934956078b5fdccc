import pytest

from tests.flows.project import write_dump

pytestmark = pytest.mark.flow


def test_the_demo_finds_pages_by_what_links_taught(prefect_server, tiny, monkeypatch):
    from flows.demo import demo
    from ssi_core.corpus import sample

    def fifty_pages(directory, *, documents, seed, progress=None):
        write_dump(directory / "enwiki-sample-pages-articles.xml.bz2")
        return {"documents": documents}

    # The real sample has its own tests; here it would take most of the time.
    monkeypatch.setattr(sample, "write_sample", fifty_pages)
    found = demo(51, seed=4, table=str(tiny), k=5)

    search = found["search"]
    assert search["labels"][0] == "TF-IDF"
    assert search["query"] == "automobile"
    assert all(len(search["results"][label]) == 5 for label in search["labels"])
    # Words alone find what says the word.
    assert all("automobile" in hit["says"] for hit in search["results"]["TF-IDF"])
    assert {row["run_id"] for row in found["rows"]} >= set(search["runs"].values())
