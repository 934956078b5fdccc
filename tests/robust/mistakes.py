"""Mistakes of a stranger on the command line: what is typed, what is answered, what is typed then.

A remedy is taken from the answer by a pattern, and typed: ``then`` has ``{}`` in its place, and OUT
for a place of its own. Names in capitals that a remedy has are filled in.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ssi_core.face.task import VIEWS
from tests.corpora import topical

DONE, USAGE, BAD, REFUSED = 0, 2, 3, 4
MEANT = r"Did you mean '(?:ssi )?(.+?)'\?"
COMMAND = r"ssi ([^']+)'?$"
OPTION = r"((?:--[a-z]\S* \S+ ?)+)$"
LEAST = r"x>=(\d)"


@dataclass(frozen=True)
class Typed:
    """A mistake.

    Attributes
    ----------
    words : str
        What is typed behind ``ssi``.
    code : int
        Exit code.
    said : str
        What the answer must say.
    remedy : str
        Pattern that finds the remedy in the answer; "": the answer says in words what to do.
    then : str
        What is typed then, which ends with exit code 0; "": nothing, as it would run a server.
    filled : mapping
        Name in capitals -> what is typed for it.
    """

    words: str
    code: int
    said: str
    remedy: str = ""
    then: str = ""
    filled: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.words


QUICK = "--query-type link --defaults --budget 400 --out OUT"
FIT = f"fit articles.jsonl --links links.csv {QUICK}"
INGEST = "data ingest table articles.jsonl --out OUT"
SEARCH = "search model boats1"

COMMANDS = (
    # Verbs and options
    Typed(FIT.replace("fit", "fti"), USAGE, "No such command 'fti'", MEANT,
          FIT.replace("fit", "{}")),
    Typed("searc model boats1", USAGE, "No such command 'searc'", MEANT, "{} model boats1"),
    Typed("champion", USAGE, "No such command 'champion'", MEANT, "{}"),
    Typed("ops chmpions", USAGE, "No such command", MEANT, "{}"),
    Typed("data ingest tabel a.csv", USAGE, "'tabel'", MEANT, "{} articles.jsonl --out OUT"),
    Typed("data ingest articles.jsonl", USAGE, "Name the source first", COMMAND, "{} --out OUT"),
    Typed("neighbours model boats1", USAGE, "an old one. Type: ssi", COMMAND, "{}"),
    Typed("search model boats1 --lang en", USAGE, "an old one. Type: ssi", COMMAND, "{}"),
    Typed(FIT.replace("--links", "--lnks"), USAGE, "No such option '--lnks'", MEANT,
          FIT.replace("--links", "{}")),
    Typed("--verson", USAGE, "No such option '--verson'", r"'(--version)'", "{}"),
    Typed("compare", USAGE, "Give EXPERIMENT, the name of a table", r"(--list)", "compare {}"),
    Typed("lab evaluate model", USAGE, "Name what to measure on", r"(--task)",
          "lab evaluate model {} task --out OUT"),
    Typed("search model", USAGE, "Missing argument 'TEXT'", COMMAND, "{}",
          {"models:/ssi@champion": "model", '"old automobile"': "boats1"}),
    Typed("fit articles.jsonl --links links.csv", USAGE, "Missing option '--out'", COMMAND,
          "{} --defaults --budget 400 --query-type link", {"--out model": "--out OUT"}),
    Typed("export model --out OUT", USAGE, "Choose from: opensearch", COMMAND, "{}",
          {"--index index ": "", "--out opensearch": "--out OUT"}),
    Typed("search model boats1 boats2", USAGE, "Got unexpected extra argument (boats2)",
          r"quotes around all of it: (.+)$", "search model {}"),
    Typed("search model old 'sailing boats' here", USAGE, "arguments (sailing boats here). If it",
          r"quotes around all of it: (.+)$", "search model {}"),
    Typed("search model boats1 -k", USAGE, "Option '-k' requires an argument. Type: -k N"),
    Typed("search model -boats1", USAGE, "No such option '-b'. A text that begins with a dash goes",
          r"behind (--),", "search model {} -boats1"),
    Typed("compare model other", USAGE, "extra argument (other). 'ssi compare --help' lists"),
    Typed("ops champions boats", USAGE, "unexpected extra argument (boats). 'ssi ops champions"),
    # Values
    Typed(f"{FIT} --budget 200k", USAGE, "'200k' is no whole number", r"such as (\d+)",
          f"{FIT} --budget {{}}"),
    Typed(f"{FIT} --budget 2e3", DONE, "Model"),
    Typed(f"{FIT} --budget 2_000", DONE, "Model"),
    Typed(f"{FIT} --budget -1", USAGE, "-1 is not in the range", LEAST, f"{FIT} --budget {{}}"),
    Typed(f"{FIT} --budget 0", USAGE, "0 is not in the range", LEAST, f"{FIT} --budget {{}}"),
    Typed(f"{FIT} --threads 0", USAGE, "0 is not in the range", LEAST, f"{FIT} --threads {{}}"),
    Typed(f"{SEARCH} -k 0", USAGE, "0 is not in the range", LEAST, f"{SEARCH} -k {{}}"),
    Typed(f"{SEARCH} -k ten", USAGE, "'ten' is no whole number", r"such as (\d+)",
          f"{SEARCH} -k {{}}"),
    Typed(f"{SEARCH} --recall all", USAGE, "'all' is no number", r"such as ([\d.]+)\.",
          f"{SEARCH} --recall {{}}"),
    Typed(f"{FIT} --measure ndcg", USAGE, "'ndcg' is not one of", MEANT, f"{FIT} --measure {{}}"),
    Typed(f"{FIT} --measure nDCG@10", DONE, "nDCG@10"),
    Typed(f"{FIT} --split page", USAGE, "'page' is not one of", r"one of '(\w+)'",
          f"{FIT} --split {{}}"),
    Typed(f"{FIT} --auxiliary titel", USAGE, "--auxiliary titel: expected", r"'(titles)'",
          f"{FIT} --auxiliary {{}}"),
    Typed(FIT.replace("link ", "word:3 ", 1), USAGE, "expected link",
          r"(words:)N", FIT.replace("link ", "{}3 ", 1)),
    Typed(f"{FIT} --source tabel", BAD, "no source 'tabel'", MEANT, f"{FIT} --source {{}}"),
    Typed(f"{FIT} --set encding=utf-8", BAD, "no setting 'encding'", MEANT,
          f"{FIT} --set {{}}=utf-8"),
    Typed(f"{FIT} --export bm25s", USAGE, "requires 2 arguments", r"Type: (.+)$", f"{FIT} {{}}",
          {"TARGET": "bm25s", "DIR": "OUT.export"}),
    Typed("data features corpus --relevant links", USAGE, "'links' is not one of", MEANT,
          "data features corpus --relevant {} --out OUT"),
    Typed("data features corpus --views rw --out OUT", USAGE, "view='rw'", MEANT,
          "data features corpus --views {} --out OUT"),
    Typed("export model --to opensearh --out OUT", USAGE, "'opensearh' is not one of", MEANT,
          "export model --to {} --out OUT"),
    Typed("serve model --port 99999", USAGE, "99999 is not in the range 1<=x<=65535"),
    # Files
    Typed(FIT.replace("articles", "artcles"), USAGE, "'artcles.jsonl' does not exist", MEANT,
          FIT.replace("articles.jsonl", "{}")),
    Typed(FIT.replace("links.csv", "link.csv"), USAGE, "'link.csv' does not exist", MEANT,
          FIT.replace("links.csv", "{}")),
    Typed(FIT.replace("articles", "https://a.org/articles"), USAGE, "is an address. Download it",
          "", FIT),
    Typed(FIT.replace("articles.jsonl", "empty.csv"), BAD, "it is empty. Give a table", "",
          FIT),
    Typed(INGEST.replace("articles.jsonl", "empty"), BAD, "empty: it is a folder. Name the file."),
    Typed(INGEST.replace("articles.jsonl", "sheet.xlsx"), BAD, "a spreadsheet. Save it as CSV", "",
          INGEST.replace("articles.jsonl", "semicolons.csv")),
    Typed("data ingest folder latin.csv --out OUT", BAD, "latin.csv: it is a file. Name its fold"),
    Typed("data ingest lines", USAGE, "No such command 'lines'. Known: pairs, beir, "),
    Typed(FIT.replace("articles.jsonl", "head.csv"), BAD, "no document is in it. Give", "", FIT),
    Typed(FIT.replace("articles.jsonl", "sheet.xlsx"), BAD, "a spreadsheet. Save it as CSV", "",
          FIT.replace("articles.jsonl", "semicolons.csv")),
    Typed("fit empty --out OUT", BAD, "no page is in it", r"(\.md)",
          "fit pages{} --query-type titles --defaults --budget 400 --out OUT"),
    Typed(FIT.replace("articles.jsonl", "semicolons.csv"), DONE, "Model"),
    Typed(FIT.replace("articles.jsonl", "latin.csv"), DONE, "Model"),
    Typed("fit pages.zip --out OUT", BAD, "pages.zip: it is an archive. Unpack it, and name"),
    Typed("ops restore backup.tar", USAGE, "'backup.tar' does not exist. Check the path."),
    # Columns
    Typed(FIT.replace("articles.jsonl", "inhalt.csv"), BAD, "which column is the text?", OPTION,
          FIT.replace("articles.jsonl", "inhalt.csv {}"), {"NAME": "inhalt"}),
    Typed("fit wrapped.json --out OUT", BAD, "Its columns are: documents. Say so: --column "
          "text=NAME. What lies within one is not read: bring it up, such as by jq"),
    Typed("data ingest table inhalt.csv --column text=inhlt --out OUT", BAD,
          "there is no column 'inhlt' for 'text'. Its columns are: id, inhalt", OPTION,
          "data ingest table inhalt.csv {} --out OUT"),
    Typed("data ingest table inhalt.csv --column txt=inhalt --out OUT", USAGE, "no role 'txt'",
          MEANT, "data ingest table inhalt.csv --column {}=inhalt --out OUT"),
    Typed("data ingest table inhalt.csv --column text --out OUT", USAGE,
          "'text' is not ROLE=[NAME]",
          r"Type: (.+)$", "data ingest table inhalt.csv {} --out OUT", {"NAME": "inhalt"}),
    Typed("data ingest table articles.jsonl --links ends.csv --out OUT", BAD,
          "which columns are the two ends of a link?", OPTION,
          "data ingest table articles.jsonl --links ends.csv {} --out OUT",
          {"source=NAME": "source=a", "target=NAME": "target=b"}),
    Typed("data ingest table articles.jsonl --links others.csv --out OUT", BAD,
          "is between two documents", OPTION,
          "data ingest table articles.jsonl --links others.csv {} --out OUT",
          {"source=NAME": "source=a", "target=NAME": "target=b"}),
    Typed("fit articles.jsonl --queries asked.csv --qrels rated.csv --out OUT", BAD,
          "no column for the document", OPTION, "fit articles.jsonl --queries asked.csv "
          "--qrels rated.csv {} --defaults --budget 400 --out OUT", {"NAME": "page"}),
    Typed("fit articles.jsonl --qrels rated.csv --out OUT", BAD,
          "judgements without queries: give both", r"\((--queries)", "fit articles.jsonl {} "
          "asked.csv --qrels rated.csv --column document=page --defaults --budget 400 --out OUT"),
    Typed("data ingest table signs.csv --column text=a --out OUT", BAD, "its fields may be divided",
          r"Say which: (--separator \S+)",
          "data ingest table signs.csv {} --column text=a --out OUT"),
    Typed("fit signs.csv --column text=b --out OUT", BAD, "its fields may be divided",
          r"Say which: --set (\w+)",
          "data ingest table signs.csv --{} , --column text=a --out OUT"),
    Typed("fit articles.jsonl --texts articles.jsonl --out OUT", BAD, "which column is the query?",
          r"go without (--texts)", FIT),
    Typed(f"{FIT} --texts articles.jsonl", BAD, "takes no --links. Leave it out", "", FIT),
    Typed("data index model --task plain --out OUT", BAD, "is not in this task", COMMAND,
          "{}", {"CORPUS": "corpus", "DIR": "OUT"}),
    Typed("fit plain --defaults --budget 400 --out OUT", BAD, "it has no view", COMMAND, "{}",
          {"CORPUS": "corpus", "DIR": "OUT"}),
    # Artefacts in the place of others
    Typed("search corpus boats1", BAD, "corpus holds a collection, and no model", COMMAND,
          f"{{}} {QUICK.removesuffix(' --out OUT')}", {"DIR": "OUT"}),
    Typed("search task boats1", BAD, "task holds a task, and no model", COMMAND,
          "{} --defaults --budget 400", {"DIR": "OUT"}),
    Typed("search links.csv boats1", BAD, "it is no directory, but a file. A model is a directory"),
    Typed("search nosuch boats1", BAD, "no model 'nosuch': it is no directory",
          r"'ssi (fit)' wrote", FIT.replace("fit", "{}")),
    Typed(f"{SEARCH} --index corpus", BAD, "corpus holds a collection, and no index", COMMAND, "{}",
          {"MODEL": "model", "TASK": "task", "DIR": "OUT"}),
    Typed("fit model --out OUT", BAD, "a model, which is fitted already. Name texts", "", FIT),
    Typed("fit task --links links.csv --out OUT", BAD, "--links go with files. Leave them out.", "",
          "fit task --defaults --budget 400 --out OUT"),
    Typed("data features articles.jsonl --out OUT", BAD, "is a file, and no collection", COMMAND,
          "{}", {"DIR": "OUT"}),
    Typed("data features model --out OUT", BAD, "model holds a model, and no collection", COMMAND,
          "{}", {"PATH": "articles.jsonl", "DIR": "OUT"}),
    Typed("data features nosuch --out OUT", BAD, "there is no such directory. Check the path."),
    Typed("data index model --task corpus --out OUT", BAD, "corpus holds a collection, and no task",
          COMMAND, "{}", {"DIR": "OUT"}),
    Typed("export task --to opensearch --out OUT", BAD, "task holds a task, and no model", COMMAND,
          "{} --defaults --budget 400", {"DIR": "OUT"}),
    Typed("export model --to bm25s --out other", REFUSED, "other holds a collection", r"(--force)",
          "export model --to bm25s --out other {}"),
    Typed(FIT.replace("OUT", "corpus"), REFUSED, "corpus is there and holds no model; it is left "
          "alone. Name another directory.", "", FIT),
    # What there is to learn from, and to find
    Typed("fit articles.jsonl --query-type link --out OUT", BAD, "it has no links",
          r"or (--query-type \S+?)\)", "fit articles.jsonl {} --defaults --budget 400 --out OUT"),
    Typed("data features lonely --out OUT", BAD, "it has no links", r"\((--relevant \S+),",
          "data features lonely {} --out OUT"),
    Typed("data features corpus --relevant click --out OUT", BAD, "relevant by 'click'",
          r"it has '(\w+)'", "data features corpus --relevant {} --out OUT"),
    Typed("related model nosuch", BAD, "no document has the title or id 'nosuch'",
          r"'ssi (search) ", "{} model boats1"),
    Typed("related model Artcle", BAD, "no document has the title", r"near it: ('.+?')",
          "related model {}"),
    Typed("compare nosuch", BAD, "no experiment 'nosuch'. Known: none.", r"'ssi (lab pipeline)'",
          "{}"),
    Typed("retrain", USAGE, "Give a collection (--corpus) or what to ingest (--texts)."),
    Typed("ops promote nosuch", BAD, "no run 'nosuch'"),
)  # fmt: skip


def write(here: Path) -> None:
    """Write the files that are named, right ones and wrong ones."""
    texts, links = topical(120)
    rows = [[f"d{n}", f"Article {n}", text] for n, text in enumerate(texts)]
    head = ["id", "title", "text"]
    lines = (json.dumps(dict(zip(head, row, strict=True))) for row in rows)
    (here / "articles.jsonl").write_text("\n".join(lines) + "\n")
    ends = [(f"d{a}", f"d{b}") for a, b in links]
    _csv(here / "links.csv", ["source", "target"], ends)
    _csv(here / "ends.csv", ["a", "b", "c"], [(*pair, "x") for pair in ends])
    _csv(here / "others.csv", ["source", "target", "a", "b"], [("x", "y", *pair) for pair in ends])
    _csv(here / "semicolons.csv", head, rows, delimiter=";")
    latin = [[*row[:2], f"Käfer und Öl. {row[2]}"] for row in rows]
    _csv(here / "latin.csv", head, latin, encoding="cp1252")
    _csv(here / "inhalt.csv", ["id", "inhalt"], [(row[0], row[2]) for row in rows])
    _csv(here / "head.csv", head, [])
    (here / "signs.csv").write_text("a,b;c\n1,2;3\n")
    (here / "empty.csv").touch()
    asked = ["boats1", "birds1", "music1"] * 5
    _csv(here / "asked.csv", ["id", "text"], enumerate(asked))
    judged = [(q, f"d{n}", 1) for q in range(len(asked)) for n in range(q % 3, 40, 8)]
    _csv(here / "rated.csv", ["query", "page", "rating"], judged)
    (here / "wrapped.json").write_text('{"documents": [{"id": 1, "text": "a car"}]}')
    (here / "pages.zip").write_bytes(b"PK\x03\x04")
    (here / "sheet.xlsx").write_bytes(b"PK\x03\x04")
    (here / "empty").mkdir()
    (here / "pages.md").mkdir()
    for name, title, text in rows:
        (here / "pages.md" / f"{name}.md").write_text(f"# {title}\n\n{text}\n")


def _csv(path, head, rows, encoding="utf-8", **how):
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, **how).writerows([head, *rows])


MADE = (
    "data ingest table articles.jsonl --links links.csv --out corpus",
    "data ingest table articles.jsonl --out lonely",
    "data ingest table articles.jsonl --out other",
    "data features corpus --out plain",
    f"data features corpus --views {','.join(VIEWS)} --out task",
    "fit task --defaults --budget 400 --out model",
)
"""Commands that make the artefacts that are named."""
