"""The search of a site in Chromium: its rankings, and what a person does."""

import json
import shutil
import unicodedata

import pytest

import ssi_core as ssi
from ssi_core.guests.site.ranking import SiteIndex
from ssi_core.text.tokenizer import tokenize
from tests.flows.browser import CHROMIUM, Browser
from tests.guests.site.made import HOSTILE, queries, small
from tests.guests.site.serving import served

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
    pytest.mark.usefixtures("own_root"),
]

PAGE = """<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">
<title>Page</title><script src="search/ssi-search.js" defer></script>
<ssi-search placeholder="Search the pages"></ssi-search><p>Text</p></html>
"""
ROOT = "document.querySelector('ssi-search').shadowRoot"
TITLES = f"[...{ROOT}.querySelectorAll('.title')].map((title) => title.textContent)"
SHOWN = f"!{ROOT}.querySelector('.results').hidden"


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


@pytest.fixture
def opened(browser, tmp_path):
    """Open a page of a small site, as served below a path."""
    folder = small(tmp_path / "docs")
    (folder / "page.html").write_text(PAGE)
    ssi.site(folder, folder / "search")
    browser.size(1200, 900)
    browser.errors.clear()
    with served(folder) as address:
        browser.open(f"{address}/page.html")
        browser.wait(ROOT)
        yield browser


@pytest.fixture
def copied(wiki, tmp_path):
    """Return a copy of the site, with a page that loads its search."""
    folder = shutil.copytree(wiki, tmp_path / "public")
    (folder / "index.html").write_text(PAGE)
    return folder


def ask(browser, text):
    """Type a text over what was typed, and wait for its answer."""
    browser.run(f"{ROOT}.querySelector('input').select()")
    browser.run(f"{ROOT}.querySelector('input').focus()")
    browser.run(f"{ROOT}.querySelector('[role=status]').textContent = ''")
    browser.type(text)
    browser.wait(f"{ROOT}.querySelector('[role=status]').textContent")


def answers(browser, asked):
    script = f"""Promise.all({json.dumps(asked)}.map(([text, typing]) => ssi.rank(text, typing)))
        .then((several) => JSON.stringify(several))"""
    return json.loads(browser.run(script))


def same(browser, index, asked):
    """Count the rankings that have the pages and the scores, to the last bit, of Python."""
    theirs = answers(browser, asked)
    ours = [index.rank(text, typing=typing) for text, typing in asked]
    assert sum(map(len, ours)) > len(ours)
    return sum(
        [tuple(hit) for hit in one] == other for one, other in zip(theirs, ours, strict=True)
    )


@pytest.mark.trains
@pytest.mark.parametrize("scheme", ["http", "file"])
def test_1000_of_1000_rankings_are_those_of_python(browser, copied, scheme):
    index = SiteIndex(copied / "search")
    with served(copied) as address:
        place = address if scheme == "http" else copied.as_uri()
        browser.open(f"{place}/index.html")
        browser.wait("globalThis.ssi")
        asked = queries(index, 1000)
        assert same(browser, index, asked) == 1000


def test_what_is_typed_stands_where_any_word_that_begins_so_does(browser, tmp_path):
    folder = small(tmp_path / "docs")
    (folder / "near.md").write_text("# Carts one two three old cars\n\n[s](index.md)")
    (folder / "page.html").write_text(PAGE)
    index = SiteIndex(ssi.site(folder, folder / "search", budget=0).path)
    browser.open(f"{folder.as_uri()}/page.html")
    browser.wait("globalThis.ssi")
    asked = [("old car", True), ("old cart", True), ("one old", False), ("carts old", False)]
    asked += [("cafe", False), ("strasse caf", True), ("Stras", True), ("cárs whèels", False)]
    assert same(browser, index, asked) == len(asked)


