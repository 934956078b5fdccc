"""Documents with all fields, written as an ingestion writes them."""

import numpy as np
import polars as pl

from ssi_core import collection, store
from tests.corpora import write_in_parts

LETTERS = "bcdfghjklmnpqrstvwxz"


def word(number):
    """A word that no other number has."""
    return "".join(LETTERS[(number // 20**position) % 20] + "a" for position in range(4))


def write_fielded(path, n=120):
    """A collection of n documents in two parts; returns its place.

    Document i has the title "Title-i of W(i)", a heading and an address that repeat the title, a
    heading and an address of their own, one redirect, and is linked to by the five documents before
    it, in words that all share and in words of their own. W(i) and its like are words that nothing
    else has.
    """
    rng = np.random.default_rng(0)
    common = [word(number) for number in range(40)]
    rows, anchors, redirects = [], [], []
    for i in range(n):
        title = f"Title{i} of {word(1000 + i)}"
        headings = [f"title{i}, OF {word(1000 + i)}", f"About {word(2000 + i)}", word(5000 + i)]
        folder = f"https://example.org/part{i % 3}"
        rows.append({
            "id": f"d{i}",
            "title": title,
            "language": "en",
            "url": f"{folder}/{title.replace(' ', '-')}/{word(3000 + i)}.html",
            "text": " ".join(rng.choice(common, 20 + i % 7)) + f" {word(4000 + i)}",
            "headings": "\n".join(headings),
        })  # fmt: skip
        # The name of the redirect is a heading and an anchor, too.
        redirects.append((f"r{i}", f"d{i}", word(5000 + i)))
        for k in range(1, 6):
            source = (i - k) % n
            for text in (f"see {word(6000 + i)}", f"{word(7000 + 10 * i + k)}", word(5000 + i)):
                anchors.append((f"d{source}", f"d{i}", text))
    documents = collection.timeless(pl.DataFrame(rows))
    configuration = {"n": n, "fielded": True}
    key = store.key_of(collection.KIND, configuration, {})
    with store.create(
        path, kind=collection.KIND, key=key, configuration={}, parents={}
    ) as building:
        write_in_parts(building.path, "documents", documents)
        ends = {"source": pl.String, "target": pl.String, "text": pl.String}
        frame = pl.DataFrame(anchors, schema=ends, orient="row").with_columns(weight=1.0)
        with collection.relation_writer(
            building.path, collection.ANCHOR, collection.COUNTED
        ) as writer:
            writer.write(frame)
        with collection.relation_writer(building.path, collection.LINK) as writer:
            writer.write(frame.select("source", "target").unique(maintain_order=True))
        with collection.relation_writer(
            building.path, collection.REDIRECT, collection.NAMED
        ) as writer:
            writer.write(pl.DataFrame(redirects, schema=ends, orient="row"))
        building.counts.update(documents=n, links=5 * n, anchors=len(anchors))
    return path
