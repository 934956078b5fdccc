"""Folders of pages as generators of sites have them, and as strangers may send them."""

import os

import pytest

from ssi_core.collection import open_collection
from ssi_core.corpus.web.folder import read_page
from ssi_core.corpus.web.front_matter import LARGEST, read_front_matter
from ssi_core.types import BadInput
from tests.robust.tally import attempt
from tests.sources import ingest


def write(directory, pages):
    for name, text in pages.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return directory


def links(artefact):
    return set(open_collection(artefact.path).links.collect().rows())


HUGO = {
    "content/_index.md": "+++\ntitle = 'Home'\naliases = ['/start']\n+++\nWords [a](docs/first).",
    "content/docs/First.md": '---\ntitle: First\naliases:\n  - /old/first/\n---\n'
    'See [b]({{< ref "Second.md" >}}) and [c]({{% relref "/docs/third" %}}).',
    "content/docs/Second.md": "# Second\n\nBack to [d](/old/first) and [e](/start/).",
    "content/docs/Third.md": "# Third\n\n[f](../docs/second/) [g](/Docs/FIRST/)",
}  # fmt: skip
DOCUSAURUS = {
    "docs/01-intro.mdx": "import Tabs from '@theme/Tabs';\n\n# Intro\n\n<Tabs>Words</Tabs> "
    "[next](./setup) [deep](guide/usage.md)\n\n```js\nimport kept from 'code';\n```\n",
    "docs/02-setup.md": "# Setup\n\n[back](intro) [index](/docs/intro)",
    "docs/03-guide/1. usage.md": "# Usage\n\n[up](../02-setup.md)",
}
MDBOOK = {
    "book/SUMMARY.md": "# Book\n\n- [One](one.md)\n- [Two](two.md)\n",
    "book/one.md": "# One\n\nSee [two](two.html#part) and [the reference](../reference/x.html).",
    "book/two.md": "# Two\n\nBack to [one](./one.html).",
    "reference/x.md": "# X\n\nSee [two][2].\n\n[2]: ../book/two.html\n",
}
DOCFX = {
    "ref/Mod.Utility/Get-Date.md": "---\nuid: the.date\n---\n# Get-Date\n\n"
    "[topic](xref:Mod.Core.about_Dates) [out](xref:System.DateTime)",
    "ref/Mod.Core/About/about_Dates.md": "# about_Dates\n\n"
    "[it](xref:the.date) [again](xref:Mod.Utility.Get-Date?view=latest)",
}


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        (HUGO, {
            ("content/_index.md", "content/docs/First.md"),
            ("content/docs/First.md", "content/docs/Second.md"),
            ("content/docs/First.md", "content/docs/Third.md"),
            ("content/docs/Second.md", "content/docs/First.md"),
            ("content/docs/Second.md", "content/_index.md"),
            ("content/docs/Third.md", "content/docs/Second.md"),
            ("content/docs/Third.md", "content/docs/First.md"),
        }),
        (DOCUSAURUS, {
            ("docs/01-intro.mdx", "docs/02-setup.md"),
            ("docs/01-intro.mdx", "docs/03-guide/1. usage.md"),
            ("docs/02-setup.md", "docs/01-intro.mdx"),
            ("docs/03-guide/1. usage.md", "docs/02-setup.md"),
        }),
        (MDBOOK, {
            ("book/one.md", "book/two.md"),
            ("book/one.md", "reference/x.md"),
            ("book/two.md", "book/one.md"),
            ("reference/x.md", "book/two.md"),
        }),
        (DOCFX, {
            ("ref/Mod.Utility/Get-Date.md", "ref/Mod.Core/About/about_Dates.md"),
            ("ref/Mod.Core/About/about_Dates.md", "ref/Mod.Utility/Get-Date.md"),
        }),
    ],
    ids=["hugo", "docusaurus", "mdbook", "docfx"],
)  # fmt: skip
def test_links_are_settled_as_the_generator_does(tmp_path, pages, expected):
    path = write(tmp_path / "site", pages)
    root = path / "content" if (path / "content").exists() else path
    artefact = ingest("folder", root, tmp_path / "out")
    cut = "content/" if root != path else ""
    assert links(artefact) == {tuple(one.removeprefix(cut) for one in two) for two in expected}
    assert artefact.skipped.get("link_to_no_page", 0) == 0


