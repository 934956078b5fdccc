"""Figures of the pages: those of the project agree with its results, and a wrong one is seen."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from flows import tracking
from flows.reporting import compare, result_file
from flows.reporting.reached_code import reached_by
from flows.reporting.shipped_tables import find_table, shipped_tables
from ssi_core.evaluation.claims import average_seeds
from ssi_core.experiment import parse_table
from ssi_core.types import BadInput
from tests.docs import __main__ as program
from tests.docs.figures import RESULTS, Results
from tests.docs.markers import filled, markers
from tests.docs.pages import ROOT, pages
from tests.docs.prose import allowed, unaccounted
from tests.flows import comparisons

FILES = sorted((ROOT / RESULTS).glob("*.json"))
COMPARISONS = [path for path in FILES if "experiment" in json.loads(path.read_text("utf-8"))]


def text_of(page):
    return (ROOT / page).read_text(encoding="utf-8")


# The pages of the project.


@pytest.mark.parametrize("page", pages())
def test_figures_of_a_page_are_those_of_its_results(page):
    text = text_of(page)
    done = filled(page, text, Results(ROOT / RESULTS))
    assert not done.problems, "\n".join(done.problems)
    lines = zip(text.splitlines(), done.text.splitlines(), strict=False)
    differ = [f"{page}: {ours!r}, result: {new!r}" for ours, new in lines if ours != new]
    assert done.text == text, "make docs-figures\n" + "\n".join(differ[:5])
    missing = sorted(set(done.missing))
    assert not missing, f"{RESULTS} lacks {', '.join(missing)}: docs/numbers.md says how to make it"


@pytest.mark.parametrize("page", pages())
def test_every_decimal_of_a_page_is_accounted_for(page):
    problems = unaccounted(page, text_of(page), allowed().get(page, {}))
    assert not problems, "\n".join(problems)


def test_pages_with_reasons_are_there():
    assert set(allowed()) <= set(pages())
    assert all(reason for phrases in allowed().values() for reason in phrases.values())


@pytest.mark.parametrize("path", COMPARISONS, ids=lambda path: path.stem)
def test_a_result_is_of_the_table_as_it_is_today(path):
    result = result_file.load(path)
    name = result["experiment"]
    assert name in shipped_tables()
    assert path.stem == name or path.stem.startswith(f"{name}-")
    assert not result["missing"], f"{path.name} lacks rows: compute the table to its end"
    assert result["settings"] == result_file.settings_digest(find_table(name)), (
        f"flows/tables/{name}.toml computes something else since {path.name} was made: compute it "
        "anew (docs/numbers.md)"
    )


@pytest.mark.parametrize("page", pages())
def test_what_measured_a_figure_is_there(page):
    for marker in markers(text_of(page)):
        if marker.kind == "measured":
            modules = re.findall(r"python -m ([\w.]+)", marker.said)
            paths = [f"{module.replace('.', '/')}" for module in modules]
            paths += re.findall(r"[\w-]+(?:/[\w.-]+)+", marker.said)
            places = [ROOT / path for path in paths]
            there = all(place.exists() or place.with_suffix(".py").exists() for place in places)
            assert there, f"{page}:{marker.line}: {marker.said} names what is not there"
            assert paths or marker.said.startswith(("ssi ", "make ")), f"{page}:{marker.line}"


def numbers_in(value):
    """All numbers inside a value of JSON; those inside its texts, too."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return {number for one in inner for number in numbers_in(one)}
    if isinstance(value, str):
        return {float(number) for number in re.findall(r"-?\d*\.?\d+(?:e-?\d+)?", value)}
    return {float(value)} if isinstance(value, int | float) else set()


def foreign(text, known):
    """Decimals of a text that are no number of a result, as it is or in percent, rounded."""
    shown = re.findall(r"(?<![\w.])\d*\.\d+(?![\d.]|\w)", text)
    digits = {len(number.partition(".")[2]) for number in shown}
    rounded = {
        f"{abs(scale * number):.{places}f}".removeprefix("0")
        for places in digits
        for number in known
        for scale in (1, 100)
    }
    return [number for number in shown if number.removeprefix("0") not in rounded]


