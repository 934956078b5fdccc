"""Small click logs, in the formats that they come in."""

from __future__ import annotations

import numpy as np
import polars as pl

from ssi_core.guests.click_logs.columns import parse_map
from tests import sources

COLUMNS = {
    "session": "visit",
    "query": "url",
    "query_text": "body",
    "document": "ad",
    "document_text": "creative",
    "position": "rank",
    "clicked": "click",
    "timestamp": "when",
}
MAP = {"columns": COLUMNS}
NAMES = list(COLUMNS.values())


def form(**sections):
    return parse_map({**MAP, **sections})


def ingest(paths, log_map, out=None, *, rules=None, **settings):
    """Read logs by a map that `form` has made."""
    said = log_map.configuration()
    if "grade" not in log_map.columns:
        del said["grades"]
    settings |= vars(rules) if rules else {}
    return sources.ingest("clicks", paths, out, map=said, **settings)


def rows(sessions=400, seed=0):
    """Slates of four of a page's six ads in random order; the k-th is examined 1/k of the time."""
    rng = np.random.default_rng(seed)
    found = []
    for session in range(sessions):
        page = int(rng.integers(20))
        for position, ad in enumerate(rng.permutation(6)[:4], 1):
            relevance = 0.8 if (page + ad) % 3 == 0 else 0.2
            number = (5 * page + int(ad)) % 50
            found.append(
                {
                    "visit": f"s{session}",
                    "url": f"p{page}",
                    "body": f"the text of page {page}",
                    "ad": f"a{number}",
                    "creative": f"ad number {number}, buy",
                    "rank": str(position),
                    "click": str(int(rng.random() < relevance / position)),
                    "when": f"2024-01-01T{session // 60:02d}:{session % 60:02d}:00Z",
                }
            )
    return found


def csv_text(found, separator=","):
    """Text of rows without a quote."""
    lines = [separator.join(NAMES)] + [separator.join(row.values()) for row in found]
    return "\n".join(line.replace(", ", " ") for line in lines) + "\n"


def write_csv(path, found, **how):
    pl.DataFrame(found).write_csv(path, **how)
    return path
