"""The commands of docs/own-texts.md, as they are printed."""

import gzip
import json
from itertools import chain

import pytest

from flows.cli import cli
from ssi_core.command.verb import run
from ssi_core.corpus.tables import roles
from tests.corpus.test_own import TOPICS, TREC
from tests.datasets.dumps import many, write, xml
from tests.flows.pages import REPOSITORY, command_lines, commands

PAGE = "docs/own-texts.md"
RUNS = [
    (PAGE, heading)
    for heading in (
        "Tables",
        "A folder",
        "Only what changed",
        "Judged queries",
        "A dump of Wikipedia",
    )
]
"""Sections whose commands this file runs; those before them are a story of their own."""
WORDS = ["car engine wheel road", "moon rocket star orbit", "bread flour oven yeast"]
DOCUMENTS = 120


def write_files(path):
    """Write the files that the commands name."""
    texts = [f"{WORDS[n % 3]} {WORDS[n % 3].split()[n % 4]} text {n}" for n in range(DOCUMENTS)]
    ends = [(n, (n + 3 * k) % DOCUMENTS) for n in range(DOCUMENTS) for k in (1, 2, 5)]
    rows = [{"id": n, "title": f"Page {n}", "text": text} for n, text in enumerate(texts)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (path / "articles.jsonl").write_text(lines)
    (path / "links.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in ends))
    worded = "".join(f"{a}\t{b}\tthe text {b}\n" for a, b in ends)
    (path / "worded.tsv").write_text("from\tto\tlabel\n" + worded)
    table = "".join(f"{n},{text},{n % 2}\n" for n, text in enumerate(texts))
    (path / "articles.csv").write_text("nr,words,section\n" + table)
    (path / "site").mkdir()
    for n, text in enumerate(texts):
        linked = " ".join(f"[{b}]({b}.md)" for a, b in ends if a == n)
        (path / "site" / f"{n}.md").write_text(f"# Page {n}\n\n{text}\n{linked}\n")
    (path / "scifact" / "qrels").mkdir(parents=True)
    beir = [{"_id": str(n), "title": "", "text": text} for n, text in enumerate(texts)]
    (path / "scifact/corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in beir))
    (path / "scifact/queries.jsonl").write_text('{"_id": "q", "text": "moon"}\n')
    (path / "scifact/qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t2\n")
    (path / "docs.sgml.gz").write_bytes(gzip.compress(TREC.encode()))
    (path / "topics.txt").write_text(TOPICS)
    (path / "qrels.txt").write_text("51 0 FT911-3 2\n")
    write(path / "simplewiki-latest-pages-articles.xml.bz2", xml(*many(5)))


@pytest.fixture
def place(own_root, tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_ingested_as_printed(place, capsys):
    blocks = [block for section in RUNS for block in commands(*section)]
    made = []
    for command in chain.from_iterable(map(command_lines, blocks)):
        assert run(cli, [*command[1:], "--json"]) == 0
        made.append(json.loads(capsys.readouterr().out)["counts"])
    table, labelled, worded, asked, folder, folder_again, table_again, beir, trec, dump = made
    for again, first in ((folder_again, folder), (table_again, table)):
        same = {"taken": DOCUMENTS, "kept": DOCUMENTS, "changed": 0, "new": 0, "gone": 0}
        assert again == {**first, "since": same}
    assert table["documents"] == folder["documents"] == labelled["documents"] == DOCUMENTS
    assert table["links"] == folder["links"] == 3 * DOCUMENTS
    assert worded == {**table, "link_columns": worded["link_columns"], "anchors": 3 * DOCUMENTS}
    assert sum(asked["queries"].values()) == DOCUMENTS
    assert (beir["judgements"], trec["judgements"]) == (1, 1)
    assert dump["documents"] == 4


def test_the_page_lists_the_names_of_columns():
    text = (REPOSITORY / PAGE).read_text(encoding="utf-8")
    for role, names in {**roles.DOCUMENTS, **roles.ENDS, **roles.ANCHOR}.items():
        assert f"| `{role}` | {', '.join(names)}" in text
