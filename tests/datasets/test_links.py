import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from ssi_core.datasets.links import DOCUMENT, EMPTY, REDIRECT, resolve_links, settle_pages

SCHEMA = {
    "row": pl.Int64,
    "id": pl.String,
    "title": pl.String,
    "kind": pl.UInt8,
    "target": pl.String,
    "digest": pl.Binary,
}


def frame(pages):
    """(title, kind, redirect's target, text) -> the table of pages; row and id count from 0."""
    rows = [
        (i if kind == DOCUMENT else None, str(i), title, kind, target, text and text.encode())
        for i, (title, kind, target, text) in enumerate(pages)
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def naive(pages, found):
    """Resolve links one by one with dictionaries; returns sorted links and counts."""
    by_title, kept_of, texts = {}, {}, {}
    for i, (title, kind, target, text) in enumerate(pages):
        if title in by_title:
            kept_of[i] = None
            continue
        by_title[title] = (i, kind, target)
        if kind == DOCUMENT:
            kept_of[i] = texts.setdefault(text, i)
    counts, links = {}, set()
    for row, title, n in found:
        category = None
        if kept_of[row] is None:
            category = "from_repeated_page"
        elif kept_of[row] != row:
            category = "from_duplicate_page"
        elif title not in by_title:
            category = "missing_page"
        else:
            seen, page, here = set(), by_title[title], title
            while page is not None and page[1] == REDIRECT and here not in seen:
                seen.add(here)
                here = page[2]
                page = by_title.get(here)
            if page is not None and page[1] == EMPTY and not seen:
                category = "empty_page"
            elif page is None or page[1] != DOCUMENT:
                category = "redirect_to_nowhere"
            elif here in ("1984",):
                category = "calendar_year"
            elif kept_of[page[0]] == row:
                category = "self"
            else:
                category, rest = "kept", n
                pair = (str(row), str(kept_of[page[0]]))
                if pair not in links:
                    links.add(pair)
                    counts["kept"] = counts.get("kept", 0) + 1
                    rest -= 1
                counts["duplicate"] = counts.get("duplicate", 0) + rest
                continue
        counts[category] = counts.get(category, 0) + n
    return links, {name: n for name, n in counts.items() if n}


ANCHORS = ("a b", "", None, "c")
TITLES = st.sampled_from(["A", "B", "C", "D", "E", "F", "G", "1984"])
PAGES = st.lists(
    st.one_of(
        st.tuples(TITLES, st.just(DOCUMENT), st.none(), st.sampled_from("uvwxyz")),
        st.tuples(TITLES, st.just(REDIRECT), TITLES | st.none(), st.none()),
        st.tuples(TITLES, st.just(EMPTY), st.none(), st.none()),
    ),
    min_size=1,
    max_size=12,
)


@given(PAGES, st.lists(st.tuples(st.integers(0, 11), TITLES, st.integers(1, 3)), max_size=30))
def test_agrees_with_links_resolved_one_by_one(pages, wanted):
    rows = [i for i, page in enumerate(pages) if page[1] == DOCUMENT]
    found = [(rows[i % len(rows)], title, n) for i, title, n in wanted] if rows else []
    # A source names a title once, with the number of times.
    found = list({(row, title): (row, title, n) for row, title, n in found}.values())
    settled = settle_pages(frame(pages))
    schema = {"row": pl.Int64, "title": pl.String, "n": pl.UInt32}
    anchors = pl.Series("anchor", [ANCHORS[i % 4] for i in range(len(found))], dtype=pl.String)
    resolved = resolve_links(
        pl.DataFrame(found, schema=schema, orient="row").with_columns(anchors), settled
    )
    links, counts = resolved.links, resolved.counts
    worded = resolved.anchors["weight"].sum() + sum(resolved.unworded.values())
    assert worded == counts["kept"] + counts["duplicate"]
    assert resolved.anchors.select("source", "target", "text").is_unique().all()
    assert set(resolved.anchors["text"]) <= {"a b", "c"}
    expected, expected_counts = naive(pages, found)
    assert links.height == len(expected)
    assert set(links.rows()) == expected
    assert {name: n for name, n in counts.items() if n} == expected_counts
    assert sum(counts.values()) == sum(n for _, _, n in found)


def test_chains_and_cycles_of_redirects():
    chain = [(f"R{i}", REDIRECT, f"R{i + 1}", None) for i in range(100)]
    pages = [
        *chain,
        ("R100", DOCUMENT, None, "text"),
        ("X", REDIRECT, "Y", None),
        ("Y", REDIRECT, "X", None),
        ("Z", REDIRECT, "Z", None),
        ("W", REDIRECT, "X", None),
        ("N", REDIRECT, "absent", None),
        ("M", REDIRECT, None, None),
    ]
    settled = settle_pages(frame(pages))
    leads = dict(settled.names.select("title", "destination").iter_rows())
    assert {leads[f"R{i}"] for i in range(101)} == {"100"}
    assert settled.counts == {"documents": 1, "redirects": 106, "redirects_resolved": 100}
    assert settled.skipped["redirect_cycle"] == 4
    assert settled.skipped["redirect_to_nowhere"] == 2