def test_a_page_in_the_exact_letters_comes_before_one_in_others(tmp_path):
    pages = {"a.md": "[x](B.md) [y](b.md) [z](C.md)", "b.md": "small", "B.md": "large", "c.md": "c"}
    artefact = ingest("folder", write(tmp_path / "site", pages), tmp_path / "out")
    assert links(artefact) == {("a.md", "B.md"), ("a.md", "b.md"), ("a.md", "c.md")}


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>Api - Wheels</title><nav><a href='..'> Wheels</a></nav><div role=main>x", "Api"),
        ("<title>Api - Wheels</title><a href='../index.html'><b>Wheels</b></a>", "Api"),
        ("<title>Api - Wheels</title><a href='wheels.html'>Wheels</a>", "Api - Wheels"),
        (
            "<title>Api - Wheels</title><a href='/'>Wheels</a><h1>About the API</h1>",
            "About the API",
        ),
        ("<title>A - b — Wheels 1.0 documentation</title><div role=main>x", "A - b"),
    ],
)
def test_the_name_of_the_site_is_no_part_of_a_title(tmp_path, html, title):
    write(tmp_path, {"page.html": html})
    assert read_page(tmp_path / "page.html").title == title


def test_headings_are_a_field_without_the_title(tmp_path):
    write(tmp_path, {
        "a.md": "# Car\n\n## The *engine*\n\ntext\n\n### Oil\n\n## Car\n",
        "b.md": "---\ntitle: Named\n---\n# First\n\n## Second\n",
        "c.html": "<title>T</title><h1>Book</h1><nav><h2>menu</h2></nav><main><h1>M</h1>"
        "<h2>Part <b>x</b></h2>",
        "d.html": "<title>Second - Book</title><h1>Book</h1><main><h2>Second</h2><h3>y</h3></main>",
        "e.html": "<h3>Menu</h3><div role=main><h1>E<a href='#e'>¶</a></h1><h2>C#<a href='#k'>#</a>"
        "</h2><div role=navigation><h2>More</h2></div><a href='#e'>on</a></div>",
    })  # fmt: skip
    names = [f"{name}.md" for name in "ab"] + [f"{name}.html" for name in "cde"]
    pages = [read_page(tmp_path / name) for name in names]
    assert [page.title for page in pages] == ["Car", "Named", "M", "Second", "E"]
    headings = [page.headings for page in pages]
    assert headings == ["The engine\nOil", "First\nSecond", "Part x", "y", "C#"]
    assert (pages[-1].text, pages[-1].links) == ("E\nC#\non", (("#e", "on"),))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            '<!-- Old names -->\n<a id="x"></a>\n\n## Keep *your* keys\n\n### Why\n',
            "Keep your keys",
        ),
        ("A sentence.\n\n## Keep your keys\n", "ch04-01-keys"),
        ("Keep your keys safe.\n\n## Keep your keys\n", "ch04-01-keys"),
        ("<title>Keys</title>\n\n## Keep your keys\n", "Keys"),
        ("## A\n\n# B\n", "B"),
    ],
)
def test_a_heading_that_begins_a_page_without_a_first_level_is_its_title(tmp_path, text, title):
    write(tmp_path, {"ch04-01-keys.md": text})
    assert read_page(tmp_path / "ch04-01-keys.md").title == title


def test_modules_are_cut_out_of_mdx_but_not_out_of_its_code(tmp_path):
    write(tmp_path, {"a.mdx": DOCUSAURUS["docs/01-intro.mdx"]})
    text = read_page(tmp_path / "a.mdx").text
    assert "@theme" not in text
    assert "import kept from 'code';" in text
    assert "Words" in text


