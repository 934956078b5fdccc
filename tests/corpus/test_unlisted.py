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


READTHEDOCS = '<div id="mkdocs-search-results" class="search-results">'
TAGGED = '<meta data-rh="true" name="docusaurus_tag" content="{}">'
NOT_INDEXED = "page_not_to_be_indexed"


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
        ("search.html", f'{WORDS}<div id="search-results"></div>', "page_that_is_an_index"),
        ("en/search.html", f"{WORDS}{' ' * 20_000}{READTHEDOCS}", "page_that_is_an_index"),
        ("search.html", f'{WORDS}<div id="mkdocs-search-results"></div>', None),
        ("search.html", f'{WORDS}<h2 id="search-results">Search results</h2>', None),
        ("a.html", f'{WORDS}<div id="search-results"></div>', None),
        ("search/index.html", f"<meta property=robots content=noindex>{WORDS}", NOT_INDEXED),
        ("a/index.html", TAGGED.format("doc_tag_doc_list") + WORDS, "page_that_is_an_index"),
        ("blog/page/2/index.html", TAGGED.format("blog_posts_list"), "page_that_is_an_index"),
        ("a/index.html", TAGGED.format("docs-default-current") + WORDS, None),
        ("fed/tags/index.html", WORDS, "page_that_is_an_index"),
        ("fed/categories/old/index.html", WORDS, "page_that_is_an_index"),
        ("tags/index.html", WORDS, None),
        ("fed/posts/index.html", WORDS, None),
        ("_modules/a/b.html", WORDS, "copy_of_a_source"),
        ("_static/webpack-macros.html", WORDS, "file_for_programs"),
        ("robots.txt", "Disallow: /", "file_for_programs"),
        ("_static/a.js.LICENSE.txt", "words", "file_for_programs"),
        ("a.txt", "words", None),
        ("a.md", HUGO_ALIAS, None),
    ],
)
def test_pages_for_programs_have_a_reason(tmp_path, name, text, reason):
    write(tmp_path, {"new/index.html": WORDS, "b.html": WORDS, name: text})
    if name.startswith("fed/"):
        (tmp_path / name).with_suffix(".xml").touch()
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


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["index.rst"], r"Build the site of its \.rst files"),
        (
            ["a/1", "a/2", "b.pdf"],
            r"It has others \(without suffix, pdf\): .* with \.txt, and convert",
        ),
        (["a.csv"], r"It has others \(csv\): name a table itself"),
        ([".hidden"], r"Name a folder that has some\.$"),
    ],
)
def test_a_folder_without_a_page_says_what_to_do_with_its_files(tmp_path, names, said):
    write(tmp_path / "site", dict.fromkeys(names, "words"))
    with pytest.raises(BadInput, match=said):
        ingest("folder", tmp_path / "site", tmp_path / "out")
