"""A newer dump read beside the corpus of an older one gives what a full ingestion gives."""

import json
import logging
import shutil
from dataclasses import dataclass, replace

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssi_core.datasets.wikipedia import chunks
from ssi_core.datasets.wikipedia.before import mark_pages
from ssi_core.types import BadInput
from tests.corpora import write_corpus
from tests.datasets import dumps
from tests.killing import beside, run_killed
from tests.seals import reseal
from tests.sources import ingest

TABLES = ("documents", "pages", *(f"relations/{name}" for name in ("link", "anchor", "redirect")))


@dataclass(frozen=True)
class Page:
    title: str
    text: str = ""
    redirect: str | None = None
    ns: int = 0
    revision: int = 1

    def xml(self, number):
        return dumps.page(number, self.title, self.text, ns=self.ns, redirect=self.redirect,
                          revision=self.revision)  # fmt: skip


def wiki(n=40):
    """Pages by id: documents that link to each other, redirects, empty, equal and other pages."""
    pages = {}
    for i in range(n):
        to = " ".join(f"[[Page {(i * k + 1) % n}|w{k}]]" for k in range(1, 5))
        page = Page(f"Page {i}", f"{to} [[Image:x.png]] [[1984]] [[Absent]] word{i} " + "pad " * 30)
        if i % 8 == 3:
            page = Page(page.title, "#REDIRECT", redirect=f"Page {i + 1}")
        elif i % 8 == 5:
            page = replace(page, text="the same text [[Page 1]]")
        elif i % 8 == 6:
            page = replace(page, text="{{only|a|template}} {{t|[[Page 2]]}}")
        elif i % 8 == 7:
            page = replace(page, ns=10)
        pages[3 * i + 1] = page
    return pages


def write(path, pages, **header):
    return dumps.write(path, dumps.xml(*(p.xml(number) for number, p in pages), **header))


def read(dump, out, *, since=None, part=3000):
    shutil.rmtree(out, ignore_errors=True)
    return ingest("wikipedia", [dump], out, since=since, processes=1, part_bytes=part)


def rows(artefact):
    """Rows of each part of each table."""
    return {
        str(part.relative_to(artefact.path)): pl.read_parquet(part)
        for table in TABLES
        for part in sorted((artefact.path / table).glob("*.parquet"))
    }


def assert_same(one, other):
    assert one.key == other.key
    assert {n: c for n, c in one.counts.items() if n != "since"} == other.counts
    assert one.skipped == other.skipped
    found, wanted = rows(one), rows(other)
    assert found.keys() == wanted.keys()
    for name, frame in found.items():
        assert frame.schema == wanted[name].schema
        assert frame.equals(wanted[name]), name
    for artefact in (one, other):
        dumps.accounts(artefact)


@pytest.fixture
def parsed(monkeypatch):
    """Texts that passed through the parser of wikitext."""
    texts = []
    for name in ("read_wikitext", "count_links"):
        real = getattr(chunks, name)
        monkeypatch.setattr(
            chunks, name, lambda text, real=real, **how: texts.append(text) or real(text, **how)
        )
    return texts


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    path = tmp_path_factory.mktemp("old")
    return read(write(path / "enwiki-1.xml", wiki().items()), path / "corpus")


def edited(pages):
    """One edit of each kind; returns the pages and what the counts are to say."""
    now = dict(pages)
    now[1] = replace(now[1], text="other words [[Page 9]] [[Page 9]]", revision=2)
    now[10] = replace(now[10], redirect="Page 17", revision=2)  # a redirect that moved
    now[4] = replace(now[4], title="Page 1 renamed", revision=2)
    now[25] = Page("Page 8", "#REDIRECT", redirect="Page 9", revision=2)  # page to redirect
    now[34] = Page("Page 11", "a page now [[Page 12]]", revision=2)  # redirect to page
    now[22] = replace(now[22], ns=0, revision=2)
    del now[7], now[49]
    now[200] = Page("New", "a new page [[Page 1]]")
    now[50] = Page("Between", "another new page [[New]] [[Page 1 renamed]]")
    return dict(sorted(now.items())), {"kept": 32, "changed": 6, "new": 2, "gone": 2}


