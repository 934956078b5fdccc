"""What verbs print of results that are made here: every number, and what is left out."""

import io
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from rich.console import Console

from flows.commands import demo, store
from flows.storage.store_users import Entry
from ssi_core.command import data, hits, measures, neighbours
from ssi_core.command.values import pairs_of
from ssi_core.guests.upkeep.listing import Stored
from ssi_core.serving.ranked import Hit
from ssi_core.serving.searcher import Answer
from ssi_core.serving.summaries import Quoted, Summary
from ssi_core.types import Report


def printed(show, *given, width=60):
    out = io.StringIO()
    show(Console(file=out, width=width), *given)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_counts_have_a_line_each_and_long_ones_their_ends():
    few, many = ({f"{year}": year / 4 for year in range(1, n)} for n in (3, 22))
    twenty = {str(n): n for n in range(20)}
    counts = {"documents": 12_345, "kind_of": "all", "by_year": few, "of_all": many, "n": twenty}
    lines = printed(data.show_counts, "skipped: ", counts, width=100)
    assert lines[:5] == [
        "  skipped: documents 12,345",
        "  skipped: kind of all",
        "  skipped: by_year: 1 0.25",
        "  skipped: by_year: 2 0.5",
        "  skipped: of all: 21 of them, from 1 (0.25) to 21 (5.25)",
    ]
    assert lines[5:] == [f"  skipped: n: {n} {n}" for n in range(20)]


def test_an_artefact_is_named_with_the_begin_of_its_key():
    made = SimpleNamespace(kind="task", path="task", key="0123456789abcdef")
    made.counts, made.skipped = {"pairs": 1200}, {"pair_without_text": 3}
    assert printed(data.artefact_outcome(made).show) == [
        "task task  key 0123456789ab",
        "  pairs 1,200",
        "  skipped: pair without text 3",
    ]


def report(**more):
    given = {"means": {"map": 0.25, "rank_loss": 0.0123456}, "errors": {"map": 0.01234}, **more}
    return Report(None, bounds={"rank_loss": 0.5}, **given)


def test_measures_stand_with_their_errors_and_bounds(monkeypatch):
    monkeypatch.setattr("ssi_core.evaluation.slices.of_short", lambda report: {})
    lines = ["measure      mean    s.e.   bound", "map        0.2500  0.0123"]
    lines += ["rank_loss  0.0123          0.5000"]
    assert printed(measures.show_measures, report()) == lines
    short = {"titles": {"mrr": 0.5, "mrr_se": 0.0432}, "anchors": {"ndcg_at_10": 1.0}}
    monkeypatch.setattr("ssi_core.evaluation.slices.of_short", lambda report: short)
    assert printed(measures.show_measures, report(candidates="all documents")) == [
        *lines,
        "candidates: all documents",
        "",
        "short queries",
        "queries           MRR   nDCG@10   popular@10",
        "─" * 44,
        "titles    0.500 ±.043",
        "anchors                   1.000",
    ]
    assert measures.metrics(report(), "valid") == {
        "valid/map": 0.25,
        "valid/rank_loss": 0.0123456,
        "valid/map_se": 0.01234,
        "valid/titles/mrr": 0.5,
        "valid/titles/mrr_se": 0.0432,
        "valid/anchors/ndcg_at_10": 1.0,
    }


def test_values_of_a_column_are_a_narrow_table():
    numbers = {"queries": 12.0, "candidates": 99.6, "rank_loss": 0.01239, "rank_loss_se": 0.00123}
    numbers |= {"map": 0.5, "map_se": 0.0321, "mrr": 1.0, "ndcg_at_10": 0.75, "ndcg_at_10_se": 0.1}
    head, lines = measures.value_cells({"twelve signs": numbers, "thirteen sign": numbers})
    assert head == ["value", " queries", " cand.", " loss %", " MAP", " MRR", " nDCG@10"]
    cells = [" 12", " 100", " 1.24 ±0.12", " .500 ±.032", " 1.000", " .750 ±.100"]
    assert lines == [["twelve signs", *cells], ["thirteen si…", *cells]]
    assert measures.rank_loss_cell({"rank_loss": 0.5}) == "50.00"
    assert measures.rank_loss_cell(None) == measures.map_cell(None) == measures.map_cell({}) == ""


def test_related_words_are_numbered_with_their_scores():
    related = [("automobile", 0.51239), ("wheel", 0.25)]
    assert printed(neighbours._show_ranked, "word", related) == [
        "   word         score",
        "1  automobile  0.5124",
        "2  wheel       0.2500",
    ]
    assert printed(neighbours._show_ranked, "word", []) == []


HITS = (
    Hit("a", "Car", 1.23456, "https://a", "an old car here", ((3, 6), (7, 10)), ("title", "text")),
    Hit("b", "Wheel\x1b", 0.5, None, None, (), ()),
)
SECOND = f"  1 Wheel\\u001b {'0.5000':>44}"
NO_TEXTS = ["The index keeps no texts to show a part of (ssi data index", "--with-texts)."]
MARKED = {"    an old car here": ["old", "car"], "A car drives. (Car)": ["car"]}
SENTENCE = Quoted("a", "Car", None, "A car drives.", 1.0, ((2, 5),))


