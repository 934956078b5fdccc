"""The anchor log of a Wikipedia: what its links say, and the titles that they lead to.

A link is a click of its author: its words are the query, the title of the page that it leads to is
the document, also where the dump lacks that page; its number is the number of clicks. Redirects are
followed as far as the dump has them, and are queries themselves: a title of a redirect, and the
title that it stands for. Titles are those of Wikipedia: the first letter a capital where the site
says so, and underscores for blanks in the id.

The first pass over the dumps is that of `datasets.wikipedia.mediawiki`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ssi_core import system
from ssi_core.corpus.judged.rows import is_qrels, read_judged
from ssi_core.datasets.links import NOWHERE, REDIRECT, follow
from ssi_core.datasets.query_log import QueryLog, write_query_log
from ssi_core.datasets.wikipedia.chunks import PAGES, Chunks
from ssi_core.datasets.wikipedia.cost import LINKS_AT_ONCE, require_ingestion
from ssi_core.datasets.wikipedia.mediawiki import first_pass, groups_of, one_site
from ssi_core.datasets.wikipedia.readings import read_targets, read_titles
from ssi_core.datasets.wikipedia.titles import Site, clean_title
from ssi_core.text.wording import wording_of
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.datasets.wikipedia.anchor_log import Anchors
    from ssi_core.store import Building


def build(building: Building, source: Anchors, progress: Progress | None) -> None:
    """Write a query log of the anchors and redirects of a Wikipedia.

    The manifest accounts for all: ``links`` + ``skipped[link_...]`` = ``links_found``, and
    ``redirects`` + ``skipped[redirect_...]`` are the redirects of the dumps, each title once;
    ``links_equal`` and ``redirects_equal`` count those whose words are the title.
    """
    dumps, size = source.paths, source.part_bytes
    on_progress = progress or (lambda fraction, message: None)
    processes = source.processes or system.cores()
    site = one_site(dumps, source.language)
    judged = None if source.judgements is None else _judged(source.judgements, site)
    require_ingestion(dumps, building.path.parent, processes=processes, part_bytes=size)
    read = Chunks(site, building.work("chunks"))
    read.make()
    counts = first_pass(dumps, read, processes, size, on_progress)
    on_progress(0.9, "counting anchors")
    total = sum(counts, Counter())
    names = pl.Series(dtype=pl.String) if judged is None else judged["document"]
    anchors = _Anchors(read, counts, source.equal, names.str.replace_all("_", " "))
    log = QueryLog(
        pairs=anchors.pairs(),
        documents=anchors.documents(),
        judgements=judged,
        language=site.language,
        where=dumps[0],
        shards=1 + total["targets"] // LINKS_AT_ONCE,
    )
    write_query_log(building, log)
    building.counts.update(pages=total["pages"], links_found=total["links_found"], **anchors.counts)
    skipped = Counter({name: n for name, n in total.items() if name.startswith("link_")})
    building.skipped.update(sorted((skipped + anchors.skipped).items()))
    if total["page_too_large"]:
        building.skipped["page_too_large"] = total["page_too_large"]


def _judged(path: Path, site: Site) -> pl.DataFrame:
    """Return the judgements, with titles as the site writes them for ids."""
    if is_qrels(path):
        raise BadInput(
            f"{path}: qrels have numbers of queries, and judged queries need their words. Give a "
            "table with the columns query, document (a title) and grade, named .tsv or .csv."
        )
    rows = read_judged(path).rename({"query": "text"})
    titles = [site.first_up(clean_title(title)) for title in rows["document"]]
    ids = pl.Series(titles, dtype=pl.String).str.replace_all(" ", "_")
    return rows.with_columns(document=ids)


def _ends(redirects: pl.DataFrame) -> pl.DataFrame:
    """Return ``title`` and ``end``, the title that a chain of redirects leads to; null: to none.

    Parameters
    ----------
    redirects : DataFrame
        ``title``, each once, and ``target``, null where it is no title.
    """
    names = pl.concat([redirects["title"], redirects["target"].drop_nulls()])
    titles = names.unique(maintain_order=True).to_frame("target").with_row_index("number")
    leads = redirects.join(titles, on="target", how="left", maintain_order="left")["number"]
    hops = np.arange(len(titles))
    hops[: len(leads)] = leads.cast(pl.Int64).fill_null(NOWHERE).to_numpy()
    ends = follow(hops, np.arange(len(titles)) < len(leads))[: len(leads)]
    rows = pl.Series(np.where(ends < 0, len(titles), ends))
    every = pl.concat([titles["target"], pl.Series([None], dtype=pl.String)])
    return redirects.select("title", end=every.gather(rows))


class _Anchors:
    """Pairs of wordings and titles in chunks that are read, and all the titles.

    Parameters
    ----------
    judged : Series
        Titles that are documents, too.
    """

    def __init__(
        self, read: Chunks, of_chunks: Sequence[Counter[str]], equal: str, judged: pl.Series
    ) -> None:
        self._read, self._of_chunks, self._equal = read, of_chunks, equal
        self._titles = judged.unique()
        self.counts: Counter[str] = Counter(
            {"links": 0, "links_equal": 0, "redirects": 0, "redirects_equal": 0}
        )
        self.skipped: Counter[str] = Counter()

    def pairs(self) -> Iterator[pl.DataFrame]:
        """Yield the redirects, and then the links of some chunks at a time."""
        every = read_titles([self._read.part(PAGES, n) for n in range(len(self._of_chunks))])
        pages = every.unique("title", keep="first", maintain_order=True)
        pages = pages.unique("id", keep="first", maintain_order=True)
        repeated = every["row"].drop_nulls().to_frame().join(pages, on="row", how="anti")["row"]
        from_repeated = pl.col("row").is_in(repeated.implode())
        ends = _ends(pages.filter(pl.col("kind") == REDIRECT))
        lost = pl.col("title").is_in(ends.filter(pl.col("end").is_null())["title"].implode())
        words = pl.Series([wording_of(title) for title in ends["title"]], dtype=pl.String)
        yield self._kept("redirect", ends.select("end", anchor=words, n=1))
        for group in groups_of(self._of_chunks):
            links = read_targets({n: self._read.part(PAGES, n) for n in group})
            self.skipped["link_from_repeated_page"] += _times(links.filter(from_repeated))
            known = links.filter(~from_repeated).join(ends, on="title", how="left")
            end = pl.when(~lost).then(pl.coalesce("end", "title"))
            yield self._kept("link", known.select("anchor", "n", end=end))

    def _kept(self, what: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Return `PAIRS` of the rows (anchor, end, n) that have words and an end; count them."""
        titles = rows["end"].drop_nulls().unique()
        words = pl.DataFrame({"end": titles, "words": [wording_of(title) for title in titles]})
        rows = rows.join(words, on="end", how="left", maintain_order="left")
        equal = pl.col("anchor") == pl.col("words")
        self.counts[f"{what}s_equal"] += _times(rows.filter(equal))
        left_out = {
            "to_nowhere": pl.col("end").is_null(),
            "anchor_too_long": pl.col("anchor").is_null(),
            "anchor_without_words": pl.col("anchor") == "",
        }
        if self._equal == "drop":
            left_out["equal"] = equal
        for reason, wrong in left_out.items():
            self.skipped[f"{what}_{reason}"] += _times(rows.filter(wrong))
            rows = rows.filter(~wrong.fill_null(False))
        self.counts[f"{what}s"] += _times(rows)
        self._titles = pl.concat([self._titles, rows["end"].unique()]).unique()
        pairs = rows.group_by(text="anchor", document="end").agg(clicks=pl.col("n").sum())
        return pairs.select(
            "text",
            pl.col("document").str.replace_all(" ", "_"),
            pl.col("clicks").cast(pl.Int64),
            shown=pl.lit(None, pl.Int64),
        )

    def documents(self) -> Iterator[pl.DataFrame]:
        """Yield the titles, in the order of the alphabet."""
        titles = self._titles.sort()
        yield pl.DataFrame({"id": titles.str.replace_all(" ", "_"), "title": titles})


def _times(rows: pl.DataFrame) -> int:
    return int(rows["n"].sum())
