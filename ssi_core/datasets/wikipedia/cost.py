"""Memory and disk that an ingestion takes, estimated before it starts.

Measured on generated dumps of 20,000 to 290,000 pages and on tables of 1 to 2 million titles. A
worker holds a chunk as XML, as a tree and as rows; the second pass holds the titles of all pages
and a bounded number of links with their anchors::

    max(workers * (120 MB + 20 * part_bytes), 400 * pages + 340 * min(links, 2,000,000)) bytes

What grows with the corpus is the 400 bytes of a page (redirects are pages): 1.6 GB for 2 million
articles and as many redirects, 7 GB for the whole of the English Wikipedia.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ssi_core.resources import require

LINKS_AT_ONCE = 2_000_000
"""Links that are taken from titles to documents at a time."""
_WORKER, _OF_A_PART = 120_000_000, 20
_PAGE, _LINK = 400, 340
_XML_OF_BZ2 = 6
# XML bytes for each page of the main namespace and each link of a Wikipedia.
_XML_OF_A_PAGE, _XML_OF_A_LINK = 5000, 250
_DISK_OF_XML = 0.25


def require_ingestion(
    dumps: Sequence[Path], directory: Path, *, processes: int, part_bytes: int
) -> None:
    """State what an ingestion takes; `ssi_core.types.Refused` where that isn't there."""
    sizes = {path: path.stat().st_size for path in dumps}
    xml = sum(n * (_XML_OF_BZ2 if path.suffix == ".bz2" else 1) for path, n in sizes.items())
    part = min(part_bytes, xml)
    workers = min(processes, xml // part_bytes + 1)
    first = workers * (_WORKER + _OF_A_PART * part)
    links = min(LINKS_AT_ONCE, xml // _XML_OF_A_LINK)
    second = _PAGE * (xml // _XML_OF_A_PAGE) + _LINK * links
    fewer = "Use fewer processes (--threads)." if first > second and workers > 1 else ""
    require(
        "the ingestion",
        memory=max(first, second),
        directory=directory,
        disk=int(_DISK_OF_XML * xml),
        remedy=fewer,
    )