@pytest.mark.parametrize(
    ("answer", "more", "lines"),
    [
        (Answer(HITS), {}, [f"  1 Car {'1.2346':>52}", "    https://a", "    found in title, text",
                            "    an old car here", SECOND.replace("1", "2", 1)]),
        (Answer(HITS[1:]), {"recall": 0.98765},
         [SECOND, *NO_TEXTS, "approximate, recall 0.988"]),
        (Answer(HITS[1:]), {"summary": Summary((SENTENCE,)), "unknown": {"kar": "car"}},
         ["no text has the word 'kar'; did you mean 'car'?", "A car drives. (Car)", "", SECOND,
          *NO_TEXTS]),
        (Answer(HITS[1:]), {"summary": Summary((), "none fits")},
         ["no summary: none fits", "", SECOND, *NO_TEXTS]),
        (Answer((), "no word is known"), {"summary": Summary(()), "unknown": {"kar": None}},
         ["nothing found: no word is known", "no text has the word 'kar'."]),
    ],
)  # fmt: skip
def test_found_documents_have_their_place_score_and_marked_words(answer, more, lines):
    outcome = hits.outcome_of(answer, **more)
    assert printed(outcome.show) == lines
    out = io.StringIO()
    outcome.show(Console(file=out, force_terminal=True, color_system="standard"))
    marked = re.findall(r"\x1b\[1;33m(.*?)\x1b", out.getvalue())
    assert marked == [word for text, words in MARKED.items() if text in lines for word in words]
    there = {name for name in ("summary", "recall", "unknown") if name in more}
    assert set(outcome.value) == {"results", *there, *(["reason"] if answer.reason else [])}


def stored(**more):
    known = {"kind": "task", "key": "0123456789abcdef", "size": 1_234_567, "configuration": {}}
    known |= {"parents": {}, "current": True, "problem": ""} | more
    made = datetime.now(UTC) - timedelta(days=more.pop("days", 0))
    known.pop("days", None)
    return Stored(path=Path("/root/store/task/0123456789abcdef"), made=made, **known)


def test_artefacts_are_listed_with_what_tells_them_apart():
    settings = {"source": "/data/wiki.dump.packed.xml", "words": None, "views": ["raw", "counts"]}
    settings |= {"seed": 0, "language": None, "processes": 2}
    every = [
        Entry(stored(configuration=settings, current=None, days=400), ("champion", "run")),
        Entry(stored(problem="its manifest is damaged", current=False, size=0), ()),
    ]
    earlier = every[0].stored.made
    lines = printed(store._show, every, width=120)
    assert [re.split(r"\s{2,}", line) for line in lines if "─" not in line] == [
        ["kind", "key", "used by, settings", "found", "made", "MB"],
        ["task", "0123456789ab", "champion, run", "data", f"{earlier:%d %b %Y}", "1.2"],
        ["", "source=wiki.dump.pa seed=0 words=all views=raw, counts"],
        ["task", "0123456789ab", "nobody", "no", f"{every[1].stored.made:%H:%M}", "0.0"],
        ["", "its manifest is damaged"],
        ["2 artefacts, 1.2 MB"],
    ]
    assert printed(store._show, []) == []
    assert [list(store._description(one.stored)) for one in every] == [
        ["source=wiki.dump.pa", "seed=0", "words=all", "views=raw, counts"],
        ["its manifest is damaged"],
    ]
    assert list(store._description(stored(configuration={"source": "sample", "words": 5}))) == [
        "source=sample", "words=5",
    ]  # fmt: skip


def test_a_time_is_the_hour_of_today_or_an_earlier_day():
    now = datetime.now(UTC)
    assert store._when(now) == "%H:%M"
    assert store._when(now - timedelta(days=1)) == "%d %b %Y"


@pytest.mark.parametrize(
    ("number", "synonym", "said"),
    [
        (0, "car", '0 pages that say "car" only'),
        (1, "car", '1 page that says "car" only'),
        (2, "", '2 pages that say neither "car" nor "auto"'),
    ],
)
def test_the_demo_counts_what_words_alone_do_not_find(number, synonym, said):
    says = [synonym] if synonym else []
    other = {"title": "x", "says": ["auto", "car"]}
    found = [{"title": "y", "says": says}] * number + [other]
    search = {"query": "auto", "synonym": synonym, "words": ["car", "auto"], "labels": ["A", "B"]}
    assert demo._learnt(found, search) == said
    search |= {"results": {"A": found, "B": [other]}, "runs": {"A": "run1", "B": "run2"}}
    lines = printed(demo._show_search, search)
    assert (
        lines[-6:]
        == [
            f"A finds {said}",
            f"B finds {demo._learnt([other], search)}",
            "",
            "Look further:",
            "  ssi search run2 auto",
            "  ssi lab neighbours run2 auto",
            "  ssi ops ui",
        ][-6:]
    )
    search["related"] = {"row": "B", "document": "y", "titles": list("abcdefg")}
    search["model"] = "models:/ssi"
    lines = printed(demo._show_search, search)
    assert 'B relates to "y": a, b, c, d, e' in lines
    assert "  ssi search models:/ssi auto" in lines


@pytest.mark.parametrize(
    ("metavar", "given", "found"),
    [
        ("NAME=VALUE", ("a=1", "b=x=y"), {"a": "1", "b": "x=y"}),
        ("NAME=[VALUE]", ("a=",), {"a": ""}),
        ("NAME=VALUE", ("a=1", "a=2"), "a name is there twice"),
        ("NAME=VALUE", ("a=",), "'a' is not NAME=VALUE. Type: --set a=VALUE"),
        ("NAME=[VALUE]", ("a",), "'a' is not NAME=[VALUE]. Type: --set a=VALUE"),
        ("NAME=VALUE", ("=1",), "'' is not NAME=VALUE. Type: --set NAME=1"),
    ],
)
def test_names_have_values(metavar, given, found):
    option = SimpleNamespace(metavar=metavar, opts=["--set"], get_error_hint=lambda context: "")
    context = click.Context(click.Command("fit"))
    if isinstance(found, dict):
        assert pairs_of(context, option, given) == found
    else:
        with pytest.raises(click.BadParameter) as refused:
            pairs_of(context, option, given)
        assert refused.value.message == found
