"""Queries to begin with: titles that the model reads, the most linked first."""

from types import SimpleNamespace

from flows.serve import examples as module
from flows.serve.examples import examples
from ssi_core.serving.index import build_index, open_index
from ssi_core.serving.searcher import Searcher
from tests.serving.models import TEXTS, TITLES, documents, random_models, write_parts


def test_examples_are_titles_that_the_model_reads_the_most_linked_first(tmp_path):
    fitted = random_models(1)[-1]
    read, texts = (
        documents(dict(fitted.document_views)),
        write_parts(tmp_path / "texts", TEXTS, [None] * len(TEXTS)),
    )
    build_index(fitted, read, tmp_path / "index", parents={}, texts=texts)
    asked = Searcher(fitted, open_index(tmp_path / "index"))
    assert examples(asked, 3) == examples(asked, 3)
    assert set(examples(asked)) <= set(TITLES)
    assert "Planets" not in examples(asked), "a word that the model does not know"


def test_examples_begin_with_what_links_name_in_most_words(monkeypatch):
    class Linked(list):
        titles = ("Car", "Boat (ship)", "Bird", "x" * 31, "x" * 30, "Three words here", "4 " * 4)
        anchors = ("a", "a\nb\nc", "a\nb", *["a"] * 4)
        passages = tuple(SimpleNamespace(anchors=words) for words in anchors)

    monkeypatch.setattr(module, "known", lambda queries: [True] * len(queries))
    asked = SimpleNamespace(index=Linked(range(7)), queries=lambda titles: titles)
    assert examples(asked) == ["Boat", "Bird", "Car", "x" * 30, "Three words here"]