@pytest.mark.trains
def test_no_chunk_is_loaded_before_it_is_needed(browser, copied):
    loaded = "performance.getEntriesByType('resource').map((one) => one.name.split('/').pop())"
    with served(copied) as address:
        browser.open(f"{address}/index.html")
        browser.wait("globalThis.ssi")
        assert browser.run(loaded) == ["ssi-search.js"]
        browser.run("ssi.rank('car')")
        names = {name.split("?")[0] for name in browser.run(loaded)}
        assert len(names) == 4
        assert names > {"ssi-search.js", "manifest.js", "v0.js"}


LANGUAGES = {"words": "en", "any": "any", "ideographs": "zh", "pairs": "th", "marked": "hi"}


@pytest.mark.parametrize("rule", LANGUAGES)
def test_words_are_those_of_the_tokenizer_in_every_script(opened, rule):
    letters = [chr(i) for i in range(0x20, 0x30000) if unicodedata.category(chr(i))[0] != "C"]
    # A run with two letters, one letter, and a letter behind each sign.
    texts = ["".join(letters[i : i + 40]) for i in range(0, len(letters), 40)]
    texts += [f"a{letter}b {letter}{letter} {letter}" for letter in letters[::7]]
    asked = json.dumps(texts, ensure_ascii=True)
    theirs = json.loads(
        opened.run(f"JSON.stringify({asked}.map((text) => ssi.tokenize(text, '{rule}')))")
    )
    different = [
        text
        for text, words in zip(texts, theirs, strict=True)
        if words != tokenize(text, LANGUAGES[rule])
    ]
    assert different == []


def test_a_person_types_and_goes_to_a_page_by_the_keyboard(opened):
    opened.press("/")
    assert opened.run("document.activeElement.tagName") == "SSI-SEARCH"
    assert opened.run(f"{ROOT}.activeElement.value") == ""
    ask(opened, "car whe")
    assert opened.run(TITLES)[0] == "Old cars"
    box = f"{ROOT}.querySelector('input')"
    assert opened.run(f"{box}.getAttribute('aria-expanded')") == "true"
    assert opened.run(f"{box}.getAttribute('aria-activedescendant')") is None
    opened.press("ArrowDown")
    chosen = opened.run(f"{box}.getAttribute('aria-activedescendant')")
    option = f"{ROOT}.getElementById('{chosen}')"
    assert opened.run(f"{option}.getAttribute('aria-selected')") == "true"
    opened.press("ArrowUp")
    last = opened.run(f"{box}.getAttribute('aria-activedescendant')")
    number = len(opened.run(TITLES))
    assert last == f"option-{(number - 1)}"
    opened.run("""addEventListener("click", (event) => {
        event.preventDefault();
        window.followed = event.composedPath().find((one) => one.href).pathname;
    })""")
    opened.press("ArrowDown")
    opened.press("Enter")
    assert opened.run("followed") == "/below/a/path/cars.html"
    assert not opened.errors


def test_escape_closes_the_list_and_then_empties_the_box(opened):
    ask(opened, "cars")
    assert opened.run(SHOWN)
    opened.press("Escape")
    assert not opened.run(SHOWN)
    assert opened.run(f"{ROOT}.querySelector('input').value") == "cars"
    opened.press("Escape")
    assert opened.run(f"{ROOT}.querySelector('input').value") == ""


def test_an_answer_that_comes_after_a_later_one_is_dropped(opened):
    opened.run("""
        const search = ssi.search;
        ssi.search = async (text, ...asked) => {
            const hits = await search(text, ...asked);
            if (text === "strange") await new Promise((go) => (window.answer = go));
            return hits;
        };
    """)
    opened.press("/")
    opened.type("strange")
    opened.wait("window.answer")
    ask(opened, "wheels")
    opened.run("answer(), new Promise((go) => setTimeout(go))")
    assert opened.run(TITLES) == ["Old cars"]