@pytest.mark.parametrize("page", pages())
def test_what_names_a_result_file_shows_its_numbers(page):
    text = text_of(page)
    for marker in markers(text):
        names = re.findall(r"docs/results/\S+\.json", marker.said)
        if marker.kind == "measured" and names:
            known = set().union(*(numbers_in(json.loads(text_of(name))) for name in names))
            found = foreign(re.sub(r"`[^`]*`", "", text[slice(*marker.body)]), known)
            assert not found, f"{page}:{marker.line}: {', '.join(found)} are not in {names}"


def test_a_number_that_a_result_lacks_is_seen():
    known = numbers_in({"a": [0.0226, "12 to 13.5"], "b": {"c": 1.131}})
    assert foreign("2.26 % and 1.13, .023, 13.5", known) == []
    assert foreign("2.27 % and 1.14", known) == ["2.27", "1.14"]


# A made-up result.


@pytest.fixture
def comparison(monkeypatch):
    """The comparison "kept" of made-up reports, which no store has."""
    monkeypatch.setattr(tracking, "reasons", lambda *_: {})
    table = parse_table(comparisons.TABLE)
    reports = {
        "TF-IDF": [comparisons.report(0.0, seed=0)],
        "BM25": [comparisons.report(0.0, seed=1)],
        "U'V + I": [comparisons.report(0.2, seed=2), comparisons.report(0.2, seed=3)],
    }
    data = {"task": "1" * 64, "corpus": "2" * 64}
    runs = [
        tracking.FinishedRow(
            label, seed, f"run-{label}-{seed}", {"train/triples": 1e6}, {}, data, ""
        )
        for label, own in reports.items()
        for seed in range(len(own))
    ]
    means = {label: average_seeds(own) for label, own in reports.items()}
    return compare.results(compare.Loaded("made-up", "kept", table, runs, reports, means))


@pytest.fixture
def results(comparison, tmp_path):
    (tmp_path / "results").mkdir()
    result_file.save(comparison, tmp_path / "results" / "made-up.json")
    return Results(tmp_path / "results")


def figure(results, expression):
    result, words = results.named(expression)
    return result.figure(words)


def test_the_same_comparison_gives_the_same_small_file(comparison, tmp_path):
    again = json.loads(json.dumps(copy.deepcopy(comparison)))
    result_file.save(comparison, tmp_path / "one.json")
    result_file.save(dict(reversed(again.items())), tmp_path / "two.json")
    text = (tmp_path / "one.json").read_text(encoding="utf-8")
    assert text == (tmp_path / "two.json").read_text(encoding="utf-8")
    assert not any(run["run_id"] in text for run in comparison["rows"])
    kept = result_file.load(tmp_path / "one.json")
    assert list(kept) == sorted(kept)
    assert kept["comparison"] == "kept"
    (data,) = kept["data"].values()
    assert len(data["task"]) == 64
    mean = comparison["summary"][2]["measures"]["map"]["mean"]
    assert kept["summary"][2]["measures"]["map"]["mean"] == pytest.approx(mean, rel=1e-5)


def test_the_digest_is_of_what_a_table_computes_and_not_of_its_words():
    table = find_table("wikispeedia-table4")
    digest = result_file.settings_digest(table)
    said = table.to_dict()
    note = parse_table({**said, "note": "other words"})
    seeds = parse_table({**said, "seeds": table.seeds + 1})
    assert result_file.settings_digest(note) == digest != result_file.settings_digest(seeds)
    rows = [{**said["rows"][0], "margin": 0.5}, *said["rows"][1:]]
    assert result_file.settings_digest(parse_table({**said, "rows": rows})) != digest


def test_a_figure_is_the_value_as_the_table_prints_it(results, comparison):
    row = comparison["summary"][2]
    loss, precision = row["measures"]["rank_loss"], row["measures"]["map"]
    assert figure(results, 'made-up "U\'V + I" rank_loss mean') == f"{100 * loss['mean']:.2f} %"
    spread = f"{100 * loss['se']:.2f}".removeprefix("0")
    assert figure(results, 'made-up "U\'V + I" rank_loss') == (
        f"{100 * loss['mean']:.2f} ±{spread} %"
    )
    assert figure(results, 'made-up "U\'V + I" map mean') == f"{precision['mean']:.3f}"
    spread = f"{precision['sd_seeds']:.3f}".removeprefix("0")
    assert figure(results, 'made-up "U\'V + I" map sd') == spread
    assert figure(results, 'made-up "U\'V + I" map signed').startswith("* ")
    assert figure(results, 'made-up "TF-IDF" map paper') == "0.329 ±.010"
    assert figure(results, 'made-up "TF-IDF" map sd') == ""
    assert figure(results, 'made-up "U\'V + I" seeds') == "2"
    assert figure(results, "made-up seeds") == "1 to 2"
    assert figure(results, "made-up comparison") == "`kept`"


