"""A table of translated pairs: a text of each row is a query, its translation a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ssi_core import collection
from ssi_core.collection import SIDES
from ssi_core.corpus.language import guess_language
from ssi_core.corpus.mates.dictionary import read_dictionary
from ssi_core.corpus.tables.form import TableForm, said_of
from ssi_core.corpus.tables.reader import header_of, read_rows
from ssi_core.corpus.tables.roles import PAIRS, roles_of
from ssi_core.corpus.texts import id_of, write_texts
from ssi_core.remedies import typed
from ssi_core.strict import listed
from ssi_core.text.wikinames import LANGUAGES
from ssi_core.types import BadInput

if TYPE_CHECKING:
    from ssi_core.corpus.sources.pairs import Pairs
    from ssi_core.store import Building
    from ssi_core.types import Progress

_SAMPLE = 1000  # texts that a language is guessed from


def build(building: Building, source: Pairs, progress: Progress | None) -> None:
    """Write queries, documents and which is the translation of which.

    The manifest accounts for every row: ``translations`` + ``skipped[pair_...]`` +
    ``skipped[row_...]`` = ``pairs_found``.

    Raises
    ------
    BadInput
        A table is damaged, nobody knows which columns the two texts are, or no pair is left.
    """
    form, skipped = TableForm(**source.written), Counter[str]()
    roles = _roles(source.paths[0], source.columns, form)
    building.counts["columns"] = roles
    if written := said_of(source.paths, form):
        building.counts["read_as"] = written
    pairs = _read(source, roles, form, skipped, progress)
    if pairs.is_empty():
        raise BadInput(
            f"{source.paths[0]}: no row has a text and its translation. Give a table that has "
            "some, or say which columns they are: " + typed("column", dict.fromkeys(PAIRS, "NAME"))
        )
    codes = source.languages or tuple(_language(name, pairs[role]) for role, name in roles.items())
    for side, role, code in zip(SIDES, roles, codes, strict=True):
        texts = pairs.select(id=f"{role}_id", title=pl.lit(None, pl.String), text=role)
        with collection.text_writer(building.path, side) as writer:
            write_texts(writer, texts, code)
        building.counts |= {side: writer.rows, f"{side}_language": code}
    with collection.relation_writer(building.path, collection.TRANSLATION) as writer:
        writer.write(pairs.select(source="query_id", target="document_id"))
    if source.dictionary is not None:
        entries = read_dictionary(source.dictionary, skipped)
        collection.write_dictionary(building.path, entries)
        building.counts["dictionary_entries"] = entries.height
    building.counts["translations"] = len(pairs)
    building.skipped.update({name: n for name, n in sorted(skipped.items()) if n})
    building.counts["pairs_found"] = len(pairs) + sum(
        n for name, n in skipped.items() if name.startswith(("pair_", "row_"))
    )


def _roles(path: Path, declared: Mapping[str, str], form: TableForm) -> dict[str, str]:
    """Return the columns of the two texts; of a table of two these are in their order."""
    roles = roles_of(path, PAIRS, declared, form=form)
    header = header_of(path, form)
    left = [name for name in header if name not in roles.values()]
    missing = [role for role in PAIRS if role not in roles]
    if missing and len(left) != len(missing):
        raise BadInput(
            f"{path}: which columns are a text and its translation? Its columns are: "
            f"{listed(header)}. Say so: " + typed("column", dict.fromkeys(PAIRS, "NAME"))
        )
    roles |= dict(zip(missing, left, strict=False))
    return {role: roles[role] for role in PAIRS}


def _read(
    source: Pairs,
    roles: Mapping[str, str],
    form: TableForm,
    skipped: Counter[str],
    progress: Progress | None,
) -> pl.DataFrame:
    """Return the pairs that are kept, each text once, with the ids of both."""
    frames = []
    for path in source.paths:
        for block in read_rows(path, roles, form):
            broken = block["category"].drop_nulls()
            skipped.update(f"row_{name}" for name in broken)
            rows = block.filter(pl.col("category").is_null()).select(
                pl.col(role).fill_null("").str.strip_chars() for role in roles
            )
            whole = rows.filter(pl.all_horizontal(pl.col(*roles) != ""))
            skipped["pair_incomplete"] += len(rows) - len(whole)
            frames.append(whole)
            if progress is not None:
                progress(0.0, f"{sum(map(len, frames)):,} pairs read")
    every = pl.concat(frames)
    once = every.unique(maintain_order=True, keep="first")
    skipped["pair_repeated"] = len(every) - len(once)
    kept = once.filter(pl.all_horizontal(pl.col(role).is_first_distinct() for role in roles))
    skipped["pair_of_another_text"] = len(once) - len(kept)
    ids = {
        f"{role}_id": pl.Series([id_of(text) for text in kept[role]], dtype=pl.String)
        for role in roles
    }
    return kept.with_columns(**ids)


def _language(column: str, texts: pl.Series) -> str:
    code = column.strip().lower()
    return code if code in LANGUAGES else guess_language(texts.head(_SAMPLE))
