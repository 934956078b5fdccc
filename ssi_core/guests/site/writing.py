"""The files of a site's search: chunks that a page loads as scripts when it needs them.

- ``ssi-search.js``: the program
- ``manifest.js``: what an index is: its language, which words and pages are in which chunk
- ``w0.js``, ``w1.js``, ...: words in their order, with their `records`
- ``v0.js``, ``v1.js``, ...: the latent vectors of groups of pages, where there is a latent part
- ``p0.js``, ``p1.js``, ...: titles, addresses and texts of the pages

A chunk is ``ssi.chunk(NAME, VALUE, ...)`` with values of JSON, so that it loads from ``file://``,
where a page may not fetch. The same pages and seed give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ssi_core import files
from ssi_core.guests.site.addresses import address_of
from ssi_core.guests.site.clusters import clusters_of
from ssi_core.guests.site.learning import Latent, Learnt
from ssi_core.guests.site.matching import Matching
from ssi_core.guests.site.records import Called, Word, pack_group, pack_vectors, pack_word, word_of
from ssi_core.remedies import typed
from ssi_core.serving.query_words import without_accents
from ssi_core.strict import cut
from ssi_core.text.tokenizer import language_of
from ssi_core.types import BadInput, Refused

PROGRAM, MANIFEST = "ssi-search.js", "manifest"
FORMAT = 3
"""Counted up whenever an earlier program would read the files wrongly."""
_OURS = re.compile(r"(ssi-search|manifest|[wvp]\d+)\.js(\.(gz|br|zst))?")
"""Names of the files, which a server may have packed."""
LONGEST = 8_000
"""Characters of a page's text that snippets are taken from."""
_SOURCES = ("words.js", "records.js", "search.js", "element.js")
"""Files of the program, which are one function."""
_WORD_BYTES, _PAGE_BYTES = 12_000, 8_000
"""Bytes after which a chunk of words, or of pages, ends."""
_RULES = {
    language_of(code).rule: name
    for code, name in (
        ("en", "words"), ("", "any"), ("zh", "ideographs"), ("th", "pairs"), ("hi", "marked"),
    )
}  # fmt: skip
"""Rule of the tokenizer -> its name in ``words.js``."""


def rule_of(language: str) -> str:
    """Return the name of the rule that splits texts of a language in a browser.

    Raises
    ------
    BadInput
        The rule needs a dictionary.
    """
    rule = language_of(language).rule
    if rule not in _RULES:
        raise BadInput(
            f"language {language!r}: its words are found with a dictionary, which a browser does "
            f"not have. Take pairs of letters for words: {typed('language', 'any')}"
        )
    return _RULES[rule]


def write_site(learnt: Learnt, out: Path, *, root: str, addresses: str) -> dict[str, int]:
    """Write the files of a site's search.

    Parameters
    ----------
    learnt : Learnt
        Pages and their weights.
    out : Path
        Directory, which is replaced where it holds such files.
    root : str
        Address of the site's pages, relative to ``out``, or a whole one.
    addresses : str
        How the site writes addresses of Markdown; see `addresses.address_of`.

    Returns
    -------
    dict
        Pages, words, chunks and bytes.

    Raises
    ------
    Refused
        ``out`` holds something else.
    """
    require_ours(out)
    chunks = dict(_chunks(learnt, rule_of(learnt.language), root, addresses))
    # Chunks of another version are never read beside these, whatever a browser has kept.
    version = hashlib.sha256(b"".join(chunks.values())).hexdigest()[:8]
    chunks[MANIFEST] = chunks[MANIFEST].replace(b"VERSION", version.encode(), 1)
    with files.writing(out):
        _replace(out, chunks)
    return {
        "pages": len(learnt.pages),
        "words": len(learnt.words),
        "files": len(chunks) + 1,
        "bytes": sum(file.stat().st_size for file in out.iterdir()),
    }


def _replace(out: Path, chunks: Mapping[str, bytes]) -> None:
    """Write the program and the chunks in the place of an earlier search."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as path:
        whole = Path(path) / "whole"
        whole.mkdir()
        (whole / PROGRAM).write_text(program(), encoding="utf-8")
        for name, data in chunks.items():
            (whole / f"{name}.js").write_bytes(data)
        if out.exists():
            shutil.rmtree(out)
        whole.rename(out)


def program() -> str:
    """Return the program that a page loads."""
    here = Path(__file__).parent
    sources = "\n".join((here / name).read_text(encoding="utf-8") for name in _SOURCES)
    # Where a page includes it twice, the first one stays.
    return f'(() => {{\n"use strict";\nif (globalThis.ssi) return;\n\n{sources}}})();\n'


def is_site(directory: Path) -> bool:
    """Tell whether a directory holds the files of a site's search."""
    return (directory / PROGRAM).is_file() and (directory / f"{MANIFEST}.js").is_file()


