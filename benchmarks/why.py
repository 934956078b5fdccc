"""What `why` proposes, made: the page is edited and the site read and indexed again.

    python -m benchmarks.why FOLDER --queries q.tsv --qrels r.tsv --out why.json

Each judged page of Markdown that is not among the first places for its query is asked about. What
is proposed is done in a copy of the site as a person would do it: words behind the title, a further
heading at the end, or a further line of text. The copy is read again and indexed with the model of
before; ``--fits`` of the copies are fitted anew, too, so that every weight may differ.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

import ssi_core as ssi
from ssi_core.face.fit import search_model
from ssi_core.files import write_result
from ssi_core.serving.why import Change
from ssi_core.text import fields


def edit(page: Path, change: Change, title: str) -> None:
    """Make a change in the Markdown of a page, which has a title."""
    text, words = page.read_text("utf-8"), " ".join(change.words)
    if change.field == fields.TITLE:
        named = re.compile(r"^(title: *|# )(.*)$", re.MULTILINE)
        if named.search(text):
            text = named.sub(lambda line: f"{line[1]}{line[2]} {words}", text, count=1)
        else:  # its title is that of its file
            text = f"---\ntitle: {title} {words}\n---\n\n{text}"
    else:
        text += f"\n\n{'## ' if change.field == fields.HEADINGS else ''}{words}\n"
    page.write_text(text, "utf-8")


def place(index: ssi.Index, query: str, page: str) -> int | None:
    """Return the place of a page among the first hundred, or None."""
    found = [hit.id for hit in index.search(query, 100).hits]
    return found.index(page) + 1 if page in found else None


def measure(
    folder: Path,
    queries: dict[str, str],
    judged: Sequence[tuple[str, str]],
    *,
    places: int,
    fits: int,
) -> dict[str, Any]:
    """Ask about each page that is missed, and make what is proposed."""
    documents = ssi.read(folder)
    model, name = search_model(documents)
    index = model.index(documents)
    rows = []
    for query, page in judged:
        reason = index.why(queries[query], page, places)
        if reason.rank is None or reason.rank > places:
            rows.append((query, page, reason.title, reason.rank, reason.change))
    proposed = [row for row in rows if row[-1] is not None]
    again = set(random.Random(1).sample(range(len(proposed)), min(fits, len(proposed))))
    changes = []
    for number, (query, page, title, rank, change) in enumerate(proposed):
        assert change is not None
        with tempfile.TemporaryDirectory() as directory:
            copy = Path(directory) / "site"
            shutil.copytree(folder, copy)
            edit(copy / page, change, title)
            edited = ssi.read(copy)
            made = place(model.index(edited), queries[query], page)
            anew = None
            if number in again:
                anew = place(search_model(edited)[0].index(edited), queries[query], page)
        row: dict[str, Any] = {"query": query, "page": page, "before": rank, "field": change.field}
        row |= {"words": len(change.words), "said": change.rank, "made": made}
        changes.append(row | ({"fitted": anew} if number in again else {}))
        print(changes[-1], flush=True)
    fitted = [row["fitted"] for row in changes if "fitted" in row]
    return {
        "model": name,
        "missed": len(rows),
        "proposed": len(proposed),
        "reached": sum(row["made"] is not None and row["made"] <= places for row in changes),
        "fitted": len(fitted),
        "reached_fitted": sum(one is not None and one <= places for one in fitted),
        "changes": changes,
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Read a site, measure, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--qrels", type=Path, required=True)
    parser.add_argument("--places", type=int, default=10, help="a page behind them is missed")
    parser.add_argument("--fits", type=int, default=0, help="copies that are fitted anew")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(argv)
    asked, judged = (
        pl.read_csv(one, separator="\t", quote_char=None)
        for one in (options.queries, options.qrels)
    )
    queries = dict(asked.select("id", "query").rows())
    pairs = judged.select("query", "document").rows()
    result = measure(options.folder, queries, pairs, places=options.places, fits=options.fits)
    write_result(options.out, result)
    print({key: value for key, value in result.items() if key != "changes"})


if __name__ == "__main__":
    main()
