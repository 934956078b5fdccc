import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.wikitext import f1, reference, scores
from ssi_core.datasets.wikipedia.wikitext import (
    count_links,
    headings,
    links,
    read_cells,
    read_wikitext,
    strip_anchor,
    strip_markup,
)
from ssi_core.text.wording import PLAIN, wording_of
from tests.datasets.dumps import real_data


@pytest.mark.parametrize(
    ("wikitext", "words"),
    [
        ("'''Bold''' and ''italic'' and '''''both'''''", "Bold and italic and both"),
        ("[[A]] [[b|c]] [[d#e|f g]] [[:Category:H|h]]", "A c f g h"),
        ("s[[how]]s", "shows"),
        ("a {{b|c={{d|{{e}}}}}} f", "a f"),
        ("a {{{1|x}}} b", "a b"),
        ("a {{unclosed [[b]] c", "a unclosed b c"),
        ("a }} b {{c}} d", "a b d"),
        ("a\n{| class=x\n! h\n|-\n| cell {{t}}\n{|\n| inner\n|}\n|}\nb", "a\nb"),
        ("a\n{| class=x\n| cell\n", "a"),
        ("a<ref>b</ref> c<ref name=x /> d<ref name=y>e [[f]] {{g</ref> h", "a c d h"),
        ("a<ref>b<br>c</ref>d", "a d"),
        ("<!-- a [[b]] -->c<!-- open ", "c"),
        ("<nowiki>[[a]] {{b}} ''c''</nowiki>", "[[a]] {{b}} ''c''"),
        ("<nowiki>{{</nowiki>a<nowiki>}}</nowiki>", "{{a}}"),
        ("<NoWiki><ref></nowiki> b <nowiki></ref></nowiki>", "<ref> b </ref>"),
        ("<pre>a [[b]]</pre>", "a [[b]]"),
        ("<nowiki><!-- shown --></nowiki>", "<!-- shown -->"),
        ("<math>x_{1} [[y]]</math> z", "z"),
        ("<gallery>\nFile:A.jpg|b [[c]]\n</gallery>d", "d"),
        ("[[File:A.jpg|thumb|a [[b]] c [[d|e]]]] f [[Category:G]][[fr:H]]", "f"),
        ("[[Datei:A.jpg|b]] [[ファイル:A.jpg|b]] [[image:x]] c", "c"),
        ("[[File:A.jpg|never [[closed]] [[Category:B]] c", "never closed c"),
        ("[http://a.b/c d e] [https://x] http://y.z/w?v=1 [//p.q r] u", "d e r u"),
        ("[mailto:a@b.c mail]", "mail"),
        ("== A ==\ntext\n=== b c ===\n", "A\ntext\nb c"),
        ("* a\n** b\n# c\n:; d\n----\ne", "a\nb\nc\nd\ne"),
        ("a&nbsp;b &amp; c &lt;d&gt; &#x3b1;", "a b & c <d> α"),
        ("a<br/>b H<sub>2</sub>O <span style='x'>c</span>", "a b H2O c"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("__NOTOC__ a __b__", "a __b__"),
        ("don't", "don't"),
        ("", ""),
    ],
)
def test_what_is_kept_and_what_goes(wikitext, words):
    assert strip_markup(wikitext) == words


def test_hidden_prefixes_can_be_given():
    assert strip_markup("[[Pics:a|b]] [[File:c|d]]", hidden={"pics"}) == "d"


@pytest.mark.parametrize(
    ("wikitext", "words"),
    [
        ("'''{{PAGENAME}}''' is a city.", "Lyon & ''co'' is a city."),
        ("{{ FULLPAGENAME }}, {{BASEPAGENAME}}, {{SUBPAGENAME}}", ", ".join(["Lyon & ''co''"] * 3)),
        ("[http://a.b/{{PAGENAMEE}} map]", "map"),
        ("{{PAGENAMEE}}", "Lyon_%26_%27%27co%27%27"),
        ("{{box|name={{PAGENAME}}}} a", "a"),
        ("{{pagename}} {{PAGENAMES}} {{PAGENAME|x}} a", "a"),
        ("<nowiki>{{PAGENAME}}</nowiki>", "{{PAGENAME}}"),
    ],
)
def test_the_name_of_the_page_is_put_in(wikitext, words):
    assert read_wikitext(wikitext, title="Lyon & ''co''")[0] == words


def test_a_link_by_the_name_of_the_page_leads_to_it():
    assert read_wikitext("[[{{PAGENAME}}|here]]", title="Lyon") == ("here", [("Lyon", "here")])


@pytest.mark.parametrize(
    ("wikitext", "words"),
    [
        ("{|\n|a||b\n|-\n| c\n| d\n|}", "a\nb\nc\nd"),
        ('{| class="x"\n|+ cap\n! h !! i\n|- style="y"\n| 1,234\n|}', "cap\nh\ni\n1,234"),
        ("{|\n! scope=col | A !! scope=col | B\n! C !! D\n|}", "A\nB\nC\nD"),
        ("{|\n| style=x | [[a|b]] and [[c|d]] || 3\n|}", "b and d\n3"),
        ("{|\n| [[a|b]] c [[File:d|e|f]]\n|}", "b c"),
        ("{|\n| a\n{|\n| b\n|}\n| c {{t|u=v}} d\n|}", "a\nb\nc d"),
        ("{|\n| a<ref>b</ref>\n* c\n* d\n|}", "a\nc\nd"),
        ("<table class=x><tr><th>a</th><td>b</td></tr></table>", "a b"),
        (":{|\n| A {{PAGENAME}}\n|}", "A T"),
        ("{{only|a template}}", ""),
    ],
)
def test_cells_of_tables(wikitext, words):
    assert read_cells(wikitext, title="T") == words
    assert read_wikitext(wikitext, title="T")[0] == ""


@pytest.mark.parametrize(
    ("wikitext", "found"),
    [
        ("[[A]] [[b|c]]", [("A", "A"), ("b", "c")]),
        ("[[a]]s [[b|c]]d [[e]]É [[f|g]]]h", [("a", "as"), ("b", "cd"), ("e", "e"), ("f", "g")]),
        ("{{t|[[a]]}}<ref>[[b]]</ref>\n{|\n|[[c]]\n|}", [("a", "a"), ("b", "b"), ("c", "c")]),
        ("[[File:A|t|x [[b]] y]]", [("File:A", "t|x "), ("b", "b")]),
        ("<!--[[a]]--> <nowiki>[[b]]</nowiki> <math>[[c]]</math> [[d]]", [("d", "d")]),
        ("<source>x[[1]]</source> <pre>[[y]]</pre>", []),
        ("[[]] [[|a]] [[#b]]", [("", ""), ("", "a"), ("#b", "#b")]),
        ("[[a\nb]] [[c", []),
    ],
)
def test_links_that_count(wikitext, found):
    assert list(links(wikitext)) == found
    assert read_wikitext(wikitext)[1] == found
    assert count_links(wikitext) == len(found)
    assert read_wikitext(wikitext)[0] == strip_markup(wikitext)


_MARKS = (
    "[[ ]] {{ }} {| |} | [ ] { } ' '' ''' = == < > </ <ref> </ref> <ref <ref/> <!-- --> <nowiki> "
    "</nowiki> <math> </math> <gallery> File: [[File: Category: [http:// http:// // & &amp; &#0; "
    "&#xD800; # : ; * - ---- __TOC__ a b é 日"
)
MARKS = [*_MARKS.split(), " ", "\n", "\n|", "\n*", "\n{|", "\n|}", "\t", "\xa0"]


@settings(max_examples=100, deadline=2000)
@given(st.lists(st.sampled_from(MARKS) | st.text(max_size=3), max_size=60).map("".join))
def test_any_text_is_read(text):
    words, found = read_wikitext(text)
    assert "  " not in words
    assert words == words.strip()
    words.encode()
    assert len(found) <= text.count("[[")
    wordings = [wording_of(strip_anchor(anchor)) for _, anchor in found]
    assert all(wording == wording_of(wording) for wording in wordings if wording)
    cells = read_cells(text)
    assert "  " not in cells
    assert cells == cells.strip()


@pytest.mark.parametrize(
    "unit",
    [
        "{{a|", "}}", "[[File:", "[[File:a|", "[[a", "]]", "<ref>", "</ref>", "<ref ", "<!--", "[",
        "<nowiki>", "\n{|", "\n|}", "'", "=", "&", "&amp", "<", "http://", "[http://", " ", "\n",
        "\n|", "_", "__A", "-", "{", "{|", "||", "!!", "\n!", "\n|a",
        "{{PAGENAME", "[[a|", "[[Category:a]] [[File:", "<math><ref>", "#", "%", "[[", "{{", "|}",
        "<ref name=", "-->", "<pre", "''", "==", "__", "&#", "&#x", "[[a:", "{{{", "[http://a ",
        "\n*", "<math>", "<gallery>", "<br ", "<table>", "[[]]", "{{}}", "<ref>a</ref>", "[[a]]{{",
        "\n: ",
    ],
)  # fmt: skip
def test_time_is_linear_in_the_length(unit):
    started = time.process_time()
    text = unit * (100_000 // len(unit))
    read_wikitext(text, title="A")
    list(links(text))
    read_cells("{|" + text[:25_000])
    # About 0.02 s; whatever is quadratic takes many seconds.
    assert time.process_time() - started < 1.5


def test_templates_nested_5000_deep():
    assert strip_markup("a " + "{{b|" * 5000 + "}}" * 5000 + " c") == "a c"
    assert strip_markup("a " + "{{b|" * 5000 + " c") == "a " + "b|" * 5000 + " c"
    assert strip_markup("a " + "[[File:b|" * 5000 + "]]" * 5000 + " c") == "a c"


def test_agrees_with_mwparserfromhell_on_real_articles():
    path = real_data("wiki-dumps", "enwiki-pages-articles1-p10p30302-shortened.xml.bz2")
    found = scores(path, most=5)
    worst = next(iter(found))
    mean = sum(found.values()) / len(found)
    assert mean >= 0.98, found
    assert found[worst] >= 0.95, worst


def test_f1_counts_every_word_as_often_as_it_occurs():
    assert f1("A a b", "a B c") == 2 * 2 / 6
    assert f1("", "") == 0
    assert reference("a {{b}} ''c''<ref>d</ref>[[File:e|f]]\n{|\n|g\n|}") == "a  c"


@pytest.mark.parametrize("anchor", ["Moon", "the Moon (1984)", "3.5-inch", "A, b!"])
def test_plain_words_are_their_wording_in_lower_case(anchor):
    assert PLAIN.fullmatch(anchor)
    assert wording_of(strip_anchor(anchor)) == anchor.lower()


@pytest.mark.parametrize(
    "anchor", ["", "(moon", "a  b", " a", "a ", "''a''", "a&b", "Émile", "a\n"]
)
def test_what_may_be_marked_is_not_plain(anchor):
    assert not PLAIN.fullmatch(anchor)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("== first ==\ntext\n==next== \t\n", "first\nnext"),
        ("== alone ==", "alone"),
        ("=== a = b ===\n== c = ==", "a = b\nc"),
        ("text\n== ''a'' [[b|c]] {{d}} & ==", "a c &"),
        ("text\n<!--\n== hidden ==\n-->\n== shown ==", "shown"),
        ("= title =\ntext == no heading ==\n == nor here ==\n== nor there\n", ""),
    ],
)
def test_headings_are_lines_between_signs(text, expected):
    assert headings(text) == expected