def require_ours(out: Path) -> None:
    """Refuse a directory that holds something else than a site's search."""
    if not out.exists():
        return
    names = sorted(file.name for file in out.iterdir()) if out.is_dir() else [out.name]
    others = [name for name in names if not _OURS.fullmatch(name)] if is_site(out) else names
    if others:
        raise Refused(
            f"{out} holds something else than a site's search, such as {cut(others[0])!r}; it is "
            "left alone. Name another directory."
        )


def _chunks(learnt: Learnt, rule: str, root: str, addresses: str) -> Iterator[tuple[str, bytes]]:
    dimensions = 0 if learnt.latent is None else learnt.latent.pages.shape[1]
    words = list(_words(learnt))
    first_words = []
    for number, part in enumerate(_parts(words, _WORD_BYTES, lambda one: len(one[1]))):
        first_words.append(part[0][0])
        data = b"".join(record for _, record in part)
        yield f"w{number}", _chunk(f"w{number}", " ".join(word for word, _ in part), _text(data))
    centers = b""
    if learnt.latent is not None:
        vectors = learnt.latent.pages
        groups = clusters_of(vectors)
        centers = pack_vectors(np.array([vectors[pages].mean(axis=0) for pages in groups]))
        for number, group in enumerate(groups):
            yield f"v{number}", _chunk(f"v{number}", _text(pack_group(group, vectors[group])))
    first_pages, at = [], 0
    pages = [
        [title, address_of(page, url, addresses), text[:LONGEST]]
        for page, url, title, text in learnt.pages.select("id", "url", "title", "text").rows()
    ]
    for number, several in enumerate(_parts(pages, _PAGE_BYTES, lambda one: len(str(one)))):
        first_pages.append(at)
        at += len(several)
        yield f"p{number}", _chunk(f"p{number}", several)
    manifest: Mapping[str, Any] = {
        "format": FORMAT,
        "version": "VERSION",
        "rule": rule,
        "root": root,
        "pages": len(learnt.pages),
        "dimensions": dimensions,
        "k3": learnt.k3,
        "centers": _text(centers),
        "firstWords": first_words,
        "firstPages": first_pages,
    }
    yield MANIFEST, _chunk(MANIFEST, manifest)


def _words(learnt: Learnt) -> Iterator[tuple[str, bytes]]:
    """Yield the words and their records, in the order in which a browser compares strings.

    A word with accents is there without them, too, unless a word of the pages has these letters.
    """
    columns = learnt.exact.tocsc()
    columns.sort_indices()
    latent = {} if learnt.latent is None else dict(_rows(learnt.latent))
    dimensions = 0 if learnt.latent is None else learnt.latent.pages.shape[1]
    numbers = np.diff(columns.indptr)
    of_pages = {learnt.words[i]: i for i in np.argsort(-numbers, kind="stable") if numbers[i]}
    plain = [(without_accents(word), column) for word, column in of_pages.items()]
    written = {**dict(reversed(plain)), **of_pages}  # of several the most frequent
    for name in sorted(written, key=lambda name: name.encode("utf-16-be")):
        column = written[name]
        begin, end = columns.indptr[column : column + 2]
        word = learnt.words[column]
        pages = columns.indices[begin:end].astype(np.int32)
        weight, called = int(learnt.matching.weights[column]), _called(learnt.matching, column)
        record: Word = word_of(
            pages, columns.data[begin:end], weight, called, *latent.get(word, ())
        )
        yield name, pack_word(record, dimensions)


def _called(matching: Matching, column: int) -> Called:
    numbers, positions = matching.positions(column)
    names = matching.names
    of_each = names.pages[numbers], matching.totals[numbers], positions, names.titles[numbers]
    return Called(numbers, *of_each)


def _rows(latent: Latent) -> Iterator[tuple[str, tuple[float, Any]]]:
    for word, idf, row in zip(latent.words, latent.idf, latent.embedding, strict=True):
        yield word, (float(idf), row)


def _parts(items: Sequence[Any], most: int, size: Callable[[Any], int]) -> Iterator[list[Any]]:
    """Divide items into parts, each of which ends with the one that makes it large enough."""
    part: list[Any] = []
    total = 0
    for item in items:
        part.append(item)
        total += size(item)
        if total >= most:
            yield part
            part, total = [], 0
    if part:
        yield part


def _chunk(name: str, *values: Any) -> bytes:
    written = ",".join(
        json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in (name, *values)
    )
    # A lone surrogate, which a broken page may have, is no UTF-8.
    return f"ssi.chunk({written});\n".encode(errors="replace")


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
