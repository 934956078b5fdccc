"""What a person sees of summaries: the tables, and a line for each thing that was left out."""

import io

import pytest
from rich.console import Console

from ssi_core.guests.summary import commands
from ssi_core.guests.summary.compare import compare, plainly
from ssi_core.guests.summary.questions import Question
from tests.guests.summary import made


def printed(show, *given):
    out = io.StringIO()
    show(Console(file=out, width=250), *given)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def row(label, mean, **more):
    names = ("rouge1", "rougel", "rougesu")
    means = {name: mean / (n + 1) for n, name in enumerate(names)}
    means |= {f"{name}_plain": value - 0.01 for name, value in means.items()}
    intervals = {name: (means[name] - 0.1, means[name] + 0.1) for name in names}
    tests = {name: {"difference": mean - 0.5, "p_holm": 0.04} for name in names}
    known = {"label": label, "means": means, "intervals": intervals, "printed": {}, "cpu_ms": 1.25}
    return known | ({"tests": tests} if mean != 0.5 else {}) | more


RESULT = {
    "rows": [row("lead", 0.75), row("words", 0.5, printed={"rouge1": 0.34974})],
    "tested": {"queries": 1200, "groups": 1100}, "words": 250, "baseline": "words",
    "default": "BM25", "left_out": ["a", "b"],
    "default_beaten_by": {"rouge1": ["x", "y"], "rougel": [], "rougesu": ["z"], "rouge2": ["y"]},
}  # fmt: skip


def test_a_table_of_each_measure_is_printed():
    lines = printed(commands._show_table, RESULT)
    assert lines[:5] == [
        "",
        "ROUGE-1                   95 %   no stems      more       p   printed",
        "─" * 69,
        "lead      0.7500   0.650-0.850     0.7400   +0.2500   0.040",
        "words     0.5000   0.400-0.600     0.4900                      0.3497",
    ]
    titles = [line.split()[0] for line in lines if "no stems" in line]
    assert titles == ["ROUGE-1", "ROUGE-L", "ROUGE-SU4"]
    assert " ".join(lines[15:]) == (
        "recall at 250 words, 1,200 queries on 1,100 texts; p: paired randomisation over texts "
        "against words, corrected by Holm; printed: another data set (DUC 2005). CPU ms: lead 1.2, "
        "words 1.2 left out without --concepts: a; b"
    )


def test_the_rows_that_beat_the_default_are_named_by_their_measures():
    tested = RESULT | {"rows": [row("lead", 0.25, tests_default={})], "left_out": []}
    assert printed(commands._show_table, tested)[-1] == (
        "BM25, the default, is significantly below x, y in ROUGE-1; z in ROUGE-SU4 (p < .05, "
        "corrected by Holm)"
    )
    tested["default_beaten_by"] = {name: [] for name in RESULT["default_beaten_by"]}
    assert "below no row (p < .05" in printed(commands._show_table, tested)[-1]


@pytest.mark.parametrize(
    ("verb", "settings", "expected"),
    [
        ("of_files", {"query": "cheap fossil fuel", "length": 8},
         ["Fossil fuel was cheap in those days."]),
        ("concepts", {}, ["concepts {out}: 13 concepts, 6 phrases, 14 links"]),
    ],
)  # fmt: skip
def test_a_person_reads_what_was_made(own_root, tmp_path, verb, settings, expected):
    texts = [tmp_path / f"{n}.txt" for n in range(2)]
    for path, text in zip(texts, made.TEXTS, strict=True):
        path.write_text(text)
    out = tmp_path / "concepts"
    if verb == "of_files":
        outcome = commands.of_files.callback(**settings, files=tuple(texts))
    else:
        wiki = made.collection(tmp_path / "wiki")
        outcome = commands.concepts.callback(collection=wiki, out=out)
    assert printed(outcome.show) == [line.format(out=out) for line in expected]


def test_progress_goes_from_row_to_row_and_names_what_is_chosen():
    asked = [
        Question(f"g{n}", "fossil fuel", made.TEXTS, "Fossil fuel was cheap.", n < 2)
        for n in range(4)
    ]
    said = []
    compare(asked, words=12, progress=lambda *step: said.append(step))
    rows = ["lead", "snippet", "BM25 of sentences", "TF-IDF, Word", "Graph, Word"]
    assert said == [
        step
        for number, label in enumerate(rows)
        for step in [
            *([(number / 5, f"{label}, k1 and b")] if number == 2 else []),
            ((number + 0.9) / 5, f"{label}, measured"),
        ]
    ]


def test_a_plain_snippet_is_the_part_with_most_words_of_the_query():
    texts = ("One thing. Another thing here. The green temple stood.", "A temple. The end of it.")
    asked = Question("g", "green temple", texts, "", False)
    assert plainly("lead", asked, 5) == [
        "One thing.", "Another thing here.", "The green temple stood.", "A temple.",
        "The end of it.",
    ]  # fmt: skip
    assert plainly("snippet", asked, 4) == ["The green temple stood.…"]
