"""Bad inputs, one by one: how each is made, the command that meets it, what it must say.

docs/bad-input.md shows some of them, as they are answered.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import pickle
import re
import tarfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy import sparse

from flows.cli import cli
from ssi_core.arrays import save_csr
from ssi_core.command.verb import run
from tests.datasets import dumps
from tests.robust import clicks, mates
from tests.robust.machine import closed, filling_disk, small_disk, small_files, trained, written
from tests.robust.spoil import cut, flip, holds, nothing, remove, says, sealed
from tests.seals import reseal

DONE, USAGE, BAD, REFUSED = 0, 2, 3, 4


@dataclass(frozen=True)
class Case:
    """A bad input.

    ``prepare(here)`` makes it in a directory that holds copies of the project's ``corpus``,
    ``task`` and ``model`` and of its dump; ``around(here)`` is in force while the command runs.
    ``said`` must stand in what the command prints.
    """

    theme: str
    what: str
    command: str
    prepare: Callable[[Path], object]
    code: int
    said: str
    around: Callable[[Path], AbstractContextManager[object]] = lambda here: nullcontext()

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class Answer:
    """What the command did: exit code, what it printed (paths made short), all of its stderr."""

    code: int
    printed: str
    log: str


def ask(case: Case, here: Path) -> Answer:
    """Run the command of a case in a directory."""
    case.prepare(here)
    arguments = [part.strip("'") for part in re.findall(r"'[^']*'|\S+", case.command)]
    out, log = io.StringIO(), io.StringIO()
    quiet = contextlib.redirect_stdout(out), contextlib.redirect_stderr(log)
    with case.around(here), quiet[0], quiet[1], contextlib.chdir(here):
        code = run(cli, ["--root", str(here / "root"), *arguments])
    said = [line for line in log.getvalue().splitlines() if not line.startswith("ssi: root")]
    printed = out.getvalue() if code == DONE else "\n".join(said)
    printed = printed.replace(f"{here.resolve()}/", "").replace(f"{here}/", "")
    printed = re.sub(r"process \d+", "process 4711", printed)
    # Amounts are estimates, and change with what a stage writes.
    printed = re.sub(r"about [\d.]+ \w+ of disk", "about 43 kB of disk", printed)
    printed = re.sub(r"[\d.]+ \w+ are free", "4.1 kB are free", printed)
    # The measures of a trained model depend on the processor.
    printed = re.sub(r"(?m)^(\w+ +)[01]\.\d{4}( +)[01]\.\d{4}", r"\g<1>0.1234\g<2>0.0123", printed)
    # Digests depend on the code, lists of names on the models and weightings that there are.
    printed = re.sub(r"\b[0-9a-f]{12,64}\b", "0123456789ab", printed)
    printed = re.sub(r"Known: .*", "Known: ...", printed)
    return Answer(code, printed.strip(), log.getvalue())


def hidden(here: Path) -> list[str]:
    """Whatever a command left behind: partial directories, locks."""
    found = (path for path in here.rglob(".*") if path.parent.name != "mlruns")
    return sorted(str(path.relative_to(here)) for path in found if path.name != ".ssi")


# --- dumps ---

_PAGES = dumps.xml(*dumps.many(60)).encode()
_DUMP = "enwiki-pages-articles.xml.bz2"
_INGEST = f"data ingest wikipedia {_DUMP} --out new --processes 1"


def _dump(what: str, xml: bytes, code: int, said: str, spoil: Callable[[Path], None] = nothing):
    def prepare(here: Path) -> None:
        (here / _DUMP).write_bytes(bz2.compress(xml) if xml else b"")
        spoil(here)

    return Case("Dumps", what, _INGEST, prepare, code, said)


def _since(what: str, since: str, code: int, said: str, spoil: Callable[[Path], None] = nothing):
    command = f"data ingest wikipedia dump.xml.bz2 --since {since} --out new --processes 1"
    return Case("Dumps", what, command, spoil, code, said)


def _pages(*pages: str) -> bytes:
    return dumps.xml(*pages).encode()


_DEEP = "{{t|" * 5000 + " [[B]] " + "}}" * 5000
_LONELY = _pages(*(dumps.page(n, f"P{n}", f"cat dog number{n}") for n in range(1, 30)))


def _lonely(here: Path) -> None:
    (here / _DUMP).write_bytes(bz2.compress(_LONELY))
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        made = ["data", "ingest", "wikipedia", str(here / _DUMP), "--out", str(here / "lonely")]
        assert run(cli, ["--root", str(here / "root"), *made, "--processes", "1"]) == DONE


DUMPS = (
    _dump("a bz2 that is cut off", _PAGES, BAD, "end at byte", cut(_DUMP)),
    _dump("a bz2 with a flipped byte", _PAGES, BAD, "corrupt bz2", flip(_DUMP)),
    _dump("XML cut in a page", _PAGES[: _PAGES.rindex(b"<text")], BAD, "within the page"),
    _dump("XML without its end", _PAGES[: _PAGES.rindex(b"</mediawiki")], BAD, "between pages"),
    _dump("bytes that are no UTF-8", _PAGES.replace(b"word20", b"\xff"), BAD, "'Page 20' at byte"),
    _dump("a file of 0 bytes", b"", BAD, "empty"),
    _dump("a dump without a page", _pages(), BAD, "no page"),
    _dump("only redirects", _pages(dumps.page(1, "A", redirect="A")), BAD, "has a text"),
    _dump("a page of 2 MB", _pages(dumps.page(1, "A", "word " * 400_000)), DONE, "documents 1"),
    _dump("templates nested 5,000 deep", _pages(dumps.page(1, "A", f"x {_DEEP} y")), DONE,
          "documents 1"),
    _dump("templates that never close", _pages(dumps.page(1, "A", "x " + "{{t|" * 5000)), DONE,
          "documents 1"),
    Case("Dumps", "no such file", "data ingest wikipedia none.xml.bz2 --out new", nothing, BAD,
         "no such file"),
    _since("an earlier corpus that is cut off", "corpus", BAD, "part-00000.parquet",
           cut("corpus/pages/part-00000.parquet")),
    _since("an earlier corpus of an older version", "corpus", DONE, "not used",
           sealed(remove("corpus/pages"), "corpus")),
    _since("something else for an earlier corpus", "task", BAD, "holds a task, and no collection"),
    Case("Dumps", "pages without links", "data features lonely --out new", _lonely, BAD,
         "no links"),
)  # fmt: skip

# --- Wikispeedia ---


def _wikispeedia(here: Path, texts: tuple[str, ...] = ("A", "B")) -> None:
    with tarfile.open(here / "articles_plaintext.tar.xz", "w:xz") as archive:
        for name in texts:
            text = f"{name} is an article of words".encode()
            member = tarfile.TarInfo(f"plaintext_articles/{name}.txt")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    (here / "articles.tsv.gz").write_bytes(gzip.compress(b"A\nB\n", mtime=0))
    (here / "links.tsv.gz").write_bytes(gzip.compress(b"A\tB\n" * 999, mtime=0))


def _speedia(what: str, said: str, spoil: Callable[[Path], None]) -> Case:
    def prepare(here: Path) -> None:
        _wikispeedia(here)
        spoil(here)

    return Case("Wikispeedia", what, "data ingest wikispeedia . --out new", prepare, BAD, said)


WIKISPEEDIA = (
    _speedia("no archive of texts", "no such file", remove("articles_plaintext.tar.xz")),
    _speedia("an archive that is cut off", "plaintext.tar.xz", cut("articles_plaintext.tar.xz")),
    _speedia("an archive with a flipped byte", "plaintext.tar.xz",
             flip("articles_plaintext.tar.xz")),
    _speedia("an archive without texts", "no article", lambda here: _wikispeedia(here, ())),
    _speedia("links that are cut off", "links.tsv.gz", cut("links.tsv.gz")),
    _speedia("links with a flipped byte", "links.tsv.gz", flip("links.tsv.gz")),
    _speedia("a text that is not listed", "isn't in",
             holds("articles.tsv.gz", gzip.compress(b"A\n", mtime=0))),
)  # fmt: skip

MATES = tuple(Case("Mates", what, how, made, BAD, said) for what, how, made, said in mates.CASES)

CLICKS = tuple(Case("Clicks", *case) for case in clicks.CASES)

# --- your own documents ---

_ROWS = "".join(f'{{"id": {n}, "text": "words of text {n}"}}\n' for n in range(9))


def _own(what: str, command: str, said: str, *made: Callable[[Path], object]) -> Case:
    def prepare(here: Path) -> None:
        for one in made:
            one(here)

    return Case("Own", what, f"data ingest {command} --out new", prepare, BAD, said)


OWN = (
    _own("a column that is not in the table", "table articles.jsonl --column text=body", "'body'",
         holds("articles.jsonl", _ROWS)),
    _own("a table without a text", "table articles.csv", "which column is the text",
         holds("articles.csv", "nr,words\n1,car\n")),
    _own("a file of another kind", "table articles.doc", "does not say what it is",
         holds("articles.doc", "words")),
    _own("links between no two documents", "table articles.jsonl --links links.csv",
         "is between two documents", holds("articles.jsonl", _ROWS),
         holds("links.csv", "source,target\na,b\n")),
    _own("a folder without a page", "folder site", "no page is in it",
         lambda here: (here / "site").mkdir()),
)  # fmt: skip

# --- corpora ---

_FEATURES = "data features corpus --out new"
_PART = "corpus/documents/part-00000.parquet"
_FOREIGN = io.BytesIO()
pl.DataFrame({"id": [1]}).write_parquet(_FOREIGN)

CORPORA = (
    Case("Corpora", "a part that is cut off", _FEATURES, cut(_PART), BAD, _PART),
    Case("Corpora", "a part with a flipped byte", _FEATURES, flip(_PART, 0.97), BAD, _PART),
    Case("Corpora", "a foreign parquet file", _FEATURES, holds(_PART, _FOREIGN.getvalue()), BAD,
         _PART),
    Case("Corpora", "no part of links", _FEATURES, remove("corpus/relations/link"), BAD,
         "it is missing"),
    Case("Corpora", "no manifest", _FEATURES, remove("corpus/artefact.json"), BAD,
         "holds no collection"),
    Case("Corpora", "a manifest that is cut off", _FEATURES, cut("corpus/artefact.json"), BAD,
         "not JSON"),
    Case("Corpora", "a manifest of an older version", _FEATURES,
         says("corpus/artefact.json", skipped=None), BAD, "another version"),
    Case("Corpora", "a vocabulary of one word", f"{_FEATURES} --words 1", nothing, BAD, "--words"),
    Case("Corpora", "no word at all", f"{_FEATURES} --words 0", nothing, USAGE, "'0'"),
)  # fmt: skip

# --- tasks ---

_EVALUATE = "lab evaluate model --task task"


def _task(what: str, spoil: Callable[[Path], object], said: str, code: int = BAD) -> Case:
    return Case("Tasks", what, _EVALUATE, spoil, code, said)


def _short_pairs(here: Path) -> None:
    np.save(here / "task" / "pairs" / "test.npy", np.array([[0, 900]], np.int32))
    reseal(here / "task")


def _old_tokenizer(here: Path) -> None:
    sealed(says("task/view/view.json", tokenizer=0), "task")(here)


TASKS = (
    _task("a manifest of an older version", says("task/artefact.json", counts=None), "counts"),
    _task("settings of an older version", says("task/artefact.json", configuration={}), "'views'"),
    _task("words of an older version", _old_tokenizer, "version 0 of the tokenizer"),
    _task("an artefact of another kind", says("task/artefact.json", kind="collection"),
          "holds a collection, and no task"),
    _task("no documents", remove("task/documents.parquet"), "documents.parquet"),
    _task("a missing view", remove("task/matrices/raw"), "matrices/raw"),
    _task("a matrix that is cut off", cut("task/matrices/raw/data.npy"), "data.npy"),
    _task("a matrix of 0 bytes", holds("task/matrices/raw/data.npy", b""), "data.npy"),
    _task("a matrix without its shape", remove("task/matrices/raw/shape.json"), "matrices/raw"),
    _task("a matrix of another task",
          sealed(lambda here: save_csr(here / "task/matrices/raw", _small()), "task"), "51"),
    _task("pairs of another task", _short_pairs, "pairs 'test'"),
    _task("a foreign file beside", holds("task/notes.txt", "mine"), "map", DONE),
    Case("Tasks", "a directory that is not ours", "data features corpus --out mine",
         lambda here: ((here / "mine").mkdir(), holds("mine/notes.txt", "x")(here)), REFUSED,
         "left alone"),
    Case("Tasks", "other settings in the same place", "data features corpus --out task --words 20",
         nothing, REFUSED, "--force"),
)  # fmt: skip


def _small():
    return sparse.csr_array(np.ones((2, 3), np.float32))


# --- models and questions ---

_SEARCH = "search model car"


def _model(what: str, spoil: Callable[[Path], object], said: str, command: str = _SEARCH) -> Case:
    return Case("Models", what, command, spoil, BAD, said)


def _array(array: object) -> Callable[[Path], None]:
    def spoil(here: Path) -> None:
        np.save(here / "model/arrays/V.npy", np.array(array), allow_pickle=True)
        reseal(here / "model", "model.json")

    return spoil


MODELS = (
    _model("an array that is cut off", cut("model/arrays/V.npy"), "V.npy"),
    _model("an array with a damaged header", flip("model/arrays/V.npy", 0.02), "V.npy"),
    _model("an array of pickled objects", _array([{}]), "never loaded"),
    _model("a pickle for an array", holds("model/arrays/V.npy", pickle.dumps([1])), "V.npy"),
    _model("an array of another model", _array([[1.0, 2.0]]), "arrays/V.npy"),
    _model("a missing array", remove("model/arrays/V.npy"), "V.npy"),
    _model("a model of a later version", says("model/model.json", format=99), "format 99"),
    _model("a model.json that is cut off", cut("model/model.json"), "not JSON"),
    _model("no index", remove("model/index"), "ssi data index"),
    _model("an index that is cut off", cut("model/index/dense.npy"), "dense.npy"),
    _model("an index without its vectors", remove("model/index/dense.npy"), "it is missing"),
    _model("a word that relates to none", nothing, "xyzzy", "lab neighbours model xyzzy"),
    _model("a score of no known word", nothing, "xyzzy", "explain model xyzzy 'Page 3'"),
    _model("a document that is not there", nothing, "'Nowhere'", "explain model car Nowhere"),
    Case("Models", "a query without a known word", "search model xyzzy", nothing, DONE,
         "no word that the model knows"),
    Case("Models", "an empty query", "search model ''", nothing, DONE,
         "no word that the model knows"),
)  # fmt: skip

# --- tables ---


def _table(what: str, text: str | bytes, said: str) -> Case:
    command = "lab train my.toml --task task --row A"
    return Case("Tables", what, command, holds("my.toml", text), BAD, said)


_ROW = 'name = "mine"\ntitle = "Mine"\n[[rows]]\nlabel = "A"\n'

TABLES = (
    _table("no TOML", "[[rows]\nlabel = 'A'", "line 1"),
    _table("bytes that are no UTF-8", b"name = '\xff'", "not TOML"),
    _table("lists nested 5,000 deep", "a = " + "[" * 5000, "too deep"),
    _table("no rows", 'name = "mine"', "at least one"),
    _table("an unknown model", f'{_ROW}model = "tfdif"', "Did you mean 'tfidf'?"),
    _table("an unknown key", f'{_ROW}model = "lsi"\ndimension = 5', "'dimension'"),
    _table("a word for a number", f'{_ROW}model = "lsi"\ndimensions = "many"', "dimensions"),
    _table("a number too large", f'{_ROW}model = "bilinear"\ndimensions = {10**20}', "dimensions"),
    _table("a negative number", f'{_ROW}model = "bilinear"\ndimensions = -3', "dimensions=-3"),
    _table("a rate that is no number", f'{_ROW}model = "bilinear"\nrates = [0.1, nan]', "number 2"),
    _table("a rate of 1e300", f'{_ROW}model = "bilinear"\nrates = [1e300]', "at most 1e+06"),
    _table("10^10 dimensions", f'{_ROW}model = "bilinear"\ndimensions = {10**10}', "at most 1e+06"),
    _table("a row that is not there", f'{_ROW.replace("A", "B")}model = "tfidf"', "no row 'A'"),
    _table("a table that extends itself", 'extends = "my.toml"', "extends it in turn"),
)

# --- the machine ---

_FULL = "no space is left"
_TRAIN = "lab train demo --task task --row TF-IDF"
MACHINE = (
    Case("Machine", "no space for a sample", "data sample small/sample --size 200", nothing,
         REFUSED, _FULL, small_disk("32k")),
    *(
        Case("Machine", f"{what} for {name}", command, nothing, REFUSED, said, disk(size))
        for name, command, size in (
            ("a corpus", "data ingest wikipedia dump.xml.bz2 --out small/corpus", "4k"),
            ("a task", "data features corpus --out small/task", "4k"),
            ("an index", "data index model --task task --out small/index", "4k"),
        )
        for what, said, disk in (
            ("too little space", "free there", small_disk),
            ("no space, as others fill the disk,", _FULL, filling_disk),
        )
        # An ingestion this small is thought to need nothing.
        if name != "a corpus" or disk is filling_disk
    ),
    Case("Machine", "no space for runs", f"--root small {_TRAIN}", nothing, REFUSED, _FULL,
         small_disk("200k")),
    Case("Machine", "no space for rankings", "lab export-trec model --task task --out small",
         nothing, REFUSED, _FULL, small_disk("8k")),
    Case("Machine", "a limit on the size of files", "data features corpus --out new", nothing,
         REFUSED, "ulimit -f", small_files),
    Case("Machine", "a directory without permission", "data features corpus --out shut/task",
         nothing, REFUSED, "permission denied", closed),
    Case("Machine", "a second ingestion beside the first",
         "data ingest wikipedia dump.xml.bz2 --out new --processes 1", nothing, REFUSED,
         "process 4711", written("new")),
    Case("Machine", "a second training beside the first", _TRAIN, nothing, REFUSED, "process 4711",
         trained),
    Case("Machine", "second features beside the first", "data features corpus --out new", nothing,
         REFUSED, "process 4711", written("new")),
)  # fmt: skip

CASES = (*DUMPS, *WIKISPEEDIA, *MATES, *CLICKS, *OWN, *CORPORA, *TASKS, *MODELS, *TABLES, *MACHINE)