def test_nothing_found_is_said(opened):
    ask(opened, "xyzzy")
    assert opened.run(f"{ROOT}.querySelector('[role=status]').textContent") == "No pages"
    assert opened.run(SHOWN)
    assert opened.run(TITLES) == []


def test_a_title_that_is_markup_stays_text(opened):
    ask(opened, "strange")
    assert opened.run(TITLES)[0] == HOSTILE
    assert opened.run(f"{ROOT}.querySelectorAll('img').length") == 0
    assert opened.run("document.title") == "Page"
    assert not opened.errors


def test_words_of_the_query_are_marked_and_right_to_left_is_followed(opened):
    ask(opened, "ארבעה ")
    marked = f"[...{ROOT}.querySelectorAll('mark')].map((mark) => mark.textContent)"
    assert opened.run(marked) == ["ארבעה"]
    direction = f"getComputedStyle({ROOT}.querySelector('.title')).direction"
    assert opened.run(direction) == "rtl"
    ask(opened, "cafe ")
    assert opened.run(marked) == ["café"]
    ask(opened, "càr whee")
    assert {"car", "wheels"} <= {*opened.run(marked)}
    assert opened.run(direction) == "ltr"


def test_an_address_that_is_a_program_leads_to_the_root(browser, tmp_path):
    folder = small(tmp_path / "docs")
    (folder / "bad.md").write_text("---\nurl: 'javascript:alert(1)'\n---\n# Bad\n\n[s](index.md)")
    (folder / "page.html").write_text(PAGE)
    ssi.site(folder, folder / "search")
    with served(folder) as address:
        browser.open(f"{address}/page.html")
        browser.wait("globalThis.ssi")
        urls = browser.run("ssi.search('bad').then((hits) => hits.map((hit) => hit.url))")
        assert urls == [f"{address}/"]


def test_a_page_in_another_encoding_shows_titles_as_they_are(browser, tmp_path):
    folder = small(tmp_path / "docs")
    (folder / "page.html").write_text(PAGE)
    ssi.site(folder, folder / "search")
    browser.open(f"{folder.as_uri()}/page.html")  # no header tells the encoding
    browser.wait(ROOT)
    assert browser.run("document.characterSet") == "windows-1252"
    ask(browser, "מכונית")
    assert browser.run(TITLES)[0] == "מכונית ישנה"


def test_a_chunk_that_does_not_load_is_said_and_asked_for_again(browser, tmp_path):
    folder = small(tmp_path / "docs")
    (folder / "page.html").write_text(PAGE)
    ssi.site(folder, folder / "search")
    chunk = (folder / "search/w0.js").rename(tmp_path / "w0.js")
    browser.open(f"{folder.as_uri()}/page.html")
    browser.wait(ROOT)
    ask(browser, "cars")
    said = browser.run(f"{ROOT}.querySelector('[role=status]').textContent")
    assert said == "The search does not load."
    browser.errors.clear()
    chunk.rename(folder / "search/w0.js")
    ask(browser, "cars")
    assert browser.run(TITLES)[0] == "Old cars"


def test_the_list_of_a_box_at_the_edge_is_within_the_window(opened):
    opened.run("document.querySelector('ssi-search').style = 'width: 12em; margin-left: auto'")
    ask(opened, "cars")
    box = f"{ROOT}.querySelector('.results').getBoundingClientRect()"
    assert opened.run(f"{box}.left >= 0 && {box}.right <= 1200 && {box}.width > 400")


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone_and_follows_the_scheme(opened, dark):
    opened.size(390, 844, dark=dark)
    ask(opened, "cars")
    box = f"{ROOT}.querySelector('.results').getBoundingClientRect()"
    assert opened.run(f"{box}.left >= 0 && {box}.right <= 390 && {box}.width > 350")
    assert opened.run("document.documentElement.scrollWidth") <= 390
    back = opened.run(f"getComputedStyle({ROOT}.querySelector('.results')).backgroundColor")
    assert (back == "rgb(255, 255, 255)") == (not dark)
