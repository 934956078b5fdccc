"""Ways in which a link may write the page that it leads to, one by one."""

import pytest

from ssi_core.corpus.web.site import MALFORMED, NO_PAGE, OTHER_SITE, WITHIN, Site

INTRO, SETUP, GUIDE = "docs/01-intro.md", "docs/Setup.md", "docs/guide/README.md"
DATES, GET_DATE = "ref/Mod/about/Dates.md", "ref/Mod/Get-Date.md"

WAYS = {
    "index.md": ("../index.md", "/", ".."),
    INTRO: ("intro", "01-intro", "Intro.html", "/begin", "/d%C3%A9but%20un/"),
    SETUP: (
        *("Setup.md", "Setup", "setup.MD", "./Setup.html", "Setup#part", "Setup?q=1"),
        *("/docs/Setup", "/prefix/docs/Setup", "former", "/docs/former", "/old/setup"),
        *("xref:the.setup", "xref:The.Setup?view=1", "xref:docs.setup"),
    ),
    GUIDE: ("guide", "guide/", "guide/README.md", "guide/index.html", "xref:guide.readme"),
    DATES: ("Dates", "../ref/Mod/about/Dates", "xref:about.dates", "xref:mod.dates"),
    GET_DATE: ("Get-Date", "get%2Ddate", "xref:Mod.Get-Date"),
}
NONE = {
    NO_PAGE: ("nowhere", "old/setup", "guide/Setup"),
    WITHIN: ("#part", "", "?q=1"),
    OTHER_SITE: (
        *("https://a.org/docs/Setup", "//a.org/docs/Setup", "mailto:a@b.org"),
        *("xref:", "xref:former", "xref:the.setups"),
    ),
    MALFORMED: ("http://[",),
}


@pytest.fixture(scope="module")
def site():
    made = Site(["index.md", INTRO, SETUP, GUIDE, DATES, GET_DATE])
    made.add(SETUP, ["/old/setup/", "former"], uid="The.Setup")
    made.add(INTRO, ["https://a.org/begin", "https://a.org/d%C3%A9but%20un/"])
    return made


@pytest.mark.parametrize("page", WAYS)
def test_a_page_is_found_in_each_of_its_ways(page, site):
    assert {href: site.find(INTRO, href) for href in WAYS[page]} == dict.fromkeys(
        WAYS[page], (NO_PAGE, page)
    )


@pytest.mark.parametrize("reason", NONE)
def test_a_link_to_no_page_says_why(reason, site):
    assert {href: site.find(INTRO, href) for href in NONE[reason]} == dict.fromkeys(
        NONE[reason], (reason, None)
    )
