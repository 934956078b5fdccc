"""Small dumps, built page by page."""

import bz2
import os
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pytest

from ssi_core.collection import open_collection

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-{version}/" version="{version}"
 xml:lang="{language}">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>{language}wiki</dbname>
    <case>{case}</case>
    <namespaces>
      <namespace key="-1" case="{case}">Special</namespace>
      <namespace key="0" case="{case}" />
      <namespace key="4" case="{case}">Project X</namespace>
      <namespace key="6" case="{case}">Pics</namespace>
      <namespace key="14" case="{case}">Sorts</namespace>
    </namespaces>
  </siteinfo>
"""
TAIL = "</mediawiki>\n"


def head(language="en", version="0.11", case="first-letter"):
    return HEAD.format(language=language, version=version, case=case)


def page(number, title, text="", *, ns=0, redirect=None, revision=None):
    leads = f"<redirect title={quoteattr(redirect)} />" if redirect is not None else ""
    return f"""  <page>
    <title>{escape(title)}</title>
    <ns>{ns}</ns>
    <id>{number}</id>
    {leads}
    <revision>
      <id>{revision or number + 1000}</id>
      <timestamp>2024-05-06T07:08:09Z</timestamp>
      <text bytes="1" xml:space="preserve">{escape(text)}</text>
    </revision>
  </page>
"""


def xml(*pages, **header):
    return head(**header) + "".join(pages) + TAIL


def many(n):
    """Pages that link forward, some of them redirects, some empty, some equal."""
    pages = []
    for i in range(n):
        links = " ".join(f"[[Page {(i * k + 1) % n}|w{k}]]" for k in range(1, 6))
        if i % 10 == 3:
            pages.append(page(i + 1, f"Page {i}", "#REDIRECT", redirect=f"Page {i + 1}"))
        elif i % 10 == 7:
            pages.append(page(i + 1, f"Page {i}", "{{only|a|template}}"))
        else:
            words = "same text" if i % 10 == 5 else f"{links} word{i} " + "filler " * 50
            pages.append(page(i + 1, f"Page {i}", words))
    return pages


def write(path, text):
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(bz2.compress(data) if path.suffix == ".bz2" else data)
    return path


def write_multistream(directory, pages, per_stream=10, name="enwiki-1"):
    """A multistream dump and its index; returns the path of the dump."""
    dump = directory / f"{name}-pages-articles-multistream.xml.bz2"
    lines = []
    with dump.open("wb") as file:
        file.write(bz2.compress(head().encode()))
        for start in range(0, len(pages), per_stream):
            stream = pages[start : start + per_stream]
            lines += [f"{file.tell()}:{start + k + 1}:Page: x" for k in range(len(stream))]
            file.write(bz2.compress("".join(stream).encode()))
        file.write(bz2.compress(TAIL.encode()))
    index = dump.with_name(dump.name.removesuffix(".xml.bz2") + "-index.txt.bz2")
    write(index, "\n".join(lines) + "\n")
    return dump


def real_data(*parts):
    """A file or folder of the real data sets; the test is skipped where there are none."""
    root = os.environ.get("SSI_REAL_DATA")
    if not root:
        pytest.skip("SSI_REAL_DATA isn't set: no real data sets to read")
    path = Path(root).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is absent")
    return path


def accounts(artefact):
    """The sums that must hold in every corpus's manifest."""
    counts, skipped = artefact.counts, artefact.skipped
    pages = sum(n for name, n in skipped.items() if name.startswith("page_"))
    links = sum(n for name, n in skipped.items() if name.startswith("link_"))
    assert counts["documents"] + counts["redirects"] + pages == counts["pages"]
    assert counts["links"] + links == counts["links_found"]
    lost = skipped["redirect_to_nowhere"] + skipped["redirect_cycle"]
    assert counts["redirects_resolved"] + lost == counts["redirects"]
    if "anchors" not in counts:
        return
    unworded = sum(n for name, n in skipped.items() if name.startswith("anchor_"))
    anchors = open_collection(artefact.path).frame("relations/anchor")
    assert len(anchors) == counts["anchors"]
    found = counts["links"] + skipped.get("link_duplicate", 0)
    assert anchors["weight"].sum() + unworded == found
