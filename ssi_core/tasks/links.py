"""Pairs of a document and what it links to, on the sides of a split by pairs or by documents."""

from __future__ import annotations

import numpy as np

from ssi_core import collection
from ssi_core.remedies import typed
from ssi_core.tasks.frozen import excluded_pairs
from ssi_core.tasks.kinds import no_links
from ssi_core.tasks.layout import COLD, PAIRS
from ssi_core.tasks.pairs import held_out_twice, link_rows, sides_of_pairs, write_pairs
from ssi_core.tasks.queries import write_exclude
from ssi_core.tasks.split import NO_SIDE, SPLITS, TEST, TRAIN, VALID, Splits, side_of_documents
from ssi_core.tasks.task_builder import Reading, TaskBuilder
from ssi_core.tasks.training_part import cold_documents
from ssi_core.types import BadInput, Int32


def links_of(builder: TaskBuilder, relation: str = collection.LINK) -> Int32:
    """Read the links between documents, or between queries, as rows of both ends, sorted."""
    texts = builder.documents if relation == collection.LINK else builder.queries
    path = builder.collection.path / collection.relation_at(relation)
    return link_rows(builder.collection.ends(relation), texts["id"], path)


def write_links(builder: TaskBuilder) -> Reading:
    """Write the pairs of a task of links, and its candidates."""
    spec = builder.spec
    of_documents = side_of_documents(builder.documents["title"], seed=spec.split_seed)
    sides = of_documents if spec.split == "documents" else None
    tested = of_documents if spec.held_out == "both" else sides
    _write_pairs(builder, sides, tested)
    everything = np.arange(len(builder.documents), dtype=np.int32)
    builder.write_pools(
        None if tested is None else everything[tested == TEST],
        None if sides is None else everything[sides != TEST],
    )
    return Reading.of_all(builder) if sides is None else Reading.of_sides(sides)


def _write_pairs(builder: TaskBuilder, sides: Splits | None, tested: Splits | None) -> None:
    spec, titles, building = builder.spec, builder.documents["title"], builder.building
    where, n = builder.collection.path, len(builder.documents)
    rows = links_of(builder)
    if not len(rows):
        raise BadInput(f"{where}: {no_links()}")
    of_pairs = sides_of_pairs(rows, titles, sides, seed=spec.split_seed)
    if builder.frozen:
        excluded = excluded_pairs(builder.frozen, spec.relevant, titles, titles, rows)
        excluded &= (of_pairs != TEST) & (of_pairs >= 0)
        of_pairs[excluded] = NO_SIDE
        builder.skipped["frozen_links"] = int(np.count_nonzero(excluded))
    if spec.cold:
        unseen = cold_documents(titles, spec.cold, seed=spec.split_seed)
        np.save(building.path / COLD, unseen)
        of_pairs[np.isin(rows, unseen).any(axis=1)] = TEST
        builder.counts["cold_documents"] = len(unseen)
    across = int(np.count_nonzero(of_pairs < 0)) - builder.skipped.get("frozen_links", 0)
    builder.skipped["links_across_the_split"] = across
    if spec.held_out == "both":
        assert tested is not None
        twice = held_out_twice(rows, titles, tested, seed=spec.split_seed)
        once = (of_pairs == TEST) & (twice != TEST)
        of_pairs[once] = NO_SIDE
        builder.skipped["links_held_out_once"] = int(np.count_nonzero(once))
        # What the split by pairs has seen is no candidate, whichever of the two this is.
        unasked = rows[np.isin(twice, (TRAIN, VALID)) & (of_pairs == NO_SIDE)]
        themselves = np.repeat(np.arange(n), 2).reshape(-1, 2)
        write_exclude(building.path, np.vstack([themselves, unasked]), n, n)
    pairs = write_pairs(building.path / PAIRS, rows, of_pairs)
    missing = [name for name, count in pairs.items() if count == 0]
    if missing:
        raise BadInput(
            f"{where}: of its {len(rows)} links none is left for {', '.join(missing)} when split "
            f"by {spec.split}. Ingest more documents, or split otherwise: "
            f"{typed('split-seed', spec.split_seed + 1)}."
        )
    builder.counts["pairs"] = pairs
    builder.counts["queries"] = {
        name: len(np.unique(rows[of_pairs == side, 0])) for side, name in enumerate(SPLITS)
    }