def test_claims_are_counted_by_verdict_and_row(results, comparison):
    verdicts = [claim["verdict"] for claim in comparison["claims"]]
    assert figure(results, "made-up claims") == str(len(verdicts)) == "4"
    assert figure(results, "made-up claims holds") == str(verdicts.count("holds"))
    assert figure(results, "made-up claims open") == "2"
    assert figure(results, 'made-up claims open "BM25"') == "1"
    assert figure(results, "made-up claims unlike") == "0"
    assert figure(results, "made-up claims own holds") == str(verdicts.count("holds"))
    assert figure(results, "made-up claims stand-ins") == "0"


def test_claims_are_counted_by_t_and_beside_them_stands_what_could_be_shown(results):
    """Nothing where a result was saved before it had either."""
    counted = [figure(results, f"made-up claims t-{kind}") for kind in ("holds", "reversed")]
    assert counted == ["2", "1"]
    assert figure(results, "made-up claims t-undecided") == "1"
    path = results.directory / "made-up.json"
    result = json.loads(path.read_text())
    least = [one["detectable"] for one in result["claims"] if one["measure"] == "map"]
    assert figure(results, "made-up detectable map") == f"{np.median(least):.3f}"
    for claim in result["claims"]:
        del claim["detectable"], claim["p_t"]
    path.write_text(json.dumps(result))
    again = Results(results.directory)
    assert figure(again, "made-up claims t-holds") == ""
    assert figure(again, "made-up detectable map") == ""


def test_claims_on_stand_ins_are_counted_by_themselves(results):
    path = results.directory / "made-up.json"
    result = json.loads(path.read_text())
    claim = next(one for one in result["claims"] if one["verdict"] == "holds")
    claim["rows"] = [claim["above"], "another"]
    path.write_text(json.dumps(result))
    again = Results(results.directory)
    assert figure(again, "made-up claims own") == "3"
    assert figure(again, "made-up claims own holds") == "1"
    assert figure(again, "made-up claims stand-ins holds") == "1"


def test_a_p_at_the_floor_of_the_randomisation_is_a_bound(results):
    assert figure(results, 'made-up "U\'V + I" "TF-IDF" map p') == "p < .001"
    path = results.directory / "made-up.json"
    result = json.loads(path.read_text())
    for claim in result["claims"]:
        claim.update(p=0.004, p_adjusted=0.02, bound=True)
    path.write_text(json.dumps(result))
    again = Results(results.directory)
    assert figure(again, 'made-up "U\'V + I" "TF-IDF" map p') == "p < .004"
    assert figure(again, 'made-up "U\'V + I" "TF-IDF" map holm') == "p < .020"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ('made-up "U\'V" map', 'has no row "U\'V".* Did you mean "U\'V \\+ I"'),
        ('made-up "BM25" mapp', "no measure 'mapp'.* Did you mean 'map'"),
        ('made-up "BM25" map seven', "'seven' after a measure: expected mean"),
        ("made-up claims held", "no kind of claims 'held'"),
        ("made-up detectable mapp", "no difference of 'mapp'.* Did you mean 'map'"),
        ('made-up "BM25" "LSI" map p', "has no row 'LSI'"),
        ('made-up "BM25" chosen alpha', "chose no 'alpha'"),
        ("made-up", "a figure says what it is of"),
        ("made-up BM25 map", "'BM25': expected \"ROW\""),
    ],
)
def test_a_wrong_expression_names_its_place_and_what_there_is(results, expression, message):
    page = f"one\n\nIt is <!-- result: {expression} -->3<!-- /result -->.\n"
    done = filled("page.md", page, results)
    assert done.text == page
    (problem,) = done.problems
    assert problem.startswith("page.md:3: ")
    assert re.search(message, problem), problem


