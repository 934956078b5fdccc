from inspect import signature
from pathlib import Path

import pytest

from ssi_core.serving.searcher import open_searcher


def test_a_demo_that_is_called_is_that_of_the_command():
    from flows.commands.demo import DemoSettings
    from flows.demo import demo

    settings, called = DemoSettings(), signature(demo).parameters
    assert (called["documents"].default, called["seed"].default) == (
        settings.documents,
        settings.seed,
    )


# The demo itself is run by every check of the whole project; this is its result in detail.
@pytest.mark.flow
@pytest.mark.slow
def test_the_demo_searches_with_words_and_with_what_was_learned(prefect_server, tiny):
    from flows.demo import demo

    found = demo(120, seed=4, table=str(tiny), budget=1000, k=5)

    search = found["search"]
    assert search["labels"][0] == "TF-IDF"
    assert search["query"] == "automobile"
    by_words = search["results"]["TF-IDF"]
    assert by_words
    assert all("automobile" in hit["says"] for hit in by_words)
    assert {row["run_id"] for row in found["rows"]} >= set(search["runs"].values())
    box = search["labels"][1]
    assert box.startswith("search box (")
    assert [hit["title"] for hit in search["results"][box]]
    assert search["related"]["document"] == search["results"][box][0]["title"]
    assert search["related"]["document"] not in search["related"]["titles"]
    searcher = open_searcher(Path(search["model"]))
    again = [hit.title for hit in searcher.search(["automobile"], 5)[0].hits]
    assert again == [hit["title"] for hit in search["results"][box]]

    across = found["across"]
    assert [row["label"] for row in across["rows"]] == ["TF-IDF", "CL-LSI", "SSI Japanese-English"]
    assert across["search"]["query"] == "自動車"
    translated = across["search"]["results"]["TF-IDF"]
    assert translated
    assert all({"car", "motorcar"} & set(hit["says"]) for hit in translated)


def test_without_an_answer_no_document_is_related():
    from flows.demo import _related

    nothing = {"row": "U'V", "document": "", "titles": []}
    assert _related("no such run", "U'V", "", 5) == nothing