def test_each_kind_of_edit(tmp_path, old, parsed):
    pages, counts = edited(wiki())
    dump = write(tmp_path / "enwiki-2.xml", pages.items())
    found = read(dump, tmp_path / "out", since=old.path)
    assert found.counts["since"] == counts
    # Documents with the text of another are not in a corpus, hence they are read again.
    assert (
        len(parsed) == 6 + 2 + sum(page.text.startswith("the same") for page in pages.values()) - 1
    )
    assert_same(found, read(dump, tmp_path / "full"))
    # A corpus that was made so is as good as any.
    pages[1] = replace(pages[1], text="third [[Page 1 renamed]]", revision=3)
    dump = write(tmp_path / "enwiki-3.xml", pages.items())
    third = read(dump, tmp_path / "third", since=found.path)
    assert third.counts["since"] == {"kept": 39, "changed": 1, "new": 0, "gone": 0}
    assert_same(third, read(dump, tmp_path / "full"))


def test_the_same_dump_again_reads_no_text_that_the_corpus_has(tmp_path, old, parsed):
    dump = write(tmp_path / "enwiki-1.xml", wiki().items())
    found = read(dump, tmp_path / "out", since=old.path)
    assert set(parsed) == {"the same text [[Page 1]]"}
    assert found.counts["since"] == {"kept": 40, "changed": 0, "new": 0, "gone": 0}
    assert_same(found, old)


TITLES = st.integers(0, 12).map(lambda i: f"Page {i}")
PAGES = st.builds(
    Page,
    title=TITLES,
    text=st.lists(
        st.sampled_from(["word", "same", "[[Page 1]]", "[[Page 5|x]]", "[[1984]]", "[[#a]]", "é"]),
        max_size=4,
    ).map(" ".join),
    redirect=st.none() | st.none() | TITLES,
    ns=st.sampled_from([0, 0, 0, 10]),
    revision=st.integers(1, 2),
)
NUMBERED = st.lists(st.tuples(st.integers(1, 12), PAGES), min_size=1, max_size=14)


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(NUMBERED, NUMBERED, st.integers(0, 14), st.integers(1, 3000), st.integers(1, 3000))
def test_any_two_dumps(tmp_path, first, second, shared, part, other):
    """Pages in any order, ids and titles twice, other cuts: all is as if read at once."""
    some = Page("Document", "so that there is one [[Page 1]]")
    before = read(write(tmp_path / "enwiki-1.xml", [*first, (90, some)]), tmp_path / "a", part=part)
    dump = write(tmp_path / "enwiki-2.xml", [*first[:shared], *second, (90, some)])
    found = read(dump, tmp_path / "b", since=before.path, part=other)
    counts = found.counts["since"]
    assert counts["kept"] + counts["changed"] + counts["new"] == found.counts["pages"]
    assert_same(found, read(dump, tmp_path / "c", part=other))


def test_dumps_of_another_form(tmp_path, old):
    """Several files, packed, multistream, on several processes."""
    pages, counts = edited(wiki())
    texts = [page.xml(number) for number, page in pages.items()]
    multi = dumps.write_multistream(tmp_path, texts[:20])
    rest = dumps.write(tmp_path / "enwiki-2.xml.bz2", dumps.xml(*texts[20:]))
    both, how = [multi, rest], {"part_bytes": 3000}
    found = ingest("wikipedia", both, tmp_path / "out", since=old.path, processes=2, **how)
    assert found.counts["since"] == counts
    assert_same(found, ingest("wikipedia", both, tmp_path / "full", processes=1, **how))


def test_what_may_hide_a_page_is_read_whole(tmp_path, old, parsed):
    xml = dumps.xml(*(page.xml(number) for number, page in wiki().items()))
    assert len(mark_pages(xml.encode())) == 40
    for odd in ("<!-- <page> </page> -->", "<![CDATA[x</page>]]>", "<?x </page>?>"):
        assert mark_pages(xml.replace("<revision>", f"<revision>{odd}", 1).encode()) is None
    nested = xml.replace("<revision>", "<page><id>1</id></page><revision>", 1)
    assert mark_pages(nested.encode()) is None
    assert mark_pages(xml.replace("</page>", "</page >", 1).encode()) is None
    for stray in (xml.replace("</page>", "</page></page>", 1), xml + "</page>", "</page>" + xml):
        assert mark_pages(stray.encode()) is None
    dump = dumps.write(tmp_path / "enwiki-2.xml", xml.replace("word8 ", "word8 <!-- x -->"))
    found = read(dump, tmp_path / "out", since=old.path)
    assert 1 < len(parsed) < 40
    assert_same(found, read(dump, tmp_path / "full"))