def test_pages_in_other_markup_and_contents_are_counted(tmp_path):
    pages = {**MDBOOK, "old.rst": "Old\n===\n", "b.adoc": "= B\n"}
    skipped = ingest("folder", write(tmp_path / "site", pages), tmp_path / "out").skipped
    assert skipped["page_rst_unread"] == skipped["page_adoc_unread"] == 1
    assert skipped["file_table_of_contents"] == 1


def test_many_links_to_no_page_are_warned_of_by_their_targets(tmp_path, caplog):
    pages = {f"p{n}.md": f"[x](p{(n + 1) % 9}.md) [y](gone.md) [z](lost{n}.md)" for n in range(9)}
    artefact = ingest("folder", write(tmp_path / "site", pages), tmp_path / "out")
    assert artefact.counts["links_to_no_page_such_as"]["gone.md"] == 9
    assert len(artefact.counts["links_to_no_page_such_as"]) == 3
    assert "'gone.md' (9)" in caplog.text
    # One in forty is no reason for a warning.
    caplog.clear()
    pages = {f"p{n}.md": f"[x](p{(n + 1) % 40}.md)" for n in range(40)} | {"q.md": "[y](gone.md)"}
    artefact = ingest("folder", write(tmp_path / "more", pages), tmp_path / "again")
    assert "links_to_no_page_such_as" not in artefact.counts
    assert "gone" not in caplog.text


@pytest.mark.hostile("folders")
def test_what_lies_outside_of_the_folder_or_is_no_file_is_left_out(tmp_path):
    (tmp_path / "key.md").write_text("a secret")
    path = write(tmp_path / "site", {"a.md": "[b](b.md)", "b.md": "[a](a.md)", "in/c.md": "c"})
    (path / "stolen.md").symlink_to(tmp_path / "key.md")
    (path / "device.md").symlink_to("/dev/zero")
    (path / "nothing.md").symlink_to(path / "absent.md")
    (path / "round.md").symlink_to(path / "round.md")
    (path / "inside.md").symlink_to(path / "in" / "c.md")
    (path / "out").symlink_to(tmp_path)
    os.mkfifo(path / "pipe.md")
    with attempt():
        artefact = ingest("folder", path, tmp_path / "out")
        documents = open_collection(artefact.path).documents.collect()
        assert set(documents["id"]) == {"a.md", "b.md", "in/c.md", "inside.md"}
        assert "secret" not in "".join(documents["text"])
    skipped = artefact.skipped
    assert (skipped["file_outside_of_the_folder"], skipped["file_not_regular"]) == (2, 1)
    assert skipped["file_link_to_nothing"] == 2


def test_a_folder_that_is_named_may_be_a_link(tmp_path):
    place = write(tmp_path / "site", {"a.md": "[b](b.md)", "b.md": "[a](a.md)"})
    (tmp_path / "named").symlink_to(place)
    assert ingest("folder", tmp_path / "named", tmp_path / "out").counts["documents"] == 2


# --- front matter ---

BOMB = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [*{before}, *{before}, *{before}]\n"
    for before, name in zip("abcdefghij", "bcdefghijk", strict=True)
)
MERGED = "a: &a {k: v}\n" + "".join(f"m{n}: &m{n}\n  <<: [*a, *a]\n" for n in range(20))


