"""Words of texts counted in parts, on the workers of a cluster.

A part is a file of the collection. A worker counts each batch of it with a lexicon of its own; the
numbers of one lexicon for all, which follow the order of the texts, are given when the parts are
put together (`Lexicon.merge`), so that they are those of a count on one machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np
import polars as pl

from ssi_core import integrity
from ssi_core.arrays import load_array
from ssi_core.collection import Side
from ssi_core.parts import Stage, once, run_parts
from ssi_core.tasks.reading import texts_in
from ssi_core.tasks.task_builder import Mask, TaskBuilder
from ssi_core.views.bags import Counted
from ssi_core.views.lexicon import Lexicon

_SEALED, _KEPT, _CHUNKS = "sealed.json", "kept.npy", "chunks"
_ARRAYS = ("indptr", "words", "counts")


@dataclass(frozen=True)
class TextPart:
    """A file of texts to count.

    Attributes
    ----------
    file : Path
        Part of a collection.
    kept : Path or None
        Mask of the texts of all parts that count, bool; None: all.
    first : int
        Place of the first text in the mask.
    language : str
        Language of the texts.
    path : Path
        Directory to write.
    short : Path or None
        File of the short fields of the texts; None: they are texts alone.
    """

    file: Path
    kept: Path | None
    first: int
    language: str
    path: Path
    short: Path | None = None


def count_part(part: TextPart) -> None:
    """Write the bags of words of a file, batch by batch, unless they are whole."""
    if (part.path / _SEALED).is_file():
        return
    kept = None if part.kept is None else load_array(part.kept, mapped=False)[part.first :]
    with once(part.path, _SEALED) as (out, _):
        for number, batch in enumerate(texts_in(part.file, kept, part.short)):
            lexicon = Lexicon(part.language)
            arrays = lexicon.count(batch)
            here = out / f"{number:05d}"
            here.mkdir()
            for name, array in zip(_ARRAYS, arrays, strict=True):
                np.save(here / f"{name}.npy", np.asarray(array), allow_pickle=False)
            (here / _CHUNKS).write_bytes(lexicon.chunks(0))


def counted_texts(
    builder: TaskBuilder,
    side: Side,
    kept: Mask | None,
    language: str,
    view: str,
    short: Sequence[Path] = (),
) -> Iterator[Counted]:
    """Count the texts of a side for a view; yield their batches in the order of the texts."""
    directory = builder.building.work(f"counted-{view}-{side}").absolute()
    mask = None
    if kept is not None:
        mask = directory / _KEPT
        np.save(mask, kept, allow_pickle=False)
    files = [
        path.absolute() for path in builder.collection.parts(builder.collection.table_of(side))
    ]
    first, parts = 0, []
    for file, of_file in zip_longest(files, [path.absolute() for path in short]):
        parts.append(TextPart(file, mask, first, language, directory / file.stem, of_file))
        if mask is not None:
            first += pl.scan_parquet(file, glob=False).select(pl.len()).collect().item()
    stage: Stage[TextPart, None] = Stage("count words", count_part, directory, files)
    with run_parts(stage, parts, builder.where) as ended:
        for number, done in enumerate(ended, 1):
            done.result()
            builder.progress(0.5 * number / len(parts), "words")
    for part in parts:
        yield from _read(part.path)


def _read(directory: Path) -> Iterator[Counted]:
    integrity.open_sealed(directory, _SEALED, "counts", f"Remove {directory}.")
    for batch in sorted(path for path in directory.iterdir() if path.is_dir()):
        indptr, words, counts = (
            load_array(batch / f"{name}.npy", mapped=False) for name in _ARRAYS
        )
        yield Counted(indptr, words, counts, (batch / _CHUNKS).read_bytes())