def test_a_corpus_of_other_code_or_another_site_is_not_used(tmp_path, old, caplog):
    dump = write(tmp_path / "enwiki-2.xml", edited(wiki())[0].items())
    full = read(dump, tmp_path / "full")
    other = shutil.copytree(old.path, tmp_path / "other")
    said = json.loads((other / "pages" / "parts.json").read_text())
    (other / "pages" / "parts.json").write_text(json.dumps({**said, "key": "x"}))
    reseal(other)
    older = shutil.copytree(old.path, tmp_path / "older")
    shutil.rmtree(older / "pages")
    reseal(older)
    header = {"case": "case-sensitive"}
    cased = read(write(tmp_path / "enwiki-1.xml", wiki().items(), **header), tmp_path / "cased")
    for since, reason in (
        (other, "another version"),
        (older, "kept nothing of what it read"),
        (cased.path, "with other settings"),
    ):
        with caplog.at_level(logging.WARNING):
            found = read(dump, tmp_path / "out", since=since)
        assert reason in found.counts["since"]["not_used_because"]
        assert f"{since}: everything is read anew" in caplog.text
        assert_same(found, full)


def test_a_corpus_that_is_damaged_or_none(tmp_path, old):
    dump = write(tmp_path / "enwiki-1.xml", wiki().items())
    broken = shutil.copytree(old.path, tmp_path / "broken")

    def said(since=broken):
        with pytest.raises(BadInput) as caught:
            read(dump, tmp_path / "out", since=since)
        return str(caught.value)

    for table in ("documents", "pages"):
        part = broken / table / "part-00001.parquet"
        whole = part.read_bytes()
        part.write_bytes(whole[: len(whole) // 2])
        message = said()
        assert f"{table}/part-00001.parquet" in message
        assert "make it again" in message
        part.write_bytes(whole)
    parts = broken / "pages" / "parts.json"
    parts.write_text(parts.read_text()[:-9])
    assert "parts.json" in said()
    reseal(broken)
    assert "parts.json: not JSON" in said()
    assert "holds no collection" in said(tmp_path)
    write_corpus(tmp_path / "foreign", ["a", "b"], [])
    assert "not of a wikipedia" in said(tmp_path / "foreign")


def test_words_that_are_not_what_they_were_are_read_again(tmp_path, old):
    dump = write(tmp_path / "enwiki-1.xml", wiki().items())
    changed = shutil.copytree(old.path, tmp_path / "changed")
    part = changed / "documents" / "part-00001.parquet"
    pl.read_parquet(part).with_columns(text=pl.col("text") + " more").write_parquet(part)
    reseal(changed)
    assert_same(read(dump, tmp_path / "out", since=changed), old)


def test_a_page_that_cannot_be_read_is_named_with_its_place(tmp_path, old):
    xml = dumps.xml(*(page.xml(number) for number, page in wiki().items()))
    dump = dumps.write(tmp_path / "enwiki-2.xml", xml.replace("word25", "</b>"))
    said = []
    for since in (None, old.path):
        with pytest.raises(BadInput) as caught:
            read(dump, tmp_path / "out", since=since)
        said.append(str(caught.value))
    position = int(said[1].partition("at byte ")[2].split()[0])
    assert "'Page 25'" in said[0]
    assert xml[:position].rstrip().endswith(("</page>", "</siteinfo>"))
    assert xml[position : position + 60].lstrip().startswith("<page>")
    assert said[0].replace("line 1,", "line") == said[1].replace("line 1,", "line")


CALL = (
    "from pathlib import Path\n"
    "from tests.sources import ingest\n"
    "ingest('wikipedia', [Path({dump!r})], Path({out!r}), since={since}, processes=1,\n"
    "       part_bytes=3000)"
)


@pytest.mark.parametrize(
    ("function", "nth"),
    [("ssi_core.store.write_json", 1), ("ssi_core.integrity.write_manifest", 3)],
)
def test_a_killed_run_is_gone_on_from_with_since_or_without(tmp_path, old, function, nth):
    dump = write(tmp_path / "enwiki-2.xml", edited(wiki())[0].items())
    full = read(dump, tmp_path / "full")
    for n, (killed, then) in enumerate(((f"Path({str(old.path)!r})", None), (None, old.path))):
        out = tmp_path / f"out{n}"
        call = CALL.format(dump=str(dump), out=str(out), since=killed)
        run_killed(call, tmp_path, "rename */counts/?????.json", nth)
        assert beside(out)
        assert_same(read(dump, out, since=then), full)
        assert beside(out) == []