@pytest.mark.hostile("front matter")
@pytest.mark.parametrize(
    ("block", "values", "dropped"),
    [
        ("title: Car\ntags: [a, 'b c', 3]\ndate: 2020-01-02",
         {"title": ["Car"], "tags": ["a", "b c", "3"], "date": ["2020-01-02"]}, 0),
        ("title: ~\ndraft: false", {"draft": ["false"]}, 0),
        ("nested: {a: {b: [1]}}\ntitle: Car\ndeep: [[x]]", {"title": ["Car"]}, 2),
        (f"title: Car\n{BOMB}", {"title": ["Car"]}, 11),
        (f"title: Car\n{MERGED}end: x", {"title": ["Car"], "end": ["x"]}, 21),
        ("title: &t Car\nname: *t\nkind: page", {"kind": ["page"]}, 2),
        ("title: Car\nbad: [" + "[" * 5000, {"title": ["Car"]}, 1),
        ("title: Car\n\t- tab: {", {}, 1),
        ("- a\n- b", {}, 0),
    ],
    ids=["plain", "null", "nested", "aliases", "merge", "anchor", "deep", "damaged", "list"],
)  # fmt: skip
def test_front_matter_keeps_scalars_and_flat_lists(block, values, dropped):
    with attempt():
        read = read_front_matter(f"---\n{block}\n---\nText")
    assert (read.values, read.text) == (values, "Text")
    assert read.dropped == dropped


@pytest.mark.hostile("front matter")
def test_front_matter_in_toml_is_read_alike():
    block = "title = 'Car'\ntags = ['a', 2]\ndate = 2020-01-02\n[params]\nx = 1\n"
    read = read_front_matter(f"+++\n{block}+++\nText")
    assert read.values == {"title": ["Car"], "tags": ["a", "2"], "date": ["2020-01-02"]}
    assert (read.dropped, read.text) == (1, "Text")
    with attempt():
        assert read_front_matter("+++\nx = " + "[" * 5000 + "\n+++\nText") == ({}, 1, "Text")


@pytest.mark.hostile("front matter")
def test_front_matter_that_is_too_long_is_not_read():
    with attempt():
        read = read_front_matter(f"---\ntitle: {'x' * LARGEST}\n---\nText")
    assert read == ({}, 1, "Text")


def test_a_page_that_only_begins_as_front_matter_is_text():
    assert read_front_matter("---\nno end").text == "---\nno end"


def test_dropped_keys_are_counted_and_the_page_stays(tmp_path):
    pages = {"a.md": f"---\ntitle: Car\n{BOMB}---\n[b](b.md)", "b.md": "[a](a.md)"}
    artefact = ingest("folder", write(tmp_path / "site", pages), tmp_path / "out")
    assert artefact.skipped["front_matter_key"] == 11
    assert open_collection(artefact.path).documents.collect()["title"][0] == "Car"


def test_a_folder_of_other_markup_alone_is_refused(tmp_path):
    with pytest.raises(BadInput, match="no page is in it"):
        ingest("folder", write(tmp_path / "site", {"a.rst": "A\n="}), tmp_path / "out")


def test_pages_in_other_encodings_are_read_where_their_bytes_tell_which(tmp_path, caplog):
    written = {
        "a.txt": "Caf\u00e9 und B\u00e4ume".encode("cp1252"),
        "b.md": "# \u00c4pfel\n\nsind gr\u00fcn".encode("cp1252"),
        "c.txt": "\ufeffZwei".encode("utf-16-le"),
        "d.txt": "\ufeffDrei \u00e9t\u00e9".encode(),
        "e.txt": "\u65e5\u672c\u8a9e\u306f".encode("shift_jis"),
        "f.txt": "\u65e5\u672c\u8a9e\u306f".encode("shift_jis"),
    }
    for name, data in written.items():
        (tmp_path / name).write_bytes(data)
    artefact = ingest("folder", tmp_path, tmp_path.parent / "corpus")
    documents = open_collection(artefact.path).documents.select("id", "title", "text").collect()
    assert documents.rows() == [
        ("a.txt", "a", "Caf\u00e9 und B\u00e4ume"),
        ("b.md", "\u00c4pfel", "\u00c4pfel\nsind gr\u00fcn"),
        ("c.txt", "c", "Zwei"),
        ("d.txt", "d", "Drei \u00e9t\u00e9"),
    ]
    assert artefact.skipped["file_in_no_known_encoding"] == 2
    (said,) = [one.getMessage() for one in caplog.records if "encoding" in one.getMessage()]
    assert (
        f"{tmp_path}: files left out, for their encoding cannot be told: 2, such as 'e.txt'" in said
    )
