"""A Wikipedia: from dumps to a corpus of documents and links.

Two passes. The first goes over the dumps once, in chunks, in parallel: a chunk leaves its documents
as a finished part, and its titles and links by title as another. The second knows all titles: it
settles redirects, repeated and equal pages, and takes the links group by group from titles to
documents. Of a newer dump only pages that changed need the parsers of the first pass (`before`).

What a chunk leaves outlives a kill. A run that goes on reads the dump again only as far as it must
to cut it (with the index of a multistream dump not at all) and parses the chunks that are missing.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ssi_core import collection, files, store, system
from ssi_core.corpus.earlier import report_earlier
from ssi_core.datasets.links import Settled, resolve_links, settle_pages
from ssi_core.datasets.wikipedia import stream
from ssi_core.datasets.wikipedia.before import Before, compare_pages, keep_pages, open_before
from ssi_core.datasets.wikipedia.chunks import PAGES, TEXTS, Chunks, read_piece
from ssi_core.datasets.wikipedia.cost import LINKS_AT_ONCE, require_ingestion
from ssi_core.datasets.wikipedia.dump import Chunk, index_of, read_pieces, read_site
from ssi_core.datasets.wikipedia.readings import chunk_and_row, read_targets, read_titles
from ssi_core.datasets.wikipedia.titles import Site
from ssi_core.parts import LOCAL, Stage, run_parts
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.datasets.wikipedia.source import Wikipedia
    from ssi_core.store import Building

_log = logging.getLogger(__name__)


def _all_pieces(dumps: Sequence[Path], size: int) -> Iterator[tuple[Chunk, float]]:
    """Yield the chunks of all dumps, with the share of all bytes read after each."""
    sizes = [path.stat().st_size for path in dumps]
    before = 0
    for path, length in zip(dumps, sizes, strict=True):
        for chunk in read_pieces(path, size):
            yield chunk, (before + chunk.done * length) / sum(sizes)
        before += length


def first_pass(
    dumps: Sequence[Path],
    read: Chunks,
    processes: int,
    size: int,
    progress: Callable[[float, str], None],
    where: str = LOCAL,
) -> list[Counter[str]]:
    """Read the chunks that are missing; return the counts of each, in the order of the dumps."""
    n = 0
    shares: dict[int, float] = {}

    def missing() -> Iterator[tuple[int, Chunk]]:
        nonlocal n
        for number, (chunk, share) in enumerate(_all_pieces(dumps, size)):
            n += 1
            if not read.is_whole(number):
                shares[number] = share
                yield number, chunk

    stage: Stage[tuple[int, Chunk], Counter[str]] = Stage(
        "read chunks", partial(read_piece, chunks=read), read.directory, _inputs(dumps, read)
    )
    seen, share = 0, 0.0
    with run_parts(stage, missing(), where, processes=processes) as ended:
        for done in ended:
            seen += done.result()["pages"]
            share = max(share, shares[done.part[0]])
            progress(0.9 * share, f"{seen:,} pages read")
            del done  # with its chunk
    return [read.counts(number) for number in range(n)]


def _inputs(dumps: Sequence[Path], read: Chunks) -> list[Path]:
    """List what workers read of themselves: dumps with an index, and the corpus before."""
    before = [] if read.before is None else [read.before.path / store.MANIFEST]
    return [*(path for path in dumps if index_of(path)), *before]


def _write_documents(
    read: Chunks, out: Path, settled: Settled, counts: Sequence[Counter[str]]
) -> dict[Path, int | None]:
    """Put the parts of documents into their places; only those with dropped rows are rewritten.

    Returns what was read of the pages of each chunk, with the number of the part.
    """
    dropped = settled.sources.filter(pl.col("fate") != "document")["row"]
    rows_of: dict[int, list[int]] = {}
    numbers: dict[Path, int | None] = {}
    for chunk, row in map(chunk_and_row, dropped):
        rows_of.setdefault(chunk, []).append(row)
    with collection.text_writer(out) as documents:
        for number, count in enumerate(counts):
            part, next_part = read.part(TEXTS, number), documents.parts
            if number in rows_of:
                frame = pl.read_parquet(part, glob=False)
                here = pl.int_range(pl.len()).is_in(rows_of[number])
                documents.write(frame.filter(~here))
            elif count["rows"]:
                documents.link(part, count["rows"])
            numbers[read.part(PAGES, number)] = next_part if documents.parts > next_part else None
    return numbers


def groups_of(counts: Sequence[Counter[str]]) -> Iterator[list[int]]:
    """Yield numbers of consecutive chunks with a bounded number of links together."""
    group: list[int] = []
    links_in_group = 0
    for number, count in enumerate(counts):
        group.append(number)
        links_in_group += count["targets"]
        if links_in_group >= LINKS_AT_ONCE:
            yield group
            group, links_in_group = [], 0
    if group:
        yield group


def _write_links(
    read: Chunks, building: Building, settled: Settled, counts: Sequence[Counter[str]]
) -> Counter[str]:
    """Write links and anchors; return how many links fell into each category."""
    categories: Counter[str] = Counter()
    unworded: Counter[str] = Counter()
    out = building.path
    with (
        collection.relation_writer(out, collection.LINK) as links,
        collection.relation_writer(out, collection.ANCHOR, collection.COUNTED) as anchors,
    ):
        for group in groups_of(counts):
            parts = {number: read.part(PAGES, number) for number in group}
            resolved = resolve_links(read_targets(parts), settled)
            links.write(resolved.links)
            anchors.write(resolved.anchors)
            categories += resolved.counts
            unworded += resolved.unworded
    building.counts["anchors"] = anchors.rows
    building.skipped.update(sorted(unworded.items()))
    return categories


def build(building: Building, source: Wikipedia, progress: Progress | None) -> None:
    """Write a corpus of a Wikipedia: documents, links with redirects resolved, and names.

    A document is a page of the main namespace that is no redirect and has words. The cells are the
    text of a page without a word outside of its tables; ``counts["pages_of_tables"]`` counts such
    pages. The manifest accounts for all else: ``documents`` + ``redirects`` +
    ``skipped[page_...]`` = ``pages``, and ``links`` + ``skipped[link_...]`` = ``links_found``, the
    links in the wikitext of all pages. Anchors have the words of the links that are kept or
    repeated: their weights + ``skipped[anchor_...]`` = ``links`` + ``skipped["link_duplicate"]``.
    A page larger than `stream.LARGEST_PAGE` is not read:
    ``skipped["page_too_large"]`` counts it, its links are not counted, and a link to it is one to a
    missing page.
    Equal input and settings give equal parts, with any number of processes, with ``since`` or
    without: the key does not know it. ``counts["since"]`` tells how many pages were kept, changed,
    new and gone, or why ``since`` was not used.

    Raises
    ------
    BadInput
        A dump is damaged, of another kind, or without articles; or ``since`` is no corpus of a
        Wikipedia, or damaged; the message names the place.
    Refused
        Memory or disk is too small.
    """
    dumps, since, size = source.paths, source.since, source.part_bytes
    on_progress: Callable[[float, str], None] = progress or (lambda fraction, message: None)
    processes = source.processes or system.cores()
    site = one_site(dumps, source.language)
    require_ingestion(dumps, building.path.parent, processes=processes, part_bytes=size)
    reading = store.key_of("pages", asdict(site), {}, store.code_of(build)["digest"])
    base = open_before(since, reading) if since else None
    read = Chunks(site, building.work("chunks"), base if isinstance(base, Before) else None)
    read.make()
    counts = first_pass(dumps, read, processes, size, on_progress, source.where)
    on_progress(0.9, "following redirects")
    if too_large := sum(count["page_too_large"] for count in counts):
        _log.warning("left out: %d pages of more than %d bytes", too_large, stream.LARGEST_PAGE)
    settled = settle_pages(read_titles([read.part(PAGES, number) for number in range(len(counts))]))
    if not settled.counts["documents"]:
        raise BadInput(
            f"{', '.join(str(path) for path in dumps)}: no page of the main namespace has a text. "
            "Give a pages-articles dump."
        )
    keep_pages(building.path, reading, _write_documents(read, building.path, settled, counts))
    write_redirects(building.path, settled)
    on_progress(0.95, "resolving links")
    categories = _write_links(read, building, settled, counts)
    total = sum(counts, Counter())
    kept = categories.pop("kept", 0)
    building.counts.update(
        pages=total["pages"], **settled.counts, links=kept, links_found=total["links_found"]
    )
    if total["of_cells"]:
        building.counts["pages_of_tables"] = total["of_cells"]
    report_earlier(building, base, partial(compare_pages, building.path, base))  # type: ignore[arg-type]
    for name, n in categories.items():
        total[f"link_{name}"] += n
    building.skipped.update(settled.skipped)
    building.skipped.update(
        {name: n for name, n in sorted(total.items()) if n and name.startswith(("page_", "link_"))}
    )


def one_site(dumps: Sequence[Path], language: str | None) -> Site:
    """Return the site of all dumps; `BadInput` where they are of several languages."""
    sites = [read_site(path, language) for path in dumps]
    for path, site in zip(dumps, sites, strict=True):
        if site.language != sites[0].language:
            raise BadInput(
                f"{path}: its language is {site.language!r}, that of {dumps[0]} is "
                f"{sites[0].language!r}. Ingest each language into a corpus of its own."
            )
    return sites[0]


def write_redirects(corpus: Path, settled: Settled) -> None:
    """Write the other names of the documents that are written, in the order of their pages."""
    titles = pl.scan_parquet(files.parts_in(corpus / "documents"), glob=False).select("title")
    other = (
        settled.names.lazy()
        .filter(pl.col("destination").is_not_null())
        .join(titles, on="title", how="anti", maintain_order="left")
        .select(source="id", target="destination", text="title")
        .collect()
    )
    with collection.relation_writer(corpus, collection.REDIRECT, collection.NAMED) as writer:
        writer.write(other)
