"""The commands of the page on query logs, as printed."""

import json
import re
import shlex

import pytest

from flows.cli import cli
from ssi_core.collection import open_collection
from ssi_core.command.verb import run
from tests.datasets.dumps import real_data
from tests.flows.pages import REPOSITORY, every_block
from tests.guests.click_logs.test_judged_log import JUDGED, LOG

PAGE = "docs/query-logs.md"
RUNS = [(PAGE, None)]
COMMANDS = [
    line for block in every_block(PAGE) if not block.kind for line in block.text.splitlines()
]
DUMP = "enwiki-pages-articles1-p10p30302-shortened.xml.bz2"
OUTSIDE = {
    "enwiki-pages-articles.xml.bz2": ("wiki-dumps", DUMP),
    "discernatron/": ("discernatron",),
    "wikiqa/": ("wikiqa",),
    "zzquerylog/": ("zzquerylog",),
    "dbpedia-entity/": ("dbpedia-entity",),
}
ROWS = {
    "anchors": "anchors, Discernatron",
    "answers": "WikiQA",
    "sports": "ZZQueryLog",
    "entities": "DBpedia-Entity, fold 1",
    "made": "made, as below",
}
"""Directory of a command -> its row in the table of the page."""


def cells(name):
    """Cells of the row with a name."""
    (row,) = re.findall(rf"^\| {name} .*", (REPOSITORY / PAGE).read_text(encoding="utf-8"), re.M)
    return [cell.strip() for cell in row.strip("|").split("|")]


def write_own(path):
    """The files of a log of one's own."""
    (path / "clicks.tsv").write_text(LOG.replace(",", "\t"))
    (path / "judged.tsv").write_text(JUDGED.replace(",", "\t"))
    (toml,) = (block.text for block in every_block(PAGE) if block.kind == "toml")
    (path / "log.toml").write_text(toml)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_gives_clicks_and_judgements(tmp_path, monkeypatch, capsys, command):
    words = shlex.split(command)[1:]
    for word in words:
        if word in OUTSIDE:
            (tmp_path / word.strip("/")).symlink_to(real_data(*OUTSIDE[word]))
    write_own(tmp_path)
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "root"))
    monkeypatch.chdir(tmp_path)
    assert run(cli, [*words, "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    made = open_collection(tmp_path / words[-1])
    assert {"click", "judgement"} <= set(made.relations)
    if words[-1] in ROWS:
        shown = ("documents", "queries", "pairs", "judgements")
        judged = made.frame("relations/judgement")["source"].n_unique()
        numbers = [counts[name] for name in shown[:3]] + [judged, counts[shown[3]]]
        assert cells(ROWS[words[-1]])[1:6] == [f"{n:,}" for n in numbers]
