"""The site of the pages: it builds without a warning, has every page, and needs no other host."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import pytest
import yaml

import ssi_core as ssi
from tests.docs.pages import ROOT
from tests.flows.browser import CHROMIUM, Browser

CONFIGURATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
LOADED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}
"""Element -> attribute with the address of what a browser loads for it."""


def pages_of(navigation):
    """Paths of the pages of a navigation, in its order."""
    for entry in navigation:
        value = next(iter(entry.values())) if isinstance(entry, dict) else entry
        if isinstance(value, str):
            yield value
        else:
            yield from pages_of(value)


def test_the_navigation_has_every_page_once_and_few_entries():
    navigation = yaml.safe_load(CONFIGURATION)["nav"]
    pages = list(pages_of(navigation))
    assert sorted(pages) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))
    assert len(navigation) <= 6


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{p.name}" for p in ROOT.glob("docs/*.md"))])
def test_links_and_pictures_of_a_page_are_there(page):
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", (ROOT / page).read_text("utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in target and not target.startswith("#"):
            path = (ROOT / page).parent / target.partition("#")[0]
            assert path.exists(), f"{page}: {target} is not there"


def test_the_readme_needs_no_place_to_be_read_in():
    # A package index shows it without the files beside it.
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)\s]+)\)|(?:href|src)=\"([^\"]+)", text)
    assert [target for pair in targets for target in pair if target and "://" not in target] == []
    named = set(re.findall(r"`(?:docs/)?([\w-]+\.md)`", text))
    assert {
        one for one in named if not any((ROOT / d / one).exists() for d in ("docs", ""))
    } == set()
    assert len(named) > 5


class _Addresses(HTMLParser):
    """Addresses that a page loads, and those that its links lead to."""

    def __init__(self):
        super().__init__()
        self.loaded, self.linked = [], []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag in LOADED and LOADED[tag] in values and values.get("rel") != "canonical":
            self.loaded.append(values[LOADED[tag]])
        if tag == "a" and "href" in values:
            self.linked.append(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("zensical")
    path = tmp_path_factory.mktemp("site")
    (path / "mkdocs.yml").write_text(CONFIGURATION, encoding="utf-8")
    shutil.copytree(ROOT / "docs", path / "docs")
    (path / "ssi_core").symlink_to(ROOT / "ssi_core")
    build = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(build, cwd=path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(path / "root"))
        ssi.site(path / "site", path / "site" / "search")
    return path / "site"


def foreign(address):
    return address.startswith(("http:", "https:", "//"))


@pytest.mark.slow
def test_no_page_loads_anything_from_another_host(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(list(ROOT.glob("docs/*.md")))
    for path in pages:
        addresses = _Addresses()
        addresses.feed(path.read_text(encoding="utf-8"))
        assert addresses.loaded
        assert not [one for one in addresses.loaded if foreign(one)], path.name
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"url\(\s*[\"']?(?:https?:)?//|@import", text), path.name
    assert not [path for path in site.rglob("*") if path.suffix in (".woff", ".woff2", ".ttf")]


@pytest.mark.slow
def test_the_interface_has_every_public_name_and_parameter(site):
    text = (site / "api.html").read_text(encoding="utf-8")
    for name in ssi.__all__:
        assert f'id="ssi_core.{name}"' in text
    for name in ssi.SSI().get_params():
        assert f"<code>{name}</code>" in text


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_reader_searches_the_pages_from_a_disk(site):
    box = "document.querySelector('.md-header ssi-search').shadowRoot"
    with Browser() as browser:
        browser.size(1200, 900)
        browser.open(f"{site.as_uri()}/models.html")
        browser.wait(box)
        browser.press("/")
        browser.type("static site search")
        browser.wait(f"{box}.querySelector('a')")
        first = f"{box}.querySelector('a').href"
        assert browser.run(first) == f"{site.as_uri()}/site.html"
        assert browser.run("document.querySelector('.md-search')") is None
        assert not browser.errors
