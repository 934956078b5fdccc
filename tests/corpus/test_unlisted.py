"""Pages of built sites that a search should not find."""

from collections import Counter

import pytest

from ssi_core.collection import open_collection
from ssi_core.corpus.web.folder import pages_in
from ssi_core.corpus.web.unlisted import unlisted
from ssi_core.types import BadInput
from tests.corpus.test_folder import links, write
from tests.sources import ingest

WORDS = "<title>T</title><p>words"
HUGO_ALIAS = (
    '<!DOCTYPE html><html lang="en"><head><title>/new/</title><link rel="canonical" href="/new/">'
    '<meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/new/"></head></html>'
)
JEKYLL = (
    "<!DOCTYPE html><html><title>Redirecting&hellip;</title><link rel=canonical href='x'>"
    "<meta content='0; URL=new/index.html' http-equiv='Refresh'><h1>Redirecting&hellip;</h1>"
)
NOT_NOW = f"<noscript><meta http-equiv=refresh content='0; url=/plain'></noscript>{WORDS}"
RELOADED = f"<meta http-equiv=refresh content=300>{WORDS}"


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("old.html", HUGO_ALIAS, "page_that_leads_on"),
        ("old.html", JEKYLL, "page_that_leads_on"),
        ("a/old.htm", HUGO_ALIAS, "page_that_leads_on"),
        ("a.html", NOT_NOW, None),
        ("a.html", RELOADED, None),
        ("a.html", f"<!-- {HUGO_ALIAS} -->{WORDS}", None),
        ("print.html", f'<meta name="robots" content="noindex">{WORDS}', "page_not_to_be_indexed"),
        ("a.html", f"<META content='none' NAME=robots>{WORDS}", "page_not_to_be_indexed"),
        ("a.html", f'<meta name="robots" content="index, follow">{WORDS}', None),
        ("a.html", f'<meta name="description" content="noindex">{WORDS}', None),
        ("404.html", WORDS, "page_of_no_address"),
        ("ja/404.html", WORDS, "page_of_no_address"),
        ("404/index.html", WORDS, "page_of_no_address"),
        ("a404.html", WORDS, None),
        ("_sources/a.rst.txt", "words", "copy_of_a_source"),
        ("genindex.html", WORDS, "page_that_is_an_index"),
        ("en/genindex-A.html", WORDS, "page_that_is_an_index"),
        ("py-modindex/index.html", WORDS, "page_that_is_an_index"),
        ("index.html", WORDS, None),
        ("robots.txt", "Disallow: /", "file_for_programs"),
        ("_static/a.js.LICENSE.txt", "words", "file_for_programs"),
        ("a.txt", "words", None),
        ("a.md", HUGO_ALIAS, None),
    ],
)
def test_pages_for_programs_have_a_reason(tmp_path, name, text, reason):
    write(tmp_path, {"new/index.html": WORDS, "b.html": WORDS, name: text})
    found = unlisted(tmp_path, pages_in(tmp_path, Counter())).reasons
    assert found == ({} if reason is None else {name: reason})


def test_of_a_site_that_asks_not_to_be_indexed_all_pages_are_read(tmp_path):
    hidden = f'<meta name="robots" content="noindex">{WORDS}'
    write(tmp_path, {"a.html": hidden, "b.html": hidden, "c.html": WORDS, "404.html": hidden})
    found = unlisted(tmp_path, pages_in(tmp_path, Counter())).reasons
    assert found == {"404.html": "page_of_no_address"}


def test_texts_alone_are_no_copies(tmp_path):
    write(tmp_path, {"a.rst.txt": "words", "b.md": "words"})
    assert unlisted(tmp_path, pages_in(tmp_path, Counter())).reasons == {}


def test_a_link_to_a_page_that_leads_on_leads_where_that_does(tmp_path):
    pages = {
        "new/index.html": WORDS,
        "old n/a.html": HUGO_ALIAS,
        "b.html": f'{WORDS} <a href="old%20n/a.html">by its former name</a>',
        "404.html": WORDS,
    }
    artefact = ingest("folder", write(tmp_path / "site", pages), tmp_path / "out")
    assert links(artefact) == {("b.html", "new/index.html")}
    ids = open_collection(artefact.path).documents.collect()["id"].to_list()
    assert ids == ["b.html", "new/index.html"]
    assert artefact.skipped["page_that_leads_on"] == 1
    assert artefact.skipped["page_of_no_address"] == 1


def test_a_folder_without_another_page_is_refused(tmp_path):
    write(tmp_path / "site", {"404.html": WORDS})
    with pytest.raises(BadInput, match=r"its 1 pages are none that a search may find"):
        ingest("folder", tmp_path / "site", tmp_path / "out")


def test_a_folder_of_other_markup_is_to_be_built_first(tmp_path):
    write(tmp_path / "site", {"index.rst": "words"})
    with pytest.raises(BadInput, match=r"Build the site of its \.rst files"):
        ingest("folder", tmp_path / "site", tmp_path / "out")
