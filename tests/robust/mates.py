"""Bad inputs on the way to mates: (what, command, how it is made, what must be said)."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
from collections.abc import Callable
from pathlib import Path

from flows.cli import cli
from ssi_core.command.verb import run
from tests.datasets import dumps, kyoto
from tests.robust.spoil import cut, flip, remove

KYOTO = "data ingest kyoto . --out new"
_ARTICLES, _LEXICON = "articles_xml.tar.xz", "kyoto_lexicon.csv.gz"
_TABLE, _ITEMS = "enwiki-langlinks.sql.gz", "wikidata.json.bz2"
_CORPORA = "--corpora ja en --out new"
LANGLINKS = f"data ingest mates --langlinks {_TABLE} {_CORPORA}"
WIKIDATA = f"data ingest mates --wikidata {_ITEMS} {_CORPORA}"
_INSERT = b"INSERT INTO `langlinks` VALUES "
_MALFORMED = {"GNM/GNM00155.xml": kyoto.ARTICLES["GNM/GNM00155.xml"]}

Prepare = Callable[[Path], object]


def _release(spoil: Prepare | None = None, **how: object) -> Prepare:
    def prepare(here: Path) -> None:
        kyoto.release(here, **how)
        if spoil is not None:
            spoil(here)

    return prepare


def _corpora(name: str, data: bytes) -> Prepare:
    """Write two corpora of one document each, and a source of mates."""

    def prepare(here: Path) -> None:
        (here / name).write_bytes(data)
        for language, title in (("ja", "車"), ("en", "Car")):
            pages = dumps.xml(dumps.page(1, title, f"{title} 1"), language=language)
            dump = dumps.write(here / f"{language}wiki-x.xml.bz2", pages)
            made = ["data", "ingest", "wikipedia", str(dump), "--out", str(here / language)]
            with (
                contextlib.redirect_stderr(io.StringIO()),
                contextlib.redirect_stdout(io.StringIO()),
            ):
                assert run(cli, ["--root", str(here / "root"), *made, "--processes", "1"]) == 0

    return prepare


def _table(data: bytes) -> Prepare:
    return _corpora(_TABLE, data)


_WHOLE = gzip.compress(_INSERT + b"(1,'ja','\xe8\xbb\x8a');\n" * 99, mtime=0)
_ITEM = b'[\n{"sitelinks":{"jawiki":{"title":"A"},"enwiki":{"title":"B"}}},\n'

CASES: tuple[tuple[str, str, Prepare, str], ...] = (
    ("no archive of articles", KYOTO, _release(remove(_ARTICLES)), "no such file"),
    ("an archive that is cut off", KYOTO, _release(cut(_ARTICLES)), _ARTICLES),
    ("an archive with a flipped byte", KYOTO, _release(flip(_ARTICLES)), _ARTICLES),
    ("a member with another name", KYOTO, _release(articles={"../x.xml": ""}), "'../x.xml'"),
    ("only articles that are no XML", KYOTO, _release(articles=_MALFORMED), "155.xml, line 2"),
    ("a lexicon that is cut off", KYOTO, _release(cut(_LEXICON)), _LEXICON),
    ("a lexicon without translations", KYOTO, _release(lexicon="a,b\n茶\n"), "line 2"),
    ("a table that is cut off", LANGLINKS, _table(_WHOLE[:-12]), _TABLE),
    (
        "a statement that is cut off",
        LANGLINKS,
        _table(_INSERT + b"(1,'ja','A'),(2,'j"),
        "follows row 1",
    ),
    ("another table", LANGLINKS, _table(b"INSERT INTO `page` VALUES (1);\n"), "no statement"),
    (
        "a table in UTF-16",
        LANGLINKS,
        _table((_INSERT + b"(1,'ja','A');\n").decode().encode("utf-16")),
        "no statement",
    ),
    (
        "titles in another encoding",
        LANGLINKS,
        _table(_INSERT + b"(1,'ja','" + "車".encode("shift_jis") + b"');\n"),
        "no UTF-8",
    ),
    ("a table of a third wiki", f"{LANGLINKS.replace('enwiki-', '')}",
     _corpora(_TABLE.replace("enwiki-", ""), _INSERT + b"(1,'ja','A'),(1,'en','B');\n"),
     "Name it"),
    ("links to other pages", LANGLINKS, _table(_INSERT + b"(7,'ja','A');\n"), "no mates"),
    ("items that are cut off", WIKIDATA, _corpora(_ITEMS, bz2.compress(_ITEM)[:-9]), _ITEMS),
    ("a line that is no item", WIKIDATA, _corpora(_ITEMS, _ITEM + b'{"id'), "line 3"),
    ("items of other pages", WIKIDATA, _corpora(_ITEMS, _ITEM), "no mates"),
)  # fmt: skip