def test_only_what_stands_in_a_marker_is_written(results):
    opening = '<!-- result: made-up "BM25"\n  map mean -->'
    page = f"It has {opening}.9<!-- /result --> now.\n\n    {opening}.9<!-- /result -->\n"
    done = filled("page.md", page, results)
    value = figure(results, 'made-up "BM25" map mean')
    assert done.text == page.replace(".9<", f"{value}<", 1)
    assert filled("page.md", done.text, results).text == done.text


def test_a_missing_result_leaves_the_page_and_is_named(results):
    page = 'It is <!-- result: other "BM25" map -->3<!-- /result -->.\n'
    done = filled("page.md", page, results)
    assert (done.text, done.missing, done.problems) == (page, ["other"], [])
    with pytest.raises(BadInput, match=r"docs/results/other\.json is missing\..* --save"):
        results["other"]


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ('a <!-- result: made-up "BM25" map -->3\n', "'result' is not closed"),
        ('a\n- <!-- result: made-up "BM25" map -->3<!-- /result -->\n', "begins its line"),
        ("<!-- table: made-up -->\n<!-- /table -->\n", "a table says NAME"),
        ('<!-- table: made-up\nr | {map}\n"A" | 1 | 2\n-->\n<!-- /table -->\n', "3 cells, not 2"),
        ('<!-- table: made-up\nr | MAP\n"BM25"\n-->\n<!-- /table -->\n', "needs cells"),
        ('<!-- table: made-up\nr | {maps}\n"BM25"\n-->\n<!-- /table -->\n', "no measure 'maps'"),
    ],
)
def test_a_broken_marker_is_refused_with_its_line(results, page, message):
    (problem,) = filled("page.md", page, results).problems
    assert re.match(r"page\.md:\d+: ", problem)
    assert message in problem


def test_a_table_has_rows_cells_headings_and_says_what_it_is_of(results):
    said = (
        'made-up signs\nrow | {rank_loss} | {map mean} | MAP, sd {made-up "*" map sd}\n'
        '"TF-IDF"\nlearnt\n"U\'V + I" as `U\'V + I`, two seeds\n'
        'BM25 | {"BM25" rank_loss mean} | {made-up "BM25" map mean} of {"TF-IDF" map mean} | -\n'
    )
    text = filled("p", f"<!-- table: {said}-->\n<!-- /table -->\n", results).text
    table = [line for line in text.splitlines() if line.startswith("|")][-6:]
    tfidf, bm25 = (figure(results, f'made-up "{label}" map mean') for label in ("TF-IDF", "BM25"))
    spread = figure(results, 'made-up "U\'V + I" map sd')
    assert table[0] == "| row | rank loss % | MAP | MAP, sd |"
    assert table[1] == "| --- | ---: | ---: | ---: |"
    assert table[2].startswith("| TF-IDF | ")
    assert table[2].endswith(f" | {tfidf} |  |")
    assert table[3] == "| **learnt** |  |  |  |"
    assert table[4].startswith("| `U'V + I`, two seeds | \\* ")
    assert table[4].endswith(f" | {spread} |")
    assert f" | {bm25} of {tfidf} | " in table[5]
    assert "%" not in table[5]
    caption = " ".join(text.split("|")[-1].split())
    assert "60 test queries" in caption
    assert "2 seeds (1 of TF-IDF, BM25)." in caption
    assert "sd over seeds: rank loss ." in caption
    assert "Comparison `kept`." in caption
    assert not re.search(r"^[-+*] ", text, re.MULTILINE)


def test_a_head_of_a_marked_measure_is_its_title_and_the_marks_are_explained(results):
    page = '<!-- table: made-up\nrow | {rank_loss} | {map%s}\n"U\'V + I"\n-->\n<!-- /table -->\n'
    plain, marked = (filled("p", page % field, results).text for field in ("", " signed"))
    assert "| row | rank loss % | MAP |" in marked
    assert "better, ° worse than" in " ".join(marked.split())
    assert "better, ° worse than" not in " ".join(plain.split())


