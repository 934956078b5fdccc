"""Wikispeedia: 4,598 articles of the 2007 Wikipedia for Schools and the links between them.

West, Pineau and Precup (2009), Wikispeedia: an online game for inferring semantic distances between
concepts. Files as published by SNAP: plain texts in a tar archive, articles and links as TSV.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import polars as pl

from ssi_core import collection
from ssi_core.corpus import inputs
from ssi_core.corpus.archive import read_members
from ssi_core.datasets.links import DOCUMENT, resolve_links, settle_pages
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.datasets.sources import Wikispeedia
    from ssi_core.store import Building

TEXTS = "articles_plaintext.tar.xz"
ARTICLES = "articles.tsv.gz"
LINKS = "links.tsv.gz"
CATEGORIES = "categories.tsv.gz"
_MEMBER = re.compile(r"plaintext_articles/([^/]+)\.txt")
_NOTICE = re.compile(r"\s*#copyright\s*\n")
_SUBJECTS = re.compile(r"^2007 Schools Wikipedia Selection\..*(?:\n.*\S.*)*", re.MULTILINE)


_RESTORE = "Restore the published file."


def rows_of(path: Path, columns: int) -> Iterator[list[str]]:
    """Rows of a TSV file; lines that begin with # are comments."""
    for number, line in enumerate(inputs.text_lines(path, _RESTORE), 1):
        row = line.rstrip("\r\n").split("\t")
        if not line.strip() or line.startswith("#"):
            continue
        if len(row) != columns:
            raise BadInput(
                f"{path}: line {number} has {len(row)} columns, expected {columns}. {_RESTORE}"
            )
        yield row


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (article name, text) straight from the archive; nothing is unpacked to disk."""
    for name, text in read_members(path, _MEMBER, "a file plaintext_articles/NAME.txt"):
        try:
            yield name, text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadInput(f"{path}: {name}.txt: {error}. Restore the published archive.") from None


def clean_text(text: str) -> str:
    r"""Return an article without the copyright notice and the selection's list of subjects.

    >>> clean_text("   #copyright\n\nAsteroid\n\n2007 Schools Wikipedia Selection. Related: X\n\nA")
    'Asteroid\n\nA'
    """
    text = _SUBJECTS.sub("", _NOTICE.sub("", text, count=1), count=1)
    lines = (line.strip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def title_of(name: str) -> str:
    """Return the title of an article's URL-encoded name.

    >>> title_of("%C3%89douard_Manet")
    'Édouard Manet'
    """
    return unquote(name, errors="replace").replace("_", " ")


def labels_of(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of `collection.LABELS`: the first level of each category is ``category``.

    ``subject.History.British_History`` is History; an article may be in several.
    """
    for name, category in rows_of(path, 2):
        levels = category.split(".")
        if levels[0] != "subject" or len(levels) < 2:
            raise BadInput(
                f"{path}: the category {category!r} does not begin with 'subject.'. Restore the "
                "published file."
            )
        yield name, "category", levels[1].replace("_", " ")


def _read_texts(directory: Path, listed: list[str], progress: Progress | None) -> dict[str, str]:
    known = set(listed)
    texts: dict[str, str] = {}
    for name, text in _texts(directory / TEXTS):
        if name not in known:
            raise BadInput(
                f"{directory / TEXTS}: the text {name!r} isn't in {ARTICLES}. Both files must be "
                "of one release."
            )
        texts[name] = clean_text(text)
        if progress is not None and not len(texts) % 500:
            progress(0.9 * len(texts) / len(listed), f"{len(texts):,} texts read")
    return texts


def write_articles(building: Building, directory: Path, progress: Progress | None) -> None:
    """Write articles, their links and categories, and account for them."""
    listed = [name for (name,) in rows_of(directory / ARTICLES, 1)]
    texts = _read_texts(directory, listed, progress)
    names = [name for name in dict.fromkeys(listed) if texts.get(name)]
    if not names:
        raise BadInput(
            f"{directory / TEXTS}: no article of {ARTICLES} has a text in it. Restore the "
            "published archive."
        )
    pages = pl.DataFrame(
        {
            "row": range(len(names)),
            "id": names,
            "title": names,
            "kind": [DOCUMENT] * len(names),
            "target": pl.Series([None] * len(names), dtype=pl.String),
            "digest": [hashlib.blake2b(texts[n].encode(), digest_size=16).digest() for n in names],
        }
    )
    settled = settle_pages(pages)
    kept = settled.sources.filter(pl.col("fate") == "document")["id"].to_list()
    documents = pl.DataFrame(
        {
            "id": kept,
            "title": [title_of(name) for name in kept],
            "language": ["en"] * len(kept),
            "text": [texts[name] for name in kept],
        }
    )
    with collection.text_writer(building.path) as writer:
        writer.write(collection.timeless(documents))
    if (directory / CATEGORIES).exists():
        labels = pl.DataFrame(
            list(labels_of(directory / CATEGORIES)), schema=dict(collection.LABELS), orient="row"
        )
        with collection.label_writer(building.path) as writer:
            writer.write(labels.filter(pl.col("id").is_in(kept)).unique(maintain_order=True))
    rows = {name: row for row, name in enumerate(names)}
    pairs = Counter((source, target) for source, target in rows_of(directory / LINKS, 2))
    links = [(rows[s], t, n) for (s, t), n in pairs.items() if s in rows]
    schema = {"row": pl.Int64, "title": pl.String, "n": pl.UInt32}
    targets = pl.DataFrame(links, schema=schema, orient="row").with_columns(anchor=pl.lit(""))
    resolved = resolve_links(targets, settled)
    categories = resolved.counts
    with collection.relation_writer(building.path, collection.LINK) as writer:
        writer.write(resolved.links)
    total = sum(pairs.values())
    building.counts.update(
        pages=len(listed), **settled.counts, links=categories.pop("kept"), links_found=total
    )
    building.skipped.update(settled.skipped)
    building.skipped["page_without_text"] = len(listed) - len(names)
    building.skipped["link_from_missing_page"] = total - sum(n for _, _, n in links)
    building.skipped.update({f"link_{name}": n for name, n in sorted(categories.items()) if n})


def files_in(directory: Path) -> list[Path]:
    """Return the files that are read; that of the categories may be missing."""
    files = [directory / name for name in (TEXTS, ARTICLES, LINKS)]
    return [*files, *(path for path in (directory / CATEGORIES,) if path.exists())]


def build(building: Building, source: Wikispeedia, progress: Progress | None) -> None:
    """Write a corpus of the published files.

    Documents are the articles with a text: id is the URL-encoded name of ``articles.tsv``, title
    its decoded form. Articles with the same text are one document, the first, and links to the
    others lead to it. The manifest accounts for every article and link as for a Wikipedia.
    """
    (directory,) = source.paths
    write_articles(building, directory, progress)
