import pytest

from ssi_core.datasets.wikipedia.titles import Site, is_year, read_target

SITE = Site("en", True, {"pics": 6, "project x": 4, "": 0})


@pytest.mark.parametrize(
    ("raw", "category", "title"),
    [
        ("foo_bar", "page", "Foo bar"),
        ("  foo__ bar ", "page", "Foo bar"),
        ("foo#bar", "page", "Foo"),
        (":foo", "page", "Foo"),
        ("Caf%C3%A9", "page", "Café"),
        ("Cafe\u0301", "page", "Café"),
        ("A&amp;B", "page", "A&B"),
        ("100%", "page", "100%"),
        ("\u200efoo", "page", "Foo"),
        ("ßa", "page", "ßa"),
        ("ა", "page", "ა"),
        ("Star Trek: Voyager", "page", "Star Trek: Voyager"),
        ("Re:Zero", "page", "Re:Zero"),
        ("#foo", "section_only", ""),
        ("", "malformed", ""),
        (" : ", "malformed", ""),
        ("a{{b}}", "malformed", ""),
        ("a<b", "malformed", ""),
        ("%ff", "malformed", ""),
        ("é" * 128, "malformed", ""),
        ("en:", "malformed", ""),
        ("PICS: a", "other_namespace", ""),
        ("project_X:a", "other_namespace", ""),
        ("Image:a", "other_namespace", ""),
        (":Category:a", "other_namespace", ""),
        ("画像:a", "other_namespace", ""),
        ("User talk:a", "other_namespace", ""),
        ("fr:a", "interwiki", ""),
        ("zh-yue:a", "interwiki", ""),
        (":wikt:a", "interwiki", ""),
        ("1984", "calendar_year", "1984"),
        ("44 BC", "calendar_year", "44 BC"),
        ("AD 50", "calendar_year", "AD 50"),
        ("1984年", "calendar_year", "1984年"),
        ("紀元前44年", "calendar_year", "紀元前44年"),
        ("44 v. Chr.", "calendar_year", "44 v. Chr."),
        ("44 av. J.-C.", "calendar_year", "44 av. J.-C."),
        ("1984 год", "calendar_year", "1984 год"),
        ("1984 (novel)", "page", "1984 (novel)"),
        ("12345", "page", "12345"),
        ("1980s", "page", "1980s"),
        ("Foo", "page", "Foo"),
        ("Foo 1984", "page", "Foo 1984"),
        ("Foo  bar ", "page", "Foo bar"),
        ("A" * 256, "malformed", ""),
    ],
)
def test_a_target_is_read_as_mediawiki_reads_it(raw, category, title):
    assert read_target(raw, SITE) == (category, title)


def test_the_site_says_how_titles_begin():
    assert read_target("foo", Site(first_letter=False)) == ("page", "foo")
    assert read_target("istanbul", Site("tr")) == ("page", "İstanbul")


def test_a_namespace_of_the_site_wins_over_a_language():
    assert read_target("fr:a", Site(namespaces={"fr": 100})) == ("other_namespace", "")


def test_the_site_hides_its_own_files():
    assert "pics" in SITE.hidden
    assert "project x" not in SITE.hidden


def test_a_year_needs_digits():
    assert not is_year("")
    assert not is_year("BC")