def test_a_table_says_that_its_code_has_changed(results):
    page = '<!-- table: made-up\nrow | {map}\n"TF-IDF"\n-->\n<!-- /table -->\n'
    assert "changed" not in filled("p", page, results).text
    (results.directory / "earlier.txt").write_text("other\nmade-up\n")
    again = filled("p", page, Results(results.directory)).text
    assert "Comparison `kept`. The code has changed since." in " ".join(again.split())


def test_a_result_is_of_earlier_code_unless_code_and_settings_are_those_of_today():
    table = find_table("query-log")
    today = {
        "experiment": "query-log",
        "settings": result_file.settings_digest(table),
        "code": reached_by(*table.rows),
    }
    assert not result_file.earlier(today)
    for other in ({"code": "0"}, {"code": None}, {"settings": "0"}, {"experiment": "mine"}):
        assert result_file.earlier({**today, **other})


def test_the_output_is_what_compare_prints_of_the_rows(results):
    page = '<!-- output: made-up "TF-IDF" "BM25" -->\n<!-- /output -->\n'
    text = filled("page.md", page, results).text
    assert "```text\nRows of made-up reports ──" in text
    assert re.search(r"^BM25 +[°* ]*\d", text, re.MULTILINE)
    assert "U'V + I " not in text
    assert "2 of 4 claims of order hold, 1 reversed, 1 not decided\n" in text
    assert text.endswith("experiment made-up, comparison kept\n```\n\n<!-- /output -->\n")
    assert max(map(len, text.splitlines())) <= 100


def test_a_figure_that_was_changed_by_hand_is_seen_and_mended(
    results, tmp_path, monkeypatch, capsys
):
    (tmp_path / "docs").mkdir()
    (tmp_path / "results").rename(tmp_path / "docs" / "results")
    page = tmp_path / "docs" / "page.md"
    page.write_text('It is <!-- result: made-up "BM25" map mean -->9<!-- /result -->.\n')
    monkeypatch.setattr(program, "ROOT", tmp_path)
    monkeypatch.setattr(program, "pages", lambda: ["docs/page.md"])
    assert program.main() == 0
    value = re.search(r"-->(.*)<!-- /", page.read_text())[1]
    assert value != "9"
    right = page.read_text()
    wrong = right.replace(value, "0.999")
    assert filled("docs/page.md", wrong, Results(tmp_path / "docs" / "results")).text == right
    page.write_text('It is <!-- result: other "BM25" map -->9<!-- /result -->.\n')
    assert program.main() == 1
    assert "docs/results/other.json is missing" in capsys.readouterr().err


def test_decimals_without_a_marker_are_found_and_those_in_code_are_not():
    page = (
        "It has .25 and `0.5`, at\n\n    rate = 0.1\n\n```toml\nrate = 0.1\n```\n"
        "[page](a.html#1.2) of 127.0.0.1, from <!-- measured: make x -->7.5<!-- /measured --> on,\n"
        "a margin of\n0.03, and 1.5 %.\n\n```text\n12.5\n```\n"
    )
    problems = unaccounted("p.md", page, {"margin of 0.03": "a setting"})
    assert [problem.split(" stands")[0] for problem in problems] == [
        "p.md:1: .25", "p.md:10: 1.5", "p.md:13: 12.5"
    ]  # fmt: skip
    assert "docs/numbers.md" in problems[0]
    (unused, *_) = unaccounted("p.md", "no figure", {"margin of 0.03": "a setting"})
    assert unused == "p.md: 'margin of 0.03' of allowed.toml is not there; remove it"


def test_result_files_of_another_kind_are_refused(tmp_path):
    path = tmp_path / "made-up.json"
    path.write_text('{"comparison": "x"}')
    with pytest.raises(BadInput, match=r"made-up.json lacks experiment.* --save"):
        result_file.load(path)
    with pytest.raises(BadInput, match="there is no directory"):
        result_file.save({}, tmp_path / "nowhere" / "one.json")
    with pytest.raises(BadInput, match="is missing"):
        result_file.load(tmp_path / "other.json")


def test_the_program_is_a_command():
    done = subprocess.run(
        [sys.executable, "-c", "import tests.docs.__main__"], cwd=ROOT, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert "python -m tests.docs" in (ROOT / "Makefile").read_text()
    assert Path(program.__file__).name == "__main__.py"
