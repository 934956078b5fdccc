"""The text of a page."""

from pathlib import Path

import pytest

from ssi_core.guests.live.page import page_text
from ssi_core.types import BadInput
from tests.corpora import write_corpus, write_mates


def test_a_page_is_a_file_or_a_title_of_a_corpus(tmp_path):
    (tmp_path / "page.txt").write_text("a page on cars")
    assert page_text(str(tmp_path / "page.txt"), None) == "a page on cars"
    corpus = write_corpus(tmp_path / "corpus", ["first", "second", "third"], [])
    assert page_text("Page 2", corpus) == "third"
    assert page_text("d1", corpus) == "second"
    mates = write_mates(tmp_path / "mates", 20)
    assert page_text("titulo3x", mates).startswith("ĵ"), "queries come before documents"


@pytest.mark.parametrize(
    ("page", "said"),
    [("Nowhere", "no page has the title or id 'Nowhere'"), ("x" * 5000, "no page has the title")],
)
def test_a_page_that_is_not_there_is_named(tmp_path, page, said):
    corpus = write_corpus(tmp_path / "corpus", ["first", "second"], [])
    with pytest.raises(BadInput, match=said):
        page_text(page, corpus)
    with pytest.raises(BadInput, match="is no file"):
        page_text(page, None)


def test_a_file_that_is_no_text_is_named(tmp_path):
    Path(tmp_path / "page.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match=r"page.txt: .*Check the path"):
        page_text(str(tmp_path / "page.txt"), None)
