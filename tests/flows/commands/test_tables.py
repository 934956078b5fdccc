"""The verbs of whole tables: what they accept, list, and hand to the flow."""

from __future__ import annotations

import itertools
import json
import re

import pytest

from flows import pipeline
from flows.cli import cli
from flows.commands import tables
from flows.reporting import shipped_tables
from ssi_core.command.verb import Outcome, run
from ssi_core.types import BadInput

pytestmark = pytest.mark.usefixtures("own_root")


@pytest.fixture
def asked(monkeypatch):
    """What the verbs hand to the flow."""
    seen = []
    monkeypatch.setattr(pipeline, "run_pipeline", lambda **how: seen.append(how) or {"claims": []})
    return seen


def test_shipped_tables_are_listed_with_what_is_printed(capsys):
    assert run(cli, ["lab", "pipeline", "--json"]) == 0
    found = {table["name"]: table for table in json.loads(capsys.readouterr().out)["tables"]}
    assert set(found) == {path.stem for path in shipped_tables.TABLES.glob("*.toml")}
    first = found["ssi2010-table1"]
    assert (first["rows"], first["printed"]) == (31, 13)
    assert first["claims"] > 100
    assert found["collections"]["printed"] == 0
    needs = {name: table["needs"] for name, table in found.items()}
    assert set(needs.values()) == {
        "link",
        "click",
        "translation",
        "translation > link",
        "judgement",
    }
    assert (needs["kyoto-mates"], needs["wikispeedia-clicks"]) == ("translation", "click")
    own = {table["name"]: table["needs"] for table in found.values() if table["for_new_data"]}
    assert own == {"new-corpus": "link", "new-clicks": "click", "collections": "judgement"}

    assert run(cli, ["lab", "pipeline"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    # No name is broken: it is to be typed.
    firsts = [line.split()[0] for line in lines if line.strip()]
    assert set(found) <= set(firsts)
    # Each stands in the group of the data that it needs, the one for new data first.
    groups = [position for position, line in enumerate(lines) if ": ssi data ingest" in line]
    for start, end in itertools.pairwise([*groups, len(lines)]):
        group = [word for line in lines[start:end] for word in line.split()[:1] if word in found]
        assert len({needs[name] for name in group}) == 1
        subsets = re.search(r"for data of your own: (.+)", lines[start])
        assert [name for name in group if name in own] == ([subsets[1]] if subsets else [])
        assert not subsets or group[0] == subsets[1]


def test_what_is_typed_is_asked_of_the_flow(asked, project):
    how = [
        *("--task", str(project / "task"), "--rows", "TF-IDF raw, U'V + I", "--seeds", "2"),
        *("--budget", "500", "--threads", "2", "--row-threads", "1", "--json"),
    ]
    assert run(cli, ["lab", "pipeline", "ssi2010-table1", *how]) == 0
    (settings,) = asked
    assert settings == {
        "table": "ssi2010-table1",
        "task": str(project / "task"),
        "rows": ["TF-IDF raw", "U'V + I"],
        "seeds": 2,
        "budget": 500,
        "threads": 2,
        "row_threads": 1,
    }
    assert pipeline.PipelineSettings(**settings).threads == 2


def test_finished_rows_are_printed_when_others_fail(project, monkeypatch, capsys):
    def failing(**how):
        raise pipeline.RowsFailed("1 of 2 rows failed: x", {"rows": 1}) from BadInput("x is wrong")

    monkeypatch.setattr(pipeline, "run_pipeline", failing)
    monkeypatch.setattr(
        tables, "comparison_outcome", lambda found: Outcome(found, lambda c: c.print(str(found)))
    )
    how = ["lab", "pipeline", "demo", "--task", str(project / "task")]
    assert run(cli, how) == 3
    out, log = capsys.readouterr()
    assert out == "{'rows': 1}\n"
    assert "bad input: x is wrong" in log
    assert run(cli, [*how, "--json"]) == 3
    assert set(json.loads(capsys.readouterr().out)) == {"error"}


def test_a_table_on_the_sample(asked):
    assert run(cli, ["lab", "pipeline", "sample-table9", "--sample", "300", "--json"]) == 0
    assert asked == [{"table": "sample-table9", "sample": 300}]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["ssi2010-tabel1", "--task", "t"], 3, "Did you mean 'ssi2010-table1'?"),
        (["my.toml", "--task", "t"], 3, "Or give a path."),
        (["ssi2010-table1"], 2, "Give one of --corpus, --texts, --task and --sample."),
        (["--corpus", "c"], 2, "Give TABLE"),
        (["ssi2010-table1", "--task", "t", "--rows", "U'V + J"], 3, 'Did you mean "U\'V + I"?'),
        (["ssi2010-table1", "--task", "t", "--budget", "0"], 2, "budget"),
    ],
)
def test_what_cannot_be_computed_is_said_before_anything_starts(
    arguments, code, said, asked, capsys
):
    assert run(cli, ["lab", "pipeline", *arguments]) == code
    assert said in capsys.readouterr().err
    assert asked == []


@pytest.mark.parametrize("other", ["--comparison=c", "--slices", "--save=x.json"])
@pytest.mark.parametrize("whole", ["--list", "--together=a"])
def test_what_shows_other_comparisons_takes_no_setting_of_one(whole, other, capsys):
    assert run(cli, ["compare", "demo", whole, other]) == 2
    assert f"{whole.split('=')[0]} goes with EXPERIMENT alone" in capsys.readouterr().err


def test_a_former_verb_is_refused_with_what_does_its_work(capsys):
    assert run(cli, ["tune", "demo", "--task", "t"]) == 2
    assert "Give a setting of a row several values" in capsys.readouterr().err
