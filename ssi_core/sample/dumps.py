"""Dumps in the formats of Wikimedia: MediaWiki export XML, and SQL as mysqldump writes it."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import IO

from ssi_core.sample.pages import SamplePage

_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_ROWS_AN_INSERT = 500

_NAMESPACES = {
    "en": {
        -2: "Media", -1: "Special", 0: "", 1: "Talk", 2: "User", 3: "User talk", 4: "Wikipedia",
        5: "Wikipedia talk", 6: "File", 7: "File talk", 8: "MediaWiki", 10: "Template",
        11: "Template talk", 14: "Category", 15: "Category talk",
    },
    "ja": {
        -2: "メディア", -1: "特別", 0: "", 1: "ノート", 2: "利用者", 3: "利用者‐会話",
        4: "Wikipedia", 5: "Wikipedia‐ノート", 6: "ファイル", 7: "ファイル‐ノート",
        8: "MediaWiki", 10: "Template", 11: "Template‐ノート", 14: "Category",
        15: "Category‐ノート",
    },
}  # fmt: skip

_SQL_HEADER = """-- MySQL dump 10.19  Distrib 10.3.38-MariaDB, for debian-linux-gnu (x86_64)
--
-- Host: localhost    Database: enwiki
-- ------------------------------------------------------
-- Server version	10.4.26-MariaDB-log

/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!40101 SET NAMES utf8mb4 */;
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */;

--
-- Table structure for table `langlinks`
--

DROP TABLE IF EXISTS `langlinks`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8 */;
CREATE TABLE `langlinks` (
  `ll_from` int(8) unsigned NOT NULL DEFAULT 0,
  `ll_lang` varbinary(35) NOT NULL DEFAULT '',
  `ll_title` varbinary(255) NOT NULL DEFAULT '',
  PRIMARY KEY (`ll_from`,`ll_lang`),
  KEY `ll_lang` (`ll_lang`,`ll_title`)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
/*!40101 SET character_set_client = @saved_cs_client */;

--
-- Dumping data for table `langlinks`
--

/*!40000 ALTER TABLE `langlinks` DISABLE KEYS */;
"""
_SQL_FOOTER = """/*!40000 ALTER TABLE `langlinks` ENABLE KEYS */;
/*!40014 SET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS */;

-- Dump completed on 2024-01-01  0:00:00
"""
_SQL_ESCAPES = str.maketrans(
    {"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n", "\r": "\\r", "\0": "\\0", "\x1a": "\\Z"}
)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[str]]:
    """Open a text file to write; its suffix says how it is packed.

    It bears a temporary name until the body has ended well. The same text gives the same bytes.
    """
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("wb") as raw, _packed(raw, path.suffix) as packed:
            text = io.TextIOWrapper(packed, encoding="utf-8", newline="\n")
            yield text
            text.flush()
            text.detach()
        temporary.rename(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _packed(raw: IO[bytes], suffix: str) -> Iterator[IO[bytes] | bz2.BZ2File | gzip.GzipFile]:
    if suffix == ".bz2":
        with bz2.BZ2File(raw, "wb") as file:
            yield file
    elif suffix == ".gz":
        # A gzip file carries its time and name; without them equal text is equal bytes.
        with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
            yield file
    else:
        yield raw


class DumpWriter:
    """Writes the pages of one edition as MediaWiki export XML, version 0.11."""

    def __init__(self, file: IO[str], language: str) -> None:
        self._file = file
        file.write(_header(language))

    def add(self, page: SamplePage) -> None:
        """Write a page."""
        self._file.write(_page(page))

    def close(self) -> None:
        """Write what ends the document; the file stays open."""
        self._file.write("</mediawiki>\n")


def _header(language: str) -> str:
    names = "".join(
        f'      <namespace key="{key}" case="first-letter"'
        + (f">{escape(name)}</namespace>\n" if name else " />\n")
        for key, name in _NAMESPACES[language].items()
    )
    schema = "http://www.mediawiki.org/xml/export-0.11"
    return (
        f'<mediawiki xmlns="{schema}/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        f'xsi:schemaLocation="{schema}/ {schema}.xsd" version="0.11" xml:lang="{language}">\n'
        f"  <siteinfo>\n    <sitename>Wikipedia</sitename>\n    <dbname>{language}wiki</dbname>\n"
        f"    <base>https://{language}.wikipedia.org/wiki/Main_Page</base>\n"
        "    <generator>MediaWiki 1.43.0</generator>\n    <case>first-letter</case>\n"
        f"    <namespaces>\n{names}    </namespaces>\n  </siteinfo>\n"
    )


def _page(page: SamplePage) -> str:
    text = page.wikitext.encode()
    redirect = ""
    if page.redirect is not None:
        # As MediaWiki does, the element names the page without the section.
        redirect = f'    <redirect title="{escape(page.redirect.partition("#")[0])}" />\n'
    digest = _base36(int(hashlib.sha1(text, usedforsecurity=False).hexdigest(), 16))
    return (
        f"  <page>\n    <title>{_text(page.title)}</title>\n"
        f"    <ns>{page.namespace}</ns>\n    <id>{page.id}</id>\n{redirect}"
        f"    <revision>\n      <id>{page.revision}</id>\n"
        f"      <parentid>{page.revision - 3}</parentid>\n"
        f"      <timestamp>{page.timestamp:%Y-%m-%dT%H:%M:%SZ}</timestamp>\n"
        f"      {_contributor(page)}\n      <comment>/* {page.id} */ words &amp; links</comment>\n"
        f"      <origin>{page.revision}</origin>\n"
        "      <model>wikitext</model>\n      <format>text/x-wiki</format>\n"
        f'      <text bytes="{len(text)}" sha1="{digest}" xml:space="preserve">'
        f"{_text(page.wikitext)}</text>\n"
        f"      <sha1>{digest}</sha1>\n    </revision>\n  </page>\n"
    )


def _text(wikitext: str) -> str:
    return escape(wikitext, quote=False).replace('"', "&quot;")


def _contributor(page: SamplePage) -> str:
    if page.id % 5:
        user = page.id % 97
        return f"<contributor><username>Author {user}</username><id>{user + 1}</id></contributor>"
    return f"<contributor><ip>192.0.2.{page.id % 250}</ip></contributor>"


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _BASE36[digit] + digits
    return digits.rjust(31, "0")


class LanglinksWriter:
    """Writes rows (page id, language, title) as a dump of the table ``langlinks``."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._rows: list[str] = []
        self.count = 0
        file.write(_SQL_HEADER)

    def add(self, page: int, language: str, title: str) -> None:
        """Write a row; rows are gathered into statements of several hundred."""
        self._rows.append(f"({page},'{language}','{title.translate(_SQL_ESCAPES)}')")
        self.count += 1
        if len(self._rows) == _ROWS_AN_INSERT:
            self._flush()

    def close(self) -> None:
        """Write the last statement and what ends the dump; the file stays open."""
        self._flush()
        self._file.write(_SQL_FOOTER)

    def _flush(self) -> None:
        if self._rows:
            self._file.write(f"INSERT INTO `langlinks` VALUES {','.join(self._rows)};\n")
            self._rows = []
