"""PostgreSQL with pgvector of at least 0.7: a row for each document, and functions that search.

Words are a ``sparsevec`` and latent numbers a ``vector``, both of any sign, so that the score is
the model's own. A search is one value of JSON, which the functions read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ssi_core.guests.export.documents import Block
from ssi_core.guests.export.terms import Layout
from ssi_core.guests.export.writing import Material, Target, write_lines
from ssi_core.types import BadInput, TextMatrix

LONGEST_ID = 2_600
"""Bytes of an id, which is the primary key: an entry of a B-tree has at most a third of a page."""
MOST_WORDS = 16_000
"""Numbers other than zero that a ``sparsevec`` stores."""
MOST_INDEXED = 2_000
"""Numbers of a ``vector`` that HNSW takes."""
ROWS = 100
"""Documents of a statement."""

_SCHEMA = """\
CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE ssi (id text PRIMARY KEY, title text NOT NULL, {columns});

-- The search that the encoder makes of a text -> its best documents. Every row is scored.
CREATE FUNCTION ssi_search(query jsonb) RETURNS TABLE (id text, title text, score float8)
LANGUAGE sql STABLE AS $$
  WITH q AS MATERIALIZED (
    SELECT {query}
  )
  SELECT d.id, d.title, {score} AS score
  FROM ssi d, q
  ORDER BY score DESC, d.id
  LIMIT (query->>'k')::int
$$;
"""
_INDEX = """\
CREATE INDEX ssi_latent ON ssi USING hnsw (latent vector_ip_ops);

-- As ssi_search, of the documents that the index finds; k is at most 1000.
CREATE FUNCTION ssi_nearest(query jsonb) RETURNS TABLE (id text, title text, score float8)
LANGUAGE sql STABLE SET hnsw.ef_search = 1000 AS $$
  WITH q AS MATERIALIZED (
    SELECT {query}
  )
  SELECT d.id, d.title, -(d.latent <#> (SELECT latent FROM q)) AS score
  FROM ssi d
  ORDER BY d.latent <#> (SELECT latent FROM q)
  LIMIT (query->>'k')::int
$$;
"""
_WORDS = """\
(
      SELECT format('{{%s}}/{words}', string_agg(format('%s:%s', i::int + 1, x), ','))::sparsevec
      FROM ROWS FROM (
        jsonb_array_elements_text(query->'words'->'indices'),
        jsonb_array_elements_text(query->'words'->'values')
      ) AS entries (i, x)
    ) AS words"""
_LATENT = "(query->>'latent')::vector({latent}) AS latent"


def _first(path: Path, layout: Layout) -> None:
    """Write ``schema.sql``, and where there is a latent part alone ``index.sql``."""
    kinds, query = {}, []
    if len(layout.words):
        kinds["words"] = f"sparsevec({len(layout.words)})"
        query.append(_WORDS.format(words=len(layout.words)))
    if layout.latent:
        kinds["latent"] = f"vector({layout.latent})"
        query.append(_LATENT.format(latent=layout.latent))
    parts = {
        "columns": ", ".join(f"{name} {kind} NOT NULL" for name, kind in kinds.items()),
        "query": ",\n    ".join(query),
        "score": " ".join(f"- (d.{name} <#> q.{name})" for name in kinds),
    }
    (path / "schema.sql").write_text(_SCHEMA.format(**parts), encoding="utf-8")
    if not len(layout.words) and layout.latent <= MOST_INDEXED:
        (path / "index.sql").write_text(_INDEX.format(**parts), encoding="utf-8")


def _write(path: Path, material: Material) -> None:
    """Write ``rows/*.sql``, in which a document takes the place of a former one of its id."""

    def statements() -> Iterator[str]:
        for block in material.blocks():
            _require_room(block)
            for start in range(0, len(block.ids), ROWS):
                rows = range(start, min(start + ROWS, len(block.ids)))
                yield _insert(block, rows, material.layout)

    material.counts["bytes"] = write_lines(path / "rows", "sql", statements())


def _require_room(block: Block) -> None:
    if block.vectors.sparse is None:
        return
    words = np.diff(block.vectors.sparse.indptr)
    if words.max(initial=0) > MOST_WORDS:
        raise BadInput(
            f"document {block.ids[words.argmax()]!r} has {words.max():,} words, and pgvector "
            f"stores {MOST_WORDS:,}. Divide it into several, or export to another engine, such as "
            "qdrant."
        )


def _insert(block: Block, rows: range, layout: Layout) -> str:
    columns = ["id", "title"]
    if block.vectors.sparse is not None:
        columns.append("words")
    if block.vectors.dense is not None:
        columns.append("latent")
    values = ",\n".join(_values(block, row, layout) for row in rows)
    again = ", ".join(f"{name} = excluded.{name}" for name in columns[1:])
    return (
        f"INSERT INTO ssi ({', '.join(columns)}) VALUES\n{values}\n"
        f"ON CONFLICT (id) DO UPDATE SET {again};\n"
    )


def _values(block: Block, row: int, layout: Layout) -> str:
    cells = [block.ids[row], block.titles[row].replace("\0", "")]
    if block.vectors.sparse is not None:
        cells.append(_sparsevec(block.vectors.sparse, row, len(layout.words)))
    if block.vectors.dense is not None:
        cells.append(f"[{','.join(f'{x:.7g}' for x in block.vectors.dense[row].tolist())}]")
    return "(" + ",".join("'" + cell.replace("'", "''") + "'" for cell in cells) + ")"


def _sparsevec(rows: TextMatrix, row: int, width: int) -> str:
    entries = slice(rows.indptr[row], rows.indptr[row + 1])
    pairs = zip(rows.indices[entries].tolist(), rows.data[entries].tolist(), strict=True)
    return f"{{{','.join(f'{i + 1}:{x:.7g}' for i, x in pairs)}}}/{width}"


TARGET = Target(
    {"query": {"words": "$sparse_words", "latent": "$vector", "k": "$k"}},
    _write,
    _first,
    LONGEST_ID,
)
