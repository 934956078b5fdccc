"""What a person sees of rankers: a table for each measure, and what each verb has made."""

import io
import re

import pytest
from rich.console import Console

from ssi_core.guests.reranking import commands
from ssi_core.guests.reranking.display import show_rankers
from ssi_core.guests.reranking.letor import read_letor, write_letor
from tests.guests.reranking import made
from tests.guests.reranking.test_missing import ranks_of_systems


def printed(show, *given):
    out = io.StringIO()
    show(*([Console(file=out, width=250), *given]))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def row(label, first, second, **more):
    folds = [{"measures": {"letor_map": value}, "facts": {}} for value in (first, second)]
    return {"label": label, "folds": folds, "means": {"letor_map": (first + second) / 2}, **more}


BEST = row("best feature", 0.25, 0.5)
for fold, direction in zip(BEST["folds"], ("higher", "lower"), strict=True):
    fold["facts"] = {"feature": "7", "direction": f"{direction} is better"}
RESULT = {
    "title": "Rankers", "measures": ["letor_map"], "folds": ["Fold1", "Fold2"], "queries": 1200,
    "baseline": "a", "note": "a note", "missing_values": 1500, "values": 20_000,
    "rows": [
        row("a", 0.5, 0.25),
        row("b", 0.75, 1.0, tests={"letor_map": {"p_holm": 0.0421}}, against="c",
            printed={"letor_map": {"mean": 0.4321}},
            further_tests={"d": {"letor_map": {"p_holm": 0.5}}}),
        {"label": "c", "left_out": "it is slow"},
        BEST,
    ],
    "references": {"measure": "letor_map", "rows": {
        "best feature": {"mean": 0.375, "below": ["b"], "tests": {
            "b": {"p_holm": 0.04}, "a": {"p_holm": 0.5}}},
        "a": {"mean": 0.375, "below": [], "tests": {}},
    }},
}  # fmt: skip


def test_a_table_has_a_column_for_each_fold_and_a_line_for_each_remark():
    lines = printed(show_rankers, RESULT)
    assert [re.split(r"\s{2,}", line) for line in lines[2:8] if "─" not in line] == [
        ["LETOR MAP", "Fold1", "Fold2", "mean", "printed", "p"],
        ["a", "0.5000", "0.2500", "0.3750"],
        ["b", "0.7500", "1.0000", "0.8750", "0.4321", "0.042"],
        ["c"],
        ["best feature", "0.2500", "0.5000", "0.3750"],
    ]
    assert lines[8:] == [
        "p: paired randomisation over 1,200 test queries against a, corrected by Holm over the "
        "tests of a measure",
        "b: p is against c",
        "b: p against d: MAP 0.500",
        "c: it is slow",
        "a note",
        "missing values of the test queries: 1,500 (7.5%)",
        "best feature (7, higher is better; 7, lower is better), MAP 0.3750: below it: b (0.8750, "
        "p 0.040)",
        "a, MAP 0.3750: no ranker is below it",
    ]
    plain = RESULT | {"rows": [RESULT["rows"][0], BEST], "note": "", "missing_values": 0}
    plain["references"] = {"measure": "letor_map", "rows": {}}
    lines = printed(show_rankers, plain)
    assert "printed" not in lines[2]
    assert lines[-1].startswith("p: paired randomisation")


def test_a_person_reads_what_was_trained_and_how_good_it_is(tmp_path):
    fold = tmp_path / "Fold1"
    for seed, side in enumerate(("train", "vali", "test")):
        write_letor(ranks_of_systems(9, seed), fold / f"{side}.txt")
    train, out = read_letor(fold / "train.txt"), tmp_path / "model"
    fitted = commands.fit.callback(train=fold, out=out, ranker="rankrls", settings_=())
    lines = printed(fitted.show)
    missing = train.missing / train.values.size
    assert lines[0] == f"reranker {out} (rankrls, {len(train.names)} features)"
    assert lines[1] == f"  missing values {train.missing:,} of the training ({missing:.1%})"
    known = {k: v for k, v in fitted.value["facts"].items() if k != "missing_values"}
    facts = [f"  {name.replace('_', ' ')} {fact}" for name, fact in known.items()]
    measures = [value for name, value in fitted.value["measures"].items()]
    assert lines[2 : 2 + len(facts)] == facts
    assert lines[2 + len(facts)] == f"measured on {fold / 'test.txt'}:"
    shown = lines[3 + len(facts) :]
    assert [line.split()[-1] for line in shown] == [f"{value:.4f}" for value in measures]
    assert shown[0].startswith("  MAP       ")
    scored = commands.score.callback(model=out, pairs=fold / "test.txt")
    pairs = len(read_letor(fold / "test.txt"))
    assert printed(scored.show) == [f"{pairs:,} pairs of 9 queries", *shown]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"depth": 5, "queries": 3, "seed": 1}, "--depth goes with --models, on a task."),
        ({"queries": 3, "seed": 1}, "--max-queries goes with --models, on a task."),
        ({"seed": 0}, "--seed goes with --models, on a task."),
        ({"models": ("bm25",), "valid": True}, "--valid goes with a file: a task has its "
         "validation queries."),
        ({"models": ("bm25",), "scale": True}, "--scale goes with a file: features of models are "
         "scaled."),
    ],
)  # fmt: skip
def test_settings_that_do_not_go_together_are_named(tmp_path, given, said):
    train = write_letor(made.pairs([4] * 3, seed=0), tmp_path / "train.txt") or tmp_path
    known = {"train": train, "out": tmp_path / "out", "ranker": "rankrls", "settings_": ()}
    if "valid" in given:
        given = given | {"valid": tmp_path / "train.txt"}
    with pytest.raises(commands.click.UsageError) as caught:
        commands.fit.callback(**known, **given)
    assert caught.value.message == said
